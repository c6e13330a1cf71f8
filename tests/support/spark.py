"""One Spark session with delta-spark for the whole run, and the helpers that tests use with it.

Spark decides what a Delta table holds, so without Java these tests fail if `CI` is set;
otherwise they are skipped with the reason.
"""

import os
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from deltaarrow.table import DeltaTable
from tests.support.engines import ENGINES, open_snapshot
from tests.support.local_files import use_local_files
from tests.support.rows import assert_same_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = [
    "check_engines",
    "compiled_projections",
    "create_table",
    "delta_log_files",
    "delta_table",
    "drop_temporary_views",
    "make_once",
    "running_spark",
    "spark",
    "spark_rows",
    "spark_table",
    "tried_values",
]

CODE_OF_PROJECTIONS = "spark.sql.codegen.factoryMode"

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "2g",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.catalogImplementation": "in-memory",
    # To compile a projection takes longer than to interpret it for a few rows. Plans are still compiled.
    CODE_OF_PROJECTIONS: "NO_CODEGEN",
    "spark.sql.parquet.compression.codec": "snappy",
}

JAVA_OPTIONS = (
    "-Duser.timezone=UTC",
    "-XX:TieredStopAtLevel=1",
    "-XX:ReservedCodeCacheSize=240m",
    "-XX:+UseSerialGC",
    "-Xms1g",
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:-BytecodeVerificationRemote",
)
"""Nothing runs long enough to be optimised for, and the classes need no check.

Without so large a cache, compiled code is thrown away and compiled again; without so large a heap, garbage is
collected more often."""


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator["SparkSession"]:
    """The session; started by the first test that asks for it."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        reason = "Spark needs a Java runtime (JDK 17), and there is none on the path"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    with running_spark(tmp_path_factory.mktemp("spark")) as session:
        yield session


@contextmanager
def running_spark(folder: Path) -> Iterator["SparkSession"]:
    """Start the session, with its files in a folder, and stop it at the end."""
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from delta import configure_spark_with_delta_pip
    from pyspark.sql import SparkSession

    classes = folder / "classes"
    classes.mkdir()
    builder = SparkSession.builder.master("local[2]").appName("deltaarrow tests")
    settings = SETTINGS | {
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "local"),
        "spark.driver.extraClassPath": str(classes),
        "spark.driver.extraJavaOptions": " ".join([*JAVA_OPTIONS, f"-Dderby.system.home={folder}"]),
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the launcher's own, before a filter of the project can see them
        session = configure_spark_with_delta_pip(builder).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    use_local_files(session, classes)
    try:
        yield session
    finally:
        session.stop()


def delta_table(path: str | os.PathLike[str]) -> str:
    """The table at `path` as a name in Spark SQL."""
    return f"delta.`{os.fspath(path)}`"


def spark_table(
    session: "SparkSession", path: str | os.PathLike[str], version: int | None = None
) -> pa.Table:
    """The table at `path` as Spark reads it, in Arrow."""
    reader = session.read.format("delta")
    if version is not None:
        reader = reader.option("versionAsOf", version)
    return spark_rows(reader.load(os.fspath(path)))


def spark_rows(frame: "DataFrame") -> pa.Table:
    """What a Spark data frame holds, in Arrow."""
    return frame.toArrow()


def tried_values(session: "SparkSession", frame: "DataFrame", texts: Sequence[str], never: str) -> pa.Table:
    """A struct ``v`` of the value for each row and expression, NULL where it raises; all in one query.

    `never` is a condition that no row meets, and that Spark does not know to be false: else it would raise
    while it plans. Expressions are compiled, as they are where nothing is set.
    """
    from pyspark.sql.classic.column import Column

    jvm, parser = session._jvm, session._jsparkSession.sessionState().sqlParser()
    catalyst = jvm.org.apache.spark.sql.catalyst.expressions
    columns = jvm.org.apache.spark.sql.classic.ExpressionUtils
    tried = [
        catalyst.TryEval(parser.parseExpression(f"named_struct('v', if({never}, NULL, {text}))"))
        for text in texts
    ]
    with compiled_projections(session):
        return frame.select(
            *(Column(columns.column(each)).alias(f"e{i}") for i, each in enumerate(tried))
        ).toArrow()


@contextmanager
def compiled_projections(session: "SparkSession") -> Iterator[None]:
    """Let Spark compile projections, as it does where nothing is set."""
    session.conf.set(CODE_OF_PROJECTIONS, "FALLBACK")
    try:
        yield
    finally:
        session.conf.set(CODE_OF_PROJECTIONS, SETTINGS[CODE_OF_PROJECTIONS])


def create_table(
    session: "SparkSession",
    path: str | os.PathLike[str],
    columns: str,
    clauses: str = "",
    **properties: str,
) -> str:
    """Make an empty table and return its name; ``__`` in the names of properties stands for a dot."""
    listed = ", ".join(f"'delta.{key.replace('__', '.')}' = '{text}'" for key, text in properties.items())
    given = f"TBLPROPERTIES ({listed})" if listed else ""
    session.sql(f"CREATE TABLE {delta_table(path)} ({columns}) USING delta {clauses} {given}")
    return delta_table(path)


def drop_temporary_views(session: "SparkSession") -> None:
    """Drop the views that other tests have left in the session."""
    for row in session.sql("SHOW VIEWS").collect():
        if row.isTemporary:
            session.catalog.dropTempView(row.viewName)


_made: dict[tuple[object, ...], Path] = {}


def make_once(
    session: "SparkSession",
    path: str | os.PathLike[str],
    make: Callable[..., object],
    *arguments: str,
) -> None:
    """Put a copy of the table at `path` that ``make(session, folder, *arguments)`` makes once in a run.

    The paths in such a table are relative, and the times of its files are those of the first.
    """
    key = (make, *arguments)
    if key not in _made:
        folder = Path(session.conf.get("spark.sql.warehouse.dir").removeprefix("file:")) / f"made{len(_made)}"
        make(session, folder, *arguments)
        _made[key] = folder
    shutil.copytree(_made[key], path, dirs_exist_ok=True)


def check_engines(
    session: "SparkSession", path: str | os.PathLike[str], version: int | None = None
) -> pa.Table:
    """Every engine reads what Spark reads, and verifying finds nothing wrong; return what it is."""
    wanted = spark_table(session, path, version)
    for read in ENGINES.values():
        assert_same_rows(read(open_snapshot(path, version), None, None), wanted)
    assert [str(finding) for finding in DeltaTable(path, version=version).verify(deep=True)] == []
    return wanted


def delta_log_files(path: str | os.PathLike[str], pattern: str) -> list[str]:
    """Names in the log of the table at `path` that match the glob `pattern`."""
    return sorted(file.name for file in (Path(path) / "_delta_log").glob(pattern))
