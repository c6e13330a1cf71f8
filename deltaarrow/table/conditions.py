"""Conversion of users' filters to conditions on rows and predicates on files.

A filter is SQL text with Spark's semantics, tuples with ``deltalake``'s semantics, or a pyarrow expression
with pyarrow's semantics.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeGuard

import deltaarrow.expressions as expressions
import deltaarrow.scan as scan
import deltaarrow.spark_sql as spark_sql
from deltaarrow.errors import InvalidPredicateError
from deltaarrow.log.moments import type_name
from deltaarrow.schema import Schema
from deltaarrow.snapshot import Snapshot

if TYPE_CHECKING:
    import pyarrow.compute as pc

    from deltaarrow.expressions import Filters, Predicate

__all__ = ["file_predicate", "row_condition", "table_conditions"]


def row_condition(
    filters: "str | Filters", schema: Schema, partition_columns: Sequence[str] = ()
) -> "scan.RowCondition":
    """Return SQL text or tuples as a condition on rows of a schema.

    Raises `InvalidPredicateError` for a filter that cannot be parsed or names an unknown column, and
    `TypeError` for a filter of another type.
    """
    if isinstance(filters, str):
        return spark_sql.parse_condition(filters, schema)
    if not isinstance(filters, list | tuple):
        raise TypeError(
            f"a condition is SQL text or a list of (column, operator, value) tuples, not {type_name(filters)}"
        )
    return scan.TreeCondition(
        expressions.bind(expressions.from_filters(filters, partition_columns, schema), schema)
    )


def _partition_predicate(snapshot: Snapshot, filters: "Filters") -> "Predicate":
    """Return tuples on partition columns as a predicate; values may be texts."""
    partitions = snapshot.partition_columns
    predicate = row_condition(filters, snapshot.schema, partitions).predicate
    if other := sorted({path[0] for path in expressions.columns_of(predicate)} - set(partitions)):
        raise InvalidPredicateError(
            f"{', '.join(other)}: not a partition column"
            f" (partition columns: {', '.join(partitions) or 'none'});"
            " filter other columns with `filters` or `file_pruning_predicate`"
        )
    return predicate


def file_predicate(
    snapshot: Snapshot, partitions: "Filters | None", files: "str | Filters | None"
) -> "Predicate | None":
    """Return the predicate for choosing files: tuples on partition columns AND a condition on any column."""
    predicates = []
    if partitions is not None:
        predicates.append(_partition_predicate(snapshot, partitions))
    if files is not None:
        predicates.append(row_condition(files, snapshot.schema, snapshot.partition_columns).predicate)
    return expressions.And(tuple(predicates)) if predicates else None


def table_conditions(
    snapshot: Snapshot, partitions: "Filters | None", filters: "str | Filters | pc.Expression | None"
) -> "tuple[scan.RowCondition, ...]":
    """Return the conditions on rows: tuples on partition columns, and a filter in any notation.

    Raises the exceptions of `row_condition`.
    """
    found: list[scan.RowCondition] = []
    if partitions is not None:
        found.append(scan.TreeCondition(_partition_predicate(snapshot, partitions)))
    if isinstance(filters, str | list | tuple):
        found.append(row_condition(filters, scan.scan_schema(snapshot), snapshot.partition_columns))
    elif _is_expression(filters):
        found.append(scan.ArrowCondition(filters))
    elif filters is not None:
        raise TypeError(
            "filters are SQL text, a list of (column, operator, value) tuples or a pyarrow expression,"
            f" not {type_name(filters)}"
        )
    return tuple(found)


def _is_expression(given: object) -> "TypeGuard[pc.Expression]":
    """Whether an object is an expression of pyarrow, which is imported only then."""
    if given is None:
        return False
    import pyarrow.compute as pc

    return isinstance(given, pc.Expression)
