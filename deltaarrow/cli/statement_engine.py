"""The engine of ``deltaarrow sql``: DuckDB in this process, or a Spark session."""

import functools
import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import duckdb
import pyarrow as pa

from deltaarrow.catalogs import fold
from deltaarrow.cli.result_rendering import printable
from deltaarrow.display.redaction import redacted
from deltaarrow.engines import DeltaConnection, Dialect, Within, open_batches
from deltaarrow.errors import DeltaError
from deltaarrow.pipeline import fill_variables, start_spark
from deltaarrow.spark_sql import one_of_several, spark_type_name, split_statements
from deltaarrow.sql import connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = [
    "REFUSALS",
    "OneNode",
    "Result",
    "Runner",
    "Spark",
    "error_text",
    "open_one_node",
    "open_spark",
    "results",
]

REFUSALS = (DeltaError, duckdb.Error, pa.ArrowException, OSError, ValueError, OverflowError)
"""Errors of a statement, which are shown without the way that led to them."""


@dataclass
class Result:
    """The rows of one statement, which are read once.

    Attributes:
        schema: their columns, each of another name.
        batches: the rows.
        close: gives up the rows that were not read.
    """

    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]
    close: Callable[[], None] = lambda: None

    @classmethod
    def of(
        cls, schema: pa.Schema, batches: Iterator[pa.RecordBatch], close: Callable[[], None] = lambda: None
    ) -> "Result":
        """Return a result whose second ``id`` is ``id_1`` and so on, as names in JSON are unique."""
        names: list[str] = []
        for name in schema.names:
            tries = itertools.chain([name], (f"{name}_{number}" for number in itertools.count(1)))
            names.append(next(spelling for spelling in tries if spelling not in names))
        renamed = pa.schema([field.with_name(name) for field, name in zip(schema, names, strict=True)])
        named = (pa.RecordBatch.from_arrays(each.columns, schema=renamed) for each in batches)
        return cls(renamed, named, close)


def error_text(error: BaseException) -> str:
    """Return the message of an error and its notes, without secrets and what would manage a terminal."""
    lines = (str(error) or type(error).__name__, *getattr(error, "__notes__", ()))
    text = redacted("\n".join(lines))
    return "\n".join(printable(line) for line in text.split("\n"))


class Runner(Protocol):
    """What runs statements, one after the other."""

    dialect: Dialect

    def split(self, text: str) -> list[str]:
        """Return the statements of a text."""

    def run(self, statement: str) -> Result | None:
        """Run one statement; None if it has no rows to show."""

    def tables(self) -> dict[str, list[str]]:
        """Return the names of tables by their namespace; ``""`` for those that stand alone."""

    def columns(self, name: Sequence[str]) -> Mapping[str, str]:
        """Return the types of a table's columns by their names; none if there is no such table."""


class OneNode:
    """Runs statements in this process."""

    def __init__(self, connection: DeltaConnection, dialect: Dialect) -> None:
        self.connection = connection
        self.dialect = dialect

    def split(self, text: str) -> list[str]:
        """Return the statements of a text."""
        return self.connection.split(text, dialect=self.dialect)

    def run(self, statement: str) -> Result | None:
        """Run one statement."""
        found = self.connection.run(statement, dialect=self.dialect)
        if found is None:
            return None
        if isinstance(found, pa.Table):
            return Result.of(found.schema, iter(found.to_batches())) if found.num_columns else None
        schema, batches = open_batches(found)
        return Result.of(schema, batches, batches.close)

    def tables(self) -> dict[str, list[str]]:
        """Return the names of tables by their namespace."""
        catalog = self.connection.catalog
        found = {}
        for name in catalog.namespaces():
            namespace = catalog.namespace(name)
            found[name] = [] if namespace is None else namespace.tables()
        own = self.connection.connection.execute(
            "SELECT DISTINCT table_name FROM information_schema.tables ORDER BY 1"
        )
        return found | {"": sorted({*catalog.pinned, *(name for (name,) in own.fetchall())})}

    def columns(self, name: Sequence[str]) -> Mapping[str, str]:
        """Return the types of a table's columns by their names."""
        try:
            snapshot = self.connection.catalog.find(name)
            if snapshot is not None:
                return {each.name: spark_type_name(each.type) for each in snapshot.schema.fields}
            quoted = ".".join('"{}"'.format(each.replace('"', '""')) for each in name)
            rows = self.connection.connection.execute(f"DESCRIBE {quoted}").fetchall()
        except (DeltaError, OSError, duckdb.Error):
            return {}
        return {str(row[0]): str(row[1]) for row in rows}


