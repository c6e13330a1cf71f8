"""`create_write_transaction`: files of a caller become part of a table, or leave it, in one commit."""

import json
import pickle
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaarrow import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltaarrow.errors import (
    AppendOnlyError,
    CommitFailedError,
    ConcurrentDeleteReadException,
    InvalidPredicateError,
    MissingFilesError,
    SchemaMismatchError,
    UnsupportedFeatureError,
)
from deltaarrow.transaction import AddAction, RemoveAction

SCHEMA = pa.schema([("id", pa.int64()), ("day", pa.string())])


def file_action(folder, path, ids, partition_values=None, *, data_change=True):
    """Write a data file and return the action that adds it."""
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    rows = {"id": ids} if partition_values else {"id": ids, "day": ["x"] * len(ids)}
    pq.write_table(pa.table(rows), target)
    stats = json.dumps({"numRecords": len(ids)})
    return AddAction(path, target.stat().st_size, partition_values or {}, 7, data_change, stats)


def make_table(folder, **options):
    for ids in ([1, 2], [3]):
        write_deltalake(folder, pa.table({"id": ids, "day": ["x"] * len(ids)}), mode="append", **options)
    return DeltaTable(folder)


def ids(table):
    return sorted(table.to_pyarrow_table()["id"].to_pylist())


def commit_of(table):
    log = Path(table.table_uri) / f"_delta_log/{table.version():020}.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    return {key: [each[key] for each in actions if key in each] for key in ("add", "remove", "commitInfo")}


def removals(table, *, data_change=False):
    paths = table.get_add_actions(flatten=True)["path"].to_pylist()
    return [RemoveAction(path, data_change, 0) for path in paths]


def test_added_files_are_appended(tmp_path):
    table = make_table(tmp_path)
    action = file_action(tmp_path, "new folder/rows.parquet", [4, 5])
    properties = CommitProperties({"owner": "me"}, app_transactions=[Transaction("loader", 3)])
    table.create_write_transaction([action], "append", SCHEMA, commit_properties=properties)
    assert ids(table) == [1, 2, 3, 4, 5]
    assert (table.count(), table.transaction_version("loader")) == (5, 3)
    assert commit_of(table)["add"][0]["path"] == "new%20folder/rows.parquet"
    newest = table.history(1)[0]
    assert (newest["operation"], newest["operationParameters"]["mode"], newest["owner"]) == (
        "WRITE",
        "Append",
        "me",
    )


def test_files_are_compacted_by_a_caller_beside_an_append(tmp_path):
    table = make_table(tmp_path)
    stale = DeltaTable(tmp_path)
    write_deltalake(table, pa.table({"id": [9], "day": ["x"]}), mode="append")
    action = file_action(tmp_path, "compacted.parquet", [1, 2, 3], data_change=False)
    stale.create_write_transaction([action, *removals(stale)], "append", stale.schema())
    assert ids(stale) == [1, 2, 3, 9]
    removed = commit_of(stale)["remove"]
    assert len(removed) == 2
    assert all(each["extendedFileMetadata"] and not each["dataChange"] for each in removed)


def test_a_compaction_conflicts_with_a_delete(tmp_path):
    table, stale = make_table(tmp_path), DeltaTable(tmp_path)
    table.delete("id = 3")
    action = file_action(tmp_path, "compacted.parquet", [1, 2, 3], data_change=False)
    with pytest.raises(CommitFailedError) as refusal:
        stale.create_write_transaction([action, *removals(stale)], "append", SCHEMA)
    assert isinstance(refusal.value, ConcurrentDeleteReadException)
    assert ids(DeltaTable(tmp_path)) == [1, 2]
    assert (tmp_path / "compacted.parquet").exists()


def test_the_removal_of_a_file_keeps_its_deletion_vector(tmp_path):
    table = make_table(tmp_path, configuration={"delta.enableDeletionVectors": "true"})
    table.delete("id = 1")
    table.create_write_transaction(removals(table, data_change=True), "append", SCHEMA)
    assert sum("deletionVector" in each for each in commit_of(table)["remove"]) == 1
    assert ids(table) == []


