"""`DeltaStorageHandler`: the folder of a table as a file system of pyarrow."""

import os
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa
import pyarrow.fs as fs

from deltaarrow.runtime.sizes import ensure_sizes
from deltaarrow.storage import open_store

if TYPE_CHECKING:
    from deltaarrow.table import DeltaTable

__all__ = ["DeltaStorageHandler"]


_BUFFER_SIZE = "max_buffer_size"
_SMALLEST_PART = 5 << 20


class DeltaStorageHandler(fs.FileSystemHandler):  # type: ignore[misc] # pyarrow is not typed
    """The files in a folder, for `pyarrow.fs.PyFileSystem`; paths are relative to the folder.

    Folders need not be made before files are written into them, as on object stores.

    Args:
        table_uri: the folder, as for `DeltaTable`.
        options: credentials and endpoints, as ``storage_options`` of `DeltaTable`; and ``max_buffer_size``,
            the bytes that a stream gathers before it writes them, with a warning below 5 MiB.
        known_sizes: the sizes of files in bytes by path, which are then not looked up.

    >>> import tempfile
    >>> files = fs.PyFileSystem(DeltaStorageHandler(tempfile.mkdtemp()))
    >>> with files.open_output_stream("notes/a.txt") as stream:
    ...     _ = stream.write(b"text")
    >>> files.get_file_info("notes/a.txt").size
    4
    """

    def __init__(
        self,
        table_uri: str,
        options: Mapping[str, str] | None = None,
        known_sizes: Mapping[str, int] | None = None,
    ) -> None:
        self._uri, self._options = table_uri, dict(options or {})
        self._sizes = {_inside(path): size for path, size in (known_sizes or {}).items()}
        others = {name: value for name, value in self._options.items() if name != _BUFFER_SIZE}
        self._buffer_size = _buffer_size(self._options.get(_BUFFER_SIZE))
        store = open_store(table_uri, others or None)
        self._files = fs.SubTreeFileSystem(store.arrow_path(""), store.arrow_filesystem())

    @classmethod
    def from_table(
        cls,
        table: "DeltaTable",
        options: Mapping[str, str] | None = None,
        known_sizes: Mapping[str, int] | None = None,
    ) -> Self:
        """Return the files in the folder of a table, with its options unless others are given."""
        return cls(table.snapshot.store.uri, options or table.snapshot.store.storage_options, known_sizes)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle as the arguments; options, secrets included, are among them."""
        return type(self), (self._uri, self._options, self._sizes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeltaStorageHandler) and other.__reduce__() == self.__reduce__()

    __hash__ = None  # type: ignore[assignment]

    def equals(self, other: object) -> bool:
        """Whether another handler shows the same folder with the same options."""
        return self == other

    def get_type_name(self) -> str:
        """Return the name of the kind of file system."""
        return "deltaarrow"

    def normalize_path(self, path: str) -> str:
        """Return the path as it is."""
        return path

    def get_file_info(self, paths: list[str]) -> list[fs.FileInfo]:
        """Return what is known of each path; a path without a file has the type ``NotFound``."""
        return list(map(self._shown, paths, self._files.get_file_info([_inside(each) for each in paths])))

    def get_file_info_selector(self, selector: fs.FileSelector) -> list[fs.FileInfo]:
        """Return the files and folders in a folder."""
        below = fs.FileSelector(
            _inside(selector.base_dir), allow_not_found=selector.allow_not_found, recursive=selector.recursive
        )
        # Paths begin as the folder does, which pyarrow takes from them to find partitions.
        root = "/" if selector.base_dir.startswith("/") else ""
        return [self._shown(root + each.path, each) for each in self._files.get_file_info(below)]

    def create_dir(self, path: str, recursive: bool = True) -> None:
        """Make a folder."""
        self._files.create_dir(_inside(path), recursive=recursive)

    def delete_dir(self, path: str) -> None:
        """Delete a folder and what is in it; nothing happens if there is none."""
        if self._files.get_file_info(_inside(path)).type == fs.FileType.Directory:
            self._files.delete_dir(_inside(path))

    def delete_dir_contents(self, path: str, missing_dir_ok: bool = False) -> None:
        """Delete what is in a folder."""
        self._files.delete_dir_contents(_inside(path), missing_dir_ok=missing_dir_ok)

    def delete_root_dir_contents(self) -> None:
        """Delete everything in the folder of the table."""
        self._files.delete_dir_contents("", accept_root_dir=True)

    def delete_file(self, path: str) -> None:
        """Delete a file."""
        self._files.delete_file(_inside(path))

    def move(self, src: str, dest: str) -> None:
        """Rename a file."""
        self._files.move(_inside(src), _inside(dest))

    def copy_file(self, src: str, dest: str) -> None:
        """Copy a file."""
        self._files.copy_file(_inside(src), _inside(dest))

    def open_input_stream(self, path: str) -> pa.NativeFile:
        """Open a file for reading from its beginning."""
        return self._files.open_input_stream(_inside(path))

    def open_input_file(self, path: str) -> pa.NativeFile:
        """Open a file for reading at any place."""
        file = self._files.open_input_file(_inside(path))
        size = self._sizes.get(_inside(path))
        return file if size is None else pa.PythonFile(_OfKnownSize(file, size), mode="r")

    def open_output_stream(self, path: str, metadata: Mapping[str, str] | None = None) -> pa.NativeFile:
        """Open a file for writing; a file that is there is replaced."""
        folder, _, _ = _inside(path).rpartition("/")
        if folder:
            self._files.create_dir(folder, recursive=True)
        size = self._buffer_size
        if size is not None and size < _SMALLEST_PART:
            warnings.warn(
                f"{_BUFFER_SIZE} is {size} bytes, less than {_SMALLEST_PART}: the smallest part of an upload"
                " to an object store",
                UserWarning,
                stacklevel=2,
            )
        return self._files.open_output_stream(_inside(path), metadata=metadata, buffer_size=size)

    def open_append_stream(self, path: str, metadata: Mapping[str, str] | None = None) -> pa.NativeFile:
        """Refuse: object stores cannot append to files."""
        raise NotImplementedError("files cannot be appended to; write a new file")

    def _shown(self, path: str, found: fs.FileInfo) -> fs.FileInfo:
        size = self._sizes.get(_inside(path), found.size)
        return fs.FileInfo(path, type=found.type, size=size, mtime_ns=found.mtime_ns)


def _buffer_size(given: str | int | None) -> int | None:
    """The size that an option gives as a number or as its text. `ValueError` if it is none."""
    size = int(given) if isinstance(given, str) and given.isdecimal() else given
    ensure_sizes(**{_BUFFER_SIZE: size})
    return None if size is None else int(size)


def _inside(path: str) -> str:
    """The path relative to the folder: pyarrow also gives paths that begin with a slash."""
    return path.strip("/")


class _OfKnownSize:
    """An open file that tells a size which it was given."""

    def __init__(self, file: pa.NativeFile, size: int) -> None:
        self._file, self._size = file, size

    def size(self) -> int:
        return self._size

    def seek(self, position: int, whence: int = os.SEEK_SET) -> int:
        if whence == os.SEEK_END:
            position, whence = self._size + position, os.SEEK_SET
        found: int = self._file.seek(position, whence)
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)
