"""`table.analyze` beside delta-spark's recomputation of statistics, which only its Scala API has."""

import json
import shutil

import pytest

import deltaarrow as da
from tests.support.commits import commit, comparable
from tests.support.rows import assert_same_rows
from tests.support.spark import delta_table, spark_rows

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]


def recompute(spark, path):
    """Call `StatisticsCollection.recompute` with its defaults: every file."""
    delta = spark._jvm.org.apache.spark.sql.delta
    collection, session = delta.stats.StatisticsCollection, spark._jsparkSession
    defaults = [getattr(collection, f"recompute$default${place}")() for place in (4, 5)]
    nothing = spark._jvm.scala.Option.empty()
    collection.recompute(session, delta.DeltaLog.forTable(session, str(path)), nothing, *defaults)


def test_the_commit_is_the_one_that_spark_makes(spark, tmp_path):
    path = tmp_path / "ours"
    name = delta_table(path)
    spark.sql(
        f"CREATE TABLE {name} (id BIGINT, v STRING, d DOUBLE, at TIMESTAMP, s STRUCT<a: INT, b: ARRAY<INT>>,"
        " p INT) USING delta PARTITIONED BY (p) TBLPROPERTIES ('delta.enableRowTracking' = 'true',"
        " 'delta.columnMapping.mode' = 'name', 'delta.dataSkippingNumIndexedCols' = '0')"
    )
    spark.sql(
        f"INSERT INTO {name} SELECT id, if(id % 3 = 0, NULL, repeat(concat('x', id), 20)),"
        " if(id = 25, double('NaN'), id / 8), timestamp_micros(id * 1001),"
        " if(id = 4, NULL, named_struct('a', int(id), 'b', if(id = 5, NULL, array(1, NULL)))), id div 20"
        " FROM range(0, 40, 1, 1)"
    )
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('delta.dataSkippingNumIndexedCols' = '32')")
    theirs = shutil.copytree(path, tmp_path / "theirs")
    recompute(spark, theirs)
    table = da.DeltaTable(path)
    rows = spark_rows(spark.sql(f"SELECT *, _metadata.row_id FROM {name} ORDER BY id"))
    assert table.analyze()["numFilesUpdated"] == 2
    ours, wanted = commit(path, 3), commit(theirs, 3)
    # Spark does not say that rows keep their ids, which they do.
    assert ours[0]["commitInfo"].pop("tags") == {"delta.rowTracking.preserved": "true"}
    assert comparable(ours) == comparable(wanted)
    told = [
        {each["add"]["path"]: json.loads(each["add"]["stats"]) for each in actions if "add" in each}
        for actions in (ours, wanted)
    ]
    assert told[0] == told[1]
    assert_same_rows(spark_rows(spark.sql(f"SELECT *, _metadata.row_id FROM {name} ORDER BY id")), rows)
    # Spark goes on, and its statistics count for nothing more.
    spark.sql(f"INSERT INTO {name} SELECT * FROM {name} WHERE id = 7")
    table.update_incremental()
    assert table.analyze(full=True)["numFilesUpdated"] == 0


@pytest.mark.slow
def test_spark_reads_statistics_of_files_with_deleted_rows(spark, tmp_path):
    """Spark itself refuses to compute them."""
    name = delta_table(tmp_path)
    spark.sql(
        f"CREATE TABLE {name} (id BIGINT, v STRING) USING delta"
        " TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
    )
    spark.sql(f"INSERT INTO {name} SELECT id, if(id < 3, 'a', NULL) FROM range(0, 40, 1, 1)")
    spark.sql(f"DELETE FROM {name} WHERE id < 3 OR id = 39")
    table = da.DeltaTable(tmp_path)
    assert table.analyze()["numFilesUpdated"] == 1
    assert spark.sql(f"SELECT min(id), max(id), count(*), count(v) FROM {name}").first()[:] == (3, 38, 36, 0)
    assert spark.sql(f"SELECT count(*) FROM {name} WHERE v IS NULL AND id > 37").first()[0] == 1
    spark.sql(f"DELETE FROM {name} WHERE id = 3")
    spark.sql(f"INSERT INTO {name} VALUES (100, 'z')")
    table.update_incremental()
    assert table.verify(deep=True).ok
    assert table.analyze()["numFilesUpdated"] == 1
    assert spark.sql(f"SELECT min(id), max(id), count(*) FROM {name}").first()[:] == (4, 100, 36)
