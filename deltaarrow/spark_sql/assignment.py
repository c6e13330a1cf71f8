"""What a column is assigned by UPDATE and MERGE, as a value of its type, by the rules of delta-spark.

A value is cast as by CAST in ANSI mode, but members of structs go by their names, in whatever case and order,
and so do those of structs that are elements of an array or keys and values of a map. In arrays of arrays they
go by their places, as in a plain cast.
"""

from functools import partial

from deltaarrow.errors import SchemaMismatchError
from deltaarrow.schema import ArrayType, DataType, MapType, PrimitiveType, StructType
from deltaarrow.spark_sql.casts import cast
from deltaarrow.spark_sql.nested import member, struct_of, with_elements, with_entries, with_members
from deltaarrow.spark_sql.nodes import Constant, Node, call
from deltaarrow.spark_sql.types import STRING, VOID, has_same_shape, type_name

__all__ = ["assigned"]


def assigned(node: Node, target: DataType, *, fills: bool = False, present: Node | None = None) -> Node:
    """The node as what a column of a type is assigned.

    Args:
        node: the value.
        target: the type of the column.
        fills: whether members that the value does not have are NULL; without, it is to have all.
        present: what the column is, to keep such members as they are.

    Raises:
        SchemaMismatchError: a member that the target does not have, or the other way about; a type of
            another kind.
        UnsupportedFeatureError: a cast that is not supported.

    >>> from deltaarrow.schema import Field
    >>> pair = StructType([Field("a", "long"), Field("b", "string")])
    >>> assigned(Constant(None, VOID), pair).type == pair
    True
    """
    source, convert = node.type, partial(assigned, fills=fills)
    if present is not None and _lacks(source, target):
        return _kept(node, target, present)
    if has_same_shape(source, target) or source == VOID:
        return cast(node, target)
    if isinstance(source, StructType) and isinstance(target, StructType):
        _ensure_members(source, target, fills)
        return with_members(node, [source.find(each.name) for each in target.fields], target, convert)
    if isinstance(source, ArrayType) and isinstance(target, ArrayType):
        is_by_name = isinstance(source.element_type, StructType)
        return with_elements(node, target, convert) if is_by_name else cast(node, target)
    if isinstance(source, MapType) and isinstance(target, MapType):
        return with_entries(node, target, convert)
    is_nested = not isinstance(source, PrimitiveType) or not isinstance(target, PrimitiveType)
    if is_nested and target != STRING:
        raise SchemaMismatchError(f"{type_name(source)} cannot be assigned to {type_name(target)}")
    return cast(node, target)


def _lacks(source: DataType, target: DataType) -> bool:
    """Whether a value lacks a member of a struct, or of one in it."""
    if not isinstance(source, StructType) or not isinstance(target, StructType):
        return False
    pairs = [(source.find(each.name), each) for each in target.fields]
    return any(given is None or _lacks(given.type, each.type) for given, each in pairs)


def _kept(node: Node, target: DataType, present: Node) -> Node:
    """A struct with the members of a value, and those of `present` that the value does not have."""
    assert isinstance(node.type, StructType) and isinstance(target, StructType)
    assert isinstance(present.type, StructType)
    _ensure_members(node.type, target, fills=True)
    parts = []
    for each in target.fields:
        given, here = node.type.find(each.name), present.type.find(each.name)
        old = None if here is None else member(present, here)
        value: Node = Constant(None, each.type)
        if given is not None:
            value = assigned(member(node, given), each.type, fills=True, present=old)
        elif old is not None:
            value = assigned(old, each.type, fills=True)
        parts.append(value)
    made = struct_of(parts, target)
    sql = "CASE WHEN {0} IS NOT NULL OR {1} IS NOT NULL THEN {2} END"
    return call("if", (node, present, made), target, sql)


def _ensure_members(source: StructType, target: StructType, fills: bool) -> None:
    """Raise where a value has members that the column does not have, or lacks some."""
    extra = [each.name for each in source.fields if target.find(each.name) is None]
    if extra:
        raise SchemaMismatchError(f"the table has no member {extra[0]!r} for what is assigned")
    missing = [each.name for each in target.fields if source.find(each.name) is None]
    if missing and not fills:
        raise SchemaMismatchError(f"what is assigned has no member {missing[0]!r}, which the table has")
