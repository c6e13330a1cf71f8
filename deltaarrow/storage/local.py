"""The local file system as a `Store`: commits are atomic and durable under POSIX semantics.

Put-if-absent takes five steps: write a temporary file in the same folder, flush it to disk, ``link`` it to
its name (which fails if the name is taken), flush the folder, unlink the temporary name. A crash between two
steps leaves at most a hidden ``.<random>.tmp``, which is no file of the log.
"""

import contextlib
import errno
import io
import os
import re
import stat
import uuid
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from deltaarrow.errors import StorageError, StorageSystemError
from deltaarrow.runtime.gc_pause import gc_paused
from deltaarrow.storage.failures import IrregularFileError, naming_failures, storage_failure, writing
from deltaarrow.storage.paths import ensure_inside, scheme_of
from deltaarrow.storage.store import FileEntry, FileStatus, FolderListing, IoStats, Output, ensure_range

if TYPE_CHECKING:
    import pyarrow.fs

__all__ = ["LocalStore", "is_temporary_name"]

_Item = TypeVar("_Item")
_TEMPORARY = re.compile(r"\.[0-9a-f]{32}\.tmp")


def is_temporary_name(name: str) -> bool:
    """Whether a name without folder is one that only unfinished files have.

    >>> is_temporary_name(f".{uuid.uuid4().hex}.tmp"), is_temporary_name(".x.tmp")
    (True, False)
    """
    return _TEMPORARY.fullmatch(name) is not None


