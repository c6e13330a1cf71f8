"""Optimistic transactions: reads, staged actions, and one atomic commit.

A transaction begins with a snapshot, notes what it reads of it and stages actions. If others have committed
meanwhile, `deltaarrow.transaction.commit_loop` commits after them, or refuses if the transaction would no
longer mean the same; then the table stays as it was. Chapter "Delta Log Entries" of the protocol.
"""

import contextlib
import logging
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self, TypeVar

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
    with_commit_metadata,
)
from deltaarrow.actions.domain_names import ROW_TRACKING_PRESERVED_TAG
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
from deltaarrow.transaction.bulk_adds import BulkAdds
from deltaarrow.transaction.catalog_committer import committer_of
from deltaarrow.transaction.commit_loop import DEFAULT_MAX_COMMIT_RETRIES, CommitLoop, CommittedTransaction
from deltaarrow.transaction.commit_rules import ensure_marks_stay, ensure_user_domain
from deltaarrow.transaction.isolation import IsolationLevel
from deltaarrow.transaction.read_set import ReadSet, RowMatcher, Search
from deltaarrow.transaction.relocation import Relocation
from deltaarrow.transaction.removal import add_again, remove_file
from deltaarrow.transaction.staged import Staged
from deltaarrow.version import ENGINE_INFO

__all__ = ["OptimisticTransaction", "PostCommitHook"]

_LOGGER = logging.getLogger(__name__)
_Kind = TypeVar("_Kind", Metadata, Protocol)


PostCommitHook = Callable[[CommittedTransaction], None]
"""Called after a commit. An exception is logged and cannot undo the commit."""


