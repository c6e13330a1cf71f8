"""`Store`, the interface of everything that holds tables, and `Output`, a file being written.

The engine needs from a store bytes by name and one guarantee, on which the protocol's mutual
exclusion between writers rests: put-if-absent creates a file only if it is absent, whole or not at all.
"""

import abc
import contextlib
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import astuple, dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, Protocol, Self

from deltaarrow.errors import StorageError

if TYPE_CHECKING:
    import fsspec
    import pyarrow as pa
    import pyarrow.fs

__all__ = [
    "FileEntry",
    "FileStatus",
    "FolderListing",
    "IoStats",
    "OpenFile",
    "Output",
    "Store",
    "ensure_range",
]


class FileEntry(NamedTuple):
    """A file in a listing."""

    name: str
    """The name that the other methods of the store take."""
    size: int
    """Size in bytes."""
    modified_ms: int
    """Milliseconds since the Unix epoch."""


class FileStatus(NamedTuple):
    """What a store tells of one name; a link is not followed."""

    size: int
    """In bytes."""
    modified_ms: int
    """Milliseconds since the Unix epoch."""
    identity: Hashable | None
    """Equal for two names of one file, whatever links lead to it; None where a file has one name."""


@dataclass(frozen=True)
class IoStats:
    """Requests to an object store, by kind.

    A library may send more of them: pages of a listing, parts of a large file, repetitions.

    >>> IoStats(gets=5, received_bytes=900) - IoStats(gets=3, received_bytes=400)
    IoStats(lists=0, heads=0, gets=2, puts=0, deletes=0, received_bytes=500)
    """

    lists: int = 0
    """Listings of folders."""
    heads: int = 0
    """Requests for the size or the time of a file alone."""
    gets: int = 0
    """Requests for bytes."""
    puts: int = 0
    """Files written."""
    deletes: int = 0
    """Deletions; one may be of many files."""
    received_bytes: int = 0
    """Bytes of files received."""

    @property
    def requests(self) -> int:
        """The number of all requests."""
        return self.lists + self.heads + self.gets + self.puts + self.deletes

    def __sub__(self, other: Self) -> Self:
        """What came after `other`."""
        return type(self)(*(a - b for a, b in zip(astuple(self), astuple(other), strict=True)))


class FolderListing(NamedTuple):
    """What is directly in a folder, by base names."""

    folder: str
    """The name by which the store takes it; empty for the root."""
    files: list[str]
    """Files, and links that lead to no folder."""
    statuses: list[FileStatus] | None
    """Those of `files`, by position; None where they have not come with the names."""
    links: list[str]
    """Those of `files` that are links."""
    folders: list[str]
    """Folders that are entered next, but for those that a caller takes out of the list."""
    others: list[str]
    """Links to folders, which are never followed, and what is neither file nor folder."""


class OpenFile(Protocol):
    """A file of a store that stays open, for several readers.

    If the file is replaced meanwhile, reads give bytes of both: ask for the identity again after reading.
    """

    address: str
    """Where DuckDB finds it, on a connection that has the file system of the store."""
    identity: Hashable | None
    """As `Store.identity`, at the time when it was opened."""

    @property
    def nbytes(self) -> int:
        """The bytes in memory."""

    def arrow_file(self) -> "pa.NativeFile":
        """Return it as a file of pyarrow, with a position of its own."""


