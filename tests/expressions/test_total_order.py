"""NaN in a predicate means the same in every engine, as in IEEE 754; SQL's meaning is spelled out."""

import itertools
import math

import pyarrow as pa
import pyarrow.dataset as pads
import pytest

from deltaarrow.expressions import (
    And,
    Column,
    Compare,
    IsIn,
    IsNull,
    Literal,
    Not,
    Or,
    in_total_order,
    literal_sql,
    ordered,
    to_arrow,
    to_duckdb,
)
from deltaarrow.schema import Schema
from tests.support.duckdb_session import duckdb_session

A, B = Column(("a",)), Column(("b",))
SCHEMA = Schema.from_arrow(pa.schema([("a", pa.float64()), ("b", pa.float64())]))
VALUES = [None, math.nan, math.inf, -math.inf, -0.0, 0.0, 2.0, 3.0]
PAIRS = list(itertools.product(VALUES, VALUES))
ROWS = pa.table({"a": pa.array([a for a, _ in PAIRS]), "b": pa.array([b for _, b in PAIRS])})
OPERATORS = ["=", "!=", "<", "<=", ">", ">="]
LITERALS = [Literal(value, pa.float64()) for value in VALUES if value is not None]


def in_duckdb(sql):
    with duckdb_session() as connection:
        connection.register("rows_here", ROWS)
        return [value for (value,) in connection.sql(f"SELECT {sql} FROM rows_here").fetchall()]


def in_pyarrow(predicate):
    scanner = pads.Scanner.from_batches(
        ROWS.to_batches(), schema=ROWS.schema, columns={"v": to_arrow(predicate)}, use_threads=False
    )
    return scanner.to_table().column("v").to_pylist()


def ieee(op, left, right):
    """Python's own comparison, which is that of IEEE 754."""
    if left is None or right is None:
        return None
    return {
        "=": left == right,
        "!=": left != right,
        "<": left < right,
        "<=": left <= right,
        ">": left > right,
        ">=": left >= right,
    }[op]


@pytest.mark.parametrize("op", OPERATORS)
def test_columns_compare_as_ieee_in_both_engines(op):
    wanted = [ieee(op, a, b) for a, b in PAIRS]
    assert in_duckdb(to_duckdb(Compare(op, A, B))) == wanted
    assert in_pyarrow(Compare(op, A, B)) == wanted


@pytest.mark.parametrize("literal", LITERALS, ids=lambda literal: str(literal.value))
@pytest.mark.parametrize("op", OPERATORS)
def test_literals_compare_as_ieee_in_both_engines(op, literal):
    for predicate, wanted in (
        (Compare(op, A, literal), [ieee(op, a, literal.value) for a, _ in PAIRS]),
        (Compare(op, literal, A), [ieee(op, literal.value, a) for a, _ in PAIRS]),
    ):
        assert in_duckdb(to_duckdb(predicate)) == wanted
        if predicate.left == A:
            assert in_pyarrow(predicate) == wanted


@pytest.mark.parametrize("other", [B, *LITERALS], ids=str)
@pytest.mark.parametrize("op", OPERATORS)
def test_the_order_of_sql_is_that_of_duckdb(op, other):
    plain = in_duckdb(f"a {op} {'b' if other == B else literal_sql(other)}")
    for predicate in (ordered(op, A, other), in_total_order(Compare(op, A, other), SCHEMA)):
        assert in_pyarrow(predicate) == plain
        assert in_duckdb(to_duckdb(predicate)) == plain
        for opposite in (Not(predicate), in_total_order(Not(Compare(op, A, other)), SCHEMA)):
            assert in_pyarrow(opposite) == [None if value is None else not value for value in plain]


def test_nan_is_in_no_set_but_in_sql_in_one_that_holds_it():
    member = IsIn(A, (math.nan, 0.0), pa.float64())
    zeros = [None if a is None else a == 0 for a, _ in PAIRS]
    found = [None if a is None else a == 0 or math.isnan(a) for a, _ in PAIRS]
    assert in_duckdb(to_duckdb(member)) == zeros
    assert in_duckdb(to_duckdb(in_total_order(member, SCHEMA))) == found
    assert [bool(value) for value in in_pyarrow(member)] == [bool(value) for value in zeros]
    assert [bool(value) for value in in_pyarrow(in_total_order(member, SCHEMA))] == [bool(v) for v in found]


def test_the_order_of_sql_is_a_plain_comparison_to_duckdb():
    spelled = in_total_order(And((Compare(">", A, LITERALS[-1]), IsNull(B))), SCHEMA)
    assert isinstance(spelled.operands[0], Or)
    assert to_duckdb(spelled) == """(("a" > CAST('3.0' AS DOUBLE)) AND ("b" IS NULL))"""
