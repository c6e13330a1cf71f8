"""Reads of objects in a store, with few requests."""

import collections
import errno
import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from deltaarrow.errors import StorageError
from deltaarrow.runtime.fork_safety import Lock
from deltaarrow.storage.service import TAIL_BYTES

if TYPE_CHECKING:
    from deltaarrow.storage.service import Service
    from deltaarrow.storage.store import Store

__all__ = ["ObjectBytes", "OpenedObjects", "is_written_once"]

_WHOLE_BYTES = 256 << 10
"""The size up to which an object is read whole: a further request takes longer than these bytes."""


_REMEMBERED = 4096
"""Objects whose size is kept for the next time that a reader opens them."""

_REMEMBERED_WITH_BYTES = 64
"""Those of them, the last ones, of which the bytes at hand are kept, too."""

_UUID_AT_END = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}[^/]*$", re.ASCII | re.IGNORECASE)


def is_written_once(path: str) -> bool:
    """Whether nobody writes a file of this name twice: it holds a UUID.

    Data files, deletion vectors and parts of checkpoints have such names. Commits do not, because a table may
    be made anew at its place, and neither do checkpoints that a writer may replace.

    >>> is_written_once("t/part-0-2e7a32b6-8cbb-4ba4-a1be-a6ac8eac6f1d.parquet"), is_written_once("t/0.json")
    (True, False)
    """
    return _UUID_AT_END.search(path) is not None


class ObjectBytes:
    """Reads an object by a request for each range, or by one for all of it if it is small. Works in threads.

    Args:
        store: gives the file system at each request, because a forked child has its own.
        service: the requests of the store.
        path: the object, inside the file system.
        info: fsspec's details of it.
        tail: last bytes of the object, which need no request. Without them the first read near the end gets
            `TAIL_BYTES`: a reader of Parquet wants the length of the footer, and then the footer.

    Attributes:
        info: as given.
        size: in bytes.
    """

    def __init__(
        self, store: "Store", service: "Service", path: str, info: Mapping[str, Any], tail: bytes
    ) -> None:
        self._store, self._service, self._path = store, service, path
        self.info, self.size, self._tail = info, int(info["size"]), tail
        self._keeps_tail = True

    def read(self, begin: int, end: int | None) -> bytes:
        """Return the bytes from `begin` to `end`, or to the end of the object.

        Raises `StorageError` if the object has fewer bytes than its size says.
        """
        end = self.size if end is None else min(end, self.size)
        if end <= begin:
            return b""
        begins_in_tail = begin >= self.size - TAIL_BYTES and self.size > _WHOLE_BYTES
        if begins_in_tail and self._keeps_tail and not self._tail:
            self._tail = self._fetched(self.size - TAIL_BYTES, self.size)
        tail = self._tail
        known = self.size - len(tail)
        if begin < known and self.size <= _WHOLE_BYTES:
            self._tail = tail = self._fetched(0, known) + tail
            known = 0
        return self._fetched(begin, end) if begin < known else tail[begin - known : end - known]

    @property
    def nbytes(self) -> int:
        """The most bytes of the object that it keeps in memory."""
        return self.size if self.size <= _WHOLE_BYTES else TAIL_BYTES

    def forget_bytes(self) -> None:
        """Keep the size alone."""
        self._keeps_tail, self._tail = False, b""

    def _fetched(self, begin: int, end: int) -> bytes:
        with self._store.reaching():
            filesystem = self._store.fsspec_filesystem()
            data = self._service.read_range(filesystem, self._path, begin, end - begin)
        if len(data) != end - begin:
            raise StorageError(f"{self._path} has fewer bytes than its size says ({self.size})")
        return data


class OpenedObjects:
    """The objects that were opened lately, which need no question to be opened again. Works in threads.

    `store` and `service` as of `ObjectBytes`.
    """

    def __init__(self, store: "Store", service: "Service") -> None:
        self._store, self._service = store, service
        self._opened: collections.OrderedDict[str, ObjectBytes] = collections.OrderedDict()
        self._with_bytes: collections.deque[str] = collections.deque()
        self._lock = Lock()

    def open(self, path: str) -> ObjectBytes:
        """Return an object; `FileNotFoundError` if there is none."""
        with self._lock:
            found = self._opened.get(path)
        if found is None:
            with self._store.reaching():
                info, tail = self._service.info_and_tail(self._store.fsspec_filesystem(), path)
            if info["type"] != "file":
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
            found = ObjectBytes(self._store, self._service, path, info, tail)
            with self._lock:
                self._opened[path] = found
                self._with_bytes.append(path)
                if len(self._with_bytes) > _REMEMBERED_WITH_BYTES:
                    self._forget_bytes(self._with_bytes.popleft())
                if len(self._opened) > _REMEMBERED:
                    self._opened.popitem(last=False)
        return found

    def _forget_bytes(self, path: str) -> None:
        """Keep the size of a large object; of a small one nothing, as it is read whole when it is opened."""
        found = self._opened.get(path)
        if found is None or found.size <= _WHOLE_BYTES:
            self._opened.pop(path, None)
        else:
            found.forget_bytes()
