"""Reading a log leaves the garbage collector as it was."""

import gc

import pyarrow as pa
import pytest

import deltaarrow as da
from tests.support.tables import TableBuilder


@pytest.fixture
def path(tmp_path):
    table = TableBuilder(tmp_path).protocol().metadata(pa.schema([("id", pa.int64())]))
    table.commit([table.add_file(1, name=f"f{n}") for n in range(9)])
    return tmp_path


@pytest.mark.parametrize("is_enabled", [True, False])
def test_the_collector_stays_as_it_was(path, is_enabled):
    was_enabled = gc.isenabled()
    try:
        (gc.enable if is_enabled else gc.disable)()
        frozen = gc.get_freeze_count()
        assert len(da.DeltaTable(path).file_uris()) == 9
        assert gc.isenabled() is is_enabled
        assert gc.get_freeze_count() <= frozen, "fewer if one of them is freed meanwhile"
    finally:
        (gc.enable if was_enabled else gc.disable)()
