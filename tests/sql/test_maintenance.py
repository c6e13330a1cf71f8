"""Statements of maintenance through `deltaarrow.connect`: what they do, and what they return."""

import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaarrow
from deltaarrow import DeltaTable
from deltaarrow.errors import (
    InvalidPredicateError,
    MissingFilesError,
    SchemaMismatchError,
    TableNotFoundError,
    UnsupportedFeatureError,
    VacuumError,
    VersionNotFoundError,
)
from deltaarrow.sql.results import metrics_of

NO_CHECK = "SET spark.databricks.delta.retentionDurationCheck.enabled = false"
DIALECTS = pytest.mark.parametrize("dialect", ["duckdb", "spark"])


@pytest.fixture
def lake(tmp_path):
    for number in range(3):
        data = pa.table({"id": [number, number + 10], "p": ["a", "b"]})
        deltaarrow.write_deltalake(f"{tmp_path}/t", data, mode="append", partition_by=["p"])
    return tmp_path


@pytest.fixture
def con(lake):
    with deltaarrow.connect(dialect="spark") as connection:
        yield connection.attach(lake, "lake")


def last(lake):
    return DeltaTable(f"{lake}/t").history(1)[0]


@DIALECTS
def test_optimize_returns_path_and_metrics(con, lake, dialect):
    [row] = con.sql("OPTIMIZE lake.t WHERE p = 'a'", dialect=dialect).to_pylist()
    assert row["path"] == f"{lake}/t"
    metrics = row["metrics"]
    assert (metrics["numFilesAdded"], metrics["numFilesRemoved"], metrics["partitionsOptimized"]) == (1, 3, 1)
    assert metrics["filesRemoved"]["totalFiles"] == 3
    assert metrics["deletionVectorStats"]["numDeletionVectorsRemoved"] == 0
    assert last(lake)["operationParameters"]["predicate"] == "[\"(p = 'a')\"]"
    [row] = con.sql("OPTIMIZE lake.t WHERE p = 'a'", dialect=dialect).to_pylist()
    assert row["metrics"]["filesAdded"] == {
        "min": None,
        "max": None,
        "avg": 0.0,
        "totalFiles": 0,
        "totalSize": 0,
    }


@pytest.mark.parametrize("name", ["lake.t", "delta.`{lake}/t`", "'{lake}/t'"])
@DIALECTS
def test_table_is_named_in_any_way(con, lake, dialect, name):
    result = con.sql(f"OPTIMIZE {name.format(lake=lake)} ZORDER BY (id)", dialect=dialect)
    assert metrics_of(result)["numFilesRemoved"] == 6
    assert last(lake)["operationParameters"]["zOrderBy"] == '["id"]'
    [found] = result.column("metrics").to_pylist()
    merged = {"num": found["numFilesRemoved"], "size": found["filesRemoved"]["totalSize"]}
    assert found["zOrderStats"] == {
        "strategyName": "all",
        "inputCubeFiles": {"num": 0, "size": 0},
        "inputOtherFiles": merged,
        "inputNumCubes": 0,
        "mergedFiles": merged,
        "numOutputCubes": found["partitionsOptimized"],
        "mergedNumCubes": None,
    }


def test_tables_of_a_catalog_and_of_a_current_namespace_are_known(con, lake):
    con.catalog.current = "lake"
    assert metrics_of(con.sql("OPTIMIZE t"))["numFilesRemoved"] == 6


def test_settings_are_obeyed_and_kept_by_commits(con, lake):
    con.sql("SET spark.databricks.delta.commitInfo.userMetadata = nightly")
    con.sql("SET spark.databricks.delta.optimize.maxFileSize = 1")
    assert metrics_of(con.sql("OPTIMIZE lake.t"))["numFilesRemoved"] == 0
    con.sql("RESET spark.databricks.delta.optimize.maxFileSize; OPTIMIZE lake.t")
    assert (last(lake)["operation"], last(lake)["userMetadata"]) == ("OPTIMIZE", "nightly")


@DIALECTS
def test_reorg_purges(con, lake, dialect):
    table = DeltaTable(f"{lake}/t")
    table.alter.set_table_properties({"delta.enableDeletionVectors": "true"})
    deltaarrow.write_deltalake(f"{lake}/t", pa.table({"id": [7, 8, 9], "p": ["c"] * 3}), mode="append")
    DeltaTable(f"{lake}/t").delete("id = 8")
    [row] = con.sql("REORG TABLE lake.t APPLY (PURGE)", dialect=dialect).to_pylist()
    assert row["metrics"]["deletionVectorStats"]["numDeletionVectorsRemoved"] == 1
    assert last(lake)["operation"] == "REORG"


