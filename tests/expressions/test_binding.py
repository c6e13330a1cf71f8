"""Binding gives columns the table's spelling and literals the column's type."""

import datetime as dt
import math
from decimal import Decimal

import pyarrow as pa
import pytest

from deltaarrow.errors import InvalidPredicateError
from deltaarrow.expressions import (
    And,
    Cast,
    Column,
    Compare,
    IsIn,
    IsNull,
    Literal,
    Not,
    Opaque,
    StartsWith,
    bind,
    coerce_literal,
    coerce_literals,
    from_filters,
    to_arrow,
    to_duckdb,
)
from deltaarrow.schema import ArrayType, Field, Schema, StructType
from tests.support.conditions import predicate_of
from tests.support.duckdb_session import duckdb_session

SCHEMA = Schema(
    [
        Field("i", "integer"),
        Field("l", "long"),
        Field("f", "float"),
        Field("d", "double"),
        Field("c", "decimal(10,2)"),
        Field("s", "string"),
        Field("x", "binary"),
        Field("b", "boolean"),
        Field("day", "date"),
        Field("ts", "timestamp"),
        Field("ntz", "timestamp_ntz"),
        Field("st", StructType([Field("Inner", "long")])),
        Field("list", ArrayType("long")),
        Field("v", "variant"),
        Field("Case", "long"),
        Field("case", "long"),
    ]
)
UTC = dt.UTC


@pytest.mark.parametrize(
    ("name", "given", "value", "arrow_type"),
    [
        ("i", 5, 5, pa.int32()),
        ("i", "5", 5, pa.int32()),
        ("i", Decimal("5.0"), 5, pa.int32()),
        ("i", 5e0, 5, pa.int32()),
        ("i", Decimal("2.5"), Decimal("2.5"), None),
        ("i", 3000000000, 3_000_000_000, None),
        ("l", 3000000000, 3_000_000_000, pa.int64()),
        ("l", 1e300, 1e300, None),
        ("d", 1, 1.0, pa.float64()),
        ("d", Decimal("0.1"), 0.1, pa.float64()),
        ("d", "NaN", math.nan, pa.float64()),
        ("f", Decimal("0.1"), 0.1, pa.float64()),
        ("f", Decimal("0.5"), 0.5, pa.float32()),
        ("c", 1, Decimal(1), pa.decimal128(10, 2)),
        ("c", Decimal("1.5"), Decimal("1.5"), pa.decimal128(10, 2)),
        ("c", Decimal("1.005"), Decimal("1.005"), None),
        ("c", Decimal("1.500"), Decimal("1.5"), pa.decimal128(10, 2)),
        ("c", Decimal("0.000"), Decimal(0), pa.decimal128(10, 2)),
        ("c", Decimal("1E+99999999"), Decimal("1E+99999999"), None),
        ("c", 1e20, 1e20, None),
        ("s", "x", "x", pa.string()),
        ("x", "é", b"\xc3\xa9", pa.binary()),
        ("b", "TRUE", True, pa.bool_()),
        ("day", "2020-1-31", dt.date(2020, 1, 31), pa.date32()),
        ("day", dt.datetime(2020, 1, 31), dt.date(2020, 1, 31), pa.date32()),
        ("day", dt.datetime(2020, 1, 31, 1), dt.datetime(2020, 1, 31, 1), pa.timestamp("us")),
        ("ts", "2020-01-31", dt.datetime(2020, 1, 31, tzinfo=UTC), pa.timestamp("us", "UTC")),
        ("ts", dt.date(2020, 1, 31), dt.datetime(2020, 1, 31, tzinfo=UTC), pa.timestamp("us", "UTC")),
        ("ts", "2020-01-31 01:00+01:00", dt.datetime(2020, 1, 31, tzinfo=UTC), pa.timestamp("us", "UTC")),
        ("ntz", "2020-01-31 01:00", dt.datetime(2020, 1, 31, 1), pa.timestamp("us")),
        ("l", None, None, pa.int64()),
    ],
)
def test_literals_get_the_type_of_the_column(name, given, value, arrow_type):
    literal = bind(Compare("<", Column((name,)), Literal(given)), SCHEMA).right
    assert repr(literal) == repr(Literal(value, arrow_type))


def test_columns_get_the_spelling_of_the_schema():
    assert bind(Compare("=", Column(("S",)), Literal("x")), SCHEMA).left == Column(("s",))
    assert bind(IsNull(Column(("ST", "inner"))), SCHEMA) == IsNull(Column(("st", "Inner")))
    assert bind(IsNull(Column(("Case",))), SCHEMA) == IsNull(Column(("Case",)))
    assert bind(Opaque("x", (Column(("S",)),)), SCHEMA) == Opaque("x", (Column(("s",)),))


def test_the_column_comes_to_the_left():
    assert bind(Compare("<", Literal(5), Column(("i",))), SCHEMA) == Compare(
        ">", Column(("i",)), Literal(5, pa.int32())
    )


