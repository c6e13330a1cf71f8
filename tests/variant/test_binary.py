"""Decoding of variant bytes, written down from Parquet's VariantEncoding.md."""

import datetime
import struct
import uuid
from decimal import Decimal

import pytest

from deltaarrow.errors import CorruptDataFileError
from deltaarrow.variant import EMPTY_METADATA, Moment, Primitive, parse, parse_metadata

METADATA = b"\x01\x02\x00\x01\x03abc"


def primitive(kind: int, content: bytes = b"") -> bytes:
    return bytes([kind << 2]) + content


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (primitive(0), None),
        (primitive(1), True),
        (primitive(2), False),
        (primitive(3, b"\xff"), -1),
        (primitive(4, b"\x00\x80"), -(2**15)),
        (primitive(5, b"\x01\x00\x00\x00"), 1),
        (primitive(6, b"\xff" * 7 + b"\x7f"), 2**63 - 1),
        (primitive(7, struct.pack("<d", 0.1)), 0.1),
        (primitive(8, b"\x02\x9c\xff\xff\xff"), Decimal("-1.00")),
        (primitive(9, b"\x00" + (10**17).to_bytes(8, "little")), Decimal(10**17)),
        (primitive(10, b"\x26" + (10**38 - 1).to_bytes(16, "little")), Decimal("0." + "9" * 38)),
        (primitive(11, b"\x01\x00\x00\x00"), datetime.date(1970, 1, 2)),
        (primitive(12, b"\x01" + bytes(7)), datetime.datetime(1970, 1, 1, 0, 0, 0, 1, tzinfo=datetime.UTC)),
        (primitive(13, b"\xff" * 8), datetime.datetime(1969, 12, 31, 23, 59, 59, 999999)),
        (primitive(14, struct.pack("<f", 0.5)), 0.5),
        (primitive(15, b"\x02\x00\x00\x00\x00\xff"), b"\x00\xff"),
        (primitive(16, b"\x02\x00\x00\x00\xc3\xa9"), "é"),
        (primitive(17, b"\x01" + bytes(7)), datetime.time(0, 0, 0, 1)),
        (primitive(18, b"\x01" + bytes(7)), Moment(Primitive.TIMESTAMP_NANOS, 1)),
        (primitive(19, b"\x01" + bytes(7)), Moment(Primitive.TIMESTAMP_NTZ_NANOS, 1)),
        (primitive(20, bytes(range(16))), uuid.UUID(bytes=bytes(range(16)))),
        (primitive(13, b"\xff" * 7 + b"\x7f"), Moment(Primitive.TIMESTAMP_NTZ, 2**63 - 1)),
        (b"\x09hi", "hi"),
        (b"\x03\x00\x00", []),
        (b"\x03\x02\x00\x01\x03\x00\x0c\x05", [None, 5]),
        (b"\x13\x01\x00\x00\x00\x00\x01\x00", [None]),
        (b"\x02\x00\x00", {}),
        # The fields in the order of their names, their values in the other one.
        (b"\x02\x02\x00\x01\x02\x00\x04\x0c\x02\x0c\x01", {"a": 1, "bc": 2}),
        # The same with numbers of four bytes.
        (
            b"\x7e" + struct.pack("<I2I3I", 2, 0, 1, 2, 0, 4) + b"\x0c\x02\x0c\x01",
            {"a": 1, "bc": 2},
        ),
    ],
)
def test_value(value, wanted):
    found = parse(METADATA, value)
    assert found == wanted
    assert type(found) is type(wanted)


@pytest.mark.parametrize(
    ("metadata", "names"),
    [
        (EMPTY_METADATA, ()),
        (METADATA, ("a", "bc")),
        (b"\x41\x01\x00\x00\x00\x02\x00hi", ("hi",)),
        (b"\xc1" + struct.pack("<I3I", 2, 0, 1, 1) + b"x", ("x", "")),
    ],
)
def test_metadata(metadata, names):
    assert parse_metadata(metadata) == names


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        (b"", "version 1"),
        (b"\x02\x00\x00", "version 1"),
        (b"\x01", "cut off"),
        (b"\x01\x05\x00", "cut off"),
        (b"\x01\x01\x00\x02a", "outside"),
        (b"\x01\x02\x00\x02\x01ab", "outside"),
        (b"\x01\x01\x00\x01\xff", "UTF-8"),
    ],
)
def test_broken_metadata_is_refused(metadata, reason):
    with pytest.raises(CorruptDataFileError, match=reason):
        parse_metadata(metadata)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"", "no bytes"),
        (primitive(21), "unknown type 21"),
        (primitive(6, bytes(7)), "cut off"),
        (primitive(16, b"\x05\x00\x00\x00abc"), "cut off"),
        (primitive(16, b"\x05"), "cut off"),
        (primitive(8, b"\x27" + bytes(4)), "too many digits"),
        (primitive(8, b"\x00" + (10**9).to_bytes(4, "little")), "too many digits"),
        (b"\x0dhi", "cut off"),
        (b"\x05\xff", "UTF-8"),
        (b"\x03", "cut off"),
        (b"\x03\x01\x00\x05\x00", "outside"),
        (b"\x03\x01\x01\x01\x00", "no bytes"),
        (b"\x02\x01\x07\x00\x01\x00", "does not name"),
        (b"\x02\x02\x00\x00\x00\x01\x02\x00\x00", "two fields"),
        (b"\x03\x01\x00\x04" * 3000 + b"\x00", "deeply|outside"),
    ],
)
def test_broken_value_is_refused(value, reason):
    with pytest.raises(CorruptDataFileError, match=reason):
        parse(METADATA, value)


def test_a_value_nested_too_deeply_is_refused():
    value = b"\x00"
    for _ in range(3000):
        value = b"\x0f\x01" + bytes(4) + len(value).to_bytes(4, "little") + value
    with pytest.raises(CorruptDataFileError, match="nested too deeply"):
        parse(METADATA, value)
