"""`Service`: the requests of one kind of store, the part that differs below `FsspecStore`.

The base class reads any file system of fsspec and writes none. A store that can be written has a subclass
with a put-if-absent, which `FsspecStore` proves on each bucket before the first commit. Paths are those
inside the file system: ``bucket/t/f``.
"""

import io
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from deltaarrow.errors import StorageError
from deltaarrow.storage.failures import storage_failure
from deltaarrow.storage.fsspec_options import ensure_options_known, library_missing, refused_store
from deltaarrow.storage.store import Output

if TYPE_CHECKING:
    import fsspec

__all__ = [
    "PART_BYTES",
    "TAIL_BYTES",
    "OutputStore",
    "PartsOutput",
    "RequestBody",
    "Service",
    "authority_of",
    "delete_each",
    "open_filesystem",
    "prefix_of",
    "remedy_of",
    "split_path",
]

PART_BYTES = 8 << 20
"""The size of the parts in which a large file is sent."""

TAIL_BYTES = 64 << 10
"""The last bytes of a file that are asked for with its size: most footers of Parquet are shorter."""

_DELETERS = 16
"""Files that are deleted at the same time."""


class OutputStore(Protocol):
    """What a file that is being written needs of its store."""

    def fsspec_filesystem(self) -> "fsspec.AbstractFileSystem":
        """Return the file system, with credentials that are valid now."""

    def reaching(self) -> AbstractContextManager[None]:
        """Return a block that converts errors of the libraries below to those of the store."""


class Service:
    """A kind of store: any file system of fsspec, which is only read."""

    schemes: tuple[str, ...] = ()
    """The first is the one in the store's URI; the others are further spellings of it."""
    is_safe: bool | None = False
    """Whether put-if-absent is safe; None if each bucket must prove it."""
    has_bucket = False
    """Whether a location begins with the name of a bucket."""
    reads_ranges = False
    """Whether `read_range` reads Parquet files too, with fewer requests than a file of fsspec's."""

    def normalised(self, uri: str, storage_options: Mapping[str, Any]) -> str:
        """Return the one spelling of a location, without a slash at the end."""
        scheme, _, rest = uri.partition("://")
        protocol = self.schemes[0] if self.schemes else scheme.lower()
        return f"{protocol}://{rest.rstrip('/')}"

    def authority(self, uri: str) -> str:
        """Return what of a normalised location a file system is made for; empty if it reaches all."""
        return authority_of(uri)

    def open(self, uri: str, storage_options: Mapping[str, Any]) -> "fsspec.AbstractFileSystem":
        """Return the file system for a normalised location."""
        protocol, options = uri.partition("://")[0], dict(storage_options)
        ensure_options_known(protocol, options)
        return open_filesystem(protocol, uri, options)

    def path(self, filesystem: "fsspec.AbstractFileSystem", location: str) -> str:
        """Return the path of a normalised location inside the file system."""
        path: str = filesystem._strip_protocol(location)
        return path

    def list_files(
        self, filesystem: "fsspec.AbstractFileSystem", path: str, start: str
    ) -> Sequence[Mapping[str, Any]]:
        """Return fsspec's details of what is directly in a folder from `start` on; maybe a few before it.

        Of a folder in it there are ``name`` and ``type``, maybe more than once.
        """
        filesystem.invalidate_cache(path)
        found: list[dict[str, Any]] = filesystem.ls(path, detail=True)
        return found

    def find(self, filesystem: "fsspec.AbstractFileSystem", path: str) -> Iterator[Mapping[str, Any]]:
        """Yield fsspec's details of all files below a folder.

        fsspec's own find skips folders that it may not read.
        """
        pending = [path]
        while pending:
            try:
                found = self.list_files(filesystem, pending.pop(), "")
            except (FileNotFoundError, NotADirectoryError):
                continue
            for info in found:
                if info["type"] == "directory":
                    pending.append(info["name"])
                elif info["type"] == "file":
                    yield info

    def info(self, filesystem: "fsspec.AbstractFileSystem", path: str) -> Mapping[str, Any]:
        """Return fsspec's details of a file; what is no file has another ``type``, or is not found."""
        info: dict[str, Any] = filesystem.info(path)
        return info

    def info_and_tail(
        self, filesystem: "fsspec.AbstractFileSystem", path: str
    ) -> tuple[Mapping[str, Any], bytes]:
        """Return `info` of a file and, from a store that gives both at once, its last `TAIL_BYTES`."""
        return self.info(filesystem, path), b""

    def read(self, filesystem: "fsspec.AbstractFileSystem", path: str) -> bytes:
        """Return a whole file."""
        data: bytes = filesystem.cat_file(path)
        return data

    def read_range(
        self, filesystem: "fsspec.AbstractFileSystem", path: str, offset: int, length: int
    ) -> bytes:
        """Return `length` bytes from `offset`, fewer at the end of the file."""
        data: bytes = filesystem.cat_file(path, start=offset, end=offset + length)
        return data

    def is_beyond_end(self, error: BaseException) -> bool:
        """Whether the error of `read_range` may mean that the range begins beyond the end of the file."""
        return False

    def put_if_absent(self, filesystem: "fsspec.AbstractFileSystem", path: str, data: bytes) -> None:
        """Create a file, or raise `FileExistsError`."""
        raise StorageError("no put-if-absent")

    def write(self, filesystem: "fsspec.AbstractFileSystem", path: str, data: bytes) -> None:
        """Create or replace a file."""
        filesystem.pipe_file(path, data)

    def delete(self, filesystem: "fsspec.AbstractFileSystem", path: str) -> None:
        """Delete a file; `FileNotFoundError` if there is none, or nothing where the server does not tell."""
        filesystem.rm_file(path)

    def delete_all(self, filesystem: "fsspec.AbstractFileSystem", paths: Sequence[str]) -> dict[str, str]:
        """Delete files in few requests; return why some could not be. An absent one counts as deleted."""
        raise StorageError("no deletion")

    def open_output(self, filesystem: "fsspec.AbstractFileSystem", path: str, store: OutputStore) -> Output:
        """Return a stream that becomes a new file."""
        raise StorageError("no output")

    def refusal(self, storage_options: Mapping[str, Any]) -> str:
        """Return why a table with these options cannot be written; empty if it can."""
        return ""

    def remedy(self, said: str) -> str:
        """Return the end of a message on a refusal: what to do; empty if that is unknown."""
        return ""


