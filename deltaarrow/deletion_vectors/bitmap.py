"""RoaringBitmapArray, the serialised form of the set of deleted row positions.

Chapter "Deletion Vector Format" of the protocol: a magic number followed by a 64-bit bitmap, all little
endian. There are two forms:

==========  ============  ====================================================================
magic       name          after the magic
==========  ============  ====================================================================
1681511377  portable      the portable 64-bit form of the RoaringBitmap specification; the only
                          form in the protocol, and the only one that is written
1681511376  native        ``int count``, then per bitmap ``int size`` and a 32-bit bitmap, whose
                          index in the list is the upper half of its positions; delta-spark still
                          reads this form, and so does this module
==========  ============  ====================================================================
"""

import struct

from pyroaring import BitMap64

from deltaarrow.errors import CorruptDeletionVectorError

__all__ = ["decode_bitmap", "encode_bitmap"]

_PORTABLE_MAGIC = 1681511377
_NATIVE_MAGIC = 1681511376
_INT = struct.Struct("<i")
_LONG = struct.Struct("<q")


def encode_bitmap(positions: BitMap64) -> bytes:
    """Serialise a set of row positions as Spark does: run-length encoded if that is smaller.

    >>> encode_bitmap(BitMap64([7])).hex(" ", -4)
    'd1d33964 01000000 00000000 00000000 3a300000 01000000 00000000 10000000 0700'
    """
    compact = positions.copy()  # run_optimize works in place, and the caller's set may be shared
    compact.run_optimize()
    return _INT.pack(_PORTABLE_MAGIC) + compact.serialize()


def decode_bitmap(payload: bytes, where: str) -> BitMap64:
    """Return the row positions in a serialised bitmap.

    `where` names the deletion vector in the `CorruptDeletionVectorError` that is raised when the payload
    has another magic number, is cut short or is not a valid bitmap.
    """
    if len(payload) < _INT.size:
        raise CorruptDeletionVectorError(f"{where}: a bitmap of {len(payload)} bytes is too short")
    (magic,) = _INT.unpack_from(payload)
    body = payload[_INT.size :]
    if magic == _NATIVE_MAGIC:
        body = _native_to_portable(body, where)
    elif magic != _PORTABLE_MAGIC:
        raise CorruptDeletionVectorError(
            f"{where}: the magic number is {magic}, but a bitmap starts with {_PORTABLE_MAGIC}"
        )
    try:
        positions = BitMap64.deserialize(body)
    except (ValueError, IndexError) as error:
        raise CorruptDeletionVectorError(f"{where}: the bitmap is broken: {error}") from error
    if positions and positions.max() >= 1 << 63:
        raise CorruptDeletionVectorError(f"{where}: row position {positions.max()} is out of range")
    return positions


def _native_to_portable(body: bytes, where: str) -> bytes:
    try:
        (count,) = _INT.unpack_from(body)
        portable, at = [_LONG.pack(count)], _INT.size
        for key in range(count):
            (size,) = _INT.unpack_from(body, at)
            at += _INT.size
            if not 0 <= size <= len(body) - at:
                raise CorruptDeletionVectorError(f"{where}: bitmap {key} of {count} is cut short")
            portable += [_INT.pack(key), body[at : at + size]]
            at += size
    except struct.error as error:
        raise CorruptDeletionVectorError(f"{where}: the list of bitmaps is cut short") from error
    return b"".join(portable)
