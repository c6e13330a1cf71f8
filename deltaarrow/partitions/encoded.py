"""The values of one partition column in many files, dictionary-encoded: distinct texts, and a code per file.

Files are many and texts are few, so a condition on a partition column is evaluated once per text, and a file
takes the verdict of its text (chapter *Partition Value Serialization* of the protocol).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import pyarrow as pa

from deltaarrow.columnar.numpy_arrays import array_of, raw_numbers, texts as strings, validity
from deltaarrow.errors import CorruptLogError, UnsupportedFeatureError
from deltaarrow.partitions.value_columns import parse_partition_values
from deltaarrow.partitions.values import parse_partition_value
from deltaarrow.schema import PrimitiveType, to_arrow_type

__all__ = ["EncodedPartitionValues", "TypedTexts"]

_NULL, _UNTOLD, _NO_FILE = 0, 1, 2
"""Offsets, after the number of texts, of codes without a text."""

_FEW = 4096
_ROWS_AT_ONCE = 1 << 16
_MOST_SHORT = 1 << 15
"""With up to this many texts, codes take two bytes."""


@dataclass(frozen=True)
class TypedTexts:
    """The texts as values of one type."""

    values: pa.Array
    """One value per text, NULL if the text is NULL or unreadable."""

    is_readable: np.ndarray
    """Whether each text is a value of the type, or NULL; reading the file reports an unreadable one."""


@dataclass(frozen=True)
class EncodedPartitionValues:
    """The texts of a partition column, and one code per row of a list of file actions.

    Attributes:
        texts: the distinct texts, without NULL.
        codes: for each row the number of its text; ``len(texts)`` for NULL, one more for a file whose
            partition values lack the column, two more for a row without a file.
    """

    texts: pa.Array
    codes: np.ndarray
    _typed: dict[PrimitiveType, TypedTexts] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, batches: Iterable[tuple[pa.MapArray, np.ndarray | None]], name: str) -> Self:
        """Encode the entries of a column in batches of ``partitionValues``.

        Args:
            batches: the maps of the rows, from physical names to texts; each batch has a mask of the rows
                that are files, or None if all are.
            name: the physical name of the column.

        >>> rows = [[("p", "a")], [("p", None)], [], [("p", "a")]]
        >>> maps = pa.array(rows, pa.map_(pa.string(), pa.string()))
        >>> found = EncodedPartitionValues.of([(maps, None)], "p")
        >>> found.texts.to_pylist(), found.codes.tolist()
        (['a'], [0, 1, 2, 0])
        """
        places: dict[str, int] = {}
        found = [_coded(maps, name, are_files, places) for maps, are_files in batches]
        count = len(places)
        codes = np.empty(sum(map(len, found)), np.min_scalar_type(count + _NO_FILE))
        end = 0
        for coded in found:
            start, end = end, end + len(coded)
            codes[start:end] = np.where(coded < 0, count + ~coded, coded)
        return cls(strings([*places]), codes)

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def nbytes(self) -> int:
        """Approximate memory in bytes."""
        return int(self.codes.nbytes + 4 * self.texts.nbytes)

    def take(self, rows: np.ndarray) -> "EncodedPartitionValues":
        """Return the codes of some rows."""
        return EncodedPartitionValues(self.texts, self.codes[rows], self._typed)

    def typed(self, data_type: PrimitiveType) -> TypedTexts:
        """Return the texts as typed values; each text is parsed only once."""
        if data_type not in self._typed:
            self._typed[data_type] = _typed(self.texts, data_type)
        return self._typed[data_type]

    def spread(self, of_texts: np.ndarray, *, of_null: bool, of_untold: bool) -> np.ndarray:
        """Return the verdict of each row, given those of the texts; it is False for a row without a file.

        >>> texts = EncodedPartitionValues(pa.array(["a", "b"]), np.array([1, 0, 2, 3, 4]))
        >>> texts.spread(np.array([True, False]), of_null=False, of_untold=True).tolist()
        [False, True, False, True, False]
        """
        verdicts = np.concatenate([of_texts, [of_null, of_untold, False]])
        found = np.empty(len(self.codes), bool)
        for start in range(0, len(found), _ROWS_AT_ONCE):  # numpy converts indices to eight bytes per row
            rows = slice(start, start + _ROWS_AT_ONCE)
            found[rows] = verdicts.take(self.codes[rows])
        return found


def _coded(maps: pa.MapArray, name: str, is_file: np.ndarray | None, places: dict[str, int]) -> np.ndarray:
    """The codes of a batch; ``~_NULL``, ``~_UNTOLD`` and ``~_NO_FILE`` for rows without a text."""
    codes = np.full(len(maps), ~_UNTOLD, np.int32)
    offsets = raw_numbers(maps.offsets)
    entries = slice(offsets[0], offsets[-1])
    keys, items = _dictionary(maps.keys[entries]), _dictionary(maps.items[entries])
    names = keys.dictionary.to_pylist()
    if name in names:
        rows = _rows(offsets)
        found = raw_numbers(keys.indices) == names.index(name)
        texts, is_text = raw_numbers(items.indices), validity(items.indices)
        if len(names) > 1:
            rows, texts = rows[found], texts[found]
            is_text = None if is_text is None else is_text[found]
        known = texts if is_text is None else texts[is_text]
        # The dictionary may also hold texts of other columns.
        used = np.flatnonzero(np.bincount(known, minlength=1))
        numbers = np.zeros(len(items.dictionary) + 1, np.int32)
        if len(known):
            # Arrow's kernels take 30 ms to load.
            listed = items.dictionary.to_pylist()
            numbers[used] = [places.setdefault(listed[place], len(places)) for place in used.tolist()]
        codes[rows] = numbers[texts] if is_text is None else np.where(is_text, numbers[texts], ~_NULL)
        if len(rows) > 1 and not (rows[1:] > rows[:-1]).all():
            # A file with two values of one column: its reader decides which counts.
            codes[rows[1:][rows[1:] == rows[:-1]]] = ~_UNTOLD
    if is_file is not None:
        codes[~is_file] = ~_NO_FILE
    return codes.astype(np.int16) if len(places) < _MOST_SHORT else codes


def _dictionary(texts: pa.Array) -> pa.DictionaryArray:
    if pa.types.is_dictionary(texts.type):
        return texts
    if len(texts) > _FEW:
        return texts.dictionary_encode()
    # Arrow's kernels take 30 ms and 9 MB to load, for the few files of the latest commits.
    places: dict[str, int] = {}
    values = texts.to_pylist()
    codes = [None if value is None else places.setdefault(value, len(places)) for value in values]
    return pa.DictionaryArray.from_arrays(array_of(codes, pa.int32()), strings([*places]))


def _rows(offsets: np.ndarray) -> np.ndarray:
    """The row of each map entry."""
    counts = np.diff(offsets)
    rows = np.arange(len(counts))
    return rows if (counts == 1).all() else np.repeat(rows, counts)


def _typed(texts: pa.Array, data_type: PrimitiveType) -> TypedTexts:
    is_readable = np.ones(len(texts), bool)
    if data_type.type in ("string", "binary"):
        return TypedTexts(parse_partition_values(texts, data_type), is_readable)
    values: list[Any] = []
    for place, text in enumerate(texts.to_pylist()):
        try:
            values.append(parse_partition_value(text, data_type))
        except (CorruptLogError, UnsupportedFeatureError):
            values.append(None)
            is_readable[place] = False
    if not is_readable.any():
        return TypedTexts(pa.nulls(len(values), to_arrow_type(data_type)), is_readable)
    return TypedTexts(array_of(values, to_arrow_type(data_type)), is_readable)
