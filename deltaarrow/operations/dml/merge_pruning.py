"""Which files of the target a MERGE can leave unread, given what its condition and its source hold.

A row of the table matches a row of the source only if the condition on its own columns is met and each column
that has to equal something of the source lies between the least and the greatest of these values, or is among
them where they are few. That is no row's loss: files that hold no such row have no match, and rows without a
match are only looked at by clauses for what is not matched by the source, whose conditions are added.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltaarrow.errors import DeltaError
from deltaarrow.expressions import FALSE, TRUE, And, Column, Compare, IsIn, Literal, Or, Predicate, bind
from deltaarrow.operations.dml.merge_statement import MergeStatement, When
from deltaarrow.operations.dml.query import Clause
from deltaarrow.operations.dml.row_scope import ALWAYS, QueryCondition, RowScope
from deltaarrow.schema import PrimitiveType, Schema
from deltaarrow.spark_sql import Equality

if TYPE_CHECKING:
    import duckdb

__all__ = ["read_predicate"]

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
    """Return the predicate of the rows that a merge has to look at; None for all.

    Args:
        cursor: where `source` can be read, None to go by the condition alone.
        source: the SQL of the source, as ``s``.
        statement: the merge.
        condition: by which rows match.
        clauses: of the statement, in its order.
        scope: of the condition.
        schema: of the table that is read.
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


def _values(
    cursor: "duckdb.DuckDBPyConnection", source: str, equality: Equality, scope: RowScope, schema: Schema
) -> Predicate:
    """What a column is to be to equal a value of the source."""
    data_type = equality.column.type
    path = equality.column.path[1:]
    is_ordered = isinstance(data_type, PrimitiveType) and data_type.type not in _UNORDERED
    if not is_ordered or schema.find(path[0]) is None:
        return TRUE
    value = scope.source_sql(equality)
    column = Column(path)
    try:
        least, greatest = _column(cursor, f"SELECT min({value}), max({value}) FROM {source}")
        if least is None:
            return FALSE
        known: Predicate = And(
            (Compare(">=", column, Literal(least)), Compare("<=", column, Literal(greatest)))
        )
        few = f"SELECT DISTINCT {value} AS v FROM {source} WHERE {value} IS NOT NULL LIMIT {_MOST_VALUES + 1}"
        values = cursor.sql(few).to_arrow_table().column(0).to_pylist()
        if len(values) <= _MOST_VALUES:
            known = IsIn(column, tuple(values))
        return bind(known, schema)
    except DeltaError:
        return TRUE


def _column(cursor: "duckdb.DuckDBPyConnection", sql: str) -> list[Any]:
    found: pa.Table = cursor.sql(sql).to_arrow_table()
    return [column[0].as_py() for column in found.columns]
