"""Decoding of one variant from bytes to Python: Parquet's VariantEncoding.md.

Everything is checked: no number, name or value may reach beyond the bytes that contain it.

====================================  ==============================================================
variant                               Python
====================================  ==============================================================
null, boolean, string, binary, uuid   None, bool, str, bytes, `uuid.UUID`
int8 .. int64                         int
float, double                         float
decimal4 .. decimal16                 `decimal.Decimal` of the scale that is stored
date, time                            `datetime.date`, `datetime.time`
timestamp, timestamp without zone     `datetime.datetime`, in UTC or naive
the same in nanoseconds               `Moment`, like any date or time that `datetime` cannot hold
array, object                         list, dict in the order of the names
====================================  ==============================================================
"""

import datetime
import struct
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import lru_cache
from itertools import pairwise
from typing import Any, TypeVar

from deltaarrow.errors import CorruptDataFileError
from deltaarrow.variant.encoding_numbers import DECIMAL_DIGITS, FIXED_SIZES, Basic, Primitive

__all__ = ["Moment", "parse", "parse_metadata", "python_value", "split", "visit"]

_T = TypeVar("_T")

_EPOCH = datetime.datetime(1970, 1, 1)
_EPOCH_UTC = _EPOCH.replace(tzinfo=datetime.UTC)
_DAY_MICROS = 86_400_000_000
_EXACT = Context(prec=60)
_SIGNED = {
    Primitive.INT8,
    Primitive.INT16,
    Primitive.INT32,
    Primitive.INT64,
    Primitive.DATE,
    Primitive.TIMESTAMP,
    Primitive.TIMESTAMP_NTZ,
    Primitive.TIME,
    Primitive.TIMESTAMP_NANOS,
    Primitive.TIMESTAMP_NTZ_NANOS,
}


@dataclass(frozen=True, order=True)
class Moment:
    """A date or time that Python's `datetime` cannot hold, as its kind and the stored number.

    `count` is in days for a date, otherwise in microseconds or, for the nanosecond kinds, nanoseconds. It
    counts from 1970-01-01, for a time from midnight.
    """

    kind: Primitive
    count: int


def parse(metadata: bytes, value: bytes) -> Any:
    r"""The Python value of a variant.

    Raises:
        CorruptDataFileError: the bytes are not a variant.

    >>> parse(b"\x01\x01\x00\x01a", b"\x02\x01\x00\x00\x02\x0c\x07")
    {'a': 7}
    """
    return visit(metadata, value, python_value, list, dict)


def visit(
    metadata: bytes,
    value: bytes,
    leaf: Callable[[Primitive, Any], _T],
    array: Callable[[list[_T]], _T],
    mapping: Callable[[list[tuple[str, _T]]], _T],
) -> _T:
    """Build a value from the parts of a variant, innermost first.

    Args:
        metadata: the dictionary of names.
        value: the value.
        leaf: called with the kind of a primitive and its plain content: a number for dates and times,
            otherwise a `Decimal`, `UUID`, str or bytes.
        array: called with the results for the elements.
        mapping: called with the names of an object and the results for its fields, in stored order.

    Raises:
        CorruptDataFileError: the bytes are not a variant.
    """
    try:
        made: _T = _visit(parse_metadata(metadata), value, 0, len(value), (leaf, array, mapping))
    except RecursionError as error:
        raise CorruptDataFileError("a variant is nested too deeply to read") from error
    return made


def split(data: bytes) -> tuple[bytes, bytes]:
    r"""Split metadata and value that are stored one after the other.

    Raises:
        CorruptDataFileError: the bytes do not begin with a dictionary.

    >>> split(b"\x01\x01\x00\x01a" + b"\x02\x01\x00\x00\x02\x0c\x07")
    (b'\x01\x01\x00\x01a', b'\x02\x01\x00\x00\x02\x0c\x07')
    """
    width = (data[0] >> 6) + 1 if data else 1
    names_at = 1 + width * (_unsigned(data, 1, width, len(data)) + 2)
    end = names_at + _unsigned(data, names_at - width, width, len(data))
    if end > len(data):
        raise CorruptDataFileError("the metadata of a variant is cut off")
    return data[:end], data[end:]


@lru_cache(maxsize=1024)
def parse_metadata(metadata: bytes) -> tuple[str, ...]:
    """The names in a dictionary, by id.

    Raises:
        CorruptDataFileError: the bytes are not a dictionary of version 1.
    """
    if not metadata or metadata[0] & 0xF != 1:
        raise CorruptDataFileError("the metadata of a variant is not of version 1")
    width = (metadata[0] >> 6) + 1
    count = _unsigned(metadata, 1, width, len(metadata))
    start = 1 + width * (count + 2)
    if start > len(metadata):
        raise CorruptDataFileError("the metadata of a variant is cut off")
    offsets = [_unsigned(metadata, at, width, start) for at in range(1 + width, start, width)]
    if sorted(offsets) != offsets or start + offsets[-1] > len(metadata):
        raise CorruptDataFileError("the metadata of a variant has names outside of it")
    return tuple(_text(metadata[start + low : start + high]) for low, high in pairwise(offsets))


