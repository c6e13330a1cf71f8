"""Repeated writes that are applied once, and options under Spark's names."""

import pyarrow as pa
import pytest

from deltaarrow import CommitFailedError, CommitProperties, DeltaTable, Transaction, write_deltalake
from deltaarrow.errors import ConcurrentTransactionException
from deltaarrow.operations import parse_spark_options

ROWS = pa.table({"id": pa.array([1], pa.int64())})


def progress(*pairs) -> CommitProperties:
    return CommitProperties(app_transactions=[Transaction(app, version) for app, version in pairs])


def test_a_write_is_made_once_however_often_it_is_repeated(tmp_path):
    first = write_deltalake(tmp_path, ROWS, mode="append", commit_properties=progress(("etl", 7)))
    again = write_deltalake(tmp_path, ROWS, mode="append", commit_properties=progress(("etl", 7)))
    older = write_deltalake(tmp_path, ROWS, mode="append", commit_properties=progress(("etl", 6)))
    newer = write_deltalake(tmp_path, ROWS, mode="append", commit_properties=progress(("etl", 8)))
    assert (first.version, first.is_replay) == (0, False)
    assert (again.version, again.is_replay, older.is_replay) == (None, True, True)
    assert newer.version == 1
    assert DeltaTable(tmp_path).count() == 2
    assert DeltaTable(tmp_path).transaction_version("etl") == 8


def test_a_replay_writes_no_file(tmp_path):
    write_deltalake(tmp_path, ROWS, mode="append", commit_properties=progress(("etl", 7)))
    before = sorted(tmp_path.rglob("*"))
    write_deltalake(tmp_path, ROWS, mode="overwrite", commit_properties=progress(("etl", 7)))
    assert sorted(tmp_path.rglob("*")) == before


def test_a_write_that_is_partly_there_is_refused(tmp_path):
    write_deltalake(tmp_path, ROWS, mode="append", commit_properties=progress(("a", 1)))
    with pytest.raises(CommitFailedError, match="others are not"):
        write_deltalake(tmp_path, ROWS, mode="append", commit_properties=progress(("a", 1), ("b", 1)))


def test_of_two_that_make_the_same_write_at_once_one_fails(tmp_path):
    write_deltalake(tmp_path, ROWS)
    table = DeltaTable(tmp_path)
    write_deltalake(tmp_path, ROWS, mode="append", commit_properties=progress(("etl", 1)))
    with pytest.raises(ConcurrentTransactionException, match="etl"):
        write_deltalake(table, ROWS, mode="append", commit_properties=progress(("etl", 1)))
    assert DeltaTable(tmp_path).count() == 2


def test_options_by_the_names_of_spark(tmp_path):
    options = {"txnAppId": "job", "TXNVERSION": "3", "userMetadata": "night run"}
    for _ in range(2):
        write_deltalake(tmp_path, ROWS, mode="append", options=options)
    table = DeltaTable(tmp_path)
    assert table.transaction_version("job") == 3
    assert table.version() == 0
    assert table.history()[0]["userMetadata"] == "night run"
    options = {"replaceWhere": "id = 1"}
    write_deltalake(tmp_path, ROWS, mode="overwrite", options=options)
    assert DeltaTable(tmp_path).history()[0]["operationParameters"]["predicate"] == "id = 1"


@pytest.mark.parametrize(
    "options",
    [
        {"txnAppId": "a"},
        {"txnVersion": "1"},
        {"txnAppId": "a", "txnVersion": "-1"},
        {"mergeSchema": "yes"},
        {"maxRecordsPerFil": "1"},
    ],
)
def test_options_that_mean_nothing_are_refused(options):
    with pytest.raises(ValueError, match=r"txn|mergeSchema|maxRecordsPerFil"):
        parse_spark_options(options)
