"""Encoding of Arrow columns as Variant primitives: "Shredded Value Types" of Parquet's VariantShredding.md.

==============================  ================================================
Arrow                           variant
==============================  ================================================
bool, int8 .. int64             boolean, int8 .. int64
float, double                   float, double
decimal128(p, s)                decimal4, 8 or 16: up to 9, 18 or 38 digits
date32, time64("us")            date, time
timestamp("us" or "ns", "UTC")  timestamp, in microseconds or nanoseconds
timestamp("us" or "ns")         timestamp without time zone, likewise
binary, string                  binary, string
fixed_size_binary(16)           uuid
==============================  ================================================
"""

import numpy as np
import pyarrow as pa

from deltaarrow.variant.encoding_numbers import DECIMAL_DIGITS, SHORT_STRING_LIMIT, Basic, Primitive, header
from deltaarrow.variant.ragged import Bytes, bounds_of, joined, pack, pieces

__all__ = ["encode_primitives", "primitive_type"]

_PLAIN: dict[pa.DataType, Primitive] = {
    pa.int8(): Primitive.INT8,
    pa.int16(): Primitive.INT16,
    pa.int32(): Primitive.INT32,
    pa.int64(): Primitive.INT64,
    pa.float32(): Primitive.FLOAT,
    pa.float64(): Primitive.DOUBLE,
    pa.date32(): Primitive.DATE,
    pa.time64("us"): Primitive.TIME,
    pa.timestamp("us", "UTC"): Primitive.TIMESTAMP,
    pa.timestamp("us"): Primitive.TIMESTAMP_NTZ,
    pa.timestamp("ns", "UTC"): Primitive.TIMESTAMP_NANOS,
    pa.timestamp("ns"): Primitive.TIMESTAMP_NTZ_NANOS,
    pa.binary(16): Primitive.UUID,
}
_OTHER = {pa.bool_(), pa.string(), pa.binary()}


def primitive_type(found: pa.DataType) -> pa.DataType | None:
    """The Arrow type of the table above that holds the values of `found`, or None."""
    types = pa.types
    if isinstance(found, pa.BaseExtensionType):
        found = found.storage_type
    if types.is_dictionary(found):
        found = found.value_type
    if types.is_large_string(found) or types.is_string_view(found):
        return pa.string()
    if types.is_large_binary(found) or types.is_binary_view(found):
        return pa.binary()
    if types.is_timestamp(found) and found.tz is not None:
        found = pa.timestamp(found.unit, "UTC")
    if types.is_decimal(found):
        fits = found.precision <= 38 and 0 <= found.scale <= found.precision
        return pa.decimal128(found.precision, found.scale) if fits else None
    return found if found in _PLAIN or found in _OTHER else None


def encode_primitives(array: pa.Array) -> pa.Array:
    """Encode an array, of a type of the table above, as binary variants; NULLs give arbitrary bytes."""
    data_type = array.type
    if data_type == pa.bool_():
        flags = array.fill_null(False).to_numpy(zero_copy_only=False)
        tags = np.array([_tag(Primitive.FALSE), _tag(Primitive.TRUE)], np.uint8)
        return pieces(tags[flags.astype(np.int64)], np.arange(len(array) + 1))
    if data_type in _PLAIN:
        return _fixed(bytes([_tag(_PLAIN[data_type])]), _raw(array, data_type.bit_width // 8))
    if pa.types.is_decimal128(data_type):
        kind = next(k for k, digits in DECIMAL_DIGITS.items() if data_type.precision <= digits)
        size = {Primitive.DECIMAL4: 4, Primitive.DECIMAL8: 8, Primitive.DECIMAL16: 16}[kind]
        return _fixed(bytes([_tag(kind), data_type.scale]), _raw(array, 16)[:, :size])
    return _sized(array)


def _sized(array: pa.Array) -> pa.Array:
    is_text = array.type == pa.string()
    array = array.cast(pa.binary()).cast(pa.large_binary())
    _, bounds = bounds_of(array)
    lengths = np.diff(bounds)
    long = lengths >= SHORT_STRING_LIMIT if is_text else np.ones(len(lengths), np.bool_)
    tag = _tag(Primitive.STRING if is_text else Primitive.BINARY)
    numbers = np.column_stack([np.where(long, tag, lengths << 2 | Basic.SHORT_STRING), lengths])
    widths = np.column_stack([np.ones(len(lengths), np.int64), np.where(long, 4, 0)])
    heads = pieces(pack(numbers.ravel(), widths.ravel()), np.append(0, np.cumsum(widths.sum(axis=1))))
    return joined(heads, array)


def _fixed(prefix: bytes, raw: Bytes) -> pa.Array:
    count, size = raw.shape
    filled = np.empty((count, len(prefix) + size), np.uint8)
    filled[:, : len(prefix)] = np.frombuffer(prefix, np.uint8)
    filled[:, len(prefix) :] = raw
    return pieces(filled.ravel(), np.arange(count + 1) * filled.shape[1])


def _raw(array: pa.Array, size: int) -> Bytes:
    """The little-endian bytes of the values, one row per value."""
    data = array.buffers()[1]
    if not len(array):
        return np.empty((0, size), np.uint8)
    whole = np.frombuffer(data, np.uint8)
    return whole[array.offset * size : (array.offset + len(array)) * size].reshape(-1, size)


def _tag(kind: Primitive) -> int:
    return header(Basic.PRIMITIVE, kind)
