"""File pruning of a MERGE target, from the match condition and the values in the source.

A target row can match only if it satisfies the part of the condition on target columns, and if each column
that must equal a source value lies between the least and the greatest source value, or is one of them if
they are few. Skipping other files loses no row: they have no match, and only clauses for rows that are not
matched by the source look at unmatched rows; the conditions of these clauses are added to the predicate.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from deltaarrow.errors import DeltaError
from deltaarrow.expressions import FALSE, TRUE, And, Column, Compare, IsIn, Literal, Or, Predicate, bind
from deltaarrow.operations.dml.changed_rows import Clause, computing_rows
from deltaarrow.operations.dml.merge_source import SourceFile
from deltaarrow.operations.dml.merge_statement import MergeStatement, When
from deltaarrow.operations.dml.row_scope import ALWAYS, QueryCondition, RowScope
from deltaarrow.schema import PrimitiveType, Schema
from deltaarrow.snapshot import Snapshot
from deltaarrow.spark_sql import Equality, provide_kernels

if TYPE_CHECKING:
    import duckdb

__all__ = ["equal_to_values", "matching_batches", "ordered_values", "read_predicate"]

_MOST_VALUES = 256
_UNORDERED = ("float", "double", "binary", "boolean", "variant", "void")


def read_predicate(
    cursor: "duckdb.DuckDBPyConnection | None",
    source: str,
    statement: MergeStatement,
    condition: QueryCondition,
    clauses: Sequence[Clause],
    scope: RowScope,
    schema: Schema,
) -> Predicate | None:
    """Return the predicate of the target rows that a merge must read; None for all.

    Args:
        cursor: a cursor that can read `source`; None to use the condition only.
        source: the SQL of the source, with the alias ``s``.
        statement: the merge.
        condition: the match condition.
        clauses: the clauses of the statement, in order.
        scope: the name resolution of the condition.
        schema: the schema of the target.
    """
    parts = [_matching(cursor, source, condition, scope, schema)]
    for each, clause in zip(statement.clauses, clauses, strict=True):
        if each.when is When.NOT_MATCHED_BY_SOURCE:
            if clause.condition is ALWAYS:
                return None
            parts.append(clause.condition.pruning)
    return parts[0] if len(parts) == 1 else Or(tuple(parts))


def _matching(
    cursor: "duckdb.DuckDBPyConnection | None",
    source: str,
    condition: QueryCondition,
    scope: RowScope,
    schema: Schema,
) -> Predicate:
    parts = [condition.pruning]
    if cursor is not None:
        parts += [_values(cursor, source, each, scope, schema) for each in condition.equalities]
    return And(tuple(each for each in parts if each != TRUE))


def ordered_values(condition: QueryCondition, scope: RowScope, snapshot: Snapshot) -> list[str]:
    """Return the SQL of the values of the source whose bounds tell which files may have matching rows.

    They are those that columns of the table must equal. Values of partition columns come first.
    """
    partitions = {name.lower() for name in snapshot.partition_columns}
    found = [each for each in condition.equalities if _is_ordered(each, snapshot.schema)]
    found.sort(key=lambda each: each.column.path[1].lower() not in partitions)
    return list(dict.fromkeys(map(scope.source_sql, found)))


def matching_batches(
    file: SourceFile, files: pa.Table, condition: QueryCondition, scope: RowScope, snapshot: Snapshot
) -> list[np.ndarray] | None:
    """Return for each batch of a source which files of the table may have rows that match its rows.

    A row that matches has equal values on both sides, so it lies between the bounds of the batch. The other
    files have no such row. None if the bounds of the batches tell nothing.

    Args:
        file: the source.
        files: the files, as `Snapshot.files` returns them.
        condition: the match condition.
        scope: the name resolution of the condition.
        snapshot: the version of the table.
    """
    known = [
        (Column(each.column.path[1:]), file.bounds[sql])
        for each in condition.equalities
        if _is_ordered(each, snapshot.schema) and (sql := scope.source_sql(each)) in file.bounds
    ]
    if not known or len(file.sizes) < 2:
        return None

    def predicate(batch: int) -> Predicate:
        return And(tuple(_between(*bounds[batch], column, snapshot.schema) for column, bounds in known))

    try:
        return list(snapshot.may_match_each(files, map(predicate, range(len(file.sizes)))))
    except DeltaError:
        return None  # The merge itself raises for a value that cannot be compared.


def _values(
    cursor: "duckdb.DuckDBPyConnection", source: str, equality: Equality, scope: RowScope, schema: Schema
) -> Predicate:
    """Return the predicate that a column must satisfy to equal some value of the source."""
    if not _is_ordered(equality, schema):
        return TRUE
    column = Column(equality.column.path[1:])
    return equal_to_values(cursor, source, scope.source_sql(equality), column, schema)


def _is_ordered(equality: Equality, schema: Schema) -> bool:
    """Whether bounds of a column in an equality are known and can be compared."""
    data_type, path = equality.column.type, equality.column.path[1:]
    is_ordered = isinstance(data_type, PrimitiveType) and data_type.type not in _UNORDERED
    return is_ordered and schema.find(path[0]) is not None


def equal_to_values(
    cursor: "duckdb.DuckDBPyConnection", source: str, value: str, column: Column, schema: Schema
) -> Predicate:
    """Return the predicate that a column of the table must satisfy to equal some value of the source.

    Args:
        cursor: reads the source.
        source: the source, as SQL.
        value: the SQL of the value; it is compared with the column as the predicate compares.
        column: the column, of an ordered type.
        schema: the schema of the table.
    """
    few = f"SELECT DISTINCT {value} AS v FROM {source} WHERE {value} IS NOT NULL LIMIT {_MOST_VALUES + 1}"
    provide_kernels(cursor, value)
    try:
        with computing_rows():
            least, greatest = _column(cursor, f"SELECT min({value}), max({value}) FROM {source}")
            values = cursor.sql(few).to_arrow_table().column(0).to_pylist()
        if least is not None and len(values) <= _MOST_VALUES:
            return bind(IsIn(column, tuple(values)), schema)
        return _between(least, greatest, column, schema)
    except DeltaError:
        return TRUE  # The merge itself raises for a value that cannot be computed.


def _between(least: Any, greatest: Any, column: Column, schema: Schema) -> Predicate:
    """Return the predicate that a column must satisfy to equal a value between two others.

    They are None if there is no value.
    """
    if least is None:
        return FALSE
    return bind(
        And((Compare(">=", column, Literal(least)), Compare("<=", column, Literal(greatest)))), schema
    )


def _column(cursor: "duckdb.DuckDBPyConnection", sql: str) -> list[Any]:
    found: pa.Table = cursor.sql(sql).to_arrow_table()
    return [column[0].as_py() for column in found.columns]
