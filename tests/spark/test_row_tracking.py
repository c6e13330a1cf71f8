"""Row ids of tables that Spark writes: every engine shows the same ids as Spark."""

import pytest

import deltaarrow as da
from deltaarrow.scan.row_id_columns import ROW_COMMIT_VERSION, ROW_ID
from tests.support.engines import ENGINES, open_snapshot
from tests.support.rows import assert_same_rows
from tests.support.spark import create_table, delta_table, spark_rows

pytestmark = [
    pytest.mark.spark,
    pytest.mark.usefixtures("spark"),
    pytest.mark.feature("rowTracking"),
]

COLUMNS = ["id", ROW_ID, ROW_COMMIT_VERSION]


def check(spark, path):
    """Spark's rows, with their row ids, are those of every engine; return them."""
    query = f"SELECT id, _metadata.row_id, _metadata.row_commit_version FROM {delta_table(path)}"
    wanted = spark_rows(spark.sql(query)).rename_columns(COLUMNS)
    assert len(set(wanted[ROW_ID].to_pylist())) == wanted.num_rows
    for engine, read in ENGINES.items():
        found = read(open_snapshot(path), COLUMNS, None, row_tracking=True)
        assert_same_rows(found, wanted)
        some = read(open_snapshot(path), ["id"], f'"{ROW_ID}" >= 30', row_tracking=True)
        expected = [row["id"] for row in wanted.to_pylist() if row[ROW_ID] >= 30]
        assert sorted(some["id"].to_pylist()) == sorted(expected), engine
    return wanted


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["none", "name", "id"])
def test_rows_keep_their_ids(spark, tmp_path, mode):
    path = tmp_path / "t"
    name = delta_table(path)
    spark.sql(
        f"CREATE TABLE {name} (id BIGINT, v STRING) USING delta TBLPROPERTIES ("
        "'delta.enableRowTracking' = 'true', 'delta.enableDeletionVectors' = 'true',"
        f" 'delta.columnMapping.mode' = '{mode}')"
    )
    spark.sql(f"INSERT INTO {name} SELECT id, 'a' FROM range(0, 40, 1, 1)")
    spark.sql(f"INSERT INTO {name} SELECT id, 'b' FROM range(40, 60, 1, 1)")
    first = {row["id"]: row[ROW_ID] for row in check(spark, path).to_pylist()}
    spark.sql(f"DELETE FROM {name} WHERE id % 10 = 3")
    spark.sql(f"UPDATE {name} SET v = 'c' WHERE id % 10 = 7")
    changed = check(spark, path)
    assert len(set(changed[ROW_COMMIT_VERSION].to_pylist())) > 2
    spark.sql(f"OPTIMIZE {name}")
    spark.sql(f"INSERT INTO {name} SELECT id, 'd' FROM range(60, 70, 1, 1)")
    last = check(spark, path)
    kept = {row["id"]: row[ROW_ID] for row in last.to_pylist() if row["id"] < 60}
    assert kept == {id: row_id for id, row_id in first.items() if id % 10 != 3}


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "vectors"), [("none", "true"), ("name", "false")])
def test_row_tracking_that_was_enabled_later(spark, tmp_path, mode, vectors):
    """Files from before get ids by a backfill; merging and moving rows keeps them, a clone has its own."""
    path, clone = tmp_path / "t", tmp_path / "clone"
    properties = {"columnMapping__mode": mode, "enableDeletionVectors": vectors}
    name = create_table(spark, path, "id BIGINT, p INT, v STRING", "PARTITIONED BY (p)", **properties)
    spark.sql(f"INSERT INTO {name} SELECT id, id % 2, 'a' FROM range(0, 60, 1, 2)")
    spark.sql(f"DELETE FROM {name} WHERE id IN (3, 44)")
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('delta.enableRowTracking' = 'true')")
    first = {row["id"]: row[ROW_ID] for row in check(spark, path).to_pylist()}
    spark.sql(
        f"MERGE INTO {name} AS t USING (SELECT id, id % 2 AS p, 'm' AS v FROM range(50, 70)) AS s"
        " ON t.id = s.id WHEN MATCHED AND s.id = 57 THEN DELETE WHEN MATCHED THEN UPDATE SET *"
        " WHEN NOT MATCHED THEN INSERT *"
    )
    merged = da.DeltaTable(path).version()
    check(spark, path)
    spark.sql(f"UPDATE {name} SET p = 1 - p WHERE id < 10")
    spark.sql(f"OPTIMIZE {name}")
    last = {row["id"]: row[ROW_ID] for row in check(spark, path).to_pylist()}
    assert {id: last[id] for id in first if id in last} == {id: first[id] for id in first if id != 57}
    spark.sql(f"CREATE TABLE {delta_table(clone)} SHALLOW CLONE {name}")
    spark.sql(f"UPDATE {delta_table(clone)} SET v = 'z' WHERE id % 10 = 5")
    spark.sql(f"INSERT INTO {delta_table(clone)} VALUES (1000, 1, 'new')")
    check(spark, clone)
    spark.sql(f"RESTORE TABLE {name} TO VERSION AS OF {merged}")
    check(spark, path)
    assert not list(da.DeltaTable(path).verify(deep=True))
