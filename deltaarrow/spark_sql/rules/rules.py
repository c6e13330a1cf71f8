"""Rules of a table for its rows: constraints, generated columns and defaults, applied as Spark does.

A constraint that is NULL is violated, like one that is FALSE. A missing column gets its default, or is
computed if it is generated. A generated column in the data must equal its expression; NULL equals NULL. A
NULL in the data is a value like any other.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from deltaarrow.columnar.kernels import pc
from deltaarrow.errors import ConstraintViolationError, SchemaMismatchError
from deltaarrow.runtime.clock import Clock, system_clock
from deltaarrow.schema import DataType, PrimitiveType, StructType, to_arrow_type
from deltaarrow.spark_sql.binding.evaluation import compute, evaluate, values_at
from deltaarrow.spark_sql.binding.expression_binding import parse_expression
from deltaarrow.spark_sql.functions.constructors import is_assignable
from deltaarrow.spark_sql.functions.operators import compare
from deltaarrow.spark_sql.tree.nodes import ColumnRef, Expression, refused
from deltaarrow.spark_sql.types.casts import cast
from deltaarrow.spark_sql.types.char_varchar import TextLimit
from deltaarrow.spark_sql.types.time_zones import TimeZone, in_time_zone, session_time_zone
from deltaarrow.spark_sql.types.type_rules import (
    BOOLEAN,
    DATE,
    STRING,
    TIMESTAMPS,
    VOID,
    is_numeric,
    type_name,
)

__all__ = [
    "Constraint",
    "DefaultColumn",
    "GeneratedColumn",
    "TableRules",
    "check_rows",
    "count_broken",
    "generate",
]

_ROWS_AT_ONCE = 1 << 19
_BYTES_AT_ONCE = 1 << 26
"""Bytes of rows per query: a query takes some milliseconds however few rows it has."""


@dataclass(frozen=True, slots=True)
class Constraint:
    """A named condition that every row must meet."""

    name: str
    expression: Expression

    def __post_init__(self) -> None:
        if self.expression.type != BOOLEAN:
            raise refused(f"the constraint {self.name!r} of type {type_name(self.expression.type)}")


@dataclass(frozen=True, slots=True)
class GeneratedColumn:
    """A top-level column and the expression that computes its values, of the column's type."""

    name: str
    type: DataType
    expression: Expression
    time_zone: TimeZone = field(default_factory=session_time_zone)

    def __post_init__(self) -> None:
        if not self.expression.is_deterministic:
            raise refused(f"the generated column {self.name!r} that depends on the time of day")

    def values(self) -> Expression:
        """The expression, cast to the column's type."""
        with in_time_zone(self.time_zone):
            return Expression(self.expression.text, cast(self.expression.root, self.type))

    def verified(self) -> Constraint:
        """The constraint for rows that already have values in the column."""
        equal = compare(ColumnRef((self.name,), self.type), self.values().root, "IS NOT DISTINCT FROM")
        return Constraint("Generated Column", Expression(f"{self.name} <=> {self.expression.text}", equal))


@dataclass(frozen=True, slots=True)
class DefaultColumn:
    """A top-level column and the text of its default value.

    The text is parsed only when the value is needed: if all rows have the column, it does not matter.
    """

    name: str
    type: DataType
    text: str
    time_zone: TimeZone = field(default_factory=session_time_zone)

    def value(self, clock: Clock = system_clock) -> pa.Scalar:
        """The default as a value of the column's type, an Arrow scalar.

        Raises:
            UnsupportedFeatureError: the default is not understood, or has a type that Spark does not store in
                the column.
            SchemaMismatchError: the default reads a column.
            ConstraintViolationError: the default does not fit the column.
        """
        with in_time_zone(self.time_zone):
            found = parse_expression(self.text, StructType(()))
            if not self._takes(found.type):
                raise refused(f"the default {self.text} of column {self.name!r}, a {type_name(self.type)},")
            value = Expression(self.text, cast(found.root, self.type))
        one = pa.RecordBatch.from_arrays([pa.nulls(1)], names=["none"])
        (found,) = evaluate(value, one, clock=clock).to_pylist()
        return pa.scalar(found, to_arrow_type(self.type))

    def _takes(self, given: DataType) -> bool:
        """Whether Spark stores a default of that type in the column."""
        if not isinstance(given, PrimitiveType):
            return is_assignable(given, self.type)
        if given in (self.type, VOID) or self.type == STRING:
            return True
        if given == STRING:
            return self.type != BOOLEAN
        times = (DATE, *TIMESTAMPS)
        return (is_numeric(given) and is_numeric(self.type)) or (given in times and self.type in times)


