"""What an object that changes a table needs of the table."""

from typing import Protocol, runtime_checkable

from deltaarrow.snapshot import Snapshot

__all__ = ["StatementTarget"]


@runtime_checkable
class StatementTarget(Protocol):
    """A table at a version, which moves on with the commits that are made through it."""

    @property
    def snapshot(self) -> Snapshot:
        """The version that the next statement reads."""

    def follow_commit(self) -> None:
        """Move to the version that a statement has made."""
