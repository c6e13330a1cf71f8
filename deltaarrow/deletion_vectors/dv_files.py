"""Deletion vectors in files, chapter "Deletion Vector File Storage Format" of the protocol.

A file starts with its version, the byte 1, followed by one frame after another::

    offset of the descriptor
    |
    v
    +--------------------+--------------------------+--------------------+
    | size, 4 bytes      | bitmap, size bytes       | CRC-32, 4 bytes    |
    | big endian         | see `bitmap`             | of bitmap, big end.|
    +--------------------+--------------------------+--------------------+

The vectors of one operation share a file, so reading them accesses each file once.
"""

import contextlib
import struct
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from uuid import uuid4

from pyroaring import BitMap64

from deltaarrow.deletion_vectors.bitmap import decode_bitmap, encode_bitmap
from deltaarrow.deletion_vectors.descriptor import DeletionVectorDescriptor, deletion_vector_file_name
from deltaarrow.deletion_vectors.masks import DeletedRows
from deltaarrow.deletion_vectors.z85 import encode_z85
from deltaarrow.errors import CorruptDeletionVectorError
from deltaarrow.storage import Store

__all__ = [
    "inline_deletion_vector",
    "read_deletion_vector",
    "read_deletion_vectors",
    "write_deletion_vectors",
]

_VERSION = b"\x01"
_UINT = struct.Struct(">I")
_FRAME = 2 * _UINT.size
# If two wanted frames are closer than this, reading the bytes between them is cheaper than a second
# request to an object store.
_READ_GAP = 512 * 1024
# Spark's offsets are signed 32-bit integers; a file of this size also fits in memory.
_MAX_FILE_SIZE = 256 * 1024 * 1024
_READERS = 16


def read_deletion_vector(store: Store, descriptor: DeletionVectorDescriptor) -> DeletedRows:
    """Read one deletion vector; see `read_deletion_vectors`."""
    return read_deletion_vectors(store, [descriptor])[0]


def read_deletion_vectors(store: Store, descriptors: Sequence[DeletionVectorDescriptor]) -> list[DeletedRows]:
    """Read deletion vectors, in the order of their descriptors, accessing each file once.

    A vector is accepted only if everything known about it agrees: the version of the file, the size in the
    file and in the descriptor, the checksum, the magic number and the number of rows. Otherwise, also when
    the file is missing, `CorruptDeletionVectorError` names the file (or the inline vector).
    """
    by_file: dict[str, list[DeletionVectorDescriptor]] = {}
    found: dict[DeletionVectorDescriptor, DeletedRows] = {}
    for descriptor in dict.fromkeys(descriptors):
        if (name := descriptor.file_name()) is None:
            found[descriptor] = _read_inline(descriptor)
        else:
            by_file.setdefault(name, []).append(descriptor)

    def read(name: str) -> list[DeletedRows]:
        return _read_file(store, name, by_file[name])

    if len(by_file) < 2 or store.is_local:
        files = list(map(read, by_file))
    else:
        with ThreadPoolExecutor(min(_READERS, len(by_file))) as pool:
            files = list(pool.map(read, by_file))
    found.update(zip(chain.from_iterable(by_file.values()), chain.from_iterable(files), strict=True))
    return [found[descriptor] for descriptor in descriptors]


def _read_inline(descriptor: DeletionVectorDescriptor) -> DeletedRows:
    where = f"inline deletion vector {descriptor.unique_id!r}"
    payload = descriptor.inline_payload()
    # Spark's descriptor for "nothing deleted" is inline and has no bytes.
    bitmap = decode_bitmap(payload, where) if payload else BitMap64()
    return _deleted_rows(bitmap, descriptor, where)


def _read_file(store: Store, name: str, descriptors: Sequence[DeletionVectorDescriptor]) -> list[DeletedRows]:
    where = f"deletion vector file {store.location(name)}"
    frames = [_span(descriptor, where) for descriptor in descriptors]
    # A missing offset is 0, as in Spark: the file is a single frame, without a version byte.
    version = [(0, len(_VERSION))] if any(start > 0 for start, _ in frames) else []
    content = _Ranges(store, name, where, version + frames)
    if version and content.read(*version[0]) != _VERSION:
        raise CorruptDeletionVectorError(
            f"{where} starts with the byte {content.read(*version[0])[0]}; only version 1 is known"
        )
    return [
        _deleted_rows(
            decode_bitmap(_unframe(content.read(*frame), where, frame[0]), f"{where} at offset {frame[0]}"),
            descriptor,
            f"{where} at offset {frame[0]}",
        )
        for descriptor, frame in zip(descriptors, frames, strict=True)
    ]


def _span(descriptor: DeletionVectorDescriptor, where: str) -> tuple[int, int]:
    start = descriptor.offset or 0
    if start < 0 or descriptor.size_in_bytes < 0:
        raise CorruptDeletionVectorError(
            f"{where}: offset {start} and size {descriptor.size_in_bytes} of a descriptor are impossible"
        )
    return start, start + descriptor.size_in_bytes + _FRAME


