"""Clustering beside Spark: each goes on with the files of the other, and history says the same."""

import datetime as dt
import shutil

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.scan.row_id_columns import ROW_COMMIT_VERSION, ROW_ID
from tests.support.rows import assert_same_rows
from tests.support.spark import delta_table, make_once, spark_rows, spark_table

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

PROPERTIES = (
    "'delta.enableDeletionVectors' = 'true', 'delta.enableRowTracking' = 'true',"
    " 'delta.columnMapping.mode' = 'name', 'delta.checkpointPolicy' = 'v2'"
)
COLUMNS = "id BIGINT, s STRUCT<x: INT, `y.z`: STRING>, d DATE"


def insert(spark, path, first, files=1):
    struct = "named_struct('x', CAST(id * 7919 % 400 AS INT), 'y.z', CAST(id AS STRING))"
    values = f"id, IF(id % 9 = 0, NULL, {struct}), DATE_ADD(DATE'2020-01-01', CAST(id AS INT))"
    rows = f"range({first}, {first + 100 * files}, 1, {files})"
    spark.sql(f"INSERT INTO {delta_table(path)} SELECT {values} FROM {rows}")


def append(path, first):
    """What `insert` inserts, by us, which takes less time."""
    ids = range(first, first + 100)
    structs = [{"x": i * 7919 % 400, "y.z": str(i)} if i % 9 else None for i in ids]
    days = [dt.date(2020, 1, 1) + dt.timedelta(i) for i in ids]
    write_deltalake(path, pa.table({"id": ids, "s": structs, "d": days}), mode="append")


def make(spark, path, columns):
    """A table of Spark's with three files, some rows deleted."""
    make_once(spark, path, make_with_spark, columns)


def make_with_spark(spark, path, columns):
    spark.sql(
        f"CREATE TABLE {delta_table(path)} ({COLUMNS}) USING delta CLUSTER BY ({columns})"
        f" TBLPROPERTIES ({PROPERTIES})"
    )
    insert(spark, path, 0)
    insert(spark, path, 100, files=2)
    spark.sql(f"DELETE FROM {delta_table(path)} WHERE id % 11 = 3")


def newest(path):
    table = DeltaTable(path)
    return table.version(), table.history(1)[0]


def marks(path):
    """The provider and the tags of each live file; the id of a cube is only known to be there."""
    found = []
    for row in DeltaTable(path).snapshot.files().to_pylist(maps_as_pydicts="strict"):
        tags = {name: text for name, text in (row["tags"] or {}).items() if name != "deltaarrow.layer"}
        found.append((row["clustering_provider"], {**tags, "ZCUBE_ID": "ZCUBE_ID" in tags}))
    return sorted(found, key=str)


def optimize_both(spark, theirs, ours, *, full=False):
    """Optimize two tables that are alike, one by Spark and one here, and compare what is said of it."""
    spark.sql(f"OPTIMIZE {delta_table(theirs)}{' FULL' if full else ''}").collect()
    table = DeltaTable(ours)
    (table.optimize.full if full else table.optimize)()
    (version, commit), (spark_version, spark_commit) = newest(ours), newest(theirs)
    assert version == spark_version
    for key in ("operation", "operationParameters", "isolationLevel", "isBlindAppend", "tags"):
        assert commit.get(key) == spark_commit.get(key), key
    wanted = spark_commit.get("operationMetrics", {})
    assert commit.get("operationMetrics", {}).keys() == wanted.keys()
    for key in ("numAddedFiles", "numRemovedFiles", "numDeletionVectorsRemoved"):
        assert commit["operationMetrics"].get(key) == wanted.get(key), key
    assert marks(ours) == marks(theirs)


SEVERAL = "id, s.x, s.`y.z`, d"


def test_both_do_the_same(spark, tmp_path):
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    make(spark, theirs, SEVERAL)
    shutil.copytree(theirs, ours)
    optimize_both(spark, theirs, ours)
    for path in (theirs, ours):
        append(path, 50)
    optimize_both(spark, theirs, ours)
    assert_same_rows(spark_table(spark, ours), spark_table(spark, theirs))


@pytest.mark.slow
@pytest.mark.parametrize("columns", ["id", SEVERAL])
def test_both_do_the_same_by_other_columns(spark, tmp_path, columns):
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    make(spark, theirs, columns)
    shutil.copytree(theirs, ours)
    optimize_both(spark, theirs, ours)
    for path in (theirs, ours):
        append(path, 50)
    optimize_both(spark, theirs, ours)
    for path in (theirs, ours):
        spark.sql(f"ALTER TABLE {delta_table(path)} CLUSTER BY (d)")
        append(path, 150)
    optimize_both(spark, theirs, ours)
    optimize_both(spark, theirs, ours, full=True)
    assert_same_rows(spark_table(spark, ours), spark_table(spark, theirs))


def row_ids(path):
    return f"SELECT id, _metadata.row_id AS r, _metadata.row_commit_version AS c FROM {delta_table(path)}"


def begin_with_ours(spark, path, suffixes):
    """Spark leaves what we have clustered, whatever kind of OPTIMIZE it runs, and adds new rows to it."""
    make(spark, path, SEVERAL)
    before = spark_rows(spark.sql(row_ids(path)))
    DeltaTable(path).optimize()
    assert_same_rows(spark_rows(spark.sql(row_ids(path))), before)
    version = newest(path)[0]
    for suffix in suffixes:
        spark.sql(f"OPTIMIZE {delta_table(path)}{suffix}").collect()
        assert newest(path)[0] == version
    append(path, 300)
    spark.sql(f"OPTIMIZE {delta_table(path)}").collect()
    assert newest(path)[0] == version + 2
    assert newest(path)[1]["operationMetrics"]["numRemovedFiles"] == "2"
    assert DeltaTable(path).optimize(dry_run=True).num_files == 0


def test_spark_goes_on_with_our_clusters(spark, tmp_path):
    begin_with_ours(spark, tmp_path / "t", [" FULL"])


@pytest.mark.slow
def test_each_goes_on_with_the_other(spark, tmp_path):
    path = tmp_path / "t"
    begin_with_ours(spark, path, ["", " FULL"])
    # The new file does not overlap the old one, which stays. To Spark both are one cube.
    append(path, 400)
    assert DeltaTable(path).optimize()["numFilesRemoved"] == 1
    version = newest(path)[0]
    spark.sql(f"OPTIMIZE {delta_table(path)}").collect()
    assert newest(path)[0] == version
    append(path, 500)
    spark.sql(f"OPTIMIZE {delta_table(path)}").collect()
    assert newest(path)[1]["operationMetrics"]["numRemovedFiles"] == "3"
    found = DeltaTable(path).to_pyarrow_table(columns=["id", ROW_ID, ROW_COMMIT_VERSION])
    assert_same_rows(found.rename_columns(["id", "r", "c"]), spark_rows(spark.sql(row_ids(path))))
    assert DeltaTable(path).optimize(dry_run=True).num_files == 0


@pytest.mark.slow
def test_without_columns_both_compact(spark, tmp_path):
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    make(spark, theirs, "id, s.x")
    spark.sql(f"OPTIMIZE {delta_table(theirs)}").collect()
    insert(spark, theirs, 300)
    spark.sql(f"ALTER TABLE {delta_table(theirs)} CLUSTER BY NONE")
    shutil.copytree(theirs, ours)
    optimize_both(spark, theirs, ours)
    assert marks(ours) == [(None, {"ZCUBE_ID": False})]
