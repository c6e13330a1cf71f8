"""Predicates on generated partition columns, derived from conditions on their source columns.

A row with ``id = 5`` lies in a partition ``bucket = 5 % 100`` if the column ``bucket`` is generated so. A row
with ``at >= v`` lies in a partition with ``year(at) >= year(v)``, because years rise with time. Files of
other partitions hold no such row, even if they have no statistics of the source column.

No row is ever hidden, whoever wrote it:

- A partition that is NULL is kept: the log stores the empty text as NULL, and a writer outside ANSI mode
  computes NULL where others fail.
- An expression that turns timestamps into local times depends on the session zone of the writer. Zones are
  less than 18 hours from UTC, so bounds are moved by 18 hours, and equality becomes two bounds. Nothing is
  derived for partitions that are timestamps themselves, because their texts are local times too.
- Nothing is derived from floating point numbers, nor from expressions that cannot be evaluated.

Year, month, day and hour of one column also give a joint condition. Months do not rise with time, but the
pair of year and month does, in the order of pairs: of two times, the later one has the greater year, or the
same year and a month that is greater or equal. So a row with ``at >= 2026-03-15`` lies in a later year than
2026, or in 2026 in a later month than March, or in March 2026 on day 15 or later. All parts of a row come
from one local time, so moving the bound by the zones is enough here, too.
"""

import datetime
import functools
import itertools
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from deltaarrow.errors import DeltaError
from deltaarrow.expressions import (
    TRUE,
    And,
    Column,
    Compare,
    CompareOp,
    IsIn,
    IsNull,
    Literal,
    LiteralValue,
    Or,
    Predicate,
    columns_of,
)
from deltaarrow.schema import DataType, PrimitiveType, StructType, to_arrow_type
from deltaarrow.schema.metadata_keys import GENERATION_KEY
from deltaarrow.spark_sql.binding.evaluation import evaluate
from deltaarrow.spark_sql.binding.expression_binding import parse_expression
from deltaarrow.spark_sql.tree.nodes import Call, ColumnRef, Constant, Expression, Node, Path, walk
from deltaarrow.spark_sql.types.casts import cast
from deltaarrow.spark_sql.types.time_zones import UTC, in_time_zone
from deltaarrow.spark_sql.types.type_rules import (
    BOOLEAN,
    DATE,
    INTEGRAL,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TIMESTAMPS,
    decimal_of,
)

__all__ = ["derived_predicate"]

_RISING = frozenset({"year", "trunc", "date_trunc", "last_day"})
_RISING_FORMAT = re.compile(r"strftime\(\{0\}, '%Y(?:[-/_ ]?%m(?:[-/_ ]?%d(?:[-/_ T]?%H)?)?)?'\)")
_ZONES = datetime.timedelta(hours=18)
_DAY = datetime.timedelta(days=1)
_YEARS = range(1600, 9990)
"""Years in which all calendars agree and a bound may be moved."""

_MOST_VALUES = 100
_PARTS = ("year", "month", "day", "hour")
_CALENDAR_PARTS = {part: part for part in _PARTS} | {"dayofmonth": "day"}


def derived_predicate(
    predicate: Predicate, schema: StructType, partition_columns: Collection[str]
) -> Predicate:
    """A predicate on partition columns that `predicate` implies on every row; TRUE if none is known.

    Args:
        predicate: bound to the schema.
        schema: the logical schema of a table with the feature ``generatedColumns``.
        partition_columns: logical names.

    >>> from deltaarrow.schema import Field
    >>> made = Field("bucket", "long", metadata={"delta.generationExpression": "id % 100"})
    >>> wanted = Compare("=", Column(("id",)), Literal(205))
    >>> found = derived_predicate(wanted, StructType([Field("id", "long"), made]), ["bucket"])
    >>> found.operands[0].right.value
    5
    """
    with in_time_zone(UTC):  # Bounds are moved for all other zones.
        return _derived(predicate, schema, partition_columns)


