"""Reading and writing of objects and arrays for many rows at once: Parquet's VariantEncoding.md.

A container has a head (header byte, number of elements, for objects the ids of the names, offsets) and the
values that the offsets point to.
"""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from deltaarrow.errors import CorruptDataFileError
from deltaarrow.variant.encoding_numbers import Basic
from deltaarrow.variant.ragged import (
    Ints,
    Spans,
    bounds_of,
    distinct,
    joined,
    numbered,
    pack,
    pieces,
    read_unsigned,
    widths_of,
)

__all__ = ["Elements", "basic_types", "read_containers", "write_arrays", "write_objects"]


class Elements(NamedTuple):
    """The elements of containers, grouped by container and in order.

    `owners` says which container an element belongs to, `ids` which name an object's field has.
    """

    owners: Ints
    ids: Ints
    values: Spans


def basic_types(values: Spans) -> Ints:
    """The basic type of each value.

    Raises:
        CorruptDataFileError: a value has no bytes.
    """
    if (values.starts >= values.ends).any():
        raise CorruptDataFileError("a variant has a value of no bytes")
    basic: Ints = (values.data[values.starts] & 3).astype(np.int64)
    return basic


def read_containers(containers: Spans, basic: Basic) -> Elements:
    """The elements of values that are all objects, or all arrays; ids are 0 for arrays.

    Raises:
        CorruptDataFileError: a container reaches beyond its bytes.
    """
    data, starts, ends = containers
    is_object = basic == Basic.OBJECT
    bits = (data[starts] >> 2).astype(np.int64)
    offset_widths = (bits & 3) + 1
    id_widths = (bits >> 2 & 3) + 1 if is_object else np.zeros_like(bits)
    count_widths = np.where(bits >> (4 if is_object else 2) & 1, 4, 1)
    ids_at = starts + 1 + count_widths
    _ensure_inside(ids_at, ends)
    counts = read_unsigned(data, starts + 1, count_widths)
    offsets_at = ids_at + counts * id_widths
    values_at = offsets_at + (counts + 1) * offset_widths
    _ensure_inside(values_at, ends)
    lasts = values_at + read_unsigned(data, values_at - offset_widths, offset_widths)
    _ensure_inside(lasts, ends)
    owners, place = numbered(counts)
    ids = read_unsigned(data, ids_at[owners] + place * id_widths[owners], id_widths[owners])
    widths = offset_widths[owners]
    elements = values_at[owners] + read_unsigned(data, offsets_at[owners] + place * widths, widths)
    _ensure_inside(elements + 1, lasts[owners])
    # The fields of an object may be stored in any order: each ends where the next one, or the object, does.
    bounds = distinct(np.concatenate([elements, lasts]))
    after = bounds[np.searchsorted(bounds, elements, side="right")] if len(elements) else elements
    return Elements(owners, ids, Spans(data, elements, after))


def write_objects(
    owners: Ints, ids: Ints, values: pa.Array, rows: int, listing: Ints | None = None
) -> pa.Array:
    """Objects, one per row, from `values` sorted by row.

    `listing` gives the order of the names; without it, the values are in that order already.
    """
    return _write(owners, ids, values, rows, listing)


def write_arrays(owners: Ints, values: pa.Array, rows: int) -> pa.Array:
    """Arrays, one per row, from `values` sorted by row."""
    return _write(owners, None, values, rows)


def _write(
    owners: Ints, ids: Ints | None, values: pa.Array, rows: int, listing: Ints | None = None
) -> pa.Array:
    data, bounds = bounds_of(values)
    counts = np.bincount(owners, minlength=rows)
    firsts = np.cumsum(counts) - counts
    body_bounds = bounds[np.append(firsts, len(owners))]
    sizes = np.diff(body_bounds)
    large = (counts > 255).astype(np.int64)
    offset_widths = widths_of(sizes)
    id_widths = np.zeros(rows, np.int64)
    # The head of a row as numbers: header, count, ids (of objects), offsets, end of the last value.
    id_counts = np.zeros_like(counts)
    headers = Basic.ARRAY | (large << 2 | offset_widths - 1) << 2
    if ids is not None:
        id_counts = counts
        largest = np.zeros(rows, np.int64)
        filled = counts > 0
        if filled.any():
            largest[filled] = np.maximum.reduceat(ids, firsts[filled])
        id_widths = widths_of(largest)
        headers = Basic.OBJECT | (large << 4 | id_widths - 1 << 2 | offset_widths - 1) << 2
    lengths = 3 + id_counts + counts
    at = np.cumsum(lengths) - lengths
    numbers = np.empty(int(lengths.sum()), np.int64)
    widths = np.empty(len(numbers), np.int64)
    numbers[at], widths[at] = headers, 1
    numbers[at + 1], widths[at + 1] = counts, np.where(large, 4, 1)
    place = at[owners] + 2 + np.arange(len(owners)) - firsts[owners]
    offsets = bounds[:-1] - body_bounds[owners]
    if ids is not None:
        listed = slice(None) if listing is None else listing
        numbers[place], widths[place] = ids[listed], id_widths[owners]
        place = place + counts[owners]
        offsets = offsets[listed]
    numbers[place], widths[place] = offsets, offset_widths[owners]
    end = at + lengths - 1
    numbers[end], widths[end] = sizes, offset_widths
    head_sizes = 1 + np.where(large, 4, 1) + id_counts * id_widths + (counts + 1) * offset_widths
    head_bounds = np.append(0, np.cumsum(head_sizes))
    return joined(pieces(pack(numbers, widths), head_bounds), pieces(data, body_bounds))


def _ensure_inside(places: Ints, ends: Ints) -> None:
    if (places > ends).any():
        raise CorruptDataFileError("an object or array in a variant reaches outside of it")
