"""Aggregate functions: names, arguments, result types, and SQL for DuckDB.

`find_aggregate` returns the record of a name, None for other names. A record is called with the name as it
was written, the bound operands and the `Rows` that the call is over. It returns a node that holds everything
(arguments, FILTER, the order within the group, the window) as operands, and that is rendered like any other
node, in a place where DuckDB allows an aggregate:

    find_aggregate("sum")("sum", (operand,), Rows(distinct=True, where=condition, window=None))

``count(*)`` is a call without operands. `is_aggregate` and `is_window` tell such nodes from others; the
columns below them are columns of the rows, not of the groups. `Window`, `Order` and `Frame` describe
``OVER (...)``. Functions that need a window are in `deltaarrow.spark_sql.functions.window`; aggregates take
a `Window` as well. What Spark refuses, or what would differ, raises `UnsupportedFeatureError` by name.

As in Spark, an integral sum is a long that raises beyond its range, a decimal sum has ten digits more, NaN is
the greatest number, and a value of an order that is NULL comes first unless the order is descending. Sums of
floating numbers depend on the order of rows, in Spark and here.
"""

from collections.abc import Callable
from dataclasses import dataclass

from deltaarrow.schema import ArrayType, IntervalType, MapType
from deltaarrow.spark_sql.functions.aggregate_statistics import (
    MOMENTS,
    PAIRS,
    approximate,
    bind_moment,
    bind_pair,
    median,
    percentile,
    percentile_within,
)
from deltaarrow.spark_sql.functions.argument_counts import Arity, ensure_count
from deltaarrow.spark_sql.functions.function import literal_text
from deltaarrow.spark_sql.functions.variant import NO_SCHEMA
from deltaarrow.spark_sql.rendering.rows import (
    Frame,
    Order,
    Rows,
    RowsCall,
    Window,
    ensure_ordered,
    is_aggregate,
    is_window,
    parts_of,
)
from deltaarrow.spark_sql.tree.forms import let
from deltaarrow.spark_sql.tree.kernel_calls import SCHEMA
from deltaarrow.spark_sql.tree.nodes import Constant, Node, call, mismatched, refused
from deltaarrow.spark_sql.types.casts import cast
from deltaarrow.spark_sql.types.coercion import as_number, exactly
from deltaarrow.spark_sql.types.decimals import limbs, quotient, whole_total
from deltaarrow.spark_sql.types.nested_order import in_order
from deltaarrow.spark_sql.types.type_rules import (
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INTEGRAL,
    LONG,
    MAX_PRECISION,
    STRING,
    VARIANT,
    VOID,
    bounded_type,
    decimal_of,
    sql_type,
    type_name,
)

__all__ = [
    "AGGREGATES",
    "Aggregate",
    "Frame",
    "Order",
    "Rows",
    "RowsCall",
    "Window",
    "find_aggregate",
    "is_aggregate",
    "is_window",
]


