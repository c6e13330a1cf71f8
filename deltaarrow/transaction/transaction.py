"""A transaction: what was read, what is staged, and one atomic commit of it.

Commits are optimistic. When another writer has made the version first, the winning commits are read:
a blind append goes after them unless they changed what it relied on, anything else is refused, and the
table is as it was. Chapter "Delta Log Entries" of the protocol.
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
    VersionExistsError,
)
from deltaarrow.log import commit_name, parse_commit
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import Store
from deltaarrow.transaction.committer import Committed, FileSystemCommitter
from deltaarrow.version import ENGINE_INFO

__all__ = [
    "DEFAULT_MAX_COMMIT_RETRIES",
    "PostCommitHook",
    "Transaction",
    "ensure_winner_commutes_with_blind_append",
]

DEFAULT_MAX_COMMIT_RETRIES = 15
_FIRST_PAUSE_SECONDS = 0.01
_LONGEST_PAUSE_SECONDS = 1.0

PostCommitHook = Callable[[Store, int], None]
"""Called with the store and the new version after a commit; it must not fail."""


def ensure_winner_commutes_with_blind_append(version: int, winner: Sequence[Mapping[str, Any]]) -> None:
    """Raise a conflict when the commit of another writer touched what an append relies on."""
    for action in winner:
        if action.get("metaData") is not None:
            raise MetadataChangedException(
                f"version {version}, committed meanwhile, changed the table's metadata"
            )
        if action.get("protocol") is not None:
            raise ProtocolChangedException(
                f"version {version}, committed meanwhile, changed the table's protocol"
            )


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
        version = 0 if self.snapshot is None else self.snapshot.version + 1
        for attempt in range(self.max_commit_retries + 1):
            outcome = self._committer.commit(version, [self._commit_info(version), *self._actions])
            if isinstance(outcome, Committed):
                for hook in self.hooks:
                    hook(self.store, version)
                return version
            version = self._version_after_conflict(version)
            time.sleep(random.random() * min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2**attempt))
        raise CommitFailedError(
            f"the commit was tried {self.max_commit_retries + 1} times,"
            " and another writer was first each time"
        )

    def _version_after_conflict(self, version: int) -> int:
        """Return the next version to try, or raise the conflict."""
        if self.snapshot is None:
            raise VersionExistsError(f"{self.store.uri} was created by another writer meanwhile")
        if not self.is_blind_append:
            raise ConcurrentWriteException(
                f"version {version} was committed meanwhile by another writer, and {self.operation} has read"
                f" the table as of version {self.snapshot.version}; read the table again and repeat it"
            )
        while self.store.exists(name := commit_name(version)):
            ensure_winner_commutes_with_blind_append(version, parse_commit(self.store.read(name), name))
            version += 1
        return version

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
