"""Statements on Spark: with delta-spark, or by deltaarrow with its tasks on executors."""

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import deltaarrow.spark
from deltaarrow.pipeline.engine import StatementReport
from deltaarrow.pipeline.one_node import OneNodeEngine
from deltaarrow.runtime.executors import using
from deltaarrow.runtime.optional import require

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["ExecutorsEngine", "SparkEngine", "start_spark"]

_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
}
_JAR_SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
_LOCAL_SETTINGS = {
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "8",
    "spark.databricks.delta.snapshotPartitions": "2",
}
"""On one machine; the defaults, 200, 10000 and 50, are for clusters, and take minutes for small tables."""
_CONFLICTS = {
    "ConcurrentAppendException",
    "ConcurrentDeleteDeleteException",
    "ConcurrentDeleteReadException",
    "ConcurrentTransactionException",
    "ConcurrentWriteException",
    "MetadataChangedException",
    "ProtocolChangedException",
}
"""What delta-spark raises for a statement that another writer of the table was quicker than."""


class SparkEngine:
    """Runs statements in a Spark session that has delta-spark."""

    def __init__(self, session: "SparkSession") -> None:
        self._session = session

    def run(self, statement: str) -> None:
        """Run one statement; raises what Spark raises."""
        self._session.sql(statement).collect()

    def is_conflict(self, error: Exception) -> bool:
        """Whether the error is one of delta-spark's for a statement that another writer was quicker than."""
        return type(error).__name__ in _CONFLICTS


class ExecutorsEngine:
    """Runs statements by deltaarrow, whose tasks executors of Spark carry out; Spark needs no jar.

    Queries and INSERT run in this process, as with `OneNodeEngine`.
    """

    def __init__(self, session: "SparkSession") -> None:
        self._statements = OneNodeEngine()
        self._executor = deltaarrow.spark.SparkExecutor(session)

    def run(self, statement: str) -> StatementReport | None:
        """Run one statement; raises what `OneNodeEngine.run` raises, and what Spark raises."""
        with using(self._executor):
            return self._statements.run(statement)

    def is_conflict(self, error: Exception) -> bool:
        """Whether another writer of the table was quicker than a statement."""
        return self._statements.is_conflict(error)


def start_spark(master: str = "local[2]", *, has_jar: bool = True) -> "SparkSession":
    """Start a Spark session, with delta-spark if `has_jar`, or return the one that runs.

    Raises `MissingDependencyError` where PySpark, or delta-spark, is not installed.
    """
    require("pyspark")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = require("pyspark.sql").SparkSession.builder.master(master).appName("deltaarrow pipeline")
    local = _LOCAL_SETTINGS if master.startswith("local") else {}
    for key, value in {**_SETTINGS, **(_JAR_SETTINGS if has_jar else {}), **local}.items():
        builder = builder.config(key, value)
    if has_jar:
        builder = require("delta").configure_spark_with_delta_pip(builder)
    with _output_as_errors():
        session: SparkSession = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


@contextlib.contextmanager
def _output_as_errors() -> Iterator[None]:
    """Let a process that is started meanwhile write to standard error alone, as VACUUM prints in the JVM."""
    sys.stdout.flush()
    output = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(output, 1)
        os.close(output)
