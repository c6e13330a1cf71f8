"""Storage: files by name in every kind of store, and the spelling of file names in the log."""

from typing import TYPE_CHECKING

from deltaarrow.runtime.lazy import lazy_attributes
from deltaarrow.storage.data_filesystem import with_data_filesystem
from deltaarrow.storage.failures import IrregularFileError, system_failure
from deltaarrow.storage.local import LocalStore, is_temporary_name
from deltaarrow.storage.paths import canonical_path_sql, decode_path, encode_path
from deltaarrow.storage.registry import open_store
from deltaarrow.storage.store import FileEntry, FileStatus, FolderListing, IoStats, OpenFile, Output, Store
from deltaarrow.storage.store_view import StoreView

if TYPE_CHECKING:
    from deltaarrow.storage.fsspec_store import FsspecStore

__all__ = [
    "FileEntry",
    "FileStatus",
    "FolderListing",
    "FsspecStore",
    "IoStats",
    "IrregularFileError",
    "LocalStore",
    "OpenFile",
    "Output",
    "Store",
    "StoreView",
    "canonical_path_sql",
    "decode_path",
    "encode_path",
    "is_temporary_name",
    "open_store",
    "system_failure",
    "with_data_filesystem",
]

__getattr__ = lazy_attributes(__name__, {"FsspecStore": "deltaarrow.storage.fsspec_store"})
