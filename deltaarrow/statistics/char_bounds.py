"""Conditions on CHAR(n) columns, as conditions on the values that files and partitions hold.

A file may hold ``'z'`` where the table shows ``'z   '``. Statistics and partition values describe strings
as written. A stored string v is the shown string p without some of its last spaces, so:

- v is a prefix of p, so p < x implies v < x, and p <= x implies v <= x.
- p = x implies that v begins with x without its last spaces, so v is at least that, and at most x.
- p > x implies v >= y, where y is x before its first character below a space, without its last spaces. A
  smaller v would differ from y in a character, as p would, or be a prefix of y. Then y goes on with
  characters that are not below a space and not all spaces, and p goes on with spaces or ends: p < y.

Nothing is known of other conditions on the strings.
"""

import re
from collections.abc import Collection

from deltaarrow.expressions import (
    And,
    Column,
    Compare,
    IsIn,
    IsNull,
    Literal,
    Not,
    Opaque,
    Or,
    Predicate,
    StartsWith,
    columns_of,
)

__all__ = ["stored_predicate"]

_BELOW_SPACE = re.compile("[\0-\x1f]")


def stored_predicate(predicate: Predicate, padded: Collection[str]) -> Predicate:
    """A predicate on stored strings that follows from one on shown strings.

    Args:
        predicate: bound to the schema.
        padded: the columns with strings of CHAR(n).

    >>> stored_predicate(Compare("<", Column(("c",)), Literal("z  ")), ["c"])
    Compare(op='<', left=Column(path=('c',)), right=Literal(value='z  ', type=None))
    """
    read = columns_of(predicate)
    if not any(path[0] in padded for path in read):
        return predicate
    match predicate:
        case And(operands):
            return And(tuple(stored_predicate(each, padded) for each in operands))
        case Or(operands):
            return Or(tuple(stored_predicate(each, padded) for each in operands))
        case IsNull(Column()) | Not(IsNull(Column())) | Compare("<" | "<=", Column((_,)), Literal(str())):
            return predicate
        case Compare("=", Column((_,)) as column, Literal(str(value))):
            return _between(column, value.rstrip(" "), value)
        case Compare(">" | ">=", Column((_,)) as column, Literal(str(value))):
            return Compare(">=", column, Literal(_least(value)))
        case IsIn(Column((_,)) as column, values) if values and all(isinstance(each, str) for each in values):
            return Or(tuple(_between(column, str(each).rstrip(" "), str(each)) for each in values))
        case StartsWith(Column((_,)) as column, prefix):
            return StartsWith(column, prefix.rstrip(" "))
    columns = tuple(Column(path) for path in sorted(read))
    return Opaque("it compares CHAR(n) strings, which files hold without padding", columns)


def _between(column: Column, least: str, greatest: str) -> Predicate:
    return And((Compare(">=", column, Literal(least)), Compare("<=", column, Literal(greatest))))


def _least(value: str) -> str:
    return _BELOW_SPACE.split(value, maxsplit=1)[0].rstrip(" ")
