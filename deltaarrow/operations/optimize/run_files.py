"""Rows on their way between the tasks of a divided sort, in files: `RunFile`.

The rows of a file are cut into ranges of their keys. All rows of a range that were in memory together are a
piece: an Arrow stream of one batch, with the keys as its last column. A piece has a schema and dictionaries
of its own, so the task that sorts a range reads the pieces of this range alone, each by one request.

The files lie in the folder of the table, which all executors reach, and the operation deletes them at its
end. No version names them: VACUUM deletes those of lost attempts, and of a driver that died.
"""

import itertools
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from deltaarrow.columnar.numpy_arrays import integers, raw_numbers
from deltaarrow.columnar.row_sorter import sorted_rows
from deltaarrow.scan.threads import mapped_in_order
from deltaarrow.storage import Store
from deltaarrow.storage.failures import expecting_file

__all__ = ["Piece", "RunFile", "read_pieces", "write_run"]

_KEY = "deltaarrow_key"
_READ_AHEAD = 2
"""So many pieces are read while another one is worked on."""


class Piece(NamedTuple):
    """Rows of one range, at a place in a file."""

    name: str
    offset: int
    size: int
    num_rows: int


@dataclass(frozen=True)
class RunFile:
    """A file of rows; `pieces` has those of each range, by the number of the range."""

    name: str
    pieces: tuple[tuple[Piece, ...], ...]

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        return sum(piece.num_rows for of_range in self.pieces for piece in of_range)


def write_run(
    store: Store, rows: Iterable[tuple[pa.RecordBatch, np.ndarray]], edges: Sequence[int], run_bytes: int
) -> RunFile:
    """Write rows, with their keys, to a new file.

    Args:
        store: the folder of the table.
        rows: batches of one schema, but for the dictionaries.
        edges: the keys at which ranges begin, except the first one; ascending.
        run_bytes: rows of so many bytes are in memory together, about.

    Raises what reading the rows and writing raise; then there is no file.
    """
    name = f"deltaarrow-sort-{uuid.uuid4()}.arrow"
    pieces: list[list[Piece]] = [[] for _ in range(len(edges) + 1)]
    with store.open_output(name) as output:
        for batch, keys in _runs(rows, run_bytes):
            bounds = [0, *np.searchsorted(keys, np.array(edges, np.uint64)).tolist(), len(keys)]
            for of_range, (start, stop) in zip(pieces, itertools.pairwise(bounds), strict=True):
                if start < stop:
                    data = _encoded(batch.slice(start, stop - start), keys[start:stop])
                    of_range.append(Piece(name, output.tell(), data.size, stop - start))
                    output.write(data)
    return RunFile(name, tuple(map(tuple, pieces)))


def _runs(
    rows: Iterable[tuple[pa.RecordBatch, np.ndarray]], run_bytes: int
) -> Iterator[tuple[pa.RecordBatch, np.ndarray]]:
    """Yield rows in the order of their keys, as many at once as go into memory."""
    pending: list[tuple[pa.RecordBatch, np.ndarray]] = []
    size = 0
    for batch, keys in rows:
        if batch.num_rows:
            pending.append((batch, keys))
            size += batch.nbytes
        if pending and size >= run_bytes:
            yield sorted_rows(pending)
            size = 0
    if pending:
        yield sorted_rows(pending)


def _encoded(batch: pa.RecordBatch, keys: np.ndarray) -> pa.Buffer:
    schema = batch.schema.append(pa.field(_KEY, pa.uint64(), nullable=False))
    rows = pa.RecordBatch.from_arrays(
        [*batch.columns, integers(keys.view(np.int64), pa.uint64())], schema=schema
    )
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
        writer.write_batch(rows)
    return sink.getvalue()


def read_pieces(store: Store, pieces: Iterable[Piece]) -> Iterator[tuple[pa.RecordBatch, np.ndarray]]:
    """Yield the rows of pieces with their keys, in the order of the pieces.

    Raises `StorageError` if a file is gone.
    """

    def read(piece: Piece) -> bytes:
        with expecting_file(piece.name, store.uri):
            return store.read_range(piece.name, piece.offset, piece.size)

    for data in mapped_in_order(read, pieces, _READ_AHEAD):
        with pa.ipc.open_stream(data) as reader:
            for batch in reader:
                rows = batch.select(range(batch.num_columns - 1))
                yield rows, raw_numbers(batch.column(batch.num_columns - 1))
