"""Rounding, signs, remainders and other exact functions on numbers."""

from collections.abc import Callable

from deltaarrow.schema import DataType, IntervalType
from deltaarrow.spark_sql.functions.function import (
    Function,
    as_double,
    as_integer,
    as_long,
    literal_integer,
    same_type,
)
from deltaarrow.spark_sql.functions.operators import negative, remainder
from deltaarrow.spark_sql.tree.forms import given, let
from deltaarrow.spark_sql.tree.nodes import UNSTORED, Call, Constant, Node, call, refused
from deltaarrow.spark_sql.types.casts import cast
from deltaarrow.spark_sql.types.coercion import as_number
from deltaarrow.spark_sql.types.decimals import not_negative
from deltaarrow.spark_sql.types.type_rules import (
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INTEGRAL,
    LONG,
    as_decimal,
    bounded_type,
    decimal_of,
    sql_type,
)

__all__ = ["FUNCTIONS"]


_MOST_PLACES = 20


def _absolute(operand: Node) -> Node:
    if isinstance(operand.type, IntervalType):
        return call("abs", (operand,), operand.type, "abs({0})", fails=True)
    operand = as_number(operand, "abs")
    return call("abs", (operand,), operand.type, "abs({0})", fails=operand.type in INTEGRAL)


def _floor(operand: Node) -> Node:
    return _whole(operand, "floor")


def _ceil(operand: Node) -> Node:
    return _whole(operand, "ceil")


def _whole(operand: Node, name: str) -> Node:
    operand = as_number(operand, name)
    digits = decimal_of(operand.type)
    if operand.type in INTEGRAL:
        return cast(operand, LONG)
    if digits is not None and digits[1] == 0:
        return operand
    if digits is not None:
        result = bounded_type(digits[0] - digits[1] + 1, 0)
        return call(name, (operand,), result, f"CAST({name}({{0}}) AS DECIMAL({result.type[8:-1]}))")
    sql = (
        f"CASE WHEN isnan({{0}}) THEN 0 WHEN {{0}} >= 9223372036854775808 THEN 9223372036854775807"
        f" WHEN {{0}} < -9223372036854775808 THEN -9223372036854775808 ELSE CAST({name}({{0}}) AS BIGINT) END"
    )
    return call(name, (cast(operand, DOUBLE),), LONG, f"CAST({sql} AS BIGINT)")


def _round(operand: Node, places: Node | None = None) -> Node:
    operand = as_number(operand, "round")
    wanted = literal_integer(places, "the number of places") if places is not None else 0
    digits = decimal_of(operand.type)
    if not -_MOST_PLACES <= wanted <= _MOST_PLACES:
        raise refused(f"round to {wanted} places")
    if operand.type in INTEGRAL:
        return operand if wanted >= 0 else _rounded_whole(operand, 10**-wanted)
    if digits is None:
        return _rounded_floating(operand, wanted)
    if wanted < 0:
        result = bounded_type(max(digits[0] - digits[1] + 1, 1 - wanted), 0)
        sql = f"CAST(round({{0}}, {wanted}) AS {_sql(result.type)})"
        return call("round", (operand,), result, sql, fails=True)
    scale = min(digits[1], wanted)
    result = bounded_type(digits[0] - digits[1] + 1 + scale, scale)
    return call("round", (operand,), result, f"CAST({{0}} AS {_sql(result.type)})")


def _round_to_even(operand: Node, places: Node | None = None) -> Node:
    """``bround``: as ``round``, but half to the even digit."""
    rounded = _round(operand, places)
    operand = as_number(operand, "bround")
    wanted = literal_integer(places, "the number of places") if places is not None else 0
    digits = as_decimal(operand.type)
    if digits is not None:
        sql = _half_even("{0}", digits[1], wanted, rounded.type)
        return rounded if wanted >= digits[1] else call("bround", (operand,), rounded.type, sql, fails=True)
    exact = f"CAST(CAST(CAST({{0}} AS DOUBLE) AS VARCHAR) AS DECIMAL(38,{_FLOATING_SCALE}))"
    sure = "(abs({0}) >= 1e-4 AND abs({0}) < 1e16) OR {0} = 0"
    sql = (
        f"CASE WHEN {{0}} IS NULL OR NOT isfinite({{0}}) THEN {{0}} WHEN {sure}"
        f" THEN {_half_even(exact, _FLOATING_SCALE, wanted, operand.type)}"
        " ELSE error('unsupported: bround of so great or so small a number') END"
    )
    return call(f"{UNSTORED}bround", (operand,), operand.type, sql, fails=True)


_FLOATING_SCALE = 21
"""Places that hold each digit of a floating number from 1e-4 on, of which there are 17 at most."""


