"""`RowOperation`: the common steps of DELETE, UPDATE and MERGE, from begin to commit.

A statement whose rows another writer has moved to other files meanwhile, as compaction does, is run again on
the version that this writer made. All commits between the first version and that one have been checked and
are no conflict, and the last one leaves the rows of the table as they were. So the statement means the same
there, and commits after it are checked as ever.
"""

import contextlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Self, TypeVar

import pyarrow as pa

import deltaarrow.scan as scan
from deltaarrow.actions import Action
from deltaarrow.compute import files_cursor, quote_identifier
from deltaarrow.errors import CommitFailedError
from deltaarrow.expressions import Predicate, columns_of
from deltaarrow.features import ensure_writable, properties
from deltaarrow.operations.auto_compaction import auto_compaction_hook
from deltaarrow.operations.commit.transaction_start import begin_transaction, is_replay
from deltaarrow.operations.define.write_target import WriteTarget
from deltaarrow.operations.dml.change_task import ChangeTask, RowChanges
from deltaarrow.operations.dml.changed_rows import ChangeQuery, has_rows, read_changes
from deltaarrow.operations.dml.clause_query import ClauseQuery, where_clause
from deltaarrow.operations.dml.row_scope import QueryCondition, RowScope
from deltaarrow.operations.dml.staging import RowStage, StagedRows
from deltaarrow.operations.rows.mark_or_rewrite import FileLosses, hidden_columns_of
from deltaarrow.operations.rows.row_id_assignment import tracking_of
from deltaarrow.runtime.clock import Clock, system_clock
from deltaarrow.runtime.executors import executor_in_use
from deltaarrow.runtime.fork_safety import cached_property
from deltaarrow.schema import Schema
from deltaarrow.snapshot import Snapshot
from deltaarrow.transaction import (
    CommitProperties,
    OptimisticTransaction,
    PostCommitHookProperties,
    RowMatcher,
    given_properties,
)
from deltaarrow.write import RowNumbering, WriterProperties

__all__ = [
    "TARGET",
    "RowOperation",
    "file_metrics",
    "milliseconds",
    "single_scope",
    "times",
]

TARGET = "target"
"""The alias of the table in expressions of DELETE and UPDATE that name no other."""

_Result = TypeVar("_Result")


