"""Array functions. Elements are equal as in comparisons: NaN equals NaN, and 0.0 equals -0.0."""

from collections.abc import Callable

from deltaarrow.schema import ArrayType, DataType, Field, MapType, PrimitiveType, StructType
from deltaarrow.spark_sql.functions.conditional import array_contains, element, size_of
from deltaarrow.spark_sql.functions.function import Function, as_integer, same_type
from deltaarrow.spark_sql.functions.interval_literals import Interval
from deltaarrow.spark_sql.tree.forms import given, let, limited
from deltaarrow.spark_sql.tree.nodes import UNSTORED, ColumnRef, Constant, Node, call, escaped, refused
from deltaarrow.spark_sql.tree.row_errors import raising
from deltaarrow.spark_sql.types.casts import cast
from deltaarrow.spark_sql.types.coercion import exactly, tightest_type
from deltaarrow.spark_sql.types.nested import with_elements
from deltaarrow.spark_sql.types.nested_order import ordered_elements
from deltaarrow.spark_sql.types.time_zones import TimeZone, zone_of
from deltaarrow.spark_sql.types.type_rules import (
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    INTEGRAL,
    LONG,
    STRING,
    TIMESTAMPS,
    VARIANT,
    VOID,
    is_numeric,
    mixes_text,
    sql_type,
    type_name,
    wider_type,
)

__all__ = ["FUNCTIONS", "array_sort"]

_MOST_ELEMENTS = 10_000_000
_MOST_NULLS = 10_000
_MOST_COPIES = 100
_NO_FIRST = raising("INVALID_INDEX_OF_ZERO", "an index is 0, but the first element has index 1")
_NO_SUCH = raising(
    "INVALID_ARRAY_INDEX_IN_ELEMENT_AT", "an array of ' || len({0}) || ' has no element ' || {1} || '"
)
_NO_START = raising("INVALID_PARAMETER_VALUE.START", "slice begins at 0, but the first element has index 1")
_NEGATIVE = raising("INVALID_PARAMETER_VALUE.LENGTH", "slice of a negative length")


def _element_type(array: Node, name: str) -> DataType:
    if not isinstance(array.type, ArrayType):
        raise refused(f"{name} of {type_name(array.type)}")
    return array.type.element_type


def _with_value(array: Node, value: Node, name: str) -> tuple[Node, Node]:
    """An array and a value for it, both of their common type."""
    item = _element_type(array, name)
    common = tightest_type(item, value.type)
    if common is None:
        raise refused(f"{name} of {type_name(item)} and {type_name(value.type)} without a cast")
    return cast(array, ArrayType(common)), cast(value, common)


def _two(one: Node, other: Node, name: str) -> tuple[tuple[Node, ...], ArrayType]:
    if mixes_text(_element_type(one, name), _element_type(other, name)):
        raise refused(f"{name} of arrays of text and of other values")
    nodes, common = same_type((one, other))
    assert isinstance(common, ArrayType)
    nodes = tuple(map(_as_set, nodes))
    return nodes, ArrayType(common.element_type)


def _ensure_sortable(data_type: DataType, name: str) -> None:
    if not isinstance(data_type, PrimitiveType) or data_type in (VARIANT, VOID):
        raise refused(f"{name} of {type_name(data_type)}")


def _element_at(container: Node, place: Node) -> Node:
    if not isinstance(container.type, ArrayType):
        return _value_at(container, place)
    beyond = f"WHEN abs({{1}}::BIGINT) > len({{0}}) THEN {_NO_SUCH}"
    sql = f"CASE WHEN {{1}} = 0 THEN {_NO_FIRST} {beyond} ELSE {{0}}[{{1}}] END"
    nodes = (container, _place(place))
    return call("element_at", nodes, container.type.element_type, given(sql, 2), fails=True)


def _try_element_at(container: Node, place: Node) -> Node:
    if not isinstance(container.type, ArrayType):
        return _value_at(container, place)
    nodes = (container, _place(place))
    sql = f"CASE WHEN {{1}} = 0 THEN {_NO_FIRST} ELSE {{0}}[{{1}}] END"
    return call("try_element_at", nodes, container.type.element_type, given(sql, 2), fails=True)


def _value_at(container: Node, key: Node) -> Node:
    """The value of a map for a key; both kinds of keys are cast to the wider one, unlike in ``map[key]``."""
    if isinstance(container.type, MapType) and is_numeric(key.type) and is_numeric(container.type.key_type):
        kind = wider_type(container.type.key_type, key.type)
        container = cast(container, MapType(kind, container.type.value_type))
    return element(container, key)


