"""Conversion of stored variants to the table's form, chapter "Variant Shredding".

Each file may store its variants shredded in its own way, or not shredded. Callers get
``struct<metadata, value>`` for every variant, at any level of a column.
"""

import pyarrow as pa

import deltaarrow.variant as variant
from deltaarrow.schema import DataType

__all__ = ["unshredded"]


def unshredded(array: pa.Array, data_type: DataType) -> pa.Array:
    """Return a column of a file, of the Delta type `data_type`, with its variants unshredded.

    Raises:
        CorruptDataFileError: the file has an invalid variant.
    """
    return variant.convert_variants(array, data_type, variant.reassemble)
