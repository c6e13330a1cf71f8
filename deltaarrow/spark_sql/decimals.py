"""Arithmetic of decimals: the types of results, and SQL that computes them exactly beyond 38 digits.

A decimal is an integer, its *units*, and a scale: 1.50 is 150 units of the scale 2. Spark computes each
operation exactly and rounds the result half up to the scale of its type, which has 38 digits at most; what
does not fit raises. DuckDB computes units in 128 bits. So each operation has two forms of SQL:

- the short one, in DuckDB's decimals or in one HUGEINT, where the types or the values of a row bound all
  that is computed by 38 digits;
- the long one, in pairs of HUGEINTs ``h`` and ``l`` that stand for ``h * 10^38 + l``, and in limbs of 19
  digits, of which a product has 38.

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
from typing import TypeAlias

from deltaarrow.schema import PrimitiveType
from deltaarrow.spark_sql.forms import staged, without_errors
from deltaarrow.spark_sql.nodes import Node
from deltaarrow.spark_sql.row_errors import raising
from deltaarrow.spark_sql.types import MAX_PRECISION, adjusted_type, decimal_of, decimal_type

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
_WORD = 10**MAX_PRECISION
_QUOTIENT_DIGITS = 39
"""Digits of the whole quotient with which Java computes a remainder."""

_BEYOND = raising("NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION", "a decimal result of more than 38 digits")


_SIGN = "CASE WHEN (o.a < 0) = (o.b < 0) THEN 1 ELSE -1 END"
"""SQL of the sign of a product and of a quotient."""

Stage: TypeAlias = dict[str, str]
"""SQL of values by name; see `staged`."""


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
        sql = f"CAST({{0}} AS {_sql(result)}) {sign} CAST({{1}} AS {_sql(result)})"
        return Form(result, f"CAST({sql} AS {_sql(result)})")
    common = f"DECIMAL({MAX_PRECISION},{scale})"
    if precision - 1 <= MAX_PRECISION and scale == _scale(result):
        return Form(result, f"CAST({{0}} AS {common}) {sign} CAST({{1}} AS {common})", fails=True)
    checks = _checks(MAX_PRECISION - scale - 1, (p1, s1), (p2, s2))
    long = _sum(left, right, sign, _scale(result))
    short = f"CAST(CAST(o.a AS {common}) {sign} CAST(o.b AS {common}) AS {_sql(result)})"
    return Form(result, _bound(_chosen(checks, long, short)), fails=True)


def multiplied(left: Node, right: Node) -> Form:
    """The product."""
    (p1, s1), (p2, s2) = _digits(left), _digits(right)
    scale, precision = s1 + s2, p1 + p2 + 1
    result = adjusted_type(precision, scale)
    if scale == _scale(result):
        # DuckDB computes the product of short decimals in 64 bits, whatever the result needs.
        is_short = max(p1, p2) <= _SHORT_PRECISION < p1 + p2
        factor = f"CAST({{0}} AS DECIMAL({_SHORT_PRECISION + 1},{s1}))" if is_short else "{0}"
        return Form(result, f"CAST({factor} * {{1}} AS {_sql(result)})", fails=precision > MAX_PRECISION)
    numbers = {"n": f"abs({units('o.a', p1, s1)})", "m": f"abs({units('o.b', p2, s2)})"}
    amount = staged(_rounded(scale - _scale(result)), numbers, *_product_stages("n", "m"))
    sql = _from_units(f"{_SIGN} * {amount}", result)
    if scale <= MAX_PRECISION:
        # A product that is not near 38 digits as a double has fewer.
        is_long = f"abs(CAST(o.a AS DOUBLE) * CAST(o.b AS DOUBLE)) >= 9.9e{MAX_PRECISION - 1 - scale}"
        sql = f"CASE WHEN {is_long} THEN {sql} ELSE CAST(o.a * o.b AS {_sql(result)}) END"
    return Form(result, _bound(sql), fails=True)


def divided(left: Node, right: Node) -> Form:
    """The quotient."""
    (p1, s1), (p2, s2) = _digits(left), _digits(right)
    scale = max(_MIN_DIVISION_SCALE, s1 + p2 + 1)
    result = adjusted_type(p1 - s1 + s2 + scale, scale)
    shift = _scale(result) - s1 + s2
    return Form(result, quotient(units("{0}", p1, s1), units("{1}", p2, s2), shift, p1, result), fails=True)


def divided_whole(left: Node, right: Node) -> str:
    """SQL of the whole part of the quotient, a long; it may raise."""
    precision, scale = _digits(left)
    shift = _digits(right)[1] - scale
    if shift < 0:
        # A divisor of so many units is greater than any dividend.
        is_beyond = f"abs(o.b) >= {_integer(10 ** (MAX_PRECISION + shift))}"
        whole = f"CASE WHEN {is_beyond} THEN 0 * o.a ELSE o.a // (o.b * {_integer(10**-shift)}) END"
    else:
        whole = f"{_SIGN} * {_divided_units(shift, precision, is_rounded=False)}"
    return _bound(f"CAST({whole} AS BIGINT)", units("{0}", precision, scale), units("{1}", *_digits(right)))


def remaining(left: Node, right: Node) -> Form:
    """The remainder, with the sign of the dividend."""
    (p1, s1), (p2, s2) = _digits(left), _digits(right)
    scale = max(s1, s2)
    whole = max(p1 - s1, p2 - s2)
    result = decimal_type(min(p1 - s1, p2 - s2) + scale, scale)
    common = f"DECIMAL({min(whole + scale, MAX_PRECISION)},{scale})"
    if whole + scale <= MAX_PRECISION:
        sql = f"CAST(CAST({{0}} AS {common}) % CAST({{1}} AS {common}) AS {_sql(result)})"
        return Form(result, sql, fails=True)
    short = f"CAST(CAST(o.a AS {common}) % CAST(o.b AS {common}) AS {_sql(result)})"
    numbers = {"x": units("o.a", p1, s1), "y": units("o.b", p2, s2)}
    rest = _rest_of_long_divisor(s1 - s2, numbers) if s1 > s2 else _rest_of_long_dividend(s2 - s1, numbers)
    checks = _checks(MAX_PRECISION - scale, (p1, s1), (p2, s2))
    return Form(result, _bound(_chosen(checks, _from_units(rest, result), short)), fails=True)


def not_negative(rest: Node, divisor: Node) -> Form:
    """The remainder of ``pmod``: of a negative one and a positive divisor, the sum."""
    (precision, scale), (p2, s2) = _digits(rest), _digits(divisor)
    result = decimal_type(precision, scale)
    if p2 - s2 + scale < MAX_PRECISION:
        common = f"DECIMAL({p2 - s2 + scale + 1},{scale})"
        total = f"CAST(o.a AS {common}) + CAST(o.b AS {common})"
    else:
        total = _sum(rest, divisor, "+", scale)
    sql = f"CASE WHEN o.a < 0 AND o.b > 0 THEN CAST({total} AS {_sql(result)}) ELSE o.a END"
    return Form(result, _bound(sql), fails=True)


def quotient(
    dividend: str, divisor: str, shift: int, precision: int, result: PrimitiveType, *, tries: bool = False
) -> str:
    """SQL of ``dividend * 10^shift / divisor`` as a decimal, rounded half up.

    Args:
        dividend: SQL of a HUGEINT.
        divisor: SQL of a HUGEINT that is not 0.
        shift: not negative.
        precision: the digits that the dividend has at most.
        result: the type of the decimal, in whose units the quotient is.
        tries: whether the quotient is NULL beyond the range.
    """
    amount = _divided_units(shift, precision, is_rounded=True)
    sql = _from_units(f"{_SIGN} * {amount}", result)
    return _bound(f"TRY({without_errors(sql)})" if tries else sql, dividend, divisor)


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
        return f"CAST({whole} AS {_sql(result)})"
    return f"CAST({whole} * CAST('{'0.' + '1'.zfill(scale)}' AS DECIMAL({scale},{scale})) AS {_sql(result)})"


def _bound(sql: str, one: str = "{0}", other: str = "{1}") -> str:
    """SQL in which ``o.a`` and ``o.b`` stand for two values that are computed once.

    Operands stay outside of lambdas, in which DuckDB takes no subquery.
    """
    return staged(sql, {"a": one, "b": other})


def _checks(least: int, *digits: tuple[int, int]) -> str:
    """Whether ``o.a`` or ``o.b``, of types with these digits, has more than `least` before the point."""
    return " OR ".join(
        f"abs({name}) >= {_power(least, *each)}"
        for name, each in zip(("o.a", "o.b"), digits, strict=True)
        if each[0] - each[1] > least
    )


def _chosen(checks: str, long: str, short: str) -> str:
    """SQL of one of two forms, neither of which could compute a value beside NULL."""
    return f"CASE WHEN o.a IS NULL OR o.b IS NULL THEN NULL WHEN {checks} THEN {long} ELSE {short} END"


def _sum(left: Node, right: Node, sign: str, scale: int) -> str:
    """SQL of the sum of ``o.a`` and ``o.b`` as a decimal of 38 digits and this scale.

    Each operand is a number of units of the result and a rest, in units of the greater scale.
    """
    digits = _digits(left), _digits(right)
    most = max(scale for _, scale in digits)
    dropped = most - scale
    numbers, wholes, rests, shifts = {}, {}, [], []
    for name, (precision, own), negated in zip("ab", digits, ("", "-" if sign == "-" else ""), strict=True):
        numbers[name] = f"{negated}{units(f'o.{name}', precision, own)}"
        gained = most - own
        wholes[f"w{name}"], rest = f"o.{name}", ""
        if gained < dropped:
            unit = _integer(10 ** (dropped - gained))
            wholes[f"w{name}"] = f"o.{name} // {unit}"
            rest = f" + (o.{name} - o.w{name} * {unit}) * {_integer(10**gained)}"
        rests.append(rest)
        shifts.append(max(gained - dropped, 0))
    one, other = ("o.wb", "o.wa") if shifts[1] else ("o.wa", "o.wb")
    shift, total = max(shifts), f"{one} + {other}"
    is_beyond = f"abs(CAST({one} AS DOUBLE) * 1e{shift} + CAST({other} AS DOUBLE)) > 1.01e{MAX_PRECISION}"
    if shift:
        # Half of the greater number first: with the other sign, the other brings it back.
        unit = _integer(10**shift)
        total = f"(({one} // 2) * {unit} + {other}) + ({one} - {one} // 2) * {unit}"
        is_beyond += f" OR abs({one}) >= {_integer(2 * 10 ** (MAX_PRECISION - shift))}"
    stages = [numbers, wholes, {"n": f"CASE WHEN {is_beyond} THEN {_BEYOND} ELSE {total} END"}]
    found = "o.n"
    if dropped:
        unit, half = _integer(10**dropped), _integer(5 * 10 ** (dropped - 1))
        stages[2]["r"] = f"0{''.join(rests)}"
        carry = f"CASE WHEN o.r >= {unit} THEN 1 WHEN o.r >= 0 THEN 0 WHEN o.r >= -{unit} THEN -1 ELSE -2 END"
        stages += [{"c": carry}, {"n": "o.n + o.c", "r": f"o.r - o.c * {unit}"}]
        found = f"o.n + CASE WHEN o.r > {half} OR (o.r = {half} AND o.n >= 0) THEN 1 ELSE 0 END"
    return staged(_from_units(found, decimal_type(MAX_PRECISION, scale)), *stages)


def _product_stages(one: str, other: str) -> tuple[Stage, ...]:
    """The pair ``h`` and ``l`` of the product of two HUGEINTs of at most 38 digits, not negative, by name."""
    return (
        {"u1": f"o.{one} // {_LIMB}", "v1": f"o.{other} // {_LIMB}"},
        {"u0": f"o.{one} - o.u1 * {_LIMB}", "v0": f"o.{other} - o.v1 * {_LIMB}"},
        {"z1": f"(o.u0 * o.v0) // {_LIMB}"},
        {"x0": "o.u1 * o.v0 + o.z1"},
        {"x1": f"o.x0 // {_LIMB}"},
        {"y0": f"o.u0 * o.v1 + (o.x0 - o.x1 * {_LIMB})"},
        {"y1": f"o.y0 // {_LIMB}"},
        {
            "h": "o.u1 * o.v1 + o.x1 + o.y1",
            "l": f"(o.y0 - o.y1 * {_LIMB}) * {_LIMB} + (o.u0 * o.v0 - o.z1 * {_LIMB})",
        },
    )


def _power_stages(name: str, exponent: int) -> tuple[Stage, ...]:
    """The pair ``i`` and ``j`` of the number of this name times a power of ten of at most 38 digits."""
    unit = _integer(10 ** (MAX_PRECISION - exponent))
    return {"i": f"o.{name} // {unit}"}, {"j": f"(o.{name} - o.i * {unit}) * {_integer(10**exponent)}"}


def _division_stages() -> tuple[Stage, ...]:
    """The quotient ``q`` and the remainder of the pair ``i`` and ``j`` by ``d``, which is greater than ``i``.

    Dividend and divisor are first multiplied by ``t``, so that the divisor ``v`` has 38 digits, and its first
    limb gives an estimate of each limb of the quotient that is at most 2 too great. ``r`` is the remainder of
    that division, ``t`` times the wanted one.
    """
    less = "CASE WHEN o.{0} >= 0 THEN 0 WHEN o.{0} + o.v >= 0 THEN 1 ELSE 2 END"
    rest = "CASE WHEN o.{0} >= 0 THEN o.{0} WHEN o.{0} + o.v >= 0 THEN o.{0} + o.v ELSE o.{0} + o.v + o.v END"
    return (
        {"t": f"{_integer(_WORD - 1)} // o.d"},
        {"v": "o.d * o.t"},
        {"f": f"o.v // {_LIMB}"},
        {"g": f"o.v - o.f * {_LIMB}"},
        *_product_stages("j", "t"),
        {"e": f"o.l // {_LIMB}", "r1": "o.i * o.t + o.h"},
        {"k1": "o.r1 // o.f"},
        {"b1": f"(o.r1 - o.k1 * o.f) * {_LIMB} + o.e - o.k1 * o.g"},
        {"q1": f"o.k1 - {less.format('b1')}", "r2": rest.format("b1")},
        {"k2": "o.r2 // o.f"},
        {"b2": f"(o.r2 - o.k2 * o.f) * {_LIMB} + (o.l - o.e * {_LIMB}) - o.k2 * o.g"},
        {"q": f"o.q1 * {_LIMB} + (o.k2 - {less.format('b2')})", "r": rest.format("b2")},
    )


def _rounded(digits: int) -> str:
    """SQL of the pair ``h`` and ``l`` without its last digits, rounded half up."""
    if digits > MAX_PRECISION:
        # The low half of the pair is less than the digit that decides.
        return "((o.h + 5) // 10)"
    low = f"(o.l + {_integer(5 * 10 ** (digits - 1))}) // {_integer(10**digits)}"
    high = f"o.h * {_integer(10 ** (MAX_PRECISION - digits))}"
    return f"CASE WHEN o.h >= {_integer(10**digits)} THEN {_BEYOND} ELSE {high} + {low} END"


def _divided_units(shift: int, precision: int, *, is_rounded: bool) -> str:
    """SQL of the amount of ``o.a * 10^shift / o.b``, rounded half up or without its fraction."""
    most = MAX_PRECISION - shift
    numbers = {"n": "abs(o.a)", "d": "abs(o.b)"}
    up = "{0} + CASE WHEN {1} >= {2} - {1} THEN 1 ELSE 0 END" if is_rounded else "{0}"
    if most > 0:
        product = f"o.n * {_integer(10**shift)}"
        stages = {"n": product}, {"q": "o.n // o.d"}, {"r": "o.n - o.q * o.d"}
        short = staged(up.format("o.q", "o.r", "o.d"), numbers, *stages)
        if precision <= most:
            return short
    beyond = max(shift - MAX_PRECISION, 0)
    if beyond:
        # A dividend that is too great here has a quotient of more than 38 digits, whatever the divisor.
        is_beyond = f"abs(o.a) >= {_integer(10 ** (MAX_PRECISION - beyond))}"
        numbers["n"] = f"CASE WHEN {is_beyond} THEN {_BEYOND} ELSE abs(o.a) * {_integer(10**beyond)} END"
    high, low = _power_stages("n", shift - beyond)
    checked = {"i": f"CASE WHEN o.i >= o.d THEN {_BEYOND} ELSE o.i END"}
    long = staged(up.format("o.q", "o.r", "o.v"), numbers, high, low, checked, *_division_stages())
    return f"CASE WHEN abs(o.a) >= {_integer(10**most)} THEN {long} ELSE {short} END" if most > 0 else long


def _rest_of_long_divisor(shift: int, numbers: Stage) -> str:
    """SQL of ``x % (y * 10^shift)``."""
    # A divisor of so many units is greater than any dividend.
    fits = f"abs(o.y) < {_integer(10 ** (MAX_PRECISION - shift))}"
    return staged(f"CASE WHEN {fits} THEN o.x % (o.y * {_integer(10**shift)}) ELSE o.x END", numbers)


def _rest_of_long_dividend(shift: int, numbers: Stage) -> str:
    """SQL of ``(x * 10^shift) % y``.

    Java finds no remainder if the quotient has more than 39 digits, and others than zeros behind them.
    """
    beyond = f"length(CAST(o.c AS VARCHAR)) - {_QUOTIENT_DIGITS - MAX_PRECISION}"
    is_unsure = f"o.c >= 10 AND o.q % CAST('1' || repeat('0', {beyond}) AS HUGEINT) <> 0"
    sign = "CASE WHEN o.x < 0 THEN -1 ELSE 1 END"
    return staged(
        f"CASE WHEN {is_unsure} THEN {_BEYOND} ELSE {sign} * (o.r // o.t) END",
        numbers,
        {"n": "abs(o.x)", "d": "abs(o.y)"},
        *_power_stages("n", shift),
        {"c": "o.i // o.d"},
        {"i": "o.i - o.c * o.d"},
        *_division_stages(),
    )


def _power(exponent: int, precision: int, scale: int) -> str:
    """SQL of a power of ten in the type of a decimal, or of its least unit if that is greater."""
    value = "1".ljust(exponent + 1, "0") if exponent >= 0 else "0." + "1".zfill(-exponent)
    return f"CAST('{value}' AS DECIMAL({precision},{scale}))"


def _integer(value: int) -> str:
    return f"CAST('{value}' AS HUGEINT)"


def _digits(node: Node) -> tuple[int, int]:
    digits = decimal_of(node.type)
    assert digits is not None
    return digits


def _scale(data_type: PrimitiveType) -> int:
    digits = decimal_of(data_type)
    assert digits is not None
    return digits[1]


def _sql(data_type: PrimitiveType) -> str:
    digits = decimal_of(data_type)
    assert digits is not None
    return f"DECIMAL({digits[0]},{digits[1]})"
