"""Higher-order functions: ``transform(array, x -> x + 1)``.

Tables cannot store expressions with them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from deltaarrow.schema import ArrayType, DataType, MapType
from deltaarrow.spark_sql.functions.array import array_sort
from deltaarrow.spark_sql.functions.constructors import is_assignable
from deltaarrow.spark_sql.functions.function import Function
from deltaarrow.spark_sql.functions.map import ensure_key
from deltaarrow.spark_sql.tree.forms import given, let
from deltaarrow.spark_sql.tree.nodes import UNSTORED, Node, call, escaped, refused
from deltaarrow.spark_sql.types.casts import cast
from deltaarrow.spark_sql.types.coercion import tightest_type
from deltaarrow.spark_sql.types.type_rules import BOOLEAN, INTEGER, INTEGRAL, VOID, sql_type, type_name

__all__ = ["FUNCTIONS", "Lambda"]


@dataclass(frozen=True)
class Lambda:
    """A function as it is written: its parameters, and how its body is bound to values for them.

    `prefix` begins the names of variables; no function around or within this one has the same.
    """

    names: tuple[str, ...]
    prefix: str
    bind: Callable[[Sequence[Node]], Node]
    type: DataType = VOID

    def variable(self, place: int = 0) -> str:
        """The name of a parameter in DuckDB's SQL."""
        return f"{self.prefix}_{place}"

    def of(self, *types: DataType | tuple[DataType, str]) -> Node:
        """The body for parameters of these types; a pair has the SQL of the value too."""
        if len(types) != len(self.names):
            raise refused(f"a function of {len(self.names)} parameters in this place")
        values = []
        for place, each in enumerate(types):
            data_type, sql = each if isinstance(each, tuple) else (each, self.variable(place))
            values.append(call("variable", (), data_type, sql))
        return self.bind(values)


def _array_of(node: Node, name: str) -> DataType:
    if not isinstance(node.type, ArrayType):
        raise refused(f"{name} of {type_name(node.type)}")
    return node.type.element_type


def _map_of(node: Node, name: str) -> MapType:
    if not isinstance(node.type, MapType):
        raise refused(f"{name} of {type_name(node.type)}")
    return node.type


def _function(given_function: object, name: str) -> Lambda:
    if not isinstance(given_function, Lambda):
        raise refused(f"{name} without a function such as x -> x")
    return given_function


def _over_elements(array: Node, function: object, name: str) -> tuple[Node, str]:
    """The body over the elements, and over their places too if it has two parameters; the lambda's head."""
    item, body = _array_of(array, name), _function(function, name)
    if len(body.names) == 1:
        return body.of(item), f"lambda {body.variable()}"
    place = f"CAST({body.variable(1)} - 1 AS INTEGER)"
    return body.of(item, (INTEGER, place)), f"lambda {body.variable()}, {body.variable(1)}"


def _condition(node: Node, name: str) -> Node:
    if node.type not in (BOOLEAN, VOID):
        raise refused(f"{name} by a function to {type_name(node.type)}")
    return cast(node, BOOLEAN)


def _transform(array: Node, function: object) -> Node:
    body, head = _over_elements(array, function, "transform")
    sql = f"list_transform({{0}}, {head}: {{1}})"
    return call(f"{UNSTORED}transform", (array, body), ArrayType(body.type), sql)


def _filter(array: Node, function: object) -> Node:
    body, head = _over_elements(array, function, "filter")
    nodes = (array, _condition(body, "filter"))
    return call(f"{UNSTORED}filter", nodes, array.type, f"list_filter({{0}}, {head}: {{1}})")


def _quantified(name: str, decides: str) -> Callable[[Node, object], Node]:
    other = "FALSE" if decides == "TRUE" else "TRUE"

    def bind(array: Node, function: object) -> Node:
        item, body = _array_of(array, name), _function(function, name)
        nodes = (array, _condition(body.of(item), name))
        sql = (
            f"CASE WHEN list_contains(bs, {decides}) THEN {decides} WHEN list_count(bs) < len(bs) THEN NULL"
            f" ELSE {other} END"
        )
        found = f"list_transform({{0}}, lambda {body.variable()}: {{1}})"
        return call(UNSTORED + name, nodes, BOOLEAN, given(let(sql, bs=found)))

    return bind


