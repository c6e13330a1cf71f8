"""The names by which a DuckDB connection knows Delta tables, and the snapshots of these tables.

======================  ===========================================  ================================
in a statement          what it is                                   its version
======================  ===========================================  ================================
``orders``              registered under this name                   the registered one, until
                                                                     it is refreshed
``orders``              a table of the current namespace; where      the newest at each statement
                        none is, of the namespace ``default``
``lake.orders``         a table of the namespace ``lake``: an        the newest at each statement
                        attached folder, or one of the catalog
``recent``,             a view of the connection, or of a namespace  that of the names in it
``lake.recent``         of the catalog: a query over such names
``delta.'/data/t'``     the table at this path; also in backticks,   the newest at each statement
                        as Spark has it, or in double quotes
======================  ===========================================  ================================

Each may be read at another version or time as well (`deltaarrow.engines.duckdb.time_travel`).
"""

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Self

from cachetools import LRUCache

from deltaarrow.catalogs import (
    FolderNamespace,
    Namespace,
    NamespaceCatalog,
    TableLocation,
    View,
    fold,
    without_catalog,
)
from deltaarrow.engines.accepted_tables import TableSource, snapshot_of
from deltaarrow.engines.duckdb.time_travel import CHANGES
from deltaarrow.errors import TableNotFoundError, UnsupportedFeatureError, VersionNotFoundError
from deltaarrow.log.version_arguments import parse_moment
from deltaarrow.runtime.fork_safety import Lock
from deltaarrow.snapshot import Snapshot

__all__ = ["PLACES", "Catalog", "may_name"]

PLACES = "delta"
"""The SQL schema whose tables are named by path or URI."""

_MOST_TABLES = 256
_SPARK_CATALOG = "spark_catalog"
"""What Spark calls its one catalog."""


