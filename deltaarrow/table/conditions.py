"""What users say of rows and files, as conditions and predicates of a table.

Conditions come as SQL text with Spark's meaning, as tuples with that of ``deltalake`` or as pyarrow
expressions with that of pyarrow.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import deltaarrow.scan as scan
import deltaarrow.spark_sql as spark_sql
from deltaarrow.errors import InvalidPredicateError
from deltaarrow.expressions import And, Filters, Predicate, bind, columns_of, from_filters
from deltaarrow.log.moments import type_name
from deltaarrow.schema import Schema
from deltaarrow.snapshot import Snapshot

if TYPE_CHECKING:
    import pyarrow.compute as pc

__all__ = ["file_predicate", "row_condition", "table_conditions"]


def row_condition(
    filters: str | Filters, schema: Schema, partition_columns: Sequence[str] = ()
) -> scan.RowCondition:
    """Return the condition that SQL text or tuples are, on rows with the names and types of a schema.

    Raises `InvalidPredicateError` for what is not understood, and for a column that is not there, and
    `TypeError` for what is neither.
    """
    if isinstance(filters, str):
        return spark_sql.parse_condition(filters, schema)
    if not isinstance(filters, list | tuple):
        raise TypeError(
            f"a condition is SQL text or (column, operator, value) tuples, not {type_name(filters)}"
        )
    return scan.TreeCondition(bind(from_filters(filters, partition_columns, schema), schema))


def _partition_predicate(snapshot: Snapshot, filters: Filters) -> Predicate:
    """Return the predicate of tuples that may name partition columns only; values may be texts."""
    partitions = snapshot.partition_columns
    predicate = row_condition(filters, snapshot.schema, partitions).predicate
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
        predicates.append(row_condition(files, snapshot.schema, snapshot.partition_columns).predicate)
    return And(tuple(predicates)) if predicates else None


def table_conditions(
    snapshot: Snapshot, partitions: Filters | None, filters: "str | Filters | pc.Expression | None"
) -> tuple[scan.RowCondition, ...]:
    """Return what rows must meet: tuples on partition columns, and a condition in any notation.

    Raises what `row_condition` raises.
    """
    import pyarrow.compute as pc

    found: list[scan.RowCondition] = []
    if partitions is not None:
        found.append(scan.TreeCondition(_partition_predicate(snapshot, partitions)))
    if isinstance(filters, str | list | tuple):
        found.append(row_condition(filters, scan.scan_schema(snapshot), snapshot.partition_columns))
    elif isinstance(filters, pc.Expression):
        found.append(scan.ArrowCondition(filters))
    elif filters is not None:
        raise TypeError(
            "filters are SQL text, (column, operator, value) tuples or a pyarrow expression,"
            f" not {type_name(filters)}"
        )
    return tuple(found)