def _aggregate(array: Node, start: Node, function: object, finish: object = None) -> Node:
    item, body = _array_of(array, "aggregate"), _function(function, "aggregate")
    merged = body.of(start.type, item)
    if not is_assignable(merged.type, start.type):
        raise refused(f"aggregate from {type_name(start.type)} by a function to {type_name(merged.type)}")
    kind = escaped(sql_type(start.type))
    head = f"lambda {body.variable()}, {body.variable(1)}"
    sql = f"list_reduce({{0}}, {head}: CAST({{1}} AS {kind}), CAST({{2}} AS {kind}))"
    nodes = (array, cast(merged, start.type), start)
    found = call(f"{UNSTORED}aggregate", nodes, start.type, given(sql))
    if finish is None:
        return found
    last = _function(finish, "aggregate")
    result = last.of(start.type)
    made = f"list_transform([{{0}}], lambda {last.variable()}: {{1}})[1]"
    # Spark does not finish a NULL array.
    return call(
        f"{UNSTORED}aggregate",
        (found, result, array),
        result.type,
        f"CASE WHEN {{2}} IS NOT NULL THEN {made} END",
    )


def _zip_with(one: Node, other: Node, function: object) -> Node:
    items = _array_of(one, "zip_with"), _array_of(other, "zip_with")
    body = _function(function, "zip_with")
    x, y, place = f"{body.prefix}_x", f"{body.prefix}_y", f"{body.prefix}_i"
    value = body.of((items[0], f"{x}[{place}]"), (items[1], f"{y}[{place}]"))
    sql = f"list_transform(range(1, greatest(len({x}), len({y})) + 1), lambda {place}: {{2}})"
    made = let(sql, **{x: "{0}", y: "{1}"})
    return call(f"{UNSTORED}zip_with", (one, other, value), ArrayType(value.type), given(made, 2))


def _sorted(array: Node, function: object = None) -> Node:
    """``array_sort``: by a function that compares two elements, or in ascending order."""
    if function is None:
        return array_sort(array)
    item, compared = _array_of(array, "array_sort"), _function(function, "array_sort")
    other, one, before = (f"{compared.prefix}_{name}" for name in "yxs")
    found = compared.of((item, f"{one}[1]"), (item, other))
    if found.type not in INTEGRAL[:3]:
        raise refused(f"array_sort by a function to {type_name(found.type)}")
    # Each element goes behind those that are not greater, so equal ones keep their order.
    is_behind = f"CASE WHEN {{1}} IS NULL THEN {_NOT_COMPARED} ELSE {{1}} >= 0 END"
    counted = f"len(list_filter({before}, lambda {other}: {is_behind}))"
    placed = let(f"list_concat({before}[1:p], {one}, {before}[p + 1:])", p=counted)
    kind = escaped(sql_type(array.type))
    singles = "list_transform({0}, lambda x: [x])"
    sql = f"list_reduce({singles}, lambda {before}, {one}: {placed}, CAST([] AS {kind}))"
    return call(f"{UNSTORED}array_sort", (array, found), array.type, given(sql), fails=True)


def _map_zip_with(one: Node, other: Node, function: object) -> Node:
    left, right = _map_of(one, "map_zip_with"), _map_of(other, "map_zip_with")
    body = _function(function, "map_zip_with")
    common = tightest_type(left.key_type, right.key_type)
    if common is None or {common, left.key_type, right.key_type} != {common}:
        raise refused(f"map_zip_with of keys of {type_name(left.key_type)} and {type_name(right.key_type)}")
    ensure_key(common)
    x, y, key = (f"{body.prefix}_{name}" for name in "xyk")
    value = body.of(
        (common, key),
        (left.value_type, f"map_extract_value({x}, {key})"),
        (right.value_type, f"map_extract_value({y}, {key})"),
    )
    others = f"list_filter(map_keys({y}), lambda k: list_position(map_keys({x}), k) IS NULL)"
    kind = MapType(common, value.type)
    keys = f"list_concat(map_keys({x}), {others})"
    made = f"list_transform({keys}, lambda {key}: struct_pack(key := {key}, value := {{2}}))"
    sql = let(f"CAST(map_from_entries({made}) AS {escaped(sql_type(kind))})", **{x: "{0}", y: "{1}"})
    return call(f"{UNSTORED}map_zip_with", (one, other, value), kind, given(sql, 2))


