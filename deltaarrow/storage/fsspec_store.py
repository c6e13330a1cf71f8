"""The `Store` of every fsspec file system: always read, and written where put-if-absent is proven.

Put-if-absent is proven for ``memory://``, and for servers of S3, Google and Azure that demonstrably honour
conditional puts. All other file systems can only be read: writing is refused by name, because two writers
could commit the same version of a table.
"""

import contextlib
import datetime
import errno
import os
import re
import uuid
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from deltaarrow.display.hidden_causes import hide_secrets
from deltaarrow.display.redaction import redacted, without_secrets_of
from deltaarrow.errors import DeltaError, StorageError
from deltaarrow.runtime.lazy import lazy_attributes
from deltaarrow.storage.azure.requests import AzureService
from deltaarrow.storage.failures import is_failure, storage_failure
from deltaarrow.storage.fsspec_options import CACHE_OPTIONS, without_cache
from deltaarrow.storage.gcs.requests import GcsService
from deltaarrow.storage.hf.requests import HfService
from deltaarrow.storage.http import HttpService
from deltaarrow.storage.io_stats import counted, tally_of
from deltaarrow.storage.memory import MemoryService
from deltaarrow.storage.object_bytes import OpenedObjects
from deltaarrow.storage.paths import ensure_inside, scheme_of
from deltaarrow.storage.s3.requests import S3Service
from deltaarrow.storage.service import Service, authority_of
from deltaarrow.storage.sharing import SharingService
from deltaarrow.storage.store import (
    FileEntry,
    FileStatus,
    FolderListing,
    IoStats,
    OpenFile,
    Output,
    ensure_range,
)

if TYPE_CHECKING:
    import fsspec
    import pyarrow.fs

_lazily = lazy_attributes(
    __name__,
    {
        "shared_object": "deltaarrow.storage.open_objects",
        "arrow_handler": "deltaarrow.storage.arrow_files",
        "cached": "deltaarrow.storage.disk_cache",
    },
)

__all__ = ["FsspecStore", "modified_ms", "service_of"]

_SERVICES = {
    scheme: service
    for service in map(
        counted,
        (
            *(S3Service(), GcsService(), AzureService(), HfService(), HttpService(), MemoryService()),
            SharingService(),
        ),
    )
    for scheme in service.schemes
}
_READ_ONLY = counted(Service())

_proven: dict[Hashable, bool] = {}
"""(process, file system, bucket) -> whether the server honours conditional puts."""


def service_of(uri: str, storage_options: Mapping[str, Any]) -> Service:
    """Return the requests of the kind of store that the scheme of a location names."""
    service = _SERVICES.get((scheme_of(uri) or "").lower(), _READ_ONLY)
    if storage_options.keys().isdisjoint(CACHE_OPTIONS):
        return service
    with_cache: Service = _lazily("cached")(service, uri, storage_options)
    return with_cache