def _place(node: Node) -> Node:
    """A place that counts from 1, for which Spark takes integers alone."""
    if node.type not in INTEGRAL[:3]:
        raise refused(f"a place of type {type_name(node.type)} in an array")
    return as_integer(node)


def _get(array: Node, place: Node) -> Node:
    item = _element_type(array, "get")
    sql = "CASE WHEN {1} >= 0 THEN {0}[{1}::BIGINT + 1] END"
    return call("get", (array, as_integer(place)), item, sql)


def _position(array: Node, value: Node) -> Node:
    nodes = _with_value(array, value, "array_position")
    return call(
        "array_position", nodes, LONG, given("CAST(coalesce(list_position({0}, {1}), 0) AS BIGINT)", 2)
    )


_FIRST_OF_EACH = "list_filter(xs, lambda x, i: i = list_position(xs, x))"


def _as_set(array: Node) -> Node:
    """An array without negative zeros, which Spark's sets do not have."""
    if not isinstance(array.type, ArrayType) or array.type.element_type not in (FLOAT, DOUBLE):
        return array
    kind = sql_type(array.type.element_type)
    sql = f"list_transform({{0}}, lambda x: CASE WHEN x = 0 THEN CAST(0 AS {kind}) ELSE x END)"
    return call("as set", (array,), array.type, sql)


def _distinct(array: Node) -> Node:
    item = _element_type(array, "array_distinct")
    return call("array_distinct", (_as_set(array),), ArrayType(item), let(_FIRST_OF_EACH, xs="{0}"))


def _union(one: Node, other: Node) -> Node:
    nodes, common = _two(one, other, "array_union")
    return call("array_union", nodes, common, given(let(_FIRST_OF_EACH, xs="list_concat({0}, {1})"), 2))


def _intersect(one: Node, other: Node) -> Node:
    nodes, common = _two(one, other, "array_intersect")
    sql = "list_filter(xs, lambda x, i: i = list_position(xs, x) AND list_position(ys, x) IS NOT NULL)"
    return call("array_intersect", nodes, common, given(let(sql, xs="{0}", ys="{1}"), 2))


def _except(one: Node, other: Node) -> Node:
    nodes, common = _two(one, other, "array_except")
    sql = "list_filter(xs, lambda x, i: i = list_position(xs, x) AND list_position(ys, x) IS NULL)"
    return call("array_except", nodes, common, given(let(sql, xs="{0}", ys="{1}"), 2))


def _overlap(one: Node, other: Node) -> Node:
    nodes, _ = _two(one, other, "arrays_overlap")
    shared = "len(list_filter(xs, lambda x: x IS NOT NULL AND list_position(ys, x) IS NOT NULL)) > 0"
    unknown = "len(xs) > 0 AND len(ys) > 0 AND (list_count(xs) < len(xs) OR list_count(ys) < len(ys))"
    sql = f"CASE WHEN {shared} THEN TRUE WHEN {unknown} THEN NULL ELSE FALSE END"
    return call("arrays_overlap", nodes, BOOLEAN, given(let(sql, xs="{0}", ys="{1}"), 2))


def _sorted(array: Node, order: str, nulls: str, name: str) -> Node:
    item = _element_type(array, name)
    if isinstance(item, PrimitiveType) and item not in (FLOAT, DOUBLE):
        _ensure_sortable(item, name)
        return call(name, (array,), array.type, given(f"list_sort({{0}}, '{order}', 'NULLS {nulls}')"))
    # Sorting itself loses the sign of zeros, and nested values go by others. The first of equals stays first.
    place = "i" if order == "ASC" else "-i"
    known = "list_filter(range(1, len(xs) + 1), lambda i: xs[i] IS NOT NULL)"
    keys = f"list_sort(list_transform({known}, lambda i: struct_pack(x := ks[i], i := {place})), '{order}')"
    parts = [f"list_transform({keys}, lambda k: xs[abs(k.i)])", "list_filter(xs, lambda x: x IS NULL)"]
    sql = let(f"list_concat({', '.join(parts[:: 1 if nulls == 'LAST' else -1])})", xs="{0}", ks="{1}")
    return call(name, (array, ordered_elements(array, name)), array.type, given(sql))


