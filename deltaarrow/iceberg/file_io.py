"""A table's `Store` as the file system of ``pyiceberg``: manifests are read and written whole.

Locations are absolute, as Iceberg demands. Anybody may have written them, so only those in the folder of the
table are followed.
"""

import io
import re
from dataclasses import dataclass, field
from typing import Any

from deltaarrow.errors import CorruptLogError
from deltaarrow.storage import Store

__all__ = ["METADATA_FOLDER", "StoreFile", "StoreFiles"]

METADATA_FOLDER = "metadata"
_SCHEME = re.compile(r"s3[an]://")


@dataclass
class StoreFiles:
    """What ``pyiceberg`` calls a ``FileIO``, for the files in the folder of a table alone.

    Attributes:
        store: the storage of the table.
        written: the names of the files written so far.
    """

    store: Store
    written: list[str] = field(default_factory=list)
    properties: dict[str, str] = field(default_factory=dict)

    def new_input(self, location: str) -> "StoreFile":
        """Return a file to read; raises `CorruptLogError` if it is not in the folder."""
        return StoreFile(self, location, self.name_of(location))

    def new_output(self, location: str) -> "StoreFile":
        """Return a file to write; raises `CorruptLogError` if it is not in the folder."""
        return StoreFile(self, location, self.name_of(location))

    def name_of(self, location: str) -> str:
        """Return a location, absolute or below the table, as a name in the store.

        Raises `CorruptLogError` if it is not in the folder of the table.
        """
        name = self._name(location)
        if name is None:
            raise CorruptLogError(
                f"the Iceberg table {self.store.uri} has the file {location}, which is not in its folder;"
                " such a table is read where it was written, with all its files in one folder"
            )
        return name

    def is_inside(self, location: str) -> bool:
        """Whether a location is in the folder of the table."""
        return self._name(location) is not None

    def _name(self, location: str) -> str | None:
        name = _plain(location).removeprefix(f"{_plain(self.store.uri)}/")
        leads_out = name.startswith("/") or "://" in name or not {"", ".", ".."}.isdisjoint(name.split("/"))
        return None if leads_out else name

    def in_metadata(self, base: str) -> str:
        """Return the location of a file of metadata, by its base name."""
        return self.store.location(f"{METADATA_FOLDER}/{base}")


@dataclass
class StoreFile:
    """What ``pyiceberg`` calls an ``InputFile`` and an ``OutputFile``."""

    files: StoreFiles
    location: str
    name: str
    size: int | None = None

    def __len__(self) -> int:
        """Return the size in bytes."""
        return self.files.store.size(self.name) if self.size is None else self.size

    def open(self, seekable: bool = True) -> io.BytesIO:
        """Return the content as a stream."""
        return io.BytesIO(self.files.store.read(self.name))

    def create(self, overwrite: bool = False) -> "_Content":
        """Return a stream whose bytes become the file when it is closed."""
        return _Content(self)


class _Content(io.BytesIO):
    def __init__(self, file: StoreFile) -> None:
        super().__init__()
        self._file = file

    def close(self) -> None:
        if not self.closed:
            data = self.getvalue()
            super().close()
            self._file.size = len(data)
            self._file.files.written.append(self._file.name)
            self._file.files.store.write(self._file.name, data)

    def __exit__(self, *error: Any) -> None:
        # A stream that a failure leaves is not a file.
        if error[0] is None:
            self.close()


def _plain(location: str) -> str:
    """Return a location without the ways to spell one: ``file:`` before a path, ``s3a`` for ``s3``."""
    for prefix in ("file://", "file:"):
        if location.startswith(f"{prefix}/"):
            return location.removeprefix(prefix)
    return _SCHEME.sub("s3://", location, count=1)
