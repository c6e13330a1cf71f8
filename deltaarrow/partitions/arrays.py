"""Columns of partition values: many texts at once, each different one parsed once.

The arrays are built from buffers: `pyarrow.array` over Python values would import pandas where it
is installed, and this is on the way of every read of a partitioned table.
"""

import datetime as dt
from collections.abc import Sequence
from decimal import Context
from typing import Any

import numpy as np
import pyarrow as pa

from deltaarrow.partitions.values import parse_partition_value
from deltaarrow.schema import PrimitiveType, to_arrow_type

__all__ = ["parse_partition_values"]

_EPOCH_DATE = dt.date(1970, 1, 1)
_EPOCH = dt.datetime(1970, 1, 1)
_EXACT = Context(prec=38)
_MICROSECOND = dt.timedelta(microseconds=1)
_NUMBERS = {
    "byte": np.int8,
    "short": np.int16,
    "integer": np.int32,
    "long": np.int64,
    "float": np.float32,
    "double": np.float64,
    "date": np.int32,
    "timestamp": np.int64,
    "timestamp_ntz": np.int64,
}


def parse_partition_values(
    texts: pa.Array | pa.ChunkedArray, data_type: PrimitiveType, column: str = ""
) -> pa.Array:
    """The values that a column of texts from ``partitionValues`` stands for.

    Args:
        texts: strings.
        data_type: the type of the partition column.
        column: its name, for the message of an error.

    Raises:
        CorruptLogError: a text is no value of that type.
        UnsupportedFeatureError: as `parse_partition_value`.

    >>> parse_partition_values(pa.array(["1", None, "1"]), PrimitiveType("long")).to_pylist()
    [1, None, 1]
    """
    if isinstance(texts, pa.ChunkedArray):
        texts = texts.combine_chunks()
    if data_type.type in ("string", "binary"):
        return texts.cast(to_arrow_type(data_type))
    encoded = texts.dictionary_encode()
    values = [parse_partition_value(text, data_type, column) for text in encoded.dictionary.to_pylist()]
    return _array(values, data_type).take(encoded.indices)


def _array(values: Sequence[Any], data_type: PrimitiveType) -> pa.Array:
    valid = np.array([value is not None for value in values], np.bool_)
    stored = [_stored(value, data_type) for value in values]
    if data_type.decimal:
        data = b"".join(each.to_bytes(16, "little", signed=True) for each in stored)
    elif data_type.type == "boolean":
        data = np.packbits(np.array(stored, np.bool_), bitorder="little").tobytes()
    else:
        data = np.array(stored, _NUMBERS[data_type.type]).tobytes()
    validity = np.packbits(valid, bitorder="little").tobytes()
    buffers = [pa.py_buffer(validity), pa.py_buffer(data)]
    return pa.Array.from_buffers(to_arrow_type(data_type), len(values), buffers)


def _stored(value: Any, data_type: PrimitiveType) -> Any:
    """The number that stands for a value in an Arrow buffer."""
    if value is None:
        return 0
    if data_type.decimal:
        return int(value.scaleb(data_type.decimal[1], _EXACT))
    if data_type.type == "date":
        return (value - _EPOCH_DATE).days
    if data_type.type in ("timestamp", "timestamp_ntz"):
        return (value.replace(tzinfo=None) - _EPOCH) // _MICROSECOND
    return value
