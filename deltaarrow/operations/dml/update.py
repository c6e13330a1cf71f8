"""UPDATE: assigns new values to the rows that satisfy a condition; rows keep their row ids."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

import deltaarrow.scan as scan
import deltaarrow.variant as variant
from deltaarrow.columnar.numpy_arrays import ensure_microseconds
from deltaarrow.compute import quote_identifier
from deltaarrow.errors import SchemaMismatchError
from deltaarrow.expressions import Predicate
from deltaarrow.features import is_supported
from deltaarrow.operations.commit.operation_parameters import predicates_parameter
from deltaarrow.operations.dml.assignments import (
    MakeValue,
    assigned_values,
    expression,
    kept_values,
    parse_target,
    says_default,
)
from deltaarrow.operations.dml.changed_rows import Clause, ClauseKind, exported_name
from deltaarrow.operations.dml.clause_query import GIVEN_VALUES, ClauseQuery
from deltaarrow.operations.dml.operation import TARGET, RowOperation, file_metrics, single_scope, times
from deltaarrow.operations.dml.row_scope import ALWAYS, RowScope, Value
from deltaarrow.schema import DataType, Field, PrimitiveType, to_arrow_type
from deltaarrow.schema.metadata_keys import DEFAULT_KEY
from deltaarrow.variant import holds_variant

__all__ = ["explain_update", "update_rows"]


def update_rows(
    operation: RowOperation,
    updates: Mapping[str, str] | None,
    new_values: Mapping[str, Any] | None,
    predicate: str | None,
    target_alias: str = TARGET,
    *,
    tries: bool = False,
) -> dict[str, Any]:
    """Update the rows for which a condition is TRUE, or all rows if it is None, and commit.

    Args:
        operation: the operation.
        updates: expressions by column name; a field of a struct is named with dots.
        new_values: Python values by column name. Exactly one of `updates` and `new_values` is given.
        predicate: the condition.
        target_alias: the name of the table in expressions.
        tries: whether a value that does not fit the type of its column becomes NULL.

    Returns the metrics under the names of ``deltalake``.

    Raises `ValueError` if both or neither of `updates` and `new_values` are given, `SchemaMismatchError` for
    an unknown column or a value that does not fit, `ConstraintViolationError` for a row that violates a
    constraint, and the exceptions of commits.
    """
    bound = _bound(operation, updates, new_values, predicate, target_alias, tries)
    plan = operation.plan(bound.pruning, bound.read, operation.matcher(bound.clause.condition))

    query = ClauseQuery(
        operation.schema, bound.clause, tuple(bound.ids), tuple(bound.exported), bound.old, bound.given
    )
    staged = operation.stage(plan, query, writes_changes=operation.has_change_feed)
    updated = staged.rows([0])
    operation.commit(
        {"predicate": predicates_parameter(predicate)},
        staged,
        lambda: {"numUpdatedRows": updated, **file_metrics(staged)},
    )
    return {
        "num_added_files": len(staged.added),
        "num_removed_files": staged.losses.removed_files,
        "num_updated_rows": updated,
        "num_copied_rows": staged.copied_rows,
        **times(operation, staged),
    }


def explain_update(
    operation: RowOperation, updates: Mapping[str, str], predicate: str | None, target_alias: str = TARGET
) -> "scan.Explanation":
    """Return which files `update_rows` reads; nothing is committed."""
    bound = _bound(operation, updates, None, predicate, target_alias, tries=False)
    columns = [name for name in operation.snapshot.schema.names if name in bound.read]
    return scan.explain_scan(operation.snapshot, bound.pruning, columns)


@dataclass(frozen=True)
class _Bound:
    """An UPDATE with the types of its table.

    Attributes:
        clause: the condition and the values.
        pruning: what holds for the rows of the condition; None if there is no condition.
        exported: the columns that values and the change data feed read.
        old: the values before the update, for the change data feed.
        ids: the row tracking columns, or none.
        given: the Python values, by column name.
    """

    clause: Clause
    pruning: Predicate | None
    exported: Sequence[str]
    old: Mapping[str, str]
    ids: Sequence[str]
    given: Mapping[str, pa.Array]

    @property
    def read(self) -> set[str]:
        """All columns that are read."""
        return {*self.exported, *(name for _, name in self.clause.condition.columns), *self.ids}


def _bound(
    operation: RowOperation,
    updates: Mapping[str, str] | None,
    new_values: Mapping[str, Any] | None,
    predicate: str | None,
    target_alias: str,
    tries: bool,
) -> _Bound:
    if (updates is None) == (new_values is None) or not (updates or new_values):
        raise ValueError("give either updates or new_values to an update, with at least one column")
    if not isinstance(updates or new_values, Mapping):
        raise TypeError(
            "an update takes a dict of columns and values, such as {'price': 'price + 1'}, not"
            f" {updates or new_values!r}"
        )
    inner = single_scope(operation, target_alias)
    outer = RowScope(
        inner.tables,
        lambda _, name: f"j.{exported_name('t', name)}",
        inner.target,
        inner.now_ms,
        tries=tries,
    )
    given: dict[str, pa.Array] = {}
    assignments = []
    for name, value in (updates or new_values or {}).items():
        fields = parse_target(operation.schema, name, [inner.target])
        if updates:
            is_default = len(fields) == 1 and says_default(inner, value)
            make = expression(outer, _default(operation, fields[0]) if is_default else value)
        else:
            make = _constant(given, name, value, tries)
        assignments.append((fields, make))
    assigned = assigned_values(operation.schema, assignments, outer)
    condition = ALWAYS if predicate is None else inner.condition(predicate)
    clause = Clause(ClauseKind.UPDATE, condition, kept_values(operation.target, outer, assigned))
    read = {name for value in clause.values.values() for _, name in value.columns}
    old = {}
    if operation.has_change_feed:
        old = {name: f"j.{exported_name('t', name)}" for name in operation.schema.names}
    return _Bound(
        clause,
        None if predicate is None else condition.pruning,
        [name for name in operation.schema.names if name in read or name in old],
        old,
        () if operation.tracking is None else scan.ROW_TRACKING_COLUMNS,
        given,
    )


def _default(operation: RowOperation, column: Field) -> str:
    """Return the default expression of a column; NULL if it has none."""
    has_defaults = is_supported(operation.target.protocol, "allowColumnDefaults")
    return str(column.metadata.get(DEFAULT_KEY, "NULL")) if has_defaults else "NULL"


def _constant(given: dict[str, pa.Array], name: str, value: Any, tries: bool) -> MakeValue:
    """Return the maker of a Python value, which the query reads from a table of one row."""

    def make(data_type: DataType) -> Value:
        try:
            ensure_microseconds(value)
            given[name] = _array(name, value, data_type)
        except (ValueError, pa.ArrowTypeError, OverflowError) as error:
            if tries:
                given[name] = _array(name, None, data_type)
                return Value(repr(value), f"(SELECT {quote_identifier(name)} FROM {GIVEN_VALUES})")
            raise SchemaMismatchError(f"the value {value!r} does not fit column {name!r}: {error}") from error
        return Value(repr(value), f"(SELECT {quote_identifier(name)} FROM {GIVEN_VALUES})")

    return make


def _array(name: str, value: Any, data_type: DataType) -> pa.Array:
    if value is not None and holds_variant(data_type):
        if data_type != PrimitiveType("variant") or not isinstance(value, str):
            raise SchemaMismatchError(
                f"the value {value!r} does not fit column {name!r}: a variant is given as JSON text"
            )
        return variant.parse_json(pa.array([value]))
    return pa.array([value], to_arrow_type(data_type))
