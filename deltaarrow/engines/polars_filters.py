"""Polars filters on struct fields, parsed from the text that Polars writes for pyarrow.

Polars passes filters on as pyarrow expressions, but filters on struct fields only as the text of one. Only
what Polars writes there is understood: columns, comparisons, literals, IN, tests for NULL and prefixes,
joined by AND, OR and NOT. The text is parsed, never run. Names and strings with quotes or backslashes do not
occur: Polars writes no text for them.
"""

import ast
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

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


class _NotUnderstoodError(Exception):
    """A part of the text that is not understood."""


def arrow_expression(condition: "FilterExpr") -> Any:
    """A filter as a pyarrow expression; None if that is impossible."""
    try:
        found = condition.pyarrow_expr
    except Exception:
        # Polars raises any error of its conversion. Only the skipping of files is lost.
        return None
    text = condition.pyarrow_str
    return _parsed(text) if found is None and text is not None else found


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
