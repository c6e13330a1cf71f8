"""The DuckDB SQL of a predicate has the predicate's value on every row, NULL included."""

import datetime as dt
import math
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest

from deltaarrow.errors import InvalidPredicateError
from deltaarrow.expressions import (
    NULL,
    TRUE,
    And,
    Cast,
    Column,
    Compare,
    IsIn,
    IsNan,
    IsNull,
    Literal,
    Not,
    Opaque,
    Or,
    StartsWith,
    column_sql,
    to_duckdb,
)

A = Column(("a",))
CONNECTION = duckdb.connect()


def values(predicate, array):
    with CONNECTION.cursor() as cursor:
        cursor.register("t", pa.table({"a": array}))
        return [row[0] for row in cursor.execute(f"SELECT {to_duckdb(predicate)} FROM t").fetchall()]


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        (Compare("=", A, Literal(1)), [True, False, None]),
        (Compare("!=", Literal(1), A), [False, True, None]),
        (Compare("=", A, Literal(None)), [None, None, None]),
        (IsIn(A, (1, 7)), [True, False, None]),
        (IsIn(A, ()), [False, False, None]),
        (IsNull(A), [False, False, True]),
        (IsNull(Compare("=", A, Literal(1))), [False, False, True]),
        (Not(Compare(">", A, Literal(1))), [True, False, None]),
        (And((Compare("=", A, Literal(1)), NULL)), [None, False, None]),
        (Or((Compare("=", A, Literal(1)), NULL)), [True, None, None]),
        (And(()), [True, True, True]),
        (Or(()), [False, False, False]),
        (TRUE, [True, True, True]),
    ],
)
def test_three_values(predicate, expected):
    assert values(predicate, pa.array([1, 2, None])) == expected


def test_nan_meets_no_comparison_as_in_the_tree():
    array = pa.array([1.0, math.nan, math.inf])
    assert values(IsNan(A), array) == [False, True, False]
    assert values(Compare("=", A, Literal(math.nan)), array) == [False, False, False]
    assert values(Compare(">", A, Literal(1.0)), array) == [False, False, True]


@pytest.mark.parametrize(
    ("value", "array_type"),
    [
        (True, pa.bool_()),
        (2**63 - 1, pa.int64()),
        (-(2**63), pa.int64()),
        (0.1, pa.float64()),
        (-math.inf, pa.float64()),
        (Decimal("-0.001"), pa.decimal128(10, 3)),
        (Decimal("9" * 38), pa.decimal128(38, 0)),
        ("it's \\ \" \x00 é", pa.string()),
        (b"\x00'\\\xff", pa.binary()),
        (dt.date(1, 1, 1), pa.date32()),
        (dt.datetime(9999, 12, 31, 23, 59, 59, 999999), pa.timestamp("us")),
        (dt.datetime(1969, 12, 31, 23, 59, 59, 999999, dt.UTC), pa.timestamp("us", "UTC")),
    ],
)
@pytest.mark.parametrize("typed", [True, False])
def test_a_literal_equals_itself_in_a_column(value, array_type, typed):
    literal = Literal(value, array_type if typed else None)
    assert values(Compare("=", A, literal), pa.array([value, None], array_type)) == [True, None]


def test_floats_keep_their_width():
    array = pa.array([0.1], pa.float32())
    assert values(Compare("=", A, Literal(0.1, pa.float32())), array) == [True]
    assert values(Compare("=", A, Literal(0.1)), array) == [False]


def test_prefixes_are_text_and_not_patterns():
    assert values(StartsWith(A, "a%"), pa.array(["a%b", "ab", "a", None])) == [True, False, False, None]


def test_names_are_quoted():
    with duckdb.connect() as connection:
        connection.execute("""CREATE TABLE t AS SELECT {'it''s "x"': 5} AS "a.b" """)
        sql = to_duckdb(Compare("=", Column(("a.b", 'it\'s "x"')), Literal(5)))
        assert connection.execute(f"SELECT {sql} FROM t").fetchall() == [(True,)]


def test_the_caller_names_the_columns():
    sql = to_duckdb(IsNull(Column(("a", "b"))), lambda path: "x." + column_sql(path[::-1]))
    assert sql == """(x.struct_extract("b", 'a') IS NULL)"""


@pytest.mark.parametrize(
    "predicate",
    [Not(Opaque("the function add")), Compare("=", Cast(A, pa.int8()), Literal(1))],
)
def test_what_has_no_sql_is_refused(predicate):
    with pytest.raises(InvalidPredicateError, match="not"):
        to_duckdb(predicate)