class _Ranges:
    """The requested byte spans of one file; nearby spans are read in one request."""

    def __init__(self, store: Store, name: str, where: str, spans: Sequence[tuple[int, int]]) -> None:
        self._where = where
        self._blocks: list[tuple[int, bytes]] = []
        try:
            for start, end in _coalesce(spans):
                self._blocks.append((start, store.read_range(name, start, end - start)))
        except FileNotFoundError as error:
            raise CorruptDeletionVectorError(f"{where} does not exist") from error

    def read(self, start: int, end: int) -> bytes:
        """Return the bytes of one of the spans."""
        first, block = next(b for b in reversed(self._blocks) if b[0] <= start)
        data = block[start - first : end - first]
        if len(data) < end - start:
            raise CorruptDeletionVectorError(
                f"{self._where} is cut short: bytes {start} to {end} are needed, "
                f"but it ends at {first + len(block)}"
            )
        return data


def _coalesce(spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    merged_start, merged_end = -1, -1
    for start, end in sorted(spans):
        if merged_start < 0:
            merged_start, merged_end = start, end
        elif start - merged_end <= _READ_GAP:
            merged_end = max(merged_end, end)
        else:
            yield merged_start, merged_end
            merged_start, merged_end = start, end
    if merged_start >= 0:
        yield merged_start, merged_end


def _unframe(frame: bytes, where: str, offset: int) -> bytes:
    payload = frame[_UINT.size : -_UINT.size]
    (size,) = _UINT.unpack_from(frame)
    if size != len(payload):
        raise CorruptDeletionVectorError(
            f"{where} at offset {offset} has a vector of {size} bytes, but its descriptor says {len(payload)}"
        )
    (checksum,) = _UINT.unpack_from(frame, len(frame) - _UINT.size)
    if checksum != zlib.crc32(payload):
        raise CorruptDeletionVectorError(
            f"{where} at offset {offset}: the CRC-32 of the vector is {zlib.crc32(payload):#010x}, "
            f"but the file says {checksum:#010x}"
        )
    return payload


def _deleted_rows(bitmap: BitMap64, descriptor: DeletionVectorDescriptor, where: str) -> DeletedRows:
    if len(bitmap) != descriptor.cardinality:
        raise CorruptDeletionVectorError(
            f"{where} deletes {len(bitmap)} rows, but its descriptor says {descriptor.cardinality}"
        )
    return DeletedRows(bitmap, where)


def inline_deletion_vector(positions: BitMap64) -> DeletionVectorDescriptor:
    """Return a descriptor (type ``i``) that contains the vector itself; no file is written.

    >>> read_deletion_vector(None, inline_deletion_vector(BitMap64([1, 5]))).positions().to_pylist()
    [1, 5]
    """
    payload = encode_bitmap(positions)
    text = encode_z85(payload + bytes(-len(payload) % 4))
    return DeletionVectorDescriptor("i", text, None, len(payload), len(positions))


def write_deletion_vectors(
    store: Store,
    vectors: Sequence[BitMap64],
    *,
    prefix: str = "",
    max_file_size: int = _MAX_FILE_SIZE,
) -> list[DeletionVectorDescriptor]:
    """Write the vectors of one operation into one new file, byte for byte in Spark's layout.

    Returns their descriptors (type ``u``), in the same order. `prefix` is the folder to write to, the random
    one of a table whose files have random prefixes. A second file is begun only above `max_file_size`
    bytes. Raises `ValueError` for a vector that deletes nothing: a file action must not have one.
    """
    if not all(vectors):
        raise ValueError("cannot write a deletion vector that deletes no row: leave it out")
    descriptors: list[DeletionVectorDescriptor] = []
    uuid, content = uuid4(), bytearray(_VERSION)
    with contextlib.ExitStack() as undo:
        for bitmap in vectors:
            payload = encode_bitmap(bitmap)
            if len(content) + len(payload) + _FRAME > max_file_size and len(content) > len(_VERSION):
                undo.enter_context(_written(store, deletion_vector_file_name(uuid, prefix), content))
                uuid, content = uuid4(), bytearray(_VERSION)
            descriptors.append(
                DeletionVectorDescriptor.of_uuid(
                    uuid,
                    prefix=prefix,
                    offset=len(content),
                    size_in_bytes=len(payload),
                    cardinality=len(bitmap),
                )
            )
            content += _UINT.pack(len(payload)) + payload + _UINT.pack(zlib.crc32(payload))
        if descriptors:
            undo.enter_context(_written(store, deletion_vector_file_name(uuid, prefix), content))
    return descriptors


@contextlib.contextmanager
def _written(store: Store, name: str, content: bytearray) -> Iterator[None]:
    """Write a file and keep it if the block succeeds; else delete it: a failed write may have taken place."""
    try:
        store.write(name, bytes(content))
        yield
    except BaseException:
        with contextlib.suppress(Exception):
            store.delete(name)
        raise
