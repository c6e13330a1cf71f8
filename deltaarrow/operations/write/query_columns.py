"""Columns of a query as columns of a table, in the types of the table, as SQL for DuckDB.

In Spark's dialect a value is assigned as in UPDATE and MERGE, in DuckDB's it is cast as by DuckDB's INSERT.
"""

from collections.abc import Mapping, Sequence

from deltaarrow.compute import quote_identifier
from deltaarrow.operations.dml.row_scope import RowScope
from deltaarrow.runtime.clock import system_clock
from deltaarrow.scan import located_type
from deltaarrow.schema import Field, StructType
from deltaarrow.variant import holds_variant

__all__ = ["assigned_rows", "cast_rows"]

_SOURCE = "deltaarrow_given"


def assigned_rows(
    query: str,
    given: StructType,
    columns: Sequence[Field | None],
    constants: Mapping[Field, str] | None = None,
    *,
    fills: bool = False,
    by_position: bool = False,
) -> str:
    """Return a query of the rows of another one, assigned to columns by Spark's rules.

    Args:
        query: SQL for DuckDB.
        given: its columns, in order.
        columns: the column of the table that each of them is for; None for one that stays as it is.
        constants: further columns, with the Spark SQL of their value.
        fills: whether struct fields that a value lacks become NULL.
        by_position: whether struct fields match by their position.

    Raises `SchemaMismatchError` for a value that does not fit, and `UnsupportedFeatureError` for a cast that
    is not supported.
    """
    own = StructType([Field(f"c{place}", each.type) for place, each in enumerate(given.fields)])
    scope = RowScope(
        {_SOURCE: own},
        lambda alias, name: f"{quote_identifier(alias)}.{quote_identifier(name)}",
        _SOURCE,
        system_clock(),
        fills,
        by_position,
    )
    found = []
    for source, shown, column in zip(own.fields, given.fields, columns, strict=True):
        target = shown if column is None else column
        value = scope.copied((_SOURCE, source.name), source.type, target.type)
        found.append((target.name, value.sql))
    for column, text in (constants or {}).items():
        found.append((column.name, scope.value(text, column.type).sql))
    return _select(query, len(own.fields), found)


def cast_rows(query: str, columns: Sequence[Field]) -> str:
    """Return a query of the rows of another one, cast to the types of columns as by DuckDB's INSERT.

    Args:
        query: SQL for DuckDB, with as many columns.
        columns: the columns of the table that they are for.
    """
    found = []
    for place, column in enumerate(columns):
        sql = f'{_SOURCE}."c{place}"'
        if not holds_variant(column.type):
            sql = f"CAST({sql} AS {located_type(column.type)})"
        found.append((column.name, sql))
    return _select(query, len(columns), found)


def _select(query: str, width: int, columns: Sequence[tuple[str, str]]) -> str:
    names = ", ".join(f'"c{place}"' for place in range(width))
    listed = ", ".join(f"{sql} AS {quote_identifier(name)}" for name, sql in columns)
    return f"SELECT {listed} FROM (\n{query}\n) AS {_SOURCE}({names})"
