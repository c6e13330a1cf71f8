"""Row selection within a batch agrees with pyarrow's own filter."""

import threading

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow.columnar.numpy_arrays import truths
from deltaarrow.scan.row_selection import kept_rows
from deltaarrow.scan.threads import mapped_in_order

COLUMNS = {
    "integer": pa.array([1, None, 3, 4, 5, 6, None, 8]),
    "boolean": pa.array([True, None, False, True, True, False, False, None]),
    "text": pa.array(["a", "", None, "dd", "e", "f" * 40, "g", "h"]),
    "large": pa.array(["a", "", None, "dd", "e", "f" * 40, "g", "h"], pa.large_string()),
    "binary": pa.array([b"a", b"", None, b"dd", b"e", b"f", b"g", b"h"]),
    "decimal": pa.array([1, None, 3, 4, 5, 6, 7, 8]).cast(pa.decimal128(21, 2)),
    "struct": pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": None}, *[{"a": 2, "b": "y"}] * 5]),
    "list": pa.array([[1, 2], None, [], [None], [3], [4, 5, 6], [7], [8]]),
    "map": pa.array([[("k", 1)], None, [], *[[("a", 2), ("b", None)]] * 5], pa.map_(pa.string(), pa.int64())),
    "null": pa.nulls(8),
    "dictionary": pa.array(["a", "b", None, "a", "b", "a", "b", "a"]).dictionary_encode(),
}


@settings(deadline=None)
@given(
    keep=st.lists(st.booleans(), min_size=8, max_size=8)
    | st.integers(0, 7).map(lambda i: [j != i for j in range(8)]),
    start=st.integers(0, 7),
)
def test_rows_are_those_of_a_filter(keep, start):
    batch = pa.record_batch(COLUMNS).slice(start)
    flags = np.array(keep[start:])
    found = kept_rows(batch, flags)
    assert found.equals(batch.filter(pa.array(flags)))
    found.validate(full=True)


def test_a_batch_without_columns_keeps_its_count():
    batch = pa.record_batch({"a": [1, 2, 3]}).select([])
    assert kept_rows(batch, np.array([True, False, True])).num_rows == 2


@settings(deadline=None)
@given(values=st.lists(st.sampled_from([True, False, None]), max_size=40), start=st.integers(0, 40))
def test_truths_are_true(values, start):
    array = pa.array(values, pa.bool_()).slice(start)
    assert truths(array).tolist() == [value is True for value in values[start:]]


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_results_come_in_order(workers):
    assert list(mapped_in_order(lambda n: n * n, iter(range(50)), workers)) == [n * n for n in range(50)]
    assert list(mapped_in_order(str, [], workers)) == []


def test_few_items_are_taken_ahead_and_threads_end():
    taken = []

    def items():
        for n in range(100):
            taken.append(n)
            yield n

    before = threading.active_count()
    results = mapped_in_order(str, items(), workers=2)
    assert [next(results), next(results)] == ["0", "1"]
    assert len(taken) <= 4
    results.close()
    assert threading.active_count() == before


@pytest.mark.parametrize("workers", [0, 2])
def test_errors_are_raised_where_their_result_would_be(workers):
    results = mapped_in_order(lambda n: 1 // (n - 2), range(5), workers)
    assert [next(results), next(results)] == [-1, -1]
    with pytest.raises(ZeroDivisionError):
        next(results)
