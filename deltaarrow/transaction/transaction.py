"""A transaction: what was read, what is staged, and one atomic commit of it.

Commits are optimistic. A transaction begins with a snapshot, notes what it reads of it and stages actions.
When others have committed meanwhile, `deltaarrow.transaction.commit_loop` makes the commit after theirs, or
refuses it where it would not mean the same, and then the table is as it was. Chapter "Delta Log Entries" of
the protocol.
"""

import contextlib
import logging
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

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
    ensure_commit_metadata,
    find_commit_info_faults,
    render_action,
)
from deltaarrow.actions.names import ROW_TRACKING_PRESERVED_TAG
from deltaarrow.display.redaction import redacted
from deltaarrow.errors import (
    CommitFailedError,
    InvalidCommitMetadataError,
    TableNotFoundError,
    UnsupportedFeatureError,
)
from deltaarrow.expressions import Constant, Predicate
from deltaarrow.features import is_row_tracking_enabled, is_supported, properties
from deltaarrow.runtime.clock import Clock, system_clock
from deltaarrow.snapshot import Snapshot
from deltaarrow.spark_sql import parse_condition
from deltaarrow.storage import Store, decode_path
from deltaarrow.transaction.commit_loop import DEFAULT_MAX_COMMIT_RETRIES, CommitLoop, CommittedTransaction
from deltaarrow.transaction.committer import FileSystemCommitter
from deltaarrow.transaction.isolation import IsolationLevel
from deltaarrow.transaction.read_set import ReadSet, RowMatcher, Search
from deltaarrow.transaction.removal import remove_file
from deltaarrow.transaction.staged import Staged
from deltaarrow.transaction.validity import ensure_marks_stay, ensure_user_domain
from deltaarrow.version import ENGINE_INFO

__all__ = ["OptimisticTransaction", "PostCommitHook"]

