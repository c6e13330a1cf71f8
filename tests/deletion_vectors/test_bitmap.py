"""Serialised bitmaps: the examples of the protocol, both forms that Spark reads, and every defect."""

import struct

import pytest
from hypothesis import given, settings, strategies as st
from pyroaring import BitMap, BitMap64

from deltaarrow.deletion_vectors import decode_bitmap, encode_bitmap
from deltaarrow.errors import CorruptDeletionVectorError

PORTABLE = 1681511377
NATIVE = 1681511376

# Spark's vectors are a few thousand rows of millions; runs, dense and sparse parts make all three
# kinds of container appear, and positions beyond 2**32 more than one bucket.
positions = st.sets(
    st.one_of(st.integers(0, 300), st.integers(0, 200_000), st.integers(0, 2**34)), max_size=300
)


@given(positions, st.integers(0, 2**33), st.integers(0, 6000))
@settings(deadline=None)
def test_encode_and_decode_equal_a_set(sparse, start, length):
    wanted = sparse | set(range(start, start + length))
    assert set(decode_bitmap(encode_bitmap(BitMap64(wanted)), "x")) == wanted


def test_encoding_leaves_the_set_of_the_caller_alone():
    rows = BitMap64()
    for row in range(1000):
        rows.add(row)
    before = rows.serialize()
    assert len(encode_bitmap(rows)) < len(before)
    assert rows.serialize() == before


def test_one_row_is_the_34_bytes_of_spark():
    assert len(encode_bitmap(BitMap64([5]))) == 34


def native(*buckets):
    body = b"".join(struct.pack("<i", len(b)) + b for b in (BitMap(rows).serialize() for rows in buckets))
    return struct.pack("<ii", NATIVE, len(buckets)) + body


@pytest.mark.parametrize(
    ("buckets", "rows"),
    [([], []), ([[3, 5]], [3, 5]), ([[1], [], [2]], [1, 2 + 2**33]), ([range(5000)], range(5000))],
)
def test_the_native_form_is_read_as_spark_reads_it(buckets, rows):
    assert decode_bitmap(native(*buckets), "x") == BitMap64(rows)


def test_empty_buckets_between_others_are_read():
    """Spark keeps an array of 32-bit bitmaps and writes those that are empty as well."""
    buckets = [BitMap(), BitMap([7])]
    body = b"".join(struct.pack("<i", key) + bucket.serialize() for key, bucket in enumerate(buckets))
    assert list(decode_bitmap(struct.pack("<iq", PORTABLE, 2) + body, "x")) == [2**32 + 7]


VALID = encode_bitmap(BitMap64([3, 4, 7, 11, 18, 29, 2**32]))


@pytest.mark.parametrize("length", range(len(VALID)))
def test_a_bitmap_that_is_cut_short_is_refused(length):
    with pytest.raises(CorruptDeletionVectorError, match=r"dv\.bin"):
        decode_bitmap(VALID[:length], "dv.bin")


@pytest.mark.parametrize("length", range(4, len(native([3], [4]))))
def test_a_native_bitmap_that_is_cut_short_is_refused(length):
    with pytest.raises(CorruptDeletionVectorError, match=r"dv\.bin"):
        decode_bitmap(native([3], [4])[:length], "dv.bin")


def test_another_magic_number_is_refused_by_its_value():
    with pytest.raises(CorruptDeletionVectorError, match=r"dv\.bin: the magic number is 1681511378"):
        decode_bitmap(struct.pack("<i", 1681511378) + VALID[4:], "dv.bin")


def test_the_big_endian_magic_number_of_the_older_examples_is_refused():
    with pytest.raises(CorruptDeletionVectorError, match="magic number"):
        decode_bitmap(struct.pack(">i", PORTABLE) + VALID[4:], "dv.bin")


ONE_CONTAINER = struct.pack("<iqi", PORTABLE, 1, 0)
DEFECTS = {
    "positions out of order": struct.pack("<IIHHI3H", 12346, 1, 0, 2, 16, 5, 3, 9),
    "a position twice": struct.pack("<IIHHI3H", 12346, 1, 0, 2, 16, 5, 5, 9),
    "more bits than counted": struct.pack("<IIHHI", 12346, 1, 0, 4999, 16) + b"\xff" * 8192,
    "runs that overlap": struct.pack("<HHBHHH4H", 12347, 0, 1, 0, 4, 2, 0, 9, 5, 9),
    "a run past its container": struct.pack("<HHBHHH2H", 12347, 0, 1, 0, 4, 1, 65535, 9),
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_bitmap_that_contradicts_itself_is_refused(defect):
    with pytest.raises(CorruptDeletionVectorError, match="broken"):
        decode_bitmap(ONE_CONTAINER + DEFECTS[defect], "dv.bin")


def test_negative_row_positions_are_refused():
    payload = struct.pack("<iqi", PORTABLE, 1, -1) + BitMap([7]).serialize()
    with pytest.raises(CorruptDeletionVectorError, match="out of range"):
        decode_bitmap(payload, "dv.bin")