@dataclass
class RowOperation:
    """One operation on the rows of a table; `target` is the table after the operation.

    Args:
        transaction: the transaction, on the snapshot that is read.
        target: the table with the schema changes of the operation.
        writer_properties: Parquet settings of the written files.
        memory_limit: the memory that DuckDB may use before it spills, such as ``"1GB"``; the limit of the
            process if None.
        spill_limit: the bytes that DuckDB may spill at most in a merge; as many as it takes if None.
        is_held: whether the transaction stays open when the operation is committed, for other changes.
        is_replay: whether the table already has this operation of an application, so nothing is done.
        begin_again: begins the same operation on another version; None if it cannot be run again.
        begun: when the operation began, on the clock of `time.perf_counter`.
    """

    transaction: OptimisticTransaction
    target: WriteTarget
    writer_properties: WriterProperties | None = None
    memory_limit: str | None = None
    spill_limit: int | None = None
    is_held: bool = False
    is_replay: bool = False
    begin_again: "Callable[[Snapshot], RowOperation] | None" = None
    begun: float = field(default_factory=time.perf_counter)

    @classmethod
    def begin(
        cls,
        snapshot: Snapshot,
        name: str,
        *,
        writer_properties: WriterProperties | None = None,
        commit_properties: CommitProperties | None = None,
        hook_properties: PostCommitHookProperties | None = None,
        memory_limit: str | None = None,
        only_adds: bool = False,
        clock: Clock = system_clock,
    ) -> "RowOperation":
        """Begin an operation; `name` is for history, `only_adds` says that no existing row changes.

        Raises `UnsupportedFeatureError` for a table whose rows this release cannot change.
        """
        ensure_writable(snapshot.protocol, snapshot.metadata, "append" if only_adds else "change")

        def begin_again(newer: Snapshot) -> "RowOperation":
            return cls.begin(
                newer,
                name,
                writer_properties=writer_properties,
                commit_properties=commit_properties,
                hook_properties=hook_properties,
                memory_limit=memory_limit,
                only_adds=only_adds,
                clock=clock,
            )

        given = given_properties(commit_properties)
        transaction = begin_transaction(
            snapshot, name, replace(given, app_transactions=None), hook_properties, clock=clock
        )
        transaction.hooks = [*transaction.hooks, auto_compaction_hook(hook_properties)]
        return cls(
            transaction,
            WriteTarget.existing(snapshot),
            writer_properties,
            memory_limit,
            is_replay=is_replay(transaction, given.app_transactions or ()),
            begin_again=begin_again,
        )

    def carry_out(self, statement: "Callable[[RowOperation], _Result]") -> _Result:
        """Run a statement and return its result; again, if another writer has only moved rows that it read.

        It is run again as often as a commit is retried. An error discards what was staged and deletes its
        files.

        Args:
            statement: stages and commits all its work by the operation that it is given.
        """
        operation, retries = self, self.transaction.max_commit_retries
        while True:
            try:
                with operation:
                    return statement(operation)
            except CommitFailedError as error:
                if error.moved_in is None or operation.begin_again is None or not retries:
                    raise
                moved_in = error.moved_in
            retries -= 1
            newer = Snapshot.load(operation.snapshot.store, moved_in, known=operation.snapshot)
            operation = replace(operation.begin_again(newer), begun=self.begun)

    def __enter__(self) -> Self:
        """Enter the operation; an error inside the block discards it and deletes its files."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Discard the operation if it was not committed; a failed commit deletes its own files."""
        if error is not None:
            self.transaction.__exit__(kind, error, trace)

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot that the operation reads."""
        snapshot = self.transaction.snapshot
        assert snapshot is not None
        return snapshot

    @property
    def schema(self) -> Schema:
        """The schema of the table after the operation."""
        return self.target.schema

    @property
    def now_ms(self) -> int:
        """The time of the operation, in milliseconds since the epoch."""
        return self.transaction.clock()

    @property
    def has_change_feed(self) -> bool:
        """Whether the table has a change data feed."""
        return properties.ENABLE_CHANGE_DATA_FEED.parse(self.target.metadata.configuration)

    @cached_property
    def tracking(self) -> scan.RowTracking | None:
        """The row tracking columns of the table; None if it does not track rows."""
        return tracking_of(self.snapshot)

    def plan(
        self, predicate: Predicate | None, columns: Iterable[str], matcher: RowMatcher | None = None
    ) -> scan.ScanPlan:
        """Plan reading columns, in table order, of the files that may hold rows of a predicate.

        `matcher` tells whether files added by concurrent commits hold a row that the operation would change.
        """
        if predicate is not None and any(
            self.snapshot.schema.find(path[0]) is None for path in columns_of(predicate)
        ):
            predicate = None  # files have no statistics of columns that the operation adds
        row_level = self.transaction.marks_deleted_rows
        files = self.transaction.read_files(predicate, row_level=row_level, matcher=matcher)
        if self.tracking is not None:
            scan.ensure_recorded(files, scan.ROW_TRACKING_COLUMNS)
        scan.ensure_distinct_files(self.snapshot.store, files)
        return self.plan_of(files, columns)

    def plan_of(self, files: pa.Table, columns: Iterable[str]) -> scan.ScanPlan:
        """Plan reading columns, in table order, of the given files."""
        layout = scan.table_layout(self.snapshot, self.tracking)
        own = self.schema if self.tracking is None else scan.with_row_tracking(self.schema)
        wanted = set(columns)
        names = tuple(name for name in own.names if name in wanted)
        return scan.ScanPlan(replace(layout, schema=own), self.snapshot.version, names, files)

    def matcher(self, condition: QueryCondition) -> RowMatcher:
        """Return a function that tells whether files hold a row for which a condition is TRUE.

        A row for which the condition cannot be computed counts too: the statement would have failed.
        """

        def matches(files: pa.Table) -> bool:
            plan = self.plan_of(files, {name for _, name in condition.columns})
            with (
                scan.naming_damaged_files(plan),
                files_cursor(plan.store, memory_limit=self.memory_limit) as cursor,
            ):
                rows = scan.located_rows(cursor, plan, "deltaarrow_added")
                return has_rows(cursor, f"FROM ({rows}) AS t WHERE {where_clause(condition)}")

        return matches

    def changes(
        self,
        plan: scan.ScanPlan,
        numbering: RowNumbering | None,
        *,
        writes_changes: bool,
        may_repeat: bool,
    ) -> RowChanges:
        """Return how rows that a query finds in a plan are written; the arguments are as for `stage`."""
        write_plan = self.target.plan(self.snapshot.store, properties=self.writer_properties)
        return RowChanges(
            plan=plan,
            write_plan=replace(write_plan, hidden_columns=hidden_columns_of(self.snapshot, plan.layout)),
            numbering=numbering or RowNumbering(),
            marks_deleted_rows=self.transaction.marks_deleted_rows,
            writes_changes=writes_changes,
            may_rewrite_marked=writes_changes or not self.has_change_feed,
            may_repeat=may_repeat,
        )

    def stage(
        self,
        plan: scan.ScanPlan,
        query: Callable[[Any, str], ChangeQuery],
        *,
        numbering: RowNumbering | None = None,
        writes_changes: bool,
        cursor: Any = None,
        may_repeat: bool = False,
        relies_on_kept: bool = False,
    ) -> StagedRows:
        """Run a query over a plan and stage the changes of its rows.

        Args:
            plan: the files and columns to read.
            query: makes the query, given a cursor and the SELECT of the rows of the plan.
            numbering: the numbering of identity columns that new rows lack.
            writes_changes: whether change data files are written.
            cursor: the cursor to run the query on, for example with a loaded source; a new one if None.
            may_repeat: whether the query may find a row more than once; it counts once.
            relies_on_kept: whether the operation depends on matched rows that it leaves unchanged.
        """
        changes = self.changes(plan, numbering, writes_changes=writes_changes, may_repeat=may_repeat)
        if self.is_replay or (not plan.files.num_rows and cursor is None):
            return StagedRows()
        stage = RowStage(self.transaction, changes, relies_on_kept=relies_on_kept)
        parts = executor_in_use().parts([task.size for task in plan.tasks]) if cursor is None else None
        if parts is not None:
            assert isinstance(query, ClauseQuery)
            tasks = [ChangeTask(changes.of(part), query, self.now_ms, self.memory_limit) for part in parts]
            return stage.stage_tasks(tasks, parts)
        with contextlib.ExitStack() as stack:
            stack.enter_context(scan.naming_damaged_files(plan))
            if cursor is None:
                limit = self.memory_limit
                cursor = stack.enter_context(files_cursor(plan.store, memory_limit=limit))
            rows = scan.located_rows(cursor, plan, f"deltaarrow_target_{plan.version}")
            with contextlib.closing(read_changes(cursor, query(cursor, rows))) as found:
                return stage.stage(found)

    def commit(
        self,
        parameters: Mapping[str, Any],
        staged: StagedRows,
        metrics: Callable[[], Mapping[str, int]],
    ) -> None:
        """Commit the staged changes, if any, with the history entry.

        Concurrent commits may have deleted other rows of the same files, so `metrics` is called once the
        final actions are known, and `staged` then has their effect.
        """
        if self.is_replay:
            self.transaction.abort()
            return
        self.transaction.parameters = dict(parameters)

        def metrics_of(actions: Sequence[Action]) -> dict[str, str]:
            staged.losses = FileLosses.of(actions)
            said = {**metrics(), "executionTimeMs": self.elapsed_ms}
            return {name: str(value) for name, value in said.items()}

        self.transaction.metrics_of = metrics_of
        if not self.is_held:
            with self.transaction:
                pass
        # Otherwise Arrow keeps this memory, while the next statement allocates as much again in DuckDB.
        pa.default_memory_pool().release_unused()

    @property
    def elapsed_ms(self) -> int:
        """The time since the operation began, in milliseconds."""
        return milliseconds(time.perf_counter() - self.begun)


def milliseconds(seconds: float) -> int:
    """Return seconds as whole milliseconds."""
    return round(seconds * 1000)


def single_scope(operation: RowOperation, alias: str) -> RowScope:
    """Return the scope of a statement without a source: DELETE or UPDATE."""
    return RowScope(
        {alias: operation.schema},
        lambda _, name: f"t.{quote_identifier(name)}",
        alias,
        operation.now_ms,
    )


def file_metrics(staged: StagedRows) -> dict[str, int]:
    """Return the file metrics of the history entry."""
    return {
        "numAddedFiles": len(staged.added),
        "numAddedBytes": sum(each.size for each in staged.added),
        "numRemovedFiles": staged.losses.removed_files,
        "numRemovedBytes": staged.losses.removed_bytes,
        "numCopiedRows": staged.copied_rows,
        "numAddedChangeFiles": len(staged.change_files),
        "numDeletionVectorsAdded": staged.losses.vectors_added,
        "numDeletionVectorsUpdated": staged.losses.vectors_updated,
        "numDeletionVectorsRemoved": staged.losses.vectors_removed,
        "scanTimeMs": milliseconds(staged.scan_seconds),
        "rewriteTimeMs": milliseconds(staged.seconds - staged.scan_seconds),
    }


def times(operation: RowOperation, staged: StagedRows) -> dict[str, int]:
    """Return the time metrics under the names of ``deltalake``, in milliseconds."""
    return {
        "execution_time_ms": operation.elapsed_ms,
        "scan_time_ms": milliseconds(staged.scan_seconds),
        "rewrite_time_ms": milliseconds(staged.seconds - staged.scan_seconds),
    }