def open_filesystem(protocol: str, uri: str, options: dict[str, Any]) -> "fsspec.AbstractFileSystem":
    """Return the file system that fsspec knows for a scheme."""
    import fsspec.core

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
    return filesystem


def delete_each(
    service: Service, filesystem: "fsspec.AbstractFileSystem", paths: Sequence[str]
) -> dict[str, str]:
    """Delete files by a request for each, several at a time; return why some could not be deleted."""

    def failure(path: str) -> str | None:
        try:
            service.delete(filesystem, path)
        except FileNotFoundError:
            return None
        except Exception as error:
            return str(error) or type(error).__name__
        return None

    if not paths:
        return {}
    with ThreadPoolExecutor(min(_DELETERS, len(paths))) as pool:
        found = zip(paths, pool.map(failure, paths), strict=True)
        return {path: why for path, why in found if why is not None}


def authority_of(uri: str) -> str:
    """Return the bucket or host of a location."""
    return uri.partition("://")[2].partition("/")[0]


def split_path(path: str) -> tuple[str, str]:
    """Return the bucket, and the name in it, of a path inside an object store."""
    bucket, _, key = path.partition("/")
    return bucket, key


def prefix_of(key: str) -> str:
    """Return what the names of all objects below a folder begin with."""
    return f"{key.rstrip('/')}/" if key else ""


def remedy_of(remedies: Mapping[str, str], said: str) -> str:
    """Return the remedy whose key, in lower case, is a part of what a server or its client says."""
    found = next((remedy for part, remedy in remedies.items() if part in said.lower()), None)
    return "" if found is None else f"; {found}"


class RequestBody(io.BytesIO):
    """Bytes of a request, which a client may send again after it has closed them."""

    def close(self) -> None:
        """Go back to the beginning."""
        self.seek(0)


class PartsOutput(Output):
    """Bytes that are put by one request, or sent in parts where they are many.

    If the answer to the last request is lost, its repetition finds the file there. The MD5 sum that the
    server keeps of it shows whether it has the bytes of this output.
    """

    def __init__(self, path: str, store: OutputStore) -> None:
        import hashlib  # Tables that are only read do not need it.

        self._path, self._store = path, store
        self._md5 = hashlib.md5(usedforsecurity=False)
        self._sent = 0
        super().__init__(io.BytesIO())

    @property
    def _filesystem(self) -> "fsspec.AbstractFileSystem":
        return self._store.fsspec_filesystem()

    def _send(self, part: bytes) -> None:
        """Send a part that is not the last."""
        raise NotImplementedError

    def _finish(self, rest: bytes) -> None:
        """Send the last part, or all, and make the file appear if it is absent."""
        raise NotImplementedError

    def _stored_md5(self) -> bytes | None:
        """Return the MD5 sum that the server keeps of the file."""
        raise NotImplementedError

    def _cancel(self) -> None:
        """Delete the parts that were sent."""

    def write(self, data: Any) -> int:
        """Append bytes or any buffer, sending each full part; return their number."""
        written = super().write(data)
        if self._raw.tell() > PART_BYTES:
            view = memoryview(self._taken())
            place = 0
            # The last part, which completes the file, must not be empty.
            while len(view) - place > PART_BYTES:
                part = bytes(view[place : place + PART_BYTES])
                with self._store.reaching():
                    self._send(part)
                self._md5.update(part)
                self._sent += len(part)
                place += len(part)
            self._raw.write(view[place:])
        return written

    def tell(self) -> int:
        """Return the number of bytes written."""
        return self._sent + super().tell()

    def _taken(self) -> bytes:
        buffer, self._raw = self._raw, io.BytesIO()
        buffer.seek(0)
        return buffer.read()

    def _publish(self) -> None:
        rest = self._taken()
        self._md5.update(rest)
        with self._store.reaching():
            try:
                self._finish(rest)
            except Exception:
                if not self._is_there():
                    raise

    def _is_there(self) -> bool:
        """Whether the file has the bytes of this output; False if that cannot be found out."""
        try:
            return self._stored_md5() == self._md5.digest()
        except Exception:
            return False

    def _abandon(self) -> None:
        self._raw = io.BytesIO()
        if self._sent:
            # Leftover parts are harmless; raising here would hide why the output was abandoned.
            try:
                self._cancel()
            except Exception:
                return
