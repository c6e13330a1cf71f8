"""The data files of one write: an Arrow stream in, `AddFile`s out, in bounded memory.

The stream is read once. Its batches are cut small, fitted to the table, split by partition and gathered into
row groups. A few threads encode the row groups into files while the stream is read. If a plan wants the
fewest files, the rows are gathered by partition first, in temporary files where memory does not suffice.
This package knows neither log nor snapshot; the `WritePlan` describes the table.
"""

import itertools
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Self

import numpy as np
import pyarrow as pa

from deltaarrow.actions import AddFile
from deltaarrow.columnar.row_sorter import RowSorter, SortLimits
from deltaarrow.runtime.clock import Clock, system_clock
from deltaarrow.runtime.interrupts import ensure_wanted
from deltaarrow.write.completion import complete_rows
from deltaarrow.write.file_layout import DATA_FILES, FileLayout
from deltaarrow.write.file_set import FileSet
from deltaarrow.write.new_file import WrittenFile
from deltaarrow.write.plan import WritePlan
from deltaarrow.write.routing import PartitionKey
from deltaarrow.write.row_groups import RowGroups
from deltaarrow.write.selected_rows import Selection

__all__ = ["FileWriter", "added_files", "write_files"]

_WORTH_A_FILE = 16 << 20
_WORTH_A_THREAD = 1 << 20
_FEW_FILES = 16
_MAX_THREADS = 8
_NEVER = 1 << 62
_GATHERED_BYTES = 256 << 20


def write_files(
    plan: WritePlan,
    stream: Iterable[pa.RecordBatch],
    *,
    clock: Clock = system_clock,
    threads: int | None = None,
    threads_of_file: int | None = None,
) -> list[AddFile]:
    """Write the rows of a stream as data files of a table; this commits nothing.

    Args:
        plan: describes the table.
        stream: any number of record batches, or a `pyarrow.RecordBatchReader`. Columns are matched by
            name; missing ones are filled by the rules of the plan, or with NULL.
        clock: gives the modification time of files.
        threads: how many files are written at once; if None, the number of processors, at most 8.
        threads_of_file: how many row groups of one file are encoded at once; if None, as many as the
            processors if the rows go into one file after the other, else one.

    Returns:
        one action per file, in the order in which the files were begun; none for a stream without rows.

    Raises:
        SchemaMismatchError: the data does not fit the schema.
        ConstraintViolationError: a column that is not nullable holds NULL, or a row breaks a rule.
        UnsupportedFeatureError: the schema has a type that this package does not write.

    After any error, also one that the stream raises, no file is left behind.
    """
    if plan.rules:
        stream = complete_rows(plan, stream, clock=clock)
    if threads_of_file is None:
        is_serial = plan.fewest_files and not plan.partition_columns
        threads_of_file = _default_threads() if is_serial else 1
    layout = FileLayout(plan, DATA_FILES, clock, threads_of_file)
    with FileWriter(layout, threads) as writer:
        for batch in stream:
            writer.write(batch)
        return added_files(plan, writer.finish())


def added_files(plan: WritePlan, files: Iterable[WrittenFile]) -> list[AddFile]:
    """The actions that add the data files of a plan."""
    return [AddFile(**each._asdict(), data_change=plan.data_change, tags=plan.file_tags) for each in files]


class FileWriter:
    """Writes files from the batches of a stream, inside a ``with`` block.

    The files are kept if `finish` was called and the block ends without an error; otherwise they are deleted.

    Args:
        layout: names and encodes the files.
        threads: how many row groups are encoded at once, as in `write_files`.
        waiting_bytes: how much of the rows may wait for their row groups to be full.
        max_open: how many files are open at once; others are closed for new ones.
        gathered_bytes: how much memory is used to gather the rows of partitions.
    """

    def __init__(
        self,
        layout: FileLayout,
        threads: int | None = None,
        waiting_bytes: int = 40 << 20,
        max_open: int = 130,
        gathered_bytes: int = _GATHERED_BYTES,
    ) -> None:
        threads = threads or _default_threads()
        self._layout = layout
        self._groups: RowGroups[PartitionKey] = RowGroups(
            layout.row_group_rows, layout.row_group_bytes, waiting_bytes
        )
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="deltaarrow-write")
        self._files = FileSet(
            self._pool,
            threads=threads,
            begin=layout.begin_file,
            target_file_size=layout.target_file_size,
            worth_a_file=_NEVER if layout.fewest_files else min(_WORTH_A_FILE, layout.target_file_size),
            max_open=max_open,
        )
        self._gathered: _Gathered | None = None
        if layout.fewest_files and layout.is_partitioned:
            self._gathered = _Gathered(gathered_bytes)
        self._is_finished = False

    def __enter__(self) -> Self:
        """Begin; no file is opened before there are rows."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the threads; delete the files unless `finish` was called and no error was raised."""
        try:
            if error is not None or not self._is_finished:
                self._files.discard()
        finally:
            self._pool.shutdown()
            if self._gathered is not None:
                self._gathered.close()

    def write(self, batch: pa.RecordBatch) -> None:
        """Add the rows of a batch; columns are matched by name."""
        ensure_wanted()
        for piece in self._layout.pieces(batch):
            parts = self._layout.split(piece)
            if self._gathered is None:
                self._write(parts)
            else:
                self._gathered.add(parts)

    def _write(self, parts: Iterable[tuple[PartitionKey, Selection]]) -> None:
        for key, row_group in self._groups.add(parts):
            self._files.write(key, row_group)

    def finish(self) -> list[WrittenFile]:
        """Write the waiting rows, close all files and return them in the order in which they were begun."""
        if self._gathered is not None:
            self._write(self._gathered.parts())
        are_small = self._groups.bytes < _WORTH_A_THREAD and len(self._groups) <= _FEW_FILES
        if are_small and not self._files.are_begun:
            self._files.write_at_once()
        for key, row_group in self._groups.drain():
            self._files.write(key, row_group, is_last=True)
        written = self._files.finish()
        self._is_finished = True
        return written


def _default_threads() -> int:
    return min(os.cpu_count() or 1, _MAX_THREADS)


class _Gathered:
    """The rows of a stream by partition, beyond memory in temporary files."""

    def __init__(self, memory: int) -> None:
        self._sorter = RowSorter(SortLimits(memory))
        self._numbers: dict[PartitionKey, int] = {}

    def add(self, parts: Iterable[tuple[PartitionKey, Selection]]) -> None:
        for key, part in parts:
            number = self._numbers.setdefault(key, len(self._numbers))
            self._sorter.add(part.read(), np.full(part.num_rows, number, np.uint64))

    def parts(self) -> Iterator[tuple[PartitionKey, Selection]]:
        """Yield the rows of one partition after the other, each in the order of the stream."""
        partitions = list(self._numbers)
        for part in itertools.chain.from_iterable(self._sorter.parts(files=1, readers=1)):
            for batch, numbers in self._sorter.read_with_keys(part):
                starts = np.flatnonzero(np.r_[True, numbers[1:] != numbers[:-1]]).tolist()
                for start, stop in itertools.pairwise([*starts, len(numbers)]):
                    yield partitions[int(numbers[start])], Selection(batch.slice(start, stop - start))

    def close(self) -> None:
        self._sorter.close()