def _half_even(number: str, scale: int, wanted: int, result: DataType) -> str:
    """SQL of a decimal number of this scale, rounded to fewer places."""
    unit = f"CAST('{10 ** (scale - wanted)}' AS HUGEINT)"
    half = f"CAST('{5 * 10 ** (scale - wanted - 1)}' AS HUGEINT)"
    even = f"sign(u) * CASE WHEN abs(u) % {unit} = {half} THEN q - q % 2 ELSE q END"
    units = let(
        even,
        u=f"CAST(replace(CAST({number} AS VARCHAR), '.', '') AS HUGEINT)",
        q=f"(abs(u) + {half}) // {unit}",
    )
    if wanted <= 0:
        return f"CAST({units} * CAST('{10**-wanted}' AS HUGEINT) AS {sql_type(result)})"
    last = f"CAST('0.{'1':0>{wanted}}' AS DECIMAL({wanted},{wanted}))"
    return f"CAST(CAST(CAST({units} AS DECIMAL(38,0)) * {last} AS VARCHAR) AS {sql_type(result)})"


def _rounded_whole(operand: Node, unit: int) -> Node:
    """Round half up to a multiple of a power of ten."""
    number, half = "CAST({0} AS HUGEINT)", unit // 2
    up = f"((abs({number}) + {half}) // CAST('{unit}' AS HUGEINT)) * CAST('{unit}' AS HUGEINT)"
    sql = f"CAST(CASE WHEN {{0}} < 0 THEN -1 ELSE 1 END * ({up}) AS {sql_type(operand.type)})"
    return call("round", (operand,), operand.type, sql, fails=True)


def _rounded_floating(operand: Node, wanted: int) -> Node:
    if not wanted:
        # Spark has no negative zero here; adding 0 removes it.
        return call("round", (operand,), operand.type, "(round({0}) + 0)")
    # Spark rounds the decimal number that Java prints.
    scale = max(wanted, 0) if wanted > 0 else 18
    exact = f"CAST(CAST(CAST({{0}} AS DOUBLE) AS VARCHAR) AS DECIMAL(38,{scale}))"
    rounded = exact if wanted > 0 else f"round({exact}, {wanted})"
    beyond = "{0}" if wanted > 0 else "error('unsupported: round of so great a number')"
    sql = (
        f"CASE WHEN {{0}} IS NULL OR NOT isfinite({{0}}) THEN {{0}} WHEN abs({{0}}) >= 1e16 THEN {beyond}"
        f" ELSE CAST(CAST({rounded} AS VARCHAR) AS {sql_type(operand.type)}) END"
    )
    return call(f"{UNSTORED}round", (operand,), operand.type, sql, fails=wanted < 0)


def _root(operand: Node) -> Node:
    operand = as_number(operand, "sqrt")
    return call("sqrt", (cast(operand, DOUBLE),), DOUBLE, "sqrt({0})")


def _modulo(dividend: Node, divisor: Node) -> Node:
    rest = remainder(dividend, divisor)
    kind = sql_type(rest.type)
    if decimal_of(rest.type) is not None:
        if not isinstance(rest, Call):
            return rest
        form = not_negative(rest, rest.operands[1])
        return call("pmod", (rest, rest.operands[1]), form.type, form.sql, fails=True)
    if rest.type in INTEGRAL:
        divisor = cast(divisor, rest.type)
        if isinstance(divisor, Constant) and isinstance(divisor.value, int) and divisor.value > 0:
            sql = f"CAST((CAST({{0}} AS HUGEINT) + {{1}}) % {{1}} AS {kind})"
            return call("pmod", (rest, divisor), rest.type, sql)
        again = let(
            f"CASE WHEN s < {-(1 << _bits(rest.type))} THEN"
            f" error('unsupported: pmod by so low a number') ELSE CAST(s % {{1}} AS {kind}) END",
            s="CAST({0} AS HUGEINT) + {1}",
        )
    else:
        divisor = cast(divisor, rest.type)
        again = f"CAST(({{0}} + {{1}}) % {{1}} AS {kind})"
    if rest.type not in INTEGRAL:
        sql = f"CASE WHEN {{0}} < 0 THEN {again} ELSE {{0}} END"
        return call("pmod", (rest, divisor), rest.type, sql, fails=True)
    again = again.replace("{0}", "r").replace("{1}", "d")
    sql = let(f"CASE WHEN r < 0 THEN {again} ELSE r END", r="{0}", d="{1}")
    return call("pmod", (rest, divisor), rest.type, sql, fails=True)


def _sign(operand: Node) -> Node:
    if isinstance(operand.type, IntervalType):
        return call("sign", (operand,), DOUBLE, "CAST(sign({0}) AS DOUBLE)")
    operand = as_number(operand, "sign")
    sql = "CASE WHEN isnan({0}) OR {0} = 0 THEN {0} WHEN {0} > 0 THEN 1 WHEN {0} < 0 THEN -1 END"
    return call("sign", (cast(operand, DOUBLE),), DOUBLE, f"CAST({sql} AS DOUBLE)")


