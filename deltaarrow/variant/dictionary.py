"""The dictionaries of a column of variants: chapter "Metadata encoding" of Parquet's VariantEncoding.md.

Most rows share a few dictionaries, so each distinct one is read once. A name is identified by its *rank*
among all names of the column, in the order of their bytes, which is the order of fields in an object.
"""

import numpy as np
import pyarrow as pa

from deltaarrow.columnar.kernels import pc
from deltaarrow.columnar.numpy_arrays import integers
from deltaarrow.errors import CorruptDataFileError
from deltaarrow.variant.encoding_numbers import EMPTY_METADATA
from deltaarrow.variant.ragged import (
    Ints,
    bounds_of,
    joined,
    numbered,
    pack,
    pieces,
    read_unsigned,
    spans,
    widths_of,
)

__all__ = ["Dictionaries", "order_of_names", "write_dictionaries"]


class Dictionaries:
    """The names that the objects of each row may have.

    Raises:
        CorruptDataFileError: the bytes of a row are not a dictionary of version 1.
    """

    def __init__(self, metadata: pa.Array) -> None:
        """Read the binary array `metadata`; NULL counts as a dictionary without names."""
        distinct = pc.fill_null(metadata, pa.scalar(EMPTY_METADATA, metadata.type)).dictionary_encode()
        self._of_row: Ints = distinct.indices.to_numpy().astype(np.int64)
        self._counts, names = _read(distinct.dictionary)
        self._base = np.cumsum(self._counts) - self._counts
        encoded = names.dictionary_encode()
        order = pc.array_sort_indices(encoded.dictionary).to_numpy().astype(np.int64)
        self._names = encoded.dictionary.take(order)
        rank_of_code = np.empty(len(order), np.int64)
        rank_of_code[order] = np.arange(len(order))
        self._ranks: Ints = rank_of_code[encoded.indices.to_numpy()] if len(names) else np.empty(0, np.int64)

    @property
    def names(self) -> pa.Array:
        """All names of the column, by rank."""
        return self._names

    def rank(self, name: str) -> int:
        """The rank of a name, or -1 if no dictionary has it."""
        return int(pc.index(self._names, pa.scalar(name.encode(), self._names.type)).as_py())

    def ids(self, name: str, rows: Ints) -> Ints:
        """The id of a name in the dictionary of each row, or -1 if it is not in there."""
        found = np.full(len(self._counts), -1, np.int64)
        entries = np.flatnonzero(self._ranks == self.rank(name))[::-1]
        dictionaries = np.searchsorted(self._base, entries, side="right") - 1
        found[dictionaries] = entries - self._base[dictionaries]
        chosen: Ints = found[self._of_row[rows]]
        return chosen

    def ranks(self, rows: Ints, ids: Ints) -> Ints:
        """The rank of the name that has the given id in the dictionary of each row."""
        dictionaries = self._of_row[rows]
        if (ids >= self._counts[dictionaries]).any():
            raise CorruptDataFileError("an object in a variant has a field that its metadata does not name")
        chosen: Ints = self._ranks[self._base[dictionaries] + ids]
        return chosen


def order_of_names(names: pa.Array) -> Ints:
    """The position of each distinct UTF-8 name in the order in which Spark lists fields.

    Spark sorts by UTF-16 units. That is the order of bytes except for characters beyond U+FFFF.
    """
    if (bounds_of(names)[0] >= 0xF0).any():
        texts = [name.decode() for name in names.to_pylist()]
        order = np.array(sorted(range(len(texts)), key=lambda i: texts[i].encode("utf-16-be")), np.int64)
    else:
        order = pc.array_sort_indices(names).to_numpy().astype(np.int64)
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    return places


def write_dictionaries(owners: Ints, names: pa.Array, rows: int) -> pa.Array:
    """Dictionaries, one per row, from `names` sorted by row; marked as not sorted."""
    _, bounds = bounds_of(names)
    counts = np.bincount(owners, minlength=rows)
    firsts = np.cumsum(counts) - counts
    text_bounds = bounds[np.append(firsts, len(owners))]
    sizes = np.diff(text_bounds)
    widths = widths_of(np.maximum(sizes, counts))
    # Per row: header, number of names, their offsets, end of the last.
    lengths = counts + 3
    at = np.cumsum(lengths) - lengths
    numbers = np.empty(int(lengths.sum()), np.int64)
    number_widths = np.repeat(widths, lengths)
    numbers[at], number_widths[at] = 1 | widths - 1 << 6, 1
    numbers[at + 1] = counts
    numbers[at[owners] + 2 + np.arange(len(owners)) - firsts[owners]] = bounds[:-1] - text_bounds[owners]
    numbers[at + lengths - 1] = sizes
    heads = pieces(pack(numbers, number_widths), np.append(0, np.cumsum(1 + widths * (counts + 2))))
    return joined(heads, pieces(bounds_of(names)[0], text_bounds))


def _read(metadata: pa.Array) -> tuple[Ints, pa.Array]:
    """The number of names in each dictionary, and the names of all of them."""
    data, starts, ends = spans(metadata)
    _ensure((ends > starts).all(), "the metadata of a variant is empty")
    _ensure(((data[starts] & 0xF) == 1).all(), "the metadata of a variant is not of version 1")
    widths = (data[starts] >> 6).astype(np.int64) + 1
    _ensure((starts + 1 + widths <= ends).all(), "the metadata of a variant is cut off")
    counts = read_unsigned(data, starts + 1, widths)
    texts = starts + 1 + widths * (counts + 2)
    _ensure((texts <= ends).all(), "the metadata of a variant is cut off")
    rows, place = numbered(counts + 1)
    offsets = read_unsigned(data, starts[rows] + 1 + widths[rows] * (place + 1), widths[rows])
    bounds = texts[rows] + offsets
    inside = (bounds <= ends[rows]).all() and (np.diff(bounds)[np.diff(rows) == 0] >= 0).all()
    _ensure(bool(inside), "the metadata of a variant has names outside of it")
    # One more bound, so that a piece, though unused, follows the last name of each dictionary.
    names = pieces(data, np.append(bounds, len(data))).take(integers(np.flatnonzero(place < counts[rows])))
    try:
        names.cast(pa.large_string())
    except pa.ArrowInvalid as error:
        raise CorruptDataFileError("a variant has a name that is not UTF-8") from error
    return counts, names


def _ensure(holds: bool | np.bool_, otherwise: str) -> None:
    if not holds:
        raise CorruptDataFileError(otherwise)