def _sort_array(array: Node, ascending: Node | None = None) -> Node:
    if ascending is None:
        return _sorted(array, "ASC", "FIRST", "sort_array")
    if not isinstance(ascending, Constant) or not isinstance(ascending.value, bool):
        raise refused("sort_array in an order that is not TRUE or FALSE")
    return _sorted(array, *(("ASC", "FIRST") if ascending.value else ("DESC", "LAST")), "sort_array")


def array_sort(array: Node) -> Node:
    """An array in ascending order, NULLs last."""
    return _sorted(array, "ASC", "LAST", "array_sort")


def _joined(array: Node, separator: Node, missing: Node | None = None) -> Node:
    item = _element_type(array, "array_join")
    texts = array if item == STRING else with_elements(array, ArrayType(STRING), cast)
    nodes: tuple[Node, ...] = (texts, exactly(separator, STRING))
    listed = "{0}"
    if missing is not None:
        nodes = (*nodes, exactly(missing, STRING))
        listed = "list_transform({0}, lambda x: coalesce(x, {2}))"
    if isinstance(separator, Constant):
        text = f"coalesce(array_to_string({listed}, {{1}}), '')"
    else:
        parts = f"list_filter({listed}, lambda x: x IS NOT NULL)"
        text = let(
            "CASE WHEN len(xs) = 0 THEN '' ELSE list_reduce(xs, lambda p, x: p || {1} || x) END", xs=parts
        )
    sql = given(text, len(nodes))
    return call(f"{UNSTORED}array_join", nodes, STRING, sql)


def _extreme(name: str) -> Callable[[Node], Node]:
    def bind(array: Node) -> Node:
        item = _element_type(array, f"array_{name}")
        if not isinstance(item, PrimitiveType):
            ordered = _sorted(array, "ASC" if name == "min" else "DESC", "LAST", f"array_{name}")
            return call(f"array_{name}", (ordered,), item, "{0}[1]")
        _ensure_sortable(item, f"array_{name}")
        if item in (FLOAT, DOUBLE):
            # Of two zeros, Spark takes the first.
            sign = "<" if name == "min" else ">"
            step = f"CASE WHEN x {sign} m THEN x ELSE m END"
            given_ones = "list_filter({0}, lambda x: x IS NOT NULL)"
            reduced = (
                f"CASE WHEN list_count({{0}}) > 0 THEN list_reduce({given_ones}, lambda m, x: {step}) END"
            )
            return call(f"array_{name}", (array,), item, reduced)
        return call(f"array_{name}", (array,), item, f"list_{name}({{0}})")

    return bind


def _copies(value: Node, count: Node) -> Node:
    many = not isinstance(count, Constant) or not isinstance(count.value, int) or count.value > _MOST_COPIES
    sql = let("list_transform(range(greatest({1}, 0)), lambda i: v)", v="{0}")
    sql = limited(sql, f"{{1}} > {_MOST_ELEMENTS}", "so long an array")
    name = f"{UNSTORED}array_repeat" if many else "array_repeat"
    made = f"CASE WHEN {{1}} IS NULL THEN NULL ELSE {sql} END"
    return call(name, (value, exactly(count, INTEGER)), ArrayType(value.type), made, fails=many)


def _removed(array: Node, value: Node) -> Node:
    nodes = _with_value(array, value, "array_remove")
    sql = let("list_filter({0}, lambda x: x IS NULL OR x <> v)", v="{1}")
    return call("array_remove", nodes, nodes[0].type, given(sql, 2))


def _appended(array: Node, value: Node) -> Node:
    nodes = _with_value(array, value, "array_append")
    return call("array_append", nodes, nodes[0].type, given("list_append({0}, {1})"))


def _prepended(array: Node, value: Node) -> Node:
    nodes = _with_value(array, value, "array_prepend")
    return call("array_prepend", nodes, nodes[0].type, given("list_prepend({1}, {0})"))


def _inserted(array: Node, place: Node, value: Node) -> Node:
    nodes = (*_with_value(array, value, "array_insert"), _place(place))
    item = nodes[1].type
    nothing = f"list_transform(range(n), lambda i: CAST(NULL AS {escaped(sql_type(item))}))"
    behind = let(f"list_concat(xs, {nothing}, [v])", n="p - len(xs) - 1")
    before = let(f"list_concat([v], {nothing}, xs)", n="1 - p")
    within = "list_concat(xs[1:p - 1], [v], xs[p:])"
    made = f"CASE WHEN p > len(xs) THEN {behind} WHEN p < 1 THEN {before} ELSE {within} END"
    counted = "CASE WHEN {2} > 0 THEN {2} ELSE len({0}) + {2} + 2 END"
    beyond = f"p - len({{0}}) > {_MOST_NULLS} OR p < -{_MOST_NULLS}"
    sql = let(limited(made, beyond, "array_insert so far away"), xs="{0}", v="{1}", p=counted)
    checked = (
        f"CASE WHEN {{0}} IS NULL OR {{2}} IS NULL THEN NULL WHEN {{2}} = 0 THEN {_NO_FIRST} ELSE {sql} END"
    )
    return call("array_insert", nodes, nodes[0].type, checked, fails=True)


