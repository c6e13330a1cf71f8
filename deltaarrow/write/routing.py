"""Rows split by partition: each combination of partition values in a batch, with its rows.

Values are compared by their spelling in the log (PROTOCOL.md, *Partition Value Serialization*), so
NULL and the empty string are one partition, as in Spark. Rows keep their order within a partition.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.partitions import render_partition_value
from deltaarrow.schema import PrimitiveType
from deltaarrow.write.selected_rows import Selection

__all__ = ["PartitionKey", "split_by_partition"]

_SMALL_ROWS = 256
"""Rows of a partition, on average, below which the batch is copied as a whole."""

_Codes = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PartitionKey:
    """A combination of partition values, in the order of the partition columns.

    Two keys are equal if the log spells their values the same way.
    """

    texts: tuple[str | None, ...]
    """The values as the log spells them."""
    values: tuple[Any, ...] = field(compare=False)
    """The values as Python objects; of equal spellings, the first one met."""


def split_by_partition(
    rows: pa.RecordBatch, partition_columns: Sequence[pa.Array], types: Sequence[PrimitiveType]
) -> Iterator[tuple[PartitionKey, Selection]]:
    """Split rows by the values of the partition columns.

    Args:
        rows: the data columns.
        partition_columns: the partition values of the rows, one array per partition column.
        types: the Delta types of the partition columns.

    Yields:
        each combination with its rows; nothing for a batch without rows.
    """
    if not partition_columns or rows.num_rows == 0:
        if rows.num_rows:
            yield PartitionKey((), ()), Selection(rows)
        return
    encoded = [_encode(values, of_type) for values, of_type in zip(partition_columns, types, strict=True)]
    codes, _ = encoded[0]
    for other, distinct in encoded[1:]:
        # Number the combinations densely after each column, or a product of distinct counts may overflow.
        _, codes = np.unique(codes * len(distinct) + other, return_inverse=True)
    order = np.argsort(codes, kind="stable")
    codes = codes[order]
    starts = np.flatnonzero(np.r_[True, codes[1:] != codes[:-1]]).tolist()
    are_small = len(starts) > 1 and len(codes) < _SMALL_ROWS * len(starts)
    if are_small:
        rows = Selection(rows, order).read()
    size = rows.nbytes
    for start, end in itertools.pairwise([*starts, len(codes)]):
        pairs = [distinct[of_column[order[start]]] for of_column, distinct in encoded]
        places = range(start, end) if are_small else order[start:end]
        part = Selection(rows, None if len(starts) == 1 else places, size)
        yield PartitionKey(*zip(*pairs, strict=True)), part


def _values(array: pa.Array, of_type: PrimitiveType) -> list[Any]:
    try:
        values: list[Any] = array.to_pylist()
    except (OverflowError, ValueError) as error:
        raise UnsupportedFeatureError(
            f"a partition value of type {of_type.type} is outside the range of Python: {error}",
            feature="partition values beyond the year 9999",
        ) from error
    return values


def _encode(values: pa.Array, of_type: PrimitiveType) -> tuple[_Codes, list[tuple[str | None, Any]]]:
    """Return per row the index of its value, and the distinct values as (text, value)."""
    encoded = values.dictionary_encode(null_encoding="encode")
    places: dict[str | None, int] = {}
    distinct: list[tuple[str | None, Any]] = []
    place_of: list[int] = []
    for value in _values(encoded.dictionary, of_type):
        text = render_partition_value(value, of_type)
        if text not in places:
            places[text] = len(distinct)
            distinct.append((text, value))
        place_of.append(places[text])
    # to_numpy would import pandas if it is installed.
    return np.array(place_of, np.int64)[np.from_dlpack(encoded.indices)], distinct
