"""Random queries on several engines: `compare` tells which results are not Spark's.

``python -m tests.support.query_comparison FIRST LAST`` compares the queries of some seeds
and shows what differs. With ``--sail`` it also shows what Sail makes of the queries of which
Spark and this package make the same.
"""

import itertools
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import duckdb
import pyarrow as pa

import deltaarrow
from deltaarrow.errors import ConstraintViolationError, DeltaError, UnsupportedFeatureError
from deltaarrow.schema import Schema
from tests.support.queries import compared
from tests.support.random_rows import random_tables
from tests.support.random_spark_queries import RandomQueries
from tests.support.sail import running_sail
from tests.support.spark import running_spark
from tests.support.sql_scripts import spark_type

__all__ = [
    "Comparison",
    "OneNodeQueries",
    "QueryEngine",
    "SailQueries",
    "SparkQueries",
    "compare",
    "random_texts",
    "second_opinions",
]

Rows = list[tuple[str, ...]]
"""The types of a result's columns, then its rows, sorted."""

_UNSUPPORTED = "unsupported: "
_OF_ROWS = (
    *(duckdb.OutOfRangeException, duckdb.ConversionException, duckdb.InvalidInputException),
    ConstraintViolationError,
)
"""Raised for a value that cannot be computed. Spark may have no need of the value, and give rows."""

_ADAPTIVE = "spark.sql.adaptive.enabled"
"""Without it, Spark plans small queries in half the time."""

_ZERO = re.compile(r"(?<![\w.])-0\.0(?![\w.])")


@dataclass(frozen=True)
class Result:
    """What an engine makes of a query: its rows, or the error; `is_refused` for what it does not support."""

    rows: Rows | None = None
    error: Exception | None = None
    is_refused: bool = False


class QueryEngine(Protocol):
    """Runs queries over some tables."""

    def results(self, texts: Sequence[str]) -> list[Result]: ...


@dataclass(frozen=True)
class Comparison:
    """What an engine, and Spark, make of a query of a seed."""

    seed: int
    text: str
    found: Result
    wanted: Result

    @property
    def outcome(self) -> str:
        """One word for it."""
        if self.found.is_refused:
            return "refused"
        if self.wanted.error is not None:
            return "failed in both" if self.found.error is not None else "failed in Spark"
        if isinstance(self.found.error, _OF_ROWS):
            return "failed here"
        return "equal" if self.found.rows == self.wanted.rows else "different"

    def __str__(self) -> str:
        return (
            f"{self.outcome}, seed {self.seed}: {self.text}\n"
            f"  found  {_told(self.found)}\n  wanted {_told(self.wanted)}"
        )


def random_texts(seed: int, count: int) -> list[str]:
    """The first queries of a seed."""
    return list(itertools.islice(iter(RandomQueries(seed).query, None), count))


def compare(seed: int, texts: Sequence[str], engine: QueryEngine, spark: QueryEngine) -> list[Comparison]:
    """Run queries on an engine and, but for those that it refuses, on Spark."""
    found = dict(zip(texts, engine.results(texts), strict=True))
    wanted = {text: Result() for text, each in found.items() if each.is_refused}
    # Those that fail here mostly fail in Spark as well, which computes the others together.
    together = [text for text, each in found.items() if each.error is None]
    alone = [[text] for text, each in found.items() if each.error is not None and not each.is_refused]
    for group in (together, *alone):
        wanted |= zip(group, spark.results(group), strict=True)
    return [Comparison(seed, text, found[text], wanted[text]) for text in found]


def second_opinions(found: Sequence[Comparison], other: QueryEngine) -> list[Comparison]:
    """What another engine makes of the queries of a seed that were equal."""
    known = {each.text: each.wanted for each in found if each.outcome == "equal"}
    return compare(found[0].seed, list(known), other, _KnownQueries(known))


@dataclass(frozen=True)
class _KnownQueries:
    """The results of an engine that ran before."""

    known: Mapping[str, Result]

    def results(self, texts: Sequence[str]) -> list[Result]:
        return [self.known[text] for text in texts]


def _told(result: Result) -> str:
    if result.error is None:
        return str(result.rows)
    return f"{type(result.error).__name__}: {str(result.error).partition(chr(10))[0]}"


def _rows(table: pa.Table) -> Rows:
    """Types and rows; which zero is the greatest of some depends on their order."""
    types = tuple(spark_type(field.type) for field in Schema.from_arrow(table.schema).fields)
    rows = (tuple(_ZERO.sub("0.0", value) for value in row) for row in compared(table, is_ordered=False))
    return [types, *sorted(rows)]


