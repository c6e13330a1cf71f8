"""Filters as tuples, the notation of ``deltalake`` and of ``pyarrow.parquet``.

``[("a", "=", 1), ("b", "in", ["x", "y"])]`` is a conjunction; a list of such lists is their
disjunction. NULLs are treated as pyarrow treats them there: a comparison with NULL keeps no row,
``in`` finds NULL where the collection has None, and ``not in`` is its exact opposite.
"""

import datetime
from collections.abc import Collection, Iterable, Sequence
from decimal import Decimal
from typing import Any, TypeAlias

from deltaarrow.errors import InvalidPredicateError
from deltaarrow.expressions.nodes import (
    And,
    Column,
    Compare,
    CompareOp,
    IsIn,
    IsNull,
    Literal,
    LiteralValue,
    Not,
    Or,
    Predicate,
)

__all__ = ["Filter", "Filters", "from_filters"]

Filter: TypeAlias = tuple[str | tuple[str, ...], str, Any]
"""Column (a field of a struct as a tuple of names), operator and value."""

Filters: TypeAlias = Sequence[Filter] | Sequence[Sequence[Filter]]

_COMPARISONS: dict[str, CompareOp] = {
    "=": "=",
    "==": "=",
    "!=": "!=",
    "<": "<",
    "<=": "<=",
    ">": ">",
    ">=": ">=",
}
_VALUES = (bool, int, float, Decimal, str, bytes, datetime.date)


def from_filters(filters: Filters, partition_columns: Collection[str] = ()) -> Predicate:
    """The predicate tree of filters in tuples.

    Args:
        filters: a list of `Filter`, all of which must hold, or a list of such lists, one of which must.
        partition_columns: columns for which ``""`` stands for NULL, as in ``deltalake``: no string
            partition value is empty.

    Raises:
        InvalidPredicateError: a filter is ill-formed, or a value is of a type that no column has.

    >>> from_filters([("a", ">=", 1)])
    Compare(op='>=', left=Column(path=('a',)), right=Literal(value=1, type=None))
    """
    if not isinstance(filters, list | tuple) or not filters:
        raise InvalidPredicateError(f"filters are a list of (column, operator, value), not {filters!r}")
    if all(isinstance(each, list) for each in filters):
        groups = [_conjunction(group, partition_columns) for group in filters]
        return groups[0] if len(groups) == 1 else Or(tuple(groups))
    return _conjunction(filters, partition_columns)


def _conjunction(filters: Sequence[Any], partition_columns: Collection[str]) -> Predicate:
    if not filters:
        raise InvalidPredicateError("a list of filters is empty")
    parts = [_single(each, partition_columns) for each in filters]
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def _single(given: Any, partition_columns: Collection[str]) -> Predicate:
    match given:
        case ((str() | tuple()) as name, str() as op, value):
            column = Column((name,) if isinstance(name, str) else name)
        case _:
            raise InvalidPredicateError(f"a filter is (column, operator, value), not {given!r}")
    if not column.path or not all(isinstance(part, str) for part in column.path):
        raise InvalidPredicateError(f"a column is a name or a tuple of names, not {name!r}")
    empty_is_null = len(column.path) == 1 and column.path[0] in partition_columns
    if op in _COMPARISONS:
        if empty_is_null and value == "" and _COMPARISONS[op] in ("=", "!="):
            return IsNull(column) if _COMPARISONS[op] == "=" else Not(IsNull(column))
        return Compare(_COMPARISONS[op], column, Literal(_value(value)))
    if op not in ("in", "not in"):
        known = ", ".join((*_COMPARISONS, "in", "not in"))
        raise InvalidPredicateError(f"unknown operator {op!r} in a filter; there are {known}")
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise InvalidPredicateError(f"{op!r} needs a collection of values, not {value!r}")
    members = [None if empty_is_null and each == "" else _value(each) for each in value]
    found: Predicate = IsIn(column, tuple(each for each in members if each is not None))
    found = Or((IsNull(column), found)) if None in members else And((Not(IsNull(column)), found))
    return found if op == "in" else Not(found)


def _value(value: Any) -> LiteralValue:
    # NumPy's and Arrow's scalars know how to become plain values.
    for method in ("item", "as_py"):
        if hasattr(value, method):
            value = getattr(value, method)()
    if value is not None and not isinstance(value, _VALUES):
        raise InvalidPredicateError(f"a filter cannot compare with {value!r}, a {type(value).__name__}")
    result: LiteralValue = value
    return result