def _over_entries(entries: Node, function: object, name: str) -> tuple[MapType, Node, str]:
    kind, body = _map_of(entries, name), _function(function, name)
    entry = body.variable()
    return kind, body.of((kind.key_type, f"{entry}.key"), (kind.value_type, f"{entry}.value")), entry


def _map_filter(entries: Node, function: object) -> Node:
    kind, body, entry = _over_entries(entries, function, "map_filter")
    ensure_key(kind.key_type)
    listed = f"list_filter(map_entries({{0}}), lambda {entry}: {{1}})"
    sql = f"CAST(map_from_entries({listed}) AS {escaped(sql_type(kind))})"
    return call(f"{UNSTORED}map_filter", (entries, _condition(body, "map_filter")), kind, given(sql))


def _transform_values(entries: Node, function: object) -> Node:
    kind, body, entry = _over_entries(entries, function, "transform_values")
    made = f"struct_pack(key := {entry}.key, value := {{1}})"
    return _made(f"{UNSTORED}transform_values", entries, body, MapType(kind.key_type, body.type), entry, made)


def _transform_keys(entries: Node, function: object) -> Node:
    kind, body, entry = _over_entries(entries, function, "transform_keys")
    made = f"struct_pack(key := {{1}}, value := {entry}.value)"
    return _made(f"{UNSTORED}transform_keys", entries, body, MapType(body.type, kind.value_type), entry, made)


def _made(name: str, entries: Node, body: Node, kind: MapType, entry: str, made: str) -> Node:
    ensure_key(kind.key_type)
    listed = f"list_transform(map_entries({{0}}), lambda {entry}: {made})"
    sql = f"CAST(map_from_entries({listed}) AS {escaped(sql_type(kind))})"
    return call(name, (entries, body), kind, given(sql), fails=True)


_NOT_COMPARED = "error('[COMPARATOR_RETURNS_NULL] the function of array_sort gives NULL')"
_NOTE = "not in stored expressions"
FUNCTIONS = (
    Function(("transform",), "array, (value[, index]) -> value", (2, 2), _transform, _NOTE, takes_more=True),
    Function(("filter",), "array, (value[, index]) -> condition", (2, 2), _filter, _NOTE, takes_more=True),
    Function(
        ("exists",),
        "array, value -> condition",
        (2, 2),
        _quantified("exists", "TRUE"),
        _NOTE,
        takes_more=True,
    ),
    Function(
        ("forall",),
        "array, value -> condition",
        (2, 2),
        _quantified("forall", "FALSE"),
        _NOTE,
        takes_more=True,
    ),
    Function(
        ("aggregate", "reduce"), "array, start, merge[, finish]", (3, 4), _aggregate, _NOTE, takes_more=True
    ),
    Function(
        ("zip_with",), "array, array, (value, value) -> value", (3, 3), _zip_with, _NOTE, takes_more=True
    ),
    Function(("map_filter",), "map, (key, value) -> condition", (2, 2), _map_filter, _NOTE, takes_more=True),
    Function(
        ("transform_values",), "map, (key, value) -> value", (2, 2), _transform_values, _NOTE, takes_more=True
    ),
    Function(
        ("array_sort",),
        "array[, (value, value) -> integer]",
        (1, 2),
        _sorted,
        "without a function, elements cannot be nested",
        takes_more=True,
    ),
    Function(
        ("map_zip_with",),
        "map, map, (key, value, value) -> value",
        (3, 3),
        _map_zip_with,
        _NOTE,
        takes_more=True,
    ),
    Function(
        ("transform_keys",), "map, (key, value) -> key", (2, 2), _transform_keys, _NOTE, takes_more=True
    ),
)
"""The functions of this module."""