@DIALECTS
def test_vacuum_lists_and_deletes(con, lake, dialect):
    con.sql("OPTIMIZE lake.t")
    with pytest.raises(VacuumError, match="DELTA_VACUUM_RETENTION_PERIOD_TOO_SHORT"):
        con.sql("VACUUM lake.t RETAIN 0 HOURS", dialect=dialect)
    con.sql(NO_CHECK)
    listed = con.sql("VACUUM lake.t RETAIN 0 HOURS DRY RUN", dialect=dialect)
    assert listed.column_names == ["path"]
    assert listed.num_rows == 6
    assert all(os.path.exists(path) for path in listed.column("path").to_pylist())
    done = con.sql("VACUUM lake.t RETAIN 0 HOURS LITE", dialect=dialect)
    assert done.to_pylist() == [{"path": f"{lake}/t"}]
    assert metrics_of(done) == {"numDeletedFiles": 6}
    assert not any(os.path.exists(path) for path in listed.column("path").to_pylist())


def test_vacuum_takes_an_inventory_as_a_table_or_a_query(con, lake):
    stray = lake / "t" / "stray.parquet"
    stray.write_bytes(b"")
    os.utime(stray, (0, 0))
    columns = {"path": [str(stray)], "length": [0], "isDir": [False], "modificationTime": [0]}
    deltaarrow.write_deltalake(f"{lake}/inventory", pa.table(columns))
    assert con.sql("VACUUM lake.t USING INVENTORY lake.inventory DRY RUN").column("path").to_pylist() == [
        str(stray)
    ]
    deltaarrow.write_deltalake(f"{lake}/bad", pa.table({"path": [str(stray)]}))
    with pytest.raises(SchemaMismatchError, match="DELTA_INVALID_INVENTORY_SCHEMA"):
        con.sql("VACUUM lake.t USING INVENTORY lake.bad")
    assert stray.exists()
    con.sql("VACUUM lake.t USING INVENTORY lake.inventory")
    assert not stray.exists()


def test_vacuum_of_duckdb_stays_duckdbs(con):
    con.sql("CREATE TABLE own (id INT)", dialect="duckdb")
    for text in ("VACUUM", "VACUUM own", "ANALYZE own", "VACUUM ANALYZE"):
        con.execute(text, dialect="duckdb")


@DIALECTS
def test_restore_returns_sparks_columns(con, lake, dialect):
    result = con.sql("RESTORE TABLE lake.t TO VERSION AS OF 0", dialect=dialect)
    [row] = result.to_pylist()
    assert list(row) == [
        "table_size_after_restore",
        "num_of_files_after_restore",
        "num_removed_files",
        "num_restored_files",
        "removed_files_size",
        "restored_files_size",
    ]
    assert (row["num_of_files_after_restore"], row["num_removed_files"]) == (2, 4)
    assert last(lake)["operationParameters"]["version"] == "0"
    newest = DeltaTable(f"{lake}/t").version()
    same = con.sql(f"RESTORE lake.t VERSION AS OF {newest}", dialect=dialect)
    assert (same.num_rows, same.schema) == (0, result.schema)
    assert DeltaTable(f"{lake}/t").version() == newest


def test_restore_to_a_time(con, lake):
    for version in range(3):
        os.utime(lake / "t" / "_delta_log" / f"{version:020}.json", (version * 3600, version * 3600))
    text = "1970-01-01 00:30:00"
    con.sql(f"RESTORE lake.t TO TIMESTAMP AS OF '{text}'")
    assert DeltaTable(f"{lake}/t").count() == 2
    with pytest.raises(VersionNotFoundError, match="DELTA_CANNOT_RESTORE_TIMESTAMP_GREATER"):
        con.sql("RESTORE lake.t TO TIMESTAMP AS OF '2100-01-01'")
    with pytest.raises(VersionNotFoundError, match="DELTA_CANNOT_RESTORE_TABLE_VERSION"):
        con.sql("RESTORE lake.t TO VERSION AS OF 99")
    with pytest.raises(ValueError, match="yesterday"):
        con.sql("RESTORE lake.t TO TIMESTAMP AS OF 'yesterday'")


