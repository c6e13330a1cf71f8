"""`StatementTarget`: the interface of a table that `TableAlterer` and `TableMerger` use."""

from typing import Protocol, runtime_checkable

from deltaarrow.snapshot import Snapshot

__all__ = ["StatementTarget"]


@runtime_checkable
class StatementTarget(Protocol):
    """A table at a version, which follows the commits of its statements."""

    @property
    def snapshot(self) -> Snapshot:
        """The version that the next statement reads."""

    @property
    def dialect(self) -> str:
        """The SQL of expressions: ``spark`` or ``deltalake``."""

    def follow_commit(self) -> None:
        """Move to the version that a statement committed."""
