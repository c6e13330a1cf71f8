"""Statements that make and drop views over Delta tables, which last as long as the connection."""

from typing import TYPE_CHECKING

import pyarrow as pa

from deltaarrow.compute import quote_identifier
from deltaarrow.engines import View
from deltaarrow.errors import TableNotFoundError, UnsupportedFeatureError, VersionExistsError
from deltaarrow.schema import Field
from deltaarrow.schema.keys import COMMENT_KEY
from deltaarrow.sql.kind import StatementKind
from deltaarrow.sql.query_rows import QueryRows
from deltaarrow.sql.spark_grammar.definition import parse_create_view, parse_drop_view
from deltaarrow.sql.statements.definition import CreateView, DropView

if TYPE_CHECKING:
    from deltaarrow.sql.session import Session

__all__ = ["KINDS"]

_NOTHING = pa.table({})
_SCHEMAS = (("main",), ("temp",), ("temp", "main"), ("memory", "main"), ("memory",))
"""DuckDB's schemas of views that last no longer than a connection."""


def _create_view(session: "Session", statement: CreateView) -> "pa.Table | str":
    connection, parts = session.connection, statement.view.parts
    query = session.query(statement.query)
    if session.dialect == "duckdb" and not connection.reads_tables(query):
        return statement.text
    name = _name(statement.view.text, parts, session.dialect)
    if session.parameters:
        raise UnsupportedFeatureError("a view has no parameters", feature="views")
    if not statement.is_temporary and session.dialect == "duckdb" and _is_stored(session):
        raise UnsupportedFeatureError(
            f"a database keeps no view over Delta tables, whose names are those of a connection: write CREATE"
            f" TEMP VIEW {name}",
            feature="views",
        )
    if connection.catalog.is_pinned((name,)):
        raise VersionExistsError(f"[TABLE_OR_VIEW_ALREADY_EXISTS] {name} is a registered table")
    if statement.if_not_exists and connection.catalog.view((name,)) is not None:
        return _NOTHING
    if statement.columns:
        listed = ", ".join(quote_identifier(column) for column, _ in statement.columns)
        query = f"SELECT * FROM (\n{query}\n) AS {quote_identifier(name)}({listed})"
    schema = QueryRows(session, statement.query).schema
    if statement.columns and len(statement.columns) != len(schema.fields):
        raise UnsupportedFeatureError(
            f"[CREATE_VIEW_COLUMN_ARITY_MISMATCH] the view {name} lists {len(statement.columns)} columns, and"
            f" its query has {len(schema.fields)}",
            feature="views",
        )
    columns = zip(schema.fields, statement.columns, strict=False)
    renamed = [
        Field(name, field.type, field.nullable, None if comment is None else {COMMENT_KEY: comment})
        for field, (name, comment) in columns
    ]
    view = View(name, query, type(schema)(renamed) if renamed else schema)
    try:
        connection.catalog.add_view(view, may_replace=statement.may_replace)
    except FileExistsError:
        raise VersionExistsError(
            f"[TEMP_TABLE_OR_VIEW_ALREADY_EXISTS] there is a view {name}; use CREATE OR REPLACE VIEW"
        ) from None
    return _NOTHING


def _name(shown: str, parts: tuple[str, ...], dialect: str) -> str:
    if len(parts) == 1 or (dialect == "duckdb" and tuple(each.lower() for each in parts[:-1]) in _SCHEMAS):
        return parts[-1]
    raise UnsupportedFeatureError(
        f"the view {shown} cannot be in a schema: a view lasts as long as its connection, and its name has"
        " one part",
        feature="views",
    )


def _is_stored(session: "Session") -> bool:
    """Whether the current database of the connection is a file."""
    found = session.connection.connection.execute(
        "SELECT path IS NOT NULL FROM duckdb_databases() WHERE database_name = current_database()"
    ).fetchone()
    return bool(found and found[0])


def _drop_view(session: "Session", statement: DropView) -> "pa.Table | str":
    catalog = session.connection.catalog
    if catalog.drop_view(statement.view.parts[-1]):
        return _NOTHING
    if session.dialect == "duckdb":
        return statement.text
    if statement.if_exists:
        return _NOTHING
    if catalog.locate(statement.view.parts) is not None:
        raise TableNotFoundError(
            f"[WRONG_COMMAND_FOR_OBJECT_TYPE] {statement.view.text} is a table: use DROP TABLE"
        )
    raise TableNotFoundError(f"[TABLE_OR_VIEW_NOT_FOUND] there is no view {statement.view.text}")


_CREATE = [
    (*create, *temporary, "VIEW")
    for create in (("CREATE",), ("CREATE", "OR", "REPLACE"))
    for temporary in ((), ("TEMP",), ("TEMPORARY",), ("GLOBAL", "TEMP"), ("GLOBAL", "TEMPORARY"))
]

KINDS = (
    StatementKind(
        "CREATE VIEW",
        tuple(_CREATE),
        CreateView,
        _create_view,
        spark=parse_create_view,
        duckdb=parse_create_view,
    ),
    StatementKind(
        "DROP VIEW", (("DROP", "VIEW"),), DropView, _drop_view, spark=parse_drop_view, duckdb=parse_drop_view
    ),
)
