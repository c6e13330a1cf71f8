"""Rewriting of files without a change of rows: tasks copy rows, and a commit replaces the files.

The commit says that no data changes (``dataChange`` is false). Rows that another writer deletes meanwhile by
deletion vectors are deleted in the new files too, if rows kept their order: see
`deltaarrow.transaction.relocation`. If they are laid out anew, such a deletion is a conflict.
"""

import contextlib
import functools
import itertools
import os
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from deltaarrow.columnar.numpy_arrays import integers
from deltaarrow.operations.commit.catalog_policy import ensure_maintenance_allowed
from deltaarrow.operations.commit.transaction_start import begin_transaction
from deltaarrow.operations.define.write_target import WriteTarget
from deltaarrow.operations.optimize.bins import Bin
from deltaarrow.operations.optimize.divided_sort import in_pieces
from deltaarrow.operations.optimize.metrics import caller_metrics, history_metrics
from deltaarrow.operations.optimize.plan import OptimizePlan
from deltaarrow.operations.optimize.rewrite_task import RewriteTask, RewrittenBin
from deltaarrow.operations.optimize.sort_task import Sorting, SortTask
from deltaarrow.operations.rows.mark_or_rewrite import hidden_columns_of
from deltaarrow.runtime.clock import Clock, system_clock
from deltaarrow.runtime.executors import TaskLimits, executor_in_use
from deltaarrow.runtime.fork_safety import cached_property
from deltaarrow.snapshot import Snapshot
from deltaarrow.transaction import CommitProperties, OptimisticTransaction, PostCommitHookProperties
from deltaarrow.write import WritePlan, WriterProperties

__all__ = ["Progress", "Rewriting", "RewritingOptions"]

_NEVER_FULL = 1 << 62
"""One bin becomes one file, however well its rows compress."""

Progress = Callable[[int, int], None]
"""Called with the number of bytes of old files rewritten so far and the total."""


@dataclass(frozen=True, kw_only=True)
class RewritingOptions:
    """How files are rewritten and committed.

    Args:
        max_concurrent_tasks: the number of bins rewritten at once; the number of processors if None.
        min_commit_interval: seconds after which the bins that are done are committed, while others are still
            rewritten; one commit at the end if None.
        writer_properties: how Parquet is written.
        commit_properties: what else goes into the commits.
        hook_properties: what happens after each commit.

    Raises:
        ValueError: a number is out of its range.
    """

    max_concurrent_tasks: int | None = None
    min_commit_interval: float | None = None
    writer_properties: WriterProperties | None = None
    commit_properties: CommitProperties | None = None
    hook_properties: PostCommitHookProperties | None = None

    def __post_init__(self) -> None:
        threads, interval = self.max_concurrent_tasks, self.min_commit_interval
        if threads is not None and (type(threads) is not int or threads < 1):
            raise ValueError(f"max_concurrent_tasks must be a whole number of at least 1, not {threads!r}")
        if interval is not None and interval < 0:
            raise ValueError(f"min_commit_interval must not be negative, not {interval!r}")

    def after_a_commit(self) -> "RewritingOptions":
        """Return the options of a further commit: the progress of applications is in the first one."""
        given = self.commit_properties
        return (
            self if given is None else replace(self, commit_properties=replace(given, app_transactions=None))
        )


