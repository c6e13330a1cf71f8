"""The `Store` of every fsspec file system: always read, and written where put-if-absent is proven.

Put-if-absent is proven for ``memory://``, and for S3 servers that demonstrably honour conditional puts. All
other file systems can only be read: writing is refused by name, because two writers could commit the same
version of a table.
"""

import contextlib
import datetime
import errno
import functools
import io
import os
import warnings
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from deltaarrow.display.redaction import redacted, without_secrets_of
from deltaarrow.errors import DeltaError, DeltaWarning, StorageError
from deltaarrow.runtime.optional import require
from deltaarrow.storage.failures import is_failure, storage_failure
from deltaarrow.storage.fsspec_options import ensure_options_known, library_missing, refused_store
from deltaarrow.storage.memory import memory_filesystem, put_in_memory
from deltaarrow.storage.paths import ensure_inside, scheme_of
from deltaarrow.storage.s3 import list_s3_objects, s3_remedy
from deltaarrow.storage.s3_options import asks_for_lock, s3fs_options
from deltaarrow.storage.s3_writing import S3Output, delete_objects, put_object_if_absent, refuses_second_put
from deltaarrow.storage.store import FileEntry, FileStatus, FolderListing, Output, ensure_range

if TYPE_CHECKING:
    import fsspec
    import pyarrow.fs

__all__ = ["FsspecStore", "modified_ms"]

_ALIASES = {"s3a": "s3", "s3n": "s3"}
_BUCKETS = {"s3", "gs", "gcs", "memory"}
"""Schemes whose file system reaches every authority (bucket), so that absolute names may name any bucket."""

_NO_LOCK = (
    "commits to S3 are conditional puts and take no lock in DynamoDB; a writer that commits under the lock"
    " may overwrite one: let all writers of the table use conditional puts, and leave the option out"
)

_proven: dict[Hashable, bool] = {}
"""(process, file system, bucket) -> whether the server honours conditional puts."""


