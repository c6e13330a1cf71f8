"""Exponential, logarithmic and trigonometric functions.

Java and DuckDB compute these functions in different libraries, so their values may differ in the last digit
or two. Tables cannot store expressions with them.
"""

from collections.abc import Callable

from deltaarrow.spark_sql.functions.function import Function, as_double
from deltaarrow.spark_sql.tree.forms import let
from deltaarrow.spark_sql.tree.nodes import UNSTORED, Constant, Node, call
from deltaarrow.spark_sql.types.type_rules import DOUBLE

__all__ = ["FUNCTIONS"]

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
    *(Function((name,), "number", (1, 1), _of_one(name), _NOTE) for name in _SQL),
    Function(("log",), "[base, ]number", (1, 2), _log, _NOTE),
    Function(("pow", "power"), "base, exponent", (2, 2), _power, _NOTE),
    Function(("atan2",), "y, x", (2, 2), _angle, _NOTE),
    Function(("hypot",), "number, number", (2, 2), _hypotenuse, _NOTE),
    Function(("pi",), "", (0, 0), _pi),
    Function(("e",), "", (0, 0), _e),
)
"""The functions of this module."""
