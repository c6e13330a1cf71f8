"""A cache on the local disk for files of an object store.

The cache holds only files with a UUID in their name: data files, deletion vectors and parts of checkpoints.
No writer uses such a name twice, so cached content never becomes stale. Commits, and checkpoints that a
writer may replace, are always read from the store.

Each block of `BLOCK_BYTES` is a file in the folder, with a checksum. Any number of processes may share the
folder: a rename creates a block as a whole, and the least recently used blocks are deleted.
"""

import contextlib
import functools
import hashlib
import json
import os
import re
import time
import uuid
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from deltaarrow.errors import StorageError
from deltaarrow.runtime.fork_safety import Lock
from deltaarrow.storage.fsspec_options import CACHE_BYTES, CACHE_FOLDER, CACHE_OPTIONS
from deltaarrow.storage.fsspec_store import modified_ms
from deltaarrow.storage.object_bytes import is_written_once
from deltaarrow.storage.option_table import as_count
from deltaarrow.storage.service import Service

__all__ = ["BLOCK_BYTES", "DiskCache", "cached"]

BLOCK_BYTES = 256 << 10

_DEFAULT_LIMIT = 10 << 30
_CHECKSUM_BYTES = 4
_KEPT_SHARE = 0.9
"""The share of the limit that remains used after blocks were deleted."""
_LOOKS_PER_LIMIT = 16
"""A process measures the folder whenever it has written this part of the limit, since others write too."""
_FRESH_SECONDS = 60
"""A block that was used more recently than this is not marked as used again."""
_TEMPORARY = ".tmp"
_INFO, _TAIL = "info", "tail"
_SERVER = re.compile("endpoint|account_name|base_url", re.IGNORECASE)
"""Options that identify the server of a path. They hold no secret."""


class DiskCache:
    """Blocks in a folder with about `limit` bytes at most, shared by threads and processes.

    Raises `StorageError` if the folder cannot be created. If the disk is full, a block is not stored. A block
    that cannot be read counts as missing.
    """

    def __init__(self, folder: str, limit: int) -> None:
        self._folder, self._limit = Path(folder), limit
        self._lock = Lock()
        self._written: int | None = None
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(f"cannot create the cache folder {folder!r}: {error.strerror}") from error

    def get(self, key: str, block: int | str) -> bytes | None:
        """Return a block; None if it is missing or damaged."""
        path = self._path(key, block)
        try:
            with path.open("rb") as file:
                kept = file.read()
                used = os.fstat(file.fileno()).st_mtime
        except OSError:
            return None
        data = kept[:-_CHECKSUM_BYTES]
        if _checksum(data) != kept[-_CHECKSUM_BYTES:]:
            return None
        if abs(time.time() - used) > _FRESH_SECONDS:
            with contextlib.suppress(OSError):  # another process has deleted it
                os.utime(path)
        return data

    def put(self, key: str, block: int | str, data: bytes) -> None:
        """Store a block if the disk has room."""
        path = self._path(key, block)
        temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex}{_TEMPORARY}")
        try:
            path.parent.mkdir(mode=0o700, exist_ok=True)
            with temporary.open("xb") as file:
                file.write(data)
                file.write(_checksum(data))
            temporary.replace(path)
        except OSError:
            with contextlib.suppress(OSError):  # it was not even made
                temporary.unlink()
            return
        self._note(len(data))

    def _path(self, key: str, block: int | str) -> Path:
        name = hashlib.sha256(key.encode()).hexdigest()
        return self._folder / name[:2] / f"{name}-{block}"

    def _note(self, size: int) -> None:
        """Count the bytes that this process writes, and enforce the limit now and then."""
        with self._lock:
            is_first = self._written is None
            self._written = (self._written or 0) + size
            if not is_first and self._written < self._limit / _LOOKS_PER_LIMIT:
                return
            self._written = 0
        self._shrink()

    def _shrink(self) -> None:
        """Delete the least recently used blocks if the folder exceeds the limit."""
        found = []
        for path in self._folder.glob("*/*"):
            with contextlib.suppress(OSError):  # another process has deleted it
                status = path.stat()
                found.append((status.st_mtime, status.st_size, path))
        total = sum(size for _, size, _ in found)
        if total <= self._limit:
            return
        for _, size, path in sorted(found):
            if total <= self._limit * _KEPT_SHARE:
                return
            with contextlib.suppress(OSError):  # another process has deleted it
                path.unlink()
            total -= size


