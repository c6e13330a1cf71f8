"""A transaction: what was read, what is staged, and one atomic commit of it.

Commits are optimistic. When others have committed since the table was read, a blind append goes after
them unless they changed what it relied on; anything else is refused, and the table is as it was. Chapter
"Delta Log Entries" of the protocol.
"""

import random
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from deltaarrow.actions import Action, CommitInfo
from deltaarrow.clock import Clock, system_clock
from deltaarrow.errors import (
    CommitFailedError,
    ConcurrentWriteException,
    MetadataChangedException,
    ProtocolChangedException,
    TableNotFoundError,
    VersionExistsError,
)
from deltaarrow.log import list_log
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import Store
from deltaarrow.transaction.committer import Committed, FileSystemCommitter
from deltaarrow.version import ENGINE_INFO

__all__ = [
    "DEFAULT_MAX_COMMIT_RETRIES",
    "PostCommitHook",
    "Transaction",
]

DEFAULT_MAX_COMMIT_RETRIES = 15
_FIRST_PAUSE_SECONDS = 0.01
_LONGEST_PAUSE_SECONDS = 1.0

PostCommitHook = Callable[[Store, int], None]
"""Called with the store and the new version after a commit; it must not fail."""


@dataclass
class Transaction:
    """Stages actions against a snapshot, or against nothing for a new table, and commits them once.

    `operation` and `parameters` are what history shows; `is_blind_append` says that nothing of the
    table but its metadata was read.
    """

    store: Store
    snapshot: Snapshot | None
    operation: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    is_blind_append: bool = False
    metrics: dict[str, str] = field(default_factory=dict)
    commit_metadata: Mapping[str, Any] = field(default_factory=dict)
    max_commit_retries: int = DEFAULT_MAX_COMMIT_RETRIES
    hooks: Sequence[PostCommitHook] = ()
    clock: Clock = system_clock
    _actions: list[Action] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Refuse early: no data file is written for a commit that cannot be made."""
        self._committer = FileSystemCommitter(self.store)
        self._committer.ensure_able()

    def stage(self, actions: Sequence[Action]) -> None:
        """Add actions to the commit."""
        self._actions.extend(actions)

    def commit(self) -> int:
        """Commit what is staged and return the version that was made.

        Raises `VersionExistsError` when a new table exists already, one of the conflicts when another
        writer got in the way, and `CommitFailedError` when the retries are used up.
        """
        for attempt in range(self.max_commit_retries + 1):
            version = self._next_version()
            outcome = self._committer.commit(version, [self._commit_info(version), *self._actions])
            if isinstance(outcome, Committed):
                for hook in self.hooks:
                    hook(self.store, version)
                return version
            time.sleep(random.random() * min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2**attempt))
        raise CommitFailedError(
            f"the commit was tried {self.max_commit_retries + 1} times,"
            " and another writer was first each time"
        )

    def _next_version(self) -> int:
        """Return the version to try, or raise the conflict with what others have committed meanwhile.

        The log is asked and not the snapshot: the version after it may be free because the log was
        cleaned up, or made anew, since the table was read.
        """
        read = self.snapshot
        if read is None:
            if list_log(self.store):
                raise VersionExistsError(f"{self.store.uri} is a Delta table already")
            return 0
        try:
            newest = read.update()
        except TableNotFoundError as error:
            raise CommitFailedError(f"{self.store.uri} was deleted since it was read") from error
        if newest.version < read.version or newest.metadata.id != read.metadata.id:
            raise CommitFailedError(f"{self.store.uri} was made anew since it was read")
        if newest.version > read.version:
            self._ensure_commutes(read, newest)
        return newest.version + 1

    def _ensure_commutes(self, read: Snapshot, newest: Snapshot) -> None:
        """Raise the conflict unless this commit means the same after the versions made meanwhile."""
        meanwhile = f"by another writer, up to version {newest.version}"
        if newest.metadata != read.metadata:
            raise MetadataChangedException(f"the table's metadata was changed meanwhile {meanwhile}")
        if newest.protocol != read.protocol:
            raise ProtocolChangedException(f"the table's protocol was changed meanwhile {meanwhile}")
        if not self.is_blind_append:
            raise ConcurrentWriteException(
                f"commits were made meanwhile {meanwhile}, and {self.operation} has read the table as of"
                f" version {read.version}; read the table again and repeat it"
            )

    def _commit_info(self, version: int) -> CommitInfo:
        return CommitInfo(
            timestamp=self.clock(),
            operation=self.operation,
            operation_parameters=dict(self.parameters),
            read_version=None if self.snapshot is None else self.snapshot.version,
            isolation_level="Serializable",
            is_blind_append=self.is_blind_append,
            operation_metrics=self.metrics,
            engine_info=ENGINE_INFO,
            txn_id=str(uuid.uuid4()),
            extra=dict(self.commit_metadata),
        )
