"""Operators of expressions: arithmetic, comparison and logic.

Overflow and division by zero raise, as in Spark's ANSI mode. Where DuckDB would compute something else than
Spark (the sign of zero, NaN, decimal quotients), the SQL spells out Spark's result.
"""

import re

from deltaarrow.errors import SchemaMismatchError, UnsupportedFeatureError
from deltaarrow.expressions import negated
from deltaarrow.schema import DataType, IntervalType, MapType, PrimitiveType, types_within
from deltaarrow.spark_sql.functions.function import same_type
from deltaarrow.spark_sql.tree.nodes import (
    Call,
    ColumnRef,
    Constant,
    Node,
    call,
    is_volatile,
    mismatched,
    refused,
    walk,
)
from deltaarrow.spark_sql.tree.row_errors import raising
from deltaarrow.spark_sql.types.casts import cast
from deltaarrow.spark_sql.types.coercion import as_number, is_implicit
from deltaarrow.spark_sql.types.decimals import added, divided, divided_whole, multiplied, remaining
from deltaarrow.spark_sql.types.nested import leaf_types
from deltaarrow.spark_sql.types.nested_order import in_order
from deltaarrow.spark_sql.types.type_rules import (
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGRAL,
    LONG,
    STRING,
    TIMESTAMPS,
    VARIANT,
    VOID,
    as_decimal,
    decimal_of,
    decimal_type,
    has_same_shape,
    is_numeric,
    mixes_text,
    sql_type,
    type_name,
    wider_type,
)

__all__ = [
    "add",
    "all_of",
    "any_of",
    "arithmetic",
    "compare",
    "divide",
    "divide_whole",
    "is_in",
    "is_null",
    "negate",
    "negative",
    "remainder",
    "wrong_operands",
]

_DIVISION_BY_ZERO = raising("DIVIDE_BY_ZERO", "division by zero; try_divide gives NULL")
_REMAINDER_BY_ZERO = raising("REMAINDER_BY_ZERO", "remainder by zero; try_mod gives NULL")
_DIFFERENT, _WRONG = "BINARY_OP_DIFF_TYPES", "BINARY_OP_WRONG_TYPE"
"""Spark's kinds of errors for operands of two types, and of one type that an operator does not take."""

_BY_ORDER = frozenset({"<", "<=", ">", ">="})


def arithmetic(left: Node, right: Node, sign: str) -> Node:
    """The result of an operator of arithmetic on two numbers, by its `sign`."""
    if sign in ("/", "div", "%"):
        return {"/": divide, "div": divide_whole, "%": remainder}[sign](left, right)
    return add(left, right, sign)


def add(left: Node, right: Node, sign: str) -> Node:
    """The sum, difference or product of two numbers, by `sign`."""
    left, right = _numbers(left, right)
    if decimal_of(left.type) is None:
        sql = _in_turn(right, f"{{0}} {sign} {{1}}")
        return _strict(call(sign, (left, right), left.type, sql, fails=left.type in INTEGRAL))
    form = multiplied(left, right) if sign == "*" else added(left, right, sign)
    return _strict(call(sign, (left, right), form.type, _in_turn(right, form.sql), fails=form.fails))


def divide(left: Node, right: Node) -> Node:
    """The quotient: a decimal for two decimals, otherwise a double."""
    if left.type == VOID:
        left = Constant(None, DOUBLE)
    left, right = _numbers(left, right)
    if decimal_of(left.type) is None:
        left, right = cast(left, DOUBLE), cast(right, DOUBLE)
        return _strict(call("/", (left, right), DOUBLE, _guarded("{0} / {1}"), fails=True))
    form = divided(left, right)
    return _strict(call("/", (left, right), form.type, _guarded(form.sql), fails=True))


def divide_whole(left: Node, right: Node) -> Node:
    """``div``: the whole part of the quotient of two integral numbers or decimals, a long."""
    left, right = _beside_number(left, right), _beside_number(right, left)
    for node in (left, right):
        if node.type in (FLOAT, DOUBLE):
            raise refused(f"div of {type_name(node.type)}")
    sql = "{0} // {1}"
    if left.type in INTEGRAL and right.type in INTEGRAL:
        left, right = cast(left, LONG), cast(right, LONG)
    else:
        left, right = _as_decimal(left), _as_decimal(right)
        sql = divided_whole(left, right)
    return _strict(call("div", (left, right), LONG, _guarded(sql), fails=True))


