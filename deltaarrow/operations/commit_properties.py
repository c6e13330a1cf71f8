"""Commit options of a caller, with the names and arguments of ``deltalake``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deltaarrow.actions import ensure_commit_metadata

__all__ = ["CommitProperties", "PostCommitHookProperties", "Transaction"]


@dataclass(frozen=True)
class Transaction:
    """The progress of an application, committed with its data; chapter *Transaction Identifiers*.

    Args:
        app_id: the id of the application.
        version: the application's own version number of the write, which only grows.
        last_updated: the time of the write in milliseconds since the epoch; optional.
    """

    app_id: str
    version: int
    last_updated: int | None = None


@dataclass(frozen=True)
class CommitProperties:
    """Metadata and options of a commit.

    Args:
        custom_metadata: further keys of `commitInfo`, shown by history: JSON values under names without a
            meaning in `commitInfo`, and the texts ``userMetadata``, ``userName`` and ``userId``.
        max_commit_retries: how often a commit is retried after losing to a concurrent commit; 15 if None.
        app_transactions: the progress of applications. A write whose transactions the table already has is
            skipped.

    Raises:
        InvalidCommitMetadataError: a key has a meaning in `commitInfo`, or a value is not JSON.
        ValueError: `max_commit_retries` is negative.
    """

    custom_metadata: Mapping[str, Any] | None = None
    max_commit_retries: int | None = None
    app_transactions: Sequence[Transaction] | None = None

    def __post_init__(self) -> None:
        """Raise for a negative number of retries and for invalid metadata."""
        ensure_commit_metadata(self.custom_metadata or {})
        if self.max_commit_retries is not None and self.max_commit_retries < 0:
            raise ValueError(f"max_commit_retries is {self.max_commit_retries}; give 0 or a larger number")


@dataclass(frozen=True)
class PostCommitHookProperties:
    """Options of the hooks that run after a commit.

    Args:
        create_checkpoint: whether a checkpoint is written every `delta.checkpointInterval` commits.
        cleanup_expired_logs: when expired log files are deleted: after every commit if True; never if False;
            after a checkpoint, if `delta.enableExpiredLogCleanup` is on, if None.
    """

    create_checkpoint: bool = True
    cleanup_expired_logs: bool | None = None
