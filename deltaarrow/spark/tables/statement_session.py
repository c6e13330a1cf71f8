"""The session of statements that carries out the operations of a Spark session: `statements_of`."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltaarrow.errors import DeltaError
from deltaarrow.spark.executor import on_executors
from deltaarrow.spark.tables.catalog_of_spark import SparkNames
from deltaarrow.spark_sql import in_time_zone
from deltaarrow.sql import connect
from deltaarrow.sql.registry import kind_of
from deltaarrow.sql.session import Session
from deltaarrow.sql.session_settings import ANSI, TIME_ZONE, Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["EXECUTORS", "run", "statements_of"]

EXECUTORS = "spark.deltaarrow.executors"
"""The setting that lets operations run their tasks on executors, as inside `on_executors`."""


@contextmanager
def statements_of(
    spark: "SparkSession", storage_options: Mapping[str, str] | None = None, *, computes: bool = False
) -> Iterator[Session]:
    """Yield a session of statements with the names and the settings of a Spark session.

    Args:
        spark: the session.
        storage_options: for tables that are named by their path.
        computes: whether values of rows are computed, which is done in ANSI mode only.

    Inside the block tasks run on executors if the setting ``spark.deltaarrow.executors`` is true.

    Raises `UnsupportedFeatureError` for a setting of the session with a value that this package does not
    obey, and `DeltaError` for a value of ``spark.deltaarrow.executors`` that is not true or false.
    """
    settings = _settings(spark, computes=computes)
    connection = connect(catalog=SparkNames(spark), dialect="spark", storage_options=storage_options)
    try:
        connection.catalog.current = spark.catalog.currentDatabase()
        session = Session(connection)
        session.dialect, session.settings = "spark", settings
        with in_time_zone(settings[TIME_ZONE]), _executors(spark):
            yield session
    finally:
        connection.close()


def run(session: Session, statement: Any) -> pa.Table:
    """Carry out a statement and return its rows."""
    found = kind_of(statement).handle(session, statement)
    assert isinstance(found, pa.Table)
    return found


def _executors(spark: "SparkSession") -> AbstractContextManager[None]:
    text = spark.conf.get(EXECUTORS, "false") or ""
    match text.lower():
        case "true":
            return on_executors(spark)
        case "false":
            return nullcontext()
    raise DeltaError(f"{EXECUTORS} is true or false, not {text!r}")


def _settings(spark: "SparkSession", *, computes: bool) -> Settings:
    settings = Settings()
    # What is not set has no entry; a value of the JVM stands for it.
    texts = {**spark.conf.getAll, TIME_ZONE.name: spark.conf.get(TIME_ZONE.name)}
    texts[ANSI.name] = spark.conf.get(ANSI.name) if computes else "true"
    settings.take({name: text for name, text in texts.items() if text is not None})
    return settings
