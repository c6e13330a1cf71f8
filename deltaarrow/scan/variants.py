"""Variants of data files in the one form that a table shows: chapter "Variant Shredding".

A file holds a column of variants as it likes, shredded or not and each in its own way; callers get
``struct<metadata, value>`` wherever in a column a variant stands.
"""

import pyarrow as pa

from deltaarrow.schema import ArrayType, DataType, MapType, PrimitiveType, StructType
from deltaarrow.variant import reassemble

__all__ = ["holds_variant", "unshredded"]

_VARIANT = PrimitiveType("variant")


def holds_variant(data_type: DataType) -> bool:
    """Whether a type is, or has in it, a variant."""
    if isinstance(data_type, StructType):
        return any(holds_variant(field.type) for field in data_type.fields)
    if isinstance(data_type, ArrayType):
        return holds_variant(data_type.element_type)
    if isinstance(data_type, MapType):
        return holds_variant(data_type.key_type) or holds_variant(data_type.value_type)
    return data_type == _VARIANT


def unshredded(array: pa.Array, data_type: DataType) -> pa.Array:
    """A column of a file, of the Delta type `data_type`, with the variants in it put together.

    Raises:
        CorruptDataFileError: the file holds something that is not a variant.
    """
    if not holds_variant(data_type):
        return array
    if isinstance(data_type, StructType):
        pairs = zip(array.flatten(), data_type.fields, strict=True)
        fields = [unshredded(part, field.type) for part, field in pairs]
        names = [field.name for field in array.type]
        return pa.StructArray.from_arrays(fields, names, mask=array.is_null() if array.null_count else None)
    if isinstance(data_type, ArrayType):
        values = unshredded(array.values, data_type.element_type)
        return _with_child(array, pa.list_(pa.field("element", values.type)), values)
    if isinstance(data_type, MapType):
        keys = unshredded(array.keys, data_type.key_type)
        items = unshredded(array.items, data_type.value_type)
        entries = pa.StructArray.from_arrays([keys, items], ["key", "value"])
        return _with_child(array, pa.map_(keys.type, items.type), entries)
    return reassemble(array)


def _with_child(array: pa.Array, arrow_type: pa.DataType, child: pa.Array) -> pa.Array:
    """The lists or maps of `array` over other elements, of which there are as many."""
    return pa.Array.from_buffers(
        arrow_type, len(array), array.buffers()[:2], array.null_count, array.offset, [child]
    )
