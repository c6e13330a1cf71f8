"""The commit loop: commits staged actions after the newest version, or refuses them.

If another writer commits first, the rules of `deltaarrow.transaction.conflicts` compare its commit with the
staged actions. If no rule raises, the loop tries the next version. Chapter "Delta Log Entries" of the
protocol.
"""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import orjson

from deltaarrow.actions import Action, CommitInfo, Metadata
from deltaarrow.errors import (
    CommitFailedError,
    CommitStateUnknownError,
    ConcurrentWriteException,
    TableNotFoundError,
    VersionExistsError,
)
from deltaarrow.log import (
    LOG_FOLDER,
    LogFileKind,
    commit_name,
    has_versions,
    is_catalog_store,
    is_managed_by_catalog,
    list_log,
)
from deltaarrow.runtime.clock import Clock
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import Store
from deltaarrow.storage.turns import turn
from deltaarrow.transaction.bulk_adds import BulkAdds
from deltaarrow.transaction.catalog_committer import committer_of
from deltaarrow.transaction.commit_intent import CommitIntent
from deltaarrow.transaction.commit_rules import (
    ensure_live,
    ensure_replaced_files_are_removed,
    ensure_valid_commit,
)
from deltaarrow.transaction.committer import Committed
from deltaarrow.transaction.conflicts import ensure_no_conflict_with_any, ensure_unrelated
from deltaarrow.transaction.in_commit_timestamps import stamp
from deltaarrow.transaction.isolation import IsolationLevel, isolation_level
from deltaarrow.transaction.read_set import ReadSet
from deltaarrow.transaction.row_ids import assign_row_ids, high_water_mark, with_recorded_row_ids
from deltaarrow.transaction.staged import Staged
from deltaarrow.transaction.winning_commit import WinningCommit, WinningCommits

__all__ = ["DEFAULT_MAX_COMMIT_RETRIES", "CommitLoop", "CommittedTransaction"]

DEFAULT_MAX_COMMIT_RETRIES = 15
_SHORTEST_TRY_SECONDS = 0.001
_LONGEST_PAUSE_SECONDS = 5.0
_MOST_DOUBLINGS = 4
_MOST_LISTINGS = 8
"""How often an attempt lists the log beside a writer that takes no turns and may commit as fast."""


@dataclass(frozen=True)
class CommittedTransaction:
    """What a hook receives: the new `version`, its `actions`, and the snapshot `previous` before it.

    `is_exact` says that every added file is new to the table and every removed file was live, so the new
    state of the table follows from the actions alone. It is False if callers staged other actions themselves.
    `bulk` are added files that are not among the actions.
    """

    store: Store
    version: int
    previous: Snapshot | None
    actions: Sequence[Action]
    is_exact: bool = False
    bulk: BulkAdds | None = None

    @property
    def configuration(self) -> Mapping[str, str]:
        """The table properties after the commit."""
        for action in self.actions:
            if isinstance(action, Metadata):
                return action.configuration
        return {} if self.previous is None else self.previous.configuration


Describe = Callable[[IsolationLevel, Snapshot | None, Sequence[Action], int], CommitInfo]
"""Returns the `commitInfo` of actions that follow a snapshot, at a time in milliseconds."""


