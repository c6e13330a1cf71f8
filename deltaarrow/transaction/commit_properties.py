"""Commit options of a caller, with the names and arguments of ``deltalake``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deltaarrow.actions import ensure_commit_metadata

__all__ = [
    "AutoCompaction",
    "CommitProperties",
    "PostCommitHookProperties",
    "Transaction",
    "given_properties",
]


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


def given_properties(properties: CommitProperties | None) -> CommitProperties:
    """Return the properties of a commit, or the defaults; raise `TypeError` for anything else."""
    given: object = properties
    if given is not None and not isinstance(given, CommitProperties):
        raise TypeError(
            f"commit_properties must be CommitProperties, not {type(given).__name__}; for keys of the"
            " history, write CommitProperties(custom_metadata={'reason': 'repair'})"
        )
    return properties or CommitProperties()


@dataclass(frozen=True, kw_only=True)
class AutoCompaction:
    """When the partitions that a commit wrote to are compacted after it, and how.

    A partition is compacted once it has many small files, or once many rows of one of its files are deleted
    by a deletion vector. What is compacted then are its small files and all files with many deleted rows.

    Args:
        enabled: whether it happens; if None, the properties `delta.autoOptimize` and
            `delta.autoOptimize.autoCompact` of the table decide.
        min_num_files: how many small files a partition must have.
        max_file_size: bytes of old files that become one new file at most. The property
            ``delta.targetFileSize`` if None, or else 128 MiB, as in Spark.
        min_file_size: files of fewer bytes are small; half of `max_file_size` if None.
        max_deleted_rows_ratio: files of whose rows a larger part is deleted have many deleted rows.

    Raises:
        ValueError: a number is out of its range.

    >>> AutoCompaction(min_num_files=10).min_num_files
    10
    """

    enabled: bool | None = True
    min_num_files: int = 50
    max_file_size: int | None = None
    min_file_size: int | None = None
    max_deleted_rows_ratio: float = 0.1

    def __post_init__(self) -> None:
        """Raise for a number out of its range."""
        for name in ("min_num_files", "max_file_size", "min_file_size"):
            value = getattr(self, name)
            if (value is None and name != "min_num_files") or (type(value) is int and value > 0):
                continue
            raise ValueError(f"{name} must be a whole number of at least 1, not {value!r}")
        if not 0 <= self.max_deleted_rows_ratio <= 1:
            raise ValueError(
                f"max_deleted_rows_ratio must be between 0 and 1, not {self.max_deleted_rows_ratio!r}"
            )


@dataclass(frozen=True)
class PostCommitHookProperties:
    """Options of the hooks that run after a commit.

    Args:
        create_checkpoint: whether a checkpoint is written every `delta.checkpointInterval` commits.
        cleanup_expired_logs: when expired log files are deleted: after every commit if True; never if False;
            after a checkpoint, if `delta.enableExpiredLogCleanup` is on, if None.
        auto_compact: whether small files are compacted after a commit that wrote rows; an `AutoCompaction`
            also says when. If None, the properties of the table decide.
    """

    create_checkpoint: bool = True
    cleanup_expired_logs: bool | None = None
    auto_compact: bool | AutoCompaction | None = None