class Catalog:
    """The names of tables and namespaces; shared by the cursors of a connection.

    Args:
        storage_options: for tables named by path, and for folders that are attached without options.
        names: the catalog of the namespaces that are not attached.
    """

    def __init__(
        self, storage_options: Mapping[str, Any] | None, names: NamespaceCatalog | None = None
    ) -> None:
        self.storage_options = storage_options
        self.names = names
        self.current: str | None = None
        """The case-folded namespace of names that stand alone; of this cursor."""
        self.fallback: str | None = None
        """The case-folded namespace in which names alone are found that DuckDB lacks, if none is current."""
        self.is_of_duckdb: Callable[[str], bool] = lambda name: False
        """Whether DuckDB has a table or view of a name that stands alone."""
        self._pinned: dict[str, tuple[str, Snapshot]] = {}
        self._attached: dict[str, tuple[str, Namespace]] = {}
        self._views: dict[str, View] = {}
        self._opened: LRUCache[tuple[str | int | None, ...], Snapshot] = LRUCache(_MOST_TABLES)
        self._lock = Lock()
        self._held: dict[str, Snapshot] = {}
        self._found: dict[tuple[object, ...], Snapshot] | None = None
        self._compiled: dict[str, dict[tuple[object, ...], Snapshot]] = {}
        self.changed: str | None = None
        """The URI of a table with changes of this cursor that are not committed, and so cannot be read."""

    def cursor(self) -> Self:
        """Return the same names for another cursor, with a current namespace of its own."""
        other = type(self)(self.storage_options, self.names)
        other.current, other.fallback, other._lock = self.current, self.fallback, self._lock
        other._pinned, other._attached, other._opened = self._pinned, self._attached, self._opened
        other._views = self._views
        return other

    # --- registered ---

    def pin(self, name: str, source: TableSource) -> Snapshot:
        """Register a name for a table at its version; a path is opened at the newest version."""
        is_place = isinstance(source, str | os.PathLike)
        table = snapshot_of(source, storage_options=self.storage_options if is_place else None)
        with self._lock:
            self._pinned[fold(name)] = name, table
        return table

    def unpin(self, name: str) -> bool:
        """Remove a name; False if there was none."""
        with self._lock:
            return self._pinned.pop(fold(name), None) is not None

    def refresh(self, name: str | None) -> None:
        """Move a registered name, or all, to the newest version. `KeyError` for an unknown name."""
        with self._lock:
            for key in [*self._pinned] if name is None else [fold(name)]:
                shown, table = self._pinned[key]
                self._pinned[key] = shown, table.update()

    @property
    def pinned(self) -> Mapping[str, Snapshot]:
        """The registered tables by name."""
        with self._lock:
            return dict(self._pinned.values())

    def is_pinned(self, names: Sequence[str]) -> bool:
        """Whether a name in a statement is a registered one."""
        return len(names) == 1 and fold(names[0]) in self._pinned

    # --- views ---

    def add_view(self, view: View, *, may_replace: bool) -> None:
        """Register a view, as long as the connection lasts.

        `FileExistsError` if there is one of its name that may not be replaced.
        """
        with self._lock:
            if not may_replace and fold(view.name) in self._views:
                raise FileExistsError(view.name)
            self._views[fold(view.name)] = view

    def drop_view(self, name: str) -> bool:
        """Remove a view; False if there was none."""
        with self._lock:
            return self._views.pop(fold(name), None) is not None

    def view(self, names: Sequence[str]) -> View | None:
        """Return the view that a name in a statement refers to; None for any other."""
        found = self._views.get(fold(names[0])) if len(names) == 1 else None
        schema = None if found is not None else self.schema_of(names)
        namespace = None if schema is None or schema == PLACES else self.namespace(schema)
        return found if namespace is None else namespace.view(names[-1])

    @contextlib.contextmanager
    def within(self, namespace: str | None) -> Iterator[None]:
        """Let a namespace be the current one of this cursor for a while."""
        before, self.current = self.current, namespace
        try:
            yield
        finally:
            self.current = before

    @property
    def has_views(self) -> bool:
        """Whether there may be views."""
        return bool(self._views) or self.names is not None

    @property
    def views(self) -> list[View]:
        """The views of the connection in the order of their names."""
        with self._lock:
            return [view for _, view in sorted(self._views.items())]

    # --- namespaces ---

    def attach(
        self, root: str | os.PathLike[str], name: str, storage_options: Mapping[str, Any] | None
    ) -> None:
        """Register a name for a folder of tables."""
        options = self.storage_options if storage_options is None else storage_options
        namespace = FolderNamespace(root, options)
        with self._lock:
            self._attached[fold(name)] = name, namespace

    def detach(self, name: str) -> None:
        """Remove an attached folder. `KeyError` for an unknown name."""
        with self._lock:
            del self._attached[fold(name)]

    def namespaces(self) -> list[str]:
        """Return the names of all namespaces, in order."""
        with self._lock:
            attached = [name for name, _ in self._attached.values()]
        return sorted({*attached, *([] if self.names is None else self.names.namespaces())})

    def namespace(self, name: str) -> Namespace | None:
        """Return the namespace of that name; None if there is none."""
        with self._lock:
            found = self._attached.get(fold(name))
        if found is not None:
            return found[1]
        return None if self.names is None else self.names.namespace(name)

    # --- in statements ---

    def without_catalog(self, names: Sequence[str]) -> Sequence[str]:
        """Return the parts of a name without that of the catalog, if they begin with it."""
        if len(names) == 3 and fold(names[0]) == _SPARK_CATALOG:
            return names[1:]
        return without_catalog(self.names, names)

    def is_of_another(self, names: Sequence[str]) -> bool:
        """Whether a name in a statement has a namespace of the catalog after the name of another catalog."""
        names = self.without_catalog(names)
        return len(names) == 3 and self.names is not None and fold(names[1]) in self.schemas

    def schema_of(self, names: Sequence[str]) -> str | None:
        """The catalog's schema, case-folded, that a name in a statement is in; None for any other."""
        if len(names) == 1:
            return None if self.is_pinned(names) else self.current or self._fallback_of(names[0])
        names = self.without_catalog(names)
        schema = fold(names[0]) if len(names) == 2 else None
        return schema if schema in self.schemas else None

    def _fallback_of(self, name: str) -> str | None:
        """The namespace that is not current, and in which a name that stands alone is found."""
        if self.fallback is None or self.is_of_duckdb(name):
            return None
        namespace = self.namespace(self.fallback)
        if namespace is None or (namespace.find(name) is None and namespace.view(name) is None):
            return None
        return self.fallback

    @property
    def schemas(self) -> frozenset[str]:
        """The case-folded schemas whose tables are the catalog's."""
        return frozenset((*map(fold, self.namespaces()), PLACES))

    def is_mentioned(self, folded: str) -> bool:
        """Whether a case-folded statement may name a table of the catalog."""
        if self.current or self.fallback or CHANGES in folded or may_name(folded, _SPARK_CATALOG):
            return True
        return any(may_name(folded, name) for name in (*self._pinned, *self._views, *self.schemas))

    def locate(self, names: Sequence[str]) -> TableLocation | None:
        """Return where the table is that a name in a statement refers to; None if there is none of that name.

        A path is accepted whether or not a table exists there.
        """
        if self.is_pinned(names):
            with self._lock:
                store = self._pinned[fold(names[0])][1].store
            return TableLocation(store.uri, store.storage_options, opener=lambda: store)
        schema = self.schema_of(names)
        if schema == PLACES:
            return TableLocation(names[-1], self.storage_options)
        namespace = None if schema is None else self.namespace(schema)
        return None if namespace is None else namespace.find(names[-1])

    def find(self, names: Sequence[str], at: int | datetime | None = None) -> Snapshot | None:
        """Return the table that a name in a statement refers to; None to leave the name to DuckDB.

        Args:
            names: the parts of the name.
            at: a version, or a timestamp; the version in the table above if None.

        Raises `TableNotFoundError` for a path without a table, and the errors of opening one.
        """
        key = (self.current, *names)
        found = None if self._found is None else self._found.get(key)
        found = self._find(names) if found is None else found
        if found is not None and self._found is not None:
            self._found[key] = found
        if found is None or at is None:
            return found
        version = at if isinstance(at, int) else found.update().version_at(parse_moment(at))
        return found if version == found.version else self._older(found, version)

    @contextlib.contextmanager
    def finding(self, query: str | None = None) -> Iterator[Callable[[str], None]]:
        """Let each name mean one table while the block runs, whatever other processes do meanwhile.

        Args:
            query: one that a block before this one has compiled; its names mean what they meant there.

        Yields a function for the end of a block that compiles: it is given the query that was made.
        """
        before = self._found
        self._found = found = {} if query is None else self._compiled.pop(query, {})

        def compiled(made: str) -> None:
            self._compiled = {made: found}  # of the last one alone, which is planned next

        try:
            yield compiled
        finally:
            self._found = before

    def _older(self, known: Snapshot, version: int) -> Snapshot:
        """A table at another version, which is kept as long as the table is the same."""
        key = None, known.store.uri, known.metadata.id, version
        with self._lock:
            table = self._opened.get(key)
            if table is None:
                try:
                    table = Snapshot.load(known.store, version, known=known)
                except VersionNotFoundError as error:
                    raise VersionNotFoundError(f"[DELTA_VERSION_NOT_FOUND] {error}") from error
            self._opened[key] = table
        return table

    def _find(self, names: Sequence[str]) -> Snapshot | None:
        if self.is_pinned(names):
            with self._lock:
                return self._pinned[fold(names[0])][1]
        location = self.locate(names)
        if location is None:
            return None
        schema = self.schema_of(names)
        try:
            return self._newest(schema, location)
        except TableNotFoundError:
            if schema == PLACES:
                raise
            return None

    @contextlib.contextmanager
    def holding(self, table: Snapshot) -> Iterator[None]:
        """Let the names of a table mean this version instead of the newest."""
        before = dict(self._held)
        self._held[table.store.uri] = table
        try:
            yield
        finally:
            self._held = before

    def _newest(self, schema: str | None, location: TableLocation) -> Snapshot:
        key = schema, location.uri
        with self._lock:
            known = self._opened.get(key)
            table = Snapshot.load(location.open()) if known is None else known.update()
            if self.changed == table.store.uri:
                raise UnsupportedFeatureError(
                    f"the transaction has changed {self.changed}, and its changes can be read after COMMIT",
                    feature="transaction",
                )
            held = self._held.get(table.store.uri)
            if held is not None:
                return held
            self._opened[key] = table
        return table


def may_name(folded: str, name: str) -> bool:
    """Whether a case-folded statement may contain a name, plain or quoted with its quotes doubled."""
    return fold(name).translate(_NO_QUOTES) in folded.translate(_NO_QUOTES)


_NO_QUOTES = str.maketrans("", "", "\"'`")
