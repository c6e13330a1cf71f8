"""Predicate trees as pyarrow expressions, with the tree's comparison of NaN."""

import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from deltaarrow.errors import InvalidPredicateError
from deltaarrow.expressions.literals import literal_scalar, literal_type
from deltaarrow.expressions.predicates import (
    And,
    Cast,
    Column,
    Compare,
    Constant,
    IsIn,
    IsNan,
    IsNull,
    Literal,
    LiteralValue,
    Not,
    Opaque,
    Operand,
    Or,
    Predicate,
    StartsWith,
    VariantGet,
    not_on_rows,
)

if TYPE_CHECKING:
    import pyarrow.compute as pc

__all__ = ["column_expression", "to_arrow"]

_Connective: TypeAlias = "Callable[[pc.Expression, pc.Expression], pc.Expression]"
_OPERATORS: dict[str, _Connective] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def column_expression(path: tuple[str, ...]) -> "pc.Expression":
    """The dataset column with a path."""
    import pyarrow.compute as pc

    return pc.field(*path)


def to_arrow(
    predicate: Predicate, column: "Callable[[tuple[str, ...]], pc.Expression]" = column_expression
) -> "pc.Expression":
    """A pyarrow expression that keeps the same rows.

    It is TRUE on the same rows. On other rows it may be FALSE instead of NULL, because pyarrow prunes
    fragments better by a plain ``is_in`` than by the one that knows NULL.

    Args:
        predicate: a tree without `Opaque` parts.
        column: returns the expression of a column for its path.

    Raises:
        InvalidPredicateError: a part is `Opaque`, or a `VariantGet`.
    """
    import pyarrow.compute as pc

    def operand(node: Operand) -> pc.Expression:
        match node:
            case Column(path):
                return column(path)
            case Cast(of, target):
                return column(of.path).cast(target)
            case Literal():
                return pc.scalar(literal_scalar(node))
            case VariantGet():
                raise not_on_rows(node)

    def rendered(node: Predicate, exact: bool) -> pc.Expression:
        match node:
            case Compare(op, left, Literal(float() as value)) if math.isnan(value):
                # pyarrow compares NaN with a fragment's bounds as if it were a number.
                other = operand(left)
                return pc.if_else(other.is_valid(), op == "!=", pa.scalar(None, pa.bool_()))
            case Compare(op, left, right):
                return _OPERATORS[op](operand(left), operand(right))
            case IsIn(of, values, arrow_type):
                field = column(of.path)
                found = _balanced(
                    operator.or_, [field.isin(each) for each in _value_sets(values, arrow_type)]
                )
                return pc.if_else(field.is_valid(), found, pa.scalar(None, pa.bool_())) if exact else found
            case StartsWith(of, prefix):
                return pc.starts_with(operand(of), prefix)
            case IsNan(of):
                return pc.is_nan(operand(of))
            case IsNull(of):
                value = operand(of) if isinstance(of, Column | VariantGet) else rendered(of, exact=True)
                return value.is_null()
            case And(operands):
                return joined(operator.and_, operands, exact)
            case Or(operands):
                return joined(operator.or_, operands, exact)
            case Not(IsNull(Column(path))):
                return column(path).is_valid()
            case Not(of):
                return ~rendered(of, exact=True)
            case Constant(value):
                return pc.scalar(pa.scalar(value, pa.bool_()))
            case Opaque(reason):
                raise InvalidPredicateError(f"{reason} is not supported in a condition")

    def joined(connective: _Connective, operands: tuple[Predicate, ...], exact: bool) -> pc.Expression:
        return _balanced(connective, [rendered(each, exact) for each in operands])

    return rendered(predicate, exact=False)


def _balanced(connective: _Connective, terms: "list[pc.Expression]") -> "pc.Expression":
    """Join terms in balanced pairs: pyarrow recurses into an expression, which may have thousands."""
    if not terms:
        import pyarrow.compute as pc

        return pc.scalar(connective is operator.and_)
    while len(terms) > 1:
        pairs = [connective(*pair) for pair in zip(terms[::2], terms[1::2], strict=False)]
        terms = pairs + terms[2 * len(pairs) :]
    return terms[0]


def _value_sets(values: tuple[LiteralValue, ...], arrow_type: pa.DataType | None) -> list[pa.Array]:
    """The values as arrays, one per type."""
    by_type: dict[pa.DataType, list[LiteralValue]] = {}
    for value in values:
        if value != value:
            continue  # pyarrow finds NaN in a set; in the tree it equals nothing
        members = by_type.setdefault(literal_type(Literal(value, arrow_type)), [])
        # pyarrow distinguishes zeros by sign in a lookup, but not in comparisons.
        members += [0.0, -0.0] if isinstance(value, float) and value == 0 else [value]
    return [pa.array(members, member_type) for member_type, members in by_type.items()]
