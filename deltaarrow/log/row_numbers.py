"""Row numbers in the Parquet files of a checkpoint."""

import os
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from deltaarrow.columnar.numpy_arrays import validity

if TYPE_CHECKING:
    import duckdb

__all__ = ["PLACE", "files_and_rows", "numbered_from", "place_sql", "present_rows", "row_condition"]

PLACE = "place"
"""The column of row numbers."""

_ROW_BITS = 40
"""No file has more rows than 2 to this power."""


def place_sql() -> str:
    """Return the SQL of a number that increases with the files and the rows of ``read_parquet``."""
    return f"(file_index::BIGINT << {_ROW_BITS}) + file_row_number"


def files_and_rows(places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of the files and of the rows in them that `place_sql` has put together.

    >>> files_and_rows(np.array([(2 << 40) + 7]))
    (array([2]), array([7]))
    """
    return places >> _ROW_BITS, places & ((1 << _ROW_BITS) - 1)


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


def row_condition(cursor: "duckdb.DuckDBPyConnection", rows: np.ndarray, most_numbered: int) -> str:
    """SQL that is true for ascending row numbers of a file and lets DuckDB skip row groups.

    Up to `most_numbered` rows are passed by number, more as a bit mask.
    """
    span = f"file_row_number BETWEEN {rows[0]} AND {rows[-1]}"
    if len(rows) > rows[-1] - rows[0]:
        return span
    if len(rows) <= most_numbered:
        return f"{span} AND file_row_number IN ({', '.join(map(str, rows.tolist()))})"
    # Not a join: it would not keep the order of the files.
    name = f"rows_{os.urandom(8).hex()}"
    cursor.register(name, pa.table([_bits(rows)], ["bits"]))
    cursor.execute(f"SET VARIABLE {name} = (SELECT bits::BIT FROM {name})")
    # DuckDB may evaluate either condition first, so `least` keeps the bit number within the mask.
    bit = f"least(file_row_number, {rows[-1]})::INTEGER"
    return f"{span} AND get_bit(getvariable('{name}'), {bit}) = 1"


def _bits(rows: np.ndarray) -> pa.Array:
    """One BLOB whose bits for these rows are set; DuckDB casts it to BIT."""
    flags = np.zeros(rows[-1] + 1, bool)
    flags[rows] = True
    blob = pa.py_buffer(np.packbits(flags))
    offsets = pa.py_buffer(np.array([0, blob.size], np.int32))
    return pa.Array.from_buffers(pa.binary(), 1, [None, offsets, blob])
