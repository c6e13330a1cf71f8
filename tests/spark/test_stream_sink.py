"""The stream sink, stopped between any two steps and restarted, writes each batch once."""

import os

import pytest

import deltaarrow as da
import deltaarrow.spark
from deltaarrow.spark.source import DeltaSource
from deltaarrow.spark.stream_writer import StreamWriter
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
