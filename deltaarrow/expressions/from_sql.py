r"""Conditions written in Spark SQL as predicate trees.

What is understood is listed: columns (fields of structs with dots, any name in backquotes), literals,
comparisons and ``<=>``, BETWEEN, IN, IS [NOT] NULL / TRUE / FALSE, AND, OR, NOT, LIKE with a fixed
beginning, ``startswith``, ``isnan``, ``isnull`` and ``isnotnull``, and ``variant_get`` of a path as a type in
the place of a column. Anything else is refused by name,
because a condition may decide which rows are deleted. A timestamp without a zone is in UTC, and
a string literal writes a quote as ``\'`` or by doubling it, as Spark 4 does.
"""

import datetime
import functools
import re
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltaarrow.collection import no_collection
from deltaarrow.errors import InvalidPredicateError, UnsupportedFeatureError
from deltaarrow.expressions.literals import negated
from deltaarrow.expressions.nodes import (
    NULL,
    And,
    Column,
    Compare,
    CompareOp,
    Constant,
    IsIn,
    IsNan,
    IsNull,
    Literal,
    LiteralValue,
    Not,
    Operand,
    Or,
    Predicate,
    StartsWith,
    VariantGet,
    boolean_column,
    null_safe_equal,
)
from deltaarrow.expressions.temporal import parse_date, parse_timestamp
from deltaarrow.schema import PrimitiveType

if TYPE_CHECKING:
    from sqlglot import Dialect, exp

__all__ = ["from_sql"]

_COMPARISONS: dict[str, CompareOp] = {"eq": "=", "neq": "!=", "lt": "<", "lte": "<=", "gt": ">", "gte": ">="}
_USUAL_PARTS = {"this", "expression"}
_PARTS = {
    "between": {"this", "low", "high"},
    "cast": {"this", "to"},
    "trycast": {"this", "to", "requires_string"},
    "column": {"this", "table", "db", "catalog"},
    "identifier": {"this", "quoted"},
    "in": {"this", "expressions"},
    "anonymous": {"this", "expressions"},
    "concat": {"expressions"},
    "like": {"this", "expression", "negate"},
    "literal": {"this", "is_string"},
}
"""The parts of sqlglot's nodes, by key, where they are others than the usual ones."""

_TYPE_NAMES = {
    **dict.fromkeys(("tinyint", "byte"), "byte"),
    **dict.fromkeys(("smallint", "short"), "short"),
    **dict.fromkeys(("int", "integer"), "integer"),
    **dict.fromkeys(("bigint", "long"), "long"),
    **dict.fromkeys(("float", "real"), "float"),
    **dict.fromkeys(("decimal", "dec", "numeric"), "decimal(10,0)"),
    **dict.fromkeys(("timestamp", "timestamp_ltz"), "timestamp"),
    **{name: name for name in ("double", "string", "boolean", "binary", "date", "timestamp_ntz")},
}
"""What Spark SQL calls the types that a part of a variant is taken for."""
_INTEGER = re.compile(r"\d+")
_LIKE_TOKEN = re.compile(r"\\(?P<escaped>.)|(?P<wild>[%_])|(?P<plain>[^\\%_])|(?P<stray>\\)", re.DOTALL)


def from_sql(text: str) -> Predicate:
    """The predicate tree of a condition in Spark SQL.

    Raises:
        InvalidPredicateError: it is not one condition, or holds what is not understood.

    >>> from_sql("a.`b c` >= 2")
    Compare(op='>=', left=Column(path=('a', 'b c')), right=Literal(value=2, type=None))
    """
    with no_collection():
        from sqlglot import parse
        from sqlglot.errors import SqlglotError

    try:
        statements = parse(text, dialect=_dialect())
        if len(statements) != 1 or statements[0] is None:
            raise InvalidPredicateError(f"one condition is wanted, not {text!r}")
        return _condition(statements[0])
    except SqlglotError as error:
        raise InvalidPredicateError(f"the condition {text!r} cannot be parsed: {error}") from error
    except RecursionError as error:
        raise InvalidPredicateError("the condition is nested too deeply") from error


@functools.cache
def _dialect() -> "type[Dialect]":
    from sqlglot.dialects.spark import Spark

    class Spark4(Spark):
        class Tokenizer(Spark.Tokenizer):
            STRING_ESCAPES = ["'", '"', "\\"]  # noqa: RUF012 - sqlglot reads a class attribute

    return Spark4


def _condition(node: "exp.Expr") -> Predicate:
    translate = _CONDITIONS.get(node.key)
    if translate is None or not _is_plain(node):
        raise _refused(node)
    return translate(node)


def _is_plain(node: "exp.Expr") -> bool:
    """Whether a node has nothing but the parts that are read here: a flag overlooked changes the meaning."""
    return {name for name, part in node.args.items() if part} <= _PARTS.get(node.key, _USUAL_PARTS)