class LocalStore:
    """A folder of this machine's file system.

    `root` is made absolute against the current folder; it need not exist. Links are followed.
    """

    is_local = True
    can_put_if_absent = True

    def __init__(self, root: str, storage_options: Mapping[str, Any] | None = None) -> None:
        if not root or "\0" in root:
            raise StorageError(f"not a path: {root!r}; it is empty or holds a NUL character")
        self.uri = os.path.abspath(root)
        self._prefix = os.path.join(self.uri, "")
        self.storage_options = dict(storage_options or {})

    def __repr__(self) -> str:
        return f"LocalStore({self.uri!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LocalStore) and other.uri == self.uri

    def __hash__(self) -> int:
        return hash(self.uri)

    def location(self, name: str) -> str:
        """Return the absolute path of `name`."""
        if "://" in name and scheme_of(name) is not None:
            raise StorageError(f"{name!r} is not on the local file system, where {self.uri!r} is")
        if "\0" in name:
            raise StorageError(f"a file name holds a NUL character: {name!r}")
        if name.startswith("/"):  # shallow clones name files of other tables
            return name
        return self._prefix + ensure_inside(name) if name else self.uri

    def io_stats(self) -> IoStats:
        """Return no requests."""
        return IoStats()

    def list_from(self, folder: str, start: str = "") -> list[FileEntry]:
        """Return the files directly in `folder` from `start` on, sorted by name."""
        prefix, path = _prefix(folder), self.location(folder)
        try:
            # Listing names is cheap compared to the status of files, of which few are needed.
            with naming_failures(path):
                names = sorted(name for name in os.listdir(path) if name >= start)
        except (FileNotFoundError, NotADirectoryError):
            return []
        statuses = ((name, _status(f"{path}/{name}")) for name in names)
        return [
            _file_entry(prefix + name, status)
            for name, status in statuses
            if status is not None and stat.S_ISREG(status.st_mode)
        ]

    def list_recursive(self, folder: str = "") -> Iterator[FileEntry]:
        """Yield all files below `folder`."""
        pending = [(self.location(folder), _prefix(folder))]
        while pending:
            path, prefix = pending.pop()
            try:
                with naming_failures(path), os.scandir(path) as scan:
                    entries = list(scan)
            except (FileNotFoundError, NotADirectoryError):
                continue
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    pending.append((entry.path, f"{prefix}{entry.name}/"))
                elif (status := _file_status(entry)) is not None:
                    yield _file_entry(prefix + entry.name, status)

    def list_folder(self, folder: str) -> FolderListing | None:
        """Return what is in a folder; the status of a file is for `statuses`."""
        listing = FolderListing(folder, [], None, [], [], [])
        path = self.location(folder)
        try:
            with naming_failures(path), os.scandir(path) as entries:
                for entry in entries:
                    if entry.is_file(follow_symlinks=False):
                        listing.files.append(entry.name)
                    elif entry.is_dir(follow_symlinks=False):
                        listing.folders.append(entry.name)
                    elif entry.is_symlink() and not os.path.isdir(entry.path):
                        listing.files.append(entry.name)
                        listing.links.append(entry.name)
                    else:
                        listing.others.append(entry.name)
        except (FileNotFoundError, NotADirectoryError):
            return None
        return listing

    def walk(self, folder: str = "") -> Iterator[FolderListing]:
        """Yield what is in each folder."""
        pending = [folder]
        while pending:
            listing = self.list_folder(pending.pop())
            if listing is not None:
                yield listing
                pending += [_prefix(listing.folder) + base for base in listing.folders]

    def real_folder(self, name: str) -> str | None:
        """Return the folder that a name leads to, links followed, relative to the root."""
        try:
            path = self.location(name)
        except StorageError:
            return None
        root, real = os.path.realpath(self.uri), os.path.realpath(path)
        if real == root:
            return ""
        prefix = os.path.join(root, "")
        return real.removeprefix(prefix) if real.startswith(prefix) else None

    def statuses(self, names: Sequence[str]) -> list[FileStatus | None]:
        """Return what ``lstat`` tells; the identity is that of the file that a link leads to."""
        with gc_paused():
            return [_link_status(self.location(name)) for name in names]

    def read(self, name: str) -> bytes:
        """Return the whole file."""
        path = self.location(name)
        with naming_failures(path), _opened_to_read(path) as (descriptor, size):
            return _read_all(descriptor, size)

    def read_range(self, name: str, offset: int, length: int) -> bytes:
        """Return `length` bytes from `offset`, fewer at the end of the file."""
        ensure_range(name, offset, length)
        path = self.location(name)
        with naming_failures(path), _opened_to_read(path) as (descriptor, size):
            # Offset and length may come from a hostile table: read no more than the file holds.
            os.lseek(descriptor, min(offset, size), os.SEEK_SET)
            return _read_bytes(descriptor, min(length, max(0, size - offset)))

    def size(self, name: str) -> int:
        """Return the size in bytes."""
        return self._status_of(name).st_size

    def identity(self, name: str) -> Hashable:
        """Return the device and inode numbers, the size and the times of the file."""
        status = self._status_of(name)
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns

    def open_file(self, name: str) -> None:
        """Return None: opening a file costs nothing here."""

    def _status_of(self, name: str) -> os.stat_result:
        path = self.location(name)
        status = _status(path)
        if status is None or not stat.S_ISREG(status.st_mode):
            raise _no_such_file(path)
        return status

    def exists(self, name: str) -> bool:
        """Whether a file of this name exists."""
        status = _status(self.location(name))
        return status is not None and stat.S_ISREG(status.st_mode)

    def put_if_absent(self, name: str, data: bytes, *more: memoryview) -> None:
        """Create the file with the data, or raise `FileExistsError` and leave the existing one as it is."""
        path = self.location(name)
        with writing(path), _LocalOutput(path) as output:
            for part in (data, *more):
                output.write(part)

    def write(self, name: str, data: bytes, *, durable: bool = True) -> None:
        """Create or replace the file; without `durable` the call does not wait for the disk."""
        path = self.location(name)
        with writing(path), _LocalOutput(path, replace=True, durable=durable) as output:
            output.write(data)

    def delete(self, name: str) -> None:
        """Delete the file if it exists."""
        path = self.location(name)
        with contextlib.suppress(FileNotFoundError, NotADirectoryError), naming_failures(path):
            os.unlink(path)
        _remove_checksum(path)

    def delete_all(self, names: Sequence[str]) -> dict[str, Exception]:
        """Delete files one by one; return why some could not be."""
        failures: dict[str, Exception] = {}
        for name in names:
            try:
                self.delete(name)
            except (OSError, StorageError) as error:
                failures[name] = error
        return failures

    def delete_folder(self, name: str) -> bool:
        """Delete the folder if it is empty."""
        path = self.location(name)
        try:
            with naming_failures(path):
                os.rmdir(path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except StorageSystemError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                return False
            raise
        return True

    def open_output(self, name: str, *, durable: bool = True) -> Output:
        """Return a stream that becomes the new file `name`; `FileExistsError` at its end if it exists."""
        path = self.location(name)
        with writing(path):
            return _LocalOutput(path, durable=durable)

    def sync(self, outputs: Sequence[Output]) -> None:
        """Flush files and then their folders, each folder once; a disk flushes many at once in less time."""
        opened = [each for each in outputs if isinstance(each, _LocalOutput)]
        with writing(self.uri):
            _side_by_side(_LocalOutput.sync, opened)
            folders = {folder for each in opened for folder in each.changed_folders}
            for folder in tuple(folders):
                # Another writer may have made one of them, and not have flushed the folder above it yet.
                folders.update(self._folders_above(folder))
            _side_by_side(_sync_folder, sorted(folders))

    def _folders_above(self, folder: str) -> Iterator[str]:
        """Yield the folders of the store in which a folder is, the root last."""
        while folder.startswith(os.path.join(self.uri, "")):
            folder = os.path.dirname(folder)
            yield folder

    def arrow_filesystem(self) -> "pyarrow.fs.FileSystem":
        """Return pyarrow's local file system."""
        import pyarrow.fs

        return pyarrow.fs.LocalFileSystem()

    def arrow_path(self, name: str) -> str:
        """Return the absolute path of `name`.

        Raises `IrregularFileError` if it is that of a pipe or another thing which is no file.
        """
        path = self.location(name)
        # Where nothing is, the reader of the file says so.
        if name and (status := _status(path)) is not None:
            _ensure_regular(path, status)
        return path

    def fsspec_filesystem(self) -> None:
        """Return None: libraries take local paths as they are."""

    def reaching(self) -> contextlib.AbstractContextManager[None]:
        """Return a block in which system failures raise errors that name the folder."""
        return naming_failures(self.uri)

    @property
    def filesystem_key(self) -> Hashable:
        """Equal for all local stores."""
        return "local"


class _LocalOutput(Output):
    """A hidden file next to its target, linked or moved there at the end."""

    def __init__(self, path: str, *, replace: bool = False, durable: bool = True) -> None:
        self._path = path
        self._replace = replace
        self._durable = durable
        self._folder = os.path.dirname(path)
        self.changed_folders = {self._folder}
        """Folders that get a name, which `sync` makes durable."""
        self._temporary = os.path.join(self._folder, f".{uuid.uuid4().hex}.tmp")
        super().__init__(self._create())

    def _create(self) -> BinaryIO:
        # Mode 0666, so that the umask decides who may read the table, as for any file of the user.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            descriptor = os.open(self._temporary, flags, 0o666)
        except FileNotFoundError:
            parents = _make_folder(self._folder)
            if self._durable:
                for parent in parents:
                    _sync_folder(parent)
            else:
                self.changed_folders.update(parents)
            descriptor = os.open(self._temporary, flags, 0o666)
        return os.fdopen(descriptor, "wb", io.DEFAULT_BUFFER_SIZE)

    def write(self, data: Any) -> int:
        """Append bytes or any buffer; return their number."""
        with writing(self._path):
            return super().write(data)

    def flush(self) -> None:
        """Hand buffered bytes to the system."""
        with writing(self._path):
            super().flush()

    def _publish(self) -> None:
        with writing(self._path):
            self._publish_durably()

    def _publish_durably(self) -> None:
        self._raw.flush()
        # Large files are flushed while others are still being encoded.
        waits = not self._durable and not self._replace and self._raw.tell() < _LARGE
        if self._durable or (not self._replace and not waits):
            os.fsync(self._raw.fileno())
        if not waits:
            self._raw.close()
        if self._replace:
            # Before the content changes: Hadoop reads a file without a checksum, but not with a wrong one.
            _remove_checksum(self._path)
            os.replace(self._temporary, self._path)
        else:
            self._link()
        try:
            if self._durable:
                _sync_folder(self._folder)
        except OSError as error:
            raise StorageError(
                f"{self._path!r} is there, but may not survive a failure of the machine: {error}"
            ) from error
        finally:
            if not self._replace:
                self._remove_temporary()

    def sync(self) -> None:
        """Flush the published file; the descriptor that wrote it learns of a failure of the disk."""
        if not self._raw.closed:
            os.fsync(self._raw.fileno())
            self._raw.close()

    def discard(self) -> None:
        """Discard the file; one that is published stays."""
        super().discard()
        with contextlib.suppress(OSError):
            self._raw.close()

    def _link(self) -> None:
        try:
            os.link(self._temporary, self._path)
        except FileExistsError:
            # A network file system may repeat a request whose answer was lost. Then it reports that the name
            # is taken, by the very file that was just linked.
            if not os.path.samestat(os.stat(self._temporary), os.stat(self._path)):
                raise
        except OSError as error:
            if error.errno in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS):
                raise StorageError(
                    f"the file system of {self._path!r} has no hard links, without which a commit is not"
                    " safe; keep the table on another file system"
                ) from error
            raise

    def _abandon(self) -> None:
        with contextlib.suppress(OSError):
            self._raw.close()
        self._remove_temporary()

    def _remove_temporary(self) -> None:
        # A leftover hidden file is harmless; raising here would deny a commit that was made.
        with contextlib.suppress(OSError):
            os.unlink(self._temporary)