def remainder(left: Node, right: Node) -> Node:
    """``%``: the remainder, with the sign of the dividend."""
    left, right = _numbers(left, right)
    if decimal_of(left.type) is not None:
        form = remaining(left, right)
        sql = _guarded(form.sql, _REMAINDER_BY_ZERO)
        return _strict(call("%", (left, right), form.type, sql, fails=True))
    # DuckDB reports an overflow for the least integer % -1.
    sql = "CASE WHEN {1} = -1 THEN {0} - {0} ELSE {0} % {1} END" if left.type in INTEGRAL else "{0} % {1}"
    return _strict(call("%", (left, right), left.type, _guarded(sql, _REMAINDER_BY_ZERO), fails=True))


def negative(operand: Node) -> Node:
    """The number with the opposite sign, or the same length of time in the other direction."""
    if isinstance(operand.type, IntervalType):
        return call("-", (operand,), operand.type, "(-{0})", fails=True)
    operand = as_number(operand, "minus")
    if isinstance(operand, Constant):
        value = operand.value
        return operand if value is None else Constant(negated(value), operand.type, folded=True)  # type: ignore[arg-type]
    if operand.type in (FLOAT, DOUBLE):
        # DuckDB makes -x < NaN to x > -NaN, but NaN is the greatest number whatever its sign.
        return call("-", (operand,), operand.type, f"({{0}} * CAST(-1 AS {sql_type(operand.type)}))")
    return call("-", (operand,), operand.type, "(-{0})", fails=operand.type in INTEGRAL)


def compare(left: Node, right: Node, operator: str) -> Node:
    """A comparison: NaN equals itself and is the greatest number, zeros are equal, text goes by bytes."""
    left, right = _comparable(left, right)
    if operator in _BY_ORDER:
        left, right = (in_order(each, "a comparison") for each in (left, right))
    sql = f"({{0}} {operator} {{1}})"
    if _is_fixed(left) or _is_fixed(right):
        # DuckDB rewrites i + 1 > 0 to i > -1, which cannot overflow. It does not see into `greatest`.
        if "DISTINCT" in operator and any(each.can_fail and not _is_fixed(each) for each in (left, right)):
            return _compare_with_known(left, right, operator)
        sides = [
            f"greatest({{{place}}})" if each.can_fail else f"{{{place}}}"
            for place, each in enumerate((left, right))
        ]
        sql = f"({sides[0]} {operator} {sides[1]})"
    if "DISTINCT" not in operator:
        sql = _in_turn(right, sql)
    return call(operator, (left, right), BOOLEAN, sql)


def _compare_with_known(left: Node, right: Node, operator: str) -> Node:
    """``<=>`` of a value that may fail with a constant that is not NULL."""
    if not any(isinstance(each, Constant) and each.value is not None for each in (left, right)):
        raise refused("<=> of a constant and a value whose computation may fail")
    place, is_equal = int(isinstance(left, Constant)), "NOT" in operator
    outcome, sign = ("FALSE", "=") if is_equal else ("TRUE", "<>")
    sql = f"CASE WHEN {{{place}}} IS NULL THEN {outcome} ELSE {{0}} {sign} {{1}} END"
    return call(operator, (left, right), BOOLEAN, sql)


