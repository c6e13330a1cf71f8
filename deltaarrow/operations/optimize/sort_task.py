"""`SortTask`: sorts the rows of a bin along a curve into new files, on a thread or an executor.

Rows are read twice: the columns of the curve alone, for a sample of their values, then all columns.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace

from deltaarrow.actions import AddFile
from deltaarrow.columnar.row_sorter import Part, RowSorter, SortLimits
from deltaarrow.operations.optimize.bins import Bin
from deltaarrow.operations.optimize.curve import Curve
from deltaarrow.operations.optimize.ranges import sampled_keys
from deltaarrow.operations.optimize.rewrite_task import RewrittenBin
from deltaarrow.operations.rows.mark_or_rewrite import live_rows
from deltaarrow.runtime.clock import Clock, system_clock
from deltaarrow.runtime.futures import finished_after_all
from deltaarrow.runtime.interrupts import same_for_threads
from deltaarrow.scan import BatchReader, FileTask, TableLayout, columns_of_few_texts
from deltaarrow.storage import decode_path
from deltaarrow.write import WritePlan, write_files

__all__ = ["SortTask", "SortedFiles", "Sorting", "encoded_columns", "live_size"]


def live_size(task: FileTask) -> float:
    """Return the bytes of a file times the part of its rows that is not deleted."""
    if task.deletion_vector is None or not task.num_records:
        return task.size
    return task.size * max(0.0, 1 - task.deletion_vector.cardinality / task.num_records)


@dataclass(frozen=True)
class Sorting:
    """How rows are laid out.

    Args:
        paths: the columns, as paths of logical names.
        curve: mixes them.
        target_size: bytes of old files that become one new file, about.
        new_tags: gives the tags of the new files of a bin.
        provider: the ``clusteringProvider`` of the new files.
        limits: what the sort of all bins at once may take.
    """

    paths: tuple[tuple[str, ...], ...]
    curve: Curve
    target_size: int
    new_tags: Callable[[], Mapping[str, str]]
    provider: str | None = None
    limits: SortLimits = field(default_factory=SortLimits)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, or of those that they are fields of."""
        return tuple(dict.fromkeys(path[0] for path in self.paths))

    def shared_by(self, bins: int) -> "Sorting":
        """Return the same for each of so many bins that are sorted at once."""
        disk = self.limits.disk
        limits = SortLimits(self.limits.memory // bins, None if disk is None else disk // bins)
        return replace(self, limits=limits)


@dataclass(frozen=True)
class SortTask:
    """Writes the live rows of files along a curve to new files of about the target size; picklable.

    Args:
        layout: how rows lie in the files; with row tracking where the table tracks rows.
        tasks: the files.
        bin: their places in the plan of the operation.
        write_plan: how a new file is written; its hidden columns keep the ids of rows.
        sorting: how rows are laid out.
        threads: how many files are written at once; runs of rows are sorted by as many, two at most.
    """

    layout: TableLayout
    tasks: tuple[FileTask, ...]
    bin: Bin
    write_plan: WritePlan
    sorting: Sorting
    threads: int

    def run(self, clock: Clock = system_clock) -> RewrittenBin:
        """Write the new files; nothing is committed.

        Raises what reading and writing raise, and `MemoryLimitError`; then no file is left behind.
        """
        sample = BatchReader(self.layout, self.sorting.columns).read(self.tasks)
        keys = sampled_keys(sample, self.sorting.paths, self.sorting.curve)
        encoded = encoded_columns(self.layout, self.tasks[0], self.sorting)
        plan = replace(self.write_plan, encoded_columns=encoded)
        with RowSorter(self.sorting.limits, self.threads) as sorter:
            for batch in live_rows(self.layout, plan.hidden_columns, self.tasks, encoded=encoded):
                sorter.add(batch, keys.of(batch))
            added = SortedFiles(plan, self.sorting, self.threads, clock).write(sorter, self.num_files)
        return RewrittenBin(tuple(added), self.bin.places, None)

    @property
    def live_size(self) -> float:
        """The bytes of the files, without those of deleted rows."""
        return sum(map(live_size, self.tasks))

    @property
    def num_files(self) -> int:
        """How many new files there are to be."""
        return max(1, round(self.live_size / self.sorting.target_size))


def encoded_columns(layout: TableLayout, file: FileTask, sorting: Sorting) -> frozenset[str]:
    """Return the text columns that are sorted and written as dictionary arrays; none of the curve's.

    One file tells for all that are sorted together.
    """
    return columns_of_few_texts(layout, file) - set(sorting.columns)


@dataclass(frozen=True)
class SortedFiles:
    """Writes sorted rows to new files.

    Args:
        write_plan: how a file is written.
        sorting: how rows are laid out.
        threads: how many files are written at once.
        clock: gives the modification time of files.
    """

    write_plan: WritePlan
    sorting: Sorting
    threads: int
    clock: Clock

    def write(self, sorter: RowSorter, files: int) -> list[AddFile]:
        """Write all rows of a sorter to about so many files; after an error no file is left behind."""
        parts = sorter.parts(files, self.threads)
        plan = self.write_plan
        plan = replace(plan, file_tags={**(plan.file_tags or {}), **self.sorting.new_tags()})

        def write(parts: Sequence[Part]) -> list[AddFile]:
            rows = itertools.chain.from_iterable(map(sorter.read, parts))
            added = write_files(plan, rows, clock=self.clock, threads=1)
            return [replace(each, clustering_provider=self.sorting.provider) for each in added]

        with ThreadPoolExecutor(self.threads, "deltaarrow-sort", initializer=same_for_threads()) as pool:
            running = [pool.submit(write, each) for each in parts]
            try:
                return [file for future in running for file in future.result()]
            except BaseException:
                for written in finished_after_all(running):
                    self._delete(written)
                raise

    def _delete(self, files: Sequence[AddFile]) -> None:
        for file in files:
            # The error that ended the task is the one to tell.
            with suppress(Exception):
                self.write_plan.store.delete(decode_path(file.path))
