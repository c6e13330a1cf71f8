"""Conditions in Spark SQL, as values that choose files and rows: `Condition`.

The text is parsed and typed once and split into the parts that AND joins. Each part has a typed expression,
which decides about rows, and a predicate derived from it, which rules out files, row groups and rows. If the
predicate is exact, pyarrow or DuckDB's file reader evaluates the part with it. All other parts are computed
in the sandbox, or by DuckDB within the query.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltaarrow.errors import (
    ConstraintViolationError,
    DeltaError,
    InvalidPredicateError,
    SchemaMismatchError,
    UnsupportedFeatureError,
)
from deltaarrow.expressions import And, Predicate, is_exact, not_on_rows, to_arrow, to_duckdb, variant_paths
from deltaarrow.runtime.clock import Clock, system_clock
from deltaarrow.runtime.fork_safety import cached_property
from deltaarrow.schema import StructType
from deltaarrow.spark_sql.binding.evaluation import evaluate
from deltaarrow.spark_sql.binding.expression_binding import parse_parts
from deltaarrow.spark_sql.binding.scope import AliasScope
from deltaarrow.spark_sql.functions.operators import all_of
from deltaarrow.spark_sql.rendering.native_sql import to_native_sql
from deltaarrow.spark_sql.rules.known import known_predicate
from deltaarrow.spark_sql.text.quoted_names import ensure_columns_unquoted
from deltaarrow.spark_sql.tree.nodes import Expression, Path, refused
from deltaarrow.spark_sql.tree.positioned_errors import placed_in
from deltaarrow.spark_sql.tree.row_errors import row_error
from deltaarrow.spark_sql.types.type_rules import BOOLEAN, VOID, type_name

if TYPE_CHECKING:
    import pyarrow.compute as pc

__all__ = ["Condition", "condition_on", "evaluation_error", "parse_condition"]


@dataclass(frozen=True)
class _Part:
    """One part of a condition, between ANDs, as an expression and as a predicate."""

    expression: Expression
    predicate: Predicate

    @cached_property
    def is_exact(self) -> bool:
        return is_exact(self.predicate)


@dataclass(frozen=True)
class Condition:
    """A condition on rows; picklable.

    Attributes:
        text: the user's text.
        parts: the parts that AND joins.
        alias: the table that `predicate` is about, if there are several tables; paths of columns then begin
            with an alias.
        moment_ms: the value of ``current_timestamp()``, in milliseconds since 1970.
    """

    text: str
    parts: tuple[_Part, ...]
    alias: str | None
    moment_ms: int

    @cached_property
    def predicate(self) -> Predicate:
        """The condition as a predicate, with `Opaque` for parts that a predicate cannot express."""
        predicates = tuple(part.predicate for part in self.parts)
        return predicates[0] if len(predicates) == 1 else And(predicates)

    @cached_property
    def expression(self) -> Expression:
        """The whole condition."""
        return _joined(self.text, self.parts)

    @property
    def columns(self) -> tuple[Path, ...]:
        """The columns that the condition reads."""
        return self.expression.columns

    @property
    def is_exact(self) -> bool:
        """Whether `predicate` expresses the whole condition."""
        return all(part.is_exact for part in self.parts)

    @property
    def conjuncts(self) -> Sequence["Condition"]:
        """The parts as separate conditions, all of which a row must meet."""
        return [Condition(self.text, (part,), self.alias, self.moment_ms) for part in self.parts]

    @cached_property
    def arrow(self) -> "pc.Expression | None":
        """The condition as a pyarrow expression, if `predicate` expresses all of it.

        Raises `InvalidPredicateError` for a part on a variant, which chooses files but not rows.
        """
        for part in variant_paths(self.predicate):
            raise not_on_rows(part)
        return to_arrow(self.predicate) if self.is_exact else None

    def select(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows of a batch that meet the condition.

        Raises `InvalidPredicateError` if the condition cannot be computed for a row.
        """
        exact = tuple(part.predicate for part in self.parts if part.is_exact)
        if exact and batch.num_rows:
            batch = batch.filter(to_arrow(And(exact)))
        others = [part for part in self.parts if not part.is_exact]
        if not others or not batch.num_rows:
            return batch
        try:
            kept = evaluate(_joined(self.text, others), batch, clock=self._clock)
        except ConstraintViolationError as error:
            refusal = InvalidPredicateError(str(error))
            refusal.place = error.written_place
            raise refusal from error
        return batch.filter(kept)

    def to_duckdb(self, column: Callable[[Path], str]) -> str:
        """SQL that is TRUE for exactly the rows that meet the condition.

        `column` returns the SQL of a column, in the type that DuckDB's file reader gives it. The exact parts
        stand alone, so that DuckDB pushes them into that reader. Parts that may fail are computed only for
        rows that meet all other parts. The SQL runs where `provide_kernels` has given it its functions.
        """
        computed = partial(self._computed, column=column)
        own: Path = () if self.alias is None else (self.alias,)
        safe = [
            to_duckdb(part.predicate, lambda path: column((*own, *path)))
            if part.is_exact
            else computed([part])
            for part in self.parts
            if part.is_exact or not part.expression.root.can_fail
        ]
        failing = [part for part in self.parts if not part.is_exact and part.expression.root.can_fail]
        if failing:
            sql = computed(failing)
            safe.append(f"CASE WHEN {' AND '.join(safe)} THEN {sql} ELSE FALSE END" if safe else sql)
        return f"({' AND '.join(safe)})" if safe else "TRUE"

    def _computed(self, parts: Sequence[_Part], *, column: Callable[[Path], str]) -> str:
        expression = _joined(self.text, parts)
        columns = {path: column(path) for path in expression.columns}
        sql = to_native_sql(expression, columns, now_ms=self.moment_ms)
        return f"({sql})"

    def _clock(self) -> int:
        return self.moment_ms


