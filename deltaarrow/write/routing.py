"""Rows to their partitions: which rows of a batch have which combination of partition values.

Values are told apart by how the log spells them (PROTOCOL.md, *Partition Value Serialization*), so
NULL and the empty string are one partition, as in Spark. Rows keep their order within a partition.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.partitions import render_partition_value
from deltaarrow.schema import PrimitiveType
from deltaarrow.write.selection import Selection

__all__ = ["PartitionKey", "split_by_partition"]

_Codes = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PartitionKey:
    """A combination of partition values, in the order of the partition columns.

    Keys are equal if the log spells their values in the same way.
    """

    texts: tuple[str | None, ...]
    """As the log spells them."""
    values: tuple[Any, ...] = field(compare=False)
    """As Python values, the first that were met."""


def split_by_partition(
    rows: pa.RecordBatch, partition_columns: Sequence[pa.Array], types: Sequence[PrimitiveType]
) -> Iterator[tuple[PartitionKey, Selection]]:
    """Split rows by the values of the partition columns.

    Args:
        rows: the data columns.
        partition_columns: the values per row, one array for each partition column.
        types: their Delta types.

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
        # Dense again after each column, lest the product of many distinct counts overflow.
        _, codes = np.unique(codes * len(distinct) + other, return_inverse=True)
    order = np.argsort(codes, kind="stable")
    codes = codes[order]
    starts = np.flatnonzero(np.r_[True, codes[1:] != codes[:-1]]).tolist()
    ends = [*starts[1:], len(codes)]
    for start, end in zip(starts, ends, strict=True):
        pairs = [distinct[of_column[order[start]]] for of_column, distinct in encoded]
        part = Selection(rows, None if len(starts) == 1 else order[start:end])
        yield PartitionKey(*zip(*pairs, strict=True)), part


def _values(array: pa.Array, of_type: PrimitiveType) -> list[Any]:
    try:
        values: list[Any] = array.to_pylist()
    except (OverflowError, ValueError) as error:
        raise UnsupportedFeatureError(
            f"a partition value of type {of_type.type} that Python cannot represent: {error}",
            feature="partition values beyond the year 9999",
        ) from error
    return values


def _encode(values: pa.Array, of_type: PrimitiveType) -> tuple[_Codes, list[tuple[str | None, Any]]]:
    """Per row the place of its value among the distinct ones, which are texts with their values."""
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
    # Not by to_numpy, which imports pandas where it is installed.
    return np.array(place_of, np.int64)[np.from_dlpack(encoded.indices)], distinct
