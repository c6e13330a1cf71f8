"""The predicate from a pyarrow expression keeps the rows that the expression keeps."""

import datetime as dt
import math
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow.errors import InvalidPredicateError
from deltaarrow.expressions import (
    And,
    Column,
    Compare,
    IsIn,
    IsNull,
    Literal,
    Not,
    Opaque,
    columns_of,
    from_arrow,
    is_exact,
    to_arrow,
)
from tests.support.examples import examples

NAN = math.nan
ROWS = (
    pa.table(
        {
            "n": range(5),
            "i": pa.array([1, 2, None, -5, 2], pa.int32()),
            "l": pa.array([5, None, 2, 1, -(2**60)]),
            "f": pa.array([0.5, NAN, None, -0.0, math.inf]),
            "s": pa.array(["a", "ab", None, "", "\U0001f600"]),
            "b": pa.array([True, False, None, True, None]),
            "t": pa.array([0, 1, None, 10**15, -1], pa.timestamp("us", "UTC")),
            "c": pa.array(
                [Decimal("1.10"), None, Decimal("-3.00"), Decimal("0"), None], pa.decimal128(10, 2)
            ),
            "st": pa.array([{"a": 1}, None, {"a": None}, {"a": 7}, {"a": 1}], pa.struct([("a", pa.int64())])),
            "odd name": pa.array([1, None, 3, 4, 5]),
        }
    )
    .combine_chunks()
    .to_batches()[0]
)
field = pc.field


def kept(expression):
    return ROWS.filter(expression).column("n").to_pylist()


leaves = st.sampled_from(
    [
        field("i") == 2,
        field("l") >= 2,
        field("i") != pa.scalar(None, pa.int32()),
        field("f") > 0.25,
        field("f") <= 0.5,
        field("f") != 0.5,
        field("f").is_null(nan_is_null=True),
        pc.is_nan(field("f")),
        field("s") >= "a",
        pc.starts_with(field("s"), "a"),
        field("s").is_valid(),
        field("b"),
        field("b") == False,  # noqa: E712
        field("t") < dt.datetime(1990, 1, 1, tzinfo=dt.UTC),
        field("t") == pa.scalar(1, pa.timestamp("us", "Europe/Berlin")),
        field("c") > Decimal("0.125"),
        field("c") == pa.scalar(Decimal("1.1"), pa.decimal128(5, 1)),
        field("st", "a") == 1,
        field("st", "a").is_null(),
        field("st").is_null(),
        field("odd name") > 3,
        field("i").cast(pa.int64()) > 1,
        field("i").isin([1, 7]),
        field("i").isin([2, None]),
        field("f").isin([NAN, 0.5]),
        field("i").isin(pa.array([], pa.int32())),
        pc.is_in(field("i"), value_set=pa.array([2, None], pa.int32()), skip_nulls=True),
        pc.if_else(field("i").is_valid(), field("i").isin([2, 3]), pa.scalar(None, pa.bool_())),
        (field("i") == 2).is_null(),
        (field("i") == 2).is_valid(),
        pc.scalar(True),
        pc.scalar(False),
        pc.scalar(pa.scalar(None, pa.bool_())),
    ]
)
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda two: two[0] & two[1]),
        st.tuples(inner, inner).map(lambda two: two[0] | two[1]),
        st.tuples(inner, inner).map(lambda two: pc.Expression._call("and", list(two))),
        st.tuples(inner, inner).map(lambda two: pc.Expression._call("or", list(two))),
        st.tuples(inner, inner, inner).map(lambda three: pc.if_else(*three)),
        inner.map(lambda one: ~one),
    ),
    max_leaves=6,
)


@given(trees)
@settings(deadline=None, max_examples=examples(100))
def test_round_trip_keeps_the_same_rows(expression):
    tree = from_arrow(expression)
    assert is_exact(tree)
    assert kept(to_arrow(tree)) == kept(expression), tree


def test_every_order_of_tokens_is_kept():
    tree = from_arrow(((field("a") > 1) & (field("b") < 2)) | (field("a") == 3))
    assert columns_of(tree) == {("a",), ("b",)}
    assert [type(each).__name__ for each in tree.operands] == ["And", "Compare"]


