"""Assignment of values to columns in INSERT, UPDATE and MERGE, by the rules of delta-spark.

A value is cast as by CAST in ANSI mode, with one difference: struct fields match by name, in any case and
order, also in structs that are array elements, map keys or map values. In arrays of arrays they match by
position, as in a plain cast. An INSERT may match all fields by their position.
"""

from functools import partial

import deltaarrow.spark_sql.functions.binders as binders
from deltaarrow.errors import SchemaMismatchError
from deltaarrow.schema import ArrayType, DataType, MapType, PrimitiveType, StructType
from deltaarrow.spark_sql.tree.nodes import Constant, Node, call
from deltaarrow.spark_sql.types.casts import cast
from deltaarrow.spark_sql.types.nested import member, struct_of, with_elements, with_entries, with_members
from deltaarrow.spark_sql.types.type_rules import STRING, VOID, has_same_shape, type_name

__all__ = ["assigned"]


def assigned(
    node: Node,
    target: DataType,
    *,
    fills: bool = False,
    present: Node | None = None,
    by_position: bool = False,
    tries: bool = False,
) -> Node:
    """Return the node cast to the type of the column that it is assigned to.

    Args:
        node: the value.
        target: the type of the column.
        fills: whether fields that the value lacks become NULL; if not, the value must have all fields.
        present: the column's current value, from which lacking fields are kept.
        by_position: whether fields of structs match by their position.
        tries: whether a value that the type of the column cannot hold becomes NULL instead of an error.

    Raises:
        SchemaMismatchError: the value has a field that the column lacks, or the reverse; or the types
            are of different kinds.
        UnsupportedFeatureError: the cast is not supported.

    >>> from deltaarrow.schema import Field
    >>> pair = StructType([Field("a", "long"), Field("b", "string")])
    >>> assigned(Constant(None, VOID), pair).type == pair
    True
    """
    source, convert = node.type, partial(assigned, fills=fills, by_position=by_position, tries=tries)
    convert_whole = binders.try_cast if tries else cast
    if present is not None and _lacks(source, target):
        return _kept(node, target, present, tries)
    if has_same_shape(source, target) or source == VOID:
        return cast(node, target)
    if isinstance(source, StructType) and isinstance(target, StructType):
        if by_position:
            _ensure_as_many(source, target)
            return with_members(node, source.fields, target, convert)
        _ensure_members(source, target, fills)
        return with_members(node, [source.find(each.name) for each in target.fields], target, convert)
    if isinstance(source, ArrayType) and isinstance(target, ArrayType):
        is_by_name = isinstance(source.element_type, StructType)
        return with_elements(node, target, convert) if is_by_name else convert_whole(node, target)
    if isinstance(source, MapType) and isinstance(target, MapType):
        return with_entries(node, target, convert)
    is_nested = not isinstance(source, PrimitiveType) or not isinstance(target, PrimitiveType)
    if is_nested and target != STRING:
        raise SchemaMismatchError(
            f"a value of type {type_name(source)} cannot be assigned to a column of type {type_name(target)}"
        )
    return convert_whole(node, target)


def _lacks(source: DataType, target: DataType) -> bool:
    """Whether a value lacks a field of the target struct, at any depth."""
    if not isinstance(source, StructType) or not isinstance(target, StructType):
        return False
    pairs = [(source.find(each.name), each) for each in target.fields]
    return any(given is None or _lacks(given.type, each.type) for given, each in pairs)


def _kept(node: Node, target: DataType, present: Node, tries: bool) -> Node:
    """A struct with the fields of a value, and those fields of `present` that the value lacks."""
    assert isinstance(node.type, StructType) and isinstance(target, StructType)
    assert isinstance(present.type, StructType)
    _ensure_members(node.type, target, fills=True)
    parts = []
    for each in target.fields:
        given, here = node.type.find(each.name), present.type.find(each.name)
        old = None if here is None else member(present, here)
        value: Node = Constant(None, each.type)
        if given is not None:
            value = assigned(member(node, given), each.type, fills=True, present=old, tries=tries)
        elif old is not None:
            value = assigned(old, each.type, fills=True)
        parts.append(value)
    made = struct_of(parts, target)
    sql = "CASE WHEN {0} IS NOT NULL OR {1} IS NOT NULL THEN {2} END"
    return call("if", (node, present, made), target, sql)


def _ensure_as_many(source: StructType, target: StructType) -> None:
    """Raise unless a value has as many fields as the column."""
    if len(source.fields) != len(target.fields):
        raise SchemaMismatchError(
            "[DELTA_INSERT_COLUMN_ARITY_MISMATCH] the assigned struct has the fields"
            f" {', '.join(source.names)}, and the column has {', '.join(target.names)}"
        )


def _ensure_members(source: StructType, target: StructType, fills: bool) -> None:
    """Raise if a value has fields that the column lacks, or lacks fields of the column."""
    extra = [each.name for each in source.fields if target.find(each.name) is None]
    if extra:
        raise SchemaMismatchError(
            f"the assigned struct has a field {extra[0]!r} that the column lacks (fields:"
            f" {', '.join(target.names)})"
        )
    missing = [each.name for each in target.fields if source.find(each.name) is None]
    if missing and not fills:
        raise SchemaMismatchError(
            f"the assigned struct lacks the field {missing[0]!r} of the column (fields:"
            f" {', '.join(source.names)})"
        )
