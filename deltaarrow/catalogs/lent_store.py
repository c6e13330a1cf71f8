"""A store with temporary credentials from a catalog, which are renewed before they expire."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from deltaarrow.display.redaction import redacted
from deltaarrow.storage import FsspecStore

if TYPE_CHECKING:
    import fsspec

__all__ = ["Lender", "LentStore"]


class Lender(Protocol):
    """Lends the credentials of a table. Its pickle holds none of them."""

    def storage_options(self, *, writes: bool = False) -> Mapping[str, Any]:
        """Return storage options that are valid for a while; the same object until they are renewed.

        `writes` says whether they have to allow writing, which fewer users may than reading.
        """


class LentStore(FsspecStore):
    """A folder of an object store that is reached with lent credentials.

    They allow reading until something is written. The store pickles without the credentials; the lender is
    asked again where the pickle is loaded.
    """

    def __init__(self, uri: str, lender: Lender, writes: bool = False) -> None:
        self._lender, self._writes = lender, writes
        self._lent = lender.storage_options(writes=writes)
        self._honours: bool | None = None
        super().__init__(uri, self._lent)

    def __repr__(self) -> str:
        return f"LentStore({redacted(self.uri)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LentStore) and (other.uri, other._lender) == (self.uri, self._lender)

    def __hash__(self) -> int:
        return hash(self.uri)

    def __reduce__(self) -> tuple[Any, ...]:
        return LentStore, (self.uri, self._lender, self._writes)

    @property
    def can_put_if_absent(self) -> bool:
        """Whether a commit cannot overwrite another one; this is asked before something is written."""
        self._writes = True
        return super().can_put_if_absent

    @property
    def honours_conditions(self) -> bool:
        """Whether the server puts a file only if it is absent: one proof, whatever credentials follow."""
        if self._honours is None:
            self._honours = super().honours_conditions
        return self._honours

    def fsspec_filesystem(self) -> "fsspec.AbstractFileSystem":
        """Return the file system of this process, with credentials that are still valid."""
        lent = self._lender.storage_options(writes=self._writes)
        if lent is not self._lent:
            self.storage_options = dict(lent)
            self._opened = self._open()
            self._lent = lent
        return super().fsspec_filesystem()
