"""The data source on Spark Connect: a client without a JVM reads, writes and streams."""

import importlib.util

import pytest

import deltaarrow as da
from tests.support.spark_process import SparkProcess

SCRIPT = """
assert "connect" in type(spark).__module__
rows = spark.sql("SELECT id, CAST(id AS STRING) s, CAST(id AS DECIMAL(9, 2)) d FROM range(0, 1000, 1, 2)")
rows.write.format("deltaarrow").mode("append").save(path)
rows.write.format("deltaarrow").mode("overwrite").option("replaceWhere", "id < 1000").save(path)
frame = spark.read.format("deltaarrow").option("filter", "id >= 500").option("columns", "d, id").load(path)
assert frame.columns == ["d", "id"]
assert tuple(frame.selectExpr("count(*)", "sum(id)", "CAST(max(d) AS STRING)").first()) == (
    500, 374750, "999.00"
)
frame = spark.read.format("deltaarrow").option("versionAsOf", 0).load(path)
assert frame.count() == 1000
try:
    spark.read.format("deltaarrow").option("versionAsOf", 9).load(path).count()
except Exception as error:
    assert "VersionNotFoundError" in str(error), error
    mark("refused")


def copy(**options):
    stream = spark.readStream.format("deltaarrow").options(**options).load(path)
    assert stream.isStreaming and stream.columns == ["id", "s", "d"]
    writer = stream.writeStream.format("deltaarrow").option("txnAppId", "copy")
    writer = writer.option("checkpointLocation", f"{path}-checkpoint").trigger(availableNow=True)
    query = writer.start(f"{path}-copy")
    assert query.awaitTermination(200)
    assert query.exception() is None, query.exception()


copy(maxFilesPerTrigger=1)
rows.limit(10).write.format("deltaarrow").mode("append").save(path)
for _ in range(2):
    copy(maxFilesPerTrigger=1)
assert spark.read.format("deltaarrow").load(f"{path}-copy").count() == 1010
mark("copied")
spark.stop()
"""


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.skipif(importlib.util.find_spec("grpc") is None, reason="Spark Connect needs grpcio")
def test_data_source_is_registered_read_and_written_on_connect(tmp_path):
    with SparkProcess(SCRIPT, tmp_path, remote="local[2]") as spark:
        spark.finish()
    assert {"refused", "copied"} <= {file.name for file in spark.marks.iterdir()}
    copied = da.DeltaTable(f"{spark.table}-copy")
    for table, wanted in (
        (da.DeltaTable(spark.table), ["WRITE"] * 3),
        (copied, ["STREAMING UPDATE"] * 3),
    ):
        assert [entry["operation"] for entry in table.history()] == wanted
    assert copied.transaction_version("copy") == 2
