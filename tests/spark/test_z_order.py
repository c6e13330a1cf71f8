"""Z-order beside Spark: Spark reads what we lay out, says the same of it, and goes on with it."""

import shutil

import pytest

from deltaarrow import DeltaTable
from deltaarrow.scan.row_id_columns import ROW_COMMIT_VERSION, ROW_ID
from tests.support.rows import assert_same_rows
from tests.support.spark import delta_table, make_once, spark_rows, spark_table

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

PROPERTIES = (
    "'delta.enableDeletionVectors' = 'true', 'delta.enableRowTracking' = 'true',"
    " 'delta.columnMapping.mode' = 'name', 'delta.enableChangeDataFeed' = 'true'"
)


def make(spark, path, layout="PARTITIONED BY (p)"):
    """A table of Spark's with files in no order, and some rows deleted."""
    make_once(spark, path, make_with_spark, layout)


def make_with_spark(spark, path, layout):
    columns = "id BIGINT, s STRUCT<x: INT, `y z`: STRING>, d DECIMAL(20, 2), v VARIANT, p INT"
    spark.sql(
        f"CREATE TABLE {delta_table(path)} ({columns}) USING delta {layout} TBLPROPERTIES ({PROPERTIES})"
    )
    for first in (0, 200):
        struct = "named_struct('x', CAST(id * 7919 % 400 AS INT), 'y z', CAST(id AS STRING))"
        values = f"id, IF(id % 9 = 0, NULL, {struct}), id / 3, parse_json(CAST(id AS STRING)), id % 2"
        spark.sql(f"INSERT INTO {delta_table(path)} SELECT {values} FROM range({first}, {first + 200}, 1, 2)")
    spark.sql(f"DELETE FROM {delta_table(path)} WHERE id % 11 = 3")


def newest(path):
    table = DeltaTable(path)
    return table.version(), table.history(1)[0]


def test_history_and_rows_are_those_of_spark(spark, tmp_path):
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    make(spark, theirs)
    shutil.copytree(theirs, ours)
    spark.sql(f"OPTIMIZE {delta_table(theirs)} WHERE p = 1 ZORDER BY (ID, s.x, s.`y z`)").collect()
    DeltaTable(ours).optimize.z_order(["ID", "s.x", "s.`y z`"], predicate="p = 1")
    (version, commit), (spark_version, spark_commit) = newest(ours), newest(theirs)
    assert version == spark_version
    for key in ("operation", "isolationLevel", "isBlindAppend", "tags", "readVersion"):
        assert commit.get(key) == spark_commit.get(key), key
    parameters = dict(spark_commit["operationParameters"])
    parameters["predicate"] = parameters["predicate"].replace("'p", "p")
    assert dict(commit["operationParameters"]) == parameters
    assert commit["operationMetrics"].keys() == spark_commit["operationMetrics"].keys()
    for key in ("numAddedFiles", "numRemovedFiles", "numRemovedBytes", "numDeletionVectorsRemoved"):
        assert commit["operationMetrics"][key] == spark_commit["operationMetrics"][key], key
    assert_same_rows(spark_table(spark, ours), spark_table(spark, theirs))


@pytest.mark.slow
def test_spark_goes_on_and_so_do_we(spark, tmp_path):
    path = tmp_path / "t"
    make(spark, path)
    query = f"SELECT id, _metadata.row_id AS r, _metadata.row_commit_version AS c FROM {delta_table(path)}"
    before = spark_rows(spark.sql(query))
    DeltaTable(path).optimize.z_order(["id", "d"])
    assert_same_rows(spark_rows(spark.sql(query)), before)
    version = newest(path)[0]
    spark.sql(f"OPTIMIZE {delta_table(path)}").collect()
    assert newest(path)[0] == version
    spark.sql(f"DELETE FROM {delta_table(path)} WHERE id = 5")
    # Spark keeps our tag when it adds a file again with a deletion vector.
    assert DeltaTable(path).optimize.z_order(["id", "d"], dry_run=True).num_files == 0
    spark.sql(f"OPTIMIZE {delta_table(path)} ZORDER BY (d)").collect()
    assert DeltaTable(path).optimize.z_order(["id", "d"])["numFilesRemoved"] == 2
    found = DeltaTable(path).to_pyarrow_table(columns=["id", ROW_ID, ROW_COMMIT_VERSION])
    rest = spark_rows(spark.sql(query))
    assert_same_rows(found.rename_columns(["id", "r", "c"]), rest)
    assert rest.num_rows == before.num_rows - 1
