"""A folder whose subfolders are tables: ``lake.orders`` is the subfolder ``orders``."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deltaarrow.catalogs.namespace import TableLocation, WithoutViews, fold
from deltaarrow.display.redaction import redacted
from deltaarrow.storage import open_store

__all__ = ["FolderNamespace", "ensure_folder_name"]


def ensure_folder_name(name: str) -> None:
    """Raise `ValueError` for a name that is not that of one folder."""
    if "/" in name or "\\" in name or "\0" in name or name in ("", ".", "..") or name.startswith("_"):
        raise ValueError(f"{name!r} is no name of a table in a folder: it has to be the name of one folder")


class FolderNamespace(WithoutViews):
    """The tables in a folder; their files belong to it. The folder may hold other things as well."""

    def __init__(
        self, root: str | os.PathLike[str], storage_options: Mapping[str, Any] | None = None
    ) -> None:
        self._store = open_store(root, storage_options)
        self.storage_options = storage_options
        self.title = f"the folder {redacted(self.uri)}"

    @property
    def uri(self) -> str:
        """The folder."""
        return self._store.uri

    def find(self, name: str) -> TableLocation | None:
        """Return where a table is; None if no subfolder with a log has that name."""
        try:
            ensure_folder_name(name)
        except ValueError:
            return None
        location = self._location(self._spelled(name))
        return location if self._has_log(location.uri.rpartition("/")[2]) else None

    def place_for(self, name: str) -> TableLocation:
        """Return the subfolder of a new table."""
        ensure_folder_name(name)
        return self._location(name)

    def tables(self) -> list[str]:
        """Return the names of the subfolders that have a log, in order."""
        return sorted(each for each in self._subfolders() if self._has_log(each))

    def add(self, name: str, location: TableLocation) -> None:
        """Do nothing for a table in its own subfolder; a table elsewhere is refused with `ValueError`."""
        own = self.place_for(name)
        if location.uri != own.uri:
            raise ValueError(
                f"the table {name} of {self.title} cannot be at {redacted(location.uri)}: leave LOCATION out,"
                " or use a catalog"
            )

    def remove(self, name: str, location: TableLocation | None = None) -> None:
        """Do nothing, as the subfolder is the table. `KeyError` if there is a table of that name still."""
        if self.find(name) is not None:
            raise KeyError(name)

    def _location(self, name: str) -> TableLocation:
        return TableLocation(f"{self.uri}/{name}", self.storage_options, is_managed=True)

    def _has_log(self, name: str) -> bool:
        log = f"{name}/_delta_log"
        filesystem = self._store.fsspec_filesystem()
        if filesystem is None:
            return self._store.statuses([log])[0] is not None
        with self._store.reaching():
            return bool(filesystem.exists(f"{self.uri}/{log}"))

    def _spelled(self, name: str) -> str:
        """The name of the subfolder that SQL calls by a name, ignoring case."""
        folders = self._subfolders()
        found = [each for each in folders if fold(each) == fold(name)]
        return name if name in found or len(found) != 1 else found[0]

    def _subfolders(self) -> list[str]:
        if self._store.is_local:
            if not Path(self.uri).is_dir():
                return []
            with os.scandir(self.uri) as entries:
                return [entry.name for entry in entries if entry.is_dir()]
        filesystem = self._store.fsspec_filesystem()
        if filesystem is None:
            return []
        with self._store.reaching():
            found = filesystem.ls(self.uri, detail=True) if filesystem.exists(self.uri) else []
        return [each["name"].rstrip("/").rpartition("/")[2] for each in found if each["type"] == "directory"]