class FsspecStore:
    """A folder of an fsspec file system.

    `uri` is ``protocol://...``; `storage_options` are the arguments of the file system's class, and for S3
    also deltalake's (see `deltaarrow.storage.s3_options`). The file system is created again after a fork and
    after unpickling. Raises `MissingDependencyError` if the library for the protocol is not installed; reads
    raise `StorageError` if the place cannot be reached.
    """

    is_local = False

    def __init__(self, uri: str, storage_options: Mapping[str, Any] | None = None) -> None:
        self.storage_options = dict(storage_options or {})
        self.uri = _normalise(uri)
        self.protocol = self.uri.partition("://")[0]
        self._opened = self._open()

    def __repr__(self) -> str:
        return f"FsspecStore({redacted(self.uri)!r})"  # no options: they hold secrets

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, FsspecStore)
            and other.uri == self.uri
            and other.storage_options == self.storage_options
        )

    def __hash__(self) -> int:
        return hash(self.uri)

    def __reduce__(self) -> tuple[Any, ...]:
        return FsspecStore, (self.uri, self.storage_options)

    def _open(self) -> tuple[int, "fsspec.AbstractFileSystem"]:
        return os.getpid(), _filesystem(self.protocol, self.uri, self.storage_options)

    def fsspec_filesystem(self) -> "fsspec.AbstractFileSystem":
        """Return the file system of this process."""
        process, filesystem = self._opened
        if process != os.getpid():
            self._opened = self._open()
            filesystem = self._opened[1]
        return filesystem

    @property
    def can_put_if_absent(self) -> bool:
        """Whether a commit cannot overwrite another one.

        For S3, three small requests test this once per bucket, server and process. Warns with `DeltaWarning`
        if the options ask for a lock, because a writer that takes one may put its commit over another.
        """
        if self.protocol != "s3":
            return self.protocol == "memory"
        key = (os.getpid(), self.filesystem_key, _authority(self.uri))
        if key not in _proven:
            try:
                if asks_for_lock(self.storage_options):
                    warnings.warn(_NO_LOCK, DeltaWarning, stacklevel=2)
                with self.reaching():
                    log = self.arrow_path("_delta_log")
                    _proven[key] = refuses_second_put(self.fsspec_filesystem(), log)
            except FileNotFoundError as error:
                remedy = s3_remedy(str(error))
                raise StorageError(f"cannot write to {self.uri!r}: {error}{remedy}") from error
        return _proven[key]

    @property
    def filesystem_key(self) -> Hashable:
        """Equal for stores with the same protocol, options and, where it matters, authority."""
        authority = "" if self.protocol in _BUCKETS else _authority(self.uri)
        return self.protocol, authority, repr(sorted(self.storage_options.items()))

    @contextlib.contextmanager
    def reaching(self, *, is_put: bool = False) -> Iterator[None]:
        """Convert errors of the libraries below to `StorageError`.

        A missing or existing file keeps Python's own error. A path below a file, which cannot exist, is not
        found. With `is_put` an `OSError` passes unchanged: the committer must check whether the put took
        place.
        """
        try:
            yield
        except NotADirectoryError as error:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), error.filename) from error
        except Exception as error:
            if not _is_of_transport(error):
                if is_put or not is_failure(error):
                    raise
                failure = storage_failure(error, self.uri)
                if self.protocol == "s3" and not isinstance(failure, OSError):
                    failure.args = (f"{str(failure).rstrip('.')}{s3_remedy(str(error))}",)
                raise failure from error
            what = without_secrets_of(self.uri, str(error) or type(error).__name__)
            remedy = s3_remedy(what) if self.protocol == "s3" else ""
            raise StorageError(f"cannot reach {self.uri!r}: {what.rstrip('.')}{remedy}") from error

    def location(self, name: str) -> str:
        """Return ``protocol://.../name``."""
        if name.startswith("/"):
            raise StorageError(f"{name!r} is a path of another file system than {self.uri!r}")
        if "\0" in name:
            raise StorageError(f"a file name holds a NUL character: {name!r}")
        if scheme_of(name) is None:
            return f"{self.uri}/{ensure_inside(name)}" if name else self.uri
        location = _normalise(name)
        if location.partition("://")[0] != self.protocol or not (
            self.protocol in _BUCKETS or _authority(location) == _authority(self.uri)
        ):
            raise StorageError(f"{name!r} is on another file system than {self.uri!r}")
        return location

    def arrow_path(self, name: str) -> str:
        """Return the path inside the file system: ``bucket/t/f`` on S3, ``/x/t/f`` in memory."""
        location = self.location(name)
        if self.protocol == "s3" and "?versionId=" in location:
            # s3fs would cut the name there and read another object.
            raise StorageError(f"{location!r}: '?versionId=' in a name of S3 is not supported")
        path: str = self.fsspec_filesystem()._strip_protocol(location)
        return path

    def list_from(self, folder: str, start: str = "") -> list[FileEntry]:
        """Return the files directly in `folder` from `start` on, sorted by name."""
        prefix = f"{folder.rstrip('/')}/" if folder else ""
        path = self.arrow_path(folder.rstrip("/")).rstrip("/")
        try:
            with self.reaching():
                if self.protocol == "s3":
                    found = list_s3_objects(self.fsspec_filesystem(), path, start)
                else:
                    found = self._list(path)
        except FileNotFoundError:
            return []
        # A path that is no folder is listed as itself, and an S3 folder may have an object of its own name.
        below = len(path) + 1
        return sorted(
            self._entry(prefix + base, info)
            for info in found
            if info["type"] == "file" and (base := info["name"][below:]) and base >= start
        )

    def list_recursive(self, folder: str = "") -> Iterator[FileEntry]:
        """Yield all files below `folder`."""
        prefix = f"{folder.rstrip('/')}/" if folder else ""
        path = self.arrow_path(folder.rstrip("/")).rstrip("/")
        below = len(path) + 1
        with self.reaching():
            for info in self._find(path):
                base = info["name"][below:]
                if base and not base.endswith("/"):
                    yield self._entry(prefix + base, info)

    def walk(self) -> Iterator[FolderListing]:
        """Yield what is in each folder, with statuses, from one listing of everything."""
        listings = {"": FolderListing("", [], [], [], [], [])}
        for entry in self.list_recursive():
            folder, _, base = entry.name.rpartition("/")
            if entry.name.startswith("/") or ".." in folder.split("/") or base == "..":
                continue  # an object store takes them for names of their own, and a table means other files
            listing = _listing_of(folder, listings)
            listing.files.append(base)
            if listing.statuses is not None:
                listing.statuses.append(FileStatus(entry.size, entry.modified_ms, None))
        pending = [""]
        while pending:
            listing = listings.pop(pending.pop())
            yield listing
            prefix = f"{listing.folder}/" if listing.folder else ""
            pending += [prefix + base for base in listing.folders]

    def real_folder(self, name: str) -> str | None:
        """Return the name of the folder relative to the root."""
        try:
            location = self.location(name)
        except StorageError:
            return None
        if location == self.uri:
            return ""
        prefix = f"{self.uri}/"
        return location.removeprefix(prefix) if location.startswith(prefix) else None

    def statuses(self, names: Sequence[str]) -> list[FileStatus | None]:
        """Return the status of each file; a folder, which an object store has not, is none."""
        return [self._status(name) for name in names]

    def _status(self, name: str) -> FileStatus | None:
        try:
            info = self._info(name)
        except FileNotFoundError:
            return None
        entry = self._entry(name, info)
        return FileStatus(entry.size, entry.modified_ms, None)

    def _list(self, path: str) -> list[dict[str, Any]]:
        filesystem = self.fsspec_filesystem()
        filesystem.invalidate_cache(path)
        found: list[dict[str, Any]] = filesystem.ls(path, detail=True)
        return found

    def _find(self, path: str) -> Iterator[dict[str, Any]]:
        if self.protocol in ("s3", "memory"):
            # One flat listing. For other file systems fsspec's find walks and skips folders that it may not
            # read.
            yield from self.fsspec_filesystem().find(path, detail=True).values()
            return
        pending = [path]
        while pending:
            try:
                found = self._list(pending.pop())
            except (FileNotFoundError, NotADirectoryError):
                continue
            for info in found:
                if info["type"] == "directory":
                    pending.append(info["name"])
                elif info["type"] == "file":
                    yield info

    def _entry(self, name: str, info: dict[str, Any]) -> FileEntry:
        modified = modified_ms(info)
        if modified is None:
            raise StorageError(f"{self.protocol}:// reports no modification time for {info['name']!r}")
        return FileEntry(name, info["size"], modified)

    def read(self, name: str) -> bytes:
        """Return the whole file."""
        with self.reaching():
            # s3fs would first ask for the size, to read a large object by many parallel requests.
            alone = {"max_concurrency": 1} if self.protocol == "s3" else {}
            data: bytes = self.fsspec_filesystem().cat_file(self.arrow_path(name), **alone)
        return data

    def read_range(self, name: str, offset: int, length: int) -> bytes:
        """Return `length` bytes from `offset`, fewer at the end of the file."""
        ensure_range(name, offset, length)
        if length == 0:
            self.size(name)
            return b""
        path = self.arrow_path(name)
        try:
            with self.reaching():
                data: bytes = self.fsspec_filesystem().cat_file(path, start=offset, end=offset + length)
        except OSError as error:
            # S3 refuses a range that begins beyond the end.
            if error.errno == errno.EINVAL and offset >= self.size(name):
                return b""
            raise
        return data

    def _info(self, name: str) -> dict[str, Any]:
        path = self.arrow_path(name)
        with self.reaching():
            info: dict[str, Any] = self.fsspec_filesystem().info(path)
        if info["type"] != "file":
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return info

    def size(self, name: str) -> int:
        """Return the size in bytes."""
        size: int = self._info(name)["size"]
        return size

    def identity(self, name: str) -> Hashable | None:
        """Return the size, and the tags and times that the file system reports; None if it reports none."""
        info = self._info(name)
        told = tuple(str(info[key]) for key in (*_TAGS, *_MODIFIED) if info.get(key) is not None)
        return (info["size"], *told) if told else None

    def exists(self, name: str) -> bool:
        """Whether a file of this name exists."""
        try:
            self._info(name)
        except FileNotFoundError:
            return False
        return True

    def put_if_absent(self, name: str, data: bytes, *more: memoryview) -> None:
        """Create the file, or raise `FileExistsError`; `StorageError` if the store cannot do this safely."""
        path = self.arrow_path(name)
        self._ensure_writable()
        data = b"".join((data, *more)) if more else data
        if self.protocol == "memory":
            put_in_memory(self.fsspec_filesystem(), path, data)
        else:
            with self.reaching(is_put=True):
                put_object_if_absent(self.fsspec_filesystem(), path, data)

    def write(self, name: str, data: bytes, *, durable: bool = True) -> None:
        """Create or replace the file; `StorageError` if the store is read-only."""
        path = self.arrow_path(name)
        self._ensure_writable()
        with self.reaching():
            self.fsspec_filesystem().pipe_file(path, data)

    def delete(self, name: str) -> None:
        """Delete the file if it exists; `StorageError` if the store is read-only."""
        path = self.arrow_path(name)
        self._ensure_writable()
        with contextlib.suppress(FileNotFoundError), self.reaching():
            self.fsspec_filesystem().rm_file(path)

    def delete_all(self, names: Sequence[str]) -> dict[str, Exception]:
        """Delete files, on S3 a thousand with a request; return why some could not be."""
        self._ensure_writable()
        failures: dict[str, Exception] = {}
        paths: dict[str, str] = {}
        for name in names:
            try:
                if self.protocol == "s3":
                    paths[self.arrow_path(name)] = name
                else:
                    self.delete(name)
            except (OSError, StorageError) as error:
                failures[name] = error
        with self.reaching():
            refused = delete_objects(self.fsspec_filesystem(), list(paths))
        return failures | {paths[p]: StorageError(f"{self.uri}: {why}") for p, why in refused.items()}

    def delete_folder(self, name: str) -> bool:
        """Return False: an object store has no folders."""
        return False

    def open_output(self, name: str) -> Output:
        """Return a stream that becomes a new file; `StorageError` if the store is read-only."""
        path = self.arrow_path(name)
        self._ensure_writable()
        if self.protocol == "memory":
            return _MemoryOutput(self, name)
        with self.reaching():
            return S3Output(self.fsspec_filesystem(), path, self.reaching)

    def _ensure_writable(self) -> None:
        if not self.can_put_if_absent:
            raise StorageError(
                f"{self.uri!r} is read-only here: {self.protocol}:// has no proven way to put a file only "
                "if it is absent, so a commit could overwrite another writer's"
            )

    def arrow_filesystem(self) -> "pyarrow.fs.FileSystem":
        """Return the file system wrapped for pyarrow; files opened with it may be used after a fork."""
        import pyarrow.fs

        return pyarrow.fs.PyFileSystem(_handler(self))


