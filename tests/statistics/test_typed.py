"""Typed statistics of a few texts equal those that DuckDB reads, or are left to DuckDB."""

import json

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow.compute import sandbox_cursor
from deltaarrow.schema import Field, Schema, StructType
from deltaarrow.statistics.typed import TypedStatistics
from tests.support.examples import examples

PLAIN = Schema(
    [
        Field("id", "long"),
        Field("tiny", "byte"),
        Field("text", "string"),
        Field("number", "double"),
        Field("flag", "boolean"),
        Field("day", "date"),
        Field("inner", StructType([Field("a", "integer"), Field("when", "date")])),
    ]
)


def typed(schema):
    return TypedStatistics.of(schema, (), {}, "none", has_tight_bounds=True)


def by_query(statistics, texts):
    with sandbox_cursor() as cursor:
        cursor.register("texts", pa.table({"stats": pa.array(texts, pa.string())}))
        inner = f"SELECT {statistics.raw('stats')} AS raw FROM texts"
        return cursor.sql(f"SELECT {statistics.from_raw('raw')} AS found FROM ({inner})").to_arrow_table()


def members(*leaves):
    return st.fixed_dictionaries({}, optional=dict(leaves))


words = st.text(max_size=5).filter(lambda text: "\0" not in text)
odd_days = ["2020-02-30", "0000-01-01", "2020-1-1", "infinity", "+2020-01-01"]
days = st.dates().map(str) | st.sampled_from(odd_days)
bounds = members(
    ("id", st.none() | st.integers(-(2**63), 2**63 - 1)),
    ("tiny", st.integers(-128, 127) | st.just(300)),
    ("text", words),
    ("number", st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**60), 2**60)),
    ("flag", st.booleans()),
    ("day", days),
    ("inner", members(("a", st.integers(-5, 5) | st.sampled_from(["7", 1.5])), ("when", days))),
)
counts = members(
    *((name, st.integers(0, 9)) for name in ("id", "tiny", "text", "number", "flag", "day")),
    ("inner", members(("a", st.integers(0, 9)), ("when", st.integers(0, 9)))),
)
statistics_texts = members(
    ("numRecords", st.integers(0, 2**62)),
    ("minValues", bounds),
    ("maxValues", st.none() | bounds),
    ("nullCount", counts),
    ("tightBounds", st.booleans()),
    ("unknown", st.integers()),
).map(json.dumps)


odd_texts = st.sampled_from(["{", "[]", "{}", "1"])


@settings(deadline=None, max_examples=examples(17))
@given(st.lists(st.none() | statistics_texts | odd_texts, min_size=1, max_size=4))
def test_of_plain_values_nothing_differs(texts):
    statistics = typed(PLAIN)
    found = statistics.from_texts(texts)
    if found is None:
        return
    assert found.type == statistics.type
    found.validate(full=True)
    assert found.to_pylist() == by_query(statistics, texts).column("found").to_pylist()


def test_plain_values_need_no_query():
    text = {
        "numRecords": 3,
        "minValues": {"id": 1, "text": "a", "number": 1, "day": "2020-01-01", "inner": {"a": 2}},
        "maxValues": {"id": 2, "text": "b", "number": 2.5, "day": "2021-12-31", "inner": {"a": 2}},
        "nullCount": {"id": 0, "inner": {"a": 1}},
        "tightBounds": True,
    }
    found = typed(PLAIN).from_texts([json.dumps(text), None])
    assert found is not None
    assert found.to_pylist() == by_query(typed(PLAIN), [json.dumps(text), None]).column("found").to_pylist()


@pytest.mark.parametrize(
    "text",
    [
        '{"numRecords": 1, "numRecords": 2}',
        '{"numRecords": NaN}',
        '{"numRecords": "1"}',
        '{"numRecords": true}',
        '{"numRecords": 9223372036854775808}',
        '{"minValues": {"number": "NaN"}}',
        '{"minValues": {"day": "2020-01-01T00:00:00Z"}}',
        '{"minValues": {"text": "\\ud800"}}',
        '{"minValues": []}',
        "{",
    ],
)
def test_what_is_not_plain_is_left_to_the_query(text):
    assert typed(PLAIN).from_texts([text]) is None


@pytest.mark.parametrize("data_type", ["timestamp", "timestamp_ntz", "decimal(10,2)", "float"])
def test_types_whose_json_is_not_plain_are_left_to_the_query(data_type):
    assert typed(Schema([Field("a", data_type)])).from_texts(['{"numRecords": 1}']) is None
