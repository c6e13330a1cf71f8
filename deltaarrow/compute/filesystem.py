"""An fsspec file system for DuckDB: safe in DuckDB's threads, with as few requests as possible.

DuckDB reads one open file from many threads, each with ``seek`` followed by ``read``. With a plain Python
file another thread gets in between, and bytes of one column are taken for those of another. So files opened
here keep a position per thread and read ranges. DuckDB also looks up every listed file before the query
begins, and three more times when it opens one; on an object store each lookup is a request.
"""

import datetime
import functools
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from cachetools import LRUCache

from deltaarrow.runtime.fork_safety import Lock
from deltaarrow.runtime.lazy import lazy_attributes

if TYPE_CHECKING:
    import fsspec

    from deltaarrow.storage import Store

ReadRange: TypeAlias = Callable[[int, int | None], bytes]
"""Returns the bytes of a file from a position to another, or to its end."""

__all__ = ["RangeReader", "filesystem_for_duckdb"]

_REMEMBERED = 1024
_PASSED_ON = ("exists", "info", "isdir", "isfile", "ls", "makedirs", "mkdir", "mv", "rm", "rm_file", "touch")
_lazily = lazy_attributes(
    __name__,
    {
        "OpenedObjects": "deltaarrow.storage.object_bytes",
        "is_written_once": "deltaarrow.storage.object_bytes",
        "open_object_at": "deltaarrow.storage.open_objects",
        "modified_ms": "deltaarrow.storage.fsspec_store",
        "service_of": "deltaarrow.storage.fsspec_store",
    },
)


class RangeReader:
    """A file open for reading by any number of threads, each of which calls seek and then read."""

    def __init__(self, read_range: ReadRange) -> None:
        self._read_range = read_range
        self._lock = Lock()
        self._next = 0
        # By thread id: Python's thread-local data do not outlive one call from a DuckDB thread.
        self._sought: dict[int, int] = {}

    def seek(self, position: int) -> int:
        """Set the next read position of this thread, and of threads that have not called seek."""
        with self._lock:
            self._sought[threading.get_ident()] = self._next = position
        return position

    def tell(self) -> int:
        """Return the next read position of this thread."""
        with self._lock:
            return self._sought.get(threading.get_ident(), self._next)

    def read(self, length: int = -1) -> bytes:
        """Return `length` bytes, fewer at the end of the file; all remaining bytes if negative."""
        with self._lock:
            position = self._sought.pop(threading.get_ident(), None)
            if position is None:
                # One thread after the other reads on, so earlier seeks are obsolete.
                position = self._next
                self._sought.clear()
        if length == 0:
            return b""
        end = None if length < 0 else position + length
        data = self._read_range(position, end)
        with self._lock:
            self._next = position + len(data)
        return data

    def seekable(self) -> bool:
        """Return True."""
        return True

    def flush(self) -> None:
        """Do nothing: the file is only read."""

    def close(self) -> None:
        """Do nothing: nothing is held open."""


def filesystem_for_duckdb(store: "Store") -> "fsspec.AbstractFileSystem | None":
    """Return the file system of a store for ``DuckDBPyConnection.register_filesystem``.

    None for files of this machine. It also has the addresses of every `OpenObject`. Errors are those of the
    store, which is asked for its file system at each call: credentials may have been renewed.
    """
    filesystem = store.fsspec_filesystem()
    return None if filesystem is None else _wrapper()(store, filesystem.protocol)


@functools.cache
def _wrapper() -> Any:
    from fsspec import AbstractFileSystem

    class DuckDBFileSystem(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
        cachable = False

        def __init__(self, store: "Store", protocol: str | tuple[str, ...]) -> None:
            super().__init__()
            self._store = store
            self._service = _lazily("service_of")(store.uri, store.storage_options)
            self._written_once = _lazily("OpenedObjects")(store, self._service)
            self.protocol = protocol
            self._opened: LRUCache[str, Mapping[str, Any]] = LRUCache(_REMEMBERED)
            self._lock = Lock()
            for name in _PASSED_ON:
                setattr(self, name, functools.partial(self._pass_on, name))

        def _filesystem(self) -> Any:
            return self._store.fsspec_filesystem()

        def _pass_on(self, name: str, *arguments: Any, **options: Any) -> Any:
            return getattr(self._filesystem(), name)(*arguments, **options)

        def open(self, path: str, mode: str = "rb", **options: Any) -> Any:
            filesystem = self._filesystem()
            if mode != "rb":
                return filesystem.open(path, mode, **options)
            if (shared := _lazily("open_object_at")(path)) is not None:
                return RangeReader(shared.data.read)
            inside = self._service.path(filesystem, path)
            is_known = _lazily("is_written_once")(inside)
            opened = self._written_once if is_known else _lazily("OpenedObjects")(self._store, self._service)
            found = opened.open(inside)
            with self._lock:
                self._opened[path] = found.info
            return RangeReader(found.read)

        def _info_when_opened(self, path: str) -> Mapping[str, Any]:
            if (shared := _lazily("open_object_at")(path)) is not None:
                info: Mapping[str, Any] = shared.data.info
                return info
            with self._lock:
                found = self._opened.get(path)
            if found is None:
                filesystem = self._filesystem()
                found = self._service.info(filesystem, self._service.path(filesystem, path))
            return found

        def size(self, path: str) -> Any:
            return self._info_when_opened(path)["size"]

        def modified(self, path: str) -> Any:
            milliseconds = _lazily("modified_ms")(self._info_when_opened(path))
            if milliseconds is None:
                try:
                    return self._filesystem().modified(path)
                except NotImplementedError:
                    milliseconds = 0  # a web server; what is read there is never replaced
            return datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.UTC)

        def glob(self, path: str, **options: Any) -> Any:
            if not any(character in path for character in "*?["):
                return [path]  # opening a missing file reports it
            return self._filesystem().glob(path, **options)

        def unstrip_protocol(self, name: str) -> Any:
            if _lazily("open_object_at")(name) is not None:
                return name
            return self._filesystem().unstrip_protocol(name)

    return DuckDBFileSystem
