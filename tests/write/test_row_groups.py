"""Row groups are full if possible, and waiting rows are bounded."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow.write.row_groups import RowGroups
from deltaarrow.write.selected_rows import Selection


def batch(rows, start=0):
    return Selection(pa.RecordBatch.from_pydict({"a": pa.array(range(start, start + rows), pa.int64())}))


def test_a_full_row_group_is_due():
    groups = RowGroups(max_rows=10, max_bytes=1 << 20, limit_bytes=1 << 30)
    assert list(groups.add([("p", batch(6))])) == []
    ((key, table),) = groups.add([("p", batch(6))])
    assert (key, table.num_rows) == ("p", 6)
    ((_, table),) = groups.add([("p", batch(4))])
    assert table.num_rows == 10
    assert list(groups.drain()) == []


def test_bytes_fill_it_as_well():
    groups = RowGroups(max_rows=1000, max_bytes=80, limit_bytes=1 << 30)
    assert list(groups.add([("p", batch(9))])) == []
    ((_, table),) = groups.add([("p", batch(1))])
    assert table.num_rows == 10


def test_at_the_limit_the_largest_goes():
    groups = RowGroups(max_rows=1000, max_bytes=1 << 20, limit_bytes=160)
    assert list(groups.add([("small", batch(2)), ("large", batch(18))])) == []
    assert [(key, table.num_rows) for key, table in groups.add([("small", batch(1))])] == [("large", 18)]
    assert [(key, table.num_rows) for key, table in groups.drain()] == [("small", 3)]


def test_many_small_batches_are_merged():
    groups = RowGroups(max_rows=1 << 20, max_bytes=1 << 30, limit_bytes=1 << 30)
    for start in range(5000):
        assert list(groups.add([("p", batch(1, start))])) == []
    ((_, group),) = groups.drain()
    table = group.read()
    assert table.column(0).to_pylist() == list(range(5000))
    assert table.column(0).num_chunks < 600


def test_a_few_rows_do_not_keep_their_batches_in_memory():
    rows = 1 << 17
    groups = RowGroups(max_rows=1 << 30, max_bytes=1 << 19, limit_bytes=8 << 20)
    places = np.arange(rows)
    before = pa.total_allocated_bytes()
    for _ in range(64):
        many = pa.record_batch({"a": pa.repeat(pa.scalar(1, pa.int64()), rows)})
        split = [("rare", Selection(many, places[:1])), ("frequent", Selection(many, places[1:]))]
        assert [key for key, _ in groups.add(split)] == ["frequent"]
        del many, split
        assert pa.total_allocated_bytes() - before <= 10 << 20
    ((key, group),) = groups.drain()
    assert (key, group.num_rows) == ("rare", 64)


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 7)), max_size=40))
@pytest.mark.parametrize("limit", [1 << 30, 200])
def test_every_row_comes_out_once_and_in_order(limit, parts):
    groups = RowGroups(max_rows=7, max_bytes=48, limit_bytes=limit)
    given_rows, found, start = {}, {}, 0
    due = []
    for key, rows in parts:
        given_rows.setdefault(key, []).extend(range(start, start + rows))
        due += groups.add([(key, batch(rows, start))])
        start += rows
    due += groups.drain()
    for key, group in due:
        table = group.read()
        assert 0 < table.num_rows == group.num_rows <= 7
        found.setdefault(key, []).extend(table.column(0).to_pylist())
    assert found == given_rows
