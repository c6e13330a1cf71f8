"""Filters as tuples keep the same rows as in pyarrow."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaarrow.errors import InvalidFilterValueError, InvalidPredicateError
from deltaarrow.expressions import Column, Compare, IsIn, IsNull, Literal, Not, Or, from_filters, to_arrow
from deltaarrow.schema import Field, StructType

ROWS = pa.table({"n": range(4), "a": [1, 2, None, 4], "s": ["x", None, "y", "z"]})


@pytest.mark.parametrize(
    "filters",
    [
        [("a", "=", 1)],
        [("a", "==", 1), ("s", "!=", "y")],
        [("a", "!=", 1)],
        [("a", "<", 4), ("a", "<=", 2), ("a", ">", 0), ("a", ">=", 1)],
        [("a", "in", [1, 4])],
        [("a", "in", {1, None})],
        [("a", "not in", (1,))],
        [("a", "not in", [1, None])],
        [("a", "in", pa.array([], pa.int64()))],
        [[("a", "=", 1)], [("s", "=", "z"), ("a", ">", 1)]],
        [[("a", "=", 1)]],
        [("a", "=", None)],
        [("a", "in", np.array([1, 2]).tolist()), ("a", ">", np.int64(1))],
    ],
)
def test_keeps_the_rows_that_pyarrow_keeps(filters):
    theirs = pq.filters_to_expression(filters)
    ours = to_arrow(from_filters(filters))
    assert ROWS.filter(ours)["n"].to_pylist() == ROWS.filter(theirs)["n"].to_pylist()


@pytest.mark.parametrize(
    "value",
    [pd.Timestamp(1_001), np.datetime64(1_001, "ns"), pa.scalar(1_001, pa.timestamp("ns"))],
    ids=lambda value: type(value).__name__,
)
def test_a_time_below_microseconds_is_refused_instead_of_cut(value):
    for op, given in (("=", value), ("in", [value])):
        with pytest.raises(InvalidFilterValueError, match="below microseconds"):
            from_filters([("t", op, given)])


@pytest.mark.parametrize(
    "value",
    [pd.Timestamp(2_000), np.datetime64(2_000, "ns"), pa.scalar(2_000, pa.timestamp("ns"))],
    ids=lambda value: type(value).__name__,
)
def test_a_time_in_nanoseconds_is_compared_in_microseconds(value):
    times = pa.table({"t": pa.array([1, 2, None], pa.timestamp("us"))})
    found = times.filter(to_arrow(from_filters([("t", ">=", value)])))
    assert found["t"].cast("int64").to_pylist() == [2]
    no_time = np.datetime64("NaT", "ns")
    assert times.filter(to_arrow(from_filters([("t", "in", [no_time, value])]))).num_rows == 2


def test_nothing_is_in_an_empty_collection():
    assert ROWS.filter(to_arrow(from_filters([("s", "in", [])]))).num_rows == 0
    assert ROWS.filter(to_arrow(from_filters([("s", "not in", [])]))).num_rows == 4


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_a_zero_of_either_sign_is_in_a_collection_that_has_one(zero):
    zeros = pa.table({"x": [0.0, -0.0, 1.0, None]})
    assert zeros.filter(to_arrow(from_filters([("x", "in", [zero])]))).num_rows == 2
    assert zeros.filter(to_arrow(from_filters([("x", "not in", [zero, None])])))["x"].to_pylist() == [1.0]


def test_a_tuple_of_filters_is_a_list_of_filters():
    assert from_filters((("a", "=", 1), ("s", "=", "x"))) == from_filters([("a", "=", 1), ("s", "=", "x")])


def test_nested_columns_are_tuples_of_names_and_dots_are_part_of_a_name():
    assert from_filters([(("a", "b"), "=", 1)]).left == Column(("a", "b"))
    assert from_filters([("a.b", "=", 1)]).left == Column(("a.b",))


@pytest.mark.parametrize(
    "value", [True, 1, 1.5, Decimal("1.5"), "x", b"x", dt.date(2020, 1, 1), dt.datetime(2020, 1, 1)]
)
def test_values(value):
    assert from_filters([("a", "=", value)]) == Compare("=", Column(("a",)), Literal(value))


def test_the_empty_text_is_null_in_a_partition_column():
    column = Column(("p",))
    assert from_filters([("p", "=", "")], ["p"]) == IsNull(column)
    assert from_filters([("p", "!=", "")], ["p"]) == Not(IsNull(column))
    assert from_filters([("p", "in", ["", "x"])], ["p"]) == Or((IsNull(column), IsIn(column, ("x",))))
    assert from_filters([("p", "=", "")]) == Compare("=", column, Literal(""))


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        ([], "a list of"),
        ("a = 1", "a list of"),
        ([[]], "empty"),
        ([("a", "=")], "column, operator, value"),
        ([("a", "~", 1)], "unknown operator '~'"),
        ([("a", "in", "xyz")], "collection"),
        ([("a", "in", 1)], "collection"),
        ([("a", "=", [1])], "list"),
        ([((), "=", 1)], "tuple of names"),
        ([((1,), "=", 1)], "tuple of names"),
    ],
)
def test_ill_formed_filters_are_refused(filters, message):
    with pytest.raises(InvalidPredicateError, match=message):
        from_filters(filters)


@pytest.mark.parametrize("value", [{"a": 1}, [1], object()], ids=lambda value: type(value).__name__)
def test_a_value_of_a_wrong_type_is_a_value_error_as_in_deltalake(value):
    schema = StructType([Field("day", "string"), Field("n", "long")])
    for filters in ([("day", "=", value)], [("day", "in", [value, "x"])]):
        with pytest.raises(ValueError, match="Could not encode partition value for type") as caught:
            from_filters(filters, ["day"], schema)
        assert type(caught.value) is InvalidFilterValueError
    with pytest.raises(InvalidPredicateError, match=f"value of type {type(value).__name__}"):
        from_filters([("n", "=", value)], ["day"], schema)
