"""Row numbers in the Parquet files of a checkpoint."""

import numpy as np
import pyarrow as pa

from deltaarrow.columnar.arrays import validity

__all__ = ["PLACE", "numbered_from", "place_sql", "present_rows"]

PLACE = "place"
"""The column of row numbers."""

_ROW_BITS = 40
"""No file has more rows than 2 to this power."""


def place_sql() -> str:
    """Return the SQL of a number that increases with the files and the rows of ``read_parquet``."""
    return f"(file_index::BIGINT << {_ROW_BITS}) + file_row_number"


def numbered_from(file: int, select: str) -> str:
    """Return a SELECT whose files are numbered from `file` instead of 0.

    >>> numbered_from(2, "FROM rows")
    'SELECT * REPLACE (place + (2::BIGINT << 40) AS place) FROM (FROM rows)'
    """
    return f"SELECT * REPLACE ({PLACE} + ({file}::BIGINT << {_ROW_BITS}) AS {PLACE}) FROM ({select})"


def present_rows(array: pa.Array) -> list[int]:
    """Return the numbers of the rows that are not NULL.

    >>> present_rows(pa.array([1, None, 2]))
    [0, 2]
    """
    mask = validity(array)
    return list(range(len(array))) if mask is None else np.flatnonzero(mask).tolist()
