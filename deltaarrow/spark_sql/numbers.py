"""Functions over numbers."""

from deltaarrow.spark_sql.casts import cast
from deltaarrow.spark_sql.function import Function, literal_integer
from deltaarrow.spark_sql.nodes import Node, call, refused
from deltaarrow.spark_sql.operators import remainder
from deltaarrow.spark_sql.types import (
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INTEGRAL,
    LONG,
    decimal_of,
    decimal_type,
    is_numeric,
    type_name,
)

__all__ = ["FUNCTIONS"]


def _absolute(operand: Node) -> Node:
    _ensure_number(operand, "abs")
    return call("abs", (operand,), operand.type, "abs({0})", fails=operand.type in INTEGRAL)


def _floor(operand: Node) -> Node:
    return _whole(operand, "floor")


def _ceil(operand: Node) -> Node:
    return _whole(operand, "ceil")


def _whole(operand: Node, name: str) -> Node:
    _ensure_number(operand, name)
    digits = decimal_of(operand.type)
    if operand.type in INTEGRAL:
        return cast(operand, LONG)
    if digits is not None:
        result = decimal_type(digits[0] - digits[1] + 1, 0)
        return call(name, (operand,), result, f"CAST({name}({{0}}) AS DECIMAL({result.type[8:-1]}))")
    sql = (
        f"CASE WHEN isnan({{0}}) THEN 0 WHEN {{0}} >= 9223372036854775808 THEN 9223372036854775807"
        f" WHEN {{0}} < -9223372036854775808 THEN -9223372036854775808 ELSE CAST({name}({{0}}) AS BIGINT) END"
    )
    return call(name, (cast(operand, DOUBLE),), LONG, f"CAST({sql} AS BIGINT)")


def _round(operand: Node, places: Node | None = None) -> Node:
    _ensure_number(operand, "round")
    wanted = literal_integer(places, "the number of places") if places is not None else 0
    digits = decimal_of(operand.type)
    if wanted < 0:
        raise refused("round to places before the point")
    if operand.type in INTEGRAL:
        return operand
    if digits is None:
        if wanted:
            raise refused(f"round of {type_name(operand.type)} to {wanted} places")
        # Spark has no negative zero here; adding 0 removes it.
        return call("round", (operand,), operand.type, "(round({0}) + 0)")
    scale = min(digits[1], wanted)
    result = decimal_type(digits[0] - digits[1] + 1 + scale, scale)
    return call("round", (operand,), result, f"CAST({{0}} AS {_sql(result.type)})")


def _root(operand: Node) -> Node:
    _ensure_number(operand, "sqrt")
    return call("sqrt", (cast(operand, DOUBLE),), DOUBLE, "sqrt({0})")


def _modulo(dividend: Node, divisor: Node) -> Node:
    rest = remainder(dividend, divisor)
    if not isinstance(rest.type, type(LONG)) or rest.type not in INTEGRAL:
        raise refused(f"pmod of {type_name(rest.type)}")
    divisor = cast(divisor, rest.type)
    sql = (
        "CASE WHEN {1} < 0 THEN error('unsupported: pmod by a negative number')"
        " WHEN {0} < 0 THEN {0} + {1} ELSE {0} END"
    )
    return call("pmod", (rest, divisor), rest.type, sql, fails=True)


def _is_nan(operand: Node) -> Node:
    if operand.type not in (FLOAT, DOUBLE):
        raise refused(f"isnan of {type_name(operand.type)}")
    return call("isnan", (operand,), BOOLEAN, "coalesce(isnan({0}), FALSE)")


def _ensure_number(operand: Node, name: str) -> None:
    if not is_numeric(operand.type):
        raise refused(f"{name} of {type_name(operand.type)}")


def _sql(name: str) -> str:
    return name.upper()


FUNCTIONS = (
    Function(("abs",), "number", (1, 1), _absolute),
    Function(("ceil", "ceiling"), "number", (1, 1), _ceil),
    Function(("floor",), "number", (1, 1), _floor),
    Function(("round",), "number[, places]", (1, 2), _round, "float and double to whole numbers alone"),
    Function(("sqrt",), "number", (1, 1), _root),
    Function(("mod",), "dividend, divisor", (2, 2), remainder),
    Function(("pmod",), "dividend, divisor", (2, 2), _modulo, "integral, by a positive divisor"),
    Function(("isnan",), "number", (1, 1), _is_nan),
)
"""The functions of this chapter."""