class Spark:
    """Runs statements in a Spark session with delta-spark."""

    dialect: Dialect = "spark"

    def __init__(self, session: "SparkSession") -> None:
        self._session = session

    def split(self, text: str) -> list[str]:
        """Return the statements of a text."""
        return split_statements(text)

    def run(self, statement: str) -> Result | None:
        """Run one statement; raises what Spark raises."""
        frame = self._session.sql(statement)
        if not frame.columns:
            return None
        try:
            found = frame.toArrow()
        except pa.ArrowException:  # PySpark cannot bring some fields of structs into Arrow, as of OPTIMIZE.
            found = pa.Table.from_pylist([row.asDict(recursive=True) for row in frame.collect()])
        return Result.of(found.schema, iter(found.to_batches()))

    def tables(self) -> dict[str, list[str]]:
        """Return the names of tables by their namespace."""
        catalog = self._session.catalog
        names = [each.name for each in catalog.listDatabases()]
        return {name: [each.name for each in catalog.listTables(name)] for name in names}

    def columns(self, name: Sequence[str]) -> Mapping[str, str]:
        """Return the types of a table's columns by their names."""
        written = ".".join("`{}`".format(each.replace("`", "``")) for each in name)
        return {field.name: field.dataType.simpleString() for field in self._session.table(written).schema}


def open_one_node(
    dialect: Dialect,
    attached: Mapping[str, str],
    catalog: str | None,
    storage_options: Mapping[str, str] | None,
    progress: Callable[[int, int], None] | None = None,
) -> OneNode:
    """Open a connection whose statements see no variable of this program. Raises as `connect` does."""
    connection = connect(storage_options=storage_options, catalog=catalog, dialect=dialect, progress=progress)
    connection.connection.execute("SET TimeZone = 'UTC'")
    connection.connection.execute("SET python_enable_replacements = false")
    for name, folder in attached.items():
        if fold(name) in map(fold, connection.catalog.namespaces()):
            raise ValueError(f"there is a namespace {name} already; attach {folder} under another name")
        connection.attach(folder, name)
    return OneNode(connection, dialect)


def open_spark(master: str) -> Spark:
    """Start Spark. Raises as `start_spark` does."""
    return Spark(start_spark(master))


def results(
    runner: Runner, texts: Sequence[str], variables: Mapping[str, str]
) -> Iterator[tuple[Result | None, float, bool]]:
    """Run the statements of texts, and yield each one's rows, its seconds, and whether it is last.

    The rows are gone when the next statement is run. Before anything is run, the values of variables take the
    places of ``${name}``. Raises `ValueError` for a variable without a value, and what the statements raise.
    """
    statements = list(_statements(runner, texts, variables))
    for place, (statement, within) in enumerate(statements, 1):
        begun = time.perf_counter()
        with within():
            found = runner.run(statement)
        if found is not None:
            found.batches = _read(found.batches, within)
        try:
            yield found, time.perf_counter() - begun, place == len(statements)
        finally:
            if found is not None:
                found.close()


def _statements(
    runner: Runner, texts: Sequence[str], variables: Mapping[str, str]
) -> Iterator[tuple[str, Within]]:
    """The statements of texts, each with what tells in its errors which one it is."""
    for text in texts:
        found = [fill_variables(each, variables) for each in runner.split(text)]
        for number, statement in enumerate(found, 1):
            yield statement, functools.partial(one_of_several, text, number, len(found), runner.dialect)


def _read(batches: Iterator[pa.RecordBatch], within: Within) -> Iterator[pa.RecordBatch]:
    with within():
        yield from batches
