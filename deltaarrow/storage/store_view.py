"""`StoreView`: a store that delegates to another one, the base of stores that change some of it."""

import contextlib
from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from deltaarrow.storage.store import FileEntry, FileStatus, FolderListing, IoStats, OpenFile, Output, Store

if TYPE_CHECKING:
    import fsspec
    import pyarrow.fs

__all__ = ["StoreView"]


class StoreView:
    """A store with the files of another one, which its methods reach by `_store`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.uri = store.uri
        self.is_local = store.is_local

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._store!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StoreView) and type(other) is type(self) and other._store == self._store

    def __hash__(self) -> int:
        return hash(self._store)

    @property
    def storage_options(self) -> dict[str, Any]:
        """The options of the wrapped store, which may be renewed."""
        return self._store.storage_options

    def io_stats(self) -> IoStats:
        """Return the requests of the wrapped store."""
        return self._store.io_stats()

    @property
    def can_put_if_absent(self) -> bool:
        """Whether the wrapped store can."""
        return self._store.can_put_if_absent

    # --- reading ----------------------------------------------------------------------------------

    def list_from(self, folder: str, start: str = "") -> list[FileEntry]:
        """Return the files of a folder."""
        return self._store.list_from(folder, start)

    def read(self, name: str) -> bytes:
        """Return the whole file."""
        return self._store.read(name)

    def list_recursive(self, folder: str = "") -> Iterator[FileEntry]:
        """Yield all files below `folder`."""
        return self._store.list_recursive(folder)

    def list_folder(self, folder: str) -> FolderListing | None:
        """Return what is in a folder."""
        return self._store.list_folder(folder)

    def walk(self, folder: str = "") -> Iterator[FolderListing]:
        """Yield what is in each folder."""
        return self._store.walk(folder)

    def real_folder(self, name: str) -> str | None:
        """Return the name by which `walk` finds a folder."""
        return self._store.real_folder(name)

    def statuses(self, names: Sequence[str]) -> list[FileStatus | None]:
        """Return the status of each name."""
        return self._store.statuses(names)

    def read_range(self, name: str, offset: int, length: int) -> bytes:
        """Return `length` bytes from `offset`."""
        return self._store.read_range(name, offset, length)

    def size(self, name: str) -> int:
        """Return the size in bytes."""
        return self._store.size(name)

    def identity(self, name: str) -> Hashable | None:
        """Return a value that changes when the file is replaced."""
        return self._store.identity(name)

    def open_file(self, name: str) -> OpenFile | None:
        """Return the file, open."""
        return self._store.open_file(name)

    def exists(self, name: str) -> bool:
        """Whether there is a file of this name."""
        return self._store.exists(name)

    def location(self, name: str) -> str:
        """Return the absolute name."""
        return self._store.location(name)

    def arrow_filesystem(self) -> "pyarrow.fs.FileSystem":
        """Return the file system for pyarrow."""
        return self._store.arrow_filesystem()

    def arrow_path(self, name: str) -> str:
        """Return the path of the file inside `arrow_filesystem`."""
        return self._store.arrow_path(name)

    def fsspec_filesystem(self) -> "fsspec.AbstractFileSystem | None":
        """Return the fsspec file system behind the store."""
        return self._store.fsspec_filesystem()

    def reaching(self) -> contextlib.AbstractContextManager[None]:
        """Return the context manager of the wrapped store."""
        return self._store.reaching()

    @property
    def filesystem_key(self) -> Hashable:
        """The key of the wrapped store."""
        return self._store.filesystem_key

    # --- writing ----------------------------------------------------------------------------------

    def put_if_absent(self, name: str, data: bytes, *more: memoryview) -> None:
        """Create the file, or raise `FileExistsError`."""
        self._store.put_if_absent(name, data, *more)

    def write(self, name: str, data: bytes, *, durable: bool = True) -> None:
        """Create or replace the file."""
        self._store.write(name, data, durable=durable)

    def delete(self, name: str) -> None:
        """Delete the file if it exists."""
        self._store.delete(name)

    def delete_all(self, names: Sequence[str]) -> dict[str, Exception]:
        """Delete files; return why some could not be."""
        return self._store.delete_all(names)

    def delete_folder(self, name: str) -> bool:
        """Delete a folder if it is empty."""
        return self._store.delete_folder(name)

    def open_output(self, name: str, *, durable: bool = True) -> Output:
        """Return a stream that becomes a new file."""
        return self._store.open_output(name, durable=durable)

    def sync(self, outputs: Sequence[Output]) -> None:
        """Make published files durable."""
        self._store.sync(outputs)