_LOGGER = logging.getLogger(__name__)


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
        metrics_of: more of them, by the actions that are committed in the end: where others were first, these
            are not all that was staged.
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
    metrics_of: Callable[[Sequence[Action]], Mapping[str, str]] | None = None
    tags: dict[str, str] = field(default_factory=dict)
    commit_metadata: Mapping[str, Any] = field(default_factory=dict)
    max_commit_retries: int = DEFAULT_MAX_COMMIT_RETRIES
    hooks: Sequence[PostCommitHook] = ()
    clock: Clock = system_clock
    read: ReadSet = field(default_factory=ReadSet)
    version: int | None = field(default=None, init=False)
    _staged: Staged = field(default_factory=Staged, init=False)
    _is_closed: bool = field(default=False, init=False)
    _id: str = field(default_factory=lambda: str(uuid.uuid4()), init=False)

    def __post_init__(self) -> None:
        """Refuse early: no data file is written for a commit that cannot be made."""
        FileSystemCommitter(self.store).ensure_able()
        ensure_commit_metadata(self.commit_metadata)

    # --- reading ----------------------------------------------------------------------------------

    def read_files(
        self,
        predicate: Predicate | str | None = None,
        columns: Sequence[str] | None = None,
        *,
        row_level: bool = False,
        matcher: RowMatcher | None = None,
    ) -> pa.Table:
        """Return the live files that may hold a row of `predicate`, as `Snapshot.files`, and note it.

        From here on the commit conflicts with another that adds a file which may hold such a row, or
        removes one of these files or rows of it.

        A caller that reads row by row depends on less. It decides on every row by that row alone, and
        names those that its commit depends on: the ones that it changes with `remove_rows`, and with
        `read_rows` all others that it looked for and found. The commit then conflicts with another that
        deletes one of these, and not with one that deletes other rows of the files. Nothing that is
        counted, added up or copied over the rows of a file may be read so.

        Args:
            predicate: SQL text, or a predicate that is bound to the schema; all files if None.
            columns: columns by name; all if None.
            row_level: whether the caller reads row by row.
            matcher: tells of files that another adds meanwhile, by reading them, whether they hold a row
                that was looked for. It is asked where `predicate` does not rule that out, and of no more
                than 64 MiB; without an answer such files are a conflict.
        """
        snapshot = self._need_snapshot()
        if isinstance(predicate, str):
            predicate = parse_condition(predicate, snapshot.schema, clock=self.clock).predicate
        names = None if columns is None else list(dict.fromkeys(["path", *columns]))
        files = snapshot.files(predicate, names)
        self.read.searches.append(Search(Constant(True) if predicate is None else predicate, matcher))
        noted = self.read.scanned if row_level else self.read.files
        noted.update(files.column("path").to_pylist())
        return files if columns is None else files.select(list(columns))

    def read_rows(self, file: Mapping[str, Any], positions: BitMap64) -> None:
        """Note rows that the commit depends on, of a file that `read_files` found with `row_level`.

        Args:
            file: the row of `Snapshot.files`, of which the column `path` is used.
            positions: where the rows are in the data file, the first at 0.
        """
        self.read.add_rows(file["path"], positions)

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
        staged = next((action for action in self._staged.actions if isinstance(action, Metadata)), None)
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
        return tuple(self._staged.actions)

    def stage(self, actions: Sequence[Action]) -> None:
        """Add actions to the commit."""
        self._ensure_open()
        self._staged.actions.extend(actions)

    def add_files(self, files: Sequence[AddFile | AddCDCFile]) -> None:
        """Add files that were written for this transaction; they are deleted when it comes to nothing.

        What is there for another reason as well, such as a file of the table that gets another deletion
        vector, is for `stage`.
        """
        self.stage(files)
        self._staged.written.extend(decode_path(file.path) for file in files)

    def remove_files(self, files: pa.Table, *, data_change: bool = True) -> list[RemoveFile]:
        """Remove live files, given as rows of `Snapshot.files` with all columns; return the tombstones."""
        now = self.clock()
        rows = files.to_pylist(maps_as_pydicts="strict")
        removes = [remove_file(row, now, data_change=data_change) for row in rows]
        self._staged.taken.update(remove.path for remove in removes)
        self.stage(removes)
        return removes

    def remove_rows(self, file: Mapping[str, Any], positions: BitMap64) -> None:
        """Delete rows of a live file by their positions in it; further calls delete further rows.

        The commit depends on these rows: it conflicts with another that deletes one of them, and where
        others of the file are deleted meanwhile, both are. Unless the file was read whole, that is.

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
        self._staged.remove_rows(file, positions)
        self.read.add_rows(file["path"], positions)

    def set_metadata(self, metadata: Metadata) -> None:
        """Give the table another metadata, in place of one that is staged already.

        Raises `DeltaProtocolError` where that takes back how far rows of this transaction are numbered.
        """
        for staged in self._staged.actions:
            if isinstance(staged, Metadata):
                ensure_marks_stay(staged, metadata)
        self._replace(Metadata, metadata)

    def set_protocol(self, protocol: Protocol) -> None:
        """Give the table another protocol, in place of one that is staged already."""
        self._replace(Protocol, protocol)

    def _replace(self, kind: type, action: Action) -> None:
        self._staged.actions = [each for each in self._staged.actions if not isinstance(each, kind)]
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
        tags = dict(self.tags)
        try:
            with self._staged.all_or_nothing(self.store):
                yield
        except BaseException:
            self.tags = tags
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
        elif self._staged:
            self.commit()

    def abort(self) -> None:
        """Give the transaction up and delete the files written for it; a commit that is made stays made."""
        self._close()
        self._staged.delete_written(self.store)

    def _close(self) -> None:
        self._is_closed = True
        # What asks of other commits holds on to the statement, which holds on to this.
        self.read, self.metrics_of = ReadSet(), None

    def commit(self) -> int:
        """Commit what is staged and return the version that was made.

        Raises `VersionExistsError` when a new table exists already, the exception of a conflict when
        another writer got in the way, `ConcurrentWriteException` when the retries are used up,
        `DeltaProtocolError` when what is staged may not stand in one commit, and `CommitStateUnknownError`
        when nobody can tell whether the version was made: look at it before you commit the same again.
        """
        self._ensure_open()
        loop = CommitLoop(
            store=self.store,
            snapshot=self.snapshot,
            read=self.read,
            staged=self._staged,
            configuration=self.configuration,
            describe=self._commit_info,
            transaction_id=self._id,
            clock=self.clock,
        )
        try:
            self._is_closed = True
            done = loop.run(self.max_commit_retries)
            self._staged.written.clear()
        except BaseException:
            if loop.may_be_made():
                # One file too many is waste, and one too few a table that is broken.
                self._staged.written.clear()
            self.abort()
            raise
        self._close()
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
                "%s failed after version %d of %s",
                name,
                done.version,
                redacted(self.store.uri),
                exc_info=True,
            )

    def _commit_info(
        self, isolation: IsolationLevel, newest: Snapshot | None, actions: Sequence[Action], now: int
    ) -> CommitInfo:
        only_adds = not any(isinstance(action, RemoveFile | AddCDCFile) for action in actions)
        info = CommitInfo(
            timestamp=now,
            operation=self.operation,
            operation_parameters=dict(self.parameters),
            read_version=None if self.snapshot is None else self.snapshot.version,
            isolation_level=isolation.value,
            is_blind_append=only_adds and not self.read.has_files,
            operation_metrics={**self.metrics, **(self.metrics_of(actions) if self.metrics_of else {})},
            tags=self._tags(newest) or None,
            engine_info=ENGINE_INFO,
            txn_id=self._id,
            extra=dict(self.commit_metadata),
        )
        # All of it may have been set since the transaction began.
        ensure_commit_metadata(self.commit_metadata)
        for fault in find_commit_info_faults(render_action(info)[CommitInfo.KEY]):
            raise InvalidCommitMetadataError(
                f"{fault.key} of a transaction on {self.store.uri} is not {fault.wanted}, so that delta-spark"
                " could not read the commit"
            )
        return info

    def _tags(self, newest: Snapshot | None) -> Mapping[str, str]:
        """Say of row tracking that rows keep their ids, unless it was enabled since the table was read."""
        if newest is None or not is_row_tracking_enabled(newest.protocol, newest.configuration):
            return self.tags
        read = self._need_snapshot()
        is_kept = is_row_tracking_enabled(read.protocol, read.configuration)
        return {ROW_TRACKING_PRESERVED_TAG: str(is_kept).lower(), **self.tags}
