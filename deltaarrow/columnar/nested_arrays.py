"""Structs, lists and maps with other arrays inside."""

from collections.abc import Sequence

import pyarrow as pa

__all__ = ["with_children"]


def with_children(array: pa.Array, children: Sequence[pa.Array]) -> pa.Array:
    """Return structs, lists or maps with the same lengths and NULLs and other arrays inside.

    Args:
        array: the structs, lists or maps.
        children: as many values as before, of any types: the fields of a struct as ``flatten`` returns them,
            the ``values`` of a list, or the ``keys`` and ``items`` of a map.

    >>> with_children(pa.array([["a"], None]), [pa.array([1])]).to_pylist()
    [[1], None]
    """
    if pa.types.is_struct(array.type):
        fields = [field.with_type(child.type) for field, child in zip(array.type, children, strict=True)]
        mask = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(children, fields=fields, mask=mask)
    if pa.types.is_map(array.type):
        keys, items = children
        key, item = array.type.key_field.with_type(keys.type), array.type.item_field.with_type(items.type)
        entries = pa.StructArray.from_arrays([keys, items], fields=[key, item])
        return _with_child(array, pa.map_(key, item), entries)
    (values,) = children
    element = array.type.value_field.with_type(values.type)
    large = pa.types.is_large_list(array.type)
    return _with_child(array, pa.large_list(element) if large else pa.list_(element), values)


def _with_child(array: pa.Array, arrow_type: pa.DataType, child: pa.Array) -> pa.Array:
    return pa.Array.from_buffers(
        arrow_type, len(array), array.buffers()[:2], array.null_count, array.offset, [child]
    )
