"""Accepted forms of a table: a snapshot, an object with a snapshot, or a path or URI."""

import os
from collections.abc import Mapping
from datetime import date
from typing import Any, Protocol, SupportsIndex, TypeAlias, runtime_checkable

import deltaarrow.catalogs as catalogs
from deltaarrow.catalogs import NamespaceCatalog
from deltaarrow.log import Catalog
from deltaarrow.log.version_arguments import type_name
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import open_store

__all__ = ["HasChanges", "HasSnapshot", "TableSource", "snapshot_of"]


class HasSnapshot(Protocol):
    """A `deltaarrow.DeltaTable` or a similar object."""

    @property
    def snapshot(self) -> Snapshot:
        """The table at the version to show."""


@runtime_checkable
class HasChanges(Protocol):
    """A `deltaarrow.engines.ChangeDataset`, recognised without importing pyarrow.dataset, which is slow."""

    @property
    def versions(self) -> range:
        """The versions whose changes it holds."""


TableSource: TypeAlias = Snapshot | HasSnapshot | str | os.PathLike[str]


def snapshot_of(
    table: TableSource,
    version: SupportsIndex | str | date | None = None,
    storage_options: Mapping[str, Any] | None = None,
    catalog: str | os.PathLike[str] | Catalog | NamespaceCatalog | None = None,
) -> Snapshot:
    """Return the snapshot of `table`, at `version` if given, which may be a timestamp.

    A path or URI is opened with `storage_options`, at its newest version, and a name in `catalog` as
    `open_table_store` does; an opened table keeps its own options. Raises the errors of `open_table_store`
    and of `Snapshot.load_as_version`.
    """
    if isinstance(table, str | os.PathLike):
        store = (
            open_store(table, storage_options)  # without what reads names, which takes 10 ms to load
            if catalog is None
            else catalogs.open_table_store(table, storage_options, catalog)
        )
        return Snapshot.load(store) if version is None else Snapshot.load_as_version(store, version)
    if catalog is not None:
        raise TypeError("an open table knows its catalog: leave catalog out, or give the name of a table")
    snapshot = table if isinstance(table, Snapshot) else getattr(table, "snapshot", None)
    if not isinstance(snapshot, Snapshot):
        raise TypeError(f"a table must be a path, a URI or a DeltaTable, not {type_name(table)}")
    if version is None or (type(version) is int and version == snapshot.version):
        return snapshot
    return Snapshot.load_as_version(snapshot.store, version)