class FsspecStore:
    """A folder of an fsspec file system.

    `uri` is ``protocol://...``; `storage_options` are the arguments of the file system's class, and for S3,
    Google and Azure also deltalake's (see `deltaarrow.storage.option_table`). The file system is created
    again after a fork and after unpickling. Raises `MissingDependencyError` if the library for the protocol
    is not installed; reads raise `StorageError` if the place cannot be reached.
    """

    is_local = False

    def __init__(self, uri: str, storage_options: Mapping[str, Any] | None = None) -> None:
        self.storage_options = dict(storage_options or {})
        self.service = service_of(uri, self.storage_options)
        self.uri = self._normalised(uri)
        self.protocol = self.uri.partition("://")[0]
        self._opened = self._open()
        self._tally = tally_of(self.service, self.arrow_path(""))
        self.opened_objects = OpenedObjects(self, self.service)
        """Objects that are written once."""

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
        return os.getpid(), self.service.open(self.uri, without_cache(self.storage_options))

    def fsspec_filesystem(self) -> "fsspec.AbstractFileSystem":
        """Return the file system of this process."""
        process, filesystem = self._opened
        if process != os.getpid():
            self._opened = self._open()
            filesystem = self._opened[1]
        return filesystem

    def _normalised(self, uri: str) -> str:
        if "::" in uri:
            raise StorageError(f"chained file systems are not supported: {uri!r}")
        if not uri.partition("://")[2].strip("/"):
            raise StorageError(f"{uri!r} names no folder; give protocol://bucket/path")
        if self.service.has_bucket and not authority_of(uri):
            raise StorageError(f"{uri!r} names no bucket; give {uri.partition(':')[0]}://bucket/path")
        return self.service.normalised(uri, without_cache(self.storage_options))

    @property
    def can_put_if_absent(self) -> bool:
        """Whether a commit cannot overwrite another one; see `honours_conditions`.

        Raises `StorageError` if the options ask for a lock, because a writer that takes one may put its
        commit over another.
        """
        if self.service.is_safe is None and (
            refusal := self.service.refusal(without_cache(self.storage_options))
        ):
            raise StorageError(f"cannot write to {self.uri!r}: {refusal}")
        return self.honours_conditions

    @property
    def honours_conditions(self) -> bool:
        """Whether the server puts a file only if it is absent.

        A server that does not know the condition of a put ignores it silently, and two writers would
        overwrite each other's commits. So no server is trusted untested: three small requests test it once
        per bucket, server and process.
        """
        if self.service.is_safe is not None:
            return self.service.is_safe
        key = (os.getpid(), self.filesystem_key, authority_of(self.uri))
        if key not in _proven:
            try:
                with self.reaching():
                    _proven[key] = self._refuses_second_put()
            except FileNotFoundError as error:
                said = self._without_secrets(str(error))
                remedy = self.service.remedy(said)
                raise StorageError(f"cannot write to {self.uri!r}: {said}{remedy}") from error
        return _proven[key]

    def _refuses_second_put(self) -> bool:
        """Put a file into the log twice, and return whether the second put failed as it must.

        The file has a unique name that nobody reads, and is deleted again. If the answer to the first put is
        lost, the client repeats it, and that repetition fails.
        """
        filesystem = self.fsspec_filesystem()
        path = self.arrow_path(f"_delta_log/_put_if_absent_{uuid.uuid4()}")
        try:
            self.service.put_if_absent(filesystem, path, b"")
            self.service.put_if_absent(filesystem, path, b"")
        except FileExistsError:
            return True
        finally:
            with contextlib.suppress(FileNotFoundError):
                self.service.delete(filesystem, path)
        return False

    @property
    def filesystem_key(self) -> Hashable:
        """Equal for stores with the same protocol, options and, where it matters, authority."""
        return self.protocol, self.service.authority(self.uri), repr(sorted(self.storage_options.items()))

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
            hide_secrets(error, self._without_secrets)
            if isinstance(error, FileNotFoundError) and not _is_of_transport(error):
                raise
            if not _is_of_transport(error):
                if is_put or not is_failure(error):
                    raise
                failure = storage_failure(error, self.uri)
                said = self._without_secrets(str(failure))
                if not isinstance(failure, OSError):
                    remedy = self.service.remedy(str(error))
                    said = f"{said.rstrip('.')}{remedy}" if remedy else said
                    failure.args = (said,)
                raise failure from error
            # A file that seems to be absent has nothing but its address in its text.
            told = error.__cause__ if isinstance(error, FileNotFoundError) else None
            told = error if told is None else told
            what = self._without_secrets(str(told) or type(told).__name__).partition("\n")[0]
            remedy = self.service.remedy(f"{what} {type(told).__name__}")
            raise StorageError(f"cannot reach {self.uri!r}: {what.rstrip('.')}{remedy}") from told

    def _without_secrets(self, text: str) -> str:
        """A text of a library without the secrets of the location and of the options."""
        text = redacted(without_secrets_of(self.uri, text))
        for name, value in self.storage_options.items():
            if isinstance(value, str) and len(value) > 2 and _SECRET.search(name):
                text = text.replace(value, "***")
        return text

    def location(self, name: str) -> str:
        """Return ``protocol://.../name``."""
        if name.startswith("/"):
            raise StorageError(f"{name!r} is a path of another file system than {self.uri!r}")
        if "\0" in name:
            raise StorageError(f"a file name holds a NUL character: {name!r}")
        if scheme_of(name) is None:
            return f"{self.uri}/{ensure_inside(name)}" if name else self.uri
        service = self.service
        is_ours = service_of(name, self.storage_options) is service
        location = self._normalised(name) if is_ours else name
        if location.partition("://")[0] != self.protocol or (
            service.authority(location) != service.authority(self.uri)
        ):
            raise StorageError(f"{name!r} is on another file system than {self.uri!r}")
        return location

    def arrow_path(self, name: str) -> str:
        """Return the path inside the file system: ``bucket/t/f`` on S3, ``/x/t/f`` in memory."""
        return self.service.path(self.fsspec_filesystem(), self.location(name))

    def io_stats(self) -> IoStats:
        """Return the requests of this process to the location since its first store was opened."""
        return self._tally.stats()

    def list_from(self, folder: str, start: str = "") -> list[FileEntry]:
        """Return the files directly in `folder` from `start` on, sorted by name."""
        prefix = f"{folder.rstrip('/')}/" if folder else ""
        path = self.arrow_path(folder.rstrip("/")).rstrip("/")
        try:
            with self.reaching():
                found = self.service.list_files(self.fsspec_filesystem(), path, start)
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
            for info in self.service.find(self.fsspec_filesystem(), path):
                base = info["name"][below:]
                if base and not base.endswith("/") and info["type"] == "file":
                    yield self._entry(prefix + base, info)

    def list_folder(self, folder: str) -> FolderListing:
        """Return what is in a folder, with statuses; a missing one is empty."""
        listing = FolderListing(folder, [], [], [], [], [])
        path = self.arrow_path(folder).rstrip("/")
        below = len(path) + 1
        folders: dict[str, None] = {}
        try:
            with self.reaching():
                found = self.service.list_files(self.fsspec_filesystem(), path, "")
        except FileNotFoundError:
            return listing
        for info in found:
            base = info["name"][below:]
            if info["type"] == "directory":
                folders[base.removesuffix("/")] = None
            elif info["type"] == "file" and base not in ("", ".."):
                _add_file(listing, self._entry(base, info))
        listing.folders.extend(base for base in folders if base != "..")
        return listing

    def walk(self, folder: str = "") -> Iterator[FolderListing]:
        """Yield what is in each folder, with statuses, from one listing of everything."""
        listings = {folder: FolderListing(folder, [], [], [], [], [])}
        for entry in self.list_recursive(folder):
            above, _, base = entry.name.rpartition("/")
            if entry.name.startswith("/") or ".." in above.split("/") or base == "..":
                continue  # an object store takes them for names of their own, and a table means other files
            _add_file(_listing_of(above, listings), entry._replace(name=base))
        pending = [folder]
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

    def _entry(self, name: str, info: Mapping[str, Any]) -> FileEntry:
        modified = modified_ms(info)
        if modified is None:
            raise StorageError(f"{self.protocol}:// reports no modification time for {info['name']!r}")
        return FileEntry(name, info["size"], modified)

    def read(self, name: str) -> bytes:
        """Return the whole file."""
        with self.reaching():
            return self.service.read(self.fsspec_filesystem(), self.arrow_path(name))

    def read_range(self, name: str, offset: int, length: int) -> bytes:
        """Return `length` bytes from `offset`, fewer at the end of the file."""
        ensure_range(name, offset, length)
        if length == 0:
            self.size(name)
            return b""
        path = self.arrow_path(name)
        with self.reaching():
            try:
                return self.service.read_range(self.fsspec_filesystem(), path, offset, length)
            except Exception as error:
                if self.service.is_beyond_end(error) and offset >= self.size(name):
                    return b""
                raise

    def _info(self, name: str) -> Mapping[str, Any]:
        path = self.arrow_path(name)
        with self.reaching():
            info = self.service.info(self.fsspec_filesystem(), path)
        if info["type"] != "file":
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return info

    def size(self, name: str) -> int:
        """Return the size in bytes."""
        size: int = self._info(name)["size"]
        return size

    def identity(self, name: str) -> Hashable | None:
        """Return the size, and the tag or else the times that the store reports; None if it reports none."""
        return _identity_of(self._info(name))

    def open_file(self, name: str) -> OpenFile | None:
        """Return the object, open; None from a store whose files are read by fsspec."""
        if not self.service.reads_ranges:
            return None
        path = self.arrow_path(name)
        data = OpenedObjects(self, self.service).open(path)
        place = self.filesystem_key, path
        opened: OpenFile = _lazily("shared_object")(data, _identity_of(data.info), self.protocol, place)
        return opened

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
        with self.reaching(is_put=True):
            self.service.put_if_absent(self.fsspec_filesystem(), path, data)

    def write(self, name: str, data: bytes, *, durable: bool = True) -> None:
        """Create or replace the file; `StorageError` if the store is read-only."""
        path = self.arrow_path(name)
        self._ensure_writable()
        with self.reaching():
            self.service.write(self.fsspec_filesystem(), path, data)

    def delete(self, name: str) -> None:
        """Delete the file if it exists; `StorageError` if the store is read-only."""
        path = self.arrow_path(name)
        self._ensure_writable()
        with contextlib.suppress(FileNotFoundError), self.reaching():
            self.service.delete(self.fsspec_filesystem(), path)

    def delete_all(self, names: Sequence[str]) -> dict[str, Exception]:
        """Delete files in few requests; return why some could not be."""
        self._ensure_writable()
        failures: dict[str, Exception] = {}
        paths: dict[str, str] = {}
        for name in names:
            try:
                paths[self.arrow_path(name)] = name
            except (OSError, StorageError) as error:
                failures[name] = error
        with self.reaching():
            refused = self.service.delete_all(self.fsspec_filesystem(), list(paths))
        return failures | {
            paths[path]: StorageError(f"{self.uri}: {self._without_secrets(why)}")
            for path, why in refused.items()
        }

    def delete_folder(self, name: str) -> bool:
        """Return False: an object store has no folders."""
        return False

    def open_output(self, name: str, *, durable: bool = True) -> Output:
        """Return a stream that becomes a new file; `StorageError` if the store is read-only."""
        path = self.arrow_path(name)
        self._ensure_writable()
        with self.reaching():
            return self.service.open_output(self.fsspec_filesystem(), path, self)

    def sync(self, outputs: Sequence[Output]) -> None:
        """Do nothing: an object is durable when it is there."""

    def _ensure_writable(self) -> None:
        if not self.can_put_if_absent:
            raise StorageError(
                f"{self.uri!r} is read-only here: {self.protocol}:// has no proven way to put a file only "
                "if it is absent, so a commit could overwrite another writer's"
            )

    def arrow_filesystem(self) -> "pyarrow.fs.FileSystem":
        """Return the file system wrapped for pyarrow; files opened with it may be used after a fork."""
        import pyarrow.fs

        return pyarrow.fs.PyFileSystem(_lazily("arrow_handler")(self))


