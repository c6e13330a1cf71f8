"""Some of the rows of a batch, by their places: they are copied when they are written, not before.

A batch that is split by partition is one batch still while its rows wait. What a thread copies it writes at
once, so that of the copies no more is in memory than the threads have in work.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

__all__ = ["RowGroup", "Selection"]


@dataclass(frozen=True, slots=True)
class Selection:
    """Rows of a batch: those at `places`, in this order, or all of them where it is None."""

    batch: pa.RecordBatch
    places: npt.NDArray[np.int64] | None = None

    @property
    def num_rows(self) -> int:
        """How many they are."""
        count: int = self.batch.num_rows if self.places is None else len(self.places)
        return count

    @property
    def nbytes(self) -> int:
        """Their share of the batch's Arrow bytes."""
        size: int = self.batch.nbytes
        return size if self.places is None else size * len(self.places) // max(1, self.batch.num_rows)

    def read(self) -> pa.RecordBatch:
        """The rows as a batch of their own."""
        if self.places is None:
            return self.batch
        # Not by pa.array, which imports pandas where it is installed.
        buffers = [None, pa.py_buffer(self.places)]
        return self.batch.take(pa.Array.from_buffers(pa.int64(), len(self.places), buffers))


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Rows of one partition, of one batch or several, that go into a file together."""

    selections: Sequence[Selection]
    num_rows: int
    nbytes: int

    def read(self) -> pa.Table:
        """The rows; a chunk is what came from one batch."""
        return pa.Table.from_batches([each.read() for each in self.selections])