@pytest.mark.parametrize(
    ("value", "value_type"),
    [
        (True, pa.bool_()),
        (-3, pa.int8()),
        (2**64 - 1, pa.uint64()),
        (1.5, pa.float32()),
        (1.5, pa.float64()),
        (Decimal("-1.50"), pa.decimal128(5, 2)),
        ("é\x00\n'", pa.string()),
        (b"\x00\xff", pa.binary()),
        (dt.date(1, 1, 1), pa.date32()),
        (dt.datetime(2020, 1, 1, 0, 0, 0, 1), pa.timestamp("us")),
        (dt.datetime(2020, 1, 1, tzinfo=dt.UTC), pa.timestamp("us", "UTC")),
        (None, pa.int64()),
        (None, pa.null()),
    ],
)
def test_literals_keep_value_and_type(value, value_type):
    tree = from_arrow(field("x") == pa.scalar(value, value_type))
    assert tree == Compare("=", Column(("x",)), Literal(value, value_type))


@pytest.mark.parametrize(
    "scalar",
    [
        pa.scalar("x", pa.large_string()),
        pa.scalar("x", pa.string_view()),
        pa.scalar("x", pa.dictionary(pa.int8(), pa.string())),
    ],
)
def test_every_kind_of_string_is_a_string(scalar):
    assert from_arrow(field("x") == scalar).right == Literal("x", pa.string())


@pytest.mark.parametrize(
    "expression",
    [
        field("x") + field("y") > 1,
        pc.match_substring(field("x"), "q") & field("y"),
        pc.starts_with(field("x"), "q", ignore_case=True) | field("y"),
        field("x").cast(pa.int32(), safe=False) == field("y"),
        (field("x") == pa.scalar(1001, pa.timestamp("ns"))) & field("y"),
        (field("x") == pa.scalar(2**62, pa.timestamp("us"))) & field("y"),
        (field("x") == pa.scalar({"a": 1})) & field("y"),
        (field("x") == pa.scalar(dt.time(1))) & field("y"),
        (field("x") > 1) == field("y"),
        pc.is_nan(field("x") + 1) & field("y"),
    ],
)
def test_what_is_not_understood_is_opaque_with_its_columns(expression):
    tree = from_arrow(expression)
    assert not is_exact(tree)
    assert ("y",) in columns_of(tree) or ("x",) in columns_of(tree)
    with pytest.raises(InvalidPredicateError, match="is not supported in a condition"):
        to_arrow(tree)


def test_an_opaque_part_leaves_the_rest_readable():
    tree = from_arrow((field("x") + 1 > 1) & (field("y") == 2))
    opaque, compare = tree.operands
    assert opaque == Opaque("the function greater", (Column(("x",)),))
    assert compare == Compare("=", Column(("y",)), Literal(2, pa.int64()))


def test_the_form_in_which_duckdb_pushes_in_down_is_in():
    pushed = pc.if_else(field("x").is_valid(), field("x").isin([1, 2]), pa.scalar(None, pa.bool_()))
    assert from_arrow(pushed) == IsIn(Column(("x",)), (1, 2), pa.int64())
    other = pc.if_else(field("y").is_valid(), field("x").isin([1, 2]), pa.scalar(None, pa.bool_()))
    assert not isinstance(from_arrow(other), IsIn)


def test_pyarrow_isin_is_false_for_null():
    column = Column(("x",))
    assert from_arrow(field("x").isin([1])) == And((Not(IsNull(column)), IsIn(column, (1,), pa.int64())))


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (pc.field(0) > 1, "cannot read the filter"),
        (pc.scalar(1), "where a condition is needed"),
        (pc.field("a").cast(pa.bool_()), "where a condition is needed"),
    ],
)
def test_what_is_no_condition_is_refused(expression, message):
    with pytest.raises(InvalidPredicateError, match=message):
        from_arrow(expression)


def test_thousands_of_terms():
    expression = field("i") == 0
    for number in range(1, 3000):
        expression = expression | (field("i") == number)
    tree = from_arrow(expression)
    assert len(tree.operands) == 3000
    assert len(kept(to_arrow(tree))) == 3