def _is_mere_null(text: str, data_type: DataType) -> bool:
    """Whether a default is a plain NULL of a type whose other values are not computed here."""
    is_computed = isinstance(data_type, PrimitiveType) and data_type.type != "variant"
    return not is_computed and text.strip().upper() == "NULL"


@dataclass(frozen=True)
class TableRules:
    """The constraints, text length limits, generated columns and defaults of one table.

    Picklable and cheap to keep: constraints and generation expressions are parsed once, when the rules are
    made.
    """

    schema: StructType
    constraints: tuple[Constraint, ...] = ()
    generated: tuple[GeneratedColumn, ...] = field(default=())
    defaults: tuple[DefaultColumn, ...] = field(default=())
    text_limits: tuple[TextLimit, ...] = ()

    @classmethod
    def parse(
        cls,
        schema: StructType,
        constraints: Mapping[str, str],
        generated: Mapping[str, str],
        defaults: Mapping[str, str] | None = None,
    ) -> "TableRules":
        """Parse the rules that a table's metadata stores as text.

        Args:
            schema: the logical schema.
            constraints: the text of each CHECK constraint or invariant, by name.
            generated: the generation expression of each generated column, by name.
            defaults: the default of each column that has one, by name; not parsed yet.

        Raises:
            UnsupportedFeatureError: an expression uses something unsupported.
            SchemaMismatchError: an expression names a column that does not exist.
        """
        return cls(
            schema,
            tuple(Constraint(name, parse_expression(text, schema)) for name, text in constraints.items()),
            tuple(
                GeneratedColumn(name, schema.field(name).type, parse_expression(text, schema))
                for name, text in generated.items()
            ),
            tuple(
                DefaultColumn(name, schema.field(name).type, text)
                for name, text in (defaults or {}).items()
                if not _is_mere_null(text, schema.field(name).type)
            ),
        )

    def __bool__(self) -> bool:
        """Whether the table has any rules."""
        return bool(self.constraints or self.generated or self.defaults or self.text_limits)

    @property
    def filled(self) -> frozenset[str]:
        """The columns that rows need not have."""
        return frozenset([each.name for each in self.generated] + [each.name for each in self.defaults])

    def apply(
        self, stream: Iterable[pa.RecordBatch], *, clock: Clock = system_clock
    ) -> Iterator[pa.RecordBatch]:
        """Complete the batches with the columns that they lack, in schema order, and check them.

        All batches have one schema. Small batches are collected so that one query computes several; a second
        query follows only if a constraint reads a column that the first one computed. The current time is the
        same for all rows.

        Raises:
            ConstraintViolationError: a row breaks a constraint, has a text that is too long, or has a value
                in a generated column that differs from its expression; or a value cannot be computed.
            UnsupportedFeatureError: a default that is needed is not understood.
        """
        if not self:
            yield from stream
            return
        now_ms = clock()
        defaults: dict[str, pa.Scalar] | None = None
        for group in _groups(stream):
            if defaults is None:
                given = set(group[0].schema.names)
                missing = [each for each in self.defaults if each.name not in given]
                defaults = {each.name: each.value(lambda: now_ms) for each in missing}
            if defaults:
                group = [self._with_defaults(each, defaults) for each in group]
            for batch in self._applied(group, lambda: now_ms):
                for limit in self.text_limits:
                    limit.ensure_kept(batch)
                yield batch

    def _with_defaults(self, batch: pa.RecordBatch, defaults: Mapping[str, pa.Scalar]) -> pa.RecordBatch:
        repeated = {name: pa.repeat(value, len(batch)) for name, value in defaults.items()}
        return self._completed(batch, repeated)

    def _applied(self, batches: list[pa.RecordBatch], clock: Clock) -> list[pa.RecordBatch]:
        given = set(batches[0].schema.names)
        missing = [each for each in self.generated if each.name not in given]
        checks = [*self.constraints, *(each.verified() for each in self.generated if each.name in given)]
        late = {each.name for each in missing}
        now = [each for each in checks if not late & {path[0] for path in each.expression.columns}]
        after = [each for each in checks if each not in now]
        expressions = [each.expression for each in now] + [each.values() for each in missing]
        names = [*(each.name for each in now), *(each.name for each in missing)]
        found = compute(expressions, batches, clock=clock, names=names)
        _ensure_met(now, found, batches)
        if missing:
            values = dict(zip((each.name for each in missing), found.columns[len(now) :], strict=True))
            starts = itertools.accumulate(map(len, batches), initial=0)
            batches = [
                self._completed(
                    batch, {name: array.slice(start, len(batch)) for name, array in values.items()}
                )
                for batch, start in zip(batches, starts, strict=False)
            ]
        if after:
            names = [each.name for each in after]
            found = compute([each.expression for each in after], batches, clock=clock, names=names)
            _ensure_met(after, found, batches)
        return batches

    def _completed(self, batch: pa.RecordBatch, more: Mapping[str, pa.Array]) -> pa.RecordBatch:
        arrays = dict(zip(batch.schema.names, batch.columns, strict=True)) | dict(more)
        names = [name for name in self.schema.names if name in arrays]
        if len(names) != len(arrays):
            unknown = next(name for name in arrays if name not in names)
            raise SchemaMismatchError(
                f"no column {unknown!r} in the table; leave it out of the data, or add it to the schema"
            )
        return pa.RecordBatch.from_arrays([arrays[name] for name in names], names=names)


