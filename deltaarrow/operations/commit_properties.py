"""What a caller may say of a commit, with the names and arguments of ``deltalake``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deltaarrow.actions import ensure_commit_metadata

__all__ = ["CommitProperties", "PostCommitHookProperties", "Transaction"]


@dataclass(frozen=True)
class Transaction:
    """The progress of an application, to be committed along with its data."""

    app_id: str
    version: int
    last_updated: int | None = None


@dataclass(frozen=True)
class CommitProperties:
    """What goes into a commit beside its data.

    Args:
        custom_metadata: further keys of `commitInfo`, shown by history: JSON values by names that it has no
            meaning for, and the texts ``userMetadata``, ``userName`` and ``userId``.
        max_commit_retries: how often a commit is tried again after another writer was first; 15 if None.
        app_transactions: how far applications have got. A write whose transactions the table has already
            is not repeated.

    Raises:
        InvalidCommitMetadataError: `commitInfo` has a meaning for a key, or a value is no JSON.
        ValueError: `max_commit_retries` is negative.
    """

    custom_metadata: Mapping[str, Any] | None = None
    max_commit_retries: int | None = None
    app_transactions: Sequence[Transaction] | None = None

    def __post_init__(self) -> None:
        """Refuse a number that means nothing, and metadata that a commit cannot have."""
        ensure_commit_metadata(self.custom_metadata or {})
        if self.max_commit_retries is not None and self.max_commit_retries < 0:
            raise ValueError("max_commit_retries must not be negative")


@dataclass(frozen=True)
class PostCommitHookProperties:
    """What happens after a commit.

    Args:
        create_checkpoint: whether a checkpoint is written every `delta.checkpointInterval` commits.
        cleanup_expired_logs: whether expired log files are deleted, after every commit if True and never if
            False; after a checkpoint, where `delta.enableExpiredLogCleanup` is on, if None.
    """

    create_checkpoint: bool = True
    cleanup_expired_logs: bool | None = None
