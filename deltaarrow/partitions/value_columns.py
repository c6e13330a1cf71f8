"""Columns of partition values, parsed in bulk: each distinct text once.

The arrays are built from buffers, because `pyarrow.array` over Python values imports pandas if it is
installed, and every read of a partitioned table comes through here.
"""

import pyarrow as pa

from deltaarrow.columnar.numpy_arrays import array_of
from deltaarrow.partitions.values import parse_partition_value
from deltaarrow.schema import PrimitiveType, to_arrow_type

__all__ = ["parse_partition_values"]


def parse_partition_values(
    texts: pa.Array | pa.ChunkedArray, data_type: PrimitiveType, column: str = ""
) -> pa.Array:
    """Parse a column of texts from ``partitionValues``.

    Args:
        texts: strings.
        data_type: the type of the partition column.
        column: its name, for error messages.

    Raises:
        CorruptLogError: a text is not a value of that type.
        UnsupportedFeatureError: as for `parse_partition_value`.

    >>> parse_partition_values(pa.array(["1", None, "1"]), PrimitiveType("long")).to_pylist()
    [1, None, 1]
    """
    if isinstance(texts, pa.ChunkedArray):
        texts = texts.combine_chunks()
    if data_type.type in ("string", "binary"):
        return texts.cast(to_arrow_type(data_type))
    encoded = texts.dictionary_encode()
    values = [parse_partition_value(text, data_type, column) for text in encoded.dictionary.to_pylist()]
    return array_of(values, to_arrow_type(data_type)).take(encoded.indices)
