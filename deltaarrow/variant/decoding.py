"""Decoding of a column of variants to one Arrow type.

The inverse of `deltaarrow.variant.primitives`, for values that may have different types.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from deltaarrow.columnar.kernels import pc
from deltaarrow.columnar.numpy_arrays import booleans, integers
from deltaarrow.errors import CorruptDataFileError, SchemaMismatchError
from deltaarrow.variant.containers import basic_types
from deltaarrow.variant.encoding_numbers import DECIMAL_DIGITS, FIXED_SIZES, Basic, Primitive
from deltaarrow.variant.ragged import Bytes, Ints, Spans, distinct, gather, is_valid, spans

__all__ = ["decode", "ensure_primitives", "read_values"]

_TYPES: dict[Primitive, pa.DataType] = {
    Primitive.INT8: pa.int8(),
    Primitive.INT16: pa.int16(),
    Primitive.INT32: pa.int32(),
    Primitive.INT64: pa.int64(),
    Primitive.DOUBLE: pa.float64(),
    Primitive.DATE: pa.date32(),
    Primitive.TIMESTAMP: pa.timestamp("us", "UTC"),
    Primitive.TIMESTAMP_NTZ: pa.timestamp("us"),
    Primitive.FLOAT: pa.float32(),
    Primitive.TIME: pa.time64("us"),
    Primitive.TIMESTAMP_NANOS: pa.timestamp("ns", "UTC"),
    Primitive.TIMESTAMP_NTZ_NANOS: pa.timestamp("ns"),
    Primitive.UUID: pa.binary(16),
}
_DECIMALS = {4: Primitive.DECIMAL4, 8: Primitive.DECIMAL8, 16: Primitive.DECIMAL16}


def read_values(value: pa.Array, data_type: pa.DataType, *, strict: bool) -> pa.Array:
    """Decode and convert the primitives in a binary array; variant nulls become NULL.

    Raises:
        SchemaMismatchError: with `strict`, a value has another type or does not fit the type.
        CorruptDataFileError: a value is cut off, or of an unknown type.
    """
    rows = np.flatnonzero(is_valid(value))
    # Where no value is placed, the NULL at index 0 stays.
    sources = np.zeros(len(value), np.int64)
    blocks, filled = [pa.nulls(1, data_type)], 1
    for chosen, decoded in decode(spans(value).where(rows)):
        sources[rows[chosen]] = filled + np.arange(len(chosen))
        filled += len(chosen)
        blocks.append(_converted(decoded, data_type, strict=strict))
    return pc.take(pa.concat_arrays(blocks), integers(sources))


def ensure_primitives(values: Spans) -> None:
    """Raise `CorruptDataFileError` unless all scalars can be decoded."""
    for _ in decode(values):
        pass


def decode(values: Spans) -> Iterator[tuple[Ints, pa.Array]]:
    """The values except variant nulls, by kind: their positions, and the values in Arrow's type for the kind.

    Objects and arrays are returned as NULLs of an empty struct.
    """
    basic = basic_types(values)
    containers = np.flatnonzero(basic >= Basic.OBJECT)
    if len(containers):
        yield containers, pa.nulls(len(containers), pa.struct([]))
    short = np.flatnonzero(basic == Basic.SHORT_STRING)
    if len(short):
        data, starts, ends = values.where(short)
        yield short, _text(_contents(Spans(data, starts + 1, ends), (data[starts] >> 2).astype(np.int64)))
    primitive = np.flatnonzero(basic == Basic.PRIMITIVE)
    numbers = values.data[values.starts[primitive]] >> 2
    for number in distinct(numbers).tolist():
        if number > max(Primitive):
            raise CorruptDataFileError(f"a variant holds a primitive of the unknown type {number}")
        kind = Primitive(number)
        chosen = primitive[numbers == number]
        data, starts, ends = values.where(chosen)
        if kind in (Primitive.STRING, Primitive.BINARY):
            head = _payload(Spans(data, starts, ends), 4)
            sizes = head.view("<u4").ravel().astype(np.int64)
            contents = _contents(Spans(data, starts + 5, ends), sizes)
            yield chosen, _text(contents) if kind == Primitive.STRING else contents
        elif kind in (Primitive.TRUE, Primitive.FALSE):
            yield chosen, booleans(np.full(len(chosen), kind == Primitive.TRUE))
        elif kind in _TYPES:
            raw = _payload(Spans(data, starts, ends), FIXED_SIZES[kind])
            yield chosen, _fixed(_TYPES[kind], raw)
        elif kind != Primitive.NULL:
            for scale, which, array in _decimals(_payload(Spans(data, starts, ends), FIXED_SIZES[kind])):
                if scale > 38:
                    raise CorruptDataFileError("a decimal in a variant has too many digits")
                yield chosen[which], array


def _decimals(raw: Bytes) -> Iterator[tuple[int, Ints, pa.Array]]:
    scales, unscaled = raw[:, 0], raw[:, 1:]
    most = DECIMAL_DIGITS[_DECIMALS[unscaled.shape[1]]]
    for scale in distinct(scales).tolist():
        which = np.flatnonzero(scales == scale)
        wide = np.where(unscaled[which, -1:] >= 0x80, np.uint8(0xFF), np.uint8(0)).repeat(16, axis=1)
        wide[:, : unscaled.shape[1]] = unscaled[which]
        try:
            _fixed(pa.decimal128(most, 0), wide).validate(full=True)
        except pa.ArrowInvalid as error:
            raise CorruptDataFileError("a decimal in a variant has too many digits") from error
        yield scale, which, _fixed(pa.decimal128(38, min(scale, 38)), wide)


def _payload(values: Spans, size: int) -> Bytes:
    """The `size` bytes after the header of each value, one row per value."""
    if (values.starts + 1 + size > values.ends).any():
        raise CorruptDataFileError("a variant is cut off")
    payload: Bytes = values.data[values.starts[:, None] + np.arange(1, size + 1)]
    return payload


def _contents(rest: Spans, sizes: Ints) -> pa.Array:
    ends = rest.starts + sizes
    if (ends > rest.ends).any():
        raise CorruptDataFileError("a variant is cut off")
    return gather(Spans(rest.data, rest.starts, ends))


def _text(contents: pa.Array) -> pa.Array:
    try:
        return contents.cast(pa.large_string())
    except pa.ArrowInvalid as error:
        raise CorruptDataFileError("a variant holds text that is not UTF-8") from error


def _fixed(data_type: pa.DataType, raw: Bytes) -> pa.Array:
    return pa.Array.from_buffers(data_type, len(raw), [None, pa.py_buffer(np.ascontiguousarray(raw))], 0)


def _converted(array: pa.Array, wanted: pa.DataType, *, strict: bool) -> pa.Array:
    if _family(array.type) == _family(wanted):
        try:
            cast = array.cast(wanted)
            # These two casts round silently.
            rounds = pa.types.is_floating(array.type) and pa.types.is_decimal(wanted)
            rounds |= pa.types.is_timestamp(array.type) and pa.types.is_date(wanted)
            if not rounds or cast.cast(array.type, safe=False).equals(array):
                return cast
        except pa.ArrowInvalid:
            pass
        if not strict and len(array) > 1:
            # Bisect until the values that do not fit are alone.
            half = len(array) // 2
            parts = [_converted(part, wanted, strict=False) for part in (array[:half], array[half:])]
            return pa.concat_arrays(parts)
    if strict:
        found = "object or array" if pa.types.is_struct(array.type) else array.type
        raise SchemaMismatchError(
            f"a variant holds a value of type {found} that does not fit {wanted}; read it as another type,"
            " or not strictly"
        )
    return pa.nulls(len(array), wanted)


def _family(data_type: pa.DataType) -> str:
    """The group of types that can hold the same values."""
    types = pa.types
    if types.is_integer(data_type) or types.is_floating(data_type) or types.is_decimal(data_type):
        return "number"
    if types.is_timestamp(data_type) and data_type.tz is not None:
        return "instant"
    if types.is_timestamp(data_type) or types.is_date(data_type):
        return "date"
    if types.is_string(data_type) or types.is_large_string(data_type) or types.is_string_view(data_type):
        return "string"
    if types.is_binary(data_type) or types.is_large_binary(data_type) or types.is_binary_view(data_type):
        return "binary"
    return str(data_type)
