"""Hints for a Delta Sharing server: a predicate by which the server may leave out files.

Chapters "JSON predicates for Filtering" and "SQL Expressions for Filtering" of the sharing protocol. A hint
is weaker than the predicate or equal to it: of a conjunction, parts that no hint expresses exactly are left
out, and a disjunction with such a part gives no hint. So a server that follows a hint leaves out no file with
a matching row. The predicate itself is applied afterwards.

Hints are about partition columns, whose values the server knows exactly, of these types: boolean, whole
numbers, date and string. Two cases give no hint, because servers may differ in them:

- Strings are ordered by code point here and by UTF-16 unit in Java. Both orders agree if the literal has no
  characters from U+D800 on. Equality is the same.
- A column of a table with column mapping has two names, and the sharing protocol does not say which one a
  hint contains.
"""

import datetime
import json
import re
from collections.abc import Collection
from typing import Any

from deltaarrow.expressions import (
    MIRRORED,
    And,
    Column,
    Compare,
    IsIn,
    IsNull,
    Literal,
    LiteralValue,
    Not,
    Or,
    Predicate,
    conjuncts,
)
from deltaarrow.schema import PrimitiveType, StructType

__all__ = ["predicate_hints"]

_TYPES = {
    "boolean": "bool",
    "byte": "int",
    "short": "int",
    "integer": "int",
    "long": "long",
    "string": "string",
    "date": "date",
}
_BITS = {"byte": 8, "short": 16, "integer": 32, "long": 64}
_OPERATIONS = {
    "=": "equal",
    "<": "lessThan",
    "<=": "lessThanOrEqual",
    ">": "greaterThan",
    ">=": "greaterThanOrEqual",
}
_MOST_VALUES = 100
_FIRST_OF_UTF16 = "\ud800"
_SQL_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_SQL_TEXT = re.compile(r"[ !#-&(-\[\]-~]*")
"""Printable ASCII without quotes and backslashes, which dialects escape in different ways."""

_Node = dict[str, Any]


def predicate_hints(
    predicate: Predicate, schema: StructType, partition_columns: Collection[str]
) -> dict[str, Any]:
    """Return the fields of a request that give a predicate as hints; none if nothing can be said.

    Args:
        predicate: what the rows must satisfy.
        schema: the columns of the table.
        partition_columns: the names of those by which it is partitioned.

    >>> from deltaarrow.schema import Field
    >>> schema = StructType((Field("day", PrimitiveType("integer")),))
    >>> predicate_hints(Compare(">", Column(("day",)), Literal(3)), schema, ["day"])["predicateHints"]
    ['day > 3']
    """
    types = {
        field.name: field.type.type
        for field in schema.fields
        if field.name in partition_columns
        and isinstance(field.type, PrimitiveType)
        and field.type.type in _TYPES
    }
    found = _joined("and", [_node(part, types) for part in conjuncts(predicate)], is_whole=False)
    if found is None:
        return {}
    texts = [text for part in conjuncts(predicate) if (text := _sql(_node(part, types))) is not None]
    hints = {"jsonPredicateHints": json.dumps(found)}
    return {**hints, "predicateHints": texts} if texts else hints


def _node(predicate: Predicate, types: dict[str, str]) -> _Node | None:
    """A predicate, or a weaker one; None if nothing can be said."""
    match predicate:
        case And(operands=parts):
            return _joined("and", [_node(part, types) for part in parts], is_whole=False)
        case Or(operands=parts):
            return _joined("or", [_node(part, types) for part in parts], is_whole=True)
        case IsNull(operand=Column() as column):
            return _null_test(column, types)
        case Not(operand=IsNull(operand=Column() as column)):
            found = _null_test(column, types)
            return None if found is None else {"op": "not", "children": [found]}
        case Compare(op=op, left=Column() as column, right=Literal() as literal):
            return _comparison(op, column, literal.value, types)
        case Compare(op=op, left=Literal() as literal, right=Column() as column):
            return _comparison(MIRRORED[op], column, literal.value, types)
        case IsIn(column=Column() as column, values=values) if 0 < len(values) <= _MOST_VALUES:
            return _joined("or", [_comparison("=", column, each, types) for each in values], is_whole=True)
    return None


def _joined(operation: str, parts: list[_Node | None], *, is_whole: bool) -> _Node | None:
    found = [part for part in parts if part is not None]
    if not found or (is_whole and len(found) < len(parts)):
        return None
    return found[0] if len(found) == 1 else {"op": operation, "children": found}


def _null_test(column: Column, types: dict[str, str]) -> _Node | None:
    leaf = _leaf(column, types)
    return None if leaf is None else {"op": "isNull", "children": [leaf]}


def _leaf(column: Column, types: dict[str, str]) -> _Node | None:
    kind = types.get(column.path[0]) if len(column.path) == 1 else None
    return None if kind is None else {"op": "column", "name": column.path[0], "valueType": _TYPES[kind]}


def _comparison(op: str, column: Column, value: LiteralValue, types: dict[str, str]) -> _Node | None:
    leaf = _leaf(column, types)
    if leaf is None or op not in _OPERATIONS:
        return None
    text = _text(value, types[column.path[0]], is_ordered=op != "=")
    if text is None:
        return None
    literal = {"op": "literal", "value": text, "valueType": leaf["valueType"]}
    return {"op": _OPERATIONS[op], "children": [leaf, literal]}


def _text(value: LiteralValue, kind: str, *, is_ordered: bool) -> str | None:
    """A value of a type as a string; None for a value that is not exactly of the type."""
    match value:
        case bool():
            return str(value).lower() if kind == "boolean" and not is_ordered else None
        case int():
            bits = _BITS.get(kind)
            return str(value) if bits is not None and -(1 << bits - 1) <= value < 1 << bits - 1 else None
        case str():
            is_same = not is_ordered or all(each < _FIRST_OF_UTF16 for each in value)
            return value if kind == "string" and value and is_same else None
        case datetime.datetime():
            return None
        case datetime.date():
            return value.isoformat() if kind == "date" else None
    return None


def _sql(node: _Node | None) -> str | None:
    """A comparison or a null test as SQL; None for anything else."""
    if node is None:
        return None
    operation, children = node["op"], node["children"]
    if operation == "not":
        inner = _sql(children[0])
        return None if inner is None else inner.replace(" IS NULL", " IS NOT NULL")
    if children[0]["op"] != "column" or _SQL_NAME.fullmatch(children[0]["name"]) is None:
        return None
    name = children[0]["name"]
    if operation == "isNull":
        return f"{name} IS NULL"
    symbol = next(symbol for symbol, each in _OPERATIONS.items() if each == operation)
    kind, value = children[1]["valueType"], children[1]["value"]
    if kind not in ("string", "date"):
        return f"{name} {symbol} {value}"
    return f"{name} {symbol} '{value}'" if _SQL_TEXT.fullmatch(value) else None
