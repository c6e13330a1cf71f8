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
from deltaarrow.operations.mark_or_rewrite import live_rows
from deltaarrow.operations.optimize.bins import Bin
from deltaarrow.operations.optimize.curve import Curve
from deltaarrow.operations.optimize.ranges import sampled_keys
from deltaarrow.operations.optimize.rewrite_task import RewrittenBin
from deltaarrow.runtime.clock import Clock, system_clock
from deltaarrow.runtime.futures import finished_after_all
from deltaarrow.scan import BatchReader, FileTask, TableLayout, columns_of_few_texts
from deltaarrow.storage import decode_path
from deltaarrow.write import WritePlan, write_files

__all__ = ["SortTask", "Sorting", "live_size"]


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
        columns = tuple(dict.fromkeys(path[0] for path in self.sorting.paths))
        sample = BatchReader(self.layout, columns).read(self.tasks)
        keys = sampled_keys(sample, self.sorting.paths, self.sorting.curve)
        with RowSorter(self.sorting.limits, self.threads) as sorter:
            hidden, encoded = self.write_plan.hidden_columns, self._columns_of_few_texts()
            for batch in live_rows(self.layout, hidden, self.tasks, encoded=encoded):
                sorter.add(batch, keys.of(batch))
            files = sorter.parts(self._num_files, self.threads)
            plan = replace(self.write_plan, encoded_columns=encoded)
            added = self._written(sorter, files, plan, clock)
        return RewrittenBin(tuple(added), self.bin.places, None)

    def _columns_of_few_texts(self) -> frozenset[str]:
        """The text columns that are sorted and written as dictionary arrays; none of the curve's."""
        found = columns_of_few_texts(self.layout, self.tasks[0])
        return found - {path[0] for path in self.sorting.paths}

    @property
    def _num_files(self) -> int:
        return max(1, round(sum(map(live_size, self.tasks)) / self.sorting.target_size))

    def _written(
        self, sorter: RowSorter, files: Sequence[Sequence[Part]], plan: WritePlan, clock: Clock
    ) -> list[AddFile]:
        plan = replace(plan, file_tags={**(plan.file_tags or {}), **self.sorting.new_tags()})

        def write(parts: Sequence[Part]) -> list[AddFile]:
            rows = itertools.chain.from_iterable(map(sorter.read, parts))
            added = write_files(plan, rows, clock=clock, threads=1)
            return [replace(each, clustering_provider=self.sorting.provider) for each in added]

        with ThreadPoolExecutor(self.threads, thread_name_prefix="deltaarrow-sort") as pool:
            running = [pool.submit(write, parts) for parts in files]
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
                self.layout.store.delete(decode_path(file.path))