def _remove_checksum(path: str) -> None:
    """Remove the hidden file in which Hadoop, and so Spark, keeps the checksum of a local file."""
    folder, base = os.path.split(path)
    with contextlib.suppress(OSError):
        os.unlink(os.path.join(folder, f".{base}.crc"))


_LARGE = 8 << 20
_MOST_FLUSHES = 16
"""At once; a journal writes those that wait together."""


def _side_by_side(call: Callable[[_Item], None], items: Sequence[_Item]) -> None:
    if len(items) < 2:
        for each in items:
            call(each)
        return
    from concurrent.futures import ThreadPoolExecutor  # Commits of few files do without.

    with ThreadPoolExecutor(min(_MOST_FLUSHES, len(items)), thread_name_prefix="deltaarrow-sync") as pool:
        deque(pool.map(call, items), maxlen=0)


def _make_folder(folder: str) -> list[str]:
    """Make a folder and those above it; return the folders in which one was made, which are not flushed."""
    missing = []
    while not os.path.isdir(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    for path in reversed(missing):
        try:
            os.mkdir(path)
        except FileExistsError:
            # Another writer created it meanwhile; or it is a file, which must not read as "this commit
            # exists".
            if not os.path.isdir(path):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path) from None
    return [os.path.dirname(path) for path in reversed(missing)]


