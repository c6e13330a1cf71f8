"""The bytes of an object of a store, with few requests."""

from typing import TYPE_CHECKING

from deltaarrow.errors import StorageError

if TYPE_CHECKING:
    from deltaarrow.storage.service import Service
    from deltaarrow.storage.store import Store

__all__ = ["ObjectBytes"]

_WHOLE_BYTES = 256 << 10
"""The size up to which an object is read whole: a further request takes longer than these bytes."""


class ObjectBytes:
    """Reads an object by a request for each range, or by one for all of it if it is small. Works in threads.

    Args:
        store: gives the file system at each request, because a forked child has its own.
        service: the requests of the store.
        path: the object, inside the file system.
        size: in bytes.
        tail: last bytes of the object, which need no request.
    """

    def __init__(self, store: "Store", service: "Service", path: str, size: int, tail: bytes) -> None:
        self._store, self._service, self._path, self.size = store, service, path, size
        self._tail = tail

    def read(self, begin: int, end: int | None) -> bytes:
        """Return the bytes from `begin` to `end`, or to the end of the object.

        Raises `StorageError` if the object has fewer bytes than its size says.
        """
        end = self.size if end is None else min(end, self.size)
        if end <= begin:
            return b""
        tail = self._tail
        known = self.size - len(tail)
        if begin < known and self.size <= _WHOLE_BYTES:
            self._tail = tail = self._fetched(0, known) + tail
            known = 0
        return self._fetched(begin, end) if begin < known else tail[begin - known : end - known]

    def _fetched(self, begin: int, end: int) -> bytes:
        with self._store.reaching():
            filesystem = self._store.fsspec_filesystem()
            data = self._service.read_range(filesystem, self._path, begin, end - begin)
        if len(data) != end - begin:
            raise StorageError(f"{self._path} has fewer bytes than its size says ({self.size})")
        return data
