"""A transaction: what was read, what is staged, and one atomic commit of it.

Commits are optimistic. A transaction begins with a snapshot, notes what it reads of it and stages actions.
When others have committed meanwhile, each of their commits is held against it by the rules of
`deltaarrow.transaction.conflicts`; where none speaks against it, the commit is made after theirs, else it is
refused and the table is as it was. Chapter "Delta Log Entries" of the protocol.
"""

import contextlib
import logging
import random
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import orjson
import pyarrow as pa
from pyroaring import BitMap64

from deltaarrow.actions import (
    Action,
    AddCDCFile,
    AddFile,
    CommitInfo,
    DomainMetadata,
    Metadata,
    Protocol,
    RemoveFile,
    SetTransaction,
)
from deltaarrow.clock import Clock, system_clock
from deltaarrow.errors import (
    CommitFailedError,
    ConcurrentWriteException,
    TableNotFoundError,
    UnsupportedFeatureError,
    VersionExistsError,
)
from deltaarrow.expressions import Constant, Predicate, bind, from_sql
from deltaarrow.features import is_row_tracking_enabled, is_supported, properties
from deltaarrow.log import LogFileKind, list_log
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import Store, decode_path
from deltaarrow.transaction.committer import Committed, FileSystemCommitter
from deltaarrow.transaction.conflicts import CommitIntent, ensure_no_conflict, ensure_unrelated
from deltaarrow.transaction.in_commit_timestamps import stamp
from deltaarrow.transaction.isolation import IsolationLevel, isolation_level
from deltaarrow.transaction.read_set import ReadSet
from deltaarrow.transaction.removal import RowRemoval, deletion_vector_prefix, remove_file, remove_rows
from deltaarrow.transaction.row_ids import assign_row_ids, with_recorded_row_ids
from deltaarrow.transaction.validity import (
    ensure_commit_metadata,
    ensure_marks_stay,
    ensure_replaced_files_are_removed,
    ensure_user_domain,
    ensure_valid_commit,
)
from deltaarrow.transaction.winning_commit import read_winning_commits
from deltaarrow.version import ENGINE_INFO

__all__ = [
    "DEFAULT_MAX_COMMIT_RETRIES",
    "CommittedTransaction",
    "OptimisticTransaction",
    "PostCommitHook",
]

DEFAULT_MAX_COMMIT_RETRIES = 15
_FIRST_PAUSE_SECONDS = 0.01
_LONGEST_PAUSE_SECONDS = 1.0
_ROW_TRACKING_PRESERVED = "delta.rowTracking.preserved"
_LOGGER = logging.getLogger(__name__)


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


PostCommitHook = Callable[[CommittedTransaction], None]
"""Called after a commit. What it raises is logged: the commit is made, and nothing can make it fail."""