class OneNodeQueries:
    """This package, over Delta tables with partitions and deletion vectors."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._connection = deltaarrow.connect(dialect="spark")
        self._connection.connection.execute("SET timezone = 'Asia/Tokyo'")
        for name, table in random_tables(seed).items():
            write_with_vectors(folder / name, table, partition=("o", "j", "dt")[seed % 3])
            self._connection.register(name, str(folder / name))

    def results(self, texts: Sequence[str]) -> list[Result]:
        return [self._result(text) for text in texts]

    def _result(self, text: str) -> Result:
        try:
            return Result(_rows(self._connection.sql(text).to_arrow_table()))
        except UnsupportedFeatureError as error:
            return Result(error=error, is_refused=True)
        except _OF_ROWS as error:
            return Result(error=error, is_refused=_UNSUPPORTED in str(error))
        except (DeltaError, duckdb.Error) as error:
            return Result(error=error)

    def close(self) -> None:
        self._connection.close()


def write_with_vectors(path: Path, table: pa.Table, partition: str) -> None:
    """Write a table of two commits, whose files had one more row each before a deletion vector."""
    gone = _one_of_nulls(table.schema)
    gone = gone.set_column(gone.schema.get_field_index("r"), "r", pa.array([-1], pa.int32()))
    half = table.num_rows // 2
    properties = {"delta.enableDeletionVectors": "true"}
    for rows in (table.slice(0, half), table.slice(half)):
        rows = pa.concat_tables([gone, rows])
        deltaarrow.write_deltalake(
            path, rows, mode="append", partition_by=[partition], configuration=properties
        )
    deltaarrow.DeltaTable(path).delete("r = -1")


def _one_of_nulls(schema: pa.Schema) -> pa.Table:
    """A table of one row, in which everything is NULL."""
    return pa.table({field.name: pa.nulls(1, field.type) for field in schema})


class FailedInSparkError(Exception):
    """The first line of an error of Spark's, which itself would keep the frame and its plans in memory."""

    def __init__(self, error: Exception) -> None:
        super().__init__(f"{type(error).__name__}: {str(error).partition(chr(10))[0]}")


class SparkQueries:
    """A Spark session with the tables as temporary views; Spark Connect takes the same calls."""

    def __init__(self, session: Any, seed: int) -> None:
        self._session = session
        session.conf.set(_ADAPTIVE, "false")
        for name, table in random_tables(seed).items():
            # Spark Connect takes no table without rows.
            given = table if table.num_rows else _one_of_nulls(table.schema)
            rows = session.createDataFrame(given).where(f"{table.num_rows} > 0")
            # The session takes times without a zone for times in its own, UTC.
            rows = rows.withColumn("z", rows["z"].cast("timestamp_ntz"))
            rows.createOrReplaceTempView(name)

    def results(self, texts: Sequence[str]) -> list[Result]:
        """Run several queries in one statement, because Spark takes long to begin one."""
        if len(texts) < 2:
            return [self._result(text) for text in texts]
        listed = ", ".join(
            f"(SELECT collect_list(struct(*)) FROM ({text})) AS q{i}" for i, text in enumerate(texts)
        )
        found = self._found(f"SELECT {listed}")
        if isinstance(found, FailedInSparkError):
            half = len(texts) // 2
            return [*self.results(texts[:half]), *self.results(texts[half:])]
        columns = (column.combine_chunks().flatten() for column in found.columns)
        return [Result(_rows(pa.Table.from_struct_array(column))) for column in columns]

    def _result(self, text: str) -> Result:
        found = self._found(text)
        return Result(error=found) if isinstance(found, FailedInSparkError) else Result(_rows(found))

    def _found(self, text: str) -> pa.Table | FailedInSparkError:
        try:
            return self._session.sql(text).toArrow()
        except Exception as error:  # Java's errors reach Python in several classes.
            return FailedInSparkError(error)

    def close(self) -> None:
        self._session.conf.unset(_ADAPTIVE)


class SailQueries(SparkQueries):
    """Sail, through a session of Spark Connect; it counts as refusing whatever it fails on."""

    def results(self, texts: Sequence[str]) -> list[Result]:
        return [replace(each, is_refused=each.error is not None) for each in map(self._result, texts)]


def main(seeds: Iterable[int], *, with_sail: bool, count: int = 40) -> None:
    """Compare with a Spark session of its own, and show what is not equal."""
    outcomes, on_sail = Counter[str](), Counter[str]()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        session = stack.enter_context(running_spark(folder))
        sail = stack.enter_context(running_sail(folder / "sail")) if with_sail else None
        for seed in seeds:
            engine, spark = OneNodeQueries(folder / str(seed), seed), SparkQueries(session, seed)
            found = compare(seed, random_texts(seed, count), engine, spark)
            _show(found, outcomes)
            engine.close()
            spark.close()
            print(seed, dict(outcomes), flush=True)
            if sail is not None:
                _show(second_opinions(found, SailQueries(sail, seed)), on_sail)
                print(seed, "on Sail", dict(on_sail), flush=True)


def _show(found: Iterable[Comparison], outcomes: Counter[str]) -> None:
    for each in found:
        outcomes[each.outcome] += 1
        if each.outcome not in ("equal", "failed in both"):
            print(each, flush=True)


if __name__ == "__main__":
    *options, first, last = sys.argv[1:]
    main(range(int(first), int(last)), with_sail="--sail" in options)