@DIALECTS
def test_convert_makes_a_table_of_files(con, tmp_path, dialect):
    folder = tmp_path / "files"
    for day in (1, 2):
        os.makedirs(folder / f"day={day}")
        pq.write_table(pa.table({"id": [1, 2]}), folder / f"day={day}" / "a.parquet")
    text = f"CONVERT TO DELTA parquet.`{folder}` NO STATISTICS PARTITIONED BY (day BIGINT)"
    assert con.sql(text, dialect=dialect).to_pylist() == []
    table = DeltaTable(folder)
    assert (table.count(), table.metadata().partition_columns) == (4, ["day"])
    assert str(table.schema().field("day").type) == 'PrimitiveType("long")'
    assert table.get_add_actions()["num_records"].null_count == 2
    con.sql(text, dialect=dialect)
    assert DeltaTable(folder).version() == 0


@DIALECTS
def test_fsck_removes_lost_files(con, lake, dialect):
    [name, *_] = DeltaTable(f"{lake}/t").file_uris()
    os.remove(name)
    for text in ("FSCK REPAIR TABLE lake.t DRY RUN", "FSCK REPAIR TABLE lake.t"):
        [row] = con.sql(text, dialect=dialect).to_pylist()
        assert (f"{lake}/t/{row['path']}", row["reason"]) == (name, "gone")
    assert con.sql("FSCK REPAIR TABLE lake.t", dialect=dialect).num_rows == 0
    assert DeltaTable(f"{lake}/t").count() == 5


@DIALECTS
def test_analyze_computes_statistics(con, tmp_path, dialect):
    none = {"delta.dataSkippingNumIndexedCols": "0"}
    data = pa.table({"id": [1, 2], "n": [3, 4]})
    deltaarrow.write_deltalake(f"{tmp_path}/bare", data, configuration=none)
    DeltaTable(f"{tmp_path}/bare").alter.set_table_properties({"delta.dataSkippingNumIndexedCols": "2"})
    [row] = con.sql("ANALYZE TABLE lake.bare COMPUTE STATISTICS FOR COLUMNS id", dialect=dialect).to_pylist()
    assert (row["num_files_considered"], row["num_files_updated"]) == (1, 1)
    assert DeltaTable(f"{tmp_path}/bare").get_add_actions()["max"].to_pylist() == [{"id": 2, "n": None}]
    con.sql("ANALYZE TABLE lake.bare COMPUTE STATISTICS", dialect=dialect)
    assert DeltaTable(f"{tmp_path}/bare").get_add_actions()["max"].to_pylist() == [{"id": 2, "n": 4}]
    [row] = con.sql("ANALYZE TABLE lake.bare COMPUTE DELTA STATISTICS", dialect=dialect).to_pylist()
    assert (row["num_files_examined"], row["num_files_updated"]) == (1, 0)


STATEMENTS = [
    "OPTIMIZE {}",
    "OPTIMIZE {} FULL",
    "REORG TABLE {} APPLY (PURGE)",
    "VACUUM {}",
    "RESTORE {} TO VERSION AS OF 0",
    "GENERATE symlink_format_manifest FOR TABLE {}",
    "FSCK REPAIR TABLE {}",
    "ANALYZE TABLE {} COMPUTE STATISTICS",
]


@pytest.mark.parametrize("statement", STATEMENTS)
@pytest.mark.parametrize(
    "name", ["lake.nothing", "nothing", "delta.`/nothing`", "lake.`../t`", "lake.`t/p=a`"]
)
def test_unknown_table_is_refused(con, statement, name):
    with pytest.raises(TableNotFoundError):
        con.sql(statement.format(name))


REFUSED = {
    "OPTIMIZE lake.t WHERE id = 1": InvalidPredicateError,
    "OPTIMIZE lake.t ZORDER BY (p)": SchemaMismatchError,
    "OPTIMIZE lake.t FULL": SchemaMismatchError,
    "OPTIMIZE lake.t ZORDER BY (idd)": SchemaMismatchError,
    "GENERATE x FOR TABLE lake.t": ValueError,
    "CONVERT TO DELTA parquet.`/nothing`": SchemaMismatchError,
    "VACUUM lake.t RETAIN 0 HOURS": VacuumError,
    "REORG TABLE lake.t APPLY (UPGRADE UNIFORM (ICEBERG_COMPAT_VERSION = 9))": UnsupportedFeatureError,
}


@pytest.mark.parametrize("statement", REFUSED)
def test_what_an_operation_refuses_changes_nothing(con, lake, statement):
    before = DeltaTable(f"{lake}/t").version()
    with pytest.raises(REFUSED[statement]):
        con.sql(statement)
    assert DeltaTable(f"{lake}/t").version() == before


def test_version_whose_files_are_gone_is_not_restored(con, lake):
    con.sql(f"OPTIMIZE lake.t; {NO_CHECK}; VACUUM lake.t RETAIN 0 HOURS")
    with pytest.raises(MissingFilesError):
        con.sql("RESTORE lake.t TO VERSION AS OF 1")
