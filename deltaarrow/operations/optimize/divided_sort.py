"""The sort of a large bin divided among tasks, for executors in other processes: `in_pieces`.

The rows of a bin are shuffled among tasks in three phases. Each runs the tasks of all such bins at once.

1. Each `SampleTask` reads the columns of the curve from some files, and returns a sample of their values. The
   driver chooses the ranges of values that the curve mixes, and the keys that divide the bin into ranges.
   Both are the same for all tasks and attempts.
2. Each `RunTask` reads all columns from the same files, and writes their rows to a file, cut by these keys:
   see `deltaarrow.operations.optimize.run_files`.
3. Each `RangeTask` reads the rows of one range from all files of phase 2, sorts them, and writes new files as
   `SortTask` does for a whole bin.

So every row is read and written once more than on one node, however many tasks there are. There were two
other ways. Tasks that look for the rows of their range in all files of the bin need no files in between, but
read a bin without order as often as there are tasks. A shuffle by Spark needs an executor that does more than
run tasks, and takes rows in Spark's types. With files in the storage, any executor can run the phases, and a
lost one takes no rows with it.

An attempt of a `RunTask` names its file anew, and only the files of attempts whose results came back are
read. Rows with one key are in one range. The numbers of rows that are sampled, written to files in between,
and written to new files must agree.
"""

import contextlib
import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self, TypeVar

import numpy as np
import orjson

from deltaarrow.columnar.row_sorter import RowSorter, file_edge
from deltaarrow.errors import DeltaError
from deltaarrow.operations.optimize.ranges import SAMPLED_ROWS, CurveKeys, RowSample
from deltaarrow.operations.optimize.rewrite_task import RewriteTask, RewrittenBin
from deltaarrow.operations.optimize.run_files import Piece, RunFile, read_pieces, write_run
from deltaarrow.operations.optimize.sort_task import SortedFiles, Sorting, SortTask, encoded_columns
from deltaarrow.operations.rows.mark_or_rewrite import live_rows
from deltaarrow.runtime.clock import Clock, system_clock
from deltaarrow.runtime.executors import Executor, TaskLimits, executor_in_use, run_all
from deltaarrow.scan import BatchReader, FileTask, TableLayout
from deltaarrow.write import WritePlan

__all__ = ["DivisionRules", "RangeTask", "RunTask", "SampleTask", "in_pieces"]

_Result = TypeVar("_Result")


@dataclass(frozen=True, kw_only=True)
class DivisionRules:
    """Which bins are divided, and how.

    Args:
        shares: a bin is divided if it has more than the bytes of all bins divided by so many tasks for each
            that runs at once. One task for such a bin would keep the others waiting.
        least_tasks: a bin whose files are read by fewer tasks is not divided: reading, writing and starting
            tasks once more would take longer.
        largest_span: the row groups of a file with more bytes are divided among tasks.
        sampled_rows: the sample of a bin has so many rows to twice as many,
        sampled_rows_of_file: or so many for each new file, if these are more.
        least_sampled_rows: the sample of a task has at least so many.
    """

    shares: int = 2
    least_tasks: int = 4
    largest_span: int = 128 << 20
    sampled_rows: int = SAMPLED_ROWS
    sampled_rows_of_file: int = 200
    least_sampled_rows: int = 200


@dataclass(frozen=True)
class _Sampled:
    """What a `SampleTask` returns: the sample, and the text columns that are read as dictionary arrays."""

    rows: RowSample
    encoded: frozenset[str]


@dataclass(frozen=True)
class SampleTask:
    """Samples the columns of a curve in some files of a bin; picklable.

    Args:
        layout: how rows lie in the files.
        tasks: the files, or row groups of them.
        sorting: how rows are laid out.
        rows: the sample has so many rows to twice as many.
        seed: the number of the task among those of a bin.
    """

    layout: TableLayout
    tasks: tuple[FileTask, ...]
    sorting: Sorting
    rows: int
    seed: int

    def run(self) -> _Sampled:
        """Return the sample. Raises what reading raises."""
        batches = BatchReader(self.layout, self.sorting.columns).read(self.tasks)
        sample = RowSample.of(batches, self.sorting.paths, self.rows, self.seed)
        return _Sampled(sample, encoded_columns(self.layout, self.tasks[0], self.sorting))


