"""The data source in a Spark without Delta's jar, with tasks that are retried."""

import subprocess
import sys
from pathlib import Path

import pytest

import deltaarrow as da
from tests.support.modules import ROOT
from tests.support.spark_process import SparkProcess

SCRIPT = """
import os, sys
from pyspark.sql import SparkSession
from pyspark import TaskContext
import deltaarrow.spark

path, marks = sys.argv[1:]
spark = (
    SparkSession.builder.master("local[2,4]")
    .config("spark.ui.enabled", "false")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.sql.execution.arrow.useLargeVarTypes", "true")
    .config("spark.sql.session.timeZone", "America/New_York")
    .getOrCreate()
)
deltaarrow.spark.register(spark)


def failing(batches):
    context = TaskContext.get()
    yield from batches
    if context.partitionId() == 1 and context.attemptNumber() < 2:
        open(os.path.join(marks, str(context.attemptNumber())), "w").close()
        if context.attemptNumber() == 0:
            raise ValueError("the first attempt fails after its rows")
        os._exit(1)


columns = "id, CAST(id AS STRING) s, TIMESTAMP '2026-01-01 00:00:00' at"
rows = spark.sql(f"SELECT {columns} FROM range(0, 200000, 1, 4)")
rows.mapInArrow(failing, rows.schema).write.format("deltaarrow").mode("append").save(path)
frame = spark.read.format("deltaarrow").load(path)
found = frame.selectExpr("count(*)", "count(DISTINCT id)", "sum(id)", "max(CAST(at AS STRING))").first()
assert tuple(found) == (200000, 200000, 199999 * 100000, "2026-01-01 00:00:00"), found
spark.stop()
"""


@pytest.mark.slow
@pytest.mark.spark
def test_tasks_that_are_tried_again_double_no_row(tmp_path, monkeypatch):
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    table, marks = tmp_path / "table", tmp_path / "marks"
    marks.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(table), str(marks)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert sorted(file.name for file in marks.iterdir()) == ["0", "1"]
    found = da.DeltaTable(table).to_pyarrow_table()
    assert (found.num_rows, len(found["id"].unique())) == (200_000, 200_000)
    assert str(found["at"][0].as_py()) == "2026-01-01 05:00:00+00:00"
    assert da.DeltaTable(table).version() == 0
    assert len(list(Path(table).glob("*.parquet"))) >= 4


OTHERS = ("pandas", "polars", "delta", "deltalake", "typer", "rich", "s3fs", "grpc")

NOTHING_ELSE = f"""
import sys
from importlib.machinery import PathFinder


class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name in {OTHERS} else super().find_spec(name, path, target)


sys.meta_path[:] = [Without if finder is PathFinder else finder for finder in sys.meta_path]
"""
"""What every Python of a test runs first, the workers of Spark as well."""

WITHOUT_OTHERS = """
rows = spark.sql("SELECT id, CAST(id AS DECIMAL(9, 2)) d, id % 2 p FROM range(0, 1000, 1, 2)")
rows.write.format("deltaarrow").mode("append").option("partitionBy", "p").save(path)
writer = rows.where("p = 0").write.format("deltaarrow").mode("overwrite").option("replaceWhere", "p = 0")
writer.save(path)
options = {"filter": "id >= 990 AND p = 0", "columns": "id"}
some = spark.read.format("deltaarrow").options(**options).load(path)
assert sorted(row["id"] for row in some.collect()) == [990, 992, 994, 996, 998]
stream = spark.readStream.format("deltaarrow").option("filter", "p = 1").load(path)
writer = stream.writeStream.format("deltaarrow").option("txnAppId", "copy").trigger(availableNow=True)
writer.option("checkpointLocation", f"{path}-checkpoint").start(f"{path}-copy").awaitTermination()
assert spark.read.format("deltaarrow").load(f"{path}-copy").count() == 500
try:
    import pandas
except ModuleNotFoundError:
    mark("alone")
"""


@pytest.mark.slow
@pytest.mark.spark
def test_pyspark_is_all_that_it_needs(tmp_path, monkeypatch):
    first = tmp_path / "first"
    first.mkdir()
    (first / "sitecustomize.py").write_text(NOTHING_ELSE)
    monkeypatch.setenv("PYTHONPATH", str(first))
    with SparkProcess(WITHOUT_OTHERS, tmp_path, master="local[2]") as spark:
        spark.finish()
    assert (spark.marks / "alone").exists(), spark.log
    assert da.DeltaTable(spark.table).count() == 1000
