"""Rendering of predicates as SQL-like text for reports and messages.

The text is for reading only, never for an engine: names and values may be shortened, and an `Opaque` part is
shown as its reason.
"""

import datetime
import re
from decimal import Decimal

from deltaarrow.expressions import (
    And,
    Cast,
    Column,
    Compare,
    Constant,
    IsIn,
    IsNan,
    IsNull,
    Literal,
    Not,
    Opaque,
    Or,
    Predicate,
    StartsWith,
    VariantGet,
    is_in_total_order,
)

__all__ = ["plain_text", "worded"]

_MOST_MEMBERS = 8
_MOST_CHARACTERS = 120
_BARE_NAME = re.compile(r"[A-Za-z_]\w*")
_CONSTANTS = {True: "TRUE", False: "FALSE", None: "NULL"}


def worded(predicate: Predicate) -> str:
    """Return a predicate as one line of text.

    >>> worded(And((StartsWith(Column(("a", "b c")), "x"), Not(IsNull(Column(("d",)))))))
    "a.`b c` LIKE 'x%' AND d IS NOT NULL"
    """
    return plain_text(_worded(predicate, nested=False))


def plain_text(text: str) -> str:
    r"""Return untrusted text on one line, with control characters escaped.

    >>> print(plain_text("a" + chr(27) + "[31m"))
    a\x1b[31m
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _worded(node: object, *, nested: bool) -> str:
    match node:
        case Compare(op, left, right):
            return f"{_operand(left)} {op} {_operand(right)}"
        case IsIn(column, values, _):
            return f"{_operand(column)} IN ({_members(values)})"
        case StartsWith(column, prefix):
            return f"{_operand(column)} LIKE {_value(prefix + '%')}"
        case IsNan(column):
            return f"isnan({_operand(column)})"
        case IsNull(operand):
            return f"{_within(operand)} IS NULL"
        case Not(IsNull(operand)):
            return f"{_within(operand)} IS NOT NULL"
        case Not(IsIn(column, values, _)):
            return f"{_operand(column)} NOT IN ({_members(values)})"
        case Not(operand):
            return f"NOT ({_worded(operand, nested=False)})"
        case Or() if (compared := is_in_total_order(node)) is not None:
            return _worded(compared, nested=nested)
        case And(operands) | Or(operands):
            connective = " AND " if isinstance(node, And) else " OR "
            text = connective.join(_worded(each, nested=True) for each in operands)
            if not operands:
                return _CONSTANTS[isinstance(node, And)]
            return f"({text})" if nested and len(operands) > 1 else text
        case Constant(value):
            return _CONSTANTS[value]
        case Opaque(reason):
            return reason
        case _:
            return _operand(node)


def _within(node: object) -> str:
    """Render a column as it is, and a condition in parentheses."""
    text = _worded(node, nested=False)
    return f"({text})" if isinstance(node, Predicate) else text


def _operand(operand: object) -> str:
    match operand:
        case Column(path):
            return ".".join(
                name if _BARE_NAME.fullmatch(name) else f"`{name.replace('`', '``')}`" for name in path
            )
        case Literal(value):
            return _value(value)
        case Cast(column, target):
            return f"cast({_operand(column)} AS {target})"
        case VariantGet(column, json_path, data_type):
            return f"variant_get({_operand(column)}, {_value(json_path)}, '{data_type.type}')"
        case _:
            return str(operand)


def _members(values: tuple[object, ...]) -> str:
    shown = [_value(value) for value in values[:_MOST_MEMBERS]]
    more = len(values) - len(shown)
    return ", ".join([*shown, f"… {more} more"] if more else shown)


def _value(value: object) -> str:
    match value:
        case bool() | None:
            return _CONSTANTS[value]
        case str():
            text = value if len(value) <= _MOST_CHARACTERS else f"{value[:_MOST_CHARACTERS]}…"
            return f"'{text.replace(chr(39), chr(39) * 2)}'"
        case bytes():
            text = value.hex() if len(value) <= _MOST_CHARACTERS else f"{value[:_MOST_CHARACTERS].hex()}…"
            return f"X'{text}'"
        case datetime.datetime():
            return f"'{value.isoformat(sep=' ')}'"
        case datetime.date():
            return f"'{value.isoformat()}'"
        case Decimal():
            return f"{value:f}"
        case _:
            return str(value)
