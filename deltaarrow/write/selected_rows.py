"""Selected rows of a batch, by position; they are copied only when they are written.

While the rows of a batch wait, their partitions share the batch. A thread writes its copy at once, so only
as many copies are in memory as threads are busy. Where partitions have few rows, one copy of the batch in
their order takes less time than many small ones; then a selection is a slice.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

__all__ = ["RowGroup", "Selection"]


@dataclass(frozen=True, slots=True)
class Selection:
    """Rows of a batch: those at `places`, in this order, or all rows if `places` is None.

    Args:
        batch: the rows that the selection shares with others.
        places: the indexes of the rows.
        batch_bytes: the Arrow bytes of the batch, if they are known.
    """

    batch: pa.RecordBatch
    places: npt.NDArray[np.int64] | range | None = None
    batch_bytes: int | None = None

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        count: int = self.batch.num_rows if self.places is None else len(self.places)
        return count

    @property
    def nbytes(self) -> int:
        """The share of the rows in the batch's Arrow bytes."""
        size: int = self.batch.nbytes if self.batch_bytes is None else self.batch_bytes
        return size if self.places is None else size * len(self.places) // max(1, self.batch.num_rows)

    def read(self) -> pa.RecordBatch:
        """The rows as a batch of their own."""
        if self.places is None:
            return self.batch
        if isinstance(self.places, range):
            return self.batch.slice(self.places.start, len(self.places))
        # pa.array would import pandas if it is installed.
        buffers = [None, pa.py_buffer(self.places)]
        return self.batch.take(pa.Array.from_buffers(pa.int64(), len(self.places), buffers))


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Rows of one partition, from one batch or several, for one row group of a file."""

    selections: Sequence[Selection]
    num_rows: int
    nbytes: int

    def read(self) -> pa.Table:
        """The rows, with one chunk per batch."""
        return pa.Table.from_batches([each.read() for each in self.selections])