def _nearest(operand: Node) -> Node:
    operand = as_number(operand, "rint")
    # Beyond 2^52 every number is whole; below, adding it rounds half to even.
    size = "4503599627370496::DOUBLE"
    sql = (
        f"CASE WHEN {{0}} IS NULL OR isnan({{0}}) OR abs({{0}}) >= {size} THEN {{0}}"
        f" WHEN signbit({{0}}) THEN (abs({{0}}) + {size} - {size}) * CAST(-1 AS DOUBLE)"
        f" ELSE {{0}} + {size} - {size} END"
    )
    return call("rint", (cast(operand, DOUBLE),), DOUBLE, sql)


def _factorial(operand: Node) -> Node:
    sql = "CASE WHEN {0} BETWEEN 0 AND 20 THEN CAST(factorial({0}) AS BIGINT) END"
    return call("factorial", (as_integer(operand),), LONG, sql)


def _not_nan(operand: Node, other: Node) -> Node:
    floating = (each if each.type == FLOAT else as_double(each) for each in (operand, other))
    nodes, common = same_type(tuple(floating))
    return call("nanvl", nodes, common, "CASE WHEN isnan({0}) THEN {1} ELSE {0} END")


def _positive(operand: Node) -> Node:
    return as_number(operand, "positive")


def _bucket(value: Node, low: Node, high: Node, count: Node) -> Node:
    """``width_bucket``: the number of the interval of equal width that a value lies in."""
    nodes = (as_double(value), as_double(low), as_double(high), as_long(count))
    odd = "{3} <= 0 OR {3} = 9223372036854775807 OR isnan({0}) OR {1} = {2}"
    odd += " OR NOT isfinite({1}) OR NOT isfinite({2})"
    upward = "CASE WHEN {0} < {1} THEN 0 WHEN {0} >= {2} THEN {3} + 1 ELSE"
    upward += " CAST(trunc({3} * ({0} - {1}) / ({2} - {1})) AS BIGINT) + 1 END"
    downward = "CASE WHEN {0} > {1} THEN 0 WHEN {0} <= {2} THEN {3} + 1 ELSE"
    downward += " CAST(trunc({3} * ({1} - {0}) / ({1} - {2})) AS BIGINT) + 1 END"
    sql = f"CASE WHEN {odd} THEN NULL WHEN {{1}} < {{2}} THEN {upward} ELSE {downward} END"
    return call("width_bucket", nodes, LONG, given(sql, 4))


def _is_nan(operand: Node) -> Node:
    operand = operand if operand.type == FLOAT else as_double(operand)
    return call("isnan", (operand,), BOOLEAN, "coalesce(isnan({0}), FALSE)")


def _bits(data_type: DataType) -> int:
    return (7, 15, 31, 63)[INTEGRAL.index(data_type)]


def _sql(name: str) -> str:
    return name.upper()


_NAN = "'nan'::DOUBLE"

_FINITE = f"CASE WHEN isfinite({{{{0}}}}) THEN {{sql}} WHEN {{{{0}}}} IS NOT NULL THEN {_NAN} END"

_UNIT = f"CASE WHEN abs({{{{0}}}}) <= 1 THEN {{sql}} WHEN {{{{0}}}} IS NOT NULL THEN {_NAN} END"

_LOG1P = let(
    "CASE WHEN u = 1 THEN {0} WHEN isinf(u) OR isnan(u) THEN u ELSE ln(u) * {0} / (u - 1) END", u="1 + {0}"
)

_EXPM1 = let(
    "CASE WHEN u = 1 THEN {0} WHEN u - 1 = -1 THEN -1 WHEN isinf(u) OR isnan(u) THEN u"
    " ELSE (u - 1) * {0} / ln(u) END",
    u="exp({0})",
)

_SQL = {
    "exp": "exp({0})",
    "expm1": f"CAST({_EXPM1} AS DOUBLE)",
    "ln": "CASE WHEN {0} > 0 THEN ln({0}) END",
    "log10": "CASE WHEN {0} > 0 THEN log10({0}) END",
    "log2": "CASE WHEN {0} > 0 THEN log2({0}) END",
    "log1p": f"CASE WHEN {{0}} > -1 THEN {_LOG1P} END",
    "cbrt": "cbrt({0})",
    "degrees": "{0} * 57.29577951308232::DOUBLE",
    "radians": "{0} * 0.017453292519943295::DOUBLE",
    **{name: _FINITE.format(sql=f"{name}({{0}})") for name in ("sin", "cos", "tan")},
    "cot": _FINITE.format(sql="1 / tan({0})"),
    "sec": _FINITE.format(sql="1 / cos({0})"),
    "csc": _FINITE.format(sql="1 / sin({0})"),
    **{name: _UNIT.format(sql=f"{name}({{0}})") for name in ("asin", "acos")},
    **{name: f"{name}({{0}})" for name in ("atan", "sinh", "cosh", "tanh")},
    "asinh": "asinh({0})",
    "acosh": f"CASE WHEN {{0}} < 1 THEN {_NAN} ELSE acosh({{0}}) END",
    "atanh": f"CASE WHEN abs({{0}}) > 1 THEN {_NAN} WHEN abs({{0}}) = 1 THEN {{0}} * 'inf'::DOUBLE"
    " ELSE atanh({0}) END",
}


