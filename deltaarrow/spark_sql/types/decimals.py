"""Arithmetic of decimals: the types of results, and SQL that computes them exactly.

A decimal is an integer, its *units*, and a scale: 1.50 is 150 units of the scale 2. Spark computes each
operation exactly and rounds the result half up to the scale of its type, which has 38 digits at most; what
does not fit raises. DuckDB computes units in 128 bits. So an operation is DuckDB's own where the types bound
all that it computes by 38 digits, and otherwise a call of one of `decimal_kernels`.

===========  =============================================  ==========================
operation    precision, before it is adjusted               scale
===========  =============================================  ==========================
``+ -``      ``max(p1 - s1, p2 - s2) + max(s1, s2) + 1``    ``max(s1, s2)``
``*``        ``p1 + p2 + 1``                                ``s1 + s2``
``/``        ``p1 - s1 + s2 + scale``                       ``max(6, s1 + p2 + 1)``
``%``        ``min(p1 - s1, p2 - s2) + max(s1, s2)``        ``max(s1, s2)``
===========  =============================================  ==========================
"""

from dataclasses import dataclass

from deltaarrow.schema import PrimitiveType
from deltaarrow.spark_sql.tree.forms import staged, without_errors
from deltaarrow.spark_sql.tree.kernel_calls import Digits, decimal_call
from deltaarrow.spark_sql.tree.nodes import Node
from deltaarrow.spark_sql.tree.row_errors import raising
from deltaarrow.spark_sql.types.type_rules import (
    MAX_PRECISION,
    adjusted_type,
    decimal_of,
    decimal_type,
    sql_type,
)

__all__ = [
    "Form",
    "added",
    "divided",
    "divided_whole",
    "limbs",
    "multiplied",
    "not_negative",
    "quotient",
    "remaining",
    "units",
    "whole_total",
]

_SHORT_PRECISION = 18
"""Digits of the decimals that DuckDB computes in 64 bits."""

_MIN_DIVISION_SCALE = 6
_LIMB = f"CAST('{10**19}' AS HUGEINT)"
_BEYOND = raising("NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION", "a decimal result of more than 38 digits")
_BEYOND_LONG = raising("ARITHMETIC_OVERFLOW", "a whole quotient beyond the range of a long")


@dataclass(frozen=True, slots=True)
class Form:
    """An operation on two operands: the type of the result, and its SQL over ``{0}`` and ``{1}``.

    It is NULL if an operand is. The SQL is for divisors that are not 0. `fails` says whether it may raise.
    """

    type: PrimitiveType
    sql: str
    fails: bool = False


def added(left: Node, right: Node, sign: str) -> Form:
    """The sum or the difference, by `sign`."""
    (p1, s1), (p2, s2) = _digits(left), _digits(right)
    scale = max(s1, s2)
    precision = max(p1 - s1, p2 - s2) + scale + 1
    result = adjusted_type(precision, scale)
    if precision <= MAX_PRECISION:
        # DuckDB's sum has one digit more than operands of one type, but not beyond 64 bits.
        most = precision if precision == _SHORT_PRECISION + 1 else precision - 1
        sql = f"CAST({{0}} AS DECIMAL({most},{scale})) {sign} CAST({{1}} AS DECIMAL({most},{scale}))"
        return Form(result, f"({sql})" if most < precision else f"CAST({sql} AS {sql_type(result)})")
    if precision - 1 == MAX_PRECISION and scale == _scale(result):
        common = f"DECIMAL({MAX_PRECISION},{scale})"
        return Form(result, f"CAST({{0}} AS {common}) {sign} CAST({{1}} AS {common})", fails=True)
    operation = "plus" if sign == "+" else "minus"
    return Form(result, _exactly(operation, (p1, s1), (p2, s2), result), fails=True)


def multiplied(left: Node, right: Node) -> Form:
    """The product."""
    (p1, s1), (p2, s2) = _digits(left), _digits(right)
    scale, precision = s1 + s2, p1 + p2 + 1
    result = adjusted_type(precision, scale)
    if scale != _scale(result):
        return Form(result, _exactly("times", (p1, s1), (p2, s2), result), fails=True)
    # DuckDB computes the product of short decimals in 64 bits, whatever the result needs.
    is_short = max(p1, p2) <= _SHORT_PRECISION < p1 + p2
    factor = f"CAST({{0}} AS DECIMAL({_SHORT_PRECISION + 1},{s1}))" if is_short else "{0}"
    return Form(result, f"CAST({factor} * {{1}} AS {sql_type(result)})", fails=precision > MAX_PRECISION)


def divided(left: Node, right: Node) -> Form:
    """The quotient."""
    (p1, s1), (p2, s2) = _digits(left), _digits(right)
    scale = max(_MIN_DIVISION_SCALE, s1 + p2 + 1)
    result = adjusted_type(p1 - s1 + s2 + scale, scale)
    return Form(result, quotient("{0}", (p1, s1), "{1}", (p2, s2), result), fails=True)


def divided_whole(left: Node, right: Node) -> str:
    """SQL of the whole part of the quotient, a long; it may raise."""
    whole = _exactly("whole", _digits(left), _digits(right), decimal_type(19, 0), beyond=_BEYOND_LONG)
    return f"CAST({whole} AS BIGINT)"


