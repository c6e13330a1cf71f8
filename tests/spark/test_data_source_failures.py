"""Data source writes whose executors or drivers die at the worst moment, or do their work twice."""

import pyarrow as pa
import pytest

import deltaarrow as da
from tests.support.spark_process import SPECULATING, SparkProcess, StandaloneCluster

pytestmark = [pytest.mark.slow, pytest.mark.spark]

ROWS = 200_000

CLUSTER = """
from pyspark import TaskContext


def executor():
    # The process that runs this task: the parent of the daemon that is the parent of this worker.
    daemon = os.getppid()
    return int(Path(f"/proc/{daemon}/stat").read_text().rpartition(")")[2].split()[1])


def dying(batches):
    for number, batch in enumerate(batches):
        if number == 2 and TaskContext.get().partitionId() == 1 and not (marks / "killed").exists():
            mark("killed")
            os.kill(executor(), 9)
        yield batch


def hesitating(batches):
    yield from batches
    context = TaskContext.get()
    if context.partitionId() == 3:
        mark(f"attempt {context.attemptNumber()}")
        while not (marks / "attempt 1").exists():
            time.sleep(0.05)


rows = spark.range(0, ROWS, 1, 4)
spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", 5000)
for way in (dying, hesitating):
    rows.mapInArrow(way, rows.schema).write.format("deltaarrow").mode("append").save(path)
    mark(way.__name__)
frame = spark.read.format("deltaarrow").option("maxPartitionBytes", 1).load(path)
assert frame.rdd.getNumPartitions() >= 8
processes = frame.mapInArrow(lambda batches: batches, frame.schema)
assert processes.count() == frame.count() == 2 * ROWS
assert frame.select("id").distinct().count() == ROWS
assert frame.select("number").distinct().count() == 2 * ROWS
spark.stop()
"""


def rows_of(table):
    found = da.DeltaTable(table).to_pyarrow_table(columns=["id"])["id"]
    return len(found), len(found.unique())


def leftovers(table):
    """The data files that no version of the table has."""
    found = da.DeltaTable(table)
    files = {file.name for file in table.glob("*.parquet")}
    return files - {path.rpartition("/")[2] for path in found.file_uris()}


def test_executors_that_die_and_tasks_that_run_twice_neither_lose_nor_double_rows(tmp_path):
    script = f"ROWS = {ROWS}\n{CLUSTER}"
    identity = {"start": -1, "step": -1, "allowExplicitInsert": False}
    metadata = {f"delta.identity.{key}": value for key, value in identity.items()}
    fields = [da.Field("id", "long"), da.Field("number", "long", metadata=metadata)]
    da.DeltaTable.create(tmp_path / "table", da.Schema(fields))
    with (
        StandaloneCluster(tmp_path) as cluster,
        SparkProcess(script, tmp_path, master=cluster.master, **SPECULATING) as spark,
    ):
        spark.finish()
    said = {file.name for file in spark.marks.iterdir()}
    assert {"killed", "attempt 0", "attempt 1"} <= said
    assert rows_of(spark.table) == (2 * ROWS, ROWS)
    table = da.DeltaTable(spark.table)
    assert table.version() == 2
    assert table.verify(deep=True).ok
    numbers = table.to_pyarrow_table(columns=["number"])["number"].to_pylist()
    assert len(set(numbers)) == 2 * ROWS
    assert table.snapshot.schema.field("number").metadata["delta.identity.highWaterMark"] == min(numbers)


DRIVER = """
from deltaarrow.spark.data_source import DeltaSource
from deltaarrow.spark.frame_writer import FrameWriter


class StoppingWriter(FrameWriter):
    def commit(self, messages):
        if AFTER:
            super().commit(messages)
        mark("here")
        time.sleep(600)


class Stopping(DeltaSource):
    @classmethod
    def name(cls):
        return "stopping"

    def writer(self, schema, overwrite):
        writer = super().writer(schema, overwrite)
        writer.__class__ = StoppingWriter
        return writer


spark.dataSource.register(Stopping)
source = "deltaarrow" if (marks / "here").exists() else "stopping"
writer = spark.range(0, ROWS, 1, 2).write.format(source).mode("append")
writer.option("txnAppId", "loader").option("txnVersion", 1).save(path)
mark("done")
spark.stop()
"""


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_driver_killed_around_the_commit_and_run_again_writes_once(tmp_path, after):
    da.write_deltalake(tmp_path / "table", pa.table({"id": pa.array([-1])}))
    script = f"ROWS, AFTER = {ROWS}, {after}\n{DRIVER}"
    with SparkProcess(script, tmp_path, master="local[2]") as spark:
        spark.wait_for("here")
        spark.kill()
    assert not (spark.marks / "done").exists()
    assert rows_of(spark.table) == ((ROWS + 1,) * 2 if after else (1, 1))
    assert len(leftovers(spark.table)) == (0 if after else 2)
    with SparkProcess(script, tmp_path, master="local[2]") as spark:
        spark.finish()
    assert (spark.marks / "done").exists()
    assert rows_of(spark.table) == (ROWS + 1,) * 2
    assert da.DeltaTable(spark.table).version() == 1
    assert len(leftovers(spark.table)) == (0 if after else 2)
    assert da.DeltaTable(spark.table).verify(deep=True).ok
