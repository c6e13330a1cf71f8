"""Conditions on integers and days that are compared with the bounds of files without a query.

DuckDB takes milliseconds before a query begins, which is longer than it takes to compare the bounds of a
million files. The files that are left are those of the SQL of the same condition (see
`deltaarrow.statistics.skipping`): bounds of these types are exact, and no value of them is a NaN.
"""

import operator
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from deltaarrow.arrays import raw_numbers, validity
from deltaarrow.errors import InvalidPredicateError
from deltaarrow.expressions import Column, Compare, Literal, Predicate, bind, conjuncts
from deltaarrow.schema import Field, PrimitiveType, StructType, physical_name, to_arrow_type

__all__ = ["COUNTED_TYPES", "BoundComparison", "comparisons_of", "day_number", "differ", "is_counted"]

COUNTED_TYPES = ("byte", "short", "integer", "long", "date")
"""Types whose values are their own bounds, without anything added for what writers leave out."""

_EPOCH = date(1970, 1, 1).toordinal()
_Test = Callable[[Any, Any], Any]
_OF_LOWER: Mapping[str, _Test] = {"=": operator.le, "<": operator.lt, "<=": operator.le}
_OF_UPPER: Mapping[str, _Test] = {"=": operator.ge, ">": operator.gt, ">=": operator.ge}


class BoundComparison(NamedTuple):
    """A column compared with an integer, or with a day, counted from 1970 on."""

    path: tuple[str, ...]
    """The column's name in data files."""

    field: Field
    op: str
    value: int

    def may_be_true(self, lower: pa.Array, upper: pa.Array) -> np.ndarray:
        """Return for each file, by the bounds of the column in it, whether a row may compare like that.

        >>> below_4 = BoundComparison(("a",), Field("a", "long"), "<", 4)
        >>> below_4.may_be_true(pa.array([1, 4, None]), pa.array([9, 9, 9])).tolist()
        [True, False, True]
        """
        tests = [(lower, _OF_LOWER.get(self.op)), (upper, _OF_UPPER.get(self.op))]
        found = np.ones(len(lower), np.bool_)
        for bound, test in tests:
            if test is not None:
                found &= _unless_false(bound, test, self.value)
        return found


def _unless_false(bound: pa.Array, test: _Test, value: int) -> np.ndarray:
    return _true_where_null(test(raw_numbers(bound), value), bound)


def _true_where_null(verdicts: np.ndarray, array: pa.Array) -> np.ndarray:
    known = validity(array)
    return verdicts if known is None else verdicts | ~known


def day_number(day: date) -> int:
    """Return how many days a day comes after the first of 1970, as `date` counts them.

    >>> day_number(date(1970, 1, 31))
    30
    """
    return day.toordinal() - _EPOCH


def is_counted(data_type: pa.DataType) -> bool:
    """Whether bounds of a type are integers or days."""
    return bool(pa.types.is_signed_integer(data_type) or pa.types.is_date32(data_type))


def differ(first: pa.Array, second: pa.Array) -> np.ndarray:
    """Return for each two integers whether they differ; so do those that are not known.

    >>> differ(pa.array([1, 2, None]), pa.array([1, 3, 3])).tolist()
    [False, True, True]
    """
    return _true_where_null(_true_where_null(raw_numbers(first) != raw_numbers(second), first), second)


def comparisons_of(
    predicate: Predicate, schema: StructType, mapping_mode: str
) -> tuple[BoundComparison, ...] | None:
    """Return the comparisons that must all be true where a predicate is; None if it is anything else.

    >>> from deltaarrow.expressions import from_sql
    >>> from deltaarrow.schema import Schema
    >>> found = comparisons_of(from_sql("a > 1 AND 7 = a"), Schema([Field("a", "long")]), "none")
    >>> [(each.path, each.op, each.value) for each in found]
    [(('a',), '>', 1), (('a',), '=', 7)]
    """
    try:
        parts = conjuncts(bind(predicate, schema))
    except InvalidPredicateError:
        return None
    found = [_comparison(part, schema, mapping_mode) for part in parts]
    known = tuple(each for each in found if each is not None)
    return known if known and len(known) == len(found) else None


def _comparison(part: Predicate, schema: StructType, mapping_mode: str) -> BoundComparison | None:
    match part:
        case Compare(op, Column((name,)), Literal(int() | date() as value, arrow_type)) if op != "!=":
            field = schema.field(name)
            if (
                not isinstance(field.type, PrimitiveType)
                or field.type.type not in COUNTED_TYPES
                or arrow_type != to_arrow_type(field.type)
            ):
                return None
            number = value if isinstance(value, int) else day_number(value)
            return BoundComparison((physical_name(field, mapping_mode),), field, op, number)
    return None
