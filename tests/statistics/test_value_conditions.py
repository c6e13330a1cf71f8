"""Conditions on a partition column in Python: they leave the texts that their SQL leaves."""

from datetime import date

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaarrow.expressions import from_filters, from_sql
from deltaarrow.schema import Field, PrimitiveType, Schema
from deltaarrow.statistics import plain_values, skipping_sql, value_condition

SCHEMA = Schema([Field("s", "string"), Field("b", "byte"), Field("n", "long"), Field("d", "date")])
OPERATORS = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])
STRINGS = st.sampled_from(["", "a", "b", "ab", "é", "z", "Z", "\U0001f600", "ｚ", "~"])
BYTES = st.integers(-128, 127)
LONGS = st.sampled_from([-(2**63), -1, 0, 7, 2**53 + 1, 2**63 - 1]) | st.integers(-9, 9)
DAYS = st.dates(date(1, 1, 1), date(9999, 12, 31)) | st.dates(date(2024, 2, 27), date(2024, 3, 2))


def columns(values, name):
    texts = values.map(str)
    odd = st.sampled_from(["", " 7", "+7", "07", "1e3", "7.0", "300", "2024-2-3", "20240203", "?"])
    filters = st.tuples(st.just(name), OPERATORS, values)
    members = st.tuples(st.just(name), st.just("in"), st.lists(values, min_size=1, max_size=4))
    return st.tuples(
        st.just(name),
        st.lists(st.none() | texts, max_size=8) | st.lists(st.none() | texts | odd, max_size=8),
        st.lists(filters | members, min_size=1, max_size=2),
    )


@settings(deadline=None, max_examples=150)
@given(
    st.one_of(columns(STRINGS, "s"), columns(BYTES, "b"), columns(LONGS, "n"), columns(DAYS, "d")),
)
def test_the_texts_that_are_left_are_those_of_the_query(given_column):
    name, texts, filters = given_column
    predicate = from_filters(filters)
    condition = value_condition(predicate, SCHEMA)
    assert condition is not None
    values = plain_values(texts, SCHEMA.field(name).type)
    if values is None:
        return
    sql = skipping_sql(predicate, SCHEMA, partition_columns=[name], partition_values="partition_values")
    query = f"SELECT {sql} FROM (SELECT MAP {{'{name}': ?::VARCHAR}} AS partition_values)"
    with duckdb.connect() as connection:
        expected = [connection.execute(query, [text]).fetchall()[0][0] for text in texts]
    assert condition.left(values) == expected


@pytest.mark.parametrize(
    "condition",
    ["s IS NULL", "n > 2.5", "s LIKE 'a%'", "n = 1 OR n = 2", "NOT (n = 1)", "s = 'a' AND n = 1"],
)
def test_whatever_else_is_left_to_a_query(condition):
    assert value_condition(from_sql(condition), SCHEMA) is None


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("b", ["128"]),
        ("b", ["1", "-129"]),
        ("n", ["1_000"]),
        ("n", ["٣"]),
        ("n", ["9223372036854775808"]),
        ("d", ["20240229"]),
        ("d", ["2024-W09-4"]),
        ("d", ["2023-02-29"]),
        ("d", ["2024-02-29 "]),
    ],
)
def test_texts_that_are_spelled_otherwise_are_left_to_a_query(name, texts):
    data_type = SCHEMA.field(name).type
    assert isinstance(data_type, PrimitiveType)
    assert plain_values(texts, data_type) is None
