"""An external sort of rows by keys: sorted runs, in memory while it suffices, else in files.

Rows are Arrow batches of any type and come back bit by bit as they were: nothing converts them. Each run is
sorted by key, so any range of keys is one slice of it, and a part of the result is put together from these
slices. Rows with the same key keep their order.
"""

import itertools
import shutil
import tempfile
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

import numpy as np
import pyarrow as pa

from deltaarrow.columnar.numpy_arrays import integers
from deltaarrow.errors import MemoryLimitError
from deltaarrow.runtime.fork_safety import Lock
from deltaarrow.runtime.interrupts import ensure_wanted, same_for_threads

__all__ = ["Part", "RowSorter", "SortLimits", "file_edge", "sorted_rows"]

_LARGEST_RUN = 256 << 20
_MOST_SORTED = 2

_SPILLED_ROWS = 2048
_SPILLED_BYTES = 1 << 20
"""The rows that a file gives at once are so many, or take about so many bytes."""

_MOST_OPEN = 128
"""So many files stay open while their rows are read; further ones are opened for every slice."""

_KEY = np.dtype(np.uint64)

_BATCH_ROWS = 65_536
_LEEWAY = 0.15
"""Files are smaller or larger by this share of their rows if that makes their bounds narrower."""

_EXACT_KEYS = 1 << 20
"""Up to this many keys are looked at to divide the rows; of more, every so manieth."""


@dataclass(frozen=True)
class SortLimits:
    """How many bytes of rows a sort may hold in memory, and how many in temporary files (None: any)."""

    memory: int = 512 << 20
    disk: int | None = None


class _Slice(NamedTuple):
    run: int
    start: int
    stop: int


class Part(NamedTuple):
    """Consecutive rows of the result, as slices of runs in the order of the runs."""

    slices: tuple[_Slice, ...]
    num_rows: int


