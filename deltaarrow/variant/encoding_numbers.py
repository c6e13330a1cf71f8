"""Numbers of the Variant encoding: kinds of values and the contents of their header bytes.

Chapter "Value encoding" of Parquet's VariantEncoding.md. The lowest two bits of a header are the basic
type; the six above them are a `Primitive`, the length of a short string, or the widths of the numbers in
the head of an object or array.
"""

from enum import IntEnum

import pyarrow as pa

__all__ = [
    "DECIMAL_DIGITS",
    "EMPTY_METADATA",
    "FIXED_SIZES",
    "SHORT_STRING_LIMIT",
    "VARIANT_NULL",
    "VARIANT_TYPE",
    "Basic",
    "Primitive",
    "header",
    "width_of",
]


class Basic(IntEnum):
    """The basic type of a value."""

    PRIMITIVE = 0
    SHORT_STRING = 1
    OBJECT = 2
    ARRAY = 3


class Primitive(IntEnum):
    """The type of a primitive value."""

    NULL = 0
    TRUE = 1
    FALSE = 2
    INT8 = 3
    INT16 = 4
    INT32 = 5
    INT64 = 6
    DOUBLE = 7
    DECIMAL4 = 8
    DECIMAL8 = 9
    DECIMAL16 = 10
    DATE = 11
    TIMESTAMP = 12
    TIMESTAMP_NTZ = 13
    FLOAT = 14
    BINARY = 15
    STRING = 16
    TIME = 17
    TIMESTAMP_NANOS = 18
    TIMESTAMP_NTZ_NANOS = 19
    UUID = 20


FIXED_SIZES = {
    Primitive.NULL: 0,
    Primitive.TRUE: 0,
    Primitive.FALSE: 0,
    Primitive.INT8: 1,
    Primitive.INT16: 2,
    Primitive.INT32: 4,
    Primitive.INT64: 8,
    Primitive.DOUBLE: 8,
    Primitive.DECIMAL4: 5,
    Primitive.DECIMAL8: 9,
    Primitive.DECIMAL16: 17,
    Primitive.DATE: 4,
    Primitive.TIMESTAMP: 8,
    Primitive.TIMESTAMP_NTZ: 8,
    Primitive.FLOAT: 4,
    Primitive.TIME: 8,
    Primitive.TIMESTAMP_NANOS: 8,
    Primitive.TIMESTAMP_NTZ_NANOS: 8,
    Primitive.UUID: 16,
}
"""Bytes after the header, including a decimal's scale; strings and binaries store their size instead."""

DECIMAL_DIGITS = {Primitive.DECIMAL4: 9, Primitive.DECIMAL8: 18, Primitive.DECIMAL16: 38}
"""The most digits of a decimal of each width."""

SHORT_STRING_LIMIT = 64
"""Strings of fewer bytes have their length in the header."""

EMPTY_METADATA = b"\x01\x00\x00"
"""A dictionary without names."""

VARIANT_NULL = b"\x00"
"""The variant null, which differs from a missing value."""

VARIANT_TYPE = pa.struct([("metadata", pa.binary()), ("value", pa.binary())])
"""The Arrow type of a column of variants; a NULL variant is a NULL struct."""


def header(basic: Basic, bits: int) -> int:
    """The header byte of a basic type and the six bits above it."""
    return bits << 2 | basic


def width_of(number: int) -> int:
    """The bytes, at least one, of an unsigned number.

    >>> [width_of(number) for number in (0, 255, 256, 65536)]
    [1, 1, 2, 3]
    """
    return max(1, (number.bit_length() + 7) // 8)
