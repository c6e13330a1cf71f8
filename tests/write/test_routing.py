"""Rows are split by partition, by the log's spelling of their values."""

import datetime as dt

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.schema import PrimitiveType
from deltaarrow.write.routing import split_by_partition
from tests.support.examples import examples


def split(columns, types):
    rows = pa.RecordBatch.from_pydict({"row": pa.array(range(len(columns[0])), pa.int64())})
    types = [PrimitiveType(each) for each in types]
    parts = list(split_by_partition(rows, columns, types))
    assert len({key for key, _ in parts}) == len(parts)
    return {key.texts: part.read().column(0).to_pylist() for key, part in parts}


def test_rows_keep_their_order():
    assert split([pa.array(["b", "a", "b", None, "a"])], ["string"]) == {
        ("b",): [0, 2],
        ("a",): [1, 4],
        (None,): [3],
    }


def test_null_and_the_empty_string_are_one_partition():
    assert split([pa.array(["", None, "", "a"])], ["string"]) == {(None,): [0, 1, 2], ("a",): [3]}


def test_combinations():
    days = pa.array([dt.date(2026, 1, 1), dt.date(2026, 1, 2), dt.date(2026, 1, 1)])
    assert split([days, pa.array([1, 1, 1], pa.int8())], ["date", "byte"]) == {
        ("2026-01-01", "1"): [0, 2],
        ("2026-01-02", "1"): [1],
    }


def test_timestamps_are_spelled_in_utc():
    times = pa.array([500_000, None], pa.timestamp("us", "UTC"))
    assert split([times], ["timestamp"]) == {("1970-01-01T00:00:00.500000Z",): [0], (None,): [1]}


def test_without_partition_columns_all_rows_are_one():
    rows = pa.RecordBatch.from_pydict({"a": [1, 2]})
    ((key, part),) = split_by_partition(rows, [], [])
    assert (key.texts, part.num_rows) == ((), 2)
    assert list(split_by_partition(rows.slice(0, 0), [], [])) == []


def test_no_rows_no_partition():
    rows = pa.RecordBatch.from_pydict({"a": pa.array([], pa.int64())})
    assert list(split_by_partition(rows, [pa.array([], pa.string())], [PrimitiveType("string")])) == []


def test_binary_that_is_not_text_is_refused():
    with pytest.raises(UnsupportedFeatureError):
        split([pa.array([b"\xff"])], ["binary"])


values = st.tuples(
    st.none() | st.sampled_from("abc"), st.none() | st.integers(-2, 2), st.none() | st.booleans()
)


@settings(deadline=None, max_examples=examples(20))
@given(st.lists(values, min_size=1, max_size=30))
def test_equals_a_dictionary_of_lists(rows):
    s, i, b = (list(column) for column in zip(*rows, strict=True))
    expected = {}
    for row, (text, number, flag) in enumerate(rows):
        key = (text, None if number is None else str(number), None if flag is None else str(flag).lower())
        expected.setdefault(key, []).append(row)
    columns = [pa.array(s, pa.string()), pa.array(i, pa.int32()), pa.array(b, pa.bool_())]
    assert split(columns, ["string", "integer", "boolean"]) == expected