def _checksum(data: bytes) -> bytes:
    return zlib.crc32(data).to_bytes(_CHECKSUM_BYTES, "little")


class _CachedService:
    """A service that takes blocks from the disk and requests only the missing ones."""

    reads_ranges = True

    def __init__(self, service: Service, place: str, cache: DiskCache) -> None:
        self._service, self._place, self._cache = service, place, cache

    def __getattr__(self, name: str) -> Any:
        return getattr(self._service, name)

    def info_and_tail(self, filesystem: Any, path: str) -> tuple[Mapping[str, Any], bytes]:
        if not is_written_once(path):
            return self._service.info_and_tail(filesystem, path)
        key = self._key(path)
        known, tail = self._cache.get(key, _INFO), self._cache.get(key, _TAIL)
        if known is not None and tail is not None:
            return {**json.loads(known), "name": path}, tail
        info, tail = self._service.info_and_tail(filesystem, path)
        if info["type"] == "file":
            self._keep_info(key, info)
            self._cache.put(key, _TAIL, tail)
        return info, tail

    def read_range(self, filesystem: Any, path: str, offset: int, length: int) -> bytes:
        if not is_written_once(path):
            return self._service.read_range(filesystem, path, offset, length)
        key = self._key(path)
        first, last = offset // BLOCK_BYTES, (offset + length - 1) // BLOCK_BYTES
        blocks = {number: self._cache.get(key, number) for number in range(first, last + 1)}
        absent = [number for number, block in blocks.items() if block is None]
        if absent:
            # One request, which may fetch cached blocks between missing ones again.
            begin, count = absent[0], absent[-1] - absent[0] + 1
            data = self._service.read_range(filesystem, path, begin * BLOCK_BYTES, count * BLOCK_BYTES)
            # A short answer is kept only if it is the end of the file.
            is_whole = len(data) == count * BLOCK_BYTES or self._ends(
                filesystem, path, begin * BLOCK_BYTES + len(data)
            )
            for place in range(count):
                block = data[place * BLOCK_BYTES : (place + 1) * BLOCK_BYTES]
                blocks[begin + place] = block
                if block and is_whole:
                    self._cache.put(key, begin + place, block)
        whole = b"".join(cast("bytes", blocks[number]) for number in range(first, last + 1))
        start = offset - first * BLOCK_BYTES
        return whole[start : start + length]

    def _ends(self, filesystem: Any, path: str, place: int) -> bool:
        """Whether the file ends at a place."""
        key = self._key(path)
        known = self._cache.get(key, _INFO)
        if known is None:
            known = self._keep_info(key, self._service.info(filesystem, path))
        return bool(json.loads(known)["size"] == place)

    def _keep_info(self, key: str, info: Mapping[str, Any]) -> bytes:
        milliseconds = modified_ms(info)
        # Not the name: the address of a file on a web server may hold a password or a token.
        known = {"type": info["type"], "size": info["size"]}
        if milliseconds is not None:
            known["mtime"] = milliseconds / 1000
        data = json.dumps(known).encode()
        self._cache.put(key, _INFO, data)
        return data

    def _key(self, path: str) -> str:
        return f"{self._place}\n{path}"


def cached(service: Service, uri: str, storage_options: Mapping[str, Any]) -> Service:
    """Return a service with the cache that the options name; the service itself without such options.

    Raises `StorageError` for a limit without a folder, or a limit that is not a number.
    """
    if storage_options.keys().isdisjoint(CACHE_OPTIONS):
        return service
    folder = storage_options.get(CACHE_FOLDER)
    if not isinstance(folder, str | os.PathLike) or not os.fspath(folder):
        raise StorageError(f"{CACHE_FOLDER} must name a local folder; {CACHE_BYTES} needs {CACHE_FOLDER}")
    limit = as_count(CACHE_BYTES, storage_options.get(CACHE_BYTES, _DEFAULT_LIMIT))
    told = {name: str(value) for name, value in storage_options.items() if _SERVER.search(name)}
    place = json.dumps([uri.partition("://")[0], service.authority(uri), sorted(told.items())])
    return _cached(service, place, str(Path(folder).absolute()), limit)


@functools.lru_cache(maxsize=256)
def _cached(service: Service, place: str, folder: str, limit: int) -> Service:
    return cast("Service", _CachedService(service, place, _cache_of(folder, limit)))


@functools.lru_cache(maxsize=16)
def _cache_of(folder: str, limit: int) -> DiskCache:
    """Return the cache of this process for a folder."""
    return DiskCache(folder, limit)