def test_overwrite_replaces_partitions(tmp_path):
    rows = pa.table({"id": [1, 2, 3], "day": ["mon", "tue", "wed"]})
    write_deltalake(tmp_path, rows, partition_by="day")
    table = DeltaTable(tmp_path)
    action = file_action(tmp_path, "day=tue/new.parquet", [20], {"day": "tue"})
    action.path = "/" + action.path
    chosen = [("day", "=", "tue")]
    table.create_write_transaction([action], "overwrite", SCHEMA, "day", chosen)
    assert ids(table) == [1, 3, 20]
    action = file_action(tmp_path, "day=sun/new.parquet", [30], {"day": "sun"})
    table.create_write_transaction([action], "overwrite", SCHEMA, ["day"])
    assert ids(table) == [30]


def test_append_only_tables_keep_their_rows(tmp_path):
    table = make_table(tmp_path, configuration={"delta.appendOnly": "true"})
    with pytest.raises(AppendOnlyError, match=r"delta\.appendOnly") as refusal:
        table.create_write_transaction(removals(table, data_change=True), "append", SCHEMA)
    assert isinstance(pickle.loads(pickle.dumps(refusal.value)), CommitFailedError)
    with pytest.raises(CommitFailedError):
        write_deltalake(table, pa.table({"id": [1], "day": ["x"]}), mode="overwrite")
    with pytest.raises(UnsupportedFeatureError):
        table.delete()
    action = file_action(tmp_path, "compacted.parquet", [1, 2, 3], data_change=False)
    table.create_write_transaction([action, *removals(table)], "append", SCHEMA)
    assert ids(table) == [1, 2, 3]


@pytest.mark.parametrize(
    ("change", "mode", "error", "words"),
    [
        ({"path": "gone.parquet"}, "append", MissingFilesError, "gone.parquet"),
        ({"path": "../rows.parquet"}, "append", ValueError, "no file in the folder"),
        ({"path": "s3://other/rows.parquet"}, "append", ValueError, "no file in the folder"),
        ({"size": 1}, "append", ValueError, "bytes, not 1"),
        ({"stats": "{"}, "append", ValueError, "not JSON"),
        ({"stats": "[]"}, "append", ValueError, "not an object"),
        ({"partition_values": {"day": "x"}}, "append", SchemaMismatchError, "partitioned by"),
        ({}, "ignore", ValueError, "'ignore'"),
    ],
)
def test_what_would_break_the_table_is_refused(tmp_path, change, mode, error, words):
    table = make_table(tmp_path)
    action = file_action(tmp_path, "rows.parquet", [4])
    for name, value in change.items():
        setattr(action, name, value)
    with pytest.raises(error, match=words):
        table.create_write_transaction([action], mode, SCHEMA)
    assert DeltaTable(tmp_path).version() == 1


def test_actions_and_arguments_that_contradict_are_refused(tmp_path):
    table = make_table(tmp_path)
    action = file_action(tmp_path, "rows.parquet", [4])
    gone = RemoveAction("rows.parquet", False, 0)
    for actions, options, error in [
        ([action, gone], {}, ValueError),
        ([gone], {"mode": "overwrite"}, ValueError),
        ([gone], {}, MissingFilesError),
        ([{"path": "rows.parquet"}], {}, TypeError),
        ([action], {"schema": SCHEMA.append(pa.field("x", pa.int64()))}, SchemaMismatchError),
        ([action], {"partition_by": "day"}, SchemaMismatchError),
        ([action], {"partition_filters": [("id", "=", 1)]}, InvalidPredicateError),
        ([action], {"partition_filters": [("id", "=", 1)], "mode": "overwrite"}, InvalidPredicateError),
    ]:
        with pytest.raises(error):
            table.create_write_transaction(actions, **{"mode": "append", "schema": SCHEMA, **options})
    assert DeltaTable(tmp_path).version() == 1


def test_tables_with_column_mapping_take_no_files(tmp_path):
    table = make_table(tmp_path, configuration={"delta.columnMapping.mode": "name"})
    with pytest.raises(UnsupportedFeatureError, match="write_deltalake"):
        table.create_write_transaction([file_action(tmp_path, "rows.parquet", [4])], "append", SCHEMA)