@dataclass
class Rewriting:
    """A plan on its way to a commit.

    Args:
        snapshot: the version that the plan is for.
        plan: which files are rewritten together.
        operation: what history shows.
        parameters: the parameters of the operation, for history.
        options: how.
        clock: the time of new files and of commits.
        sorting: how rows are laid out; they keep their order if None.
        target: the table as the commit makes it, if it changes metadata too; then any file that another
            writer adds meanwhile is a conflict.
    """

    snapshot: Snapshot
    plan: OptimizePlan
    operation: str
    parameters: Mapping[str, Any]
    options: RewritingOptions
    clock: Clock = system_clock
    sorting: Sorting | None = None
    target: WriteTarget | None = None
    _transaction: OptimisticTransaction | None = field(default=None, init=False)
    _staged: list[RewrittenBin] = field(default_factory=list, init=False)
    _committed: list[RewrittenBin] = field(default_factory=list, init=False)

    def _open(self) -> OptimisticTransaction:
        """Return the transaction to stage in; another one after each commit."""
        if self._transaction is None:
            options = self.options.after_a_commit() if self._committed else self.options
            self._transaction = begin_transaction(
                self.snapshot,
                self.operation,
                options.commit_properties,
                options.hook_properties,
                clock=self.clock,
            )
            self._transaction.parameters = self.parameters
            if self.target is not None:
                self._transaction.stage(self.target.changes)
                self._transaction.read_whole_table()
        return self._transaction

    @cached_property
    def _write_plan(self) -> WritePlan:
        target = self.target or WriteTarget.existing(self.snapshot)
        plan = target.plan(self.snapshot.store, _NEVER_FULL, self.options.writer_properties)
        # The rows of a bin are of one partition anyway.
        plan = replace(plan, fewest_files=False)
        hidden = hidden_columns_of(self.snapshot, self.plan.scan.layout)
        return replace(plan.without_rules(), data_change=False, hidden_columns=hidden)

    @property
    def tasks(self) -> Iterator[RewriteTask | SortTask]:
        """What is to be done, one task for each bin."""
        ensure_maintenance_allowed(self.snapshot.store, f"do {self.operation} of")
        layout, at_once = self.plan.scan.layout, min(self._threads, max(1, len(self.plan.bins)))
        threads = executor_in_use().threads_of_task(self._threads, at_once)
        for each in self.plan.bins:
            tasks = tuple(self.plan.tasks(each))
            if self.sorting is None:
                yield RewriteTask(layout, tasks, each, self._write_plan, threads)
            else:
                sorting = self.sorting.shared_by(at_once)
                yield SortTask(layout, tasks, each, self._write_plan, sorting, threads)

    @property
    def _threads(self) -> int:
        return self.options.max_concurrent_tasks or os.cpu_count() or 1

    def run(self, progress: Progress = lambda done, total: None) -> dict[str, Any]:
        """Rewrite the files, commit, and return the metrics by the names that ``deltalake`` has for them.

        Nothing is committed where there is nothing to rewrite, unless the metadata changes.

        Raises what reading and writing raise, and the exceptions of commits: `ConcurrentDeleteReadException`
        when another writer has removed or rewritten one of the files meanwhile. What was not committed is
        deleted again.
        """
        interval = self.options.min_commit_interval
        done, last_commit = 0, time.monotonic()
        try:
            # A table that cannot be written to is refused before there is a file.
            self._open()
            with contextlib.closing(self._rewritten()) as bins:
                for each, rewritten in bins:
                    self._stage(rewritten)
                    done += each.size
                    progress(done, self.plan.num_bytes)
                    if interval is not None and time.monotonic() - last_commit >= interval:
                        self._commit()
                        last_commit = time.monotonic()
            self._commit()
        except BaseException:
            if self._transaction is not None:
                self._transaction.abort()
            raise
        return self._metrics()

    def _rewritten(self) -> Generator[tuple[Bin, RewrittenBin], None, None]:
        """Yield each bin once it is rewritten.

        When this ends early, the files of bins that are done, or just being rewritten, are staged, so that
        they go when the transaction is given up.
        """
        tasks = list(self.tasks)
        limits = TaskLimits(self._threads, "deltaarrow-optimize")
        with in_pieces(tasks, limits) as pieces:
            numbers = [number for number, each in enumerate(pieces) for _ in each]
            calls = [functools.partial(piece.run, self.clock) for each in pieces for piece in each]
            done: dict[int, dict[int, RewrittenBin]] = {number: {} for number in range(len(tasks))}
            with contextlib.closing(executor_in_use().run(calls, limits, self._stage)) as results:
                try:
                    for number, each in enumerate(pieces):
                        if not each:
                            yield tasks[number].bin, _joined(tasks[number].bin, done.pop(number))
                    for place, rewritten in results:
                        number = numbers[place]
                        done[number][place] = rewritten
                        if len(done[number]) == len(pieces[number]):
                            of_bin = tasks[number].bin
                            yield of_bin, _joined(of_bin, done.pop(number))
                except BaseException:
                    for rewritten in itertools.chain.from_iterable(each.values() for each in done.values()):
                        self._stage(rewritten)
                    raise

    def _stage(self, rewritten: RewrittenBin) -> None:
        files, added = self.plan.scan.files.take(integers(rewritten.places)), rewritten.added
        if rewritten.counts is None or self.target is not None:
            self._open().rewrite(files, added)
        else:
            self._open().relocate(files, rewritten.counts, added[0] if added else None)
        self._staged.append(rewritten)

    def _commit(self) -> None:
        """Commit what is staged."""
        if not self._staged and (self.target is None or self._committed):
            return
        staged, self._staged = self._staged, []
        transaction, self._transaction = self._open(), None
        added, removed = self._sizes(staged)
        if self.target is None:
            transaction.metrics.update(history_metrics(added, removed, self._vectors(staged)))
        else:
            transaction.metrics["numOutputBytes"] = str(sum(added))
        transaction.commit()
        self._committed += staged

    def _sizes(self, bins: Sequence[RewrittenBin]) -> tuple[list[int], list[int]]:
        added = [file.size for each in bins for file in each.added]
        return added, [self.plan.task(place).size for each in bins for place in each.places]

    def _vectors(self, bins: Sequence[RewrittenBin]) -> int:
        places = (place for each in bins for place in each.places)
        return sum(self.plan.task(place).deletion_vector is not None for place in places)

    def _metrics(self) -> dict[str, Any]:
        added, removed = self._sizes(self._committed)
        return caller_metrics(
            added,
            removed,
            partitions=self.plan.num_partitions,
            bins=len(self.plan.bins),
            considered=self.plan.considered,
            vectors_removed=self._vectors(self._committed),
            keeps_order=self.sorting is None,
        )


def _joined(of_bin: Bin, pieces: Mapping[int, RewrittenBin]) -> RewrittenBin:
    """Return a bin that was rewritten in one piece, or in several that share its old files."""
    ordered = [pieces[place] for place in sorted(pieces)]
    if len(ordered) == 1 and ordered[0].places:
        return ordered[0]
    added = itertools.chain.from_iterable(each.added for each in ordered)
    return RewrittenBin(tuple(added), of_bin.places, None)
