"""The read-only store of a shared table: its files, and its versions as the server gives them."""

import os
import urllib.parse
from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Never, Protocol

from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.log import LogState, ServedLog
from deltaarrow.storage import FileEntry, FolderListing, FsspecStore, Output, Store
from deltaarrow.storage.sharing import SCHEME, SharedFiles, shared_filesystem
from deltaarrow.storage.store import ensure_range

if TYPE_CHECKING:
    import fsspec

__all__ = ["ServedTable", "SharedTableStore", "table_uri"]


class ServedTable(SharedFiles, Protocol):
    """A shared table: its files, and its versions as `ServedLog` has them."""

    subject: str
    """The table, for errors."""
    token: Hashable
    """Identifies this object among all tables of the process."""

    def newest_version(self) -> int:
        """See `ServedLog`."""

    def version_at(self, timestamp_ms: int) -> int:
        """See `ServedLog`."""

    def open_version(self, store: Store, version: int | None) -> LogState:
        """See `ServedLog`; `store` reads the files."""


def table_uri(endpoint: str, names: Sequence[str]) -> str:
    """Return the location of a shared table, for messages and comparisons. It cannot be opened.

    >>> table_uri("https://host:8080/prefix", ["sales", "shop", "or ders"])
    'deltasharing://host:8080/sales/shop/or%20ders'
    """
    path = "/".join(urllib.parse.quote(each, safe="").replace("~", "%7E") for each in names)
    return f"{SCHEME}://{urllib.parse.urlsplit(endpoint).netloc}/{path}"


class SharedTableStore(FsspecStore, ServedLog):
    """The store of a shared table."""

    def __init__(self, table: ServedTable) -> None:
        self._table = table
        super().__init__(table.uri)

    def __repr__(self) -> str:
        return f"SharedTableStore({self.uri!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SharedTableStore) and other._table == self._table

    def __hash__(self) -> int:
        return hash(self._table)

    def __reduce__(self) -> tuple[Any, ...]:
        return SharedTableStore, (self._table,)

    def _open(self) -> tuple[int, "fsspec.AbstractFileSystem"]:
        return os.getpid(), shared_filesystem(self._table)

    @property
    def filesystem_key(self) -> Hashable:
        """Equal for stores of the same `SharedTable` object, which holds the addresses of the files."""
        return self.uri, self._table.token

    # --- versions ---------------------------------------------------------------------------------

    def newest_version(self) -> int:
        """See `ServedLog`."""
        return self._table.newest_version()

    def version_at(self, timestamp_ms: int) -> int:
        """See `ServedLog`."""
        return self._table.version_at(timestamp_ms)

    def open_version(self, version: int | None) -> LogState:
        """See `ServedLog`."""
        return self._table.open_version(self, version)

    # --- files ------------------------------------------------------------------------------------

    def read_range(self, name: str, offset: int, length: int) -> bytes:
        """Return `length` bytes from `offset`, fewer at the end of the file."""
        ensure_range(name, offset, length)
        return super().read_range(name, offset, length) if length else b""

    def list_from(self, folder: str, start: str = "") -> list[FileEntry]:
        """Refuse: there is no folder."""
        self._refuse("its history and its log are not shared")

    def list_recursive(self, folder: str = "") -> Iterator[FileEntry]:
        """Refuse: there is no folder."""
        self._refuse("its folder is not shared")

    def list_folder(self, folder: str) -> FolderListing:
        """Refuse: there is no folder."""
        self._refuse("its folder is not shared")

    def walk(self, folder: str = "") -> Iterator[FolderListing]:
        """Refuse: there is no folder."""
        self._refuse("its folder is not shared")

    # --- writing ----------------------------------------------------------------------------------

    @property
    def can_put_if_absent(self) -> bool:
        """Refuse: nothing is written."""
        self._refuse_change()

    def put_if_absent(self, name: str, data: bytes, *more: memoryview) -> None:
        """Refuse."""
        self._refuse_change()

    def write(self, name: str, data: bytes, *, durable: bool = True) -> None:
        """Refuse."""
        self._refuse_change()

    def delete(self, name: str) -> None:
        """Refuse."""
        self._refuse_change()

    def delete_all(self, names: Sequence[str]) -> dict[str, Exception]:
        """Refuse."""
        self._refuse_change()

    def delete_folder(self, name: str) -> bool:
        """Refuse."""
        self._refuse_change()

    def open_output(self, name: str, *, durable: bool = True) -> Output:
        """Refuse."""
        self._refuse_change()

    def sync(self, outputs: Sequence[Output]) -> None:
        """Refuse."""
        self._refuse_change()

    def _refuse_change(self) -> Never:
        self._refuse("shared tables are only read")

    def _refuse(self, why: str) -> Never:
        raise UnsupportedFeatureError(
            f"cannot do this with {self._table.subject}: {why}", feature="Delta Sharing"
        )
