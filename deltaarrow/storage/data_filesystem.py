"""`with_data_filesystem`: a table whose data files are read by another file system than its log."""

from typing import Any, Never, cast

from deltaarrow.errors import StorageError, UnsupportedFeatureError
from deltaarrow.storage.store import Store

__all__ = ["with_data_filesystem"]

_LOG_FOLDER = "_delta_log/"


def with_data_filesystem(store: Store, filesystem: Any) -> Store:
    """Return a store that reads data files and deletion vectors by a file system of the caller.

    Args:
        store: the folder of the table, which reads the log.
        filesystem: one of pyarrow or fsspec, whose root is the folder of the table.

    Reads raise `StorageError` for a file outside the folder of the table, which `filesystem` does not reach.
    Raises `TypeError` for what is no file system.
    """
    return cast("Store", _DataFilesystemStore(store, _of_arrow(filesystem)))


def _of_arrow(filesystem: Any) -> Any:
    import pyarrow.fs

    if isinstance(filesystem, pyarrow.fs.FileSystem):
        return filesystem
    import fsspec

    if isinstance(filesystem, fsspec.AbstractFileSystem):
        return pyarrow.fs.PyFileSystem(pyarrow.fs.FSSpecHandler(filesystem))
    raise TypeError(f"filesystem is one of pyarrow or fsspec, not {type(filesystem).__qualname__}")


class _DataFilesystemStore:
    is_local = False

    def __init__(self, store: Store, filesystem: Any) -> None:
        self._store, self._filesystem = store, filesystem

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self._store, self._filesystem)

    def __repr__(self) -> str:
        return f"{self._store!r} with another file system for data"

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def arrow_filesystem(self) -> Any:
        return self._filesystem

    def arrow_path(self, name: str) -> str:
        if name.startswith("/") or "://" in name:
            raise StorageError(
                f"the file {name} is outside of the table {self.uri}, whose folder is all that the given"
                " filesystem reaches; leave filesystem out"
            )
        return name

    def read(self, name: str) -> bytes:
        if name.startswith(_LOG_FOLDER):
            return self._store.read(name)
        with self._filesystem.open_input_file(self.arrow_path(name)) as file:
            return bytes(file.read())

    def read_range(self, name: str, offset: int, length: int) -> bytes:
        if name.startswith(_LOG_FOLDER):
            return self._store.read_range(name, offset, length)
        with self._filesystem.open_input_file(self.arrow_path(name)) as file:
            file.seek(offset)
            return bytes(file.read(length))

    def open_file(self, name: str) -> None:
        return None

    def size(self, name: str) -> int:
        if name.startswith(_LOG_FOLDER):
            return self._store.size(name)
        (info,) = self._filesystem.get_file_info([self.arrow_path(name)])
        if not info.is_file:
            raise FileNotFoundError(name)
        return int(info.size)

    @property
    def filesystem_key(self) -> Never:
        """Refuse: DuckDB would read the files by the store."""
        self.fsspec_filesystem()

    def fsspec_filesystem(self) -> Never:
        raise UnsupportedFeatureError(
            "this read needs DuckDB, which does not read by the given filesystem; leave filesystem out",
            feature="filesystem",
        )
