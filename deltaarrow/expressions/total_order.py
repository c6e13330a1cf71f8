"""SQL's comparisons of floating point numbers, spelled out in the predicate tree.

`Compare` and `IsIn` compare as IEEE 754 does: every comparison with NaN is FALSE, except ``!=``. In Spark,
DuckDB and Polars, NaN equals itself and is greater than every number. Trees of their SQL spell this out:

=================  =========================================================
in SQL             in the tree
=================  =========================================================
``d > 2``          ``d > 2 OR isnan(d)``, likewise ``>=``
``d = NaN``        ``isnan(d)``; the other operators use ``isnan`` too
``d IN (1, NaN)``  ``d IN (1) OR isnan(d)``
``d = e``          ``d = e OR (isnan(d) AND isnan(e))``, and ``!=`` is its NOT
``d > e``          ``d > e OR (isnan(d) AND NOT isnan(e))``
``d >= e``         ``d >= e OR (isnan(d) AND e IS NOT NULL)``
=================  =========================================================

Each has the value of the SQL on every row, NULL included, and so does its NOT.
"""

import math

from deltaarrow.errors import InvalidPredicateError
from deltaarrow.expressions.predicate_binding import is_lossless_cast, resolve_column
from deltaarrow.expressions.predicates import (
    MIRRORED,
    NEGATED,
    And,
    Cast,
    Column,
    Compare,
    CompareOp,
    IsIn,
    IsNan,
    IsNull,
    Literal,
    Not,
    Operand,
    Or,
    Predicate,
    VariantGet,
)
from deltaarrow.schema import FLOATING, StructType, to_arrow_type

__all__ = ["in_total_order", "is_in_total_order", "ordered"]


def ordered(op: CompareOp, left: Column | VariantGet, right: Column | VariantGet | Literal) -> Predicate:
    """Compare a floating point column with another one, or with a number, in the order of SQL engines.

    >>> ordered(">=", Column(("d",)), Literal(2.0))
    Or(operands=(Compare(op='>=', left=Column(path=('d',)), right=Literal(value=2.0, type=None)), \
IsNan(column=Column(path=('d',)))))
    """
    if not isinstance(right, Literal):
        return _of_columns(op, left, right)
    plain = Compare(op, left, right)
    if isinstance(right.value, float) and math.isnan(right.value):
        is_nan = IsNan(left)
        found: dict[CompareOp, Predicate] = {"=": is_nan, ">=": is_nan, "!=": Not(is_nan), "<": Not(is_nan)}
        found |= {"<=": Or((is_nan, Not(is_nan))), ">": And((is_nan, Not(is_nan)))}
        return found[op]
    if op in (">", ">=") and right.value is not None:
        return Or((plain, IsNan(left)))
    return plain


def _of_columns(op: CompareOp, left: Column | VariantGet, right: Column | VariantGet) -> Predicate:
    if op == "!=":
        return Not(_of_columns("=", left, right))
    if op in ("<", "<="):
        return _of_columns(MIRRORED[op], right, left)
    plain = Compare(op, left, right)
    beside: dict[str, Predicate] = {"=": IsNan(right), ">": Not(IsNan(right)), ">=": Not(IsNull(right))}
    return Or((plain, And((IsNan(left), beside[op]))))


def is_in_total_order(predicate: Predicate) -> Compare | None:
    """The SQL comparison that a predicate spells out; None for any other predicate."""
    match predicate:
        case Or((Compare(op, Column() as left, (Column() | Literal()) as right), _)):
            return Compare(op, left, right) if predicate == ordered(op, left, right) else None
    return None


def in_total_order(predicate: Predicate, schema: StructType) -> Predicate:
    """Spell out what a predicate means in an engine where NaN equals itself and is the greatest number.

    Columns missing from the schema are left as they are.
    """
    match predicate:
        case And(operands) | Or(operands):
            return type(predicate)(tuple(in_total_order(each, schema) for each in operands))
        case Not(Compare(op, left, right)) if _float_column(left, schema) and isinstance(right, Literal):
            # In a total order, NOT inverts a comparison.
            return in_total_order(Compare(NEGATED[op], left, right), schema)
        case Not(operand):
            return Not(in_total_order(operand, schema))
        case IsNull(operand) if isinstance(operand, Predicate):
            return IsNull(in_total_order(operand, schema))
        case Compare(op, Literal() as left, (Column() | Cast()) as right):
            return in_total_order(Compare(MIRRORED[op], right, left), schema)
        case Compare(op, left, right):
            column = _float_column(left, schema)
            other = right if isinstance(right, Literal) else _float_column(right, schema)
            return predicate if column is None or other is None else ordered(op, column, other)
        case IsIn(column, values, arrow_type) if _float_column(column, schema) is not None:
            numbers = tuple(each for each in values if each == each)
            rest = IsIn(column, numbers, arrow_type)
            return rest if len(numbers) == len(values) else Or((rest, IsNan(column)))
    return predicate


def _float_column(operand: Operand, schema: StructType) -> Column | VariantGet | None:
    """The floating point column that an operand is, or is losslessly cast from."""
    if isinstance(operand, VariantGet):
        return operand if operand.type in FLOATING else None
    column = operand.operand if isinstance(operand, Cast) else operand
    if not isinstance(column, Column):
        return None
    try:
        data_type = resolve_column(schema, column.path)[-1].type
    except InvalidPredicateError:
        return None
    if data_type not in FLOATING:
        return None
    is_kept = not isinstance(operand, Cast) or is_lossless_cast(to_arrow_type(data_type), operand.type)
    return column if is_kept else None
