"""The order of arrays and structs, in which a NULL comes first in Spark and last in DuckDB.

A nested value is ordered by another one, in which a struct stands for each part ``x``: whether ``x`` is
there, and ``x``. Of two such structs the one of a NULL is less, whatever DuckDB makes of the rest.
"""

from deltaarrow.schema import ArrayType, DataType, Field, MapType, PrimitiveType, StructType, types_within
from deltaarrow.spark_sql.tree.nodes import Node, call, mismatched, refused
from deltaarrow.spark_sql.types.nested import struct_of, with_elements, with_members
from deltaarrow.spark_sql.types.type_rules import BOOLEAN, VARIANT, type_name

__all__ = ["in_order", "ordered_elements"]


def in_order(node: Node, what: str) -> Node:
    """The value by which DuckDB orders as Spark orders the node; NULL for NULL.

    Raises `UnsupportedFeatureError` for maps and variants, which have no order; `what` is for the message.
    """
    _ensure_orderable(node.type, what)
    return _converted(node, _ordered(node.type))


def ordered_elements(array: Node, what: str) -> Node:
    """The array with each element as `in_order` makes it."""
    assert isinstance(array.type, ArrayType)
    _ensure_orderable(array.type, what)
    if isinstance(array.type.element_type, PrimitiveType):
        return array
    return with_elements(array, ArrayType(_ordered(array.type.element_type)), _converted)


def _ensure_orderable(data_type: DataType, what: str) -> None:
    within, said = list(types_within(data_type)), f"{what} of {type_name(data_type)}"
    if any(isinstance(each, MapType) for each in within):
        raise mismatched("INVALID_ORDERING_TYPE", said)
    if VARIANT in within:
        raise refused(said)


def _ordered(data_type: DataType) -> DataType:
    """The type of the value by which values of a type are ordered."""
    if isinstance(data_type, ArrayType):
        return ArrayType(_part_type(data_type.element_type))
    if isinstance(data_type, StructType):
        parts = (_part_type(each.type) for each in data_type.fields)
        return StructType([Field(f"p{place}", each) for place, each in enumerate(parts)])
    return data_type


def _part_type(data_type: DataType) -> StructType:
    return StructType([Field("is_given", BOOLEAN), Field("value", _ordered(data_type))])


def _converted(node: Node, wanted: DataType) -> Node:
    if isinstance(node.type, ArrayType) and isinstance(wanted, ArrayType):
        return with_elements(node, wanted, _part)
    if isinstance(node.type, StructType) and isinstance(wanted, StructType):
        return with_members(node, node.type.fields, wanted, _part)
    assert isinstance(node.type, PrimitiveType)
    return node


def _part(node: Node, wanted: DataType) -> Node:
    assert isinstance(wanted, StructType)
    is_given = call("is given", (node,), BOOLEAN, "({0} IS NOT NULL)")
    return struct_of((is_given, _converted(node, wanted.fields[1].type)), wanted)
