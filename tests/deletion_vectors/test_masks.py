"""Masks, bit strings and positions against the naive form of each."""

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from pyroaring import BitMap64

from deltaarrow.deletion_vectors import DeletedRows
from deltaarrow.errors import CorruptDeletionVectorError
from tests.support.duckdb_session import duckdb_session
from tests.support.examples import examples

rows = st.one_of(
    st.sets(st.integers(0, 400), max_size=100),
    st.sets(st.integers(65_000, 66_000), max_size=100),
    st.builds(lambda a, n: set(range(a, a + n)), st.integers(0, 300), st.integers(0, 300)),
)


@given(rows, st.one_of(st.integers(0, 500), st.integers(65_000, 66_000)), st.integers(0, 900))
@settings(deadline=None)
def test_a_mask_equals_the_naive_one(deleted, start, length):
    mask = DeletedRows(BitMap64(deleted)).mask(start, length)
    assert mask.tolist() == [row not in deleted for row in range(start, start + length)]


def test_a_mask_beyond_32_bits():
    start = 2**40
    assert DeletedRows(BitMap64([start + 1])).mask(start, 3).tolist() == [True, False, True]


@given(rows)
@settings(deadline=None)
def test_positions_are_the_set_in_order(deleted):
    positions = DeletedRows(BitMap64(deleted)).positions()
    assert positions.type == pa.uint64()
    assert positions.to_pylist() == sorted(deleted)
    positions.validate(full=True)


def test_positions_outlive_the_bitmap():
    positions = DeletedRows(BitMap64(range(100_000))).positions()
    assert positions[99_999].as_py() == 99_999


@given(st.sets(st.integers(0, 60)), st.integers(0, 20))
@settings(deadline=None, max_examples=examples(14))
def test_duckdb_reads_the_bits_in_the_order_of_the_rows(deleted, more):
    num_rows = max(deleted, default=0) + 1 + more
    blob = DeletedRows(BitMap64(deleted)).bit_blob(num_rows)
    with duckdb_session() as con:
        kept = con.execute(
            "select r from range(?) t(r) where get_bit(?::BLOB::BIT, r::INTEGER) = 1 order by r",
            [num_rows, blob],
        ).fetchall()
        padding = con.execute("select bit_count(?::BLOB::BIT)", [blob]).fetchone()
    assert [row for (row,) in kept] == [row for row in range(num_rows) if row not in deleted]
    assert padding == (len(kept),)


def test_a_file_without_rows_has_a_blob_that_casts():
    with duckdb_session() as con:
        assert con.execute(
            "select bit_count(?::BLOB::BIT)", [DeletedRows(BitMap64()).bit_blob(0)]
        ).fetchone() == (0,)


def test_a_position_beyond_the_file_is_refused_by_name():
    deleted = DeletedRows(BitMap64([3, 10]), "deletion vector file /t/dv.bin")
    deleted.ensure_within(11)
    with pytest.raises(
        CorruptDeletionVectorError, match=r"/t/dv\.bin deletes row 10 of a file with only 10 rows"
    ):
        deleted.ensure_within(10)
    with pytest.raises(CorruptDeletionVectorError, match=r"/t/dv\.bin"):
        deleted.bit_blob(10)


def test_cardinality():
    assert DeletedRows(BitMap64([3, 10])).cardinality == 2
