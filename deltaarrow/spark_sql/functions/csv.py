"""``to_csv``, ``from_csv`` and ``schema_of_csv``, with Spark's default options. Tables cannot store them.

A text with quotes, and a number or a time in a notation that Spark may read in a way of its own, raises as
unsupported. A value that is none of its type is NULL.
"""

import re

from deltaarrow.schema import DataType, Field, PrimitiveType, StructType
from deltaarrow.spark_sql.functions.function import Function, literal_text
from deltaarrow.spark_sql.functions.json import timestamp_text
from deltaarrow.spark_sql.tree.forms import given, java_text, let
from deltaarrow.spark_sql.tree.nodes import UNSTORED, Constant, Node, call, escaped, refused
from deltaarrow.spark_sql.types.coercion import exactly
from deltaarrow.spark_sql.types.column_ddl import parse_schema
from deltaarrow.spark_sql.types.inferred_types import written
from deltaarrow.spark_sql.types.nested import member
from deltaarrow.spark_sql.types.type_rules import (
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    INTEGRAL,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    decimal_of,
    sql_type,
    type_name,
)

__all__ = ["FUNCTIONS"]

_BLANKS = "[\\x00-\\x20]"
_UNSURE = "error('unsupported: such a CSV text')"
_MOST_PLACES = 6
"""Beyond them Java writes some decimals with an exponent."""

_WHOLE = "[+-]?[0-9]+"
_NUMBER = "[+-]?(?:[0-9]+(?:\\.[0-9]*)?|\\.[0-9]+)(?:[eE][+-]?[0-9]{1,2})?"
_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = f"{_DAY} [0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}(?:\\.[0-9]{{1,6}})?"


def _written(operand: Node) -> Node:
    """``to_csv``."""
    if not isinstance(operand.type, StructType) or not operand.type.fields:
        raise refused(f"to_csv of {type_name(operand.type)}")
    fields = operand.type.fields
    parts = [_text(f"{{{place}}}", each.type, is_first=place == 0) for place, each in enumerate(fields)]
    nodes = tuple(member(operand, each) for each in fields)
    joined = " || ',' || ".join(f"coalesce({each}, '')" for each in parts)
    sql = parts[0] if len(parts) == 1 else f"CASE WHEN {{{len(nodes)}}} IS NOT NULL THEN {joined} END"
    return call(f"{UNSTORED}to_csv", (*nodes, operand), STRING, sql)


def _text(sql: str, data_type: DataType, *, is_first: bool) -> str:
    """SQL of a value in a line, NULL for NULL."""
    digits = decimal_of(data_type)
    if data_type == VOID:
        return "NULL::VARCHAR"
    if data_type == STRING:
        return _quoted(sql, is_first=is_first)
    if data_type in (*INTEGRAL, BOOLEAN, DATE):
        return f"CAST({sql} AS VARCHAR)"
    if data_type in (FLOAT, DOUBLE):
        return java_text(sql, sql_type(data_type))
    if data_type == TIMESTAMP:
        return timestamp_text(sql)
    if data_type == TIMESTAMP_NTZ:
        return f"strftime({sql}, '%Y-%m-%dT%H:%M:%S.%g')"
    if digits is not None and digits[1] <= _MOST_PLACES:
        return f"CAST(CAST({sql} AS DECIMAL({min(digits[0] + 1, 38)},{digits[1]})) AS VARCHAR)"
    raise refused(f"to_csv of {type_name(data_type)}")


def _quoted(sql: str, *, is_first: bool) -> str:
    """SQL of a text without blanks around it, in quotes if it is empty or may be misread."""
    odd = "regexp_matches(q, '[,\"\\n\\r]')" + (f" OR starts_with({sql}, '#')" if is_first else "")
    bare = f"regexp_replace(q, '{_BLANKS}+$', '')"
    inside = f"replace(replace({bare}, '\\', '\\\\'), '\"', '\\\"')"
    shown = f"CASE WHEN q = '' OR {odd} THEN '\"' || {inside} || '\"' ELSE {bare} END"
    return let(shown, q=f"regexp_replace({sql}, '^{_BLANKS}+', '')")


