"""Compaction: the rows of small files, and of files with many deleted rows, in new files.

`Compaction.plan` chooses files from the log, `Compaction.run` has tasks copy their rows and commits. No row
changes, and the commit says so (``dataChange`` is false). Rows that another writer deletes meanwhile by
deletion vectors are deleted in the new files too: see `deltaarrow.transaction.relocation`.
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from typing import Any

import deltaarrow.scan as scan
from deltaarrow.columnar.arrays import integers
from deltaarrow.features import properties
from deltaarrow.operations.commit_properties import CommitProperties, PostCommitHookProperties
from deltaarrow.operations.dml.operation import predicates_parameter
from deltaarrow.operations.mark_or_rewrite import hidden_columns_of
from deltaarrow.operations.optimize.bins import Bin, has_too_many_deleted_rows, pack
from deltaarrow.operations.optimize.metrics import caller_metrics, history_metrics
from deltaarrow.operations.optimize.plan import OptimizePlan
from deltaarrow.operations.optimize.rewrite_task import RewriteTask, RewrittenBin
from deltaarrow.operations.optimize.selection import ensure_on_partitions, in_partitions
from deltaarrow.operations.row_id_assignment import tracking_of
from deltaarrow.operations.target import WriteTarget
from deltaarrow.operations.transaction import begin_transaction
from deltaarrow.runtime.clock import Clock, system_clock
from deltaarrow.runtime.fork_safety import cached_property
from deltaarrow.snapshot import Snapshot
from deltaarrow.transaction import OptimisticTransaction
from deltaarrow.write import WritePlan, WriterProperties

__all__ = ["Compaction", "CompactionOptions", "Progress"]

_DEFAULT_TARGET_SIZE = 1 << 30
"""As in Spark, which would go on compacting smaller files."""

_NEVER_FULL = 1 << 62
"""One bin becomes one file, however well its rows compress."""


@dataclass(frozen=True, kw_only=True)
class CompactionOptions:
    """How files are chosen and rewritten.

    Args:
        conditions: on partition columns: which partitions; all of them if there is none.
        predicate: the conditions as SQL text, for history.
        target_size: what the files of a bin come to at most, in bytes; ``delta.targetFileSize`` if None, or
            else 1 GiB.
        min_file_size: smaller files are candidates; `target_size` if None.
        max_deleted_rows_ratio: files of whose rows a larger part is deleted are candidates.
        max_concurrent_tasks: how many bins are rewritten at once; as many as there are processors if None.
        min_commit_interval: seconds after which the bins that are done are committed, while others are still
            rewritten; one commit at the end if None.
        writer_properties: how Parquet is written.

    Raises:
        ValueError: a size or a number is not positive, or the ratio is not between 0 and 1.
    """

    conditions: tuple[scan.RowCondition, ...] = ()
    predicate: str | None = None
    target_size: int | None = None
    min_file_size: int | None = None
    max_deleted_rows_ratio: float = 0.05
    max_concurrent_tasks: int | None = None
    min_commit_interval: float | None = None
    writer_properties: WriterProperties | None = None

    def __post_init__(self) -> None:
        for name in ("target_size", "min_file_size", "max_concurrent_tasks"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < 1):
                raise ValueError(f"{name} must be a whole number of at least 1, not {value!r}")
        if not 0 <= self.max_deleted_rows_ratio <= 1:
            raise ValueError(
                f"max_deleted_rows_ratio must be between 0 and 1, not {self.max_deleted_rows_ratio!r}"
            )
        if self.min_commit_interval is not None and self.min_commit_interval < 0:
            raise ValueError(f"min_commit_interval must not be negative, not {self.min_commit_interval!r}")


Progress = Callable[[int, int], None]
"""Is told how many bytes of old files are rewritten, and how many there are in all."""


@dataclass
class Compaction:
    """One OPTIMIZE without clustering.

    Args:
        snapshot: the version that is compacted.
        options: how.
        commit_properties: what else goes into the commits.
        hook_properties: what happens after each.
        clock: the time of new files and of commits.
    """

    snapshot: Snapshot
    options: CompactionOptions
    commit_properties: CommitProperties | None = None
    hook_properties: PostCommitHookProperties | None = None
    clock: Clock = system_clock
    _transaction: OptimisticTransaction = field(init=False)
    _staged: list[RewrittenBin] = field(default_factory=list, init=False)
    _committed: list[RewrittenBin] = field(default_factory=list, init=False)

    @property
    def _target_size(self) -> int:
        said = self.options.target_size or properties.TARGET_FILE_SIZE.parse(self.snapshot.configuration)
        return said or _DEFAULT_TARGET_SIZE

    def _begin(self) -> OptimisticTransaction:
        transaction = begin_transaction(
            self.snapshot, "OPTIMIZE", self.commit_properties, self.hook_properties, clock=self.clock
        )
        transaction.parameters = {
            "predicate": predicates_parameter(self.options.predicate),
            "zOrderBy": "[]",
            "clusterBy": "[]",
            "auto": False,
        }
        return transaction

    @cached_property
    def plan(self) -> OptimizePlan:
        """What is going to be rewritten.

        Raises `InvalidPredicateError` for a condition that is not on partition columns.
        """
        snapshot, options = self.snapshot, self.options
        tracking = tracking_of(snapshot)
        layout = scan.table_layout(snapshot, tracking)
        ensure_on_partitions(options.conditions, snapshot.partition_columns)
        files = in_partitions(layout, snapshot.files(), options.conditions)
        if tracking is not None:
            scan.ensure_recorded(files, scan.ROW_TRACKING_COLUMNS)
        scan.ensure_distinct_files(snapshot.store, files)
        planned = scan.ScanPlan(layout, snapshot.version, tuple(snapshot.schema.names), files)
        least = options.min_file_size or self._target_size

        def is_half_deleted(task: scan.FileTask) -> bool:
            return has_too_many_deleted_rows(task, options.max_deleted_rows_ratio)

        bins = pack(
            planned.tasks,
            self._target_size,
            is_candidate=lambda task: task.size < least or is_half_deleted(task),
            is_worth_alone=is_half_deleted,
        )
        return OptimizePlan(planned, tuple(bins), files.num_rows)

    @cached_property
    def _write_plan(self) -> WritePlan:
        target = WriteTarget.existing(self.snapshot)
        plan = target.plan(self.snapshot.store, _NEVER_FULL, self.options.writer_properties)
        hidden = hidden_columns_of(self.snapshot, self.plan.scan.layout)
        return replace(plan.without_rules(), data_change=False, hidden_columns=hidden)

    @property
    def tasks(self) -> Iterator[RewriteTask]:
        """What is to be done, one task for each bin."""
        for each in self.plan.bins:
            yield RewriteTask(self.plan.scan.layout, tuple(self.plan.tasks(each)), each, self._write_plan)

    def run(self, progress: Progress = lambda done, total: None) -> dict[str, Any]:
        """Rewrite the files, commit, and return the metrics by the names that ``deltalake`` has for them.

        Nothing is committed where there is nothing to rewrite.

        Raises what reading and writing raise, and the exceptions of commits: `ConcurrentDeleteReadException`
        when another writer has removed or rewritten one of the files meanwhile. What was not committed is
        deleted again.
        """
        interval = self.options.min_commit_interval
        done, last_commit = 0, time.monotonic()
        # A table that cannot be written to is refused before there is a file.
        self._transaction = self._begin()
        try:
            for each, rewritten in self._rewritten():
                self._stage(rewritten)
                done += each.size
                progress(done, self.plan.num_bytes)
                if interval is not None and time.monotonic() - last_commit >= interval:
                    self._commit()
                    last_commit = time.monotonic()
            self._commit()
        except BaseException:
            self._transaction.abort()
            raise
        return self._metrics()

    def _rewritten(self) -> Iterator[tuple[Bin, RewrittenBin]]:
        """Yield each bin once it is rewritten.

        When this ends early, the files of bins that are done, or just being rewritten, are staged, so that
        they go when the transaction is given up.
        """
        threads = self.options.max_concurrent_tasks or os.cpu_count() or 1
        with ThreadPoolExecutor(threads, thread_name_prefix="deltaarrow-optimize") as pool:
            running = {pool.submit(task.run, self.clock): task.bin for task in self.tasks}
            try:
                for future in as_completed(running):
                    rewritten = future.result()
                    yield running.pop(future), rewritten
            except BaseException:
                for future in running:
                    future.cancel()
                for future in running:
                    if not future.cancelled() and future.exception() is None:
                        self._stage(future.result())
                raise

    def _stage(self, rewritten: RewrittenBin) -> None:
        places = integers(rewritten.places)
        self._transaction.relocate(self.plan.scan.files.take(places), rewritten.counts, rewritten.added)
        self._staged.append(rewritten)

    def _commit(self) -> None:
        """Commit what is staged, and begin anew for what is still to come."""
        if not self._staged:
            return
        added, removed = self._sizes(self._staged)
        self._transaction.metrics.update(history_metrics(added, removed, self._vectors(self._staged)))
        self._transaction.commit()
        self._committed += self._staged
        self._staged, self._transaction = [], self._begin()

    def _sizes(self, bins: Sequence[RewrittenBin]) -> tuple[list[int], list[int]]:
        tasks = self.plan.scan.tasks
        added = [each.added.size for each in bins if each.added is not None]
        return added, [tasks[place].size for each in bins for place in each.places]

    def _vectors(self, bins: Sequence[RewrittenBin]) -> int:
        tasks = self.plan.scan.tasks
        return sum(tasks[place].deletion_vector is not None for each in bins for place in each.places)

    def _metrics(self) -> dict[str, Any]:
        added, removed = self._sizes(self._committed)
        return caller_metrics(
            added,
            removed,
            partitions=self.plan.num_partitions,
            bins=len(self.plan.bins),
            considered=self.plan.considered,
            vectors_removed=self._vectors(self._committed),
            keeps_order=True,
        )
