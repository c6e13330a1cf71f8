"""Byte strings of many rows at once: one buffer and the position of each string in it.

Columns of variants are read and written with these functions, without a loop over rows. Arrow's kernels
copy bytes (take, join), numpy computes positions and widths.
"""

from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from deltaarrow.columnar.kernels import pc
from deltaarrow.columnar.numpy_arrays import integers

__all__ = [
    "Bytes",
    "Ints",
    "Mask",
    "Spans",
    "bounds_of",
    "distinct",
    "gather",
    "is_valid",
    "joined",
    "numbered",
    "pack",
    "pieces",
    "read_unsigned",
    "spans",
    "widths_of",
]

Ints = np.ndarray[Any, np.dtype[np.int64]]
Bytes = np.ndarray[Any, np.dtype[np.uint8]]
Mask = np.ndarray[Any, np.dtype[np.bool_]]

_Numbers = TypeVar("_Numbers", Ints, Bytes)

_LARGE = pa.large_binary()


class Spans(NamedTuple):
    """Parts of a buffer."""

    data: Bytes
    starts: Ints
    ends: Ints

    def where(self, chosen: Any) -> "Spans":
        """The spans that a numpy index or mask selects."""
        return Spans(self.data, self.starts[chosen], self.ends[chosen])


def bounds_of(array: pa.Array) -> tuple[Bytes, Ints]:
    """The buffer of a binary array, and the n + 1 bounds of its strings; nothing is copied."""
    array = array.cast(_LARGE)
    if not len(array):
        return np.empty(0, np.uint8), np.zeros(1, np.int64)
    _, offsets, data = array.buffers()
    bounds = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    return np.frombuffer(data or b"", np.uint8), bounds


def spans(array: pa.Array) -> Spans:
    """The strings of a binary array, including those under NULLs."""
    data, bounds = bounds_of(array)
    return Spans(data, bounds[:-1], bounds[1:])


def pieces(data: Bytes, bounds: Ints) -> pa.Array:
    """Cut a buffer at ascending positions, without a copy."""
    cuts = np.ascontiguousarray(bounds, np.int64)
    buffers = [None, pa.py_buffer(cuts), pa.py_buffer(np.ascontiguousarray(data))]
    return pa.Array.from_buffers(_LARGE, len(bounds) - 1, buffers, 0)


def distinct(numbers: _Numbers) -> _Numbers:
    """Each number once, ascending; sorting is faster than the hash table of `numpy.unique`."""
    ordered = np.sort(numbers)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


def gather(parts: Spans) -> pa.Array:
    """The strings of spans that do not overlap, in any order."""
    if len(parts.starts) and (parts.ends[:-1] <= parts.starts[1:]).all():
        # Cut the buffer at all bounds: every second piece is a gap between two strings.
        bounds = np.column_stack([parts.starts, parts.ends]).ravel()
        return pieces(parts.data, bounds).take(integers(np.arange(0, len(bounds), 2)))
    filled = parts.starts < parts.ends
    bounds = distinct(np.concatenate([parts.starts[filled], parts.ends[filled]]))
    if not len(bounds):
        bounds = np.zeros(1, np.int64)
    strings = pa.concat_arrays([pieces(parts.data, bounds), pa.array([b""], _LARGE)])
    sources = np.where(filled, np.searchsorted(bounds, parts.starts), len(bounds) - 1)
    return pc.take(strings, integers(sources))


def joined(*parts: pa.Array) -> pa.Array:
    """The strings of several arrays, concatenated row by row."""
    return pc.binary_join_element_wise(*parts, pa.scalar(b"", _LARGE))


def numbered(counts: Ints) -> tuple[Ints, Ints]:
    """The row of each item and its index in the row, for ``counts[row]`` items per row.

    >>> [part.tolist() for part in numbered(np.array([2, 0, 1]))]
    [[0, 0, 2], [0, 1, 0]]
    """
    rows = np.repeat(np.arange(len(counts)), counts)
    return rows, np.arange(len(rows)) - (np.cumsum(counts) - counts)[rows]


def read_unsigned(data: Bytes, places: Ints, widths: Ints) -> Ints:
    """Little-endian numbers of 1 to 4 bytes each."""
    numbers = np.zeros(len(places), np.int64)
    for byte in range(int(widths.max(initial=0))):
        wide = widths > byte
        at = slice(None) if wide.all() else wide
        numbers[at] |= data[places[at] + byte].astype(np.int64) << 8 * byte
    return numbers


def widths_of(numbers: Ints) -> Ints:
    """The width in bytes, 1 to 4, of each unsigned number."""
    widths: Ints = 1 + (numbers > 0xFF) + (numbers > 0xFFFF) + (numbers > 0xFFFFFF).astype(np.int64)
    return widths


def pack(numbers: Ints, widths: Ints) -> Bytes:
    """Write numbers one after the other, little-endian, in 0 to 4 bytes each."""
    raw = numbers.astype("<u4").view(np.uint8).reshape(-1, 4)
    packed: Bytes = raw[np.arange(4) < widths[:, None]]
    return packed


def is_valid(array: pa.Array) -> Mask:
    """Where an array is not NULL."""
    if not array.null_count:
        return np.ones(len(array), np.bool_)
    mask: Mask = array.is_valid().to_numpy(zero_copy_only=False)
    return mask