def _read(operand: Node, schema: Node) -> Node:
    """``from_csv``."""
    fields = _schema(literal_text(schema, "the schema of from_csv"))
    values = ", ".join(_value(f"parts[{place}]", each.type) for place, each in enumerate(fields.fields, 1))
    odd = "regexp_matches({0}, '[\"\\n\\r]')"
    made = let(
        f"CAST(row({values}) AS {escaped(sql_type(fields))})",
        parts="list_transform(string_split({0}, ','), lambda p: nullif(p, ''))",
    )
    sql = given(f"CASE WHEN {odd} THEN {_UNSURE} ELSE {made} END")
    return call(f"{UNSTORED}from_csv", (exactly(operand, STRING),), fields, sql, fails=True)


def _schema(text: str) -> StructType:
    found = parse_schema(text, StructType)
    if not isinstance(found, StructType) or not found.fields:
        raise refused(f"from_csv to {text!r}")
    return found


def _value(part: str, data_type: DataType) -> str:
    """SQL of a part of a line as a value of a type."""
    kind = sql_type(data_type)
    if data_type == STRING:
        return part
    if data_type == BOOLEAN:
        return f"CASE lower({part}) WHEN 'true' THEN TRUE WHEN 'false' THEN FALSE END"
    if data_type in INTEGRAL:
        return _if_like(_WHOLE, part, f"TRY_CAST({part} AS {kind})")
    if data_type in (FLOAT, DOUBLE):
        number = f"CAST(CAST({part} AS DOUBLE) AS {kind})"
        return _if_like(_NUMBER, part, number, unsure="(?i).*(?:[0-9]|nan|inf).*")
    if decimal_of(data_type) is not None:
        return _if_like(_NUMBER, part, f"TRY_CAST({part} AS {kind})", unsure=".*[0-9].*")
    if data_type == DATE:
        return _if_like(_DAY, part, f"TRY_CAST({part} AS DATE)", unsure=".*[0-9].*")
    if data_type == TIMESTAMP:
        return _if_like(f"{_DAY}|{_TIME}", part, f"TRY_CAST({part} AS TIMESTAMP)", unsure=".*[0-9].*")
    raise refused(f"from_csv to {type_name(data_type)}")


def _if_like(shape: str, part: str, value: str, *, unsure: str = "") -> str:
    """SQL of a value where a part has this shape, of NULL where it has not, unless it looks like a value."""
    other = f" WHEN regexp_full_match({part}, '{unsure}') THEN {_UNSURE}" if unsure else ""
    return f"CASE WHEN regexp_full_match({part}, '{escaped(shape)}') THEN {value}{other} END"


def _inferred(document: Node) -> Node:
    """``schema_of_csv``."""
    text = literal_text(document, "the line of schema_of_csv")
    if not text or re.search(r'["\n\r]', text):
        raise refused(f"schema_of_csv of {text!r}")
    fields = [Field(f"_c{place}", _type_of(part)) for place, part in enumerate(text.split(","))]
    return Constant(written(StructType(fields)), STRING)


def _type_of(part: str) -> DataType:
    """The narrowest type of a part of a line."""
    if re.fullmatch(_WHOLE, part, re.ASCII):
        number = int(part)
        if -(1 << 31) <= number < 1 << 31:
            return INTEGER
        digits = len(str(abs(number)))
        return LONG if -(1 << 63) <= number < 1 << 63 else PrimitiveType(f"decimal({digits},0)")
    if re.fullmatch(r"[+-]?[0-9]+\.[0-9]+", part, re.ASCII):
        return DOUBLE
    if re.fullmatch(_DAY, part, re.ASCII):
        return DATE
    if re.fullmatch(_TIME, part, re.ASCII):
        return TIMESTAMP
    if part.lower() in ("true", "false"):
        return BOOLEAN
    if re.search("[0-9]|(?i:nan|inf)", part):
        raise refused(f"schema_of_csv of the value {part!r}")
    return STRING


_NOTE = "strings without quotes only; schema must be a literal"
FUNCTIONS = (
    Function(("to_csv",), "struct", (1, 1), _written, "fields cannot be nested or binary"),
    Function(("from_csv",), "string, schema", (2, 2), _read, _NOTE),
    Function(
        ("schema_of_csv",), "string", (1, 1), _inferred, "the argument must be a literal without quotes"
    ),
)
"""The functions of this module."""