@dataclass
class _Run:
    """Rows sorted by their keys: a batch in memory, or a file that also has its keys beside it."""

    held_keys: np.ndarray | None
    batch: pa.RecordBatch | None
    path: Path | None = None
    rows_at_once: int = _SPILLED_ROWS
    stays_open: bool = False
    _opened: tuple[pa.OSFile, pa.RecordBatchFileReader] | None = None
    _lock: Lock = field(default_factory=Lock)

    @classmethod
    def of(cls, added: list[tuple[pa.RecordBatch, np.ndarray]]) -> Self:
        """Sort batches by their keys; the list is emptied."""
        batch, keys = sorted_rows(added)
        return cls(keys, batch)

    @property
    def keys(self) -> np.ndarray:
        """The keys; those of a file are mapped anew, as their pages count as memory while they are mapped."""
        if self.held_keys is not None:
            return self.held_keys
        return np.memmap(self._key_file, _KEY, "r")

    @property
    def _key_file(self) -> Path:
        assert self.path is not None
        return self.path.with_suffix(".keys")

    def spill(self, path: Path, *, stays_open: bool) -> int:
        """Move the rows to a file, which `close` has to close if it stays open; return its size in bytes."""
        assert self.batch is not None
        assert self.held_keys is not None
        fitting = self.batch.num_rows * _SPILLED_BYTES // max(1, self.batch.nbytes)
        self.rows_at_once = max(1, min(_SPILLED_ROWS, fitting))
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, self.batch.schema) as writer:
            writer.write_table(pa.Table.from_batches([self.batch]), max_chunksize=self.rows_at_once)
        keys, self.path, self.stays_open = self.held_keys, path, stays_open
        keys.astype(_KEY, copy=False).tofile(self._key_file)
        self.held_keys, self.batch = None, None
        return path.stat().st_size + keys.nbytes

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._opened is not None:
                self._opened[0].close()
                self._opened = None

    def read_keys(self, start: int, stop: int) -> np.ndarray:
        """Return the keys of consecutive rows."""
        if self.held_keys is not None:
            return self.held_keys[start:stop]
        return np.fromfile(self._key_file, _KEY, stop - start, offset=start * _KEY.itemsize)

    def read(self, start: int, stop: int) -> list[pa.RecordBatch]:
        """Return consecutive rows."""
        if self.batch is not None:
            return [self.batch.slice(start, stop - start)]
        numbers = range(start // self.rows_at_once, -(-stop // self.rows_at_once))
        found = []
        for number, batch in zip(numbers, self._stored(numbers), strict=True):
            first = number * self.rows_at_once
            begin = max(start - first, 0)
            found.append(batch.slice(begin, min(stop - first, batch.num_rows) - begin))
        return found

    def _stored(self, numbers: Sequence[int]) -> list[pa.RecordBatch]:
        """Return batches of the file by their numbers."""
        if not self.stays_open:
            source, reader = self._open()
            with source:
                return [reader.get_batch(number) for number in numbers]
        # A reader is for one thread at a time.
        with self._lock:
            self._opened = self._opened or self._open()
            return [self._opened[1].get_batch(number) for number in numbers]

    def _open(self) -> tuple[pa.OSFile, pa.RecordBatchFileReader]:
        # Not mapped into memory: the pages would count as memory of the process.
        source = pa.OSFile(str(self.path))
        return source, pa.ipc.open_file(source)


class RowSorter:
    """Sorts rows inside a ``with`` block: `add` all of them, then `read` the parts that `parts` names.

    Reading is safe in several threads. Files go when the block ends.

    Args:
        limits: what the rows may take.
        threads: how many runs may be sorted while further rows are added, two at most; if 0, `add` sorts
            them. Runs that are sorted meanwhile are half as large, for the same memory.
    """

    def __init__(self, limits: SortLimits, threads: int = 0) -> None:
        self._limits = limits
        self._threads = min(threads, _MOST_SORTED)
        begin = same_for_threads()
        self._pool = ThreadPoolExecutor(self._threads, "deltaarrow-runs", begin) if threads else None
        self._sorting: deque[Future[_Run]] = deque()
        self._run_bytes = max(1, min(limits.memory // (16 if threads else 8), _LARGEST_RUN))
        self._pending: list[tuple[pa.RecordBatch, np.ndarray]] = []
        self._pending_bytes = self._held_bytes = self._spilled_bytes = self._bytes = 0
        self._runs: list[_Run] = []
        self._folder: Path | None = None

    def __enter__(self) -> Self:
        """Begin; there is no file before rows go beyond the limit."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Delete the files."""
        self.close()

    def close(self) -> None:
        """Forget the rows and delete the files."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        for run in self._runs:
            run.close()
        self._runs, self._pending = [], []
        self._sorting.clear()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def num_rows(self) -> int:
        """How many rows there are, once all are added."""
        return sum(len(run.keys) for run in self._runs)

    def add(self, batch: pa.RecordBatch, keys: np.ndarray) -> None:
        """Add rows with their keys, 64-bit unsigned integers.

        Raises `MemoryLimitError` if the rows do not go into the files that the limits allow.
        """
        ensure_wanted()
        if not batch.num_rows:
            return
        self._pending.append((batch, keys))
        self._pending_bytes += batch.nbytes
        if self._pending_bytes >= self._run_bytes:
            self._end_run()

    def _end_run(self) -> None:
        added, self._pending, self._pending_bytes = self._pending, [], 0
        if self._pool is None:
            self._hold(_Run.of(added))
            return
        # So many runs at once are in memory.
        self._hold_sorted(self._threads - 1)
        self._sorting.append(self._pool.submit(_Run.of, added))

    def _hold_sorted(self, left: int) -> None:
        """Wait until at most so many runs are being sorted."""
        while len(self._sorting) > left:
            self._hold(self._sorting.popleft().result())

    def _hold(self, run: _Run) -> None:
        assert run.batch is not None
        self._runs.append(run)
        self._held_bytes += run.batch.nbytes
        self._bytes += run.batch.nbytes
        if self._held_bytes > self._limits.memory // 4:
            self._spill()

    def _spill(self) -> None:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="deltaarrow-sort-"))
        for number, run in enumerate(self._runs):
            if run.batch is not None:
                path = self._folder / f"{number}.arrow"
                self._spilled_bytes += run.spill(path, stays_open=number < _MOST_OPEN)
        self._held_bytes = 0
        # What the runs took would stay with Arrow, while reading and writing allocate as much again.
        pa.default_memory_pool().release_unused()
        if self._limits.disk is not None and self._spilled_bytes > self._limits.disk:
            raise MemoryLimitError(
                f"sorting needs more than the {self._limits.disk} bytes of temporary files that"
                " max_temp_directory_size allows; give a larger one, or more memory"
            )

    def parts(self, files: int, readers: int) -> list[list[Part]]:
        """Divide all rows by their keys into so many files of about as many rows.

        Args:
            files: how many files; there are fewer if there are fewer rows or keys.
            readers: how many parts are read at once, for which there has to be memory.

        Returns:
            the parts of each file in their order.
        """
        if self._pending:
            self._end_run()
        self._hold_sorted(0)
        total = self.num_rows
        if not total:
            return []
        row_bytes = self._bytes / total
        rows_of_file = -(-total // files)
        most = min(rows_of_file, max(1, int(self._limits.memory / 12 / readers / max(row_bytes, 1))))
        keys = self._some_keys()
        file_edges = _file_edges(keys, files)
        edges = np.union1d(file_edges, _part_edges(keys, files * -(-rows_of_file // most)))
        segments: list[list[Part]] = [[] for _ in range(len(file_edges) + 1)]
        for first_key, part in self._cut(edges, most):
            segments[np.searchsorted(file_edges, first_key, side="right")].append(part)
        divided = (_divided(segment, rows_of_file) for segment in segments if segment)
        return list(itertools.chain.from_iterable(divided))

    def _some_keys(self) -> np.ndarray:
        """Return all keys in order, or every so manieth."""
        step = -(-self.num_rows // _EXACT_KEYS)
        return np.sort(np.concatenate([run.keys[step // 2 :: step] for run in self._runs]))

    def _cut(self, edges: np.ndarray, most: int) -> Iterator[tuple[np.uint64, Part]]:
        """Yield the rows between edges, with the edge before them.

        Rows with one key are cut into parts of `most` rows.
        """
        places = [_places(run.keys, edges) for run in self._runs]
        for number, first_key in enumerate([np.uint64(0), *edges]):
            bounds = ((run, at[number], at[number + 1]) for run, at in enumerate(places))
            slices = tuple(_Slice(*each) for each in bounds if each[1] < each[2])
            rows = sum(each.stop - each.start for each in slices)
            if rows > most * 1.5 and self._have_one_key(slices):
                for each in slices:
                    for start in range(each.start, each.stop, most):
                        stop = min(start + most, each.stop)
                        yield first_key, Part((_Slice(each.run, start, stop),), stop - start)
            elif rows:
                yield first_key, Part(slices, rows)

    def _have_one_key(self, slices: Sequence[_Slice]) -> bool:
        keys = [self._runs[each.run].keys[[each.start, each.stop - 1]] for each in slices]
        return len(np.unique(np.concatenate(keys))) == 1

    def read(self, part: Part) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a part in their order."""
        return (batch for batch, _ in self.read_with_keys(part))

    def read_with_keys(self, part: Part) -> Iterator[tuple[pa.RecordBatch, np.ndarray]]:
        """Yield the rows of a part in their order, with their keys."""
        ensure_wanted()
        batches = list(
            itertools.chain.from_iterable(
                self._runs[each.run].read(each.start, each.stop) for each in part.slices
            )
        )
        rows = pa.Table.from_batches(batches)
        keys = np.concatenate([self._runs[each.run].read_keys(each.start, each.stop) for each in part.slices])
        if len(part.slices) > 1:
            order = np.argsort(keys, kind="stable")
            rows, keys = rows.combine_chunks().take(integers(order)), keys[order]
        start = 0
        for batch in rows.to_batches(max_chunksize=_BATCH_ROWS):
            yield batch, keys[start : start + batch.num_rows]
            start += batch.num_rows


def sorted_rows(added: list[tuple[pa.RecordBatch, np.ndarray]]) -> tuple[pa.RecordBatch, np.ndarray]:
    """Return rows and their keys in the order of the keys; rows with the same key keep their order.

    The list, which has at least one batch, is emptied, so that its rows do not stay in memory meanwhile.
    """
    ensure_wanted()
    keys = np.concatenate([each for _, each in added])
    rows = pa.Table.from_batches([batch for batch, _ in added]).combine_chunks()
    added.clear()
    order = np.argsort(keys, kind="stable")
    ensure_wanted()
    return _one_batch(rows.take(integers(order))), keys[order]


def _places(keys: np.ndarray, edges: np.ndarray) -> list[int]:
    """Return where the parts between edges begin, and where the last one ends."""
    return [0, *np.searchsorted(keys, edges).tolist(), len(keys)]


def _file_edges(keys: np.ndarray, files: int) -> np.ndarray:
    """Return the keys at which files begin, except the first one."""
    return np.unique(np.array([file_edge(keys, files, number) for number in range(1, files)], np.uint64))


def file_edge(keys: np.ndarray, files: int, number: int) -> int:
    """Return the key at which a file begins.

    It begins where the curve enters as large a part of space as may be found near the right number of rows. A
    few rows of another part would widen its bounds by far.

    Args:
        keys: the keys of all rows, or of a sample of them, in order.
        files: the number of files.
        number: that of the file; at least 1.
    """
    low, high = (int(keys[int((number + way) * (len(keys) - 1) / files)]) for way in (-_LEEWAY, _LEEWAY))
    bit = max(0, (low ^ high).bit_length() - 1)
    return high >> bit << bit


def _part_edges(keys: np.ndarray, count: int) -> np.ndarray:
    """Return the keys at which parts begin, except the first one.

    A key with the rows of several parts has a part of its own, which need not be sorted.
    """
    edges, times = np.unique(keys[np.arange(1, count) * len(keys) // count], return_counts=True)
    after = edges[(times > 1) & (edges < np.iinfo(np.uint64).max)] + np.uint64(1)
    return np.union1d(edges, after)


def _divided(parts: Sequence[Part], rows_of_file: int) -> list[list[Part]]:
    """Divide parts among as many files as their rows need: more than one where many rows have one key."""
    rows = np.array([part.num_rows for part in parts])
    files = max(1, round(int(rows.sum()) / rows_of_file))
    numbers = (np.cumsum(rows) - rows / 2) * files // rows.sum()
    found = [[part for part, at in zip(parts, numbers, strict=True) if at == file] for file in range(files)]
    return [each for each in found if each]


def _one_batch(rows: pa.Table) -> pa.RecordBatch:
    (batch,) = rows.combine_chunks().to_batches()
    return batch