def _is_of_transport(error: BaseException) -> bool:
    """Whether an error comes from the connection, rather than from the file or a program fault.

    botocore's errors are not `OSError`s, some of aiohttp's are, and neither library may be installed. So
    every error class that such a library defines itself counts as a connection error.
    """
    if isinstance(error, FileNotFoundError):
        # fsspec's HTTP raises this for every file of which a server does not tell, whatever the reason is.
        cause = error.__cause__
        if type(cause).__module__.startswith("aiohttp."):
            return getattr(cause, "status", None) != _NOT_FOUND
        return isinstance(cause, OSError) and _is_of_transport(cause)
    if isinstance(error, ConnectionError | TimeoutError):
        return True
    return not isinstance(error, DeltaError | PermissionError) and type(error).__module__ != "builtins"


_NOT_FOUND = 404


def _add_file(listing: FolderListing, entry: FileEntry) -> None:
    """Add a file by its base name, with its status."""
    listing.files.append(entry.name)
    if listing.statuses is not None:
        listing.statuses.append(FileStatus(entry.size, entry.modified_ms, None))


def _listing_of(folder: str, listings: dict[str, FolderListing]) -> FolderListing:
    """The listing of a folder, entered with the folders above it if it is a new one."""
    listing = listings.get(folder)
    if listing is None:
        listing = listings[folder] = FolderListing(folder, [], [], [], [], [])
        above, _, base = folder.rpartition("/")
        _listing_of(above, listings).folders.append(base)
    return listing


def _identity_of(info: Mapping[str, Any]) -> Hashable | None:
    """As `FsspecStore.identity`, from fsspec's details of a file."""
    # s3fs gives an empty tag where a server gives none.
    told = [str(info[key]) for key in _TAGS if info.get(key)][:1]
    told = told or [str(info[key]) for key in _MODIFIED if info.get(key) is not None]
    return (info["size"], *told) if told else None


_SECRET = re.compile("secret|key|token|sas|password|connection_string|credential", re.IGNORECASE)
"""Names of options whose values no text shows."""

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_TAGS = ("generation", "ETag", "etag", "version_id", "VersionId")
"""Each tells a file from its replacement; the first is used, as not every answer has all."""
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