def _joined(text: str, parts: Sequence[_Part]) -> Expression:
    if len(parts) == 1:
        return Expression(text, parts[0].expression.root)
    return Expression(text, all_of(tuple(part.expression.root for part in parts)))


def evaluation_error(error: Exception, text: str) -> DeltaError | None:
    """The error to raise if DuckDB cannot compute a condition for a row; None for other errors of DuckDB."""
    return row_error(error, f"the condition {text!r} cannot be evaluated", text, InvalidPredicateError)


def parse_condition(text: str, schema: StructType, *, clock: Clock = system_clock) -> Condition:
    """Parse a user's Spark SQL condition on the rows of one table.

    Args:
        text: the condition, with Spark's values in ANSI mode in the session time zone. In addition to what
            `parse_expression` accepts it may compare ``variant_get`` of a path and a type, which chooses
            files but not rows.
        schema: the logical schema of the rows.
        clock: gives ``current_timestamp()``, which is fixed here for all evaluations.

    Raises:
        InvalidPredicateError: the text is not one condition, uses something unsupported, or names a column
            that does not exist.

    >>> from deltaarrow.schema import Field, Schema
    >>> schema = Schema([Field("s", "string"), Field("i", "long")])
    >>> condition = parse_condition("upper(s) = 'A' AND i > 2", schema)
    >>> condition.select(pa.record_batch({"s": ["a", "a", "b"], "i": [1, 3, 5]})).to_pylist()
    [{'s': 'a', 'i': 3}]
    """
    try:
        return _parsed(text, schema, None, schema, clock(), chooses_files=True)
    except (UnsupportedFeatureError, SchemaMismatchError) as error:
        refusal = InvalidPredicateError(str(error))
        refusal.place = error.place
        raise refusal from error


def condition_on(text: str, scope: AliasScope, alias: str, moment_ms: int) -> Condition:
    """Parse a condition on several tables, of which the one with `alias` is read from files.

    Raises `InvalidPredicateError` if the text is no condition, and the errors of `parse_expression`.
    """
    tables: dict[str, Any] = dict(scope.tables)
    return _parsed(text, scope, alias, tables.get(alias), moment_ms, chooses_files=False)


def _parsed(
    text: str,
    scope: StructType | AliasScope,
    alias: str | None,
    schema: StructType | None,
    moment_ms: int,
    *,
    chooses_files: bool,
) -> Condition:
    with placed_in(text):
        ensure_columns_unquoted(text, scope.tables.values() if isinstance(scope, AliasScope) else [scope])
        found = list(_parts(text, scope, alias, schema, chooses_files))
    return Condition(text, tuple(found), alias, moment_ms)


def _parts(
    text: str,
    scope: StructType | AliasScope,
    alias: str | None,
    schema: StructType | None,
    chooses_files: bool,
) -> Iterator[_Part]:
    for node, words in parse_parts(text, scope, chooses_files=chooses_files):
        if node.type not in (BOOLEAN, VOID):
            raise InvalidPredicateError(
                f"{words!r} is not a condition: its type is {type_name(node.type)}, not boolean"
                " (Spark: DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN)"
            )
        expression = Expression(text, all_of((node,)) if node.type == VOID else node)
        known = StructType([]) if schema is None else schema
        yield _Part(expression, known_predicate(expression, alias, known, words))
    if not text.strip():
        raise refused("an empty text")
