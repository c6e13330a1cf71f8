"""The Delta tables that a DuckDB connection knows by name, and their snapshots.

======================  ===========================================  ================================
in a statement          what it is                                   its version
======================  ===========================================  ================================
``orders``              registered under this name                   the registered one, until
                                                                     it is refreshed
``lake.orders``         the folder ``orders`` in the attached        the newest at each statement
                        folder ``lake``
``delta.'/data/t'``     the table at this place; also in backticks,  the newest at each statement
                        as Spark has it, or in double quotes
======================  ===========================================  ================================
"""

import os
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from deltaarrow.engines.duckdb_references import fold
from deltaarrow.engines.source import TableSource, snapshot_of
from deltaarrow.errors import TableNotFoundError
from deltaarrow.runtime.fork_safety import Lock
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import Store, open_store

__all__ = ["PLACES", "Catalog", "may_name"]

PLACES = "delta"
"""The SQL schema whose tables are named by path or URI."""

_MOST_TABLES = 256


@dataclass
class _Folder:
    """An attached folder; `tables` by the names that statements use, case-folded."""

    root: str
    storage_options: Mapping[str, Any] | None
    tables: dict[str, Snapshot] = field(default_factory=dict)


class Catalog:
    """The names of tables and folders; shared by the cursors of a connection."""

    def __init__(self, storage_options: Mapping[str, Any] | None) -> None:
        self._storage_options = storage_options
        self._pinned: dict[str, tuple[str, Snapshot]] = {}
        self._folders: dict[str, _Folder] = {}
        self._places: OrderedDict[str, Snapshot] = OrderedDict()
        self._lock = Lock()

    # --- registered ---

    def pin(self, name: str, source: TableSource) -> Snapshot:
        """Register a name for a table at its version; a path is opened at the newest version."""
        is_place = isinstance(source, str | os.PathLike)
        table = snapshot_of(source, storage_options=self._storage_options if is_place else None)
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

    # --- attached ---

    def attach(
        self, root: str | os.PathLike[str], name: str, storage_options: Mapping[str, Any] | None
    ) -> None:
        """Register a name for a folder of tables."""
        options = self._storage_options if storage_options is None else storage_options
        with self._lock:
            self._folders[fold(name)] = _Folder(open_store(root, options).uri, options)

    def detach(self, name: str) -> None:
        """Remove an attached folder. `KeyError` for an unknown name."""
        with self._lock:
            del self._folders[fold(name)]

    # --- in statements ---

    def schema_of(self, names: Sequence[str]) -> str | None:
        """The catalog's schema, case-folded, that a name in a statement begins with; None for any other."""
        schema = fold(names[0]) if len(names) == 2 else None
        return schema if schema in self.schemas else None

    @property
    def schemas(self) -> frozenset[str]:
        """The case-folded schemas whose tables are the catalog's."""
        return frozenset((*self._folders, PLACES))

    def is_mentioned(self, folded: str) -> bool:
        """Whether a case-folded statement may name a table of the catalog."""
        return any(may_name(folded, name) for name in (*self._pinned, *self._folders, PLACES))

    def find(self, names: Sequence[str]) -> Snapshot | None:
        """Return the table that a name in a statement refers to; None to leave the name to DuckDB.

        Raises `TableNotFoundError` for a path without a table, and the errors of opening one.
        """
        with self._lock:
            if len(names) == 1:
                return self._pinned[fold(names[0])][1] if self.is_pinned(names) else None
            schema = self.schema_of(names)
            if schema is None:
                return None
            if schema not in self._folders:
                return self._at_place(names[1])
            return self._in_folder(self._folders[schema], names[1])

    def _at_place(self, place: str) -> Snapshot:
        known = self._places.get(place)
        table = known.update() if known is not None else self._open(place, self._storage_options)
        self._places[place] = table
        self._places.move_to_end(place)
        while len(self._places) > _MOST_TABLES:
            self._places.popitem(last=False)
        return table

    def _in_folder(self, folder: _Folder, name: str) -> Snapshot | None:
        known = folder.tables.get(fold(name))
        if known is not None:
            table = known.update()
        elif "/" in name or "\\" in name or name in ("", ".", ".."):
            return None
        else:
            try:
                table = self._open(f"{folder.root}/{_spelled(folder, name)}", folder.storage_options)
            except TableNotFoundError:
                return None
        folder.tables[fold(name)] = table
        return table

    def _open(self, place: str, options: Mapping[str, Any] | None) -> Snapshot:
        return Snapshot.load(open_store(place, options))


def may_name(folded: str, name: str) -> bool:
    """Whether a case-folded statement may contain a name, plain or quoted with its quotes doubled."""
    return fold(name).translate(_NO_QUOTES) in folded.translate(_NO_QUOTES)


_NO_QUOTES = str.maketrans("", "", "\"'`")


def _spelled(folder: _Folder, name: str) -> str:
    """The name of the folder that SQL calls by a name, ignoring case."""
    folders = _subfolders(open_store(folder.root, folder.storage_options))
    found = [each for each in folders if fold(each) == fold(name)]
    return name if name in found or len(found) != 1 else found[0]


def _subfolders(store: Store) -> list[str]:
    if store.is_local:
        with os.scandir(store.uri) as entries:
            return [entry.name for entry in entries if entry.is_dir()]
    filesystem = store.fsspec_filesystem()
    if filesystem is None:
        return []
    found = filesystem.ls(store.uri, detail=True)
    return [each["name"].rstrip("/").rpartition("/")[2] for each in found if each["type"] == "directory"]