def _derived(predicate: Predicate, schema: StructType, partition_columns: Collection[str]) -> Predicate:
    read = columns_of(predicate)
    columns = [
        column
        for name in partition_columns
        if (text := schema.field(name).metadata.get(GENERATION_KEY)) is not None
        and any(path[-1].lower() in str(text).lower() for path in read)
        and (column := _partition_column(schema, name, str(text))) is not None
        and column.source.path in read
    ]
    return _derive(predicate, [*columns, *_calendars(columns)]) if columns else TRUE


@dataclass(frozen=True, slots=True)
class _PartitionColumn:
    """A partition column that is generated from exactly one other column."""

    column: Column
    expression: Expression
    source: ColumnRef
    is_rising: bool
    depends_on_zone: bool

    def value(self, value: LiteralValue) -> LiteralValue:
        """The partition value that a source value generates."""
        array = pa.repeat(pa.scalar(value, to_arrow_type(self.source.type)), 1)
        for name in reversed(self.source.path[1:]):
            array = pa.StructArray.from_arrays([array], names=[name])
        batch = pa.RecordBatch.from_arrays([array], names=[self.source.path[0]])
        found: LiteralValue = evaluate(self.expression, batch)[0].as_py()
        return found

    def where(self, op: CompareOp, value: LiteralValue) -> Predicate:
        """The partitions of rows whose source column compares so; TRUE if they are unknown."""
        if op == "=" and not self.depends_on_zone:
            return self.equal_or_null(value)
        if not self.is_rising or not _is_usual(value):
            return TRUE
        lower = self._or_null(">=", self.value(self._moved(value, -1))) if op in ("=", ">", ">=") else TRUE
        upper = self._or_null("<=", self.value(self._moved(value, 1))) if op in ("=", "<", "<=") else TRUE
        return And((lower, upper))

    def equal_or_null(self, value: LiteralValue) -> Predicate:
        """The partitions of rows whose source column has this value or is NULL."""
        return self._or_null("=", self.value(value))

    def _or_null(self, op: CompareOp, value: LiteralValue) -> Predicate:
        is_null = IsNull(self.column)
        if value is None:
            return is_null if op == "=" else TRUE
        literal = Literal(value, to_arrow_type(self.expression.type))
        kept: list[Predicate] = [Compare(op, self.column, literal), is_null]
        if op == ">=" and self.expression.type == STRING and self.source.type != STRING:
            # Years beyond 9999 begin with a plus.
            kept.append(Compare("<", self.column, Literal("0", pa.string())))
        return Or(tuple(kept))

    def _moved(self, value: LiteralValue, sign: int) -> LiteralValue:
        if self.depends_on_zone and isinstance(value, datetime.datetime):
            return value + sign * _ZONES
        if self.depends_on_zone and isinstance(value, datetime.date):
            return value + sign * _DAY
        return value


@dataclass(frozen=True, slots=True)
class _Calendar:
    """Partition columns for the year, month, day and hour of one source column, or the first few of these."""

    columns: tuple[Column, ...]
    source: ColumnRef

    def where(self, op: CompareOp, value: LiteralValue) -> Predicate:
        """As `_PartitionColumn.where`; TRUE if each column alone already says the same."""
        time = pa.scalar(value, to_arrow_type(self.source.type)).as_py()
        moved = _ZONES if self.source.type == TIMESTAMP else datetime.timedelta()
        if not _is_usual(time) or (op == "=" and not moved):
            return TRUE
        lower = self._beyond(">", time - moved) if op in ("=", ">", ">=") else TRUE
        upper = self._beyond("<", time + moved) if op in ("=", "<", "<=") else TRUE
        return And((lower, upper))

    def equal_or_null(self, value: LiteralValue) -> Predicate:
        """TRUE, because each column alone already says the same."""
        return TRUE

    def _beyond(self, op: CompareOp, time: datetime.date) -> Predicate:
        """The partitions of times that compare so or are equal to `time`, and partitions with a NULL."""
        found: Predicate = TRUE
        for column, part in reversed(list(zip(self.columns, _PARTS, strict=False))):
            bound = Literal(getattr(time, part), pa.int32())
            found = Or((Compare(op, column, bound), And((Compare("=", column, bound), found))))
        return Or((found, *map(IsNull, self.columns)))