def _refused(node: "exp.Expr") -> InvalidPredicateError:
    node = node.unnest()
    kind = node.name if node.key == "anonymous" else node.key
    return InvalidPredicateError(
        f"{kind.upper()} is not supported in a condition: {node.sql(dialect='spark')}"
    )


def _column(node: "exp.Expr") -> Column | None:
    if not _is_plain(node):
        return None
    match node.key:
        case "column":
            # Up to four names; sqlglot takes them for catalog, database, table and column.
            parts = [node.args.get(key) for key in ("catalog", "db", "table", "this")]
            names = [part for part in parts if part is not None]
            if all(part.key == "identifier" for part in names):
                return Column(tuple(part.name for part in names))
        case "dot" if node.expression.key == "identifier":
            inner = _column(node.this)
            return None if inner is None else Column((*inner.path, node.expression.name))
        case "paren":
            return _column(node.this)
    return None


def _wanted_column(node: "exp.Expr") -> Column:
    column = _column(node)
    if column is None:
        raise _refused(node)
    return column


def _variant_get(node: "exp.Expr") -> VariantGet | None:
    """A call of ``variant_get`` or ``try_variant_get`` with a path and a type of one value."""
    if node.key == "paren" and _is_plain(node):
        return _variant_get(node.this)
    if node.key != "anonymous" or node.name.lower() not in ("variant_get", "try_variant_get"):
        return None
    column, *texts = node.expressions
    if len(texts) != 2 or not all(each.key == "literal" and each.is_string for each in texts):
        raise _refused(node)
    path, wanted = (each.name for each in texts)
    spelled = _TYPE_NAMES.get(wanted.strip().lower(), wanted.strip().lower())
    try:
        data_type = PrimitiveType(spelled)
    except UnsupportedFeatureError as error:
        raise InvalidPredicateError(f"VARIANT_GET has no type {wanted!r}: {error}") from error
    if data_type.decimal is None and spelled not in _TYPE_NAMES.values():
        raise InvalidPredicateError(f"VARIANT_GET has no type {wanted!r} in a condition")
    return VariantGet(_wanted_column(column), path, data_type)


def _wanted_part(node: "exp.Expr") -> Column | VariantGet:
    return _variant_get(node) or _wanted_column(node)


def _literal(node: "exp.Expr") -> Literal | None:
    if not _is_plain(node):
        return None
    match node.key:
        case "literal" if node.is_string:
            return Literal(node.this)
        case "literal":
            return Literal(_number(node.this))
        case "rawstring":
            return Literal(node.this)
        case "concat" if all(part.key == "literal" and part.is_string for part in node.expressions):
            # String literals that follow each other are one text. A call of concat() reads the same.
            return Literal("".join(part.name for part in node.expressions))
        case "hexstring":
            return Literal(bytes.fromhex(node.this if len(node.this) % 2 == 0 else "0" + node.this))
        case "boolean":
            return Literal(bool(node.this))
        case "null":
            return Literal(None)
        case "paren":
            return _literal(node.this)
        case "neg":
            return _negative(node)
        case "cast" | "trycast":
            return _typed(node)
    return None


def _number(text: str) -> LiteralValue:
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if "e" in text.lower() else Decimal(text)


def _negative(node: "exp.Expr") -> Literal | None:
    inner = _literal(node.this)
    if inner is None or isinstance(inner.value, bool) or not isinstance(inner.value, int | float | Decimal):
        return None
    return Literal(negated(inner.value), inner.type)


def _typed(node: "exp.Expr") -> Literal | None:
    """DATE'..' and its like, CAST('..' AS DATE), and the numbers with a suffix, which sqlglot casts."""
    inner = _literal(node.this)
    convert = _TYPED.get(node.args["to"].this.name)
    if inner is None or convert is None or node.this.key not in ("literal", "neg", "rawstring"):
        return None
    try:
        return convert(inner.value)
    except (ValueError, ArithmeticError) as error:
        wanted = node.args["to"].sql(dialect="spark")
        raise InvalidPredicateError(f"{inner.value!r} is not a {wanted}: {error}") from error


def _to_text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("a date or a time is written as a string")
    return value


def _to_timestamp_ntz(value: Any) -> Literal:
    parsed = parse_timestamp(_to_text(value))
    if parsed.tzinfo is not None:
        raise ValueError("a timestamp_ntz has no time zone")
    return Literal(parsed)


def _to_timestamp(value: Any) -> Literal:
    parsed = parse_timestamp(_to_text(value))
    return Literal(parsed.replace(tzinfo=datetime.UTC) if parsed.tzinfo is None else parsed)


def _to_integer(value: Any) -> Literal:
    number = Decimal(value)
    if number != int(number):
        raise ValueError("it is not a whole number")
    return Literal(int(number))


