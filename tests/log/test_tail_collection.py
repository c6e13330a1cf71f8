"""Reading a long log leaves the garbage collector as it was, and what others left is collected."""

import gc
import importlib
import weakref

import pyarrow as pa
import pytest

import deltaarrow as da
from tests.support.tables import TableBuilder

tail = importlib.import_module("deltaarrow.log.tail")


class Cycle:
    def __init__(self):
        self.itself = self


@pytest.fixture
def path(tmp_path):
    table = TableBuilder(tmp_path).protocol().metadata(pa.schema([("id", pa.int64())]))
    table.commit([table.add_file(1, name=f"f{n}") for n in range(9)])
    return tmp_path


@pytest.mark.parametrize("many", [0, 1 << 20])
@pytest.mark.parametrize("is_enabled", [True, False])
def test_the_collector_stays_as_it_was(path, monkeypatch, many, is_enabled):
    monkeypatch.setattr(tail, "_MANY", many)
    was_enabled = gc.isenabled()
    try:
        (gc.enable if is_enabled else gc.disable)()
        garbage = weakref.ref(Cycle())
        assert len(da.DeltaTable(path).file_uris()) == 9
        assert gc.isenabled() is is_enabled
        assert gc.get_freeze_count() == 0
        assert not (is_enabled and many == 0 and garbage() is not None)
    finally:
        (gc.enable if was_enabled else gc.disable)()


def test_what_was_frozen_stays_frozen(path, monkeypatch):
    monkeypatch.setattr(tail, "_MANY", 0)
    gc.freeze()
    try:
        count = gc.get_freeze_count()
        da.DeltaTable(path).file_uris()
        assert count - 100 < gc.get_freeze_count() <= count
    finally:
        gc.unfreeze()