@dataclass
class OptimisticTransaction:
    """Reads a snapshot, stages actions, and commits them once; leaving its ``with`` block commits.

    A transaction without a snapshot makes a new table. Files that are written for it are deleted
    again when it comes to nothing.

    Args:
        store: where the table is.
        snapshot: the version that it reads; None for a table that it makes.
        operation: what history shows.
        parameters: the parameters of the operation, for history.
        metrics: its metrics, for history.
        tags: the tags of `commitInfo`; that of row tracking is set by the commit unless it is here.
        commit_metadata: further keys of `commitInfo`.
        max_commit_retries: how often a commit is tried again after another writer was first.
        hooks: called in turn once the commit is made.
        clock: the time of the commit.
    """

    store: Store
    snapshot: Snapshot | None
    operation: str = "Manual Update"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    metrics: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    commit_metadata: Mapping[str, Any] = field(default_factory=dict)
    max_commit_retries: int = DEFAULT_MAX_COMMIT_RETRIES
    hooks: Sequence[PostCommitHook] = ()
    clock: Clock = system_clock
    read: ReadSet = field(default_factory=ReadSet)
    version: int | None = field(default=None, init=False)
    _actions: list[Action] = field(default_factory=list, init=False)
    _row_removals: dict[str, RowRemoval] = field(default_factory=dict, init=False)
    _written: list[str] = field(default_factory=list, init=False)
    _taken: set[str] = field(default_factory=set, init=False)
    _is_closed: bool = field(default=False, init=False)
    _is_in_doubt: bool = field(default=False, init=False)
    _id: str = field(default_factory=lambda: str(uuid.uuid4()), init=False)

    def __post_init__(self) -> None:
        """Refuse early: no data file is written for a commit that cannot be made."""
        self._committer = FileSystemCommitter(self.store)
        self._committer.ensure_able()
        ensure_commit_metadata(self.commit_metadata)

    # --- reading ----------------------------------------------------------------------------------

    def read_files(
        self, predicate: Predicate | str | None = None, columns: Sequence[str] | None = None
    ) -> pa.Table:
        """Return the live files that may hold a row of `predicate`, as `Snapshot.files`, and note it.

        From here on the commit conflicts with another that adds a file which may hold such a row, or
        removes one of these files.

        Args:
            predicate: SQL text, or a predicate that is bound to the schema; all files if None.
            columns: columns by name; all if None.
        """
        snapshot = self._need_snapshot()
        if isinstance(predicate, str):
            predicate = bind(from_sql(predicate), snapshot.schema)
        names = None if columns is None else list(dict.fromkeys(["path", *columns]))
        files = snapshot.files(predicate, names)
        self.read.predicates.append(Constant(True) if predicate is None else predicate)
        self.read.files.update(files.column("path").to_pylist())
        return files if columns is None else files.select(list(columns))

    def read_whole_table(self) -> None:
        """Note that everything was read: any commit that adds or removes a file is a conflict."""
        self.read.whole_table = True

    def application_version(self, app_id: str) -> int | None:
        """Return how far an application has got, and note that the commit relies on it."""
        self.read.applications.add(app_id)
        found = None if self.snapshot is None else self.snapshot.transactions.get(app_id)
        return None if found is None else found.version

    def _need_snapshot(self) -> Snapshot:
        if self.snapshot is None:
            raise TableNotFoundError(f"{self.store.uri} is only being made: there is nothing to read")
        return self.snapshot

    # --- staging ----------------------------------------------------------------------------------

    @property
    def configuration(self) -> Mapping[str, str]:
        """The table properties as the commit leaves them."""
        staged = next((action for action in self._actions if isinstance(action, Metadata)), None)
        if staged is not None:
            return staged.configuration
        return {} if self.snapshot is None else self.snapshot.configuration

    @property
    def marks_deleted_rows(self) -> bool:
        """Whether the table that is read marks deleted rows in deletion vectors."""
        snapshot = self._need_snapshot()
        return is_supported(snapshot.protocol, "deletionVectors") and (
            properties.ENABLE_DELETION_VECTORS.parse(snapshot.configuration)
        )

    @property
    def actions(self) -> Sequence[Action]:
        """What is staged so far, in order; rows that are removed not included."""
        return tuple(self._actions)

    def stage(self, actions: Sequence[Action]) -> None:
        """Add actions to the commit."""
        self._ensure_open()
        self._actions.extend(actions)

    def add_files(self, files: Sequence[AddFile | AddCDCFile]) -> None:
        """Add files that were written for this transaction; they are deleted when it comes to nothing.

        What is there for another reason as well, such as a file of the table that gets another deletion
        vector, is for `stage`.
        """
        self.stage(files)
        self._written.extend(decode_path(file.path) for file in files)

    def remove_files(self, files: pa.Table, *, data_change: bool = True) -> list[RemoveFile]:
        """Remove live files, given as rows of `Snapshot.files` with all columns; return the tombstones."""
        now = self.clock()
        rows = files.to_pylist(maps_as_pydicts="strict")
        removes = [remove_file(row, now, data_change=data_change) for row in rows]
        self._taken.update(remove.path for remove in removes)
        self.stage(removes)
        return removes

    def remove_rows(self, file: Mapping[str, Any], positions: BitMap64) -> None:
        """Delete rows of a live file by their positions in it; further calls delete further rows.

        Args:
            file: the row of `Snapshot.files` with all columns, as a dictionary whose maps are
                dictionaries too.
            positions: where the rows are in the data file, the first at 0.

        Raises:
            UnsupportedFeatureError: the table does not have deletion vectors switched on.
        """
        self._ensure_open()
        if not self.marks_deleted_rows:
            raise UnsupportedFeatureError(
                f"rows of {self.store.uri} cannot be marked as deleted: set delta.enableDeletionVectors",
                feature="deletionVectors",
            )
        present = self._row_removals.get(file["path"])
        both = positions.copy() if present is None else present.positions | positions
        self._row_removals[file["path"]] = RowRemoval(file, both)
        self.read.files.add(file["path"])

    def set_metadata(self, metadata: Metadata) -> None:
        """Give the table another metadata, in place of one that is staged already.

        Raises `DeltaProtocolError` where that takes back how far rows of this transaction are numbered.
        """
        for staged in self._actions:
            if isinstance(staged, Metadata):
                ensure_marks_stay(staged, metadata)
        self._replace(Metadata, metadata)

    def set_protocol(self, protocol: Protocol) -> None:
        """Give the table another protocol, in place of one that is staged already."""
        self._replace(Protocol, protocol)

    def _replace(self, kind: type, action: Action) -> None:
        self._actions = [each for each in self._actions if not isinstance(each, kind)]
        self.stage([action])

    def set_domain(self, domain: str, configuration: str) -> None:
        """Set the metadata of a user's domain.

        Raises `InvalidTablePropertyError` for one whose name begins with ``delta.``: engines keep those.
        """
        ensure_user_domain(domain)
        self.stage([DomainMetadata(domain=domain, configuration=configuration, removed=False)])

    def remove_domain(self, domain: str) -> None:
        """Remove the metadata of a user's domain; its last value stays in the log with the removal.

        Raises as `set_domain` does.
        """
        ensure_user_domain(domain)
        present = self._need_snapshot().domains.get(domain)
        if present is not None:
            configuration = present.configuration
            self.stage([DomainMetadata(domain=domain, configuration=configuration, removed=True)])

    def set_application(self, app_id: str, version: int, last_updated: int | None = None) -> bool:
        """Record how far an application has got, and tell whether this is new.

        False says that the table has this version or a later one: what is about to be written was
        committed before, and is not to be committed again.
        """
        known = self.application_version(app_id)
        if known is not None and known >= version:
            return False
        updated = self.clock() if last_updated is None else last_updated
        self.stage([SetTransaction(app_id=app_id, version=version, last_updated=updated)])
        return True

    @contextlib.contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Stage all that a ``with`` block stages, or nothing when it fails, so that the caller may go on."""
        actions, row_removals, written = list(self._actions), dict(self._row_removals), len(self._written)
        tags = dict(self.tags)
        try:
            yield
        except BaseException:
            self._actions, self._row_removals, self.tags = actions, row_removals, tags
            self._delete_written(written)
            raise

    def _ensure_open(self) -> None:
        if self._is_closed:
            raise CommitFailedError("a transaction is committed or given up once; begin another one")

    # --- committing -------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        """Begin; the transaction is committed when the block is left, unless nothing is staged."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Commit what is staged, or, after an error, delete what was written."""
        if self._is_closed:
            return
        if error is not None:
            self.abort()
        elif self._actions or self._row_removals:
            self.commit()

    def abort(self) -> None:
        """Give the transaction up and delete the files written for it; a commit that is made stays made."""
        self._is_closed = True
        self._delete_written(0)

    def _delete_written(self, first: int) -> None:
        for name in self._written[first:]:
            with contextlib.suppress(Exception):
                self.store.delete(name)
        del self._written[first:]

    def commit(self) -> int:
        """Commit what is staged and return the version that was made.

        Raises `VersionExistsError` when a new table exists already, the exception of a conflict when
        another writer got in the way, `ConcurrentWriteException` when the retries are used up, and
        `DeltaProtocolError` when what is staged may not stand in one commit.
        """
        self._ensure_open()
        self._is_closed = True
        try:
            self._apply_row_removals()
            done = self._commit()
        except BaseException:
            if self._may_be_made():
                # One file too many is waste, and one too few a table that is broken.
                self._written.clear()
            self.abort()
            raise
        self._written.clear()
        self.version = done.version
        for hook in self.hooks:
            self._call(hook, done)
        return done.version

    def _call(self, hook: PostCommitHook, done: CommittedTransaction) -> None:
        try:
            hook(done)
        except Exception:
            name = getattr(hook, "__name__", repr(hook))
            _LOGGER.warning(
                "%s failed after version %d of %s", name, done.version, self.store.uri, exc_info=True
            )

    def _apply_row_removals(self) -> None:
        if not self._row_removals:
            return
        removals = list(self._row_removals.values())
        prefix = deletion_vector_prefix(self.configuration)
        removes, adds, written = remove_rows(self.store, removals, self.clock(), prefix=prefix)
        self._row_removals.clear()
        self._written.extend(written)
        self._taken.update(remove.path for remove in removes)
        self._actions.extend([*removes, *adds])

    def _commit(self) -> CommittedTransaction:
        isolation = isolation_level(self.configuration, self._actions)
        newest = self.snapshot
        for attempt in range(self.max_commit_retries + 1):
            if attempt:
                longest = min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2**attempt)
                time.sleep(random.random() * longest)
            newest = self._catch_up(newest, isolation)
            version = 0 if newest is None else newest.version + 1
            actions = self._prepare(newest, isolation)
            self._is_in_doubt = True
            if isinstance(self._committer.commit(version, actions), Committed):
                return CommittedTransaction(self.store, version, newest, actions, self._is_exact())
            self._is_in_doubt = False
        raise ConcurrentWriteException(
            f"the commit was tried {self.max_commit_retries + 1} times,"
            " and another writer was first each time"
        )

    def _is_exact(self) -> bool:
        new = set(self._written)
        return all(
            action.path in self._taken or (isinstance(action, AddFile) and decode_path(action.path) in new)
            for action in self._actions
            if isinstance(action, AddFile | RemoveFile)
        )

    def _prepare(self, newest: Snapshot | None, isolation: IsolationLevel) -> list[Action]:
        """Return the whole commit that goes after `newest`."""
        if newest is None:
            ensure_valid_commit(self._actions)
        else:
            ensure_valid_commit(self._actions, newest.protocol, newest.metadata)
            ensure_replaced_files_are_removed(self._actions, newest, self._written)
        staged: Sequence[Action] = self._actions
        if newest is not None and newest.version > self._need_snapshot().version:
            staged = with_recorded_row_ids(staged, newest, self._written)
        staged = assign_row_ids(staged, newest)
        now = self.clock()
        commit_info, actions = stamp(self._commit_info(isolation, newest, now), staged, newest, now)
        return [commit_info, *actions]

    def _commit_info(self, isolation: IsolationLevel, newest: Snapshot | None, now: int) -> CommitInfo:
        only_adds = not any(isinstance(action, RemoveFile | AddCDCFile) for action in self._actions)
        return CommitInfo(
            timestamp=now,
            operation=self.operation,
            operation_parameters=dict(self.parameters),
            read_version=None if self.snapshot is None else self.snapshot.version,
            isolation_level=isolation.value,
            is_blind_append=only_adds and not self.read.has_files,
            operation_metrics=self.metrics,
            tags=self._tags(newest) or None,
            engine_info=ENGINE_INFO,
            txn_id=self._id,
            extra=dict(self.commit_metadata),
        )

    def _tags(self, newest: Snapshot | None) -> Mapping[str, str]:
        """Say of row tracking that rows keep their ids, unless it was enabled since the table was read."""
        if newest is None or not is_row_tracking_enabled(newest.protocol, newest.configuration):
            return self.tags
        read = self._need_snapshot()
        is_kept = is_row_tracking_enabled(read.protocol, read.configuration)
        return {_ROW_TRACKING_PRESERVED: str(is_kept).lower(), **self.tags}

    def _catch_up(self, known: Snapshot | None, isolation: IsolationLevel) -> Snapshot | None:
        """Return the version to go after, or raise the conflict with what was committed since `known`.

        The log is asked and not the snapshot: the version after it may be free because the log was
        cleaned up, or made anew, since the table was read.
        """
        if known is None:
            if list_log(self.store):
                raise VersionExistsError(f"{self.store.uri} is a Delta table already")
            return None
        try:
            newest = known.update()
        except TableNotFoundError as error:
            raise CommitFailedError(f"{self.store.uri} was deleted since it was read") from error
        if newest.version > known.version:
            self._ensure_no_conflicts(known.version, newest, isolation)
        if newest.version < known.version or newest.metadata.id != known.metadata.id:
            raise CommitFailedError(f"{self.store.uri} was made anew since it was read")
        return newest

    def _ensure_no_conflicts(self, after: int, newest: Snapshot, isolation: IsolationLevel) -> None:
        winners = read_winning_commits(self.store, after, newest.version)
        intent = CommitIntent(self._need_snapshot(), self.read, self._actions, isolation)
        if len(winners) < newest.version - after:
            ensure_unrelated(intent, newest)
        for winner in winners:
            ensure_no_conflict(intent, winner)

    def _may_be_made(self) -> bool:
        """Whether a commit that did not end well may be, or may yet become, part of the table.

        A put that failed or was interrupted may have taken place, and then the log has it. Only of a
        local file is it certain that none comes later: a remote store may still be at work on a request.
        """
        if not self._is_in_doubt or not self._written:
            return False
        try:
            return not self.store.is_local or self._is_committed()
        except Exception:
            return True

    def _is_committed(self) -> bool:
        first = 0 if self.snapshot is None else self.snapshot.version + 1
        token = orjson.dumps(self._id)
        commits = (file for file in list_log(self.store, first) if file.kind is LogFileKind.COMMIT)
        return any(token in self.store.read(commit.name) for commit in commits)
