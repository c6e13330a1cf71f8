"""Variant columns nested in structs, arrays and maps: their detection and conversion."""

from collections.abc import Callable

import pyarrow as pa

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
        parts = [convert_variants(part, field.type, convert) for part, field in pairs]
        fields = [field.with_type(part.type) for field, part in zip(array.type, parts, strict=True)]
        mask = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(parts, fields=fields, mask=mask)
    if isinstance(data_type, ArrayType):
        values = convert_variants(array.values, data_type.element_type, convert)
        element = array.type.value_field.with_type(values.type)
        large = pa.types.is_large_list(array.type)
        return _with_child(array, pa.large_list(element) if large else pa.list_(element), values)
    if isinstance(data_type, MapType):
        keys = convert_variants(array.keys, data_type.key_type, convert)
        items = convert_variants(array.items, data_type.value_type, convert)
        key, item = array.type.key_field.with_type(keys.type), array.type.item_field.with_type(items.type)
        entries = pa.StructArray.from_arrays([keys, items], fields=[key, item])
        return _with_child(array, pa.map_(key, item), entries)
    return convert(array)


def _with_child(array: pa.Array, arrow_type: pa.DataType, child: pa.Array) -> pa.Array:
    """The lists or maps of `array` with new elements, as many as before."""
    return pa.Array.from_buffers(
        arrow_type, len(array), array.buffers()[:2], array.null_count, array.offset, [child]
    )