def _of_one(name: str) -> Callable[[Node], Node]:
    def bind(operand: Node) -> Node:
        return call(UNSTORED + name, (as_double(operand),), DOUBLE, _SQL[name])

    return bind


def _log(first: Node, second: Node | None = None) -> Node:
    if second is None:
        return _of_one("ln")(first)
    nodes = (as_double(first), as_double(second))
    return call(f"{UNSTORED}log", nodes, DOUBLE, "CASE WHEN {0} > 0 AND {1} > 0 THEN ln({1}) / ln({0}) END")


def _power(base: Node, exponent: Node) -> Node:
    nodes = (as_double(base), as_double(exponent))
    odd = "(abs({0}) = 1 AND isinf({1})) OR ({0} = 1 AND isnan({1}))"
    return call(f"{UNSTORED}pow", nodes, DOUBLE, f"CASE WHEN {odd} THEN {_NAN} ELSE pow({{0}}, {{1}}) END")


def _angle(y: Node, x: Node) -> Node:
    nodes = (as_double(y), as_double(x))
    return call(f"{UNSTORED}atan2", nodes, DOUBLE, "atan2({0} + 0.0::DOUBLE, {1} + 0.0::DOUBLE)")


def _hypotenuse(one: Node, other: Node) -> Node:
    nodes = (as_double(one), as_double(other))
    scaled = let(
        "CASE WHEN h = 0 THEN 0 ELSE h * sqrt(1 + (l / h) * (l / h)) END",
        h="greatest(abs({0}), abs({1}))",
        l="least(abs({0}), abs({1}))",
    )
    sql = "CASE WHEN isinf({0}) OR isinf({1}) THEN 'inf'::DOUBLE"
    sql += f" WHEN isnan({{0}}) OR isnan({{1}}) THEN {_NAN}"
    sql += f" WHEN {{0}} IS NOT NULL AND {{1}} IS NOT NULL THEN CAST({scaled} AS DOUBLE) END"
    given = f"CASE WHEN {{0}} IS NULL OR {{1}} IS NULL THEN NULL ELSE {sql} END"
    return call(f"{UNSTORED}hypot", nodes, DOUBLE, given)


def _pi() -> Node:
    return Constant(3.141592653589793, DOUBLE)


def _e() -> Node:
    return Constant(2.718281828459045, DOUBLE)


_NOTE = "not in stored expressions"


FUNCTIONS = (
    Function(("abs",), "number", (1, 1), _absolute),
    Function(("ceil", "ceiling"), "number", (1, 1), _ceil),
    Function(("floor",), "number", (1, 1), _floor),
    Function(("round",), "number[, scale]", (1, 2), _round, "scale must be a literal"),
    Function(("bround",), "number[, scale]", (1, 2), _round_to_even, "scale must be a literal"),
    Function(("sqrt",), "number", (1, 1), _root),
    Function(("mod",), "dividend, divisor", (2, 2), remainder),
    Function(("pmod",), "dividend, divisor", (2, 2), _modulo),
    Function(("sign", "signum"), "number", (1, 1), _sign),
    Function(("rint",), "number", (1, 1), _nearest),
    Function(("factorial",), "integer", (1, 1), _factorial),
    Function(("nanvl",), "number, number", (2, 2), _not_nan),
    Function(("negative",), "number", (1, 1), negative),
    Function(("positive",), "number", (1, 1), _positive),
    Function(("width_bucket",), "number, low, high, count", (4, 4), _bucket),
    Function(("isnan",), "number", (1, 1), _is_nan),
    *(Function((name,), "number", (1, 1), _of_one(name), _NOTE) for name in _SQL),
    Function(("log",), "[base, ]number", (1, 2), _log, _NOTE),
    Function(("pow", "power"), "base, exponent", (2, 2), _power, _NOTE),
    Function(("atan2",), "y, x", (2, 2), _angle, _NOTE),
    Function(("hypot",), "number, number", (2, 2), _hypotenuse, _NOTE),
    Function(("pi",), "", (0, 0), _pi),
    Function(("e",), "", (0, 0), _e),
)
"""The functions of this module."""