def _calendars(columns: Collection[_PartitionColumn]) -> Iterator[_Calendar]:
    for source in dict.fromkeys(each.source for each in columns):
        parts = {_calendar_part(each): each.column for each in columns if each.source == source}
        found = itertools.takewhile(parts.__contains__, _PARTS)
        listed = tuple(parts[part] for part in found)
        if len(listed) > 1:
            yield _Calendar(listed, source)


def _calendar_part(column: _PartitionColumn) -> str | None:
    """Which part of its source a column is; None for other columns, also for expressions over such a part."""
    root, source = column.expression.root, column.source
    if not isinstance(root, Call) or root.name not in _CALENDAR_PARTS:
        return None
    (operand,) = root.operands
    of_source = operand == source or (root.name != "hour" and operand == cast(source, DATE))
    return _CALENDAR_PARTS[root.name] if of_source and source.type in (DATE, *TIMESTAMPS) else None


@functools.lru_cache(maxsize=64)
def _partition_column(schema: StructType, name: str, text: str) -> _PartitionColumn | None:
    try:
        expression = parse_expression(text, schema)
    except DeltaError:
        return None
    sources = {node.path: node for node in walk(expression.root) if isinstance(node, ColumnRef)}
    if len(sources) != 1 or not expression.is_deterministic:
        return None
    (source,) = sources.values()
    if not _is_discrete(source.type) or expression.type != schema.field(name).type:
        return None
    if not _is_discrete(expression.type) or expression.type == TIMESTAMP:
        return None
    return _PartitionColumn(
        Column((schema.field(name).name,)),
        expression,
        source,
        _is_rising(expression.root, source.path),
        any(node.type == TIMESTAMP for node in walk(expression.root)),
    )


def _is_discrete(data_type: DataType) -> bool:
    """Whether equal values of the type are identical."""
    known = (*INTEGRAL, STRING, BOOLEAN, DATE, *TIMESTAMPS)
    return data_type in known or decimal_of(data_type) is not None


def _is_rising(node: Node, path: Path) -> bool:
    """Whether the result never falls while the column rises, and is NULL only for NULL."""
    if isinstance(node, ColumnRef):
        return node.path == path
    if not isinstance(node, Call) or not _is_rising(node.operands[0], path):
        return False
    operand, *others = node.operands
    if node.name == "cast":
        times = (DATE, TIMESTAMP, TIMESTAMP_NTZ)
        return operand.type in times and node.type in times
    if node.name == "substring":
        return all(isinstance(each, Constant) for each in others) and others[0] == _FIRST_PLACE
    if node.name == "date_format":
        return _RISING_FORMAT.fullmatch(node.sql) is not None
    return node.name in _RISING and not others


_FIRST_PLACE = Constant(1, PrimitiveType("long"))


def _is_usual(value: LiteralValue) -> bool:
    return not isinstance(value, datetime.date) or value.year in _YEARS


def _derive(predicate: Predicate, columns: Sequence[_PartitionColumn | _Calendar]) -> Predicate:
    match predicate:
        case And(operands):
            return _all([_derive(each, columns) for each in operands])
        case Or(operands):
            found = [_derive(each, columns) for each in operands]
            return TRUE if TRUE in found else Or(tuple(found))
        case Compare(op, Column(path), Literal(value)) if value is not None and op != "!=":
            return _all([_where(each, op, (value,)) for each in columns if each.source.path == path])
        case IsIn(Column(path), values) if len(values) <= _MOST_VALUES:
            return _all([_where(each, "=", values) for each in columns if each.source.path == path])
        case IsNull(Column(path)):
            return _all([_where(each, "=", (None,)) for each in columns if each.source.path == path])
    return TRUE


def _where(
    column: _PartitionColumn | _Calendar, op: CompareOp, values: tuple[LiteralValue, ...]
) -> Predicate:
    try:
        if values == (None,):
            # NULL in every zone.
            return column.equal_or_null(None)
        found = [column.where(op, value) for value in values]
    except (DeltaError, pa.ArrowException, TypeError, OverflowError):
        return TRUE
    if TRUE in found:
        return TRUE
    return found[0] if len(found) == 1 else Or(tuple(found))


def _all(found: list[Predicate]) -> Predicate:
    kept = tuple(each for each in found if each != TRUE)
    if not kept:
        return TRUE
    return kept[0] if len(kept) == 1 else And(kept)
