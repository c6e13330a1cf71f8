"""Partition value texts that Spark 4.2 with delta-spark 4.4 reads, and the values it reads from them."""

import datetime as dt
import math
from decimal import Decimal

import pyarrow as pa
import pytest

from deltaarrow.errors import CorruptLogError, UnsupportedFeatureError
from deltaarrow.partitions import parse_partition_value, parse_partition_values
from deltaarrow.schema import PrimitiveType, to_arrow_type


def instant(*parts):
    return dt.datetime(*parts, tzinfo=dt.UTC)


READ = [
    *(("boolean", text, True) for text in ("true", "TRUE", "t", "1", "yes", " true", "Y")),
    *(("boolean", text, False) for text in ("false", "F", "0", "no", "n")),
    *(("integer", text, 5) for text in ("5", "+5", " 5 ", "5.0", "5.", "05")),
    ("integer", "-0", 0),
    ("byte", "-128", -128),
    ("date", "2021-9-8", dt.date(2021, 9, 8)),
    ("date", "2021", dt.date(2021, 1, 1)),
    ("date", "2021-09", dt.date(2021, 9, 1)),
    ("date", "2021-09-08T10", dt.date(2021, 9, 8)),
    ("date", " 2021-09-08 10:00:00 ", dt.date(2021, 9, 8)),
    ("date", "+2021-01-01", dt.date(2021, 1, 1)),
    ("timestamp", "2021-09-08T11:11:11.123456Z", instant(2021, 9, 8, 11, 11, 11, 123456)),
    ("timestamp", "2021-09-08T11:11:11.123456000Z", instant(2021, 9, 8, 11, 11, 11, 123456)),
    ("timestamp", "2021-09-08T11:11:11.1Z", instant(2021, 9, 8, 11, 11, 11, 100000)),
    ("timestamp", "2021-09-08 11:11:11.123456 UTC", instant(2021, 9, 8, 11, 11, 11, 123456)),
    ("timestamp", "2021-09-08T11:11:11", instant(2021, 9, 8, 11, 11, 11)),
    ("timestamp", "2021-09-08 11:11", instant(2021, 9, 8, 11, 11)),
    ("timestamp", "2021-9-8 1:2:3", instant(2021, 9, 8, 1, 2, 3)),
    ("timestamp", "2021-09-08", instant(2021, 9, 8)),
    ("timestamp", "2021-09-08 11:11:11+02:00", instant(2021, 9, 8, 9, 11, 11)),
    ("timestamp", "2021-09-08 11:11:11-0330", instant(2021, 9, 8, 14, 41, 11)),
    ("timestamp", "2021-09-08 11:11:11 Europe/Berlin", instant(2021, 9, 8, 9, 11, 11)),
    ("timestamp_ntz", "2021-11-18 02:30:00.123456", dt.datetime(2021, 11, 18, 2, 30, 0, 123456)),
    ("timestamp_ntz", "2021-09-08T11:11:11.5", dt.datetime(2021, 9, 8, 11, 11, 11, 500000)),
    ("timestamp_ntz", "2021-09-08", dt.datetime(2021, 9, 8)),
    ("timestamp_ntz", "2021-09-08 11:11:11.5Z", dt.datetime(2021, 9, 8, 11, 11, 11, 500000)),
    ("timestamp_ntz", "2021-09-08 11:11:11+02:00", dt.datetime(2021, 9, 8, 11, 11, 11)),
    ("double", "1", 1.0),
    ("double", "1e3", 1000.0),
    ("double", "1d", 1.0),
    ("double", " 1.5 ", 1.5),
    *(("double", text, math.inf) for text in ("Infinity", "+Infinity", "inf")),
    ("double", "-inf", -math.inf),
    ("float", "16777217", 16777216.0),
    ("decimal(5,2)", "1", Decimal("1.00")),
    ("decimal(5,2)", "1.500", Decimal("1.50")),
    ("decimal(5,2)", "1e2", Decimal("100.00")),
    ("decimal(5,2)", " +1.5 ", Decimal("1.50")),
    ("decimal(12,5)", "-2342342.23423", Decimal("-2342342.23423")),
    ("decimal(2,2)", "0.25", Decimal("0.25")),
    ("string", "", ""),
    ("string", " a ", " a "),
    ("binary", "é", "é".encode()),
    ("binary", "", b""),
    *((name, "", None) for name in ("boolean", "integer", "date", "timestamp", "double", "decimal(5,2)")),
    *(
        (name, None, None)
        for name in ("string", "binary", "boolean", "integer", "date", "timestamp", "decimal(5,2)")
    ),
]