def is_in(operand: Node, values: tuple[Node, ...]) -> Node:
    """``IN``: whether the operand equals one of the values; NULL if that depends on a NULL."""
    if not values:
        raise SchemaMismatchError("[INVALID_SQL_SYNTAX.EMPTY_IN_PREDICATE] IN () has no values")
    nodes, common = same_type((operand, *(_named_like(operand, each) for each in values)))
    _ensure_comparable(common)
    places = [f"{{{place}}}" for place in range(1, len(nodes))]
    sql = f"{{0}} IN ({', '.join(places)})"
    if any(node.can_fail for node in nodes[1:]):
        # As in Spark, what follows an equal value is not evaluated.
        equal = " ".join(f"WHEN {{0}} = {place} THEN TRUE" for place in places)
        unknown = " OR ".join(f"{place} IS NULL" for place in places)
        sql = f"CASE WHEN {{0}} IS NULL THEN NULL {equal} WHEN {unknown} THEN NULL ELSE FALSE END"
    elif nodes[0].can_fail:
        sql = f"CASE WHEN {{0}} IS NULL THEN NULL ELSE {sql} END"
    return call("in", nodes, BOOLEAN, f"({sql})")


def is_null(operand: Node) -> Node:
    """Whether the operand is NULL."""
    return call("is null", (operand,), BOOLEAN, "({0} IS NULL)")


def negate(operand: Node) -> Node:
    """``NOT``."""
    return call("not", (_condition(operand),), BOOLEAN, "(NOT {0})")


def all_of(operands: tuple[Node, ...]) -> Node:
    """``AND``; as in Spark, what follows a FALSE is not evaluated."""
    return _connected(operands, "AND", "NOT {}", "FALSE")


def any_of(operands: tuple[Node, ...]) -> Node:
    """``OR``; as in Spark, what follows a TRUE is not evaluated."""
    return _connected(operands, "OR", "{}", "TRUE")


def _connected(operands: tuple[Node, ...], word: str, decides: str, outcome: str) -> Node:
    if STRING in (first := {each.type for each in operands[:2]}) and BOOLEAN not in first:
        raise refused(f"{word} of text without a cast")
    for node in operands:
        if not is_implicit(node.type, BOOLEAN):
            others = [each.type for each in operands if each is not node]
            raise wrong_operands(node.type, others[0], f"{type_name(node.type)} as a condition")
    nodes = tuple(map(_condition, operands))
    places = [f"{{{place}}}" for place in range(len(nodes))]
    sql = "(" + f" {word} ".join(places) + ")"
    if any(node.can_fail for node in nodes):
        # DuckDB may evaluate all operands of AND and OR, but a CASE branch only on its rows.
        last = max(1, *(place for place, node in enumerate(nodes) if node.can_fail))
        branches = " ".join(f"WHEN {decides.format(place)} THEN {outcome}" for place in places[:last])
        sql = f"CASE {branches} ELSE {sql} END"
    return call(word.lower(), nodes, BOOLEAN, sql)


def _condition(node: Node) -> Node:
    if not is_implicit(node.type, BOOLEAN):
        raise mismatched("UNEXPECTED_INPUT_TYPE", f"{type_name(node.type)} as a condition")
    return cast(node, BOOLEAN)


def wrong_operands(one: DataType, other: DataType, what: str) -> UnsupportedFeatureError:
    """The error for operands of types that an operator does not take.

    Spark first casts a text to the other type, and a decimal beside a double to a double.
    """
    is_text = STRING in (one, other) and all(isinstance(each, PrimitiveType) for each in (one, other))
    is_decimal = (decimal_of(one) is None) != (decimal_of(other) is None)
    is_cast = is_text or (is_decimal and {one, other} & {FLOAT, DOUBLE})
    return mismatched(_WRONG if is_cast or has_same_shape(one, other) else _DIFFERENT, what)


def _numbers(left: Node, right: Node) -> tuple[Node, Node]:
    """Two operands of arithmetic: both decimal with their own digits, or both of one other type."""
    left, right = _beside_number(left, right), _beside_number(right, left)
    if decimal_of(left.type) is None and decimal_of(right.type) is None:
        common = wider_type(left.type, right.type)
        return cast(left, common), cast(right, common)
    if {left.type, right.type} & {FLOAT, DOUBLE}:
        return cast(left, DOUBLE), cast(right, DOUBLE)
    return _as_decimal(left), _as_decimal(right)


