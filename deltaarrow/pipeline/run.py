"""Running scripts on Spark, one after the other, with a report on each.

The pipeline of ``sql/pipeline`` is such scripts. They are idempotent, so that a run which was stopped goes on
from the script that it was at.
"""

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deltaarrow.errors import TableNotFoundError
from deltaarrow.pipeline.script import Script, read_scripts
from deltaarrow.runtime.optional import require
from deltaarrow.table import DeltaTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["StepReport", "run_scripts", "start_spark"]

_TABLES = ("bronze/events", "silver/orders", "gold/daily_sales")
_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
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

_MOST_TRIES = 20


@dataclass(frozen=True)
class StepReport:
    """What one script has done: `rows` and `files` by table are those that its commits say they wrote."""

    name: str
    title: str
    statements: int
    seconds: float
    rows: Mapping[str, int]
    files: Mapping[str, int]


def start_spark(master: str = "local[2]") -> "SparkSession":
    """Start a Spark session with delta-spark, or return the one that runs.

    Raises `MissingDependencyError` where PySpark or delta-spark is not installed.
    """
    require("pyspark")
    configure = require("delta").configure_spark_with_delta_pip
    builder = require("pyspark.sql").SparkSession.builder.master(master).appName("deltaarrow pipeline")
    local = _LOCAL_SETTINGS if master.startswith("local") else {}
    for key, value in {**_SETTINGS, **local}.items():
        builder = builder.config(key, value)
    with _output_as_errors():
        session: SparkSession = configure(builder).getOrCreate()
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


def run_scripts(
    spark: "SparkSession",
    folder: str | Path,
    lake: str | Path,
    *,
    events: int = 1_000_000,
    batch: int = 0,
    first: str | None = None,
    on_statement: Callable[[Script, int, int], Any] = lambda script, done, count: None,
) -> Iterator[StepReport]:
    """Run the scripts of a folder and yield a report after each.

    Args:
        spark: a session with delta-spark.
        folder: of the scripts.
        lake: the folder that the tables are in.
        events: how many events a batch has.
        batch: the number of the batch; one that was run before is run again, to the same end.
        first: the name of the script to begin with, or its beginning; all of them if None.
        on_statement: is told the script, and how many of how many statements are done.

    A statement that conflicts with another writer, such as `follow_once`, has done nothing, and is run again.

    Raises `ValueError` for a `first` that no script has, and what Spark raises.
    """
    if events < 1 or batch < 0:
        raise ValueError("a pipeline runs batches from 0 on, of one event or more")
    lake = Path(lake).resolve()
    orders = max(1, events // 3)
    variables = {"lake": str(lake), "events": events, "batch": batch, "orders": orders}
    for script in _from(read_scripts(folder), first):
        begun, before = time.perf_counter(), _versions(lake)
        statements = script.statements(variables)
        for done, statement in enumerate(statements):
            on_statement(script, done, len(statements))
            _run(spark, statement)
        on_statement(script, len(statements), len(statements))
        rows, files = _written(lake, before)
        seconds = time.perf_counter() - begun
        yield StepReport(script.name, script.title, len(statements), seconds, rows, files)


def _run(spark: "SparkSession", statement: str) -> None:
    for left in reversed(range(_MOST_TRIES)):
        try:
            spark.sql(statement).collect()
            return
        except Exception as error:
            if not left or type(error).__name__ not in _CONFLICTS:
                raise


def _from(scripts: Sequence[Script], first: str | None) -> Sequence[Script]:
    if first is None:
        return scripts
    for place, script in enumerate(scripts):
        if script.name.startswith(first):
            return scripts[place:]
    raise ValueError(f"no script is named {first}; there are {[each.name for each in scripts]}")


def _versions(lake: Path) -> dict[str, int]:
    versions = {}
    for name in _TABLES:
        try:
            versions[name] = DeltaTable(lake / name).version()
        except TableNotFoundError:
            versions[name] = -1
    return versions


def _written(lake: Path, before: Mapping[str, int]) -> tuple[dict[str, int], dict[str, int]]:
    rows: dict[str, int] = {}
    files: dict[str, int] = {}
    for name, version in before.items():
        try:
            table = DeltaTable(lake / name)
        except TableNotFoundError:
            continue
        if table.version() == version:
            continue
        for commit in table.history(table.version() - version):
            metrics = commit.get("operationMetrics") or {}
            rows[name] = rows.get(name, 0) + int(metrics.get("numOutputRows", 0))
            files[name] = files.get(name, 0) + _files(metrics)
    return rows, files


def _files(metrics: Mapping[str, str]) -> int:
    names = ("numFiles", "numAddedFiles", "numTargetFilesAdded")
    return next((int(metrics[name]) for name in names if name in metrics), 0)
