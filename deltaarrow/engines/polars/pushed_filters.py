"""Polars filters on struct fields and decimals, parsed from what Polars writes of them.

Polars passes filters on as pyarrow expressions, but filters on struct fields only as the text of one. Only
what Polars writes there is understood: columns, comparisons, literals, IN, tests for NULL and prefixes,
joined by AND, OR and NOT. The text is parsed, never run. Names and strings with quotes or backslashes do not
occur: Polars writes no text for them.

For conditions with decimals there is no text either. Of them, the JSON of the expression is read: columns
compared with decimals, integers, strings and truth values, also by `is_between`, and `is_in` of decimals,
joined by AND and OR.
"""

import ast
import functools
import operator
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from polars.lazyframe.resolver import FilterExpr

__all__ = ["arrow_expression"]

_OPERATORS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
}


_JSON_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Lt": operator.lt,
    "LtEq": operator.le,
    "Gt": operator.gt,
    "GtEq": operator.ge,
    "And": operator.and_,
    "Or": operator.or_,
}

_CLOSED = {
    "Both": (operator.ge, operator.le),
    "Left": (operator.ge, operator.lt),
    "Right": (operator.gt, operator.le),
    "None": (operator.gt, operator.lt),
}
"""The comparisons with the lower and the upper end of `is_between`."""

_MOST_MEMBERS = 100
"""The longest list of decimals that becomes a condition; each is a comparison of its own."""

_PLAIN_SCALARS = ("Boolean", "Int8", "Int16", "Int32", "Int64", "String")


class _NotUnderstoodError(Exception):
    """A part of the text that is not understood."""


def arrow_expression(condition: "FilterExpr") -> Any:
    """A filter as a pyarrow expression; None if that is impossible."""
    try:
        found = condition.pyarrow_expr
    except Exception:
        # Polars raises any error of its conversion. Only the skipping of files is lost.
        return None
    if found is not None:
        return found
    text = condition.pyarrow_str
    return _parsed(text) if text is not None else _read(condition.expr.meta.serialize(format="json"))


def _read(text: str) -> pc.Expression | None:
    """Read the JSON of an expression; None if a part of it is not understood."""
    try:
        found = _condition(orjson.loads(text))
    except (RecursionError, ValueError, TypeError, pa.ArrowException, _NotUnderstoodError):
        return None
    return found if isinstance(found, pc.Expression) else None


def _condition(node: Any) -> Any:
    match node:
        case {"Column": str(name)}:
            return pc.field(name)
        case {"Literal": {"Scalar": {"Decimal": [int(unscaled), int(), int(scale)]}}}:
            digits = tuple(map(int, str(abs(unscaled))))
            return pa.scalar(Decimal((int(unscaled < 0), digits, -scale)), pa.decimal128(38, scale))
        case {"Literal": {"Scalar": dict(scalar)}}:
            ((kind, value),) = scalar.items()
            if kind in _PLAIN_SCALARS and isinstance(value, bool | int | str):
                return value
        case {"Cast": {"expr": operand, "dtype": {"Literal": {"Decimal": [int(precision), int(scale)]}}}}:
            # Statistics are used only if no value changes.
            return _condition(operand).cast(pa.decimal128(precision, scale))
        case {"BinaryExpr": {"left": left, "op": str(op), "right": right}} if op in _JSON_OPERATORS:
            return _JSON_OPERATORS[op](_condition(left), _condition(right))
        case {"Function": {"input": [of, low, high], "function": {"Boolean": {"IsBetween": dict(ends)}}}}:
            above, below = _CLOSED[ends["closed"]]
            column = _condition(of)
            return above(column, _condition(low)) & below(column, _condition(high))
        case {
            "Function": {
                "input": [of, {"Literal": {"Scalar": {"List": list(stream)}}}],
                "function": {"Boolean": {"IsIn": {"nulls_equal": False}}},
            }
        }:
            return functools.reduce(operator.or_, [_condition(of) == each for each in _members(stream)])
    raise _NotUnderstoodError


def _members(stream: list[int]) -> list[pa.Scalar]:
    """The decimals of a list, which is written as the bytes of an Arrow stream."""
    (values,) = pa.ipc.open_stream(bytes(stream)).read_all().columns
    if not pa.types.is_decimal128(values.type) or values.null_count or not 0 < len(values) <= _MOST_MEMBERS:
        raise _NotUnderstoodError
    return list(values)


def _parsed(text: str) -> pc.Expression | None:
    """Parse the text of an expression; None if a part of it is not understood.

    >>> _parsed("(pa.compute.field('s', 'd') > to_py_date(18262))")
    <pyarrow.compute.Expression (FieldRef.Nested(FieldRef.Name(s) FieldRef.Name(d)) > 2020-01-01)>
    """
    try:
        found = _value(ast.parse(text, mode="eval").body)
    except (SyntaxError, RecursionError, ValueError, TypeError, pa.ArrowException, _NotUnderstoodError):
        return None
    return found if isinstance(found, pc.Expression) else None


def _value(node: ast.expr) -> Any:
    match node:
        case ast.Constant(bool() | int() | float() | str() as value):
            return value
        case ast.List(members):
            return [_plain(_value(each)) for each in members]
        case ast.UnaryOp(ast.USub(), ast.Constant(int() | float() as value)):
            return -value
        case ast.UnaryOp(ast.Invert(), operand):
            return ~_expression(operand)
        case ast.BinOp(left, (ast.BitAnd() | ast.BitOr()) as op, right):
            return _OPERATORS[type(op)](_expression(left), _expression(right))
        case ast.Compare(left, [op], [right]) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_expression(left), _value(right))
        case ast.Call(ast.Attribute(ast.Attribute(ast.Name("pa"), "compute"), name), arguments, options):
            return _function(name, [_value(each) for each in arguments], options)
        case ast.Call(ast.Attribute(of, name), arguments, []):
            return _test(name, _expression(of), [_value(each) for each in arguments])
        case ast.Call(ast.Name("to_py_date"), [days], []):
            return pa.scalar(_value(days), pa.date32())
        case ast.Call(ast.Name("to_py_datetime"), [count, *kind], []):
            return pa.scalar(_value(count), pa.timestamp(*map(_value, kind)))
    raise _NotUnderstoodError


def _expression(node: ast.expr) -> pc.Expression:
    found = _value(node)
    if not isinstance(found, pc.Expression):
        raise _NotUnderstoodError
    return found


def _plain(value: Any) -> Any:
    return value.as_py() if isinstance(value, pa.Scalar) else value


def _function(name: str, arguments: list[Any], options: list[ast.keyword]) -> pc.Expression:
    match name, arguments, [(each.arg, _value(each.value)) for each in options]:
        case "field", [str(), *_], [] if all(isinstance(each, str) for each in arguments):
            return pc.field(*arguments)
        case "scalar", [bool() as value], []:
            return pc.scalar(value)
        case "starts_with", [pc.Expression() as column], [("pattern", str() as prefix)]:
            return pc.starts_with(column, prefix)
    raise _NotUnderstoodError


def _test(name: str, of: pc.Expression, arguments: list[Any]) -> pc.Expression:
    match name, arguments:
        case "isin", [list() as members] if members:
            return of.isin(members)
        case "is_null", []:
            return of.is_null()
        case "is_valid", []:
            return of.is_valid()
    raise _NotUnderstoodError