class _MemoryOutput(Output):
    """Bytes that are put under their name when the output ends."""

    def __init__(self, store: FsspecStore, name: str) -> None:
        self._buffer = io.BytesIO()
        self._filesystem = store.fsspec_filesystem()
        self._path = store.arrow_path(name)
        super().__init__(self._buffer)

    def _publish(self) -> None:
        put_in_memory(self._filesystem, self._path, self._buffer.getvalue())

    def _abandon(self) -> None:
        self._buffer.close()


@functools.cache
def _handler_class() -> Any:
    from pyarrow import PythonFile
    from pyarrow.fs import FSSpecHandler

    class StoreHandler(FSSpecHandler):  # type: ignore[misc]  # pyarrow has no types
        """Asks the store for its file system at each call, because a forked child has its own."""

        def __init__(self, store: FsspecStore) -> None:
            self._store = store

        @property
        def fs(self) -> Any:
            return self._store.fsspec_filesystem()

        def __reduce__(self) -> tuple[Any, ...]:
            return _handler, (self._store,)

        def get_file_info(self, paths: list[str]) -> Any:
            with self._store.reaching():
                return super().get_file_info(paths)

        def open_input_stream(self, path: str) -> Any:
            return self.open_input_file(path)

        def open_input_file(self, path: str) -> Any:
            with self._store.reaching():
                # fsspec's isfile is also False for a place that cannot be reached.
                if self.fs.info(path)["type"] != "file":
                    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
                return PythonFile(_ReadFile(self._store, self.fs.open(path, mode="rb")), mode="r")

    return StoreHandler


