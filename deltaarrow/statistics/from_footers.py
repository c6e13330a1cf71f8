"""Statistics of files that others wrote, from their Parquet footers (PROTOCOL.md, *Per-file Statistics*).

A bound is taken where a footer is sure to tell one; no row is read:

=================  ==============================================================================
column             what is left out
=================  ==============================================================================
float, double      the maximum: Parquet ignores NaN, which Spark orders above all numbers
int96 timestamps   both bounds: writers disagree on their order
date, timestamp    a bound before 1582-10-15 or 1900, where files of old writers mean another time
unsigned, string,  bounds in the deprecated fields, which compare bytes as signed
long decimals
in an array, map   everything; the footer counts their elements
=================  ==============================================================================

Bounds of a string may be cut: the table's are cut as well. A file without a column has only NULLs in it.
"""

import math
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from deltaarrow.columnar.parquet_footers import Chunk, Leaf, RowGroup
from deltaarrow.statistics.collect import parquet_leaves
from deltaarrow.statistics.columns import DEFAULT_STRING_PREFIX_LENGTH, StatisticsColumn
from deltaarrow.statistics.render import Bound, bound_renderer, nest, render_statistics

__all__ = ["GREGORIAN_DAYS", "STABLE_MICROSECONDS", "FooterStatistics"]

_INT96 = 3
_PLAIN_INTEGERS = (1, 2)
_GREATEST_TIMESTAMP = (1 << 63) - 1
GREGORIAN_DAYS = -141_427
"""1582-10-15: for earlier days, the calendar of old writers differs."""
STABLE_MICROSECONDS = -2_208_988_800_000_000
"""1900-01-01: for earlier times, the time zones of old writers differ."""
_UNITS = {"s": 1_000_000, "ms": 1_000, "us": 1}

_PLACE = "\0"

_Decode = Callable[[bytes], Bound | None]
_Render = Callable[[Bound], str | None]


@dataclass(frozen=True)
class _Column:
    """A column with statistics in files of one schema; `leaf` is None where they lack it."""

    column: StatisticsColumn
    leaf: int | None
    decode: _Decode | None
    render_low: _Render
    render_high: _Render
    is_floating: bool = False
    needs_new_order: bool = False


class FooterStatistics:
    """Renders the statistics of files with one Parquet schema.

    Args:
        columns: the columns of the table that have statistics, by physical paths.
        leaves: the leaves of the schema.
        arrow_schema: its columns in Arrow.
        names: the path in the files of each path in the table, where they differ.
        prefix_length: the largest number of UTF-16 units in a string bound.
    """

    def __init__(
        self,
        columns: Sequence[StatisticsColumn],
        leaves: Sequence[Leaf],
        arrow_schema: pa.Schema,
        names: Mapping[tuple[str, ...], tuple[str, ...]],
        *,
        prefix_length: int = DEFAULT_STRING_PREFIX_LENGTH,
    ) -> None:
        renderers = [
            {
                name: bound_renderer(each.type, prefix_length, upper=name == "render_high")
                if each.has_bounds
                else _no_text
                for name in ("render_low", "render_high")
            }
            for each in columns
        ]
        types = [found for _, found in parquet_leaves(arrow_schema)]
        numbers = {leaf.path: number for number, leaf in enumerate(leaves) if not leaf.repetition_level}
        begins = {leaf.path[:length] for leaf in leaves for length in range(1, len(leaf.path) + 1)}
        self._columns: list[_Column] = []
        # By which values are known: the text around them, because its keys take longest to render.
        self._forms: dict[tuple[bool, ...], str] = {}
        for each, renders in zip(columns, renderers, strict=True):
            path = names.get(each.path, each.path)
            number = numbers.get(path)
            if number is not None:
                self._columns.append(
                    _column(each, number, types[number], leaves[number].physical_type, renders)
                )
            elif path not in begins:
                self._columns.append(_Column(each, None, None, renders["render_low"], renders["render_high"]))

    def render(self, groups: Sequence[RowGroup]) -> str:
        """Return the text of ``add.stats`` of a file with these row groups."""
        lows: list[str | None] = []
        highs: list[str | None] = []
        nulls: list[str | None] = []
        num_rows = sum(group.num_rows for group in groups)
        for each in self._columns:
            low = high = count = None
            if each.leaf is None:
                count = num_rows
            else:
                leaf = each.leaf
                if len(groups) == 1:
                    chunk = groups[0][1][leaf]
                    count = chunk.null_count
                    if count != num_rows:
                        low, high = _chunk_bounds(each, chunk)
                else:
                    chunks = [group[leaf] for _, group in groups]
                    count = _total(chunks)
                    low, high = _bounds(each, chunks)
            lows.append(None if low is None else each.render_low(low))
            highs.append(None if high is None else each.render_high(high))
            nulls.append(None if count is None else str(count))
        texts = [str(num_rows), *lows, *highs, *nulls]
        known = tuple(text is not None for text in texts)
        form = self._forms.get(known)
        if form is None:
            form = self._forms[known] = self._form(known)
        return form % tuple(text for text in texts if text is not None)

    def _form(self, known: Sequence[bool]) -> str:
        """Return the text in which each known value is to be filled in, by Python's ``%``."""
        count = len(self._columns)
        places = [_PLACE if each else None for each in known[1:]]
        lows, highs, nulls = (
            nest(
                (each.column.path, place)
                for each, place in zip(self._columns, places[first : first + count], strict=True)
                if first == 2 * count or each.decode is not None
            )
            for first in (0, count, 2 * count)
        )
        text = render_statistics(0, lows, highs, nulls).replace("%", "%%").replace(_PLACE, "%s")
        return text.replace('"numRecords":0', '"numRecords":%s', 1)