@dataclass(frozen=True)
class RunTask:
    """Writes the live rows of some files of a bin to a `RunFile`; picklable.

    Args:
        layout: how rows lie in the files; with row tracking where the table tracks rows.
        tasks: the files, or row groups of them.
        write_plan: how rows are written in the end.
        sorting: how rows are laid out.
        keys: gives rows their keys.
        edges: the keys at which ranges begin, except the first one.
    """

    layout: TableLayout
    tasks: tuple[FileTask, ...]
    write_plan: WritePlan
    sorting: Sorting
    keys: CurveKeys
    edges: tuple[int, ...]

    def run(self) -> RunFile:
        """Write the file. Raises what reading and writing raise; then there is no file."""
        plan = self.write_plan
        batches = live_rows(self.layout, plan.hidden_columns, self.tasks, encoded=plan.encoded_columns)
        rows = ((batch, self.keys.of(batch)) for batch in batches)
        return write_run(plan.store, rows, self.edges, self.sorting.limits.memory // 8)


@dataclass(frozen=True)
class RangeTask:
    """Sorts the rows of one range of keys of a bin and writes them to new files; picklable.

    Args:
        pieces: the rows, in the order of the files that they are from.
        write_plan: how a new file is written.
        sorting: how rows are laid out; it gives all tasks of a bin the same tags.
        files: the number of new files, about.
        threads: how many of them are written at once.
    """

    pieces: tuple[Piece, ...]
    write_plan: WritePlan
    sorting: Sorting
    files: int
    threads: int

    def run(self, clock: Clock = system_clock) -> RewrittenBin:
        """Write the new files, and return them without old ones, which the tasks of a bin share.

        Raises what reading and writing raise, and `MemoryLimitError`; then no new file is left behind.
        """
        wanted = sum(piece.num_rows for piece in self.pieces)
        with RowSorter(self.sorting.limits, self.threads) as sorter:
            for batch, keys in read_pieces(self.write_plan.store, self.pieces):
                sorter.add(batch, keys)
            added = SortedFiles(self.write_plan, self.sorting, self.threads, clock).write(sorter, self.files)
        written = sum(orjson.loads(each.stats or "{}")["numRecords"] for each in added)
        if written != wanted:
            raise AssertionError(f"{written} of {wanted} rows of a range were written")
        return RewrittenBin(tuple(added), (), None)


@contextlib.contextmanager
def in_pieces(
    tasks: Sequence[RewriteTask | SortTask], limits: TaskLimits, rules: DivisionRules | None = None
) -> Iterator[list[Sequence[RewriteTask | SortTask | RangeTask]]]:
    """Give what is left to do of each task: itself, or tasks in its place, whose new files belong together.

    Tasks that are worth it are divided, if the executor in use reads files by several tasks. When the block
    begins, all but the last phase is done. When it ends, the files in between are deleted, or left to VACUUM
    if that fails.

    Args:
        tasks: the tasks of one table.
        limits: how the tasks of the first phases are run.
        rules: which tasks are divided, and how; the usual ones if None.

    Raises what reading and writing raise.
    """
    pieces: list[Sequence[RewriteTask | SortTask | RangeTask]] = [[task] for task in tasks]
    divided = dict(_divided(tasks, executor_in_use(), rules or DivisionRules()))
    if not divided:
        yield pieces
        return
    sorts, written = list(divided.values()), list[str]()
    store = sorts[0].task.write_plan.store
    try:
        samples = _results([[task.run for task in each.sample_tasks()] for each in sorts], limits)
        planned = [each.run_tasks(found) for each, found in zip(sorts, samples, strict=True)]
        of_bins = [[task.run for task in each] for each in planned]
        runs = _results(of_bins, limits, lambda run: written.append(run.name))
        written += [run.name for of_bin in runs for run in of_bin]
        for place, sampled, of_bin in zip(divided, samples, runs, strict=True):
            _ensure_equal([each.rows.num_rows for each in sampled], [run.num_rows for run in of_bin])
            pieces[place] = divided[place].range_tasks(of_bin, sampled[0].encoded)
        yield pieces
    finally:
        with contextlib.suppress(DeltaError, OSError):
            store.delete_all(written)


def _divided(
    tasks: Sequence[RewriteTask | SortTask], executor: Executor, rules: DivisionRules
) -> Iterator[tuple[int, "_DividedSort"]]:
    """Yield the tasks that are divided, with their places."""
    if executor.parts([]) is None:
        return
    least = sum(task.bin.size for task in tasks) / (rules.shares * executor.tasks_at_once())
    for place, task in enumerate(tasks):
        if isinstance(task, SortTask) and task.bin.size > least and task.num_files > 1:
            sort = _DividedSort.of(task, executor, rules)
            if len(sort.shares) >= rules.least_tasks and len(sort.first_files) > 1:
                yield place, sort


@dataclass(frozen=True)
class _DividedSort:
    """A task that is divided.

    Args:
        task: the task.
        shares: the files that the tasks of the first two phases read, or row groups of them.
        first_files: the number of the first new file of each range.
        rules: how large samples are.
    """

    task: SortTask
    shares: tuple[tuple[FileTask, ...], ...]
    first_files: tuple[int, ...]
    rules: DivisionRules

    @classmethod
    def of(cls, task: SortTask, executor: Executor, rules: DivisionRules) -> Self:
        """Divide a task as an executor divides files, old and new ones."""
        spans = [span for each in task.tasks for span in each.parts(rules.largest_span)]
        shares = executor.parts([span.span_size for span in spans])
        ranges = executor.parts([round(task.live_size / task.num_files)] * task.num_files)
        assert shares is not None
        assert ranges is not None
        return cls(
            task,
            tuple(tuple(spans[place] for place in share) for share in shares),
            tuple(numbers[0] for numbers in ranges),
            rules,
        )

    def sample_tasks(self) -> list[SampleTask]:
        """Return the tasks of the first phase."""
        rules = self.rules
        rows = max(rules.sampled_rows, rules.sampled_rows_of_file * self.task.num_files)
        sizes = [sum(span.span_size for span in share) for share in self.shares]
        return [
            SampleTask(
                self.task.layout,
                share,
                self.task.sorting,
                max(rules.least_sampled_rows, rows * size // max(1, sum(sizes))),
                seed,
            )
            for seed, (share, size) in enumerate(zip(self.shares, sizes, strict=True))
        ]

    def run_tasks(self, sampled: Sequence[_Sampled]) -> list[RunTask]:
        """Return the tasks of the second phase, given what those of the first have found."""
        task = self.task
        sample = RowSample.joined([each.rows for each in sampled])
        keys = sample.keys(task.sorting.paths, task.sorting.curve)
        plan = replace(task.write_plan, encoded_columns=sampled[0].encoded)
        edges = self._edges(np.sort(keys.of_columns(sample.columns))) if len(sample.numbers) else ()
        return [RunTask(task.layout, share, plan, task.sorting, keys, edges) for share in self.shares]

    def _edges(self, keys: np.ndarray) -> tuple[int, ...]:
        """Return the keys at which ranges begin, except the first one."""
        files = self.task.num_files
        return tuple(sorted({file_edge(keys, files, first) for first in self.first_files[1:]}))

    def range_tasks(self, runs: Sequence[RunFile], encoded: frozenset[str]) -> list[RangeTask]:
        """Return the tasks of the third phase, given the files of the second; none if there are no rows."""
        task = self.task
        plan = replace(task.write_plan, encoded_columns=encoded)
        sorting = replace(task.sorting, new_tags=functools.partial(dict, task.sorting.new_tags()))
        rows_of_file = sum(run.num_rows for run in runs) / task.num_files
        found = []
        for of_runs in zip(*(run.pieces for run in runs), strict=True):
            pieces = tuple(itertools.chain.from_iterable(of_runs))
            if pieces:
                files = max(1, round(sum(piece.num_rows for piece in pieces) / rows_of_file))
                found.append(RangeTask(pieces, plan, sorting, files, task.threads))
        return found


def _results(
    calls: Sequence[Sequence[Callable[[], _Result]]],
    limits: TaskLimits,
    discard: Callable[[_Result], object] = lambda result: None,
) -> list[list[_Result]]:
    """Run calls in the executor in use and return their results in the same lists."""
    ordered = iter(run_all(list(itertools.chain.from_iterable(calls)), limits, discard))
    return [list(itertools.islice(ordered, len(each))) for each in calls]


def _ensure_equal(sampled: Sequence[int], written: Sequence[int]) -> None:
    if sampled != written:
        raise AssertionError(f"files had {sampled} rows when they were sampled, and {written} afterwards")
