"""Constructors of arrays, maps and structs.

As in Spark, the values of an array are cast to their least common type, and so are the keys and the values
of a map.
"""

from collections.abc import Sequence

from deltaarrow.schema import ArrayType, DataType, Field, MapType, PrimitiveType, StructType
from deltaarrow.spark_sql.functions.argument_counts import ensure_pairs
from deltaarrow.spark_sql.functions.function import Function, literal_text
from deltaarrow.spark_sql.tree.nodes import ColumnRef, Node, refused
from deltaarrow.spark_sql.types.casts import cast
from deltaarrow.spark_sql.types.nested import array_of, leaf_types, map_of, struct_of
from deltaarrow.spark_sql.types.type_rules import (
    DATE,
    DOUBLE,
    FLOAT,
    INTEGRAL,
    STRING,
    TIMESTAMPS,
    VARIANT,
    VOID,
    as_decimal,
    decimal_of,
    type_name,
    wider_type,
)

__all__ = ["FUNCTIONS", "is_assignable", "struct"]

_PRECEDENCE = (*INTEGRAL, FLOAT, DOUBLE)
_TIMES = (DATE, *TIMESTAMPS)


def is_assignable(given: DataType, wanted: DataType) -> bool:
    """Whether Spark casts one type to the other implicitly, because no value can be lost: its ``canUpCast``.

    >>> is_assignable(ArrayType("integer"), ArrayType("long")), is_assignable(INTEGRAL[3], INTEGRAL[0])
    (True, False)
    """
    if given in (wanted, VOID):
        return True
    if isinstance(given, ArrayType) and isinstance(wanted, ArrayType):
        return is_assignable(given.element_type, wanted.element_type)
    if isinstance(given, MapType) and isinstance(wanted, MapType):
        keys = is_assignable(given.key_type, wanted.key_type)
        return keys and is_assignable(given.value_type, wanted.value_type)
    if isinstance(given, StructType) and isinstance(wanted, StructType):
        pairs = zip(given.fields, wanted.fields, strict=False)
        return len(given.fields) == len(wanted.fields) and all(
            is_assignable(one.type, two.type) for one, two in pairs
        )
    if not isinstance(given, PrimitiveType) or not isinstance(wanted, PrimitiveType):
        return False
    if given in _PRECEDENCE and wanted in _PRECEDENCE:
        return _PRECEDENCE.index(given) < _PRECEDENCE.index(wanted)
    digits, room = as_decimal(given), as_decimal(wanted)
    if digits is not None and room is not None and decimal_of(wanted) is not None:
        return room[1] >= digits[1] and room[0] - room[1] >= digits[0] - digits[1]
    return (wanted == STRING and given != VARIANT) or (given in _TIMES and wanted in TIMESTAMPS)


def struct(names: Sequence[str | None], parts: Sequence[Node]) -> Node:
    """A struct; a field without a name is named after its column, or else after its position."""
    found = [
        name or (part.path[-1] if isinstance(part, ColumnRef) else f"col{place}")
        for place, (name, part) in enumerate(zip(names, parts, strict=True), 1)
    ]
    if not found or len({each.lower() for each in found}) < len(found):
        raise refused("a struct without fields, or with two fields of one name,")
    return struct_of(parts, StructType([Field(*each) for each in zip(found, _types(parts), strict=True)]))


def _struct(*parts: Node) -> Node:
    return struct([None] * len(parts), parts)


def _named_struct(*parts: Node) -> Node:
    ensure_pairs("named_struct", len(parts))
    return struct([literal_text(each, "the name of a field") for each in parts[::2]], parts[1::2])


def _array(*parts: Node) -> Node:
    element = _common_type(parts)
    return array_of([cast(each, element) for each in parts], element)


def _map(*parts: Node) -> Node:
    ensure_pairs("map", len(parts))
    key = _common_type(parts[::2], "CREATE_MAP_KEY_DIFF_TYPES")
    value = _common_type(parts[1::2], "CREATE_MAP_VALUE_DIFF_TYPES")
    if any(each in (FLOAT, DOUBLE, VARIANT) for each in leaf_types(key)) or isinstance(key, MapType):
        raise refused(f"a key of type {type_name(key)}")
    keys = [cast(each, key) for each in parts[::2]]
    return map_of(keys, [cast(each, value) for each in parts[1::2]], MapType(key, value))


def _types(parts: Sequence[Node]) -> list[DataType]:
    return [each.type for each in parts]


def _common_type(parts: Sequence[Node], kind: str = "DATA_DIFF_TYPES") -> DataType:
    common: DataType = VOID
    for each in _types(parts):
        common = wider_type(common, each, kind)
    return common


FUNCTIONS = (
    Function(("array",), "value, ...", (0, None), _array),
    Function(("map",), "key, value, ...", (0, None), _map, "keys cannot be `float` or `double`"),
    Function(("struct",), "value [AS name], ...", (1, None), _struct),
    Function(("named_struct",), "name, value, ...", (2, None), _named_struct, "names must be literals"),
)
"""The functions of this module."""
