"""The handlers of statements that create and drop views of a connection or of a catalog."""

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from deltaarrow.catalogs import Namespace, View
from deltaarrow.compute import quote_identifier
from deltaarrow.engines import PLACES, Catalog
from deltaarrow.errors import TableNotFoundError, UnsupportedFeatureError, VersionExistsError
from deltaarrow.schema import JsonObject
from deltaarrow.schema.metadata_keys import COMMENT_KEY
from deltaarrow.spark_sql import Words, without_places
from deltaarrow.sql.define.spark import parse_create_view, parse_drop_view
from deltaarrow.sql.define.statements import CreateView, DropView
from deltaarrow.sql.kind import StatementKind
from deltaarrow.sql.query_rows import QueryRows

if TYPE_CHECKING:
    from deltaarrow.sql.session import Session

__all__ = ["KINDS"]

_NOTHING = pa.table({})
_SCHEMAS = (("main",), ("temp",), ("temp", "main"), ("memory", "main"), ("memory",))
"""DuckDB's schemas of views that last no longer than a connection."""


def _create_view(session: "Session", statement: CreateView) -> "pa.Table | str":
    connection, parts = session.connection, statement.view.parts
    namespace = _namespace(session, parts) if session.dialect == "duckdb" else None
    # Errors of its rows are not those of the statement that reads the view, so they have no place in that.
    query = without_places(session.query(statement.query))
    is_delta = namespace is not None or connection.reads_tables(query)
    if session.dialect == "duckdb" and not is_delta:
        return statement.text
    name = parts[-1] if namespace is not None else _name(statement.view.text, parts, session.dialect)
    if session.parameters:
        raise UnsupportedFeatureError("a view has no parameters", feature="views")
    if namespace is None:
        _ensure_of_connection(session, name, is_temporary=statement.is_temporary)
    elif statement.is_temporary:
        raise UnsupportedFeatureError(
            f"the view {statement.view.text} is in a catalog, so it is not temporary", feature="views"
        )
    if statement.if_not_exists and connection.catalog.view(parts) is not None:
        return _NOTHING
    view = _view(session, statement, name, query)
    if namespace is not None:
        connection.ensure_storable(view)
        _add(namespace, view, statement)
        return _NOTHING
    try:
        connection.catalog.add_view(view, may_replace=statement.may_replace)
    except FileExistsError:
        raise VersionExistsError(
            f"[TEMP_TABLE_OR_VIEW_ALREADY_EXISTS] there is a view {name}; use CREATE OR REPLACE VIEW"
        ) from None
    return _NOTHING


def _view(session: "Session", statement: CreateView, name: str, query: str) -> View:
    """The view that a statement describes."""
    if statement.columns:
        listed = ", ".join(quote_identifier(column) for column, _ in statement.columns)
        query = f"SELECT * FROM (\n{query}\n) AS {quote_identifier(name)}({listed})"
    is_spark = session.dialect == "spark"
    text = statement.query
    schema = session.compiled(text).columns if is_spark else QueryRows(session, text).schema
    if statement.columns and len(statement.columns) != len(schema.fields):
        kind = "TOO_MANY" if len(statement.columns) < len(schema.fields) else "NOT_ENOUGH"
        raise UnsupportedFeatureError(
            f"[CREATE_VIEW_COLUMN_ARITY_MISMATCH.{kind}_DATA_COLUMNS] the view {name} lists"
            f" {len(statement.columns)} columns, and its query has {len(schema.fields)}",
            feature="views",
        )
    columns = zip(schema.fields, statement.columns, strict=False)
    renamed = [
        replace(field, name=name, metadata=_commented(field.metadata, comment))
        for field, (name, comment) in columns
    ]
    schema = type(schema)(renamed) if renamed else schema
    table = None if statement.columns else _whole_table(session.connection.catalog, statement.query)
    return View(name, query, schema, session.connection.catalog.current, table)


def _commented(metadata: JsonObject, comment: str | None) -> JsonObject:
    """The metadata of a column of a query with the comment that the view gives it."""
    others = {key: value for key, value in metadata.items() if key != COMMENT_KEY}
    return JsonObject(others if comment is None else {**others, COMMENT_KEY: comment})


def _whole_table(catalog: Catalog, query: str) -> tuple[str, ...] | None:
    """The table of a query ``SELECT * FROM table``; None for any other query."""
    words = Words(query)
    if not words.take("SELECT", "*", "FROM"):
        return None
    try:
        parts = words.table_name().parts
    except UnsupportedFeatureError:
        return None
    if words.take("AS"):
        words.skip()
    if not words.is_done or catalog.is_pinned(parts):
        return None
    view = catalog.view(parts)
    if view is not None:
        return view.table
    return (catalog.current, *parts) if len(parts) == 1 and catalog.current is not None else parts


def _namespace(session: "Session", parts: tuple[str, ...]) -> Namespace | None:
    """The namespace that keeps the view of a name; None for a view of the connection."""
    catalog = session.connection.catalog
    schema = catalog.schema_of(parts)
    if len(parts) == 1 or schema is None or schema == PLACES:
        return None
    return catalog.namespace(schema)


def _add(namespace: Namespace, view: View, statement: CreateView) -> None:
    shown = statement.view.text
    if namespace.find(view.name) is not None:
        raise VersionExistsError(f"[TABLE_OR_VIEW_ALREADY_EXISTS] {shown} is a table: drop it first")
    try:
        namespace.add_view(view, may_replace=statement.may_replace)
    except FileExistsError:
        raise VersionExistsError(
            f"[TABLE_OR_VIEW_ALREADY_EXISTS] there is a view {shown}; use CREATE OR REPLACE VIEW"
        ) from None
    except ValueError as error:
        raise UnsupportedFeatureError(str(error), feature="views") from error


def _ensure_of_connection(session: "Session", name: str, *, is_temporary: bool) -> None:
    """Raise for a view that cannot last as long as the connection."""
    if not is_temporary and session.dialect == "duckdb" and _is_stored(session):
        raise UnsupportedFeatureError(
            f"a database keeps no view over Delta tables, whose names are those of a connection: write CREATE"
            f" TEMP VIEW {name}",
            feature="views",
        )
    if session.connection.catalog.is_pinned((name,)):
        raise VersionExistsError(f"[TABLE_OR_VIEW_ALREADY_EXISTS] {name} is a registered table")


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
    catalog, parts = session.connection.catalog, statement.view.parts
    namespace = _namespace(session, parts)
    if namespace is not None:
        with contextlib.suppress(KeyError):
            namespace.remove_view(parts[-1])
            return _NOTHING
    if namespace is None:
        if catalog.drop_view(parts[-1]):
            return _NOTHING
        if session.dialect == "duckdb":
            return statement.text
    if statement.if_exists:
        return _NOTHING
    if catalog.locate(parts) is not None:
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
