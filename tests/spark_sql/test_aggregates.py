"""Aggregates, window functions and generators: values, types and refusals, without Spark."""

import math
from decimal import Decimal

import duckdb
import pytest

from deltaarrow.errors import SchemaMismatchError, UnsupportedFeatureError
from deltaarrow.schema import Field, Schema
from deltaarrow.spark_sql import Expression, parse_expression, to_sandbox_sql
from deltaarrow.spark_sql.functions.aggregate import (
    Frame,
    Order,
    Rows,
    Window,
    find_aggregate,
    is_aggregate,
    is_window,
)
from deltaarrow.spark_sql.functions.generator import find_generator
from deltaarrow.spark_sql.functions.window import find_window_function
from tests.support.duckdb_session import duckdb_session

SCHEMA = Schema(
    [
        Field("k", "integer"),
        Field("l", "long"),
        Field("d", "double"),
        Field("m", "decimal(10,2)"),
        Field("s", "string"),
    ]
)
ROWS = [
    "(1, 5, 0.5, 1.05, 'a')",
    "(1, NULL, NULL, NULL, NULL)",
    "(2, 9223372036854775807, 'nan'::DOUBLE, 2.00, 'b')",
    "(2, 1, 1.5, 99999999.99, 'b')",
]
RELATION = (
    f"(SELECT k::INTEGER AS k, l::BIGINT AS l, d::DOUBLE AS d, m::DECIMAL(10,2) AS m, s"
    f" FROM (VALUES {', '.join(ROWS)}) AS v(k, l, d, m, s))"
)


def bound(text):
    return parse_expression(text, SCHEMA).root


def aggregate(name, *operands, **rows):
    return find_aggregate(name)(name, tuple(map(bound, operands)), Rows(**rows))


def values(node, where="TRUE", order=""):
    sql = to_sandbox_sql(Expression("", node))
    with duckdb_session() as connection:
        found = connection.execute(f"SELECT {sql} FROM {RELATION} WHERE {where} {order}").fetchall()
    return [value for (value,) in found]


@pytest.mark.parametrize(
    ("name", "operands", "rows", "wanted_type", "wanted"),
    [
        ("count", (), {}, "long", 4),
        ("count", ("l",), {}, "long", 3),
        ("count", ("s",), {"distinct": True}, "long", 2),
        ("count", ("s", "l"), {"distinct": True}, "long", 3),
        ("count", ("s", "l"), {}, "long", 3),
        ("sum", ("m",), {}, "decimal(20,2)", Decimal("100000003.04")),
        ("sum", ("k",), {"distinct": True}, "long", 3),
        ("avg", ("m",), {}, "decimal(14,6)", Decimal("33333334.346667")),
        ("avg", ("k",), {}, "double", 1.5),
        ("min", ("d",), {}, "double", 0.5),
        ("max", ("s",), {}, "string", "b"),
        ("count_if", ("l > 1",), {}, "long", 2),
        ("bool_and", ("k = 1",), {}, "boolean", False),
        ("any_value", ("s", "true"), {}, "string", "a"),
    ],
)
def test_an_aggregate_has_the_type_and_the_value_of_spark(name, operands, rows, wanted_type, wanted):
    node = aggregate(name, *operands, **rows)
    assert is_aggregate(node)
    assert (node.type.type, values(node)) == (wanted_type, [wanted])


def test_nan_is_the_greatest_number():
    assert math.isnan(values(aggregate("max", "d"))[0])


def test_a_variance_of_numbers_that_are_not_finite_is_nan():
    assert math.isnan(values(aggregate("variance", "d"))[0])
    assert values(aggregate("stddev", "d"), "k = 1") == [None]


def test_a_sum_beyond_a_long_raises():
    with pytest.raises(duckdb.ConversionException):
        values(aggregate("sum", "l"))


def test_a_filter_hides_rows_on_which_an_operand_would_raise():
    node = aggregate("sum", "100 div (k - 1)", where=bound("k > 1"))
    assert values(node) == [200]


def test_lists_have_no_nulls_and_are_empty_without_rows():
    assert values(aggregate("collect_list", "s"), "k = 1") == [["a"]]
    assert values(aggregate("collect_set", "s"), "k = 2") == [["b"]]
    assert values(aggregate("collect_list", "s"), "FALSE") == [[]]


def test_windows_count_from_the_first_row_to_the_current_one():
    order = (Order(bound("k"), descending=True), Order(bound("d")))
    window = Window(order=order)
    number = find_window_function("row_number")("row_number", (), Rows(window=window))
    assert is_window(number) and number.type.type == "integer"
    assert values(number, order="ORDER BY k DESC, d NULLS FIRST") == [1, 2, 3, 4]
    running = aggregate("count", window=Window((bound("k"),), order, Frame("ROWS", None, 0)))
    assert values(running, order="ORDER BY k DESC, d NULLS FIRST") == [1, 2, 1, 2]
    lag = find_window_function("lag")(
        "lag", (bound("s"), bound("1"), bound("'none'")), Rows(window=Window(order=(Order(bound("s")),)))
    )
    assert sorted(map(str, values(lag))) == ["None", "a", "b", "none"]


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: aggregate("sum", "s = 'a'"), "sum of boolean"),
        (lambda: aggregate("sum"), "0 arguments"),
        (lambda: aggregate("sum", "k", distinct=True, window=Window()), "DISTINCT values over a window"),
        (lambda: aggregate("collect_set", "d"), "collect_set of double"),
        (
            lambda: find_window_function("rank")("rank", (), Rows(window=Window())),
            "rank over a window without ORDER BY",
        ),
        (lambda: find_generator("explode")("explode", (bound("k"),)), "explode of integer"),
    ],
)
def test_what_spark_refuses_is_refused_by_name(call, named):
    with pytest.raises((SchemaMismatchError, UnsupportedFeatureError), match=named):
        call()


def test_unknown_names_are_not_found():
    assert find_aggregate("approx_count_distinct") is None
    assert find_window_function("sum") is None
    assert find_generator("stack_outer") is None


@pytest.mark.parametrize(
    ("name", "operands", "names", "wanted"),
    [
        ("explode", ("array(k, 7)",), ["col"], [{"col": 1}, {"col": 7}]),
        (
            "POSEXPLODE_OUTER",
            ("map('x', k)",),
            ["pos", "key", "value"],
            [{"pos": 0, "key": "x", "value": 1}],
        ),
        ("inline", ("array(struct(k AS a, s AS b))",), ["a", "b"], [{"a": 1, "b": "a"}]),
        (
            "stack",
            ("2", "k", "'y'", "2"),
            ["col0", "col1"],
            [{"col0": 1, "col1": "y"}, {"col0": 2, "col1": None}],
        ),
    ],
)
def test_a_generator_makes_an_array_of_its_rows(name, operands, names, wanted):
    generated = find_generator(name)(name, tuple(map(bound, operands)))
    assert (generated.schema.names, generated.is_outer) == (names, name.endswith("OUTER"))
    assert values(generated.rows, "l = 5") == [wanted]
