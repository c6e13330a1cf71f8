"""Files of a store for pyarrow, opened and read with few requests."""

import errno
import functools
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from deltaarrow.storage.object_bytes import ObjectBytes, OpenedObjects, is_written_once

if TYPE_CHECKING:
    from deltaarrow.storage.fsspec_store import FsspecStore

__all__ = ["RangeFile", "arrow_handler"]


def arrow_handler(store: "FsspecStore") -> Any:
    """Return what `pyarrow.fs.PyFileSystem` takes; it can be pickled, and used after a fork."""
    return _handler_class()(store)


@functools.cache
def _handler_class() -> Any:
    from pyarrow import PythonFile
    from pyarrow.fs import FSSpecHandler

    class StoreHandler(FSSpecHandler):  # type: ignore[misc]  # pyarrow has no types
        """Asks the store for its file system at each call, because a forked child has its own.

        A scan opens a file for its footer, and again for its rows. In between the file stays as it is.
        """

        def __init__(self, store: "FsspecStore") -> None:
            self._store = store
            self._of_scan = OpenedObjects(store, store.service)

        @property
        def fs(self) -> Any:
            return self._store.fsspec_filesystem()

        def __reduce__(self) -> tuple[Any, ...]:
            return arrow_handler, (self._store,)

        def get_file_info(self, paths: list[str]) -> Any:
            with self._store.reaching():
                return super().get_file_info(paths)

        def open_input_stream(self, path: str) -> Any:
            return self.open_input_file(path)

        def open_input_file(self, path: str) -> Any:
            store = self._store
            if store.service.reads_ranges:
                return PythonFile(RangeFile(self._object(path)), mode="r")
            with store.reaching():
                # fsspec's isfile is also False for a place that cannot be reached.
                _ensure_file(store.service.info(self.fs, path), path)
                return PythonFile(_ReadFile(store, self.fs.open(path, mode="rb")), mode="r")

        def _object(self, path: str) -> ObjectBytes:
            opened = self._store.opened_objects if is_written_once(path) else self._of_scan
            return opened.open(path)

    return StoreHandler


def _ensure_file(info: Mapping[str, Any], path: str) -> None:
    if info["type"] != "file":
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


class _ReadFile:
    """A file of fsspec's that raises the store's errors."""

    def __init__(self, store: "FsspecStore", file: Any) -> None:
        self._store = store
        self._file = file

    def read(self, *size: int) -> Any:
        with self._store.reaching():
            return self._file.read(*size)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class RangeFile:
    """An object as a file of Python, which is only read."""

    closed = False

    def __init__(self, data: ObjectBytes) -> None:
        self._data = data
        self._position = 0

    def read(self, size: int = -1) -> bytes:
        """Return the next `size` bytes, or all to the end."""
        begin = self._position
        data = self._data.read(begin, None if size is None or size < 0 else begin + size)
        self._position += len(data)
        return data

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Set the next position, and return it."""
        begin = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._data.size}[whence]
        self._position = begin + offset
        return self._position

    def tell(self) -> int:
        """Return the next position."""
        return self._position

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def close(self) -> None:
        """Note that it is closed; nothing is held open."""
        self.closed = True