_OF_A_GROUP = Rows()
_COUNT = 19, 0
"""Precision and scale of a decimal that holds a count."""


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate function.

    Args:
        names: in lower case; the first is the usual one.
        arguments: as documentation writes them.
        arity: least and greatest number of arguments; None for no limit.
        bind: returns the node of a call over `Rows` with these operands.
        note: restrictions compared to Spark, if any.
    """

    names: tuple[str, ...]
    arguments: str
    arity: Arity
    bind: Callable[..., Node]
    note: str = ""

    def __call__(self, name: str, operands: tuple[Node, ...], rows: Rows = _OF_A_GROUP) -> Node:
        """Return the node of a call by that name."""
        ensure_count(name, len(operands), self.arity)
        if rows.window is not None and rows.distinct:
            kind = "DISTINCT_WINDOW_FUNCTION_UNSUPPORTED"
            raise refused(f"{name} of DISTINCT values over a window", error_class=kind)
        if rows.order and self.names[0] not in _ORDERED:
            raise refused(f"{name} WITHIN GROUP")
        if rows.ignores_nulls and self.names[0] not in _NULLS:
            raise refused(f"{name} with IGNORE NULLS")
        for each in operands:
            if rows.window is None and any(is_aggregate(inner) for inner in parts_of(each)):
                raise refused(f"{name} of another aggregate")
        return self.bind(rows, *operands)


_ORDERED = frozenset({"collect_list", "listagg", "percentile_cont", "percentile_disc", "mode"})
_NULLS = frozenset({"any_value", "first", "last"})


def _count(rows: Rows, *operands: Node) -> Node:
    if not operands:
        if rows.distinct:
            raise refused("count(DISTINCT *)")
        made = RowsCall(rows, ())
        return made.node("count", LONG, made.sql("count", "*"))
    made = RowsCall(rows, operands)
    if len(operands) == 1:
        return made.node("count", LONG, made.sql("count"))
    places = [f"{{{place}}}" for place in range(len(operands))]
    given = " AND ".join(f"{each} IS NOT NULL" for each in places)
    counted = f"({', '.join(places)})" if rows.distinct else "*"
    return made.node("count", LONG, made.sql("count", counted, given))


def _total(name: str, *, tries: bool = False) -> Callable[..., Node]:
    """``sum``; with `tries`, NULL beyond the range."""

    def bind(rows: Rows, operand: Node) -> Node:
        is_interval = isinstance(operand.type, IntervalType)
        operand = operand if is_interval else as_number(operand, name)
        digits = decimal_of(operand.type)
        if operand.type not in INTEGRAL and digits is None and not is_interval:
            made = RowsCall(rows, (cast(operand, DOUBLE),))
            return made.node(name, DOUBLE, made.sql("sum"))
        made = RowsCall(rows, (operand,))
        if digits is not None:
            result = bounded_type(digits[0] + 10, digits[1])
            return made.node(name, result, _decimal_total(made, digits, tries=tries), fails=True)
        fitted = "CAST({} AS BIGINT)"
        sql = (
            let(f"TRY({fitted.format('t')})", t=made.sql("sum")) if tries else fitted.format(made.sql("sum"))
        )
        return made.node(name, operand.type if is_interval else LONG, sql, fails=True)

    return bind


def _decimal_total(made: RowsCall, digits: tuple[int, int], *, tries: bool) -> str:
    """SQL of the sum of decimals; with `tries`, NULL beyond the range."""
    result = bounded_type(digits[0] + 10, digits[1])
    if not tries or digits[0] + 10 <= MAX_PRECISION:
        return f"CAST({made.sql('sum')} AS {sql_type(result)})"
    # DuckDB's sum raises beyond 38 digits.
    if made.rows.distinct:
        values = made.sql("list")
        high, low = (f"list_sum(list_transform({values}, lambda v: {each}))" for each in limbs("v", *digits))
    else:
        high, low = (made.sql("sum", each) for each in limbs("{0}", *digits))
    return whole_total(high, low, result)


def _mean(name: str, *, tries: bool = False) -> Callable[..., Node]:
    """``avg``; with `tries`, NULL beyond the range."""

    def bind(rows: Rows, operand: Node) -> Node:
        if isinstance(operand.type, IntervalType):
            made, kind = RowsCall(rows, (operand,)), bounded_type(MAX_PRECISION, 0)
            mean = quotient(made.sql("sum"), (30, 0), made.sql("count"), _COUNT, kind, tries=tries)
            whole = IntervalType("interval day to second")
            return made.node(name, whole, f"CAST({mean} AS BIGINT)", fails=True)
        operand = as_number(operand, name)
        digits = decimal_of(operand.type)
        if digits is None:
            made = RowsCall(rows, (cast(operand, DOUBLE),))
            return made.node(name, DOUBLE, f"{made.sql('sum')} / {made.sql('count')}")
        made = RowsCall(rows, (operand,))
        result = bounded_type(digits[0] + 4, digits[1] + 4)
        total = _decimal_total(made, digits, tries=tries)
        own = min(digits[0] + 10, MAX_PRECISION), digits[1]
        # Without values the sum is NULL. DuckDB fails on a lambda inside of an aggregate inside of a lambda,
        # so both aggregates stand outside of one.
        mean = quotient(
            total, own, f"CAST({made.sql('count')} AS DECIMAL(19,0))", _COUNT, result, tries=tries
        )
        return made.node(name, result, mean, fails=True)

    return bind


def _mean_of_pairs(place: int) -> Callable[..., Node]:
    """``regr_avgx`` and ``regr_avgy``: the mean of one of two columns, over the rows that have both."""

    def bind(rows: Rows, y: Node, x: Node) -> Node:
        nodes = (as_number(y, "regr_avg"), as_number(x, "regr_avg"))
        sql = f"CASE WHEN {{0}} IS NOT NULL AND {{1}} IS NOT NULL THEN {{{place}}} END"
        return _mean("regr_avg")(rows, call("if", nodes, nodes[place].type, sql))

    return bind


def _extreme(name: str) -> Callable[..., Node]:
    def bind(rows: Rows, operand: Node) -> Node:
        key = in_order(operand, name)
        if key is operand:
            made = RowsCall(rows, (operand,))
            return made.node(name, operand.type, made.sql(name))
        made = RowsCall(rows, (operand, key))
        return made.node(name, operand.type, made.sql(f"arg_{name}", "{0}, {1}"))

    return bind


def _edge(name: str) -> Callable[..., Node]:
    """``first`` and ``last``: of all rows, or of those with a value."""

    def bind(rows: Rows, operand: Node, ignores: Node | None = None) -> Node:
        if ignores is not None and (not isinstance(ignores, Constant) or not isinstance(ignores.value, bool)):
            raise refused(f"{name} with a second argument that is not TRUE or FALSE")
        if rows.distinct:
            raise refused(f"{name} of DISTINCT values")
        skips = rows.ignores_nulls or (ignores is not None and bool(ignores.value))
        made = RowsCall(rows, (operand,))
        if rows.window is not None:
            if rows.where is not None:
                raise refused(f"{name} with FILTER over a window")
            sql = made.sql(f"{name}_value", "{0} IGNORE NULLS" if skips else "{0}")
        else:
            sql = made.sql(name, where="{0} IS NOT NULL" if skips else "")
        return made.node(name, operand.type, sql)

    return bind


def _collect(name: str) -> Callable[..., Node]:
    def bind(rows: Rows, operand: Node) -> Node:
        if name == "collect_set":
            if isinstance(operand.type, MapType):
                raise mismatched("UNSUPPORTED_INPUT_TYPE", f"collect_set of {type_name(operand.type)}")
            ensure_ordered(operand.type, name)
            if operand.type in (FLOAT, DOUBLE):
                raise refused(f"collect_set of {type_name(operand.type)}")
            rows = Rows(True, rows.where, rows.window)
        made = RowsCall(rows, (operand,))
        data_type = ArrayType(operand.type, contains_null=False)
        listed = made.sql("list", f"{{0}}{made.order(rows.order)}", "{0} IS NOT NULL")
        return made.node(name, data_type, f"coalesce({listed}, [])")

    return bind


def _every(name: str) -> Callable[..., Node]:
    def bind(rows: Rows, operand: Node) -> Node:
        if operand.type not in (BOOLEAN, VOID):
            raise refused(f"{name} of {type_name(operand.type)}")
        made = RowsCall(rows, (cast(operand, BOOLEAN),))
        return made.node(name, BOOLEAN, made.sql(name))

    return bind


def _count_if(rows: Rows, operand: Node) -> Node:
    if operand.type not in (BOOLEAN, VOID):
        raise refused(f"count_if of {type_name(operand.type)}")
    made = RowsCall(rows, (cast(operand, BOOLEAN),))
    return made.node("count_if", LONG, made.sql("count", where="{0}"))


def _mode(rows: Rows, operand: Node) -> Node:
    if isinstance(operand.type, MapType):
        raise refused(f"mode of {type_name(operand.type)}")
    ensure_ordered(operand.type, "mode")
    if rows.order:
        raise refused("mode WITHIN GROUP")
    made = RowsCall(rows, (operand,))
    return made.node("mode", operand.type, made.sql("mode"))


def _by(name: str) -> Callable[..., Node]:
    """``max_by`` and ``min_by``: the value of the row with the greatest or least key that is not NULL."""

    def bind(rows: Rows, operand: Node, key: Node) -> Node:
        made = RowsCall(rows, (operand, in_order(key, f"{name}_by")))
        return made.node(f"{name}_by", operand.type, made.sql(f"arg_{name}_null", "{0}, {1}"))

    return bind


def _bits(name: str) -> Callable[..., Node]:
    def bind(rows: Rows, operand: Node) -> Node:
        if operand.type not in INTEGRAL:
            raise refused(f"{name} of {type_name(operand.type)}")
        made = RowsCall(rows, (operand,))
        return made.node(name, operand.type, f"CAST({made.sql(name)} AS {sql_type(operand.type)})")

    return bind


def _schema(rows: Rows, operand: Node) -> Node:
    """The type that all variants have together."""
    made = RowsCall(rows, (exactly(operand, VARIANT),))
    listed = f"coalesce({made.sql('list', where='{0} IS NOT NULL')}, [])"
    return made.node(
        "schema_of_variant_agg", STRING, f"coalesce({SCHEMA}({listed}), {NO_SCHEMA})", fails=True
    )


def _listed(rows: Rows, operand: Node, separator: Node | None = None) -> Node:
    if operand.type != STRING and operand.type not in INTEGRAL:
        raise refused(f"listagg of {type_name(operand.type)}")
    sign = Constant("", STRING)
    if separator is not None and separator.type != VOID:
        sign = Constant(literal_text(separator, "the separator of listagg"), STRING)
    value = cast(operand, STRING)
    # DuckDB has to see that an order by the value itself is one by a DISTINCT value.
    made = RowsCall(rows, (value, sign))
    keys = tuple(Order(value, each.descending, each.nulls_first) for each in rows.order)
    if rows.distinct and any(each.node not in (operand, value) for each in rows.order):
        raise refused("listagg of DISTINCT values in the order of something else")
    if not rows.distinct:
        keys = rows.order
    elif operand.type != STRING and rows.order:
        raise refused("listagg of DISTINCT numbers in an order")
    # A constant orders nothing, and DuckDB refuses one that is not a number.
    keys = tuple(each for each in keys if not isinstance(each.node, Constant))
    order = made.order(keys)
    if rows.distinct and order:
        order = " ORDER BY " + ", ".join(each.sql(0) for each in keys)
    return made.node("listagg", STRING, made.sql("string_agg", f"{{0}}, {{1}}{order}"))


AGGREGATES = (
    Aggregate(("count",), "*, or [DISTINCT] value, ...", (0, None), _count),
    Aggregate(("sum",), "[DISTINCT] number", (1, 1), _total("sum")),
    Aggregate(("avg", "mean"), "[DISTINCT] number", (1, 1), _mean("avg")),
    Aggregate(("min",), "value", (1, 1), _extreme("min")),
    Aggregate(("max",), "value", (1, 1), _extreme("max")),
    Aggregate(("first", "first_value", "any_value"), "value[, ignore_nulls]", (1, 2), _edge("first")),
    Aggregate(("last", "last_value"), "value[, ignore_nulls]", (1, 2), _edge("last")),
    Aggregate(("collect_list", "array_agg"), "[DISTINCT] value", (1, 1), _collect("collect_list")),
    Aggregate(
        ("collect_set",), "value", (1, 1), _collect("collect_set"), "not for floating-point and nested types"
    ),
    *(Aggregate(names, "number", (1, 1), bind_moment(names[0])) for names in MOMENTS),
    *(Aggregate((name,), "number, number", (2, 2), bind_pair(name)) for name in PAIRS),
    Aggregate(("regr_avgx",), "number, number", (2, 2), _mean_of_pairs(1)),
    Aggregate(("regr_avgy",), "number, number", (2, 2), _mean_of_pairs(0)),
    Aggregate(("median",), "number", (1, 1), median),
    Aggregate(
        ("percentile",),
        "number, percentage or array of percentages",
        (2, 2),
        percentile,
        "percentages must be literals",
    ),
    Aggregate(
        ("percentile_approx", "approx_percentile"),
        "value, percentage or array of percentages[, accuracy]",
        (2, 3),
        approximate,
        "percentages must be literals; the result is exact",
    ),
    Aggregate(
        ("percentile_cont",), "percentage", (1, 1), percentile_within("cont"), "percentage must be a literal"
    ),
    Aggregate(
        ("percentile_disc",), "percentage", (1, 1), percentile_within("disc"), "percentage must be a literal"
    ),
    Aggregate(("mode",), "value", (1, 1), _mode, "not for nested types"),
    Aggregate(("max_by",), "value, key", (2, 2), _by("max")),
    Aggregate(("min_by",), "value, key", (2, 2), _by("min")),
    Aggregate(("bit_and",), "integer", (1, 1), _bits("bit_and")),
    Aggregate(("bit_or",), "integer", (1, 1), _bits("bit_or")),
    Aggregate(("bit_xor",), "integer", (1, 1), _bits("bit_xor")),
    Aggregate(
        ("listagg", "string_agg"),
        "[DISTINCT] string[, separator]",
        (1, 2),
        _listed,
        "separator must be a literal",
    ),
    Aggregate(("try_sum",), "[DISTINCT] number", (1, 1), _total("try_sum", tries=True)),
    Aggregate(("try_avg",), "[DISTINCT] number", (1, 1), _mean("try_avg", tries=True)),
    Aggregate(("bool_and", "every"), "condition", (1, 1), _every("bool_and")),
    Aggregate(("bool_or", "some", "any"), "condition", (1, 1), _every("bool_or")),
    Aggregate(("schema_of_variant_agg",), "variant", (1, 1), _schema),
    Aggregate(("count_if",), "condition", (1, 1), _count_if),
)
"""All aggregate functions."""

_BY_NAME = {name: each for each in AGGREGATES for name in each.names}


def find_aggregate(name: str) -> Aggregate | None:
    """The aggregate function of that name, in any case; None if there is none."""
    return _BY_NAME.get(name.lower())
