"""Deletion vector files: the same bytes as Spark's, few requests to read them, every defect refused."""

import pickle
import struct
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from pyroaring import BitMap64

from deltaarrow.deletion_vectors import (
    DeletionVectorDescriptor,
    encode_bitmap,
    read_deletion_vector,
    read_deletion_vectors,
    write_deletion_vectors,
)
from deltaarrow.errors import CorruptDeletionVectorError
from deltaarrow.storage import LocalStore, open_store
from tests.support.examples import examples

ROWS = [3, 4, 7, 11, 18, 29]
PAYLOAD = encode_bitmap(BitMap64(ROWS))
SIZE = len(PAYLOAD)
NAME = "deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"
UUID = "^-aqEH.-t@S}K{vb[*k^"


class CountingStore(LocalStore):
    """A local store that remembers the ranges it was asked for."""

    def __init__(self, uri):
        super().__init__(uri)
        self.ranges = []

    def read_range(self, name, offset, length):
        self.ranges.append((name, offset, length))
        return super().read_range(name, offset, length)


@pytest.fixture
def store(tmp_path):
    return CountingStore(str(tmp_path))


def frame(payload):
    return struct.pack(">I", len(payload)) + payload + struct.pack(">I", zlib.crc32(payload))


def descriptor(offset=1, size=SIZE, cardinality=6):
    return DeletionVectorDescriptor("u", UUID, offset, size, cardinality)


# -- writing --------------------------------------------------------------------------------------


def test_the_vectors_of_an_operation_share_one_file_laid_out_as_spark_lays_it_out(store, tmp_path):
    vectors = [BitMap64([5]), BitMap64(range(1000)), BitMap64([2**40])]
    written = write_deletion_vectors(store, vectors)
    (file,) = tmp_path.iterdir()
    assert {d.file_name() for d in written} == {file.name}
    assert file.read_bytes() == b"\x01" + b"".join(frame(encode_bitmap(v)) for v in vectors)
    first = written[0]
    assert (first.storage_type, first.offset, first.size_in_bytes, first.cardinality) == ("u", 1, 34, 1)
    assert [d.offset for d in written] == [1, 43, 43 + 8 + written[1].size_in_bytes]


def test_a_prefix_is_a_folder_and_a_part_of_the_descriptor(store, tmp_path):
    (written,) = write_deletion_vectors(store, [BitMap64([5])], prefix="aB")
    assert written.path_or_inline_dv.startswith("aB")
    assert (tmp_path / written.file_name()).parent == tmp_path / "aB"
    assert list(read_deletion_vector(store, written).bitmap) == [5]


def test_no_vectors_no_file(store, tmp_path):
    assert write_deletion_vectors(store, []) == []
    assert list(tmp_path.iterdir()) == []


def test_a_vector_without_a_row_is_refused_before_anything_is_written(store, tmp_path):
    with pytest.raises(ValueError, match="no row"):
        write_deletion_vectors(store, [BitMap64([1]), BitMap64()])
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_would_be_too_large_is_split(store, tmp_path):
    written = write_deletion_vectors(store, [BitMap64([n]) for n in range(5)], max_file_size=100)
    assert [d.offset for d in written] == [1, 43, 1, 43, 1]
    assert len(list(tmp_path.iterdir())) == 3
    assert [list(r.bitmap) for r in read_deletion_vectors(store, written)] == [[n] for n in range(5)]


vectors = st.lists(st.sets(st.integers(0, 100_000), min_size=1, max_size=50), max_size=6)


