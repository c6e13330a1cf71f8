"""The location and the namespace of a table that a statement names or creates."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from deltaarrow.catalogs import FolderNamespace, Namespace, TableLocation, named
from deltaarrow.display.near_names import did_you_mean
from deltaarrow.errors import TableNotFoundError, UnsupportedFeatureError
from deltaarrow.operations import Place
from deltaarrow.spark_sql import TableName, Words
from deltaarrow.storage import open_store

if TYPE_CHECKING:
    from deltaarrow.sql.session import Session

__all__ = ["namespace_of", "place_for", "subject_of", "unknown_schema"]

_PLACES = "delta"


def namespace_of(session: "Session", schema: str) -> Namespace:
    """Return a namespace. `TableNotFoundError` with near names if there is none of that name."""
    catalog = session.connection.catalog
    found = catalog.namespace(schema)
    if found is None:
        raise unknown_schema(session, schema)
    return found


def unknown_schema(session: "Session", schema: str) -> TableNotFoundError:
    """Return the error for a namespace that there is not, with near names."""
    known = session.connection.catalog.namespaces()
    return TableNotFoundError(
        f"[SCHEMA_NOT_FOUND] there is no schema {schema}{did_you_mean(schema, known)}"
        f" (schemas: {', '.join(known) or 'none'})"
    )


def place_for(session: "Session", name: TableName, location: str | None = None) -> Place:
    """Return the place of a table that a statement names.

    Args:
        session: knows the namespaces.
        name: the name.
        location: the folder that the statement gives a new table.

    Raises `TableNotFoundError` for an unknown namespace, and `UnsupportedFeatureError` for a name that cannot
    be one.
    """
    catalog = session.connection.catalog
    parts = tuple(catalog.without_catalog(name.parts))
    if len(parts) == 2 and parts[0].lower() == _PLACES:
        if location is not None and location != parts[1]:
            raise UnsupportedFeatureError(
                f"[DELTA_CREATE_TABLE_IDENTIFIER_LOCATION_MISMATCH] {name.text} is a table by its path, and"
                f" LOCATION says {location!r}: leave LOCATION out",
                feature="LOCATION",
            )
        return Place(parts[1], name.text, None, TableLocation(parts[1], catalog.storage_options))
    if len(parts) > 2:
        raise UnsupportedFeatureError(
            f"{name.text} has three parts, and there is one catalog: write schema.table", feature="catalogs"
        )
    schema = parts[0] if len(parts) == 2 else catalog.current
    if schema is None:
        raise TableNotFoundError(
            f"{name.text} needs a schema: write schema.table, or name one with USE (schemas:"
            f" {', '.join(catalog.namespaces()) or 'none'}); by place: delta.`/path`"
        )
    namespace = namespace_of(session, schema)
    with named():
        own = namespace.place_for(parts[-1])
    if location is None:
        return Place(parts[-1], name.text, namespace, own)
    new = TableLocation(open_store(location, own.storage_options).uri, own.storage_options)
    if isinstance(namespace, FolderNamespace):
        namespace.add(parts[-1], new)  # refuses another folder than that of the name
    return Place(parts[-1], name.text, namespace, new)


def subject_of(*first: str) -> Callable[[Words], TableName | None]:
    """Return what goes to the name of the table in statements that begin with some words."""

    def subject(words: Words) -> TableName | None:
        words.expect(*first)
        words.take("IF", "NOT", "EXISTS") or words.take("IF", "EXISTS")
        return words.table_name()

    return subject
