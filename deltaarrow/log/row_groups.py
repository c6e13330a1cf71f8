"""The `add` actions of a Parquet file as Arrow reads them, a few of their members at a time.

A row is known by its place: which file of a list it is in, and its number there.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from deltaarrow.arrays import validity

if TYPE_CHECKING:
    import pyarrow.parquet as pq

__all__ = ["file_and_row", "place_of", "place_sql", "present_rows", "read_adds"]

_ROW_BITS = 40


def file_and_row(places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which of a list of files places are in, and the numbers of the rows there.

    >>> file_and_row(np.array([3, (1 << 40) + 2]))
    (array([0, 1]), array([3, 2]))
    """
    return places >> _ROW_BITS, places & ((1 << _ROW_BITS) - 1)


def place_of(file: int, rows: np.ndarray) -> np.ndarray:
    """Return the places of rows of a file, which is given by its number.

    >>> file_and_row(place_of(1, np.array([3, 2])))
    (array([1, 1]), array([3, 2]))
    """
    return (file << _ROW_BITS) + rows


def place_sql() -> str:
    """Return the SQL of the place of a row of ``read_parquet``."""
    return f"(file_index::BIGINT << {_ROW_BITS}) + file_row_number"


def read_adds(file: "pq.ParquetFile", row_group: int, members: Sequence[str]) -> pa.StructArray:
    """Read the `add` column of a row group with nothing but these members, given by their paths in it.

    Raises `KeyError` where there is none of them.
    """
    columns = [f"add.{member}" for member in members]
    # By one thread: what many of them keep for later counts as well.
    adds = file.read_row_group(row_group, columns=columns, use_threads=False).column("add")
    return adds.chunk(0) if adds.num_chunks == 1 else adds.combine_chunks()


def present_rows(array: pa.Array) -> list[int]:
    """Return the numbers of the rows that are not NULL.

    >>> present_rows(pa.array([1, None, 2]))
    [0, 2]
    """
    mask = validity(array)
    return list(range(len(array))) if mask is None else np.flatnonzero(mask).tolist()
