"""CREATE and REPLACE of tables, with and without rows: one commit, or nothing."""

import os

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, Field, Schema, write_deltalake
from deltaarrow.errors import SchemaMismatchError, TableNotFoundError, VersionExistsError
from deltaarrow.operations import Definition, NewTable, define_table
from deltaarrow.storage import open_store
from tests.support.commits import commit

ROWS = pa.table({"a": [1, 2], "s": ["x", "y"]})


def new(*names, **arguments):
    return NewTable(schema=Schema([Field(name, "long") for name in names]), **arguments)


def define(path, table, rows=None, **arguments):
    reader = None if rows is None else rows.to_reader()
    return define_table(open_store(path), Definition(table=table, **arguments), reader)


def info(path, version):
    return next(each["commitInfo"] for each in commit(path, version) if "commitInfo" in each)


def test_table_with_rows_is_one_commit(tmp_path):
    table = new(partition_by=["s"], configuration={"k": "v"}, description="cc")
    assert define(tmp_path, table, ROWS, is_managed=True).num_rows == 2
    found = info(tmp_path, 0)
    assert found["operation"] == "CREATE TABLE AS SELECT"
    assert found["operationParameters"] == {
        "partitionBy": '["s"]',
        "clusterBy": "[]",
        "description": "cc",
        "isManaged": "true",
        "properties": '{"k":"v"}',
    }
    assert found["isBlindAppend"]
    assert DeltaTable(tmp_path).to_pyarrow_table().sort_by("a") == ROWS
    assert DeltaTable(tmp_path).metadata().partition_columns == ["s"]


def test_replaced_table_keeps_its_history_alone(tmp_path):
    feed = {"delta.enableChangeDataFeed": "true"}
    write_deltalake(tmp_path, ROWS, partition_by="s", configuration=feed, description="old")
    before = DeltaTable(tmp_path)
    assert define(tmp_path, new("q", cluster_by=["q"]), may_replace=True).version == 1
    after = DeltaTable(tmp_path)
    assert after.count() == 0
    assert after.schema().names == ["q"]
    assert after.metadata().id != before.metadata().id
    assert (after.metadata().description, after.metadata().configuration) == (None, {})
    assert after.detail()["clusteringColumns"] == ["q"]
    assert set(before.protocol().writer_features or ()) <= set(after.protocol().writer_features)
    assert info(tmp_path, 1)["operation"] == "CREATE OR REPLACE TABLE"
    assert DeltaTable(tmp_path, version=0).to_pyarrow_table().sort_by("a") == ROWS
    define(tmp_path, new(), ROWS, may_replace=True, may_create=False)
    last = info(tmp_path, 2)
    assert last["operation"] == "REPLACE TABLE AS SELECT"
    assert last["operationMetrics"].keys() >= {"numFiles", "numOutputRows", "numRemovedFiles"}
    assert DeltaTable(tmp_path).detail()["clusteringColumns"] == []
    assert DeltaTable(tmp_path).to_pyarrow_table().sort_by("a") == ROWS
    assert DeltaTable(tmp_path).verify(deep=True).ok


def test_ids_of_columns_that_are_gone_stay_taken(tmp_path):
    mapped = {"delta.columnMapping.mode": "name"}
    define(tmp_path, new("a", "b", configuration=mapped))
    define(tmp_path, new("b", configuration=mapped), pa.table({"b": [1]}), may_replace=True)
    define(tmp_path, new("a", "b", configuration=mapped), pa.table({"a": [1], "b": [2]}), may_replace=True)
    ids = {
        each.name: each.metadata["delta.columnMapping.id"] for each in DeltaTable(tmp_path).schema().fields
    }
    assert ids == {"a": 3, "b": 2}
    assert DeltaTable(tmp_path).to_pyarrow_table().to_pylist() == [{"a": 1, "b": 2}]


def failing():
    def batches():
        yield ROWS.to_batches()[0]
        raise ValueError("the query fails")

    return pa.RecordBatchReader.from_batches(ROWS.schema, batches())


def test_failing_query_leaves_nothing(tmp_path):
    for target in ("new", "old"):
        path = tmp_path / target
        if target == "old":
            write_deltalake(path, ROWS)
        there = [file for _, _, files in os.walk(path) for file in files]
        with pytest.raises(ValueError, match="the query fails"):
            define_table(open_store(path), Definition(table=new(), may_replace=True), failing())
        assert [file for _, _, files in os.walk(path) for file in files] == there
    assert not DeltaTable.is_deltatable(tmp_path / "new")


def test_table_is_there_or_not_as_the_statement_says(tmp_path):
    with pytest.raises(TableNotFoundError, match="could be replaced"):
        define(tmp_path, new("a"), may_create=False, may_replace=True)
    define(tmp_path, new("a"))
    with pytest.raises(VersionExistsError, match="DELTA_TABLE_ALREADY_EXISTS"):
        define(tmp_path, new("a"))
    with pytest.raises(SchemaMismatchError):
        define(tmp_path, new("a", "A"), may_replace=True)
    assert DeltaTable(tmp_path).version() == 0


def test_create_with_mode_overwrite_replaces(tmp_path):
    schema = pa.schema([("z", pa.int64())])
    assert DeltaTable.create(tmp_path, schema, mode="overwrite").version() == 0
    write_deltalake(tmp_path, pa.table({"z": [1]}), mode="append")
    assert DeltaTable.create(tmp_path, schema, mode="overwrite", description="d").version() == 2
    assert DeltaTable(tmp_path).count() == 0
    assert DeltaTable(tmp_path).metadata().description == "d"
