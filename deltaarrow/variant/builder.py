"""Encoding of one variant from Python to bytes: Parquet's VariantEncoding.md.

The inverse of `deltaarrow.variant.binary`. Numbers take the narrowest type that holds them. The dictionary
has the names of all objects once, sorted, and the fields of an object are sorted by name.
"""

import datetime
import struct
import uuid
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from deltaarrow.errors import SchemaMismatchError
from deltaarrow.variant.binary import Moment
from deltaarrow.variant.encoding_numbers import (
    DECIMAL_DIGITS,
    FIXED_SIZES,
    SHORT_STRING_LIMIT,
    VARIANT_NULL,
    VARIANT_TYPE,
    Basic,
    Primitive,
    header,
    width_of,
)

__all__ = ["Variant", "build", "encode", "variant_array"]

_INTEGERS = (Primitive.INT8, Primitive.INT16, Primitive.INT32, Primitive.INT64)
_EPOCH = datetime.datetime(1970, 1, 1)
_MICROSECOND = datetime.timedelta(microseconds=1)


class Variant(NamedTuple):
    """The two halves of a variant."""

    metadata: bytes
    value: bytes


def build(value: object) -> Variant:
    r"""The variant of a Python value; see `deltaarrow.variant.binary` for the types.

    An int beyond 64 bits becomes a decimal, a `numpy.float32` a float, any other float a double.

    Raises:
        SchemaMismatchError: no variant type holds the value.
        TypeError: the value, or a nested one, has an unsupported type, or an object has a key that is no
            text.
    >>> build({"b": [1, "x"], "a": None}).metadata
    b'\x11\x02\x00\x01\x02ab'
    """
    names = sorted(_names(value), key=str.encode)
    return Variant(_metadata(names), encode(value, {name: i for i, name in enumerate(names)}))


def variant_array(values: Iterable[object]) -> pa.StructArray:
    """A column of variants from Python values; None becomes NULL, a nested None the variant null.

    >>> variant_array([1, None]).is_null().to_pylist()
    [False, True]
    """
    rows = [None if value is None else build(value)._asdict() for value in values]
    return pa.array(rows, VARIANT_TYPE)


def _names(value: object) -> set[str]:
    if isinstance(value, Mapping):
        for name in value:
            if not isinstance(name, str):
                raise TypeError(f"the name of a variant's field must be text, not {name!r}")
        return set(value).union(*map(_names, value.values()))
    if isinstance(value, list | tuple):
        return set().union(*map(_names, value))
    return set()


def _metadata(names: list[str]) -> bytes:
    texts = [name.encode() for name in names]
    width = width_of(max(len(names), sum(map(len, texts))))
    sorted_strings = 0x10
    head = bytes([1 | sorted_strings | width - 1 << 6])
    return head + len(names).to_bytes(width, "little") + _offsets(texts, width) + b"".join(texts)


def _offsets(parts: list[bytes], width: int) -> bytes:
    total, numbers = 0, [b"\0" * width]
    for part in parts:
        total += len(part)
        numbers.append(total.to_bytes(width, "little"))
    return b"".join(numbers)


def encode(value: Any, ids: Mapping[str, int]) -> bytes:
    """The value bytes of a Python value, with a dictionary that has the ids of all its names."""
    if isinstance(value, Mapping):
        fields = sorted(value.items(), key=lambda field: field[0].encode())
        return _container([ids[name] for name, _ in fields], [encode(each, ids) for _, each in fields])
    if isinstance(value, list | tuple):
        return _container(None, [encode(each, ids) for each in value])
    return _primitive(value)


def _container(ids: list[int] | None, parts: list[bytes]) -> bytes:
    width = width_of(sum(map(len, parts)))
    large = len(parts) > 255
    if ids is None:
        head, numbers = header(Basic.ARRAY, large << 2 | width - 1), b""
    else:
        id_width = width_of(max(ids, default=0))
        head = header(Basic.OBJECT, large << 4 | id_width - 1 << 2 | width - 1)
        numbers = b"".join(each.to_bytes(id_width, "little") for each in ids)
    count = len(parts).to_bytes(4 if large else 1, "little")
    return bytes([head]) + count + numbers + _offsets(parts, width) + b"".join(parts)


def _primitive(value: Any) -> bytes:
    if value is None:
        return VARIANT_NULL
    if isinstance(value, bool | np.bool_):
        return _tagged(Primitive.TRUE if value else Primitive.FALSE)
    if isinstance(value, int | np.integer):
        return _integer(int(value))
    if isinstance(value, np.float32):
        return _tagged(Primitive.FLOAT, struct.pack("<f", value))
    if isinstance(value, float):
        return _tagged(Primitive.DOUBLE, struct.pack("<d", value))
    if isinstance(value, Decimal):
        return _decimal(value)
    if isinstance(value, str):
        text = value.encode()
        if len(text) < SHORT_STRING_LIMIT:
            return bytes([header(Basic.SHORT_STRING, len(text))]) + text
        return _tagged(Primitive.STRING, len(text).to_bytes(4, "little") + text)
    if isinstance(value, bytes):
        return _tagged(Primitive.BINARY, len(value).to_bytes(4, "little") + value)
    if isinstance(value, uuid.UUID):
        return _tagged(Primitive.UUID, value.bytes)
    moment = value if isinstance(value, Moment) else _moment(value)
    return _tagged(moment.kind, moment.count.to_bytes(FIXED_SIZES[moment.kind], "little", signed=True))


def _tagged(kind: Primitive, content: bytes = b"") -> bytes:
    return bytes([header(Basic.PRIMITIVE, kind)]) + content


def _integer(value: int) -> bytes:
    for kind in _INTEGERS:
        size = FIXED_SIZES[kind]
        if -(1 << 8 * size - 1) <= value < 1 << 8 * size - 1:
            return _tagged(kind, value.to_bytes(size, "little", signed=True))
    return _decimal(Decimal(value))


def _decimal(value: Decimal) -> bytes:
    sign, digits, exponent = value.as_tuple()
    if isinstance(exponent, str):
        raise SchemaMismatchError(f"a variant cannot hold the decimal {value}")
    unscaled = int("".join(map(str, digits))) * 10 ** max(0, exponent)
    scale = max(0, -exponent)
    for kind, most in DECIMAL_DIGITS.items():
        if unscaled < 10**most and scale <= most:
            number = (-unscaled if sign else unscaled).to_bytes(FIXED_SIZES[kind] - 1, "little", signed=True)
            return _tagged(kind, bytes([scale]) + number)
    raise SchemaMismatchError(f"a variant cannot hold {value}: a decimal has 38 digits at most")


def _moment(value: object) -> Moment:
    if isinstance(value, datetime.datetime):
        if value.utcoffset() is None:
            return Moment(Primitive.TIMESTAMP_NTZ, (value.replace(tzinfo=None) - _EPOCH) // _MICROSECOND)
        naive = value.astimezone(datetime.UTC).replace(tzinfo=None)
        return Moment(Primitive.TIMESTAMP, (naive - _EPOCH) // _MICROSECOND)
    if isinstance(value, datetime.date):
        return Moment(Primitive.DATE, value.toordinal() - _EPOCH.toordinal())
    if isinstance(value, datetime.time) and value.tzinfo is None:
        since_midnight = datetime.datetime.combine(_EPOCH, value) - _EPOCH
        return Moment(Primitive.TIME, since_midnight // _MICROSECOND)
    raise TypeError(f"a variant cannot hold a {type(value).__name__}")