def remaining(left: Node, right: Node) -> Form:
    """The remainder, with the sign of the dividend."""
    (p1, s1), (p2, s2) = _digits(left), _digits(right)
    scale = max(s1, s2)
    whole = max(p1 - s1, p2 - s2)
    result = decimal_type(min(p1 - s1, p2 - s2) + scale, scale)
    if whole + scale <= MAX_PRECISION:
        common = f"DECIMAL({whole + scale},{scale})"
        sql = f"CAST(CAST({{0}} AS {common}) % CAST({{1}} AS {common}) AS {sql_type(result)})"
    else:
        sql = _exactly("rest", (p1, s1), (p2, s2), result)
    return Form(result, sql, fails=True)


def not_negative(rest: Node, divisor: Node) -> Form:
    """The remainder of ``pmod``: of a negative one and a positive divisor, the sum."""
    (precision, scale), (p2, s2) = _digits(rest), _digits(divisor)
    result = decimal_type(precision, scale)
    if p2 - s2 + scale < MAX_PRECISION:
        common = f"DECIMAL({p2 - s2 + scale + 1},{scale})"
        total = f"CAST(CAST(o.a AS {common}) + CAST(o.b AS {common}) AS {sql_type(result)})"
    else:
        total = _exactly("plus", (precision, scale), (p2, s2), result, ("o.a", "o.b"))
    return Form(result, _bound(f"CASE WHEN o.a < 0 AND o.b > 0 THEN {total} ELSE o.a END"), fails=True)


def quotient(
    dividend: str, left: Digits, divisor: str, right: Digits, result: PrimitiveType, *, tries: bool = False
) -> str:
    """SQL of a quotient, rounded half up.

    Args:
        dividend: SQL of a decimal.
        left: its digits.
        divisor: SQL of a decimal that is not 0.
        right: its digits.
        result: the type of the quotient, whose scale is at least that of `left` without that of `right`.
        tries: whether the quotient is NULL beyond the range.
    """
    shift = _scale(result) - left[1] + right[1]
    if max(left[0] + shift, right[0]) >= MAX_PRECISION:
        sql = _exactly("over", left, right, result, (dividend, divisor))
        return without_errors(sql) if tries else sql
    sign = "CASE WHEN (o.a < 0) = (o.b < 0) THEN 1 ELSE -1 END"
    amount = f"(abs(o.a) * {_integer(2 * 10**shift)} + abs(o.b)) // (2 * abs(o.b))"
    sql = _from_units(f"{sign} * ({amount})", result)
    return _bound(f"TRY({sql})" if tries else sql, units(dividend, *left), units(divisor, *right))


def whole_total(high: str, low: str, result: PrimitiveType) -> str:
    """SQL of a total of decimals, of the sums of their `limbs`; NULL beyond the range."""
    total = f"o.a * {_LIMB} + o.b"
    is_beyond = f"abs(CAST(o.a AS DOUBLE) * 1e19 + CAST(o.b AS DOUBLE)) > 1.01e{MAX_PRECISION}"
    return _bound(f"CASE WHEN {is_beyond} THEN NULL ELSE TRY({_from_units(total, result)}) END", high, low)


def limbs(value: str, precision: int, scale: int) -> tuple[str, str]:
    """SQL of the two limbs of a decimal, whose sums over rows have 128 bits."""
    number = units(value, precision, scale)
    return f"{number} // {_LIMB}", f"{number} % {_LIMB}"


def units(value: str, precision: int, scale: int) -> str:
    """SQL of the units of a decimal, as a HUGEINT."""
    if scale == 0:
        return f"CAST({value} AS HUGEINT)"
    if precision + scale <= MAX_PRECISION:
        # DuckDB computes the product of short decimals in 64 bits, whatever the result needs.
        number = f"CAST({value} AS DECIMAL({precision + scale},{scale}))"
        return f"CAST({number} * CAST('{10**scale}' AS DECIMAL({scale + 1},0)) AS HUGEINT)"
    return f"CAST(replace(CAST({value} AS VARCHAR), '.', '') AS HUGEINT)"


def _from_units(sql: str, result: PrimitiveType) -> str:
    """SQL of the decimal with these units; it raises if they have too many digits."""
    scale = _scale(result)
    whole = f"CAST({sql} AS DECIMAL({MAX_PRECISION},0))"
    if scale == 0:
        return f"CAST({whole} AS {sql_type(result)})"
    return (
        f"CAST({whole} * CAST('{'0.' + '1'.zfill(scale)}' AS DECIMAL({scale},{scale})) AS {sql_type(result)})"
    )


def _exactly(
    operation: str,
    left: Digits,
    right: Digits,
    result: PrimitiveType,
    operands: tuple[str, str] = ("{0}", "{1}"),
    beyond: str = _BEYOND,
) -> str:
    """SQL that calls one of `decimal_kernels`; where two values have no result, it raises `beyond`."""
    digits = decimal_of(result)
    assert digits is not None
    found = f"{decimal_call(operation, left, right, digits)}(o.a, o.b)"
    sql = f"CASE WHEN o.a IS NULL OR o.b IS NULL THEN NULL ELSE coalesce({found}, {beyond}) END"
    return _bound(sql, *operands)


def _bound(sql: str, one: str = "{0}", other: str = "{1}") -> str:
    """SQL in which ``o.a`` and ``o.b`` stand for two values that are computed once.

    Operands stay outside of lambdas, in which DuckDB takes no subquery.
    """
    return staged(sql, {"a": one, "b": other})


def _integer(value: int) -> str:
    return f"CAST('{value}' AS HUGEINT)"


def _digits(node: Node) -> Digits:
    digits = decimal_of(node.type)
    assert digits is not None
    return digits


def _scale(data_type: PrimitiveType) -> int:
    digits = decimal_of(data_type)
    assert digits is not None
    return digits[1]
