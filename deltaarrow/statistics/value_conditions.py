"""Conditions on one partition column, asked of its values one by one and not of a query.

DuckDB takes milliseconds before a query begins; a partition column has few values, and Python compares a
thousand of them in a tenth of one. What is left is what the SQL of the same condition leaves (see
`deltaarrow.statistics.skipping`): texts, integers and days are ordered alike everywhere.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import partial
from typing import Any, NamedTuple

from deltaarrow.errors import InvalidPredicateError
from deltaarrow.expressions import Column, Compare, IsIn, IsNull, Literal, Not, Predicate, bind, conjuncts
from deltaarrow.schema import PrimitiveType, StructType, to_arrow_type
from deltaarrow.statistics.ranges import COUNTED_TYPES

__all__ = ["ValueCondition", "plain_values", "value_condition"]

_Test = Callable[[Any], bool]

_TYPES = ("string", *COUNTED_TYPES)
_VALUES = (str, int, date)
_MIRRORED: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.gt,
    "<=": operator.ge,
    ">": operator.lt,
    ">=": operator.le,
}


_BITS = {"byte": 8, "short": 16, "integer": 32, "long": 64}


def _always(_: Any) -> bool:
    return True


class ValueCondition(NamedTuple):
    """Tests that the value of a partition column has to pass, all of them."""

    type: PrimitiveType
    """That of the column."""

    tests: tuple[_Test, ...]

    def left(self, values: Sequence[Any]) -> list[bool]:
        """Return for each value of `plain_values` whether a file that has it may match.

        >>> in_march = ValueCondition(PrimitiveType("long"), ((3).__eq__,))
        >>> in_march.left(plain_values(["3", "4", None], in_march.type))
        [True, False, False]
        """
        left = [value is not None for value in values]
        for test in self.tests:
            left = [is_left and test(value) for is_left, value in zip(left, values, strict=True)]
        return left


def plain_values(texts: Sequence[str | None], data_type: PrimitiveType) -> list[Any] | None:
    """Return what texts stand for, as far as all are spelled as every writer does; None if one is not.

    >>> plain_values(["2024-02-29", "", None], PrimitiveType("date"))
    [datetime.date(2024, 2, 29), None, None]
    >>> plain_values(["7", "+7"], PrimitiveType("long")) is None
    True
    """
    if data_type.type == "string":
        return [*texts]
    parse = date.fromisoformat if data_type.type == "date" else int
    try:
        found: list[Any] = [parse(text) if text else None for text in texts]
    except ValueError:
        return None
    spelled = [None if value is None else str(value) for value in found]
    if spelled != [text or None for text in texts]:
        return None
    least = -(1 << _BITS[data_type.type] - 1) if data_type.type in _BITS else None
    if least is not None and not all(value is None or least <= value < -least for value in found):
        return None
    return found


def value_condition(predicate: Predicate, schema: StructType) -> ValueCondition | None:
    """Return the tests that a predicate on one partition column consists of; None if it is anything else.

    >>> from deltaarrow.expressions import from_sql
    >>> from deltaarrow.schema import Field, Schema
    >>> found = value_condition(from_sql("p > 'a' AND p IN ('b', 'c')"), Schema([Field("p", "string")]))
    >>> found.left(["a", "b", "d", None])
    [False, True, False, False]
    """
    try:
        parts = conjuncts(bind(predicate, schema))
    except InvalidPredicateError:
        return None
    columns = {column.path for part in parts if (column := _column(part)) is not None}
    if len(columns) != 1 or len(path := columns.pop()) != 1:
        return None
    data_type = schema.field(path[0]).type
    if not isinstance(data_type, PrimitiveType) or data_type.type not in _TYPES:
        return None
    tests = [_test(part, data_type) for part in parts]
    known = tuple(test for test in tests if test is not None)
    return ValueCondition(data_type, known) if len(known) == len(tests) else None


def _column(part: Predicate) -> Column | None:
    match part:
        case (
            Compare(_, Column() as column, Literal())
            | IsIn(Column() as column)
            | Not(IsNull(Column() as column))
        ):
            return column
    return None


def _test(part: Predicate, data_type: PrimitiveType) -> _Test | None:
    own = to_arrow_type(data_type)
    match part:
        case Compare(op, Column(), Literal(value, arrow_type)) if arrow_type == own:
            if type(value) in _VALUES:
                return partial(_MIRRORED[op], value)
        case IsIn(Column(), values, arrow_type) if arrow_type == own:
            if all(type(value) in _VALUES for value in values):
                return frozenset(values).__contains__
        case Not(IsNull(Column())):
            # NULL passes no test.
            return _always
    return None