def _compacted(array: Node) -> Node:
    item = _element_type(array, "array_compact")
    return call("array_compact", (array,), ArrayType(item), "list_filter({0}, lambda x: x IS NOT NULL)")


def _size(array: Node) -> Node:
    _element_type(array, "array_size")
    return call("array_size", (array,), INTEGER, "CAST(len({0}) AS INTEGER)")


def _flattened(array: Node) -> Node:
    inner = _element_type(array, "flatten")
    if not isinstance(inner, ArrayType):
        raise refused(f"flatten of {type_name(array.type)}")
    sql = "CASE WHEN list_count({0}) = len({0}) THEN flatten({0}) END"
    return call("flatten", (array,), inner, sql)


def _slice(array: Node, start: Node, length: Node) -> Node:
    nodes = (array, as_integer(start), as_integer(length))
    _element_type(array, "slice")
    begin = "CASE WHEN {1} > 0 THEN CAST({1} AS BIGINT) ELSE len({0}) + {1} + 1 END"
    part = let("CASE WHEN b < 1 OR b > len({0}) THEN {0}[1:0] ELSE {0}[b:b + {2} - 1] END", b=begin)
    sql = f"CASE WHEN {{1}} = 0 THEN {_NO_START} WHEN {{2}} < 0 THEN {_NEGATIVE} ELSE {part} END"
    return call("slice", nodes, array.type, given(sql, 3), fails=True)


def _sequence(start: Node, stop: Node, step: Node | Interval | None = None) -> Node:
    by_numbers = (step,) if isinstance(step, Node) and step.type in (*INTEGRAL, VOID) else ()
    (first, last, *_), common = same_type((start, stop, *by_numbers), "SEQUENCE_WRONG_INPUT_TYPES")
    if common in INTEGRAL:
        return _numbers(first, last, common, step)
    if common not in (DATE, *TIMESTAMPS) or mixes_text(start.type, stop.type):
        raise refused(f"sequence of {type_name(common)}")
    wanted = Interval(0, 86_400_000_000, is_days=True) if step is None else step
    if not isinstance(wanted, Interval):
        raise refused("sequence of times by a step that is not an INTERVAL literal")
    return _times(first, last, common, wanted)


def _numbers(first: Node, last: Node, common: DataType, step: Node | Interval | None) -> Node:
    if isinstance(step, Interval) or (step is not None and step.type not in (*INTEGRAL, VOID)):
        raise refused("sequence of numbers by a step that is not integral")
    by = call("step", (first, last), LONG, "CASE WHEN {0} > {1} THEN -1 ELSE 1 END")
    nodes = (first, last, by if step is None else cast(step, LONG))
    wrong = "({0} < {1} AND {2} <= 0) OR ({0} > {1} AND {2} >= 0)"
    many = f"(CAST({{1}} AS HUGEINT) - {{0}}) // {{2}} > {_MOST_ELEMENTS}"
    series = "generate_series(CAST({0} AS BIGINT), CAST({1} AS BIGINT), {2})"
    sql = (
        f"CASE WHEN {{0}} = {{1}} THEN [CAST({{0}} AS BIGINT)] WHEN {wrong} THEN error('the step of sequence"
        f" leads away from its end') ELSE {limited(series, many, 'so long an array')} END"
    )
    made = f"CAST({given(sql, 3)} AS {sql_type(common)}[])"
    return call(f"{UNSTORED}sequence", nodes, ArrayType(common, contains_null=False), made, fails=True)


