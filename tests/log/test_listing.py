import pyarrow as pa
import pytest

from deltaarrow.errors import TableNotFoundError, VersionNotFoundError
from deltaarrow.log import list_segment
from deltaarrow.storage import open_store
from tests.support.tables import TableBuilder


@pytest.fixture
def table(tmp_path):
    table = TableBuilder(tmp_path).protocol().metadata(pa.schema([("id", pa.int64())]))
    for _ in range(6):
        table.commit()
    return table


def test_a_good_hint_spares_listing_what_is_before_it(table, monkeypatch):
    table.checkpoint(4)
    store = open_store(table.path)
    starts = []
    real = type(store).list_from
    monkeypatch.setattr(
        type(store),
        "list_from",
        lambda self, folder, start="": starts.append(start) or real(self, folder, start),
    )
    assert list_segment(store).checkpoint.version == 4
    assert starts == [f"{4:020d}"]


@pytest.mark.parametrize("hinted", [0, 3, 5, 99])
def test_a_hint_to_a_checkpoint_that_is_not_there_does_no_harm(table, hinted):
    table.checkpoint(4, hint=False)
    table.last_checkpoint(hinted)
    segment = list_segment(open_store(table.path))
    assert (segment.version, segment.checkpoint.version) == (5, 4)


def test_a_hint_newer_than_the_wanted_version_is_not_used(table):
    table.checkpoint(2, hint=False)
    table.checkpoint(4)
    assert list_segment(open_store(table.path), 3).checkpoint.version == 2


def test_a_checkpoint_newer_than_the_hint_is_found(table):
    table.checkpoint(2)
    table.checkpoint(4, hint=False)
    assert list_segment(open_store(table.path)).checkpoint.version == 4


def test_what_is_before_a_hint_is_listed_for_the_error_that_names_the_versions(table):
    table.checkpoint(4)
    with pytest.raises(VersionNotFoundError, match=r"version 9 .* the versions 0 to 5"):
        list_segment(open_store(table.path), 9)


def test_a_folder_without_a_log_is_named(tmp_path):
    with pytest.raises(TableNotFoundError, match=str(tmp_path)):
        list_segment(open_store(tmp_path))
