"""The guard of views that a catalog keeps: their text is untrusted, as the text in a table is.

Such a query may read tables: those of catalogs and folders, by name or by place, those that the connection
has registered, and DuckDB's own. It may not read files, call table functions but those that make rows of
their arguments, and call functions that have side effects, that tell about the connection or the machine, or
that are not DuckDB's own. The query is checked as DuckDB parses it, with all tables replaced that this
package reads.
"""

import functools
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import orjson

from deltaarrow.catalogs import View, fold
from deltaarrow.compute import sandbox_cursor
from deltaarrow.engines.duckdb.table_names import Catalog
from deltaarrow.engines.duckdb.table_references import Reference, parse_statement
from deltaarrow.engines.duckdb.time_travel import Call
from deltaarrow.errors import TableNotFoundError, UnsupportedFeatureError

if TYPE_CHECKING:
    import duckdb

__all__ = ["ensure_storable"]

_TABLE = "__deltaarrow_table"
"""Stands in the checked text for a table that this package reads."""

_PLAIN = re.compile(r"[\w $-]+")
"""A name for which DuckDB reads no file."""

_ROWS = frozenset(("generate_series", "json_each", "json_tree", "range", "repeat", "repeat_row", "unnest"))
"""Table functions that make rows of their arguments."""

_CHANGING = frozenset(("error", "gen_random_uuid", "random", "uuid", "uuidv4", "uuidv7"))
"""Functions with another value at each call, and no other effect."""

_REFUSED = frozenset(("current_setting", "getenv", "getvariable", "in_search_path", "invoke", "pg_sleep"))
_SOURCES = frozenset(
    ("BASE_TABLE", "EMPTY", "EXPRESSION_LIST", "JOIN", "PIVOT", "SHOW_REF", "SUBQUERY", "TABLE_FUNCTION")
)
"""What may stand in FROM."""

_FUNCTIONS = """
    SELECT function_name FROM duckdb_functions()
    WHERE internal AND function_type NOT IN ('table', 'table_macro', 'pragma')
    GROUP BY function_name HAVING NOT bool_or(coalesce(has_side_effects, false))
"""
_OWN = """
    SELECT count(*) FROM (
        SELECT database_name AS d, schema_name AS s, table_name AS n FROM duckdb_tables() WHERE NOT internal
        UNION ALL SELECT database_name, schema_name, view_name FROM duckdb_views() WHERE NOT internal)
    WHERE lower(n) = lower($1) AND $2 IN ('', lower(s), lower(d)) AND $3 IN ('', lower(d))
"""
_BUILT_IN_VIEW = "SELECT count(*) FROM duckdb_views() WHERE internal AND lower(view_name) = lower($1)"


def ensure_storable(view: View, catalog: Catalog, connection: "duckdb.DuckDBPyConnection") -> None:
    """Raise `UnsupportedFeatureError` for a view of a catalog that may do more than read tables.

    Args:
        view: the view; the current namespace is that of its names.
        catalog: knows the tables that this package reads.
        connection: has the tables of DuckDB.

    Raises `TableNotFoundError` for a view of a table that is not there.
    """
    statement = parse_statement(view.query)
    if statement is None:
        raise UnsupportedFeatureError(f"the view {view.name} is no query", feature="views")
    text = view.query
    for reference in sorted(statement.references, key=lambda each: each.span, reverse=True):
        if _is_known(reference, catalog):
            start, end = reference.span
            text = f"{text[:start]}{_TABLE}{text[end:]}"
    problem, names = _checked(text)
    if problem is not None:
        raise UnsupportedFeatureError(
            f"the view {view.name} {problem}: a view that a catalog keeps may only read tables, and compute",
            feature="views",
        )
    for database, schema, name in names:
        if not _is_table(connection, database, schema, name):
            shown = ".".join(each for each in (database, schema, name) if each)
            raise TableNotFoundError(f"the view {view.name} reads what is not there: no table {shown}")


def _is_known(reference: Reference, catalog: Catalog) -> bool:
    if isinstance(reference.special, Call):
        return True
    return catalog.view(reference.names) is not None or catalog.locate(reference.names) is not None


def _is_table(connection: "duckdb.DuckDBPyConnection", database: str, schema: str, name: str) -> bool:
    if not schema and not database and _PLAIN.fullmatch(name):
        return connection.execute(_BUILT_IN_VIEW, [name]).fetchall() == [(0,)]
    return connection.execute(_OWN, [name, fold(schema), fold(database)]).fetchall() != [(0,)]


@functools.lru_cache(512)
def _checked(text: str) -> tuple[str | None, tuple[tuple[str, str, str], ...]]:
    """What is wrong with a query, and the tables of DuckDB that it reads."""
    with sandbox_cursor() as cursor:
        [(rendered,)] = cursor.execute("SELECT json_serialize_sql($1)", [text]).fetchall()
    tree = orjson.loads(rendered)
    if tree["error"] or len(tree["statements"]) != 1:
        return "is no query", ()
    nodes = [*_nodes(tree)]
    problems = (_problem(node) for node in nodes)
    problem = next((each for each in problems if each is not None), None)
    names = {
        (node["catalog_name"], node["schema_name"], node["table_name"])
        for node in nodes
        if node.get("type") == "BASE_TABLE" and "table_name" in node
    }
    return problem, tuple(sorted(each for each in names if each != ("", "", _TABLE)))


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    pending = [tree]
    while pending:
        found = pending.pop()
        if isinstance(found, dict):
            yield found
            pending += found.values()
        elif isinstance(found, list):
            pending += found


def _problem(node: dict[str, Any]) -> str | None:
    """What is wrong with a node of DuckDB's tree."""
    source = node.get("from_table")
    if isinstance(source, dict) and source.get("type") not in _SOURCES:
        return f"reads a {source.get('type')}"
    if node.get("type") == "SHOW_REF" and not isinstance(node.get("query"), dict):
        return "asks DuckDB about itself"
    if node.get("type") == "TABLE_FUNCTION":
        name = fold(str((node.get("function") or {}).get("function_name", "")))
        return None if name in _ROWS else f"calls the table function {name}"
    if node.get("class") == "PARAMETER":
        return "has parameters"
    if node.get("class") != "FUNCTION" and "function_name" not in node:
        return None
    name = fold(str(node.get("function_name", "")))
    if node.get("catalog") or fold(str(node.get("schema") or "")) not in ("", "main"):
        return f"calls the function {name} of a schema"
    if name in _ROWS or (name in _functions() and name not in _REFUSED):
        return None
    return f"calls the function {name}"


@functools.cache
def _functions() -> frozenset[str]:
    """The functions of DuckDB itself that have no side effects."""
    with sandbox_cursor() as cursor:
        return _CHANGING | {fold(name) for (name,) in cursor.execute(_FUNCTIONS).fetchall()}
