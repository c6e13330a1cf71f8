"""Statistics of files that do not change, held as typed columns once a condition has asked for them.

To parse the JSON texts of a million files takes most of the time of choosing among them. So what a condition
asks of a column, its bounds, is computed for all files at once, by one parse of each text, and is there for
the next condition on that column. What is held is the value of the very SQL that would judge the files one by
one (`deltaarrow.statistics.bounds`, *Per-file Statistics* of PROTOCOL.md), so the same files are left.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import pyarrow as pa

from deltaarrow.arrays import integers, numbers_of
from deltaarrow.compute import quote_literal
from deltaarrow.schema import Field
from deltaarrow.statistics.bounds import FileStatisticsSql
from deltaarrow.statistics.ranges import BoundComparison, differ, is_counted

if TYPE_CHECKING:
    import duckdb

__all__ = ["PLACE", "Asked", "HeldStatistics", "Left", "NamedStatistics", "StatisticsCondition", "left_rows"]

PLACE = "place"
"""The column of a source by which it knows its files."""


class StatisticsCondition(NamedTuple):
    """A condition on files that looks at nothing but statistics."""

    sql: Callable[[FileStatisticsSql], str | None]
    """Makes the SQL of it; see `skipping_sql`."""

    comparisons: Sequence[BoundComparison] | None = None
    """What it consists of, if that is nothing but these."""


_MOST_BYTES = 128 << 20
"""Of all that is held of one list of files: eight bytes for each bound of a number, eight for the place."""


_MEMBERS = {
    "lower": "minValues",
    "upper": "maxValues",
    "null_count": "nullCount",
    "num_records": "numRecords",
}
_COUNT = Field("count", "long")


class Asked(NamedTuple):
    """What a condition asks of the statistics of a file."""

    what: Literal["lower", "upper", "null_count", "num_records"]
    path: tuple[str, ...] = ()
    field: Field | None = None

    @property
    def member(self) -> tuple[str, ...]:
        """Where it stands in the statistics of a file."""
        return (_MEMBERS[self.what], *self.path)

    def is_typed(self, statistics: FileStatisticsSql) -> bool:
        """Whether the struct of statistics has it, of a type that says something of the column."""
        return statistics.typed(self.member, self.field or _COUNT) is not None

    def sql(self, statistics: FileStatisticsSql) -> str:
        """The SQL of it; NULL where it is not known."""
        match self.what:
            case "num_records":
                return statistics.num_records()
            case "null_count":
                return statistics.null_count(self.path)
        assert self.field is not None
        bound = statistics.lower_bound if self.what == "lower" else statistics.upper_bound
        return bound(self.path, self.field) or "NULL"


@dataclass(frozen=True)
class NamedStatistics(FileStatisticsSql):
    """Statistics that are columns, named as they are asked for."""

    json: None = None
    with_counts: bool = True
    asked: dict[Asked, str] = field(default_factory=dict)

    def _name(self, asked: Asked) -> str:
        return self.asked.setdefault(asked, f"c{len(self.asked)}")

    def num_records(self) -> str:
        """As `FileStatisticsSql`, like all that follow."""
        return self._name(Asked("num_records")) if self.with_counts else "NULL::BIGINT"

    def null_count(self, path: tuple[str, ...]) -> str:
        """The name of a count."""
        return self._name(Asked("null_count", path)) if self.with_counts else "NULL::BIGINT"

    def lower_bound(self, path: tuple[str, ...], field: Field) -> str | None:
        """The name of a bound."""
        is_ordered = super().lower_bound(path, field) is not None
        return self._name(Asked("lower", path, field)) if is_ordered else None

    def upper_bound(self, path: tuple[str, ...], field: Field) -> str | None:
        """The name of a bound."""
        is_ordered = super().upper_bound(path, field) is not None
        return self._name(Asked("upper", path, field)) if is_ordered else None


@dataclass(frozen=True)
class _ListedStatistics(FileStatisticsSql):
    """Statistics as members of the list ``texts``, which one parse of the JSON text fills."""

    pointers: dict[str, int] = field(default_factory=dict)

    def text(self, *path: str) -> str:
        place = self.pointers.setdefault(self.pointer(*path), len(self.pointers) + 1)
        return f"texts[{place}]"


class Left(NamedTuple):
    """The files that a condition leaves."""

    places: np.ndarray
    """Where they are, ascending."""

    of: int
    """How many files there are."""

    is_exact: bool
    """Whether the condition as the texts tell it leaves them all, if texts do not contradict themselves."""


class HeldStatistics:
    """The statistics of one list of files; safe to share among threads.

    Args:
        parsed_type: the type of the column ``stats_parsed`` of the source, if it has that.
        has_json: whether its column ``stats`` holds JSON texts.
        has_few: whether the files are so few that counts of NULLs are read along with bounds. They cost a
            third more, and of many files those that hold no value at all are better judged by their texts,
            once the bounds have left a few.
    """

    def __init__(
        self, parsed_type: pa.DataType | None = None, *, has_json: bool = True, has_few: bool = False
    ) -> None:
        self._has_few = has_few
        self._statistics = FileStatisticsSql(
            "stats" if has_json else None, None if parsed_type is None else "stats_parsed", parsed_type
        )
        self._lock = threading.Lock()
        self._places: pa.ChunkedArray | None = None
        self._columns: OrderedDict[Asked, pa.ChunkedArray] = OrderedDict()
        self._too_large: set[Asked] = set()

    def left(
        self,
        cursor: "duckdb.DuckDBPyConnection",
        source: Callable[[], str],
        condition: StatisticsCondition,
        *,
        may_read: bool = True,
    ) -> Left | None:
        """Return the files that a condition leaves; None where that is not to be told from what is held.

        Args:
            cursor: where the SELECT runs.
            source: gives a SELECT of ``place``, ``stats`` and ``stats_parsed`` of all files, always the same,
                where it is to be run.
            condition: the condition; it is asked for its SQL.
            may_read: whether the source may be read for what is not held yet.
        """
        if condition.comparisons is not None:
            left = self._left_by_comparisons(cursor, source, condition.comparisons, may_read)
            if left is not None:
                return left
        named = NamedStatistics(with_counts=self._has_few)
        sql = condition.sql(named)
        if not named.asked and not named.with_counts:
            named = NamedStatistics()
            sql = condition.sql(named)
        if sql is None or not named.asked:
            return None
        columns = self._held(cursor, source, list(named.asked), may_read)
        if columns is None:
            return None
        places, *held = columns
        rows = left_rows(cursor, pa.table(held, [*named.asked.values()]), sql)
        return Left(numbers_of(places)[rows], len(places), named.with_counts)

    def _left_by_comparisons(
        self,
        cursor: "duckdb.DuckDBPyConnection",
        source: Callable[[], str],
        comparisons: Sequence[BoundComparison],
        may_read: bool,
    ) -> Left | None:
        asked = {
            each.path: [Asked("lower", each.path, each.field), Asked("upper", each.path, each.field)]
            + [Asked("null_count", each.path)] * self._has_few
            for each in comparisons
        }
        wanted = [one for some in asked.values() for one in some] + [Asked("num_records")] * self._has_few
        columns = self._held(cursor, source, wanted, may_read)
        if columns is None:
            return None
        places, *found = (_one_chunk(column) for column in columns)
        if not all(is_counted(column.type) for column in found):
            return None
        held = dict(zip(wanted, found, strict=True))
        verdicts = []
        for each in comparisons:
            lower, upper, *counts = (held[one] for one in asked[each.path])
            verdicts.append(each.may_be_true(lower, upper))
            # Where all values are NULL no comparison is true.
            verdicts += [differ(count, held[Asked("num_records")]) for count in counts]
        left = numbers_of(places)[np.logical_and.reduce(verdicts)]
        # A file in which a column has bounds holds values of it, and needs no counts that say so.
        return Left(left, len(places), self._has_few or not any(bound.null_count for bound in found))

    def _held(
        self,
        cursor: "duckdb.DuckDBPyConnection",
        source: Callable[[], str],
        asked: Sequence[Asked],
        may_read: bool,
    ) -> list[pa.ChunkedArray] | None:
        """The places of all files, and what is asked of each; None where it is not held."""
        places, columns = self._places, {each: self._columns.get(each) for each in asked}
        missing = [each for each, column in columns.items() if column is None]
        if missing:
            if not may_read or not self._too_large.isdisjoint(asked):
                return None
            found = self._read(cursor, source(), missing)
            if places is not None and not found.column(0).equals(places):
                return None  # The source has changed: it is for the query over it to say what that means.
            places = found.column(0)
            columns |= dict(zip(missing, found.columns[1:], strict=True))
        assert places is not None
        held = {each: column for each, column in columns.items() if column is not None}
        self._keep(places, held)
        return [places, *held.values()]

    def _read(self, cursor: "duckdb.DuckDBPyConnection", source: str, asked: Sequence[Asked]) -> pa.Table:
        if self._statistics.parsed is not None:
            # A text is parsed only where the struct is silent.
            selected = [each.sql(self._statistics) for each in asked]
            rows = source
        else:
            listed = _ListedStatistics(self._statistics.json)
            selected = [each.sql(listed) for each in asked]
            pointers = ", ".join(map(quote_literal, listed.pointers))
            rows = f"SELECT {PLACE}, TRY(json_extract_string(stats, [{pointers}])) AS texts FROM ({source})"
        numbered = ", ".join(f"{sql} AS c{number}" for number, sql in enumerate(selected))
        found = cursor.sql(f"SELECT {PLACE}, {numbered} FROM ({rows})").to_arrow_table()
        places = numbers_of(found.column(PLACE))
        if (places[1:] > places[:-1]).all():
            return found.combine_chunks()
        # Several files are read in parallel, and come in any order.
        return found.take(integers(np.argsort(places))).combine_chunks()

    def _keep(self, places: pa.ChunkedArray, columns: Mapping[Asked, pa.ChunkedArray]) -> None:
        """Hold columns, and let go of those that were not asked for the longest where they are too many."""
        with self._lock:
            self._places = places
            for asked, column in columns.items():
                self._columns[asked] = column
                self._columns.move_to_end(asked)
            while self._columns and places.nbytes + self.nbytes > _MOST_BYTES:
                asked, _ = self._columns.popitem(last=False)
                if asked in columns:
                    self._too_large.add(asked)

    @property
    def nbytes(self) -> int:
        """The bytes of all columns that are held, without the places."""
        return sum(column.nbytes for column in self._columns.values())


def left_rows(cursor: "duckdb.DuckDBPyConnection", statistics: pa.Table, condition: str) -> np.ndarray:
    """Return the numbers of the rows of a table, ascending, that a condition on its columns leaves."""
    name, number = "held_statistics", "row_number"
    rows = integers(np.arange(statistics.num_rows))
    cursor.register(name, statistics.append_column(number, rows))
    found = cursor.sql(f"SELECT {number} FROM {name} WHERE {condition}").to_arrow_table()
    cursor.unregister(name)
    return np.sort(numbers_of(found.column(0)))


def _one_chunk(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
