"""INSERT ... REPLACE USING and REPLACE ON: the rows that match, and the rows that replace them."""

from collections import Counter
from typing import TYPE_CHECKING, Any

from deltaarrow.compute import quote_identifier
from deltaarrow.errors import SchemaMismatchError
from deltaarrow.operations import RowOperation, replace_rows
from deltaarrow.schema import Field
from deltaarrow.spark_sql import spark_type_name
from deltaarrow.sql.rows.insertion import InsertedRows
from deltaarrow.sql.rows.spark import quoted

if TYPE_CHECKING:
    from deltaarrow.sql.rows.statements import Insert
    from deltaarrow.sql.session import Session
    from deltaarrow.table import DeltaTable

__all__ = ["NO_ALIAS", "replace_found"]

NO_ALIAS = "__auto_generated_subquery_name"
"""The name of a query that has none, as in Spark."""


def replace_found(
    session: "Session", table: "DeltaTable", statement: "Insert", evolves: bool
) -> dict[str, Any]:
    """Run an INSERT that replaces the rows of a table which match those of its query; return its metrics."""
    alias = statement.alias or statement.table.parts[-1]
    source_alias = statement.query_alias or NO_ALIAS
    with session.at(table):
        rows = InsertedRows(session, statement, table.snapshot, evolves)
        names = _unique(rows.query.names)
        paths = [f"{quoted(source_alias)}.{quoted(name)}" for name in names]
        filled = [
            name if column is None else column.name for name, column in zip(names, rows.columns, strict=True)
        ]
        values = dict(zip(map(quoted, filled), paths, strict=True))
        operation = RowOperation.begin(
            table.snapshot,
            "WRITE",
            commit_properties=session.settings.commit_properties(),
            hook_properties=session.settings.hook_properties(),
        )
        given = dict(zip(filled, zip(paths, rows.query.schema.fields, strict=True), strict=True))
        metrics = replace_rows(
            operation,
            statement.match or _equal(statement, rows, alias, given),
            rows.query.reader(_renamed(rows.query.sql, names)),
            values,
            aliases=(source_alias, alias),
            history=_history(statement),
            merges_schema=evolves,
            reads_itself=rows.reads_table,
        )
    table.follow_commit()
    return metrics


def _unique(names: list[str]) -> list[str]:
    """The names of the columns; those that nobody can refer to, because several have them, get others."""
    counts = Counter(map(str.lower, names))
    return [
        name if counts[name.lower()] == 1 else f"__deltaarrow:{place}" for place, name in enumerate(names)
    ]


def _renamed(sql: str, names: list[str]) -> str:
    return f"SELECT * FROM (\n{sql}\n) AS given({', '.join(map(quote_identifier, names))})"


def _history(statement: "Insert") -> dict[str, str]:
    """What history says of the statement, under the names of Databricks' options of a writer."""
    if statement.match is not None:
        return {"replaceOn": statement.match}
    return {"replaceUsing": ", ".join(map(quoted, statement.using))}


def _equal(statement: "Insert", rows: InsertedRows, alias: str, given: dict[str, tuple[str, Field]]) -> str:
    """The condition by which rows match that have the same values in the columns of REPLACE USING.

    Args:
        statement: the INSERT.
        rows: the rows of its query.
        alias: the name of the table.
        given: by columns that are filled, the column of the query, in Spark SQL and with its type.
    """
    own = {column.name.lower(): column for column in rows.columns if column is not None}
    parts = []
    for name in statement.using:
        column = own.get(name.lower())
        if column is None:
            raise SchemaMismatchError(
                f"[UNRESOLVED_COLUMN.WITH_SUGGESTION] REPLACE USING names {name}, which the INSERT does not"
                f" fill (columns: {', '.join(column.name for column in own.values())})"
            )
        value, found = given[column.name]
        if found.type != column.type:
            value = f"CAST({value} AS {spark_type_name(column.type)})"
        parts.append(f"{quoted(alias)}.{quoted(column.name)} = {value}")
    return " AND ".join(parts)
