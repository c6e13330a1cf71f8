"""Deletion vectors in the forms that engines take: boolean masks, DuckDB bit strings, positions.

Chapter "Reader Requirements for Deletion Vectors" of the protocol: rows whose position in the file is in the
vector must not be returned.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyroaring import BitMap64

from deltaarrow.errors import CorruptDeletionVectorError

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["DeletedRows"]


@dataclass(frozen=True, slots=True)
class DeletedRows:
    """The deleted rows of one data file, by their position in it (the first row is 0).

    `where` says where the vector came from, for errors. Only the compressed bitmap is kept: a mask takes time
    and memory for the rows that it covers, regardless of rows deleted elsewhere.

    >>> deleted = DeletedRows(BitMap64([1, 4]))
    >>> deleted.mask(0, 6).tolist()
    [True, False, True, True, False, True]
    >>> deleted.positions().to_pylist()
    [1, 4]
    """

    bitmap: BitMap64
    where: str = "deletion vector"

    @property
    def cardinality(self) -> int:
        """The number of deleted rows."""
        return len(self.bitmap)

    def ensure_within(self, num_rows: int) -> None:
        """Raise `CorruptDeletionVectorError` if a position is beyond a file of `num_rows` rows.

        Such a vector belongs to another file, so none of it can be trusted.
        """
        if self.bitmap and self.bitmap.max() >= num_rows:
            raise CorruptDeletionVectorError(
                f"{self.where} deletes row {self.bitmap.max()} of a file with only {num_rows} rows"
            )

    def mask(self, start: int, length: int) -> "npt.NDArray[np.bool_]":
        """Return a mask of the `length` rows from `start` on, True for each live row."""
        keep = np.ones(length, dtype=np.bool_)
        deleted = self.bitmap & BitMap64(range(start, start + length))
        keep[_to_numpy(deleted) - np.uint64(start)] = False
        return keep

    def covers(self, start: int, length: int) -> bool:
        """Whether all of the `length` rows from `start` on are deleted."""
        return bool(self.bitmap.range_cardinality(start, start + length) == length)

    def inverted(self, num_rows: int, also: "DeletedRows | None" = None) -> "DeletedRows":
        """Return the rows of a file of `num_rows` rows that are live here or deleted in `also`.

        Only rows deleted here then remain live. Raises `CorruptDeletionVectorError` like `ensure_within`.

        >>> DeletedRows(BitMap64([1, 4])).inverted(6, DeletedRows(BitMap64([4]))).positions().to_pylist()
        [0, 2, 3, 4, 5]
        """
        self.ensure_within(num_rows)
        hidden = self.bitmap.flip(0, num_rows)
        return DeletedRows(hidden if also is None else hidden | also.bitmap, self.where)

    def positions(self) -> pa.UInt64Array:
        """Return the positions of the deleted rows in ascending order."""
        values = self.bitmap.to_array()
        return pa.UInt64Array.from_buffers(pa.uint64(), len(values), [None, pa.py_buffer(values)])

    def bit_blob(self, num_rows: int) -> bytes:
        """Return the mask of a file of `num_rows` rows as a BLOB that DuckDB casts to BIT.

        ``get_bit(blob::BIT, file_row_number)`` is 1 for a live row. The cast takes the bytes as they are,
        highest bit first; the BLOB lacks the count of padding bits that leads DuckDB's own form of a BIT, and
        bits beyond the last row are 0. Raises `CorruptDeletionVectorError` like `ensure_within`.
        """
        self.ensure_within(num_rows)
        # An empty BLOB cannot be cast to BIT; no row reads a bit of this one.
        return np.packbits(self.mask(0, num_rows)).tobytes() or b"\0"


def _to_numpy(bitmap: BitMap64) -> "npt.NDArray[np.uint64]":
    return np.frombuffer(bitmap.to_array(), dtype=np.uint64)
