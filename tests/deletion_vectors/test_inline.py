"""Inline vectors: examples from real tables and from the protocol, and their defects."""

import struct

import pytest
from pyroaring import BitMap64

from deltaarrow.deletion_vectors import (
    DeletionVectorDescriptor,
    decode_z85,
    encode_bitmap,
    encode_z85,
    read_deletion_vector,
)
from deltaarrow.errors import CorruptDeletionVectorError
from deltaarrow.storage import open_store


@pytest.fixture
def store(tmp_path):
    return open_store(tmp_path)


def inline(text, size, cardinality):
    return DeletionVectorDescriptor("i", text, None, size, cardinality)


@pytest.mark.parametrize(
    ("text", "size", "rows"),
    [
        ("^Bg9^0rr910000000000iXQKl0rr91000315c8Xg000f5", 36, [0, 5]),
        ("^Bg9^0rr910000000000iXQKl0rr91000935c8Xg000311onP9", 40, [0, 1, 4, 5]),
    ],
)
def test_vectors_of_real_tables(store, text, size, rows):
    found = read_deletion_vector(store, inline(text, size, len(rows)))
    assert list(found.bitmap) == rows
    assert decode_z85(text)[:4] == struct.pack("<i", 1681511377)


def test_a_group_that_stands_for_more_than_four_bytes_is_refused(store):
    """Of a real table: Spark lets the group wrap around, and then deletes another row than was meant."""
    with pytest.raises(CorruptDeletionVectorError, match="is not Z85"):
        read_deletion_vector(store, inline("^Bg9^0rr910000000000iXQKl0rr91000005c8Xg##093", 34, 1))


@pytest.mark.parametrize(
    "text",
    [
        "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L",
        "^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L",
    ],
)
def test_the_examples_of_the_protocol_decode_once_written_in_the_stated_format(store, text):
    """The first has a big-endian header and a bitmap of its own; only its last 24 bytes are the format."""
    container = decode_z85(text)[-28:]
    payload = struct.pack("<iqi", 1681511377, 1, 0) + container
    descriptor = inline(encode_z85(payload), len(payload), 6)
    assert list(read_deletion_vector(store, descriptor).bitmap) == [3, 4, 7, 11, 18, 29]


def test_the_first_example_of_the_protocol_as_it_stands_is_refused(store):
    text = "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L"
    with pytest.raises(CorruptDeletionVectorError, match="magic number"):
        read_deletion_vector(store, inline(text, 40, 6))


def test_the_descriptor_of_no_deletion_is_empty(store):
    assert read_deletion_vector(store, inline("", 0, 0)).cardinality == 0


PAYLOAD = encode_bitmap(BitMap64([7]))


@pytest.mark.parametrize("rows", [1, 2, 3, 4])
def test_the_padding_of_z85_is_cut_off(store, rows):
    payload = encode_bitmap(BitMap64(range(0, rows * 2, 2)))
    found = read_deletion_vector(store, inline(encode_z85(payload), len(payload), rows))
    assert found.cardinality == rows


@pytest.mark.parametrize(
    ("descriptor", "message"),
    [
        (inline(encode_z85(PAYLOAD), len(PAYLOAD), 2), "deletes 1 rows, but its descriptor says 2"),
        (inline(encode_z85(PAYLOAD), 0, 1), "does not fit its sizeInBytes of 0"),
        (inline(encode_z85(PAYLOAD), len(PAYLOAD) + 4, 1), "does not fit its sizeInBytes"),
        (inline("not Z85", 4, 1), "is not Z85"),
        (inline("", 0, 1), "deletes 0 rows, but its descriptor says 1"),
    ],
)
def test_a_vector_that_contradicts_its_descriptor_is_refused(store, descriptor, message):
    with pytest.raises(CorruptDeletionVectorError, match=message) as caught:
        read_deletion_vector(store, descriptor)
    assert repr(descriptor.unique_id) in str(caught.value)
