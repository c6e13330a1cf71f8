"""The stream sink writes each batch once, wherever it is stopped, and its commits are delta-spark's."""

import os

import pyarrow as pa
import pytest

import deltaarrow as da
import deltaarrow.spark
from deltaarrow.spark.data_source import DeltaSource
from deltaarrow.spark.stream_writer import StreamWriter
from tests.support.commits import commit
from tests.support.spark import spark_table

pytestmark = pytest.mark.slow

STEPS = ("before the rows", "after the rows", "before the commit", "after the commit", "after the note")


def crashing(step):
    """A source whose Python ends without a word at a step of its first batch."""

    # Classes of a function are pickled as they are: workers need not find this module.
    class Writer(StreamWriter):
        def write(self, iterator):
            if step == "before the rows":
                os._exit(1)
            written = super().write(iterator)
            if step == "after the rows":
                os._exit(1)
            return written

        def commit(self, messages, batchId):
            if step == "before the commit":
                os._exit(1)
            super().commit(messages, batchId)
            if step == "after the commit":
                os._exit(1)

    class Source(DeltaSource):
        @classmethod
        def name(cls):
            return "crashing"

        def streamWriter(self, schema, overwrite):
            writer = super().streamWriter(schema, overwrite)
            writer.__class__ = Writer
            return writer

    return Source


@pytest.mark.parametrize("step", STEPS)
def test_stream_that_ends_at_a_step_goes_on_without_losing_or_doubling_rows(spark, tmp_path, step):
    deltaarrow.spark.register(spark)
    spark.dataSource.register(crashing(step))
    source, sink, checkpoint = tmp_path / "source", tmp_path / "sink", tmp_path / "checkpoint"

    def add(first):
        spark.range(first, first + 100, 1, 2).write.format("delta").mode("append").save(str(source))

    def run(name):
        stream = spark.readStream.format("delta").load(str(source)).writeStream.format(name)
        stream = stream.options(checkpointLocation=str(checkpoint), txnAppId="copy")
        stream.trigger(availableNow=True).start(str(sink)).awaitTermination()

    def ids():
        return sorted(spark_table(spark, sink)["id"].to_pylist())

    add(0)
    run("deltaarrow")
    add(100)
    if step == "after the note":
        run("crashing")
    else:
        with pytest.raises(Exception, match=r"(?s)crashed|exited unexpectedly|EOF|Connection reset"):
            run("crashing")
    assert ids() == list(range(200 if step in ("after the commit", "after the note") else 100))
    run("deltaarrow")
    assert ids() == list(range(200))
    add(200)
    run("deltaarrow")
    assert ids() == list(range(300))
    assert da.DeltaTable(sink).version() == 2


def commits_of(sink):
    """What tells of each batch in the log, without what a writer makes up."""
    found = []
    for version in range(da.DeltaTable(sink).version() + 1):
        actions = commit(sink, version)
        [info] = [each["commitInfo"] for each in actions if "commitInfo" in each]
        [transaction] = [each["txn"] for each in actions if "txn" in each]
        parameters = info["operationParameters"]
        assert parameters.pop("queryId") == transaction.pop("appId")
        assert transaction.pop("lastUpdated") > 1_700_000_000_000
        metrics = info["operationMetrics"]
        metrics["numOutputBytes"] = "some" if int(metrics["numOutputBytes"]) else "none"
        names = ("operation", "isBlindAppend", "isolationLevel", "userMetadata")
        found.append([parameters, transaction, metrics, {name: info.get(name) for name in names}])
    return found


def test_history_and_applications_are_those_of_delta_spark(spark, tmp_path):
    deltaarrow.spark.register(spark)
    source = tmp_path / "source"
    for first in (0, 10, 5):
        rows = pa.table({"id": range(first, first + 10), "p": ["a", "b"] * 5})
        da.write_deltalake(source, rows, mode="append")

    def run(name, **options):
        stream = spark.readStream.format("delta").option("maxFilesPerTrigger", 1).load(str(source))
        # No row of the second batch is written.
        writer = stream.where("id < 10").writeStream.format(name)
        options |= {"checkpointLocation": str(tmp_path / f"{name}-checkpoint"), "userMetadata": "nightly"}
        writer = writer.options(**options).partitionBy("p")
        writer.trigger(availableNow=True).start(str(tmp_path / name)).awaitTermination()
        return commits_of(tmp_path / name)

    found = run("deltaarrow", partitionBy="p")
    assert found == run("delta")
    assert found == run("deltaarrow", partitionBy="p")