class _ReadFile:
    """A file of fsspec's that raises the store's errors."""

    def __init__(self, store: FsspecStore, file: Any) -> None:
        self._store = store
        self._file = file

    def read(self, *size: int) -> Any:
        with self._store.reaching():
            return self._file.read(*size)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def _handler(store: FsspecStore) -> Any:
    return _handler_class()(store)


def _is_of_transport(error: BaseException) -> bool:
    """Whether an error comes from the connection, rather than from the file or a program fault.

    botocore's errors are not `OSError`s, some of aiohttp's are, and neither library may be installed. So
    every error class that such a library defines itself counts as a connection error.
    """
    if isinstance(error, FileNotFoundError):
        # fsspec's HTTP raises this for every file of a server that it cannot connect to.
        return isinstance(error.__cause__, OSError) and _is_of_transport(error.__cause__)
    if isinstance(error, ConnectionError | TimeoutError):
        return True
    return not isinstance(error, DeltaError | PermissionError) and type(error).__module__ != "builtins"


def _listing_of(folder: str, listings: dict[str, FolderListing]) -> FolderListing:
    """The listing of a folder, entered with the folders above it if it is a new one."""
    listing = listings.get(folder)
    if listing is None:
        listing = listings[folder] = FolderListing(folder, [], [], [], [], [])
        above, _, base = folder.rpartition("/")
        _listing_of(above, listings).folders.append(base)
    return listing