def _no_text(_: Bound) -> None:
    return None


def _total(chunks: Sequence[Chunk]) -> int | None:
    known = [chunk.null_count for chunk in chunks if chunk.null_count is not None]
    return sum(known) if len(known) == len(chunks) else None


def _bounds(column: _Column, chunks: Sequence[Chunk]) -> tuple[Bound | None, Bound | None]:
    """Return the bounds of a column over all row groups; None for one that is not known."""
    found = [_chunk_bounds(column, chunk) for chunk in chunks if chunk.null_count != chunk.num_values]
    if not found:
        return None, None
    lows, highs = zip(*found, strict=True)
    low = None if None in lows else min(lows)
    high = None if None in highs else max(highs)
    return low, high


def _chunk_bounds(column: _Column, chunk: Chunk) -> tuple[Bound | None, Bound | None]:
    """Return the bounds of a column in one row group; none if they contradict each other."""
    _, _, first, last, old_order = chunk
    decode = column.decode
    if decode is None or first is None or last is None or (old_order and column.needs_new_order):
        return None, None
    low = decode(first)
    if column.is_floating:
        return low, None
    high = decode(last)
    if low is not None and high is not None and high < low:  # type: ignore[operator]  # both of one kind
        return None, None
    return low, high


def _column(
    column: StatisticsColumn,
    leaf: int,
    found: pa.DataType,
    physical_type: int,
    renders: Mapping[str, _Render],
) -> _Column:
    types = pa.types
    is_floating = types.is_floating(found)
    needs_new_order = types.is_unsigned_integer(found) or types.is_string(found) or types.is_decimal(found)
    decode = _decoder(found, physical_type) if column.has_bounds and physical_type != _INT96 else None
    return _Column(column, leaf, decode, **renders, is_floating=is_floating, needs_new_order=needs_new_order)


def _decoder(found: pa.DataType, physical_type: int) -> _Decode | None:
    """Return what turns the bytes of a bound into its form in `deltaarrow.statistics.render`."""
    types = pa.types
    if types.is_unsigned_integer(found):
        mask = (1 << found.bit_width) - 1
        return lambda raw: int.from_bytes(raw, "little") & mask
    if types.is_integer(found):
        return _integer
    if types.is_date32(found):
        return lambda raw: _not_before(GREGORIAN_DAYS, _integer(raw))
    if types.is_timestamp(found) and found.unit in _UNITS:
        unit = _UNITS[found.unit]
        return lambda raw: _not_before(STABLE_MICROSECONDS, _integer(raw) * unit)
    if types.is_floating(found):
        return _float
    if types.is_decimal(found):
        return _integer if physical_type in _PLAIN_INTEGERS else _big_endian
    return bytes if types.is_string(found) else None


def _integer(raw: bytes) -> int:
    return int.from_bytes(raw, "little", signed=True)


def _not_before(first: int, value: int) -> int | None:
    return value if first <= value <= _GREATEST_TIMESTAMP else None


def _float(raw: bytes) -> float | None:
    try:
        (value,) = struct.unpack("<f" if len(raw) == 4 else "<d", raw)
    except struct.error:
        return None
    return None if math.isnan(value) else float(value)


def _big_endian(raw: bytes) -> int:
    return int.from_bytes(raw, "big", signed=True)
