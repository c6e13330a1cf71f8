"""Map functions. As in Spark, duplicate keys raise an error."""

from collections.abc import Callable

from deltaarrow.schema import ArrayType, DataType, Field, MapType, StructType
from deltaarrow.spark_sql.functions.conditional import array_contains
from deltaarrow.spark_sql.functions.function import Function, same_type
from deltaarrow.spark_sql.tree.forms import given
from deltaarrow.spark_sql.tree.nodes import Node, call, escaped, mismatched, refused
from deltaarrow.spark_sql.types.nested import leaf_types
from deltaarrow.spark_sql.types.type_rules import DOUBLE, FLOAT, VARIANT, VOID, sql_type, type_name

__all__ = ["FUNCTIONS", "ensure_key", "map_of_entries"]


def ensure_key(data_type: DataType) -> None:
    """Refuse keys whose equality would differ."""
    if isinstance(data_type, MapType) or any(
        each in (FLOAT, DOUBLE, VARIANT, VOID) for each in leaf_types(data_type)
    ):
        raise refused(f"a key of type {type_name(data_type)}")


def map_of_entries(name: str, nodes: tuple[Node, ...], data_type: MapType, entries: str) -> Node:
    """A map of the entries that SQL makes of the nodes; it raises for a key that is NULL or twice there."""
    ensure_key(data_type.key_type)
    kind = escaped(sql_type(data_type))
    sql = f"CAST(map_from_entries({entries}) AS {kind})"
    return call(name, nodes, data_type, given(sql, len(nodes)), fails=True)


def _map_type(node: Node, name: str) -> MapType:
    if not isinstance(node.type, MapType):
        raise refused(f"{name} of {type_name(node.type)}")
    return node.type


def _part(name: str, part: str) -> Callable[[Node], Node]:
    def bind(entries: Node) -> Node:
        kind = _map_type(entries, name)
        item = kind.key_type if part == "key" else kind.value_type
        return call(name, (entries,), ArrayType(item), given(f"{name}({{0}})"))

    return bind


def _entries(entries: Node) -> Node:
    kind = _map_type(entries, "map_entries")
    data_type = ArrayType(StructType([Field("key", kind.key_type), Field("value", kind.value_type)]))
    return call("map_entries", (entries,), data_type, given("map_entries({0})"))


def _from_arrays(keys: Node, values: Node) -> Node:
    if not isinstance(keys.type, ArrayType) or not isinstance(values.type, ArrayType):
        raise refused(f"map_from_arrays of {type_name(keys.type)} and {type_name(values.type)}")
    data_type = MapType(keys.type.element_type, values.type.element_type)
    ensure_key(data_type.key_type)
    unequal = "len({0}) <> len({1}) THEN error('as many values as keys are needed')"
    sql = f"CASE WHEN {unequal} ELSE MAP({{0}}, {{1}}) END"
    return call("map_from_arrays", (keys, values), data_type, given(sql, 2), fails=True)


def _from_entries(array: Node) -> Node:
    fields = array.type.element_type if isinstance(array.type, ArrayType) else None
    if not isinstance(fields, StructType) or len(fields.fields) != 2:
        raise refused(f"map_from_entries of {type_name(array.type)}")
    data_type = MapType(fields.fields[0].type, fields.fields[1].type)
    ensure_key(data_type.key_type)
    kind = escaped(sql_type(data_type))
    sql = f"CASE WHEN list_count({{0}}) = len({{0}}) THEN CAST(map_from_entries({{0}}) AS {kind}) END"
    return call("map_from_entries", (array,), data_type, given(sql), fails=True)


def _concatenated(*maps: Node) -> Node:
    for each in maps:
        _map_type(each, "map_concat")
    nodes, common = same_type(maps)
    assert isinstance(common, MapType)
    listed = ", ".join(f"map_entries({{{place}}})" for place in range(len(nodes)))
    return map_of_entries("map_concat", nodes, common, f"list_concat({listed})")


def _contains_key(entries: Node, key: Node) -> Node:
    kind = _map_type(entries, "map_contains_key")
    ensure_key(kind.key_type)
    if key.type == VOID:
        raise mismatched("NULL_TYPE", "map_contains_key for NULL")
    keys = call("map_keys", (entries,), ArrayType(kind.key_type, contains_null=False), "map_keys({0})")
    return array_contains(keys, key)


FUNCTIONS = (
    Function(("map_keys",), "map", (1, 1), _part("map_keys", "key")),
    Function(("map_values",), "map", (1, 1), _part("map_values", "value")),
    Function(("map_entries",), "map", (1, 1), _entries),
    Function(
        ("map_from_arrays",), "keys, values", (2, 2), _from_arrays, "keys cannot be `float` or `double`"
    ),
    Function(
        ("map_from_entries",), "array of structs", (1, 1), _from_entries, "keys cannot be `float` or `double`"
    ),
    Function(("map_concat",), "map, ...", (1, None), _concatenated, "keys cannot be `float` or `double`"),
    Function(("map_contains_key",), "map, key", (2, 2), _contains_key, "keys cannot be `float` or `double`"),
)
"""The functions of this module."""