@dataclass
class OptimisticTransaction:
    """Reads a snapshot, stages actions, and commits them once; leaving its ``with`` block commits.

    A transaction without a snapshot creates a table. Files written for the transaction are deleted if it
    fails.

    Args:
        store: the storage of the table.
        snapshot: the version that it reads; None if it creates the table.
        operation: the operation that history shows.
        parameters: the parameters of the operation, for history.
        metrics: the metrics of the operation, for history.
        metrics_of: returns further metrics of the actions that are committed in the end. After a lost race
            these can differ from the staged ones.
        tags: the tags of `commitInfo`; the commit sets the one of row tracking unless it is given here.
        tags_row_tracking: whether the commit sets that tag; delta-spark does so where it moves rows.
        commit_metadata: further keys of `commitInfo`.
        max_commit_retries: how often a commit is retried after another writer was first.
        hooks: called in turn after the commit.
        clock: the time of the commit.
    """

    store: Store
    snapshot: Snapshot | None
    operation: str = "Manual Update"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    metrics: dict[str, str] = field(default_factory=dict)
    metrics_of: Callable[[Sequence[Action]], Mapping[str, str]] | None = None
    tags: dict[str, str] = field(default_factory=dict)
    tags_row_tracking: bool = True
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
        """Refuse early, so that no data file is written for a commit that cannot be made."""
        committer_of(self.store).ensure_able()
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
        """Return the live files that may hold a row of `predicate`, as `Snapshot.files`, and note the read.

        From here on the commit conflicts with another commit that adds a file which may hold such a row, or
        that removes one of these files or rows of it.

        A caller that reads row by row depends on less. It decides on every row by that row alone and names
        the rows that its commit depends on: it passes the rows that it changes to `remove_rows`, and all
        other rows that it searched for and found to `read_rows`. The commit then conflicts with another
        commit that deletes one of these rows, but not with one that deletes other rows of the files. A caller
        that counts, sums or copies over the rows of a file must not read row by row.

        Args:
            predicate: SQL text, or a predicate that is bound to the schema; all files if None.
            columns: columns by name; all if None.
            row_level: whether the caller reads row by row.
            matcher: reads files that another writer adds meanwhile and says whether they hold a row that was
                searched for. It is called only for files that `predicate` does not rule out, and for at most
                64 MiB; beyond that, or without a matcher, such files are a conflict.
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
        """Note rows that the commit depends on, in a file that `read_files` found with `row_level`.

        Args:
            file: the row of `Snapshot.files`; only its column `path` is used.
            positions: the positions of the rows in the data file, from 0.
        """
        self.read.add_rows(file["path"], positions)

    def read_whole_table(self) -> None:
        """Note that everything was read: any commit that adds or removes a file is a conflict."""
        self.read.whole_table = True

    def read_whole_version(self) -> None:
        """Note that the commit relies on all of the version: any other commit is a conflict."""
        self.read.whole_version = True

    def application_version(self, app_id: str) -> int | None:
        """Return the last version that an application recorded, and note that the commit relies on it."""
        self.read.applications.add(app_id)
        found = None if self.snapshot is None else self.snapshot.transactions.get(app_id)
        return None if found is None else found.version

    def _need_snapshot(self) -> Snapshot:
        if self.snapshot is None:
            raise TableNotFoundError(f"{self.store.uri} is only being created: there is nothing to read")
        return self.snapshot

    # --- staging ----------------------------------------------------------------------------------

    @property
    def configuration(self) -> Mapping[str, str]:
        """The table properties after the commit."""
        staged = self._last_staged(Metadata)
        if staged is not None:
            return staged.configuration
        return {} if self.snapshot is None else self.snapshot.configuration

    @property
    def staged_snapshot(self) -> Snapshot | None:
        """The version that is read, with the protocol and the metadata after the commit."""
        protocol, metadata = self._last_staged(Protocol), self._last_staged(Metadata)
        if self.snapshot is None or (protocol is None and metadata is None):
            return self.snapshot
        return self.snapshot.with_staged(
            protocol or self.snapshot.protocol, metadata or self.snapshot.metadata
        )

    def _last_staged(self, kind: type[_Kind]) -> _Kind | None:
        return next((each for each in self._staged.actions[::-1] if isinstance(each, kind)), None)

    @property
    def marks_deleted_rows(self) -> bool:
        """Whether the table that is read marks deleted rows in deletion vectors."""
        snapshot = self._need_snapshot()
        return is_supported(snapshot.protocol, "deletionVectors") and (
            properties.ENABLE_DELETION_VECTORS.parse(snapshot.configuration)
        )

    @property
    def actions(self) -> Sequence[Action]:
        """The actions staged so far, in order, without row deletions."""
        return tuple(self._staged.actions)

    def stage(self, actions: Sequence[Action]) -> None:
        """Add actions to the commit."""
        self._ensure_open()
        self._staged.actions.extend(actions)

    def add_files(self, files: Sequence[AddFile | AddCDCFile]) -> None:
        """Add files that were written for this transaction; they are deleted if it fails.

        Use `stage` for files that exist for another reason, such as a file of the table that gets another
        deletion vector.
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

    def restore_files(self, files: pa.Table, *, instead_of: pa.Table) -> None:
        """Put files of an older version in the place of live ones, as a change of data.

        The transaction must have read the whole table, so that no other commit has added or removed files.

        Args:
            files: the files of the older version that are not live, as rows of `Snapshot.files` with all
                columns. They get back their row ids.
            instead_of: the live files that the older version does not have, likewise.
        """
        assert self.read.whole_table
        added = [add_again(row, data_change=True) for row in files.to_pylist(maps_as_pydicts="strict")]
        self.stage(added)
        self._staged.restored.update(decode_path(add.path) for add in added)
        self.remove_files(instead_of)

    def add_in_bulk(self, files: BulkAdds) -> None:
        """Add files that are there already, without an object each; the whole table must have been read."""
        assert self.read.whole_table
        self._ensure_open()
        self._staged.bulk = files

    def remove_rows(self, file: Mapping[str, Any], positions: BitMap64) -> None:
        """Delete rows of a live file by their positions; further calls delete further rows.

        The commit depends on these rows: it conflicts with another commit that deletes one of them. If
        another commit deletes other rows of the file, both deletions count, unless this transaction read the
        file whole.

        Args:
            file: the row of `Snapshot.files` with all columns, as a dictionary whose maps are
                dictionaries too.
            positions: the positions of the rows in the data file, from 0.

        Raises:
            UnsupportedFeatureError: deletion vectors are not enabled in the table.
        """
        self._ensure_open()
        if not self.marks_deleted_rows:
            raise UnsupportedFeatureError(
                f"rows of {self.store.uri} cannot be marked as deleted: set delta.enableDeletionVectors to"
                " true",
                feature="deletionVectors",
            )
        self._staged.remove_rows(file, positions)
        self.read.add_rows(file["path"], positions)

    def relocate(self, files: pa.Table, counts: Sequence[int], added: AddFile | None) -> None:
        """Put a file that was written for this transaction in the place of live ones; no row changes.

        Rows of the old files that others delete meanwhile by deletion vectors are deleted in the new file.
        The commit conflicts with another that removes one of the old files.

        Args:
            files: the old files, as rows of `Snapshot.files` with all columns.
            counts: how many live rows each of them has.
            added: the new file, with the live rows of the first file in their order, then those of the next;
                None where no row is live.
        """
        self._ensure_open()
        rows = files.to_pylist(maps_as_pydicts="strict")
        self.read.files.update(row["path"] for row in rows)
        self._staged.relocations.append(Relocation.of(added, rows, counts))
        if added is not None:
            self._staged.written.append(decode_path(added.path))

    def rewrite(self, files: pa.Table, added: Sequence[AddFile]) -> None:
        """Put files that were written for this transaction in the place of live ones; no row changes.

        The commit conflicts with another that removes one of the old files, or deletes rows of it.

        Args:
            files: the old files, as rows of `Snapshot.files` with all columns.
            added: the new files, with the live rows in any order.
        """
        removes = self.remove_files(files, data_change=False)
        self.read.files.update(each.path for each in removes)
        self.add_files(added)

    def set_metadata(self, metadata: Metadata) -> None:
        """Stage new metadata, in place of any that is staged already.

        Raises `DeltaProtocolError` if it lowers an identity column's high water mark that this transaction
        staged.
        """
        for staged in self._staged.actions:
            if isinstance(staged, Metadata):
                ensure_marks_stay(staged, metadata)
        self._replace(Metadata, metadata)

    def set_protocol(self, protocol: Protocol) -> None:
        """Stage a new protocol, in place of any that is staged already."""
        self._replace(Protocol, protocol)

    def _replace(self, kind: type, action: Action) -> None:
        self._staged.actions = [each for each in self._staged.actions if not isinstance(each, kind)]
        self.stage([action])

    def set_domain(self, domain: str, configuration: str) -> None:
        """Set the metadata of a user's domain.

        Raises `InvalidTablePropertyError` for a name that begins with ``delta.``, which is reserved for
        engines.
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
        """Record the version that an application has reached, and return whether it is new.

        False means that the table has this version or a later one: the write was committed before and must
        not be committed again. A version that this transaction has staged already is staged once.
        """
        known = self.application_version(app_id)
        if known is not None and known >= version:
            return False
        staged = (each for each in self.actions if isinstance(each, SetTransaction))
        if any((each.app_id, each.version) == (app_id, version) for each in staged):
            return True
        updated = self.clock() if last_updated is None else last_updated
        self.stage([SetTransaction(app_id=app_id, version=version, last_updated=updated)])
        return True

    @contextlib.contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Keep all that a ``with`` block stages, or nothing if it fails, so that the caller may go on."""
        tags = dict(self.tags)
        try:
            with self._staged.all_or_nothing(self.store):
                yield
        except BaseException:
            self.tags = tags
            raise

    def _ensure_open(self) -> None:
        if self._is_closed:
            raise CommitFailedError("this transaction was committed or aborted already; begin another one")

    # --- committing -------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        """Begin; leaving the block commits unless nothing is staged."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Commit what is staged, or, after an error, delete the written files."""
        if self._is_closed:
            return
        if error is not None:
            self.abort()
        elif self._staged:
            self.commit()

    def abort(self) -> None:
        """Give up the transaction and delete the files written for it; a commit that was made stays."""
        self._close()
        self._staged.delete_written(self.store)

    def _close(self) -> None:
        self._is_closed = True
        # These callbacks hold the operation, which holds this transaction: break the cycle.
        self.read, self.metrics_of = ReadSet(), None

    def commit(self) -> int:
        """Commit what is staged and return the new version.

        Raises `VersionExistsError` if a new table already exists, the exception of a conflict with another
        writer, `ConcurrentWriteException` if no retry is left, `DeltaProtocolError` if the staged actions may
        not stand in one commit, and `CommitStateUnknownError` if nobody can tell whether the version was
        created: look at that version before you commit the same again.
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
                # An extra file is only waste; a missing file breaks the table.
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
            tags=self._tags(newest, actions) or None,
            engine_info=ENGINE_INFO,
            txn_id=self._id,
        )
        # Callers may have set any of these fields since the transaction began.
        ensure_commit_metadata(self.commit_metadata)
        info = with_commit_metadata(info, self.commit_metadata)
        for fault in find_commit_info_faults(render_action(info)[CommitInfo.KEY]):
            raise InvalidCommitMetadataError(
                f"{fault.key} of a transaction on {self.store.uri} is not {fault.wanted}; delta-spark could"
                " not read the commit"
            )
        return info

    def _tags(self, newest: Snapshot | None, actions: Sequence[Action]) -> Mapping[str, str]:
        """Return the tags; rows keep their ids unless row tracking was enabled since the table was read."""
        if not self.tags_row_tracking or not any(isinstance(each, AddFile | RemoveFile) for each in actions):
            return self.tags
        if newest is None or not is_row_tracking_enabled(newest.protocol, newest.configuration):
            return self.tags
        read = self._need_snapshot()
        is_kept = is_row_tracking_enabled(read.protocol, read.configuration)
        return {ROW_TRACKING_PRESERVED_TAG: str(is_kept).lower(), **self.tags}
