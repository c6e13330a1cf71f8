"""Variant columns nested in structs, arrays and maps: their detection and conversion."""

from collections.abc import Callable

import pyarrow as pa

from deltaarrow.columnar.nested_arrays import with_children
from deltaarrow.schema import ArrayType, DataType, MapType, PrimitiveType, StructType

__all__ = ["convert_variants", "holds_variant"]

_VARIANT = PrimitiveType("variant")


def holds_variant(data_type: DataType) -> bool:
    """Whether a type is a variant or contains one."""
    if isinstance(data_type, StructType):
        return any(holds_variant(field.type) for field in data_type.fields)
    if isinstance(data_type, ArrayType):
        return holds_variant(data_type.element_type)
    if isinstance(data_type, MapType):
        return holds_variant(data_type.key_type) or holds_variant(data_type.value_type)
    return data_type == _VARIANT


def convert_variants(
    array: pa.Array, data_type: DataType, convert: Callable[[pa.Array], pa.Array]
) -> pa.Array:
    """A column with every variant column in it replaced by the result of `convert`.

    Args:
        array: structs, lists and maps that match the Delta type `data_type`.
        data_type: shows where the variants are.
        convert: returns as many rows as it gets.
    """
    if not holds_variant(data_type):
        return array
    if isinstance(data_type, StructType):
        pairs = zip(array.flatten(), data_type.fields, strict=True)
        return with_children(array, [convert_variants(part, field.type, convert) for part, field in pairs])
    if isinstance(data_type, ArrayType):
        return with_children(array, [convert_variants(array.values, data_type.element_type, convert)])
    if isinstance(data_type, MapType):
        keys = convert_variants(array.keys, data_type.key_type, convert)
        return with_children(array, [keys, convert_variants(array.items, data_type.value_type, convert)])
    return convert(array)