_TYPED: dict[str, Callable[[Any], Literal]] = {
    "DATE": lambda value: Literal(parse_date(_to_text(value))),
    "TIMESTAMP": _to_timestamp,
    "TIMESTAMPTZ": _to_timestamp,
    "TIMESTAMPLTZ": _to_timestamp,
    "TIMESTAMPNTZ": _to_timestamp_ntz,
    "TINYINT": _to_integer,
    "SMALLINT": _to_integer,
    "INT": _to_integer,
    "BIGINT": _to_integer,
    "FLOAT": lambda value: Literal(pa.scalar(float(value), pa.float32()).as_py(), pa.float32()),
    "DOUBLE": lambda value: Literal(float(value), pa.float64()),
    "DECIMAL": lambda value: Literal(Decimal(value)),
}


def _operand(node: "exp.Expr") -> Operand:
    operand = _column(node) or _literal(node) or _variant_get(node)
    if operand is None:
        raise _refused(node)
    return operand


def _compared(node: "exp.Expr") -> Predicate:
    return Compare(_COMPARISONS[node.key], _operand(node.this), _operand(node.expression))


def _between(node: "exp.Expr") -> Predicate:
    value, low, high = (_operand(node.args[key]) for key in ("this", "low", "high"))
    return And((Compare(">=", value, low), Compare("<=", value, high)))


def _in(node: "exp.Expr") -> Predicate:
    members = [_literal(each) for each in node.expressions]
    if not members or any(each is None for each in members):
        raise InvalidPredicateError(f"IN needs a list of literals: {node.sql(dialect='spark')}")
    column = _wanted_part(node.this)
    values = tuple(each.value for each in members if each is not None and each.value is not None)
    found: Predicate
    if isinstance(column, VariantGet):
        found = Or(tuple(Compare("=", column, each) for each in members if each is not None))
        return found
    found = IsIn(column, values)
    return found if len(values) == len(members) else Or((found, NULL))


def _is(node: "exp.Expr") -> Predicate:
    match node.expression.key:
        case "null":
            literal = _literal(node.this)
            return IsNull(_wanted_part(node.this)) if literal is None else Constant(literal.value is None)
        case "boolean":
            condition = _condition(node.this)
            wanted = condition if node.expression.this else Not(condition)
            return And((Not(IsNull(condition)), wanted))
    raise _refused(node)


def _like(node: "exp.Expr") -> Predicate:
    pattern = _literal(node.expression)
    if pattern is None or not isinstance(pattern.value, str):
        raise _refused(node)
    found = _like_pattern(_wanted_part(node.this), pattern.value)
    return Not(found) if node.args.get("negate") else found


def _like_pattern(column: Column | VariantGet, pattern: str) -> Predicate:
    text, tokens = "", list(_LIKE_TOKEN.finditer(pattern))
    for number, token in enumerate(tokens):
        if token["wild"] == "%" and number == len(tokens) - 1:
            return StartsWith(column, text)
        escaped = token["escaped"]
        if token["wild"] or token["stray"] or (escaped is not None and escaped not in "%_\\"):
            raise InvalidPredicateError(f"LIKE is supported with a fixed beginning only, not {pattern!r}")
        text += escaped or token["plain"]
    return Compare("=", column, Literal(text))


def _starts_with(node: "exp.Expr") -> Predicate:
    prefix = _literal(node.expression)
    if prefix is None or not isinstance(prefix.value, str):
        raise _refused(node)
    return StartsWith(_wanted_part(node.this), prefix.value)


def _is_nan(node: "exp.Expr") -> Predicate:
    # Spark's isnan(NULL) is false.
    column = _wanted_column(node.this)
    return And((Not(IsNull(column)), IsNan(column)))


def _named(node: "exp.Expr") -> Predicate:
    name = node.name.lower()
    if name not in ("isnull", "isnotnull") or len(node.expressions) != 1:
        raise _refused(node)
    test = IsNull(_wanted_column(node.expressions[0]))
    return test if name == "isnull" else Not(test)


def _constant(node: "exp.Expr") -> Predicate:
    return Constant(bool(node.this)) if node.key == "boolean" else NULL


_CONDITIONS: dict[str, Callable[["exp.Expr"], Predicate]] = {
    **dict.fromkeys(_COMPARISONS, _compared),
    "and": lambda node: And(tuple(_condition(each) for each in node.flatten())),
    "or": lambda node: Or(tuple(_condition(each) for each in node.flatten())),
    "not": lambda node: Not(_condition(node.this)),
    "paren": lambda node: _condition(node.this),
    "nullsafeeq": lambda node: null_safe_equal(_operand(node.this), _operand(node.expression)),
    "nullsafeneq": lambda node: Not(null_safe_equal(_operand(node.this), _operand(node.expression))),
    "between": _between,
    "in": _in,
    "is": _is,
    "like": _like,
    "startswith": _starts_with,
    "isnan": _is_nan,
    "anonymous": _named,
    "boolean": _constant,
    "null": _constant,
    "column": lambda node: boolean_column(_wanted_column(node)),
    "dot": lambda node: boolean_column(_wanted_column(node)),
}