def _visit(names: tuple[str, ...], value: bytes, at: int, end: int, makers: tuple[Any, ...]) -> Any:
    if at >= end:
        raise CorruptDataFileError("a variant has a value of no bytes")
    leaf, array, mapping = makers
    bits, basic = value[at] >> 2, value[at] & 3
    at += 1
    if basic == Basic.SHORT_STRING:
        return leaf(Primitive.STRING, _text(_cut(value, at, bits, end)))
    if basic == Basic.PRIMITIVE:
        return leaf(*_primitive(bits, value, at, end))
    is_object = basic == Basic.OBJECT
    offset_width = (bits & 3) + 1
    id_width = (bits >> 2 & 3) + 1 if is_object else 0
    count_width = 4 if bits >> (4 if is_object else 2) & 1 else 1
    count = _unsigned(value, at, count_width, end)
    ids_at = at + count_width
    offsets_at = ids_at + count * id_width
    start = offsets_at + (count + 1) * offset_width
    last = start + _unsigned(value, start - offset_width, offset_width, end)
    if last > end:
        raise CorruptDataFileError("a variant has elements outside of it")
    made = [
        _visit(names, value, start + _unsigned(value, place, offset_width, end), last, makers)
        for place in range(offsets_at, start - offset_width, offset_width)
    ]
    if not is_object:
        return array(made)
    ids = [_unsigned(value, place, id_width, end) for place in range(ids_at, offsets_at, id_width)]
    if ids and max(ids) >= len(names):
        raise CorruptDataFileError("an object in a variant has a field that its metadata does not name")
    keys = [names[each] for each in ids]
    if len(set(keys)) < len(keys):
        raise CorruptDataFileError("an object in a variant has two fields of one name")
    return mapping(list(zip(keys, made, strict=True)))


def _primitive(number: int, value: bytes, at: int, end: int) -> tuple[Primitive, Any]:
    try:
        kind = Primitive(number)
    except ValueError as error:
        raise CorruptDataFileError(f"a variant holds a primitive of the unknown type {number}") from error
    if kind in (Primitive.STRING, Primitive.BINARY):
        content = _cut(value, at + 4, _unsigned(value, at, 4, end), end)
        return kind, _text(content) if kind == Primitive.STRING else content
    raw = _cut(value, at, FIXED_SIZES[kind], end)
    if kind in _SIGNED:
        return kind, int.from_bytes(raw, "little", signed=True)
    if kind in DECIMAL_DIGITS:
        return kind, _decimal(kind, raw)
    if kind == Primitive.DOUBLE:
        return kind, struct.unpack("<d", raw)[0]
    if kind == Primitive.FLOAT:
        return kind, struct.unpack("<f", raw)[0]
    if kind == Primitive.UUID:
        return kind, uuid.UUID(bytes=raw)
    return kind, None if kind == Primitive.NULL else kind == Primitive.TRUE


def _decimal(kind: Primitive, raw: bytes) -> Decimal:
    scale, unscaled = raw[0], int.from_bytes(raw[1:], "little", signed=True)
    if scale > 38 or abs(unscaled) >= 10 ** DECIMAL_DIGITS[kind]:
        raise CorruptDataFileError("a decimal in a variant has too many digits")
    return Decimal(unscaled).scaleb(-scale, _EXACT)


def python_value(kind: Primitive, content: Any) -> Any:
    """The Python value of a primitive, of which `visit` gives the plain content."""
    try:
        if kind == Primitive.DATE:
            return (_EPOCH + datetime.timedelta(days=content)).date()
        if kind == Primitive.TIMESTAMP:
            return _EPOCH_UTC + datetime.timedelta(microseconds=content)
        if kind == Primitive.TIMESTAMP_NTZ:
            return _EPOCH + datetime.timedelta(microseconds=content)
    except OverflowError:
        return Moment(kind, content)
    if kind == Primitive.TIME and 0 <= content < _DAY_MICROS:
        return (_EPOCH + datetime.timedelta(microseconds=content)).time()
    if kind in (Primitive.TIME, Primitive.TIMESTAMP_NANOS, Primitive.TIMESTAMP_NTZ_NANOS):
        return Moment(kind, content)
    return content


def _unsigned(data: bytes, at: int, width: int, end: int) -> int:
    if at + width > end:
        raise CorruptDataFileError("a variant is cut off")
    return int.from_bytes(data[at : at + width], "little")


def _cut(data: bytes, at: int, size: int, end: int) -> bytes:
    if at + size > end:
        raise CorruptDataFileError("a variant is cut off")
    return data[at : at + size]


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise CorruptDataFileError("a variant holds text that is not UTF-8") from error
