"""Variants of data files in the one form that a table shows: chapter "Variant Shredding".

A file holds a column of variants as it likes, shredded or not and each in its own way; callers get
``struct<metadata, value>`` wherever in a column a variant stands.
"""

import pyarrow as pa

from deltaarrow.schema import DataType
from deltaarrow.variant import convert_variants, reassemble

__all__ = ["unshredded"]


def unshredded(array: pa.Array, data_type: DataType) -> pa.Array:
    """A column of a file, of the Delta type `data_type`, with the variants in it put together.

    Raises:
        CorruptDataFileError: the file holds something that is not a variant.
    """
    return convert_variants(array, data_type, reassemble)