def _normalise(uri: str) -> str:
    scheme, _, rest = uri.partition("://")
    protocol = _ALIASES.get(scheme.lower(), scheme.lower())
    if "::" in uri:
        raise StorageError(f"chained file systems are not supported: {uri!r}")
    if protocol == "memory":
        rest = rest.lstrip("/")
    rest = rest.rstrip("/")
    if not rest:
        raise StorageError(f"{uri!r} names no folder; give protocol://bucket/path")
    return f"{protocol}://{rest}"


def _authority(uri: str) -> str:
    return uri.partition("://")[2].partition("/")[0]


def _filesystem(protocol: str, uri: str, storage_options: Mapping[str, Any]) -> "fsspec.AbstractFileSystem":
    import fsspec.core

    if protocol == "memory":
        return memory_filesystem()
    if protocol == "s3":
        require("s3fs")
        options = s3fs_options(storage_options)
    else:
        options = dict(storage_options)
        ensure_options_known(protocol, options)
    # A cached listing would hide the commits of other writers.
    options["use_listings_cache"] = False
    try:
        filesystem, _ = fsspec.core.url_to_fs(uri, **options)
    except ImportError as error:
        raise library_missing(protocol, str(error)) from error
    except ValueError as error:
        raise refused_store(protocol, uri, error) from error
    except OSError as error:  # such as a library of the system that is not there
        raise storage_failure(error, uri) from error
    if protocol == "s3" and any(key.lower().endswith("max_retries") for key in storage_options):
        # s3fs repeats requests too, which would multiply the number that the caller gives.
        filesystem.retries = 1
    return filesystem


_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_TAGS = ("ETag", "etag", "generation", "version_id", "VersionId")
_MODIFIED = ("mtime", "LastModified", "last_modified", "modified", "updated", "created")


def modified_ms(info: Mapping[str, Any]) -> int | None:
    """Return the modification time in an fsspec ``info``, in milliseconds since 1970; None if it has none.

    File systems use different keys, and seconds, a datetime or ISO-8601 text.
    """
    for key in _MODIFIED:
        value = info.get(key)
        if isinstance(value, str):
            value = datetime.datetime.fromisoformat(value)
        if isinstance(value, datetime.datetime):
            if value.tzinfo is None:
                value = value.replace(tzinfo=datetime.UTC)
            return (value - _EPOCH) // datetime.timedelta(milliseconds=1)
        if isinstance(value, int | float):
            return int(value * 1000)
    return None
