"""The NULL count and bounds of a column from Parquet footers (PROTOCOL.md, *Per-file Statistics*).

A bound is taken where a footer is sure to tell one:

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

A bound of a string may be cut; a bound of any other type is the least or greatest value itself.
"""

import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from deltaarrow.columnar.parquet_footers import Chunk
from deltaarrow.statistics.render import Bound

__all__ = ["FooterBounds", "LeafBounds"]

_INT96 = 3
_PLAIN_INTEGERS = (1, 2)
_GREATEST_TIMESTAMP = (1 << 63) - 1
_GREGORIAN_DAYS = -141_427
"""1582-10-15: for earlier days, the calendar of old writers differs."""
_STABLE_MICROSECONDS = -2_208_988_800_000_000
"""1900-01-01: for earlier times, the time zones of old writers differ."""
_UNITS = {"s": 1_000_000, "ms": 1_000, "us": 1}
_SURELY_WHOLE = 60
"""Up to so many bytes, a bound of a string is not cut; some writers cut longer ones."""

_Decode = Callable[[bytes], Bound | None]


class FooterBounds(NamedTuple):
    """What the footer of a file tells of a column; None for what it does not.

    `is_exact` says that it tells all: the NULL count, and the least and greatest value if there is one.
    """

    null_count: int | None
    low: Bound | None
    high: Bound | None
    is_exact: bool


@dataclass(frozen=True)
class LeafBounds:
    """Takes bounds of a leaf, in no array or map, from footers; `decode` is None for a type without any."""

    decode: _Decode | None
    is_floating: bool
    is_string: bool
    needs_new_order: bool

    @classmethod
    def of(cls, stored: pa.DataType, physical_type: int) -> "LeafBounds":
        """Return what takes the bounds of a leaf with these types in Arrow and in Parquet."""
        types = pa.types
        is_string = types.is_string(stored)
        is_signed = not (types.is_unsigned_integer(stored) or is_string or types.is_decimal(stored))
        decode = None if physical_type == _INT96 else _decoder(stored, physical_type)
        return cls(decode, types.is_floating(stored), is_string, not is_signed)

    def over(self, chunks: Sequence[Chunk]) -> FooterBounds:
        """Return the bounds over all row groups, given the chunk of each."""
        nulls: int | None = 0
        lows: list[Bound | None] = []
        highs: list[Bound | None] = []
        for chunk in chunks:
            count = chunk.null_count if chunk.num_values else 0
            nulls = None if nulls is None or count is None else nulls + count
            if count != chunk.num_values:
                low, high = self._of_chunk(chunk)
                lows.append(low)
                highs.append(high)
        if not lows:
            return FooterBounds(nulls, None, None, nulls is not None)
        low = None if None in lows else min(lows)  # type: ignore[type-var]  # bounds of one kind
        high = None if None in highs else max(highs)  # type: ignore[type-var]
        is_whole = low is not None and high is not None
        if is_whole and self.is_string:
            is_whole = max(map(len, lows + highs)) <= _SURELY_WHOLE  # type: ignore[arg-type]
        return FooterBounds(nulls, low, high, is_whole and nulls is not None)

    def _of_chunk(self, chunk: Chunk) -> tuple[Bound | None, Bound | None]:
        """Return the bounds in one row group; none if they contradict each other."""
        _, _, first, last, old_order = chunk
        decode = self.decode
        if decode is None or first is None or last is None or (old_order and self.needs_new_order):
            return None, None
        low = decode(first)
        if self.is_floating:
            return low, None
        high = decode(last)
        if low is not None and high is not None and high < low:  # type: ignore[operator]  # both of one kind
            return None, None
        return low, high


def _decoder(stored: pa.DataType, physical_type: int) -> _Decode | None:
    """Return what turns the bytes of a bound into its form in `deltaarrow.statistics.render`."""
    types = pa.types
    if types.is_unsigned_integer(stored):
        mask = (1 << stored.bit_width) - 1
        return lambda raw: int.from_bytes(raw, "little") & mask
    if types.is_integer(stored):
        return _integer
    if types.is_date32(stored):
        return lambda raw: _not_before(_GREGORIAN_DAYS, _integer(raw))
    if types.is_timestamp(stored) and stored.unit in _UNITS:
        unit = _UNITS[stored.unit]
        return lambda raw: _not_before(_STABLE_MICROSECONDS, _integer(raw) * unit)
    if types.is_floating(stored):
        return _float
    if types.is_decimal(stored):
        return _integer if physical_type in _PLAIN_INTEGERS else _big_endian
    return bytes if types.is_string(stored) else None


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
