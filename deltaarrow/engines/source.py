"""What the engines take for a table: a snapshot, anything that has one, or the place where it is."""

import os
from collections.abc import Mapping
from datetime import date
from typing import Any, Protocol, SupportsIndex, TypeAlias, runtime_checkable

from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import open_store

__all__ = ["HasChanges", "HasSnapshot", "TableSource", "snapshot_of"]


class HasSnapshot(Protocol):
    """A `deltaarrow.DeltaTable`, or what resembles it."""

    @property
    def snapshot(self) -> Snapshot:
        """The table at the version that is shown."""


@runtime_checkable
class HasChanges(Protocol):
    """A `deltaarrow.engines.ChangeDataset`, told without pyarrow.dataset, which takes long to import."""

    @property
    def versions(self) -> range:
        """The versions whose changes are shown."""


TableSource: TypeAlias = Snapshot | HasSnapshot | str | os.PathLike[str]


def snapshot_of(
    table: TableSource,
    version: SupportsIndex | str | date | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Snapshot:
    """Return the snapshot of `table`, at `version` where one is given; a point in time is one as well.

    A path or URI is opened, with `storage_options`, at its newest version; whatever else is there
    already keeps its own. Raises as `Snapshot.load_as_version` does.
    """
    if isinstance(table, str | os.PathLike):
        store = open_store(table, storage_options)
        return Snapshot.load(store) if version is None else Snapshot.load_as_version(store, version)
    snapshot = table if isinstance(table, Snapshot) else table.snapshot
    if version is None or (type(version) is int and version == snapshot.version):
        return snapshot
    return Snapshot.load_as_version(snapshot.store, version)
