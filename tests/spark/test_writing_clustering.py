"""Clustered tables that Spark and we create and change, side by side."""

import pyarrow as pa
import pytest

import deltaarrow as da
from tests.support.commits import commit, comparable
from tests.support.rows import assert_same_rows
from tests.support.spark import check_engines, create_table, delta_table, spark_table

pytestmark = [
    pytest.mark.spark,
    pytest.mark.usefixtures("spark"),
    pytest.mark.feature("clustering"),
]

COLUMNS = "a INT, b STRING, s STRUCT<x: INT, `y.z`: INT>"
INNER = pa.struct([("x", pa.int32()), ("y.z", pa.int32())])
ROWS = pa.table(
    {
        "a": pa.array(range(50), pa.int32()),
        "b": [f"t{number % 7}" for number in range(50)],
        "s": pa.array([{"x": number % 5, "y.z": 1} for number in range(50)], INNER),
    }
)


def test_clustered_tables_are_as_spark_makes_them(spark, tmp_path):
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    name = delta_table(theirs)
    create_table(spark, theirs, COLUMNS, "CLUSTER BY (a, s.x)")
    spark.createDataFrame(ROWS).coalesce(1).write.format("delta").mode("append").save(str(theirs))
    spark.sql(f"ALTER TABLE {name} CLUSTER BY (B)")
    spark.sql(f"ALTER TABLE {name} CLUSTER BY NONE")
    spark.sql(f"ALTER TABLE {name} CLUSTER BY (s.x, b)")
    table = da.DeltaTable.create(ours, ROWS.schema, cluster_by=["a", "s.x"])
    da.write_deltalake(table, ROWS, mode="append")
    table.alter.cluster_by(["B"])
    table.alter.cluster_by(None)
    table.alter.cluster_by(["s.x", "b"])
    for version in range(5):
        assert comparable(commit(ours, version)) == comparable(commit(theirs, version)), version
    da.write_deltalake(theirs, ROWS, mode="append")
    spark.sql(f"INSERT INTO {delta_table(ours)} SELECT * FROM {name} LIMIT 50")
    for path in (ours, theirs):
        spark.sql(f"OPTIMIZE {delta_table(path)}")
        (added,) = (each["add"] for each in commit(path, 6) if "add" in each)
        assert added["clusteringProvider"] == "liquid"
        assert added["tags"]["ZCUBE_ZORDER_BY"] == '["s.x","b"]'
        da.write_deltalake(path, ROWS.slice(3, 1), mode="overwrite", predicate="a = 3")
        spark.sql(f"UPDATE {delta_table(path)} SET a = -1 WHERE b = 't1'")
    assert_same_rows(check_engines(spark, ours), check_engines(spark, theirs))


@pytest.mark.slow
def test_a_table_becomes_clustered_as_in_spark(spark, tmp_path):
    plain = tmp_path / "plain"
    da.write_deltalake(plain, ROWS)
    da.DeltaTable(plain).alter.cluster_by("a")
    other = tmp_path / "other"
    spark.sql(f"ALTER TABLE {create_table(spark, other, COLUMNS)} CLUSTER BY (a)")
    assert comparable(commit(plain, 1)) == comparable(commit(other, 1))
    detail = spark.sql(f"DESCRIBE DETAIL {delta_table(plain)}").select("clusteringColumns").collect()
    assert detail[0][0] == ["a"]


@pytest.mark.slow
def test_an_overwrite_forgets_clustering_columns_as_in_spark(spark, tmp_path):
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for path in (ours, theirs):
        create_table(spark, path, COLUMNS, "CLUSTER BY (a, s.x)")
    other = ROWS.select(["b"])
    for data, schema_mode in ((ROWS, None), (other, "overwrite")):
        overwrites = str(schema_mode == "overwrite").lower()
        writer = spark.createDataFrame(data).coalesce(1).write.format("delta").mode("overwrite")
        writer.option("overwriteSchema", overwrites).save(str(theirs))
        da.write_deltalake(ours, data, mode="overwrite", schema_mode=schema_mode)
        version = da.DeltaTable(ours).version()
        assert comparable(commit(ours, version)) == comparable(commit(theirs, version)), version
        for path in (ours, theirs):
            assert da.DeltaTable(path).detail()["clusteringColumns"] == []
            da.DeltaTable(path).alter.cluster_by("b")
    spark.sql(f"INSERT OVERWRITE {delta_table(ours)} VALUES ('x'), ('y')")
    assert da.DeltaTable(ours).detail()["clusteringColumns"] == []
    assert_same_rows(spark_table(spark, ours), da.DeltaTable(ours).to_pyarrow_table())
