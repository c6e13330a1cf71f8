"""Filters as tuples, in the notation of ``deltalake`` and ``pyarrow.parquet``.

``[("a", "=", 1), ("b", "in", ["x", "y"])]`` is a conjunction; a list of such lists is their disjunction.
NULLs are treated as in pyarrow: a comparison with NULL keeps no row, ``in`` finds NULL if the collection
contains None, and ``not in`` is its exact opposite. A string partition column is compared with the text of a
number, a boolean, a date or a time, as in ``deltalake``.
"""

import datetime
from collections.abc import Collection, Iterable, Sequence
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np

from deltaarrow.columnar.numpy_arrays import ensure_microseconds
from deltaarrow.errors import InvalidFilterValueError, InvalidPredicateError
from deltaarrow.expressions.predicates import (
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
from deltaarrow.schema import PrimitiveType, StructType

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
_FINE_UNITS = ("ns", "ps", "fs", "as")
"""Units in which NumPy gives a time as a number."""
_MOST_BITS = 3_000
"""More than any type has; Python shows no number that is far longer."""
_VALUES = (bool, int, float, Decimal, str, bytes, datetime.date)


def from_filters(
    filters: Filters, partition_columns: Collection[str] = (), schema: StructType | None = None
) -> Predicate:
    """The predicate tree of filters given as tuples.

    Args:
        filters: a list of `Filter`, all of which must hold, or a list of such lists, one of which must.
        partition_columns: columns for which ``""`` means NULL, as in ``deltalake``: no string partition
            value is empty.
        schema: the schema of the columns, to tell which partition columns are strings.

    Raises:
        InvalidPredicateError: a filter is ill-formed.
        InvalidFilterValueError: a value has a type that no column has.

    >>> from_filters([("a", ">=", 1)])
    Compare(op='>=', left=Column(path=('a',)), right=Literal(value=1, type=None))
    """
    if not isinstance(filters, list | tuple) or not filters:
        raise InvalidPredicateError(f"filters must be a list of (column, operator, value), not {filters!r}")
    if all(isinstance(each, list) for each in filters):
        groups = [_conjunction(group, partition_columns, schema) for group in filters]
        return groups[0] if len(groups) == 1 else Or(tuple(groups))
    return _conjunction(filters, partition_columns, schema)


def _conjunction(
    filters: Sequence[Any], partition_columns: Collection[str], schema: StructType | None
) -> Predicate:
    if not filters:
        raise InvalidPredicateError("a list of filters is empty; give at least one (column, operator, value)")
    parts = [_single(each, partition_columns, schema) for each in filters]
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def _single(given: Any, partition_columns: Collection[str], schema: StructType | None) -> Predicate:
    match given:
        case ((str() | tuple()) as name, str() as op, value):
            column = Column((name,) if isinstance(name, str) else name)
        case _:
            raise InvalidPredicateError(
                f"a filter must be (column, operator, value), not {given!r}; filters are a list of them, such"
                " as [('id', '=', 1), ('day', 'in', ['a', 'b'])]"
            )
    if not column.path or not all(isinstance(part, str) for part in column.path):
        raise InvalidPredicateError(f"a column must be a name or a tuple of names, not {name!r}")
    field = None if schema is None or len(column.path) > 1 else schema.find(column.path[0])
    name = column.path[0] if field is None else field.name
    empty_is_null = len(column.path) == 1 and name in partition_columns
    is_text = empty_is_null and field is not None and field.type == PrimitiveType("string")
    if op in _COMPARISONS:
        if empty_is_null and value == "" and _COMPARISONS[op] in ("=", "!="):
            return IsNull(column) if _COMPARISONS[op] == "=" else Not(IsNull(column))
        return Compare(_COMPARISONS[op], column, Literal(_value(value, is_text)))
    if op not in ("in", "not in"):
        known = ", ".join((*_COMPARISONS, "in", "not in"))
        raise InvalidPredicateError(f"unknown operator {op!r} in a filter; use one of {known}")
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise InvalidPredicateError(f"{op!r} needs a collection of values, not {value!r}")
    members = [None if empty_is_null and each == "" else _value(each, is_text) for each in value]
    found: Predicate = IsIn(column, tuple(each for each in members if each is not None))
    found = Or((IsNull(column), found)) if None in members else And((Not(IsNull(column)), found))
    return found if op == "in" else Not(found)


def _value(value: Any, is_text: bool) -> LiteralValue:
    try:
        ensure_microseconds(value)
    except ValueError as error:
        raise InvalidFilterValueError(str(error)) from None
    if isinstance(value, np.datetime64) and np.datetime_data(value.dtype)[0] in _FINE_UNITS:
        value = value.astype("datetime64[us]")
    # NumPy and Arrow scalars have methods that return plain values.
    for method in ("item", "as_py"):
        if hasattr(value, method):
            value = getattr(value, method)()
    if value is not None and not isinstance(value, _VALUES):
        # The first words for a string partition column are those of deltalake.
        failure = (
            "Could not encode partition value for type"
            if is_text
            else "a filter cannot compare with a value of type"
        )
        raise InvalidFilterValueError(
            f"{failure} {type(value).__name__}: {value!r} is no text, number, boolean, date or time"
        )
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        raise InvalidFilterValueError(f"a filter cannot compare with an integer of {value.bit_length()} bits")
    result: LiteralValue = _partition_text(value) if is_text else value
    return result


def _partition_text(value: LiteralValue) -> LiteralValue:
    match value:
        case bool():
            return str(value).lower()
        case int() | float():
            return str(value)
        case datetime.datetime():
            return value.isoformat(sep=" ")
        case datetime.date():
            return value.isoformat()
    return value
