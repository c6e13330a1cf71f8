"""Where a new table goes, and the name that it gets once it is there."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltaarrow.catalogs import FolderNamespace, Namespace, TableLocation
from deltaarrow.display.near_names import did_you_mean
from deltaarrow.errors import TableNotFoundError, UnsupportedFeatureError, VersionExistsError
from deltaarrow.operations import WriteResult, drop_table, find_table
from deltaarrow.spark_sql import TableName, Words
from deltaarrow.storage import Store, open_store

if TYPE_CHECKING:
    from deltaarrow.sql.session import Session

__all__ = ["Place", "namespace_of", "place_for", "subject_of"]

_PLACES = "delta"
_SPARK_CATALOG = "spark_catalog"


@dataclass(frozen=True)
class Place:
    """The name of a table, and the folder that a new one of this name gets.

    Args:
        name: the name, without that of its namespace.
        shown: the name as messages show it.
        namespace: keeps the name; None for a table that is named by its path.
        new: where a new table goes.
    """

    name: str
    shown: str
    namespace: Namespace | None
    new: TableLocation

    def find(self) -> TableLocation | None:
        """Return where the table of this name is; None if there is none."""
        if self.namespace is not None:
            return self.namespace.find(self.name)
        return self.new if find_table(self.new.open()) is not None else None

    def ensure_free(self) -> None:
        """Raise `VersionExistsError` if there is a table of this name."""
        if self.find() is not None:
            raise VersionExistsError(
                f"[TABLE_OR_VIEW_ALREADY_EXISTS] there is a table {self.shown}; choose another name, or use"
                " IF NOT EXISTS or CREATE OR REPLACE"
            )

    def ensure_makeable(self, there: TableLocation | None, *, may_create: bool, may_replace: bool) -> None:
        """Raise as `make` does, given where the table is now."""
        if there is not None and not may_replace:
            self.ensure_free()
        if there is None and not may_create:
            raise TableNotFoundError(
                f"[TABLE_OR_VIEW_NOT_FOUND] {self.shown} is not the name of a table, so it cannot be replaced"
            )
        if there is None:
            self._ensure_no_view()

    def make(
        self,
        build: Callable[[Store, TableLocation], WriteResult],
        *,
        may_create: bool = True,
        may_replace: bool = False,
        if_not_exists: bool = False,
    ) -> WriteResult | None:
        """Make a table and then give it the name; return None for one that is there and stays.

        Of two that make one table at the same time, one fails. Nothing is left of one that fails.

        Args:
            build: makes the table.
            may_create: whether there may be no such table yet.
            may_replace: whether there may be one.
            if_not_exists: whether one that is there is left as it is.

        Raises `VersionExistsError` and `TableNotFoundError` for a table that may not be there or not be
        missing.
        """
        there = self.find()
        if there is not None and if_not_exists:
            return None
        self.ensure_makeable(there, may_create=may_create, may_replace=may_replace)
        location = there or self.new
        store = location.open()
        result = build(store, location)
        if there is None:
            self._register(store, location, is_new=result.version == 0)
        return result

    def _ensure_no_view(self) -> None:
        if self.namespace is not None and self.namespace.view(self.name) is not None:
            raise VersionExistsError(
                f"[TABLE_OR_VIEW_ALREADY_EXISTS] {self.shown} is a view: drop it first, with DROP VIEW"
            )

    def _register(self, store: Store, location: TableLocation, *, is_new: bool) -> None:
        if self.namespace is None:
            return
        try:
            self.namespace.add(self.name, location)
        except BaseException as error:
            if is_new:
                drop_table(store)
            if not isinstance(error, FileExistsError):
                raise
            raise VersionExistsError(
                f"[TABLE_OR_VIEW_ALREADY_EXISTS] another process has just created {self.shown}"
            ) from error


def namespace_of(session: "Session", schema: str) -> Namespace:
    """Return a namespace. `TableNotFoundError` with near names if there is none of that name."""
    catalog = session.connection.catalog
    found = catalog.namespace(schema)
    if found is None:
        known = catalog.namespaces()
        raise TableNotFoundError(
            f"[SCHEMA_NOT_FOUND] there is no schema {schema}{did_you_mean(schema, known)}"
            f" (schemas: {', '.join(known) or 'none'})"
        )
    return found


def place_for(session: "Session", name: TableName, location: str | None = None) -> Place:
    """Return the place of a table that a statement names.

    Args:
        session: knows the namespaces.
        name: the name.
        location: the folder that the statement gives a new table.

    Raises `TableNotFoundError` for an unknown namespace, and `ValueError` for a name that cannot be one.
    """
    catalog, parts = session.connection.catalog, name.parts
    if len(parts) > 2 and parts[0].lower() == _SPARK_CATALOG:
        parts = parts[1:]
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
