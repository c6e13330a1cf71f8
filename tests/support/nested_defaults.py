"""Defaults of arrays, maps and structs: those with which Spark creates a table, and their values."""

import datetime as dt
from decimal import Decimal

from deltaarrow.schema import ArrayType, DataType, Field, MapType, PrimitiveType, StructType

__all__ = ["ACCEPTED", "REFUSED", "sql_type"]


def _array(element: DataType | str) -> ArrayType:
    return ArrayType(element)


def _struct(**members: DataType | str) -> StructType:
    return StructType([Field(name, each) for name, each in members.items()])


_PAIR = _struct(a="integer", b="string")
_DEEP = _struct(a=_array(_struct(x="decimal(5,2)")), m=MapType("string", _array("integer")))
_DAY = dt.date(2020, 1, 1)
_TIME = dt.datetime(2020, 1, 1)

ACCEPTED: list[tuple[DataType, str, object]] = [
    (_array("integer"), "array(1, 2)", [1, 2]),
    (_array("long"), "ARRAY(1, 2)", [1, 2]),
    (_array("long"), "array(1, 5000000000)", [1, 5000000000]),
    (_array("long"), "array(1, '2')", [1, 2]),
    (_array("float"), "array(1)", [1.0]),
    (_array("double"), "array(1, 2)", [1.0, 2.0]),
    (_array("decimal(12,2)"), "array(1)", [Decimal("1.00")]),
    (_array("string"), "array(1, 2.5)", ["1.0", "2.5"]),
    (_array("string"), "array(1, '2')", ["1", "2"]),
    (_array("string"), "array(true)", ["true"]),
    (_array("string"), "array('a', upper('b'), 'it''s')", ["a", "B", "it's"]),
    (_array("integer"), "array()", []),
    (_array("integer"), "array(NULL)", [None]),
    (_array("integer"), "array(NULL, 1 + 1)", [None, 2]),
    (_array("boolean"), "array(true, NULL)", [True, None]),
    (_array("binary"), "array(X'ab')", [b"\xab"]),
    (_array("date"), "array(DATE'2020-01-01')", [_DAY]),
    (_array("timestamp"), "array(DATE'2020-01-01')", [_TIME.replace(tzinfo=dt.UTC)]),
    (_array("timestamp"), "array(TIMESTAMP_NTZ'2020-01-01 00:00:00')", [_TIME.replace(tzinfo=dt.UTC)]),
    (_array("timestamp_ntz"), "array(TIMESTAMP_NTZ'2020-01-01 00:00:00')", [_TIME]),
    (_array(_array("integer")), "array(array(1), array(), NULL)", [[1], [], None]),
    (MapType("string", "integer"), "map('a', 1)", [("a", 1)]),
    (MapType("string", "integer"), "map()", []),
    (MapType("string", "long"), "map('a', 1, 'b', NULL)", [("a", 1), ("b", None)]),
    (MapType("integer", "string"), "map(1, 2)", [(1, "2")]),
    (MapType("string", "integer"), "map(1, 2)", [("1", 2)]),
    (
        MapType("string", _array("integer")),
        "map('a', array(1), 'b', array(NULL))",
        [("a", [1]), ("b", [None])],
    ),
    (MapType(_struct(a="integer"), "integer"), "map(named_struct('a', 1), 1)", [({"a": 1}, 1)]),
    (_struct(a="integer"), "named_struct('a', 1)", {"a": 1}),
    (_struct(a="long"), "named_struct('a', 1)", {"a": 1}),
    (_struct(a="short"), "named_struct('a', 1S)", {"a": 1}),
    (_struct(a="integer"), "named_struct('another', 1)", {"a": 1}),
    (_struct(A="integer"), "struct(1 AS a)", {"A": 1}),
    (_PAIR, "struct(1, 'x')", {"a": 1, "b": "x"}),
    (
        _struct(a="integer", b=_struct(c="string")),
        "struct(CAST('7' AS INT), struct(2))",
        {"a": 7, "b": {"c": "2"}},
    ),
    (
        _DEEP,
        "named_struct('a', array(named_struct('x', 1.5)), 'm', map('k', array(1, 2)))",
        {"a": [{"x": Decimal("1.50")}], "m": [("k", [1, 2])]},
    ),
    (_array(_struct(a="integer")), "array(named_struct('a', 1), NULL)", [{"a": 1}, None]),
    (
        _array(_struct(a="decimal(11,1)")),
        "array(struct(1), struct(2.5))",
        [{"a": Decimal("1.0")}, {"a": Decimal("2.5")}],
    ),
    (_struct(a="integer", v="variant"), "named_struct('a', 1, 'v', NULL)", {"a": 1, "v": None}),
]
"""Type, default, and the value that a row has which does not give it; maps as pairs."""

REFUSED: list[tuple[DataType, str]] = [
    (_array("byte"), "array(1)"),
    (_array("integer"), "array(1, 2.5)"),
    (_array("integer"), "array('1')"),
    (_array("integer"), "array(1, '2')"),
    (_array("double"), "array(1, 2.5)"),
    (_array("float"), "array(1.5)"),
    (_array("date"), "array('2020-01-01')"),
    (_array("binary"), "array('ab')"),
    (_array("decimal(5,2)"), "array(1)"),
    (_array("boolean"), "array(1)"),
    (_array(_array("double")), "array(array(1), array(2.5))"),
    (_array("integer"), "1"),
    (PrimitiveType("string"), "array(1)"),
    (PrimitiveType("string"), "named_struct('a', 1)"),
    (PrimitiveType("string"), "map('a', 1)"),
    (MapType("string", "integer"), "map('a', 1, 'a', 2)"),
    (MapType("string", "integer"), "map(NULL, 1)"),
    (MapType("string", "integer"), "map('a', 1, 'b')"),
    (_PAIR, "named_struct('b', 'x', 'a', 1)"),
    (_PAIR, "struct(1)"),
    (_struct(a="short"), "named_struct('a', 1)"),
    (_struct(a="integer"), "named_struct('a', 1, 'a', 2)"),
    (_struct(a="integer"), "named_struct('a')"),
    (_array(_struct(a="integer")), "array(named_struct('a', 1), named_struct('b', 2))"),
    (_array("integer"), "array(1, 2)[0]"),
    (_array("integer"), "struct(1)"),
]
"""What Spark makes no table with."""

_SQL = {"integer": "INT", "long": "BIGINT", "short": "SMALLINT", "byte": "TINYINT"}


def sql_type(data_type: DataType) -> str:
    """The type in Spark SQL."""
    if isinstance(data_type, ArrayType):
        return f"ARRAY<{sql_type(data_type.element_type)}>"
    if isinstance(data_type, MapType):
        return f"MAP<{sql_type(data_type.key_type)}, {sql_type(data_type.value_type)}>"
    if isinstance(data_type, StructType):
        return f"STRUCT<{', '.join(f'{each.name}: {sql_type(each.type)}' for each in data_type.fields)}>"
    return _SQL.get(data_type.type, data_type.type)
