"""The commit loop: what is staged is committed after the newest version, or refused.

When another writer was first, its commit is held against what is staged by the rules of
`deltaarrow.transaction.conflicts`, and where none speaks against it the next version is tried. Chapter
"Delta Log Entries" of the protocol.
"""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import orjson

from deltaarrow.actions import Action, CommitInfo
from deltaarrow.errors import (
    CommitFailedError,
    CommitStateUnknownError,
    ConcurrentWriteException,
    TableNotFoundError,
    VersionExistsError,
)
from deltaarrow.log import LogFileKind, list_log
from deltaarrow.runtime.clock import Clock
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import Store
from deltaarrow.transaction.commit_intent import CommitIntent
from deltaarrow.transaction.committer import Committed, FileSystemCommitter
from deltaarrow.transaction.conflicts import ensure_no_conflict, ensure_unrelated
from deltaarrow.transaction.in_commit_timestamps import stamp
from deltaarrow.transaction.isolation import IsolationLevel, isolation_level
from deltaarrow.transaction.read_set import ReadSet
from deltaarrow.transaction.row_ids import assign_row_ids, with_recorded_row_ids
from deltaarrow.transaction.staged import Staged
from deltaarrow.transaction.validity import (
    ensure_live,
    ensure_replaced_files_are_removed,
    ensure_valid_commit,
)
from deltaarrow.transaction.winning_commit import WinningCommit, WinningCommits

__all__ = ["DEFAULT_MAX_COMMIT_RETRIES", "CommitLoop", "CommittedTransaction"]

DEFAULT_MAX_COMMIT_RETRIES = 15
_SHORTEST_TRY_SECONDS = 0.01
_LONGEST_PAUSE_SECONDS = 5.0


@dataclass(frozen=True)
class CommittedTransaction:
    """What a hook is told: the `version` that was made, of which `actions`, after the snapshot `previous`.

    With `is_exact` every file that was added was new to the table, and every one that was removed was live:
    what the table comes to follows from the actions alone. Of what callers stage themselves it is not known.
    """

    store: Store
    version: int
    previous: Snapshot | None
    actions: Sequence[Action]
    is_exact: bool = False


Describe = Callable[[IsolationLevel, Snapshot | None, Sequence[Action], int], CommitInfo]
"""Returns the `commitInfo` of actions that go after a snapshot, at a time in milliseconds."""


