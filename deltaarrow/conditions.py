"""What users say of rows and files, as predicates of a table.

Conditions come as SQL text, as tuples in the notation of ``deltalake`` or as pyarrow expressions.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import deltaarrow.scan as scan
import deltaarrow.spark_sql as spark_sql
from deltaarrow.errors import InvalidPredicateError
from deltaarrow.expressions import (
    And,
    Filters,
    Predicate,
    bind,
    columns_of,
    from_filters,
    from_sql,
    in_total_order,
    to_arrow,
)
from deltaarrow.moments import type_name
from deltaarrow.schema import Schema
from deltaarrow.snapshot import Snapshot

if TYPE_CHECKING:
    import pyarrow.compute as pc

__all__ = ["file_predicate", "row_condition", "row_predicate"]


def row_predicate(filters: str | Filters, schema: Schema, partition_columns: Sequence[str] = ()) -> Predicate:
    """Return the predicate of SQL text or tuples, with the names and types of a schema.

    Raises `InvalidPredicateError` for what is not understood, and for a column that is not there, and
    `TypeError` for what is neither.
    """
    if not isinstance(filters, str | list | tuple):
        raise TypeError(
            f"a condition is SQL text or (column, operator, value) tuples, not {type_name(filters)}"
        )
    if not isinstance(filters, str):
        return bind(from_filters(filters, partition_columns, schema), schema)
    predicate = from_sql(filters)
    spark_sql.ensure_columns_unquoted(filters, [schema])
    return in_total_order(bind(predicate, schema), schema)


def _partition_predicate(snapshot: Snapshot, filters: Filters) -> Predicate:
    """Return the predicate of tuples that may name partition columns only; values may be texts."""
    partitions = snapshot.partition_columns
    predicate = row_predicate(filters, snapshot.schema, partitions)
    if other := sorted({path[0] for path in columns_of(predicate)} - set(partitions)):
        raise InvalidPredicateError(f"{other} are not partition columns; there are {list(partitions)}")
    return predicate


def file_predicate(
    snapshot: Snapshot, partitions: Filters | None, files: str | Filters | None
) -> Predicate | None:
    """Return what files must be able to match: tuples on partition columns, and a condition on any."""
    predicates = []
    if partitions is not None:
        predicates.append(_partition_predicate(snapshot, partitions))
    if files is not None:
        predicates.append(row_predicate(files, snapshot.schema, snapshot.partition_columns))
    return And(tuple(predicates)) if predicates else None


def row_condition(
    snapshot: Snapshot, partitions: Filters | None, filters: "str | Filters | pc.Expression | None"
) -> "pc.Expression | None":
    """Return what rows must match, as a pyarrow expression: tuples on partition columns, and a condition.

    Raises what `row_predicate` raises.
    """
    import pyarrow.compute as pc

    conditions = []
    if partitions is not None:
        conditions.append(to_arrow(_partition_predicate(snapshot, partitions)))
    if isinstance(filters, str | list | tuple):
        conditions.append(
            to_arrow(row_predicate(filters, scan.scan_schema(snapshot), snapshot.partition_columns))
        )
    elif isinstance(filters, pc.Expression):
        conditions.append(filters)
    elif filters is not None:
        raise TypeError(
            "filters are SQL text, (column, operator, value) tuples or a pyarrow expression,"
            f" not {type_name(filters)}"
        )
    if len(conditions) == 2:
        return conditions[0] & conditions[1]
    return conditions[0] if conditions else None
