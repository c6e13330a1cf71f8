"""Aggregate functions: their names, their notation, the types of their results and their SQL for DuckDB.

`find_aggregate` returns the record of a name, None for other names. A record is called with the name as it
was written, the bound operands and the `Rows` that the call is over. It returns a node that holds everything
(arguments, FILTER, the order within the group, the window) as operands, and that is rendered like any other
node, in a place where DuckDB allows an aggregate:

    find_aggregate("sum")("sum", (operand,), Rows(distinct=True, where=condition, window=None))

``count(*)`` is a call without operands. `is_aggregate` and `is_window` tell such nodes from others; the
columns below them are columns of the rows, not of the groups. `Window`, `Order` and `Frame` describe
``OVER (...)``. Functions that need a window are in `deltaarrow.spark_sql.windows`; aggregates take a `Window`
as well. What Spark refuses, or what would differ, raises `UnsupportedFeatureError` by name.

As in Spark, an integral sum is a long that raises beyond its range, a decimal sum has ten digits more, NaN is
the greatest number, and a value of an order that is NULL comes first unless the order is descending. Sums of
floating numbers depend on the order of rows, in Spark and here.
"""

from collections.abc import Callable
from dataclasses import dataclass

from deltaarrow.schema import ArrayType, DataType, PrimitiveType
from deltaarrow.spark_sql.casts import cast
from deltaarrow.spark_sql.nodes import Call, Constant, Node, call, refused
from deltaarrow.spark_sql.operators import half_up, unscaled
from deltaarrow.spark_sql.types import (
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INTEGRAL,
    LONG,
    STRING,
    VARIANT,
    VOID,
    decimal_of,
    decimal_type,
    is_numeric,
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

_AGGREGATE, _WINDOW = "aggregate ", "window "


@dataclass(frozen=True, slots=True)
class Order:
    """One key of an ``ORDER BY``; `nulls_first` None means Spark's place: first, or last if descending."""

    node: Node
    descending: bool = False
    nulls_first: bool | None = None

    def sql(self, place: int) -> str:
        """The key in DuckDB's SQL; `place` is that of its node among the operands."""
        first = not self.descending if self.nulls_first is None else self.nulls_first
        direction = "DESC" if self.descending else "ASC"
        return f"{{{place}}} {direction} NULLS {'FIRST' if first else 'LAST'}"


@dataclass(frozen=True, slots=True)
class Frame:
    """The rows of a window around the current one, from `start` to `end`.

    Args:
        unit: ``ROWS`` or ``RANGE``.
        start: rows or units after the current row, negative before it, None for unbounded.
        end: as `start`.
    """

    unit: str
    start: int | None
    end: int | None

    @property
    def sql(self) -> str:
        """The frame in DuckDB's SQL."""
        start = "UNBOUNDED PRECEDING" if self.start is None else _bound(self.start)
        end = "UNBOUNDED FOLLOWING" if self.end is None else _bound(self.end)
        return f"{self.unit} BETWEEN {start} AND {end}"


@dataclass(frozen=True, slots=True)
class Window:
    """``OVER (PARTITION BY ... ORDER BY ... frame)``; without a frame, Spark's (which is DuckDB's)."""

    partition: tuple[Node, ...] = ()
    order: tuple[Order, ...] = ()
    frame: Frame | None = None


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows that a call is over.

    Args:
        distinct: ``DISTINCT`` before the arguments.
        where: the condition of ``FILTER (WHERE ...)``.
        window: of ``OVER (...)``; None for a group.
        order: of ``WITHIN GROUP (ORDER BY ...)``.
        ignores_nulls: ``IGNORE NULLS`` after the call.
    """

    distinct: bool = False
    where: Node | None = None
    window: Window | None = None
    order: tuple[Order, ...] = ()
    ignores_nulls: bool = False


class RowsCall:
    """Builds the node of one call over rows: its DuckDB calls all get the same FILTER and OVER."""

    def __init__(self, rows: Rows, operands: tuple[Node, ...]) -> None:
        self.rows = rows
        self._operands = list(operands)
        self._where = "" if rows.where is None else self.place(rows.where)
        if rows.where is not None:
            # DuckDB computes the operands of all rows before it filters.
            self._operands[: len(operands)] = [_where(rows.where, each) for each in operands]
        self._over = "" if rows.window is None else f" OVER ({self._window(rows.window)})"

    def place(self, node: Node) -> str:
        """The place of a further operand in the format string."""
        self._operands.append(node)
        return f"{{{len(self._operands) - 1}}}"

    def sql(self, function: str, arguments: str = "{0}", where: str = "") -> str:
        """A call of a DuckDB aggregate; `where` is a condition of its own beside FILTER."""
        conditions = " AND ".join(each for each in (self._where, where) if each)
        kept = f" FILTER (WHERE {conditions})" if conditions else ""
        return f"{function}({'DISTINCT ' if self.rows.distinct else ''}{arguments}){kept}{self._over}"

    def order(self, keys: tuple[Order, ...]) -> str:
        """The ``ORDER BY`` of these keys, empty without any."""
        listed = []
        for each in keys:
            _ensure_ordered(each.node.type, "ORDER BY")
            self._operands.append(each.node)
            listed.append(each.sql(len(self._operands) - 1))
        return f" ORDER BY {', '.join(listed)}" if listed else ""

    def node(self, name: str, data_type: DataType, sql: str, *, fails: bool = False) -> Node:
        """The node of the call."""
        kind = _AGGREGATE if self.rows.window is None else _WINDOW
        return call(kind + name, tuple(self._operands), data_type, sql, fails=fails)

    def _window(self, window: Window) -> str:
        parts = f"PARTITION BY {', '.join(map(self.place, window.partition))}" if window.partition else ""
        frame = window.frame
        by_value = frame is not None and frame.unit == "RANGE" and (frame.start or frame.end)
        if by_value and (len(window.order) != 1 or window.order[0].node.type not in INTEGRAL):
            raise refused("a RANGE of values over something other than one integral column")
        return f"{parts}{self.order(window.order)}{' ' + frame.sql if frame is not None else ''}".strip()


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
    arity: tuple[int, int | None]
    bind: Callable[..., Node]
    note: str = ""

    def __call__(self, name: str, operands: tuple[Node, ...], rows: Rows = Rows()) -> Node:
        """Return the node of a call by that name."""
        least, most = self.arity
        if len(operands) < least or (most is not None and len(operands) > most):
            raise refused(f"{name} with {len(operands)} arguments")
        if rows.window is not None and rows.distinct:
            raise refused(f"{name} of DISTINCT values over a window")
        if rows.order and self.names[0] not in _ORDERED:
            raise refused(f"{name} WITHIN GROUP")
        if rows.ignores_nulls and self.names[0] not in _NULLS:
            raise refused(f"{name} with IGNORE NULLS")
        for each in operands:
            if rows.window is None and any(is_aggregate(inner) for inner in _calls(each)):
                raise refused(f"{name} of another aggregate")
        return self.bind(rows, *operands)


_ORDERED = frozenset({"collect_list", "listagg", "percentile_cont", "percentile_disc", "mode"})
_NULLS = frozenset({"any_value", "first", "last"})


def is_aggregate(node: Node) -> bool:
    """Whether a node is the call of an aggregate over a group."""
    return isinstance(node, Call) and node.name.startswith(_AGGREGATE)


def is_window(node: Node) -> bool:
    """Whether a node is the call of a function over a window."""
    return isinstance(node, Call) and node.name.startswith(_WINDOW)


def _calls(node: Node) -> list[Node]:
    found = [node]
    if isinstance(node, Call) and not is_window(node):
        for each in node.operands:
            found += _calls(each)
    return found


def _where(condition: Node, operand: Node) -> Node:
    if not operand.can_fail:
        return operand
    return call("if", (condition, operand), operand.type, "CASE WHEN {0} THEN {1} END")


def _bound(count: int) -> str:
    if count == 0:
        return "CURRENT ROW"
    return f"{abs(count)} {'PRECEDING' if count < 0 else 'FOLLOWING'}"


def _ensure_ordered(data_type: DataType, name: str) -> None:
    if not isinstance(data_type, PrimitiveType) or data_type == VARIANT:
        raise refused(f"{name} of {type_name(data_type)}")


def _number(operand: Node, name: str) -> Node:
    """A number; text and NULL are cast to double, as in Spark."""
    if operand.type in (STRING, VOID):
        return cast(operand, DOUBLE)
    if not is_numeric(operand.type):
        raise refused(f"{name} of {type_name(operand.type)}")
    return operand


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


def _sum(rows: Rows, operand: Node) -> Node:
    operand = _number(operand, "sum")
    digits = decimal_of(operand.type)
    if operand.type in INTEGRAL:
        made = RowsCall(rows, (operand,))
        return made.node("sum", LONG, f"CAST({made.sql('sum')} AS BIGINT)", fails=True)
    if digits is not None:
        result = decimal_type(min(digits[0] + 10, 38), digits[1])
        made = RowsCall(rows, (operand,))
        sql = f"CAST({made.sql('sum')} AS DECIMAL({result.type[8:-1]}))"
        return made.node("sum", result, sql, fails=True)
    made = RowsCall(rows, (cast(operand, DOUBLE),))
    return made.node("sum", DOUBLE, made.sql("sum"))


def _avg(rows: Rows, operand: Node) -> Node:
    operand = _number(operand, "avg")
    digits = decimal_of(operand.type)
    if digits is None:
        made = RowsCall(rows, (cast(operand, DOUBLE),))
        return made.node("avg", DOUBLE, f"{made.sql('sum')} / {made.sql('count')}")
    made = RowsCall(rows, (operand,))
    result = decimal_type(min(digits[0] + 4, 38), min(digits[1] + 4, 38))
    scale = min(digits[1] + 4, 38)
    total = unscaled(made.sql("sum"), digits[1])
    dividend = f"{total} * CAST('{10 ** (scale - digits[1])}' AS HUGEINT)"
    divisor = f"CAST({made.sql('count')} AS HUGEINT)"
    sql = f"CASE WHEN {divisor} > 0 THEN {half_up(dividend, divisor, scale, result)} END"
    return made.node("avg", result, sql, fails=True)


def _extreme(name: str) -> Callable[..., Node]:
    def bind(rows: Rows, operand: Node) -> Node:
        _ensure_ordered(operand.type, name)
        made = RowsCall(rows, (operand,))
        return made.node(name, operand.type, made.sql(name))

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
            _ensure_ordered(operand.type, name)
            if operand.type in (FLOAT, DOUBLE):
                raise refused(f"collect_set of {type_name(operand.type)}")
            rows = Rows(True, rows.where, rows.window)
        made = RowsCall(rows, (operand,))
        data_type = ArrayType(operand.type, contains_null=False)
        listed = made.sql("list", f"{{0}}{made.order(rows.order)}", "{0} IS NOT NULL")
        return made.node(name, data_type, f"coalesce({listed}, [])")

    return bind


def _moment(name: str) -> Callable[..., Node]:
    """A variance or a deviation: NaN as soon as one number is not finite."""

    def bind(rows: Rows, operand: Node) -> Node:
        made = RowsCall(rows, (cast(_number(operand, name), DOUBLE),))
        least = 2 if name.endswith("_samp") else 1
        odd = made.sql("count", where="NOT isfinite({0})")
        found = made.sql(name, "CASE WHEN isfinite({0}) THEN {0} END")
        sql = f"CASE WHEN {made.sql('count')} < {least} THEN NULL WHEN {odd} > 0 THEN 'nan'::DOUBLE"
        return made.node(name, DOUBLE, f"{sql} ELSE {found} END", fails=True)

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


AGGREGATES = (
    Aggregate(("count",), "*, or [DISTINCT] value, ...", (0, None), _count),
    Aggregate(("sum",), "[DISTINCT] number", (1, 1), _sum),
    Aggregate(("avg", "mean"), "[DISTINCT] number", (1, 1), _avg),
    Aggregate(("min",), "value", (1, 1), _extreme("min"), "not of nested values"),
    Aggregate(("max",), "value", (1, 1), _extreme("max"), "not of nested values"),
    Aggregate(("first", "first_value", "any_value"), "value[, ignore_nulls]", (1, 2), _edge("first")),
    Aggregate(("last", "last_value"), "value[, ignore_nulls]", (1, 2), _edge("last")),
    Aggregate(("collect_list", "array_agg"), "[DISTINCT] value", (1, 1), _collect("collect_list")),
    Aggregate(("collect_set",), "value", (1, 1), _collect("collect_set"), "of no floating or nested type"),
    Aggregate(("stddev_samp", "stddev", "std"), "number", (1, 1), _moment("stddev_samp")),
    Aggregate(("stddev_pop",), "number", (1, 1), _moment("stddev_pop")),
    Aggregate(("var_samp", "variance"), "number", (1, 1), _moment("var_samp")),
    Aggregate(("var_pop",), "number", (1, 1), _moment("var_pop")),
    Aggregate(("bool_and", "every"), "condition", (1, 1), _every("bool_and")),
    Aggregate(("bool_or", "some", "any"), "condition", (1, 1), _every("bool_or")),
    Aggregate(("count_if",), "condition", (1, 1), _count_if),
)
"""All aggregate functions."""

_BY_NAME = {name: each for each in AGGREGATES for name in each.names}


def find_aggregate(name: str) -> Aggregate | None:
    """The aggregate function of that name, in any case; None if there is none."""
    return _BY_NAME.get(name.lower())
