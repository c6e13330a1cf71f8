"""What a table asks of its rows: CHECK constraints, invariants and generated columns, checked as Spark does.

A condition that is NULL is broken like one that is FALSE. A generated column that is not given is computed;
one that is given has to equal its expression, NULL being equal to NULL.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from deltaarrow.clock import Clock, system_clock
from deltaarrow.errors import ConstraintViolationError, SchemaMismatchError
from deltaarrow.schema import DataType, StructType
from deltaarrow.stored_expressions.binding import parse_expression
from deltaarrow.stored_expressions.casts import cast
from deltaarrow.stored_expressions.evaluation import compute, evaluate, values_at
from deltaarrow.stored_expressions.nodes import ColumnRef, Expression, refused
from deltaarrow.stored_expressions.operators import compare
from deltaarrow.stored_expressions.types import BOOLEAN, type_name

__all__ = ["Constraint", "GeneratedColumn", "TableRules", "check_rows", "generate"]

_ROWS_AT_ONCE = 1 << 19
_BYTES_AT_ONCE = 1 << 26
"""A query takes some milliseconds however few rows it has."""


@dataclass(frozen=True, slots=True)
class Constraint:
    """A condition that every row has to meet, under its name."""

    name: str
    expression: Expression

    def __post_init__(self) -> None:
        if self.expression.type != BOOLEAN:
            raise refused(f"the constraint {self.name!r} of type {type_name(self.expression.type)}")


@dataclass(frozen=True, slots=True)
class GeneratedColumn:
    """A top-level column and the expression that its values are computed by, of the column's type."""

    name: str
    type: DataType
    expression: Expression

    def __post_init__(self) -> None:
        if not self.expression.is_deterministic:
            raise refused(f"the generated column {self.name!r} that depends on the time of day")

    def values(self) -> Expression:
        """The expression as values of the column's type."""
        return Expression(self.expression.text, cast(self.expression.root, self.type))

    def verified(self) -> Constraint:
        """The constraint on rows that come with values of the column."""
        equal = compare(ColumnRef((self.name,), self.type), self.values().root, "IS NOT DISTINCT FROM")
        return Constraint("Generated Column", Expression(f"{self.name} <=> {self.expression.text}", equal))


@dataclass(frozen=True)
class TableRules:
    """The constraints and the generated columns of one table, evaluated together.

    Picklable and cheap to keep: texts are parsed once, when the rules are made.
    """

    schema: StructType
    constraints: tuple[Constraint, ...] = ()
    generated: tuple[GeneratedColumn, ...] = field(default=())

    @classmethod
    def parse(
        cls, schema: StructType, constraints: Mapping[str, str], generated: Mapping[str, str]
    ) -> "TableRules":
        """The rules that a table's metadata holds as text.

        Args:
            schema: the logical schema.
            constraints: the text of each CHECK constraint or invariant by its name.
            generated: the generation expression of each generated column by its name.

        Raises:
            UnsupportedFeatureError: an expression holds what is not supported.
            SchemaMismatchError: an expression names a column that is not there.
        """
        return cls(
            schema,
            tuple(Constraint(name, parse_expression(text, schema)) for name, text in constraints.items()),
            tuple(
                GeneratedColumn(name, schema.field(name).type, parse_expression(text, schema))
                for name, text in generated.items()
            ),
        )

    def apply(
        self, stream: Iterable[pa.RecordBatch], *, clock: Clock = system_clock
    ) -> Iterator[pa.RecordBatch]:
        """The batches with the generated columns that they lack, in the order of the schema.

        Small batches are held back until one query computes all of them; a second query follows only if a
        constraint reads a column that the first has computed.

        Raises:
            ConstraintViolationError: a row breaks a constraint, or has another value in a generated column
                than its expression, or a value cannot be computed.
        """
        if not self.constraints and not self.generated:
            yield from stream
            return
        held: list[pa.RecordBatch] = []
        for batch in stream:
            held.append(batch)
            if sum(map(len, held)) >= _ROWS_AT_ONCE or sum(each.nbytes for each in held) >= _BYTES_AT_ONCE:
                yield from self._applied(held, clock)
                held = []
        if held:
            yield from self._applied(held, clock)

    def _applied(self, batches: list[pa.RecordBatch], clock: Clock) -> list[pa.RecordBatch]:
        given = set(batches[0].schema.names)
        missing = [each for each in self.generated if each.name not in given]
        checks = [*self.constraints, *(each.verified() for each in self.generated if each.name in given)]
        late = {each.name for each in missing}
        now = [each for each in checks if not late & {path[0] for path in each.expression.columns}]
        after = [each for each in checks if each not in now]
        expressions = [each.expression for each in now] + [each.values() for each in missing]
        found = compute(expressions, batches, clock=clock)
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
            found = compute([each.expression for each in after], batches, clock=clock)
            _ensure_met(after, found, batches)
        return batches

    def _completed(self, batch: pa.RecordBatch, generated: Mapping[str, pa.Array]) -> pa.RecordBatch:
        arrays = dict(zip(batch.schema.names, batch.columns, strict=True)) | dict(generated)
        names = [name for name in self.schema.names if name in arrays]
        if len(names) != len(arrays):
            unknown = next(name for name in arrays if name not in names)
            raise SchemaMismatchError(f"no column {unknown!r} in the table")
        return pa.RecordBatch.from_arrays([arrays[name] for name in names], names=names)


def check_rows(constraints: Sequence[Constraint], batch: pa.RecordBatch) -> None:
    """Raise `ConstraintViolationError` if a row of `batch` breaks one of the constraints.

    The message names the constraint, its expression, and the values in the first such row of the columns
    that the expression reads.

    >>> from deltaarrow.schema import Schema
    >>> batch = pa.record_batch({"id": pa.array([1, -2])})
    >>> positive = Constraint("positive", parse_expression("id > 0", Schema.from_arrow(batch.schema)))
    >>> check_rows([positive], batch)
    Traceback (most recent call last):
    ...
    deltaarrow.errors.ConstraintViolationError: CHECK constraint positive (id > 0) violated by row ...
    """
    _ensure_met(constraints, compute([each.expression for each in constraints], [batch]), [batch])


def generate(column: GeneratedColumn, batch: pa.RecordBatch) -> pa.Array:
    """The values of a generated column: computed, or those of `batch` once they are found to be right.

    Raises:
        ConstraintViolationError: a value that is given is not that of the expression, or one cannot be
            computed.
    """
    if column.name in batch.schema.names:
        check_rows([column.verified()], batch)
        return batch.column(column.name)
    return evaluate(column.values(), batch)


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
