"""Purging: no file of the newest version holds what was deleted or dropped."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.errors import CorruptDataFileError
from tests.support.many_features import changed_table
from tests.support.rows import assert_same_rows

MARKED = {"delta.enableDeletionVectors": "true"}


def made(path, files=2, configuration=MARKED):
    for number in range(files):
        data = pa.table(
            {
                "id": range(number * 100, (number + 1) * 100),
                "s": [{"x": 1, "y": "a"}] * 100,
                "a": [[{"i": 1, "j": 2}]] * 100,
                "n": [number] * 100,
            }
        )
        write_deltalake(path, data, mode="append", configuration=None if number else configuration)
    return DeltaTable(path)


def stored(table):
    """The names of all leaves in the files of a table."""
    leaves = set()
    for uri in table.file_uris():
        schema = pq.ParquetFile(uri).schema
        leaves |= {schema.column(place).path for place in range(len(schema))}
    return leaves


def test_deleted_rows_leave_the_files(tmp_path):
    table = made(tmp_path, 3)
    table.delete("id in (1, 150)")
    before = table.to_pyarrow_table()
    metrics = table.optimize.purge()
    assert (metrics["numFilesRemoved"], metrics["numDeletionVectorsRemoved"]) == (2, 2)
    assert_same_rows(table.to_pyarrow_table(), before)
    assert sum(pq.read_metadata(uri).num_rows for uri in table.file_uris()) == 298
    (commit,) = table.history(1)
    assert (commit["operation"], commit["operationParameters"]) == (
        "REORG",
        {"predicate": "[]", "applyPurge": "true"},
    )


def test_one_file_alone_is_purged_too(tmp_path):
    table = made(tmp_path, 1)
    table.delete("id = 1")
    assert table.optimize.purge()["numFilesAdded"] == 1
    assert pq.read_metadata(*table.file_uris()).num_rows == 99


def test_a_second_time_there_is_nothing_to_do(tmp_path):
    table = made(tmp_path)
    table.delete("id = 1")
    table.optimize.purge()
    version = table.version()
    assert table.optimize.purge()["numFilesRemoved"] == 0
    assert table.version() == version


@pytest.mark.parametrize("mode", ["name", "id"])
@pytest.mark.parametrize("dropped", ["n", "s.x", "a.element.j"], ids=["column", "field", "in a list"])
def test_dropped_columns_leave_the_files(tmp_path, mode, dropped):
    table = made(tmp_path, configuration={"delta.columnMapping.mode": mode})
    before = stored(table)
    table.alter.drop_columns([dropped])
    rows = table.to_pyarrow_table()
    assert stored(table) == before
    assert table.optimize.purge()["numFilesRemoved"] == 2
    assert len(stored(table)) == len(before) - 1
    assert_same_rows(table.to_pyarrow_table(), rows)
    assert table.optimize.purge(dry_run=True).num_files == 0


def test_a_renamed_column_is_not_a_dropped_one(tmp_path):
    table = made(tmp_path, configuration={"delta.columnMapping.mode": "name"})
    table.alter.rename_column("n", "m")
    assert table.optimize.purge(dry_run=True).num_files == 0


def test_a_table_with_many_features_is_purged_once(tmp_path):
    table = changed_table(tmp_path, MARKED)
    before = table.to_pyarrow_table()
    assert table.optimize.purge()["numFilesRemoved"] > 0
    assert_same_rows(table.to_pyarrow_table(), before)
    assert table.optimize.purge(dry_run=True).num_files == 0
    assert list(table.verify(deep=True)) == []


def test_partitions_can_be_chosen(tmp_path):
    for p in "ab":
        data = pa.table({"id": range(100), "p": [p] * 100})
        write_deltalake(tmp_path, data, mode="append", partition_by=["p"], configuration=MARKED)
    table = DeltaTable(tmp_path)
    table.delete("id = 1")
    plan = table.optimize.purge(predicate="p = 'a'", dry_run=True)
    assert [path.split("/")[0] for paths in plan.paths for path in paths] == ["p=a"]
    assert table.optimize.purge([("p", "=", "b")])["numFilesRemoved"] == 1


def test_a_broken_footer_is_named(tmp_path):
    table = made(tmp_path)
    (path, _) = table.file_uris()
    with open(path, "r+b") as file:
        file.truncate(100)
    with pytest.raises(CorruptDataFileError, match="part-"):
        table.optimize.purge()
