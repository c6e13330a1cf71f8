"""Range ids: the place of a value among sampled bounds of its column, as a number of a few bits.

A column of any type with an order becomes numbers that a curve can mix with those of other columns. Values
keep their order, NULL comes first, and each number stands for about as many rows as any other.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaarrow.columnar.numpy_arrays import integers, raw_numbers, truths, validity
from deltaarrow.operations.optimize.curve import Curve, bits_of
from deltaarrow.schema import DataType, PrimitiveType

__all__ = ["SAMPLED_ROWS", "CurveKeys", "RowSample", "has_order", "sampled_keys"]

SAMPLED_ROWS = 50_000
"""A sample has so many rows to twice as many."""

_MOST_RANGES = 1000
_LONGEST = 256
"""Texts with this many bytes in common are in one range."""

_WITHOUT_ORDER = {"variant", "void"}


def has_order(data_type: DataType) -> bool:
    """Whether rows can be laid out by a column of a type."""
    return isinstance(data_type, PrimitiveType) and data_type.type not in _WITHOUT_ORDER


@dataclass(frozen=True)
class CurveKeys:
    """Gives rows the keys by which they are laid out.

    Args:
        paths: the columns, as paths of names.
        bounds: the values at which the ranges of each column begin, ascending; see `_values`.
        curve: mixes the ranges of all columns.
    """

    paths: tuple[tuple[str, ...], ...]
    bounds: tuple[np.ndarray, ...]
    curve: Curve

    def of(self, batch: pa.RecordBatch) -> np.ndarray:
        """Return the key of each row, as 64-bit unsigned integers."""
        return self.of_columns([_column(batch, path) for path in self.paths])

    def of_columns(self, columns: Sequence[pa.Array]) -> np.ndarray:
        """Return the key of each row, given the values of the columns."""
        bits = bits_of(len(self.paths))
        ranges = zip(columns, self.bounds, strict=True)
        return self.curve([_numbers(column, each, bits) for column, each in ranges], bits)


def sampled_keys(
    batches: Iterable[pa.RecordBatch], paths: Sequence[tuple[str, ...]], curve: Curve
) -> CurveKeys:
    """Choose the ranges of columns by a sample of rows, the same one for the same batches.

    Args:
        batches: rows with the columns, read once.
        paths: the columns, as paths of names.
        curve: mixes the ranges of the columns.
    """
    return RowSample.of(batches, paths).keys(paths, curve)


@dataclass(frozen=True)
class RowSample:
    """Values of rows chosen at random: those rows whose random numbers are the least.

    Args:
        numbers: the random number of each chosen row.
        most: every row with a number up to this one is chosen.
        columns: the values of the chosen rows; texts are cut after `_LONGEST` bytes.
        num_rows: the number of all rows.
    """

    numbers: np.ndarray
    most: float
    columns: tuple[pa.Array, ...]
    num_rows: int

    @classmethod
    def of(
        cls,
        batches: Iterable[pa.RecordBatch],
        paths: Sequence[tuple[str, ...]],
        rows: int = SAMPLED_ROWS,
        seed: int = 0,
    ) -> Self:
        """Choose up to twice as many rows, always the same ones for the same batches and seed."""
        random = np.random.default_rng(seed)
        numbers, most, num_rows = np.empty(0), 1.0, 0
        columns: list[list[pa.Array]] = [[] for _ in paths]
        for batch in batches:
            num_rows += batch.num_rows
            drawn = random.random(batch.num_rows)
            (chosen,) = np.nonzero(drawn < most)
            if not len(chosen):
                continue
            numbers = np.concatenate([numbers, drawn[chosen]])
            places = integers(chosen)
            for column, path in zip(columns, paths, strict=True):
                column.append(_shortened(_column(batch, path).take(places)))
            if len(numbers) > 2 * rows:
                kept = np.sort(np.argpartition(numbers, rows)[:rows])
                numbers, places = numbers[kept], integers(kept)
                most = float(numbers.max())
                columns = [[pa.concat_arrays(column).take(places)] for column in columns]
        return cls(numbers, most, _joined(columns), num_rows)

    @classmethod
    def joined(cls, samples: Sequence[Self]) -> Self:
        """Return the sample of all rows, given samples of parts of them with seeds of their own."""
        most = min(sample.most for sample in samples)
        kept = [np.flatnonzero(sample.numbers <= most) for sample in samples]
        columns = [
            [sample.columns[place].take(integers(rows)) for sample, rows in zip(samples, kept, strict=True)]
            for place in range(len(samples[0].columns))
        ]
        numbers = [sample.numbers[rows] for sample, rows in zip(samples, kept, strict=True)]
        num_rows = sum(sample.num_rows for sample in samples)
        return cls(np.concatenate(numbers), most, _joined(columns), num_rows)

    def keys(self, paths: Sequence[tuple[str, ...]], curve: Curve) -> CurveKeys:
        """Return what gives rows their keys: the ranges of each column have as many rows of the sample."""
        return CurveKeys(tuple(paths), tuple(map(_bounds, self.columns)), curve)


def _joined(columns: Iterable[Sequence[pa.Array]]) -> tuple[pa.Array, ...]:
    """Return each column in one piece; pieces without a row may lack its type."""
    known = ([piece for piece in column if len(piece)] for column in columns)
    return tuple(pa.concat_arrays(column) if column else pa.nulls(0) for column in known)


def _column(batch: pa.RecordBatch, path: Sequence[str]) -> pa.Array:
    column = batch.column(path[0])
    for name in path[1:]:
        # A field of a struct that is NULL is NULL.
        column = pc.struct_field(column, [column.type.get_field_index(name)])
    return column


def _is_text(data_type: pa.DataType) -> bool:
    return bool(pa.types.is_string(data_type) or pa.types.is_binary(data_type))


def _shortened(array: pa.Array) -> pa.Array:
    if not _is_text(array.type):
        return array
    return pc.binary_slice(array.view(pa.binary()), 0, _LONGEST)


def _bounds(sample: pa.Array) -> np.ndarray:
    """Return the values at which ranges begin, except the first range."""
    known = sample.drop_null()
    if not len(known):
        return np.empty(0, np.int8)
    values = np.sort(_values(known, _LONGEST))
    places = np.arange(1, _MOST_RANGES - 1) * len(values) // (_MOST_RANGES - 1)
    bounds = np.unique(values[places])
    bounds = bounds[bounds > values[0]] if bounds.dtype.kind != "f" else bounds
    return _separators(bounds) if _is_text(sample.type) else bounds


def _separators(bounds: np.ndarray) -> np.ndarray:
    """Return texts that are as short as the longest common beginning of two neighbours and one byte more."""
    if not len(bounds):
        return np.empty(0, "S1")
    octets = bounds.view(np.uint8).reshape(len(bounds), -1)
    differs = octets[1:] != octets[:-1]
    width = int(differs.argmax(1).max()) + 1 if len(differs) else max(1, len(bounds[0]))
    return np.unique(np.ascontiguousarray(octets[:, :width]).view(f"S{width}").ravel())


def _numbers(column: pa.Array, bounds: np.ndarray, bits: int) -> np.ndarray:
    """Return the range of each value, spread over all numbers of so many bits; 0 for NULL."""
    most = (1 << bits) - 1
    # There is the range of NULL, one before the first bound, and one after each bound.
    numbers = np.arange(len(bounds) + 2) * most // (len(bounds) + 1)
    known = validity(column)
    if not len(bounds):
        found = np.ones(len(column), np.int64)
    else:
        width = bounds.dtype.itemsize if _is_text(column.type) else 0
        found = np.searchsorted(bounds, _values(column, width), side="right") + 1
    return numbers[found if known is None else found * known].astype(np.uint16)


def _values(array: pa.Array, width: int) -> np.ndarray:
    """Return the values of an array as numbers or texts in their order; anything in place of NULL.

    Texts are cut after so many bytes, and count as if zeros stood after them. As in Spark, -0.0 equals 0.0
    and NaN comes last.
    """
    types, of_type = pa.types, array.type
    if _is_text(of_type):
        return _texts(array, width)
    if types.is_boolean(of_type):
        return truths(array).view(np.uint8)
    if types.is_decimal(of_type):
        buffer = np.frombuffer(array.buffers()[1], np.uint8).reshape(-1, 16)
        octets = buffer[array.offset : array.offset + len(array), ::-1].copy()
        octets[:, 0] ^= 0x80
        return octets.view("S16").ravel()
    if types.is_floating(of_type):
        values = np.frombuffer(array.buffers()[1], f"f{of_type.bit_width // 8}")
        return values[array.offset : array.offset + len(array)]
    return raw_numbers(array)


def _texts(array: pa.Array, width: int) -> np.ndarray:
    _, offsets, data = array.buffers()
    texts = np.zeros((len(array), max(1, width)), np.uint8)
    if data is None or not data.size:
        return texts.view(f"S{texts.shape[1]}").ravel()
    bounds = np.frombuffer(offsets, np.int32)[array.offset : array.offset + len(array) + 1].astype(np.int64)
    sizes = np.minimum(np.diff(bounds), width)
    ends = np.cumsum(sizes)
    within = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - sizes, sizes)
    target = np.repeat(np.arange(len(array)) * texts.shape[1], sizes) + within
    texts.reshape(-1)[target] = np.frombuffer(data, np.uint8)[np.repeat(bounds[:-1], sizes) + within]
    return texts.view(f"S{texts.shape[1]}").ravel()
