"""Data frames of PySpark as Arrow streams into tables, and rows of tables as data frames, without files."""

import pytest

import deltaarrow as da

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")

STREAMED = """
    SELECT id, cast(id AS string) AS s, array(id, null) AS a, map('k', id) AS m, named_struct('x', id) AS st,
      timestamp_ntz'2026-01-01 00:00:00.000001' AS ntz, date'0001-01-01' AS d, cast(id AS decimal(9, 2)) AS c,
      X'00ff' AS b, cast(id AS tinyint) AS i8, id > 2 AS yes, cast('-inf' AS double) AS f,
      cast(null AS int) AS n, parse_json('[1]') AS v, named_struct('v', parse_json('[2]')) AS sv
    FROM range(0, 5, 1, 1)
"""


@pytest.mark.feature("variantType")
def test_a_data_frame_is_written_as_a_stream(spark, tmp_path):
    frame = spark.sql(STREAMED)
    assert da.write_deltalake(tmp_path, frame).version == 0
    read = spark.read.format("delta").load(str(tmp_path))
    assert [field.dataType for field in read.schema] == [field.dataType for field in frame.schema]
    assert sorted(map(str, read.collect())) == sorted(map(str, frame.collect()))


@pytest.mark.slow
def test_a_data_frame_is_a_source_of_merge(spark, tmp_path):
    da.write_deltalake(tmp_path, spark.sql("SELECT id, 'old' AS v FROM range(0, 3, 1, 1)"))
    source = spark.sql("SELECT id, 'new' AS v FROM range(2, 4, 1, 1)")
    merger = da.DeltaTable(tmp_path).merge(source, "s.id = t.id", source_alias="s", target_alias="t")
    merger.when_matched_update_all().when_not_matched_insert_all().execute()
    rows = da.DeltaTable(tmp_path).to_pyarrow_table().sort_by("id").to_pydict()
    assert rows == {"id": [0, 1, 2, 3], "v": ["old", "old", "new", "new"]}


def test_what_spark_does_not_stream_is_refused_with_the_way_out(spark, tmp_path):
    """Spark 4.2 makes no stream of time stamps with a time zone."""
    values = "timestamp'2026-01-01 00:00:00.000001' AS at, named_struct('v', parse_json('[2]')) AS v"
    frame = spark.sql(f"SELECT id, {values} FROM range(2)")
    with pytest.raises(TypeError, match=r"give frame\.toArrow\(\)"):
        da.write_deltalake(tmp_path, frame)
    assert not list(tmp_path.iterdir())
    da.write_deltalake(tmp_path, frame.toArrow())
    read = spark.read.format("delta").load(str(tmp_path))
    assert [field.dataType for field in read.schema] == [field.dataType for field in frame.schema]
    assert sorted(map(str, read.collect())) == sorted(map(str, frame.collect()))


def test_rows_of_a_table_become_a_data_frame(spark, tmp_path):
    features = {"delta.enableDeletionVectors": "true", "delta.columnMapping.mode": "name"}
    da.write_deltalake(tmp_path, spark.sql(STREAMED), configuration=features)
    table = da.DeltaTable(tmp_path)
    table.delete("id = 3")
    frame = spark.createDataFrame(table.to_pyarrow_table(columns=["id", "s", "st", "ntz", "d"]))
    wanted = spark.sql(STREAMED).where("id <> 3").select("id", "s", "st", "ntz", "d")
    assert sorted(map(str, frame.collect())) == sorted(map(str, wanted.collect()))