def check_rows(constraints: Sequence[Constraint], batch: pa.RecordBatch) -> None:
    """Raise `ConstraintViolationError` if a row of `batch` breaks one of the constraints.

    The message names the constraint, its expression, and the columns that it reads with their values in the
    first such row.

    >>> from deltaarrow.schema import Schema
    >>> batch = pa.record_batch({"id": pa.array([1, -2])})
    >>> positive = Constraint("positive", parse_expression("id > 0", Schema.from_arrow(batch.schema)))
    >>> check_rows([positive], batch)
    Traceback (most recent call last):
    ...
    deltaarrow.errors.ConstraintViolationError: CHECK constraint positive (id > 0) violated by row ...
    """
    names = [each.name for each in constraints]
    found = compute([each.expression for each in constraints], [batch], names=names)
    _ensure_met(constraints, found, [batch])


def count_broken(constraint: Constraint, batches: Iterable[pa.RecordBatch]) -> int:
    """Count the rows that break the constraint; the batches have one schema."""
    broken = 0
    for group in _groups(batches):
        (met,) = compute([constraint.expression], group, names=[constraint.name]).columns
        broken += len(met) - pc.sum(met, min_count=0).as_py()
    return broken


def generate(column: GeneratedColumn, batch: pa.RecordBatch) -> pa.Array:
    """The values of a generated column: computed, or taken from `batch` after a check.

    Raises:
        ConstraintViolationError: a given value differs from the expression, or a value cannot be computed.
    """
    if column.name in batch.schema.names:
        check_rows([column.verified()], batch)
        return batch.column(column.name)
    return compute([column.values()], [batch], names=[column.name]).column(0)


def _groups(stream: Iterable[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
    """Group the batches so that each group is worth a query."""
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in stream:
        held.append(batch)
        rows, size = rows + len(batch), size + batch.nbytes
        if rows >= _ROWS_AT_ONCE or size >= _BYTES_AT_ONCE:
            yield held
            held, rows, size = [], 0, 0
    if held:
        yield held


def _ensure_met(
    constraints: Sequence[Constraint], found: pa.RecordBatch, batches: Sequence[pa.RecordBatch]
) -> None:
    for constraint, array in zip(constraints, found.columns, strict=False):
        met = pc.fill_null(array, False)
        if pc.all(met, min_count=0).as_py():
            continue
        row = pc.index(met, pa.scalar(False)).as_py()
        batch = next(each for each in batches if (row := row - len(each)) < 0)
        values = values_at(batch, constraint.expression.columns, len(batch) + row)
        listed = "".join(f"\n - {name} : {_shown(value)}" for name, value in values.items())
        raise ConstraintViolationError(
            f"CHECK constraint {constraint.name} ({constraint.expression.text}) violated by row with"
            f" values:{listed}"
        )


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "null" if value is None else str(value)
