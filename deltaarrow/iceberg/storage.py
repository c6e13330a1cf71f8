"""A table's `Store` as the file system of ``pyiceberg``: manifests are read and written whole.

Locations are absolute, as Iceberg demands; a store takes them as names.
"""

import io
from dataclasses import dataclass, field
from typing import Any

from deltaarrow.storage import Store

__all__ = ["METADATA_FOLDER", "StoreFile", "StoreFiles"]

METADATA_FOLDER = "metadata"


@dataclass
class StoreFiles:
    """What ``pyiceberg`` calls a ``FileIO``.

    Attributes:
        store: the storage of the table.
        written: the names of the files written so far.
    """

    store: Store
    written: list[str] = field(default_factory=list)
    properties: dict[str, str] = field(default_factory=dict)

    def new_input(self, location: str) -> "StoreFile":
        """Return a file to read."""
        return StoreFile(self, location)

    def new_output(self, location: str) -> "StoreFile":
        """Return a file to write."""
        return StoreFile(self, location)

    def in_metadata(self, base: str) -> str:
        """Return the location of a file of metadata, by its base name."""
        return self.store.location(f"{METADATA_FOLDER}/{base}")


@dataclass
class StoreFile:
    """What ``pyiceberg`` calls an ``InputFile`` and an ``OutputFile``."""

    files: StoreFiles
    location: str
    size: int | None = None

    def __len__(self) -> int:
        """Return the size in bytes."""
        return self.files.store.size(self.location) if self.size is None else self.size

    def open(self, seekable: bool = True) -> io.BytesIO:
        """Return the content as a stream."""
        return io.BytesIO(self.files.store.read(self.location))

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
            self._file.files.written.append(self._file.location)
            self._file.files.store.write(self._file.location, data)

    def __exit__(self, *error: Any) -> None:
        # A stream that a failure leaves is not a file.
        if error[0] is None:
            self.close()