def _times(first: Node, last: Node, common: DataType, step: Interval) -> Node:
    zone = zone_of(common)
    if step.months:
        places = "CAST((year({1}) - year({0})) * 12 + month({1}) - month({0}) AS BIGINT)"
        size = step.months
        value = zone.months_later("{0}", f"CAST(k * {size} AS INTEGER)")
    else:
        places, size = "epoch_us({1}) - epoch_us({0})", step.microseconds
        value = _some_later(zone, size)
    if common == DATE and not step.months and size % 86_400_000_000:
        raise refused("sequence of dates by a part of a day")
    if size == 0:
        raise refused("sequence by an INTERVAL of nothing")
    kind = sql_type(common)
    sign = "<=" if size > 0 else ">="
    wrong = f"NOT {{0}} {sign} {{1}}"
    most = f"({places}) // {size}" + ("" if zone.is_utc else " + 1")  # Some days are shorter.
    series = f"list_transform(generate_series(0, {most}), lambda k: CAST({value} AS {kind}))"
    kept = f"list_filter({series}, lambda t: t {sign} {{1}})"
    many = f"({places}) // {size} > {_MOST_ELEMENTS}"
    sql = (
        f"CASE WHEN {wrong} THEN error('the step of sequence leads away from its end')"
        f" ELSE {limited(kept, many, 'so long an array')} END"
    )
    data_type = ArrayType(common, contains_null=False)
    return call(f"{UNSTORED}sequence", (first, last), data_type, given(sql, 2), fails=True)


def _some_later(zone: TimeZone, size: int) -> str:
    """SQL of the time ``{0}``, ``k`` steps later: the days of each step go by the local time."""
    if zone.region is None:
        return f"make_timestamp(epoch_us({{0}}) + k * {size})"
    days = int(size / 86_400_000_000)
    later = zone.days_later("{0}", f"k * {days}")
    return f"make_timestamp(epoch_us({later}) + k * {size - days * 86_400_000_000})"


def _zipped(*arrays: Node) -> Node:
    items = [_element_type(each, "arrays_zip") for each in arrays]
    names = [each.path[-1] if isinstance(each, ColumnRef) else str(k) for k, each in enumerate(arrays)]
    if len(set(map(str.lower, names))) < len(names):
        raise refused("arrays_zip with two fields of one name")
    fields = StructType([Field(name, item) for name, item in zip(names, items, strict=True)])
    data_type = ArrayType(fields)
    members = ", ".join(f"{{{k}}}[i]" for k in range(len(arrays)))
    most = ", ".join(f"len({{{k}}})" for k in range(len(arrays)))
    kind = escaped(sql_type(fields))
    sql = f"list_transform(range(1, greatest({most}) + 1), lambda i: CAST(row({members}) AS {kind}))"
    return call("arrays_zip", arrays, data_type, given(sql, len(arrays)))


FUNCTIONS = (
    Function(("size", "cardinality"), "array or map", (1, 1), size_of),
    Function(
        ("array_contains",),
        "array, value",
        (2, 2),
        array_contains,
        "types may differ only between numeric types other than `float`",
    ),
    Function(("element_at",), "array or map, index or key", (2, 2), _element_at),
    Function(("try_element_at",), "array or map, index or key", (2, 2), _try_element_at),
    Function(("get",), "array, index", (2, 2), _get),
    Function(("array_position",), "array, value", (2, 2), _position),
    Function(("array_distinct",), "array", (1, 1), _distinct),
    Function(("array_union",), "array, array", (2, 2), _union),
    Function(("array_intersect",), "array, array", (2, 2), _intersect),
    Function(("array_except",), "array, array", (2, 2), _except),
    Function(("arrays_overlap",), "array, array", (2, 2), _overlap),
    Function(("sort_array",), "array[, ascending]", (1, 2), _sort_array),
    Function(("array_join",), "array, separator[, null_replacement]", (2, 3), _joined),
    Function(("array_min",), "array", (1, 1), _extreme("min")),
    Function(("array_max",), "array", (1, 1), _extreme("max")),
    Function(("array_repeat",), "value, count", (2, 2), _copies),
    Function(("array_remove",), "array, value", (2, 2), _removed),
    Function(("array_append",), "array, value", (2, 2), _appended),
    Function(("array_prepend",), "array, value", (2, 2), _prepended),
    Function(("array_insert",), "array, position, value", (3, 3), _inserted),
    Function(("array_compact",), "array", (1, 1), _compacted),
    Function(("array_size",), "array", (1, 1), _size),
    Function(("flatten",), "array of arrays", (1, 1), _flattened),
    Function(("slice",), "array, start, length", (3, 3), _slice),
    Function(("sequence",), "start, stop[, step]", (2, 3), _sequence, "not in stored expressions", True),
    Function(("arrays_zip",), "array, ...", (1, None), _zipped),
)
"""The functions of this module."""