def _sync_folder(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some network file systems cannot flush folders; then there is nothing to wait for.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)


_NO_SUCH_FILE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG)
"""System errors for names that no file can have; such names may come from a table."""


_READ_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
"""A pipe is opened at once, whether or not it has a writer."""


@contextlib.contextmanager
def _opened_to_read(path: str) -> Iterator[tuple[int, int]]:
    """Open a regular file and yield its descriptor and size.

    A folder, a pipe or a device is no file: a pipe may never end.
    """
    try:
        descriptor = os.open(path, _READ_FLAGS)
    except OSError as error:
        if error.errno in _NO_SUCH_FILE:
            raise _no_such_file(path) from None
        if error.errno == errno.ENXIO:
            raise IrregularFileError(path, stat.S_IFSOCK) from None
        raise
    try:
        status = os.fstat(descriptor)
        _ensure_regular(path, status)
        yield descriptor, status.st_size
    finally:
        os.close(descriptor)


def _read_all(descriptor: int, size: int) -> bytes:
    """Read a file to its end; `size` is what its status says, which may be less than there is."""
    parts = [os.read(descriptor, size + 1)]
    if len(parts[0]) == size:
        return parts[0]
    while parts[-1]:
        parts.append(os.read(descriptor, max(size, 1 << 16)))
    return b"".join(parts)


def _read_bytes(descriptor: int, size: int) -> bytes:
    """Read so many bytes, fewer at the end of the file."""
    data = os.read(descriptor, size)
    if len(data) == size:
        return data
    parts = [data]
    while data and (size := size - len(data)):
        data = os.read(descriptor, size)
        parts.append(data)
    return b"".join(parts)


def _ensure_regular(path: str, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise IrregularFileError(path, status.st_mode)


def _no_such_file(path: str) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


def _status(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError as error:
        if error.errno in _NO_SUCH_FILE:
            return None
        raise storage_failure(error, path) from error


def _file_status(entry: os.DirEntry[str]) -> os.stat_result | None:
    """Return the status of a file; None if it is no file, or was deleted after the folder was read."""
    try:
        return entry.stat() if entry.is_file() else None
    except OSError as error:
        if error.errno in _NO_SUCH_FILE:
            return None
        raise storage_failure(error, entry.path) from error


def _link_status(path: str) -> FileStatus | None:
    """The status of a name, with the identity of what it leads to; None where nothing is there."""
    try:
        found = os.lstat(path)
        target = os.stat(path) if stat.S_ISLNK(found.st_mode) else found
    except OSError as error:
        if error.errno not in _NO_SUCH_FILE:
            raise storage_failure(error, path) from error
        if not os.path.islink(path):
            return None
        target = found = os.lstat(path)
    return FileStatus(found.st_size, found.st_mtime_ns // 1_000_000, (target.st_dev, target.st_ino))


def _file_entry(name: str, status: os.stat_result) -> FileEntry:
    return FileEntry(name, status.st_size, status.st_mtime_ns // 1_000_000)


def _prefix(folder: str) -> str:
    return f"{folder.rstrip('/')}/" if folder else ""