@dataclass
class CommitLoop:
    """The commit of one transaction, from the first attempt to the last.

    Args:
        store: the storage of the table.
        snapshot: the version that was read; None for a new table.
        read: what the transaction read.
        staged: what the transaction commits.
        configuration: the table properties after the commit.
        describe: makes the `commitInfo` that history shows.
        transaction_id: the `txnId` of the commit; the log shows by it whether the commit was made.
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
        """Create the cache of commits that other writers made."""
        self._winners = WinningCommits(self.store)

    def run(self, max_retries: int) -> CommittedTransaction:
        """Make the commit; after a lost race, try again up to `max_retries` times.

        Raises `VersionExistsError` if a new table already exists, the exception of a conflict,
        `ConcurrentWriteException` if no retry is left, and `CommitStateUnknownError`.
        """
        isolation = isolation_level(
            self.configuration,
            self.staged.actions,
            changes_rows=bool(self.staged.row_removals) or self.staged.bulk is not None,
        )
        if self.snapshot is not None:
            ensure_live(self.staged.live_files, self.snapshot)
        newest, seconds = self.snapshot, 0.0
        for attempt in range(max_retries + 1):
            if attempt:
                _pause(attempt, seconds)
            newest = self._catch_up_before_turn(newest, isolation)
            with turn(self.store, LOG_FOLDER):
                newest = self._catch_up_with_all(newest, isolation)
                begun = time.perf_counter()
                done = self._attempt(newest, isolation)
                seconds = time.perf_counter() - begun
            if done is not None:
                return done
        raise ConcurrentWriteException(
            f"the commit to {self.store.uri} was tried {max_retries + 1} times, and another writer was first"
            " each time; try again later, or raise max_commit_retries"
        )

    def _attempt(self, newest: Snapshot | None, isolation: IsolationLevel) -> CommittedTransaction | None:
        """Try to make the version after `newest`; return None if another writer made it."""
        bulk = self.staged.bulk
        version = 0 if newest is None else newest.version + 1
        actions = self._prepare(newest, isolation)
        done = CommittedTransaction(self.store, version, newest, actions, self.staged.is_exact(actions), bulk)
        lines = () if bulk is None else bulk.render(high_water_mark(newest) + 1, version)
        self._is_in_doubt = True
        try:
            outcome = committer_of(self.store, newest).commit(version, actions, lines)
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
        return None

    def _prepare(self, newest: Snapshot | None, isolation: IsolationLevel) -> list[Action]:
        """Return all actions of the commit that follows `newest`."""
        staged = self.staged.with_rows_removed(self.store, self.configuration, self.clock())
        if newest is None:
            ensure_valid_commit(staged, through_catalog=is_managed_by_catalog(self.store))
        else:
            ensure_valid_commit(
                staged,
                newest.protocol,
                newest.metadata,
                through_catalog=is_managed_by_catalog(self.store),
            )
            known = self.staged.known
            ensure_replaced_files_are_removed(staged, newest, known)
            if self.snapshot is not None and newest.version > self.snapshot.version:
                staged = with_recorded_row_ids(staged, newest, known)
        bulk = self.staged.bulk
        staged = assign_row_ids(staged, newest, taken=0 if bulk is None else bulk.num_rows)
        now = self.clock()
        commit_info = self.describe(isolation, newest, staged, now)
        told = None if self._last_winner is None else self._last_winner.in_commit_timestamp
        commit_info, actions = stamp(commit_info, staged, newest, now, told)
        return [commit_info, *actions]

    def _catch_up_before_turn(self, known: Snapshot | None, isolation: IsolationLevel) -> Snapshot | None:
        """Catch up on commits of which there may be many, so that others need not wait meanwhile."""
        if known is None or not self.store.is_local or not self.store.exists(commit_name(known.version + 1)):
            return known
        return self._catch_up(known, isolation)

    def _catch_up_with_all(self, known: Snapshot | None, isolation: IsolationLevel) -> Snapshot | None:
        """Catch up, on a disk until a listing has nothing new: others commit while commits are checked.

        A distant store is not listed again, because an attempt costs no more than a listing.
        """
        newest = known
        for _ in range(_MOST_LISTINGS if self.store.is_local else 1):
            known, newest = newest, self._catch_up(newest, isolation)
            if newest is known:
                break
        return newest

    def _catch_up(self, known: Snapshot | None, isolation: IsolationLevel) -> Snapshot | None:
        """Return the version that the commit follows, or raise the conflict with a commit after `known`.

        This lists the log and does not rely on the snapshot: the next version may be free only because the
        log was cleaned up, or the table was recreated, since the table was read.
        """
        if known is None or self.snapshot is None:
            files = list_log(self.store)
            if has_versions(files):
                raise VersionExistsError(
                    f"{self.store.uri} is a Delta table already; append to it, overwrite it or use another"
                    " path"
                )
            if files:
                # Checksums of a table that was dropped: they would be taken for those of the new one.
                self.store.delete_all([file.name for file in files])
            return None
        try:
            newest = known.update(self._winners.read)
        except TableNotFoundError as error:
            raise CommitFailedError(
                f"{self.store.uri} was deleted since it was read; nothing was committed"
            ) from error
        if newest.version > known.version:
            removed = {path: each.positions for path, each in self.staged.row_removals.items()}
            intent = CommitIntent(
                self.snapshot,
                self.read,
                self.staged.actions,
                isolation,
                removed,
                self.staged.vectors,
                self.staged.relocated_paths,
            )
            self._follow(intent, known.version, newest)
        if newest.version < known.version or newest.metadata.id != known.metadata.id:
            raise CommitFailedError(
                f"{self.store.uri} was deleted and created again since version {known.version} was read;"
                " read the table again and repeat the operation"
            )
        return newest

    def _follow(self, intent: CommitIntent, after: int, newest: Snapshot) -> None:
        """Rebase the staged removals onto the commits above `after`, or raise a conflict with one of them."""
        winners = self._winners.pop(after, newest.version)
        if len(winners) < newest.version - after:
            ensure_unrelated(intent, newest)
        ensure_no_conflict_with_any(intent, winners)
        for winner in winners:
            self.staged.rebase_rows(self.store, winner)
            self._last_winner = winner

    def may_be_made(self) -> bool:
        """Whether a commit that failed or was interrupted may be, or may yet become, part of the table.

        A failed or interrupted put may still have written the file, and then the log has it. A local put
        cannot complete later, but a remote store or a catalog may still be working on the request.
        """
        if not self._is_in_doubt or not self.staged.written:
            return False
        try:
            is_settled = self.store.is_local and not is_catalog_store(self.store)
            return not is_settled or self._is_committed()
        except Exception:
            return True

    def _is_committed(self) -> bool:
        first = 0 if self.snapshot is None else self.snapshot.version + 1
        token = orjson.dumps(self.transaction_id)
        commits = (file for file in list_log(self.store, first) if file.kind is LogFileKind.COMMIT)
        return any(token in self.store.read(commit.name) for commit in commits)


def _pause(attempt: int, seconds: float) -> None:
    """Wait a random time before the next attempt; the last one took `seconds` after it had caught up.

    Only a commit made in that time forestalls an attempt. So the longest wait is a small multiple of it,
    which grows with the first retries: writers that collide drift apart, in milliseconds on a disk and in
    seconds on a distant store, and one that loses often does not fall behind those that begin anew.
    """
    longest = max(_SHORTEST_TRY_SECONDS, seconds) * 2 ** min(attempt, _MOST_DOUBLINGS)
    time.sleep(random.random() * min(_LONGEST_PAUSE_SECONDS, longest))