def _beside_number(operand: Node, other: Node) -> Node:
    """An operand of arithmetic: a text and a NULL are cast as the other operand needs it."""
    if operand.type == VOID:
        return cast(operand, DOUBLE if other.type == VOID else _beside_number(other, operand).type)
    if operand.type == STRING and is_numeric(other.type):
        return cast(operand, wider_type(STRING, other.type))
    if not is_numeric(operand.type):
        what = f"arithmetic of {type_name(operand.type)} and {type_name(other.type)} without a cast"
        if {operand.type, other.type} & {DATE, *TIMESTAMPS}:
            raise refused(what)  # Spark computes some of these.
        raise wrong_operands(operand.type, other.type, what)
    return operand


def _strict(found: Node) -> Node:
    """The call of an arithmetic operator, or NULL if an operand is NULL whatever the row."""
    assert isinstance(found, Call)
    if not any(isinstance(each, Constant) and each.value is None for each in found.operands):
        return found
    if any(each.can_fail for each in found.operands):
        # Whether Spark computes the other operand depends on what its optimizer knows.
        raise refused("arithmetic of NULL and a value whose computation may fail")
    return Constant(None, found.type)


def _as_decimal(node: Node) -> Node:
    """An integral operand as a decimal; a literal has only the digits that it shows."""
    if decimal_of(node.type) is not None:
        return node
    if isinstance(node, Constant) and isinstance(node.value, int) and not node.folded:
        return cast(node, decimal_type(len(str(abs(node.value))), 0))
    digits = as_decimal(node.type)
    assert digits is not None
    return cast(node, decimal_type(*digits))


def _comparable(left: Node, right: Node) -> tuple[Node, Node]:
    one_decimal = (decimal_of(left.type) is None) != (decimal_of(right.type) is None)
    if one_decimal and (left.type in INTEGRAL or right.type in INTEGRAL):
        left, right = _as_decimal(left), _as_decimal(right)
    right = _named_like(left, right)
    try:
        common = wider_type(left.type, right.type, _DIFFERENT)
        _ensure_comparable(common)
        if common not in (left.type, right.type) and _mix_texts(left.type, right.type):
            raise refused(f"a comparison of {type_name(left.type)} and {type_name(right.type)}")
    except UnsupportedFeatureError as error:
        names = [f"`{'.'.join(each.path)}`" for each in (left, right) if isinstance(each, ColumnRef)]
        if not names:
            raise
        named = re.match(r"\[(.*?)\] ", str(error))
        what = f"{error.feature}, for the column {' and '.join(names)},"
        raise refused(what, error_class=None if named is None else named[1]) from error
    return cast(left, common), cast(right, common)


def _ensure_comparable(data_type: DataType) -> None:
    within, what = list(types_within(data_type)), f"a comparison of {type_name(data_type)}"
    if any(isinstance(each, MapType) for each in within):
        raise mismatched("INVALID_ORDERING_TYPE", what)
    if VARIANT in within:
        raise refused(what)


def _named_like(one: Node, other: Node) -> Node:
    """The other operand, with the names that the first one has in structs; they are compared by position."""
    return cast(other, one.type) if has_same_shape(one.type, other.type, by_name=False) else other


def _mix_texts(one: DataType, other: DataType) -> bool:
    """Whether texts and other values meet inside of nested values, where Spark casts neither."""
    is_nested = not isinstance(one, PrimitiveType) and not isinstance(other, PrimitiveType)
    return is_nested and any(map(mixes_text, leaf_types(one), leaf_types(other)))


def _is_fixed(node: Node) -> bool:
    return not any(isinstance(each, ColumnRef) for each in walk(node)) and not is_volatile(node)


def _in_turn(right: Node, sql: str) -> str:
    """Evaluate the right operand only if the left one is not NULL, as Spark does."""
    return f"CASE WHEN {{0}} IS NULL THEN NULL ELSE {sql} END" if right.can_fail else sql


def _guarded(sql: str, error: str = _DIVISION_BY_ZERO) -> str:
    """Evaluate the divisor first, and the dividend only if the divisor is not NULL, as Spark does."""
    zero = f"WHEN {{1}} = 0 AND {{0}} IS NOT NULL THEN {error}"
    return f"CASE WHEN {{1}} IS NULL THEN NULL {zero} ELSE {sql} END"
