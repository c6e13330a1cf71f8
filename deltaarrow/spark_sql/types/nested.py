"""Access to the parts of arrays, maps and structs, and construction of such values from parts.

The caller decides how each part is converted, and which field of a struct becomes which.
"""

from collections.abc import Callable, Iterator, Sequence

from deltaarrow.compute import quote_identifier, quote_literal
from deltaarrow.schema import ArrayType, DataType, Field, MapType, PrimitiveType, StructType, types_within
from deltaarrow.spark_sql.tree.nodes import OWN_NAME, Call, ColumnRef, Constant, Node, call, escaped
from deltaarrow.spark_sql.types.type_rules import sql_type

__all__ = [
    "Convert",
    "array_of",
    "leaf_types",
    "map_of",
    "member",
    "nesting",
    "rebuilt",
    "struct_of",
    "with_elements",
    "with_entries",
    "with_members",
]

Convert = Callable[[Node, DataType], Node]
"""Converts a node to a type."""

_STRUCT = "named_struct"


def leaf_types(data_type: DataType) -> Iterator[DataType]:
    """The primitive types inside a type, in order."""
    return (each for each in types_within(data_type) if isinstance(each, PrimitiveType))


def member(struct: Node, field: Field) -> Node:
    """A field of a struct; NULL for a NULL struct."""
    if isinstance(struct, ColumnRef):
        return ColumnRef((*struct.path, field.name), field.type)
    if isinstance(struct, Constant):
        return Constant(None, field.type)
    return call(".", (struct,), field.type, f"struct_extract({{0}}, {escaped(quote_literal(field.name))})")


def rebuilt(node: Node, convert: Convert) -> Node:
    """A value of the same type with each primitive part converted."""
    if isinstance(node.type, ArrayType):
        return with_elements(node, node.type, lambda part, _: rebuilt(part, convert))
    if isinstance(node.type, MapType):
        return with_entries(node, node.type, lambda part, _: rebuilt(part, convert))
    if isinstance(node.type, StructType):
        return with_members(node, node.type.fields, node.type, lambda part, _: rebuilt(part, convert))
    return convert(node, node.type)


def array_of(parts: Sequence[Node], element: DataType) -> Node:
    """An array of values of one type."""
    data_type = ArrayType(element)
    listed = f"CAST([{_places(len(parts))}] AS {escaped(sql_type(data_type))})"
    return call("array", tuple(parts), data_type, listed)


def map_of(keys: Sequence[Node], values: Sequence[Node], data_type: MapType) -> Node:
    """A map; raises for a NULL key or a duplicate key."""
    count = len(keys)
    arrays = (array_of(keys, data_type.key_type), array_of(values, data_type.value_type))
    return call("map", arrays, data_type, "MAP({0}, {1})", fails=count > 0)


def struct_of(parts: Sequence[Node], data_type: StructType) -> Node:
    """A struct with these fields."""
    members = (
        f"{escaped(quote_identifier(each.name))} := {{{place}}}"
        for place, each in enumerate(data_type.fields)
    )
    return call(_STRUCT, tuple(parts), data_type, f"struct_pack({', '.join(members)})")


def with_members(struct: Node, given: Sequence[Field | None], target: StructType, convert: Convert) -> Node:
    """A struct with the given fields of another struct, NULL for None; NULL stays NULL."""
    is_made = isinstance(struct, Call) and struct.name == _STRUCT
    parts = [
        Constant(None, field.type) if each is None else convert(_part(struct, each), field.type)
        for each, field in zip(given, target.fields, strict=True)
    ]
    made = struct_of(parts, target)
    if is_made:
        return made
    return call("if", (struct, made), target, "CASE WHEN {0} IS NOT NULL THEN {1} END")


def with_elements(array: Node, target: ArrayType, convert: Convert) -> Node:
    """An array with the elements of another; NULL stays NULL."""
    assert isinstance(array.type, ArrayType)
    name = _variable(array.type)
    element = convert(call("element", (), array.type.element_type, name), target.element_type)
    return call("transform", (array, element), target, f"list_transform({{0}}, lambda {name}: {{1}})")


def with_entries(entries: Node, target: MapType, convert: Convert) -> Node:
    """A map with the keys and the values of another; NULL stays NULL."""
    assert isinstance(entries.type, MapType)
    name = _variable(entries.type)
    key = convert(call("key", (), entries.type.key_type, f"{name}.key"), target.key_type)
    value = convert(call("value", (), entries.type.value_type, f"{name}.value"), target.value_type)
    sql = (
        f"map_from_entries(list_transform(map_entries({{0}}),"
        f" lambda {name}: struct_pack(key := {{1}}, value := {{2}})))"
    )
    return call("transform", (entries, key, value), target, sql, fails=True)


def _part(struct: Node, field: Field) -> Node:
    """A field of a struct whose fields are all computed in any case."""
    if isinstance(struct, Call) and struct.name == _STRUCT:
        assert isinstance(struct.type, StructType)
        return struct.operands[struct.type.names.index(field.name)]
    return member(struct, field)


def _variable(data_type: DataType) -> str:
    """A variable name that no enclosing lambda uses, because those have outer types."""
    return f"{OWN_NAME}e{nesting(data_type)}"


def nesting(data_type: DataType) -> int:
    """How many types a type has within each other."""
    if isinstance(data_type, ArrayType):
        inner: list[DataType] = [data_type.element_type]
    elif isinstance(data_type, MapType):
        inner = [data_type.key_type, data_type.value_type]
    else:
        inner = [each.type for each in data_type.fields] if isinstance(data_type, StructType) else []
    return 1 + max(map(nesting, inner), default=0)


def _places(count: int) -> str:
    return ", ".join(f"{{{place}}}" for place in range(count))