@dataclass
class CommitLoop:
    """The commit of one transaction, from the first try to the last.

    Args:
        store: where the table is.
        snapshot: the version that was read; None for a table that is made.
        read: what was read of it.
        staged: what is to be committed.
        configuration: the table properties as the commit leaves them.
        describe: says what history shows.
        transaction_id: the `txnId` of the commit, by which the log tells whether it was made.
        clock: the time of the commit.
    """

    store: Store
    snapshot: Snapshot | None
    read: ReadSet
    staged: Staged
    configuration: Mapping[str, str]
    describe: Describe
    transaction_id: str
    clock: Clock
    _winners: WinningCommits = field(init=False)
    _last_winner: WinningCommit | None = field(default=None, init=False)
    _is_in_doubt: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        """Begin to remember what is read."""
        self._winners = WinningCommits(self.store)

    def run(self, max_retries: int) -> CommittedTransaction:
        """Make the commit, trying again up to `max_retries` times.

        Raises `VersionExistsError` when a new table exists already, the exception of a conflict,
        `ConcurrentWriteException` when the retries are used up, and `CommitStateUnknownError`.
        """
        isolation = isolation_level(
            self.configuration, self.staged.actions, removes_rows=bool(self.staged.row_removals)
        )
        if self.snapshot is not None:
            ensure_live([removal.file for removal in self.staged.row_removals.values()], self.snapshot)
        committer = FileSystemCommitter(self.store)
        newest, seconds = self.snapshot, 0.0
        for attempt in range(max_retries + 1):
            if attempt:
                _pause(attempt, seconds)
            begun = time.perf_counter()
            newest = self._catch_up(newest, isolation)
            version = 0 if newest is None else newest.version + 1
            actions = self._prepare(newest, isolation)
            done = CommittedTransaction(
                self.store, version, newest, actions, is_exact=self.staged.is_exact(actions)
            )
            self._is_in_doubt = True
            try:
                outcome = committer.commit(version, actions)
            except CommitStateUnknownError:
                raise
            except Exception:
                self._is_in_doubt = False
                raise
            if isinstance(outcome, Committed):
                return done
            self._is_in_doubt = False
            if outcome.data is not None:
                self._winners.take(version, outcome.data)
            seconds = time.perf_counter() - begun
        raise ConcurrentWriteException(
            f"the commit was tried {max_retries + 1} times, and another writer was first each time"
        )

    def _prepare(self, newest: Snapshot | None, isolation: IsolationLevel) -> list[Action]:
        """Return the whole commit that goes after `newest`."""
        staged = self.staged.with_rows_removed(self.store, self.configuration, self.clock())
        if newest is None:
            ensure_valid_commit(staged)
        else:
            ensure_valid_commit(staged, newest.protocol, newest.metadata)
            known = self.staged.known
            ensure_replaced_files_are_removed(staged, newest, known)
            if self.snapshot is not None and newest.version > self.snapshot.version:
                staged = with_recorded_row_ids(staged, newest, known)
        staged = assign_row_ids(staged, newest)
        now = self.clock()
        commit_info = self.describe(isolation, newest, staged, now)
        told = None if self._last_winner is None else self._last_winner.in_commit_timestamp
        commit_info, actions = stamp(commit_info, staged, newest, now, told)
        return [commit_info, *actions]

    def _catch_up(self, known: Snapshot | None, isolation: IsolationLevel) -> Snapshot | None:
        """Return the version to go after, or raise the conflict with what was committed since `known`.

        The log is asked and not the snapshot: the version after it may be free because the log was
        cleaned up, or made anew, since the table was read.
        """
        if known is None or self.snapshot is None:
            if list_log(self.store):
                raise VersionExistsError(f"{self.store.uri} is a Delta table already")
            return None
        try:
            newest = known.update(self._winners.read)
        except TableNotFoundError as error:
            raise CommitFailedError(f"{self.store.uri} was deleted since it was read") from error
        if newest.version > known.version:
            removed = {path: each.positions for path, each in self.staged.row_removals.items()}
            intent = CommitIntent(
                self.snapshot, self.read, self.staged.actions, isolation, removed, self.staged.vectors
            )
            self._follow(intent, known.version, newest)
        if newest.version < known.version or newest.metadata.id != known.metadata.id:
            raise CommitFailedError(f"{self.store.uri} was made anew since it was read")
        return newest

    def _follow(self, intent: CommitIntent, after: int, newest: Snapshot) -> None:
        """Bring what is staged behind the commits above `after`, or raise the conflict with one of them."""
        winners = self._winners.pop(after, newest.version)
        if len(winners) < newest.version - after:
            ensure_unrelated(intent, newest)
        for winner in winners:
            ensure_no_conflict(intent, winner)
            self.staged.rebase_row_removals(self.store, winner)
            self._last_winner = winner

    def may_be_made(self) -> bool:
        """Whether a commit that did not end well may be, or may yet become, part of the table.

        A put that failed or was interrupted may have taken place, and then the log has it. Only of a
        local file is it certain that none comes later: a remote store may still be at work on a request.
        """
        if not self._is_in_doubt or not self.staged.written:
            return False
        try:
            return not self.store.is_local or self._is_committed()
        except Exception:
            return True

    def _is_committed(self) -> bool:
        first = 0 if self.snapshot is None else self.snapshot.version + 1
        token = orjson.dumps(self.transaction_id)
        commits = (file for file in list_log(self.store, first) if file.kind is LogFileKind.COMMIT)
        return any(token in self.store.read(commit.name) for commit in commits)


def _pause(attempt: int, seconds: float) -> None:
    """Wait a random time before another try, the last of which took some seconds.

    It is up to the time that a try takes, doubled with each: writers that come together move apart, on a disk
    in milliseconds and on a distant store in seconds.
    """
    longest = max(_SHORTEST_TRY_SECONDS, seconds) * 2**attempt
    time.sleep(random.random() * min(_LONGEST_PAUSE_SECONDS, longest))