@pytest.mark.parametrize(("name", "text", "value"), READ)
def test_read_as_spark_reads(name, text, value):
    parsed = parse_partition_value(text, PrimitiveType(name))
    assert parsed == value
    assert type(parsed) is type(value)
    array = parse_partition_values(pa.array([None, text, text], pa.string()), PrimitiveType(name))
    array.validate(full=True)
    assert array.type == to_arrow_type(PrimitiveType(name))
    assert array.to_pylist() == [None, value, value]


def test_nan():
    assert math.isnan(parse_partition_value("NaN", PrimitiveType("double")))
    assert math.isnan(parse_partition_value("nan", PrimitiveType("float")))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("boolean", "x"),
        ("integer", "1e2"),
        ("integer", "x"),
        ("integer", "2147483648"),
        ("integer", "٥"),
        ("byte", "128"),
        ("long", "0x10"),
        ("long", "9" * 5000),
        ("date", "epoch"),
        ("date", "2021-02-30"),
        ("date", "2021-1-1x"),
        ("timestamp", "x"),
        ("timestamp", "2021-09-08 25:00:00"),
        ("timestamp", "2021-09-08 11:11:11 Nowhere/Land"),
        ("timestamp", "2021-09-08 11:11:11 ../../etc/passwd"),
        ("timestamp", "2021-09-08 11:11:11+99:00"),
        ("timestamp_ntz", "2021-09-08 11:11:11 x"),
        ("double", "x"),
        ("double", "1_0"),
        ("decimal(5,2)", "1234.5"),
        ("decimal(5,2)", "x"),
        ("decimal(5,2)", "NaN"),
        ("decimal(5,2)", "1e999999999"),
        ("long", " "),
        # Spark rounds these; the value that was written is none of the type.
        ("integer", "5.7"),
        ("decimal(5,2)", "1.005"),
        ("decimal(5,2)", "1e-999999999"),
        ("timestamp", "2021-09-08T11:11:11.123456789Z"),
        ("float", "1e39"),
        ("double", "1e400"),
    ],
)
def test_other_texts_are_a_corrupt_log_and_never_null(name, text):
    with pytest.raises(CorruptLogError, match="column 'p'"):
        parse_partition_value(text, PrimitiveType(name), "p")
    with pytest.raises(CorruptLogError, match="column 'p'"):
        parse_partition_values(pa.array([None, text]), PrimitiveType(name), "p")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("date", "12021-01-01"),
        ("date", "-0001-01-01"),
        ("timestamp", "+12021-01-01T00:00:00Z"),
        ("timestamp", "0001-01-01 00:00:00+01:00"),
        ("variant", "1"),
        ("void", "1"),
    ],
)
def test_what_this_release_cannot_hold_is_refused(name, text):
    with pytest.raises(UnsupportedFeatureError):
        parse_partition_value(text, PrimitiveType(name))


def test_chunks_and_empty_columns():
    texts = pa.chunked_array([["1"], [None, "2"]])
    assert parse_partition_values(texts, PrimitiveType("long")).to_pylist() == [1, None, 2]
    for name in ("long", "boolean", "decimal(5,2)", "timestamp", "string"):
        empty = parse_partition_values(pa.array([], pa.string()), PrimitiveType(name))
        assert empty.type == to_arrow_type(PrimitiveType(name))
        assert len(empty) == 0