@given(vectors)
@settings(
    deadline=None, max_examples=examples(17), suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_what_is_written_is_read_again(tmp_path, wanted):
    store = open_store(tmp_path)
    written = write_deletion_vectors(store, [BitMap64(rows) for rows in wanted])
    assert [set(r.bitmap) for r in read_deletion_vectors(store, written)] == wanted


@pytest.mark.parametrize("uri", ["memory://deletion-vectors", "local"])
def test_every_store_and_many_files(uri, tmp_path):
    store = open_store(tmp_path if uri == "local" else uri)
    written = [write_deletion_vectors(store, [BitMap64([n]), BitMap64([n + 1])]) for n in range(5)]
    wanted = [d for pair in reversed(written) for d in pair]
    found = read_deletion_vectors(store, wanted)
    assert [list(r.bitmap) for r in found] == [[m] for n in reversed(range(5)) for m in (n, n + 1)]


# -- reading --------------------------------------------------------------------------------------


def test_a_packed_file_is_asked_for_once(store):
    written = write_deletion_vectors(store, [BitMap64([n]) for n in range(20)])
    found = read_deletion_vectors(store, [*written, written[3]])
    assert [list(r.bitmap) for r in found] == [[n] for n in [*range(20), 3]]
    assert len(store.ranges) == 1


def test_of_a_large_file_only_the_wanted_vectors_are_read(store):
    scattered = BitMap64(range(0, 20_000_000, 3))
    written = write_deletion_vectors(store, [BitMap64([1]), scattered, BitMap64([2])])
    assert written[1].size_in_bytes > 2_000_000
    found = read_deletion_vectors(store, [written[0], written[2]])
    assert [list(r.bitmap) for r in found] == [[1], [2]]
    assert [length for _, _, length in store.ranges] == [1 + 42, 42]


def test_an_absolute_vector_is_read(tmp_path):
    folder = tmp_path / "a folder"
    folder.mkdir()
    (folder / NAME).write_bytes(b"\x01" + frame(PAYLOAD))
    absolute = DeletionVectorDescriptor("p", (folder / NAME).as_uri(), 1, len(PAYLOAD), len(ROWS))
    assert "%20" in absolute.path_or_inline_dv
    assert list(read_deletion_vector(open_store(tmp_path / "table"), absolute).bitmap) == ROWS


@pytest.mark.parametrize("offset", [None, 0])
def test_an_absent_offset_is_zero(store, tmp_path, offset):
    """Spark seeks to byte 0 and expects a frame there: such a file has no version byte."""
    (tmp_path / NAME).write_bytes(frame(PAYLOAD))
    assert list(read_deletion_vector(store, descriptor(offset=offset)).bitmap) == ROWS


def test_an_absent_offset_in_a_file_with_a_version_byte_is_refused(store, tmp_path):
    (tmp_path / NAME).write_bytes(b"\x01" + frame(PAYLOAD))
    with pytest.raises(CorruptDeletionVectorError, match=NAME):
        read_deletion_vector(store, descriptor(offset=None))


def test_what_was_read_can_be_sent_to_another_process(store, tmp_path):
    (tmp_path / NAME).write_bytes(b"\x01" + frame(PAYLOAD))
    found = read_deletion_vector(store, descriptor())
    assert pickle.loads(pickle.dumps(found)) == found


# -- defects --------------------------------------------------------------------------------------

GOOD = b"\x01" + frame(PAYLOAD)
OTHER_MAGIC = struct.pack("<i", 1681511378) + PAYLOAD[4:]
DEFECTS = {
    "version": (b"\x02" + GOOD[1:], descriptor(), "starts with the byte 2"),
    "size": (b"\x01\x00\x00\x00\x01" + GOOD[5:], descriptor(), "vector of 1 bytes, but its descriptor says"),
    "little-endian size": (b"\x01" + GOOD[4:0:-1] + GOOD[5:], descriptor(), "its descriptor says"),
    "checksum": (GOOD[:-1] + bytes([GOOD[-1] ^ 1]), descriptor(), "CRC-32"),
    "a flipped bit": (GOOD[:40] + bytes([GOOD[40] ^ 1]) + GOOD[41:], descriptor(), "CRC-32"),
    "magic": (b"\x01" + frame(OTHER_MAGIC), descriptor(), "magic number is 1681511378"),
    "cardinality": (GOOD, descriptor(cardinality=5), "deletes 6 rows, but its descriptor says 5"),
    "empty file": (b"", descriptor(), "cut short"),
    "only a version": (b"\x01", descriptor(), "cut short"),
    "cut in the bitmap": (GOOD[:30], descriptor(), "cut short"),
    "cut in the checksum": (GOOD[:-1], descriptor(), "cut short"),
    "offset past the end": (GOOD, descriptor(offset=5000), "cut short"),
    "far offset past the end": (GOOD, descriptor(offset=5_000_000), "cut short"),
    "offset beside the frame": (GOOD, descriptor(offset=2), "cut short"),
    "negative offset": (GOOD, descriptor(offset=-1), "are impossible"),
    "negative size": (GOOD, descriptor(size=-1), "are impossible"),
    "no payload": (b"\x01" + frame(b""), descriptor(size=0), "too short"),
}


@pytest.mark.parametrize("defect", DEFECTS)
@pytest.mark.parametrize("kind", ["local", "memory"])
def test_a_defect_is_refused_and_the_file_named(tmp_path, kind, defect):
    content, described, message = DEFECTS[defect]
    store = open_store(tmp_path if kind == "local" else f"memory://defects/{tmp_path.name}")
    store.write(NAME, content)
    with pytest.raises(CorruptDeletionVectorError, match=message) as caught:
        read_deletion_vector(store, described)
    assert store.location(NAME) in str(caught.value)


def test_a_missing_file_is_refused_by_name(store):
    with pytest.raises(CorruptDeletionVectorError, match=f"{NAME} does not exist"):
        read_deletion_vector(store, descriptor())


def test_every_bit_of_a_file_counts(tmp_path):
    """No single flipped bit of a small file goes unnoticed."""
    store = open_store(tmp_path)
    path = Path(tmp_path, NAME)
    for at in range(len(GOOD) * 8):
        flipped = bytearray(GOOD)
        flipped[at // 8] ^= 1 << at % 8
        path.write_bytes(flipped)
        with pytest.raises(CorruptDeletionVectorError):
            read_deletion_vector(store, descriptor())
