"""`RewriteTask`: copies the rows of a bin to one new file, on a thread or an executor.

A task knows neither log nor snapshot and is picklable: threads run it here, executors elsewhere.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pyarrow as pa

from deltaarrow.actions import AddFile
from deltaarrow.operations.optimize.bins import Bin
from deltaarrow.operations.rows.mark_or_rewrite import live_rows
from deltaarrow.runtime.clock import Clock, system_clock
from deltaarrow.scan import FILE_COLUMN, ROW_COLUMN, FileTask, TableLayout, columns_of_few_texts
from deltaarrow.write import WritePlan, write_files

__all__ = ["RewriteTask", "RewrittenBin"]


@dataclass(frozen=True)
class RewrittenBin:
    """The new files of a bin, and the places of its old files.

    Where rows kept their order, there is one new file, or none if no row was live; `counts` has the live rows
    of the old files, in the order that these have in the new file. Else `counts` is None.
    """

    added: tuple[AddFile, ...]
    places: tuple[int, ...]
    counts: tuple[int, ...] | None


@dataclass(frozen=True)
class RewriteTask:
    """Copies the live rows of files, one file after the other, to one new file; picklable.

    Args:
        layout: how rows lie in the files; with row tracking where the table tracks rows.
        tasks: the files.
        bin: their places in the plan of the operation.
        write_plan: how the new file is written; its hidden columns keep the ids of rows.
        threads: how many row groups of the file are encoded at once.
    """

    layout: TableLayout
    tasks: tuple[FileTask, ...]
    bin: Bin
    write_plan: WritePlan
    threads: int = 1

    def run(self, clock: Clock = system_clock) -> RewrittenBin:
        """Write the new file; nothing is committed.

        Raises what reading and writing raise; then no file is left behind.
        """
        counts: dict[int, int] = {}
        encoded = columns_of_few_texts(self.layout, self.tasks[0])
        rows, plan = self._counted(counts, encoded), replace(self.write_plan, encoded_columns=encoded)
        added = write_files(plan, rows, clock=clock, threads=1, threads_of_file=self.threads)
        if len(added) > 1:
            raise AssertionError(f"one bin became {len(added)} files")
        # Files without a live row yield no batch.
        order = [*counts, *(number for number in range(len(self.tasks)) if number not in counts)]
        return RewrittenBin(
            tuple(added),
            tuple(self.bin.places[number] for number in order),
            tuple(counts.get(number, 0) for number in order),
        )

    def _counted(self, counts: dict[int, int], encoded: frozenset[str]) -> Iterator[pa.RecordBatch]:
        """Yield the live rows, and count them by file in the order of the files."""
        current = None
        hidden = self.write_plan.hidden_columns
        for batch in live_rows(self.layout, hidden, self.tasks, locate=True, encoded=encoded):
            number = batch.column(FILE_COLUMN)[0].as_py()
            if number != current and number in counts:
                raise AssertionError(f"the rows of {self.tasks[number].path} are read in several parts")
            current = number
            counts[number] = counts.get(number, 0) + batch.num_rows
            yield batch.drop_columns([FILE_COLUMN, ROW_COLUMN])
