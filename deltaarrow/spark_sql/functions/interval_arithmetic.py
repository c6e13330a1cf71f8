"""Interval values: differences of timestamps, literals, and interval arithmetic.

A value is a number of microseconds; its type names the units in which Spark shows it. A literal beside a date
or a timestamp is not one: `deltaarrow.spark_sql.functions.interval_literals` moves the time by it. Intervals
of months are no values here, as they are none in Arrow and PySpark.
"""

from deltaarrow.schema import IntervalType
from deltaarrow.spark_sql.functions.datetime import add_days
from deltaarrow.spark_sql.functions.function import Function, as_local_time
from deltaarrow.spark_sql.functions.interval import MadeInterval, made_interval
from deltaarrow.spark_sql.functions.interval_literals import Interval
from deltaarrow.spark_sql.functions.operators import arithmetic
from deltaarrow.spark_sql.tree.nodes import Node, call, mismatched, refused
from deltaarrow.spark_sql.tree.row_errors import raising
from deltaarrow.spark_sql.types.casts import cast
from deltaarrow.spark_sql.types.coercion import implicitly
from deltaarrow.spark_sql.types.decimals import quotient
from deltaarrow.spark_sql.types.type_rules import (
    DATE,
    DOUBLE,
    FLOAT,
    INTEGRAL,
    LONG,
    MAX_PRECISION,
    STRING,
    TIMESTAMPS,
    VOID,
    decimal_of,
    decimal_type,
    type_name,
    wider_type,
)

__all__ = ["FUNCTIONS", "arithmetic_of_times", "interval_value"]

_DAY = 86_400_000_000
_DAYS, _WHOLE = IntervalType("interval day"), IntervalType("interval day to second")
_MOST_DIGITS = 18
_LONG_DIGITS = 19
_TIMES = (DATE, *TIMESTAMPS)
_BY_ZERO = raising("INTERVAL_DIVIDED_BY_ZERO", "an interval is divided by zero; try_divide gives NULL")


def interval_value(length: Interval | None, units: tuple[str, str]) -> Node:
    """The value of a literal with these units."""
    if length is None or length.months or units[0] in ("YEAR", "MONTH"):
        raise refused("an INTERVAL of months that is not added to a date or a timestamp")
    data_type = IntervalType.of(*(each.lower() for each in units))
    return call("interval", (), data_type, f"CAST({length.microseconds} AS BIGINT)")


def _made(*operands: Node) -> Node:
    """``make_dt_interval``."""
    made = made_interval("make_dt_interval", operands).microseconds
    assert made is not None
    return call("make_dt_interval", (made,), _WHOLE, "CAST({0} AS BIGINT)", fails=True)


def arithmetic_of_times(left: Node, right: Node, sign: str) -> Node:
    """The result of an operator of arithmetic, of which an operand may be a time or a length of time."""
    found = _of_times(left, right, sign)
    if found is not None:
        return found
    if sign in ("+", "-") and left.type == DATE and right.type in INTEGRAL:
        return add_days(left, right, sign)
    if sign == "+" and right.type == DATE and left.type in INTEGRAL:
        return add_days(right, left, sign)
    return arithmetic(left, right, sign)


def _of_times(left: Node, right: Node, sign: str) -> Node | None:
    one, other = isinstance(left.type, IntervalType), isinstance(right.type, IntervalType)
    if sign in ("+", "-") and (one or other) and VOID in (left.type, right.type):
        left, right = (cast(each, left.type if one else right.type) for each in (left, right))
        one = other = True
    if sign == "-" and not one and not other:
        return _difference(left, right)
    if sign in ("+", "-") and one and other:
        common = wider_type(left.type, right.type)
        return call(sign, (left, right), common, f"{{0}} {sign} {{1}}", fails=True)
    if sign in ("+", "-") and other and left.type in _TIMES:
        return _moved(left, right, sign)
    if sign == "+" and one and right.type in _TIMES:
        return _moved(right, left, sign)
    if sign == "div" and one and other:
        whole = f"CASE WHEN {{1}} = 0 AND {{0}} IS NOT NULL THEN {_BY_ZERO} ELSE {{0}} // {{1}} END"
        return call("div", (left, right), LONG, whole, fails=True)
    if sign in ("*", "/") and one and not other:
        return _scaled(left, right, sign)
    if sign == "*" and other:
        return _scaled(right, left, sign)
    if one or other:
        what = f"{type_name(left.type)} {sign} {type_name(right.type)}"
        raise mismatched("BINARY_OP_DIFF_TYPES" if left.type != right.type else "BINARY_OP_WRONG_TYPE", what)
    return None


def _difference(left: Node, right: Node) -> Node | None:
    """The time between two times, by their local times; a text is cast to the kind of the other one."""
    types = {left.type, right.type} - {VOID}
    if not types <= {*_TIMES, STRING} or types == {STRING}:
        return None
    if not types:
        return None
    if not types & {*TIMESTAMPS}:
        days = (implicitly(left, DATE), implicitly(right, DATE))
        return call("time between", days, _DAYS, f"CAST({{0}} - {{1}} AS BIGINT) * {_DAY}")
    times = (as_local_time(left), as_local_time(right))
    return call("time between", times, _WHOLE, "epoch_us({0}) - epoch_us({1})")


def _moved(time: Node, length: Node, sign: str) -> Node:
    if time.type == DATE and length.type == _DAYS:
        days = call("interval", (length,), LONG, f"{{0}} // {_DAY}")
        return MadeInterval(None, days, None).moved(time, sign)
    return MadeInterval(None, None, length).moved(time, sign)


def _scaled(length: Node, factor: Node, sign: str) -> Node:
    """A length times or by a number, rounded half up to microseconds."""
    if factor.type in (STRING, VOID):
        factor = cast(factor, DOUBLE)
    digits = decimal_of(factor.type)
    if factor.type in INTEGRAL:
        divisor = "CAST({1} AS DECIMAL(19,0))", (_LONG_DIGITS, 0)
        product = "CAST({0} AS HUGEINT) * {1}"
    elif digits is not None and digits[0] <= _MOST_DIGITS:
        divisor = "{1}", digits
        product = f"round(CAST({{0}} AS DECIMAL(20,0)) * CAST({{1}} AS DECIMAL({_MOST_DIGITS},{digits[1]})))"
    elif factor.type in (FLOAT, DOUBLE):
        product = "round({0} * CAST({1} AS DOUBLE))"
        divisor = None
    else:
        raise refused(f"{type_name(length.type)} {sign} {type_name(factor.type)}")
    if sign == "*":
        return call("*", (length, factor), _WHOLE, f"CAST({product} AS BIGINT)", fails=True)
    if divisor:
        dividend = "CAST({0} AS DECIMAL(19,0))", (_LONG_DIGITS, 0)
        divided = quotient(*dividend, *divisor, decimal_type(MAX_PRECISION, 0))
    else:
        divided = "round({0} / CAST({1} AS DOUBLE))"
    whole = f"CASE WHEN {{1}} = 0 AND {{0}} IS NOT NULL THEN {_BY_ZERO} ELSE CAST({divided} AS BIGINT) END"
    return call("/", (length, factor), _WHOLE, whole, fails=True)


FUNCTIONS = (Function(("make_dt_interval",), "[days, hours, minutes, seconds]", (0, 4), _made),)
"""The functions of this module."""