def test_in_keeps_the_values_that_can_be_there():
    listed = IsIn(Column(("i",)), (1, Decimal("2.5"), 3000000000, "4"))
    assert bind(listed, SCHEMA) == IsIn(Column(("i",)), (1, 4), pa.int32())
    assert bind(IsIn(Column(("i",)), (Decimal("2.5"),)), SCHEMA) == IsIn(Column(("i",)), ())
    listed = IsIn(Column(("c",)), (Decimal("1.250"), Decimal("1.255"), 7))
    assert bind(listed, SCHEMA).values == (Decimal("1.25"), Decimal(7))


def test_casts_that_lose_nothing_disappear():
    narrow = Compare("=", Cast(Column(("i",)), pa.int64()), Literal(5))
    assert bind(narrow, SCHEMA) == Compare("=", Column(("i",)), Literal(5, pa.int32()))
    lossy = Compare("=", Cast(Column(("l",)), pa.int32()), Literal(5))
    assert bind(lossy, SCHEMA) == lossy


def test_binding_goes_everywhere():
    tree = predicate_of("NOT (I = 1 AND (S LIKE 'x%' OR isnan(D)))", SCHEMA)
    assert isinstance(tree, Not)
    assert isinstance(tree.operand, And)
    assert StartsWith(Column(("s",)), "x") in tree.operand.operands[1].operands


def test_a_bound_predicate_runs_on_both_engines():

    tree = predicate_of("c > 1 AND i < 2.5 AND day >= '2020-01-01' AND f > 0 AND i NOT IN (7)", SCHEMA)
    rows = pa.table(
        {
            "c": pa.array([Decimal("1.00"), Decimal("1.01")], pa.decimal128(10, 2)),
            "i": pa.array([2, 2], pa.int32()),
            "day": pa.array([dt.date(2020, 1, 1)] * 2),
            "f": pa.array([1, 1], pa.float32()),
        }
    )
    assert rows.filter(to_arrow(tree)).num_rows == 1
    with duckdb_session() as connection:
        connection.register("t", rows)
        assert connection.execute(f"SELECT count(*) FROM t WHERE {to_duckdb(tree)}").fetchone() == (1,)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("nope", 1, "no column `nope`"),
        (("st", "nope"), 1, "no column `nope`"),
        ("CASE", 1, "no column `CASE`"),
        (("i", "x"), 1, "not a struct"),
        ("i", "x", "'i' is integer and cannot be compared with 'x'"),
        ("s", 1, "'s' is string and cannot be compared with 1"),
        ("b", 1, "'b' is boolean"),
        ("day", 1, "'day' is date"),
        ("day", "2020-02-30", "'day' is date"),
        ("ntz", dt.datetime(2020, 1, 1, tzinfo=UTC), "'ntz' is timestamp_ntz"),
        ("ts", dt.datetime.max.replace(tzinfo=dt.timezone(-dt.timedelta(hours=5))), "'ts' is timestamp"),
        ("s", "half of a pair: \ud83d", "'s' is string and cannot be compared"),
        ("x", "half of a pair: \ud83d", "'x' is binary and cannot be compared"),
        ("st", 1, "structtype and cannot be compared"),
        ("list", 1, "arraytype and cannot be compared"),
        ("v", 1, "variant and cannot be compared"),
    ],
)
def test_what_does_not_fit_is_refused(name, value, message):
    with pytest.raises(InvalidPredicateError, match=message):
        bind(from_filters([(name, "=", value)]), SCHEMA)


def test_prefixes_and_members_have_to_fit_as_well():
    with pytest.raises(InvalidPredicateError, match="not a string"):
        bind(StartsWith(Column(("i",)), "x"), SCHEMA)
    with pytest.raises(InvalidPredicateError, match="'s' is string and cannot be compared"):
        bind(StartsWith(Column(("s",)), "\udfff"), SCHEMA)
    with pytest.raises(InvalidPredicateError, match="cannot be compared with 'x'"):
        bind(from_filters([("i", "in", [1, "x"])]), SCHEMA)


def test_null_tests_take_any_column():
    for name in ("st", "list", "v"):
        assert bind(IsNull(Column((name,))), SCHEMA) == IsNull(Column((name,)))


def test_an_arrow_time_without_zone_is_not_compared_with_one():
    naive = Compare("=", Column(("ts",)), Literal(dt.datetime(2020, 1, 1), pa.timestamp("us")))
    with pytest.raises(InvalidPredicateError, match="cannot be compared"):
        bind(naive, SCHEMA)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("i", (1, -(2**31), 2**31 - 1)),
        ("i", (1, 2**31)),
        ("i", (1, True)),
        ("l", (1, 2.5, "3", None)),
        ("l", ()),
        ("d", (1, 2)),
        ("c", (1, Decimal("2.5"))),
        ("s", ("1", "2")),
        ("b", (1, 0)),
        ("list", (1, 2)),
    ],
)
def test_many_values_are_coerced_as_each_of_them(name, values):
    data_type = SCHEMA.field(name).type
    assert coerce_literals(values, None, data_type) == [
        coerce_literal(Literal(value, None), data_type) for value in values
    ]