class Store(Protocol):
    """A folder of files, on a disk or in an object store.

    Names are decoded (see `deltaarrow.storage.paths`). They are relative to the root `uri`, or absolute on
    the same file system. Raises `StorageError` for an absolute name on another file system, and for a
    relative name that leaves the root. Stores can be pickled, and work in threads and after a fork.
    """

    uri: str
    """The root: ``/abs/path``, ``s3://bucket/t`` or ``memory://x/t``; no slash at the end."""
    is_local: bool
    """Whether names are paths of this machine's file system."""

    @property
    def storage_options(self) -> dict[str, Any]:
        """The options given to `open_store`, or what was lent since; may hold credentials."""

    @property
    def can_put_if_absent(self) -> bool:
        """Whether `put_if_absent` is proven to be safe; a store without it can only be read."""

    def io_stats(self) -> IoStats:
        """Return the requests of this process to the location; none for files of this machine."""

    def list_from(self, folder: str, start: str = "") -> list[FileEntry]:
        """Return the files directly in `folder` whose base name is `start` or after it, sorted by name.

        The listing is never cached. A missing folder is empty; an unreadable one is an error.
        """

    def list_recursive(self, folder: str = "") -> Iterator[FileEntry]:
        """Yield all files below `folder`, in no order. Links to folders are not followed."""

    def list_folder(self, folder: str) -> FolderListing | None:
        """Return what is in a folder; None where a file system has no such folder.

        `folder` is the root, or a name that `list_folder` or `walk` gives without empty parts.
        """

    def walk(self, folder: str = "") -> Iterator[FolderListing]:
        """Yield what is in a folder and in each one below it, a folder before those in it."""

    def real_folder(self, name: str) -> str | None:
        """Return the name by which `walk` finds a folder, which may be absolute or behind a link.

        None where it is not below the root.
        """

    def statuses(self, names: Sequence[str]) -> list[FileStatus | None]:
        """Return the status of each name, file or folder; None where nothing is there."""

    def read(self, name: str) -> bytes:
        """Return the whole file; `FileNotFoundError` if there is none."""

    def read_range(self, name: str, offset: int, length: int) -> bytes:
        """Return `length` bytes from `offset`, fewer at the end of the file."""

    def size(self, name: str) -> int:
        """Return the size in bytes; `FileNotFoundError` if there is no such file."""

    def identity(self, name: str) -> Hashable | None:
        """Return a value that changes when the file is replaced; None if the store has none.

        Raises `FileNotFoundError` if the file does not exist.
        """

    def open_file(self, name: str) -> OpenFile | None:
        """Return a file that several readers share, open; None where each opens it at no cost.

        Raises `FileNotFoundError` if the file does not exist.
        """

    def exists(self, name: str) -> bool:
        """Whether a file (not a folder) of this name exists."""

    def put_if_absent(self, name: str, data: bytes, *more: memoryview) -> None:
        """Create the file with `data` and `more`, durably and atomically: a reader sees all of it or nothing.

        Of several concurrent callers one succeeds; the others get `FileExistsError`.
        """

    def write(self, name: str, data: bytes, *, durable: bool = True) -> None:
        """Create or replace the file with `data` atomically.

        Without `durable` the file may be lost or torn if the machine fails: only for files that nobody relies
        on.
        """

    def delete(self, name: str) -> None:
        """Delete the file; nothing happens if it is absent."""

    def delete_all(self, names: Sequence[str]) -> dict[str, Exception]:
        """Delete files in few requests; return why some could not be. An absent one counts as deleted."""

    def delete_folder(self, name: str) -> bool:
        """Delete a folder if it is empty; tell whether it was. Object stores have no folders to delete."""

    def open_output(self, name: str, *, durable: bool = True) -> "Output":
        """Return a stream whose bytes become the new file `name` when it ends without an error.

        Without `durable`, the file is there at that time, and survives a failure of the machine after `sync`.
        """

    def sync(self, outputs: Sequence["Output"]) -> None:
        """Make published files that were opened without `durable` survive a failure of the machine."""

    def location(self, name: str) -> str:
        """Return the absolute name: a path for a local store, else a URI such as ``s3://bucket/t/f``."""

    def arrow_filesystem(self) -> "pyarrow.fs.FileSystem":
        """Return the file system for pyarrow; `arrow_path` gives the names inside it."""

    def arrow_path(self, name: str) -> str:
        """Return the path of the file inside `arrow_filesystem`."""

    def fsspec_filesystem(self) -> "fsspec.AbstractFileSystem | None":
        """Return the fsspec file system behind the store, None for a local one."""

    def reaching(self) -> contextlib.AbstractContextManager[None]:
        """Return a block in which errors of `fsspec_filesystem` become those of the store."""

    @property
    def filesystem_key(self) -> Hashable:
        """Equal for two stores whose file systems reach the same files with the same rights."""


class Output(abc.ABC):
    """A file being written. It appears under its name when it is complete, or never.

    In a ``with`` block it appears when the block ends without an exception, even if a library closed the
    stream earlier; otherwise it appears when it is closed. An output that is dropped unclosed leaves nothing.
    """

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self._in_block = False
        self._closed = False
        self._ended = False

    @abc.abstractmethod
    def _publish(self) -> None:
        """Make the written bytes durable and visible."""

    @abc.abstractmethod
    def _abandon(self) -> None:
        """Remove every trace of the written bytes; called at most once, also after a failed `_publish`."""

    @property
    def closed(self) -> bool:
        """Whether the stream takes no more bytes."""
        return self._closed

    def write(self, data: Any) -> int:
        """Append bytes or any buffer; return their number."""
        self._ensure_open()
        return self._raw.write(data)

    def flush(self) -> None:
        """Hand buffered bytes to the store; they do not become visible."""
        self._ensure_open()
        self._raw.flush()

    def tell(self) -> int:
        """Return the number of bytes written."""
        self._ensure_open()
        return self._raw.tell()

    def readable(self) -> bool:
        """Return False: an output can only be written."""
        return False

    def writable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return False: bytes are appended."""
        return False

    def close(self) -> None:
        """Accept no more bytes and, outside a ``with`` block, publish the file."""
        if not self._closed:
            self._closed = True
            if not self._in_block:
                self._end(keep=True)

    def discard(self) -> None:
        """Discard the file."""
        self._closed = True
        self._end(keep=False)

    def _ensure_open(self) -> None:
        if self._closed:
            raise ValueError("I/O operation on a closed output")

    def _end(self, *, keep: bool) -> None:
        if self._ended:
            return
        self._ended = True
        if not keep:
            self._abandon()
            return
        try:
            self._publish()
        except BaseException:
            self._abandon()
            raise

    def __enter__(self) -> Self:
        self._in_block = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._in_block = False
        self._closed = True
        self._end(keep=kind is None)

    def __del__(self) -> None:
        # Not `close`: half a file must not be published because its writer vanished.
        if not getattr(self, "_ended", True):
            self.discard()


def ensure_range(name: str, offset: int, length: int) -> None:
    """Raise `StorageError` unless `offset` and `length`, which may come from a table, are a valid range."""
    if offset < 0 or length < 0:
        raise StorageError(f"no such range of {name!r}: offset {offset}, length {length}")
