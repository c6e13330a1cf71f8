"""The types and fields inside a type."""

from collections.abc import Iterator

from deltaarrow.schema.types import ArrayType, DataType, Field, MapType, StructType

__all__ = ["fields_within", "types_within"]


def types_within(data_type: DataType) -> Iterator[DataType]:
    """Yield a type and all types inside it, outer ones first, in their order.

    >>> [type(each).__name__ for each in types_within(StructType([Field("xs", ArrayType("long"))]))]
    ['StructType', 'ArrayType', 'PrimitiveType']
    """
    yield data_type
    for each in _inner_types(data_type):
        yield from types_within(each)


def fields_within(data_type: DataType) -> Iterator[Field]:
    """Yield the fields of all structs inside a type, each before the fields inside it.

    >>> [each.name for each in fields_within(StructType([Field("s", StructType([Field("x", "long")]))]))]
    ['s', 'x']
    """
    if isinstance(data_type, StructType):
        for each in data_type.fields:
            yield each
            yield from fields_within(each.type)
    else:
        for inner in _inner_types(data_type):
            yield from fields_within(inner)


def _inner_types(data_type: DataType) -> tuple[DataType, ...]:
    """Return the direct parts of a type: element, key and value, or field types."""
    match data_type:
        case StructType():
            return tuple(each.type for each in data_type.fields)
        case ArrayType():
            return (data_type.element_type,)
        case MapType():
            return data_type.key_type, data_type.value_type
    return ()
