"""Partition values as Spark 4.2 with delta-spark 4.4 writes them into the log and folder names."""

import datetime as dt
from decimal import Decimal

import pytest

from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.partitions import (
    parse_partition_value,
    partition_folder,
    random_prefix,
    render_partition_value,
)
from deltaarrow.schema import PrimitiveType

HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"


def instant(*parts):
    return dt.datetime(*parts, tzinfo=dt.UTC)


WRITTEN = [
    ("double", float("-inf"), "-Infinity", "-Infinity"),
    ("double", float("inf"), "Infinity", "Infinity"),
    ("double", float("nan"), "NaN", "NaN"),
    ("double", 0.0, "0.0", "0.0"),
    ("double", -0.0, "-0.0", "-0.0"),
    ("double", 5e-324, "4.9E-324", "4.9E-324"),
    ("double", 9.99e-4, "9.99E-4", "9.99E-4"),
    ("double", 0.001, "0.001", "0.001"),
    ("double", 0.1, "0.1", "0.1"),
    ("double", 100.0, "100.0", "100.0"),
    ("double", 9999999.0, "9999999.0", "9999999.0"),
    ("double", 1e7, "1.0E7", "1.0E7"),
    ("double", 123456789.125, "1.23456789125E8", "1.23456789125E8"),
    ("double", 1e21, "1.0E21", "1.0E21"),
    ("double", 1.7976931348623157e308, "1.7976931348623157E308", "1.7976931348623157E308"),
    ("timestamp", instant(1, 1, 1), "0001-01-01T00:00:00.000000Z", "0001-01-01 00%3A00%3A00"),
    (
        "timestamp",
        instant(1969, 12, 31, 23, 59, 59, 999999),
        "1969-12-31T23:59:59.999999Z",
        "1969-12-31 23%3A59%3A59.999999",
    ),
    (
        "timestamp",
        instant(2026, 1, 1, 0, 0, 0, 500000),
        "2026-01-01T00:00:00.500000Z",
        "2026-01-01 00%3A00%3A00.5",
    ),
    (
        "timestamp",
        instant(9999, 12, 31, 23, 59, 59, 100000),
        "9999-12-31T23:59:59.100000Z",
        "9999-12-31 23%3A59%3A59.1",
    ),
    ("timestamp_ntz", dt.datetime(1, 1, 1), "0001-01-01 00:00:00", "0001-01-01 00%3A00%3A00"),
    (
        "timestamp_ntz",
        dt.datetime(2026, 1, 1, 0, 0, 0, 120000),
        "2026-01-01 00:00:00.12",
        "2026-01-01 00%3A00%3A00.12",
    ),
    ("date", dt.date(1, 1, 1), "0001-01-01", "0001-01-01"),
    ("date", dt.date(9999, 12, 31), "9999-12-31", "9999-12-31"),
    ("decimal(10,2)", Decimal("1.5"), "1.50", "1.50"),
    ("decimal(10,2)", Decimal("-0.01"), "-0.01", "-0.01"),
    ("decimal(10,2)", Decimal("-0"), "0.00", "0.00"),
    ("decimal(38,18)", Decimal("1E-18"), "0.000000000000000001", "0.000000000000000001"),
    ("decimal(38,18)", Decimal("1E-7"), "0.000000100000000000", "0.000000100000000000"),
    ("boolean", True, "true", "true"),
    ("boolean", False, "false", "false"),
    ("byte", -128, "-128", "-128"),
    ("long", 2**63 - 1, "9223372036854775807", "9223372036854775807"),
    ("string", "\t\n", "\t\n", "%09%0A"),
    ("string", " lead ", " lead ", " lead "),
    ("string", ".", ".", "."),
    ("string", "a b:/=%", "a b:/=%", "a b%3A%2F%3D%25"),
    ("string", "null", "null", "null"),
    ("string", "~!@#$^&*()[]{}|;<>?`", "~!@#$^&*()[]{}|;<>?`", "~!@%23$%5E&%2A()%5B%5D%7B}|;<>%3F`"),
    ("string", "\x7f\x80", "\x7f\x80", "%7F\x80"),
    ("string", "é€", "é€", "é€"),
    ("binary", "é".encode(), "é", "é"),
    ("string", "", None, HIVE_NULL),
    ("binary", b"", None, HIVE_NULL),
    ("string", None, None, HIVE_NULL),
    ("long", None, None, HIVE_NULL),
    ("timestamp", None, None, HIVE_NULL),
]


@pytest.mark.parametrize(("name", "value", "text", "folder"), WRITTEN)
def test_written_as_spark_writes(name, value, text, folder):
    data_type = PrimitiveType(name)
    assert render_partition_value(value, data_type) == text
    assert partition_folder({"p": value}, {"p": data_type}) == f"p={folder}"


def test_the_name_that_stands_for_null_in_folders_is_a_value_like_others():
    # Spark loses it: there the log says NULL.
    assert render_partition_value(HIVE_NULL, PrimitiveType("string")) == HIVE_NULL
    assert parse_partition_value(HIVE_NULL, PrimitiveType("string")) == HIVE_NULL


def test_folders_nest_in_the_given_order_and_escape_column_names():
    types = {"b:c": PrimitiveType("date"), "a": PrimitiveType("boolean")}
    assert (
        partition_folder({"b:c": dt.date(2026, 1, 1), "a": None}, types) == f"b%3Ac=2026-01-01/a={HIVE_NULL}"
    )


def test_random_prefixes_are_letters_and_digits():
    assert len(random_prefix()) == 2
    assert random_prefix(200).isalnum()
    assert random_prefix(200).isascii()
    assert random_prefix(20) != random_prefix(20)


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("binary", b"\xff", UnsupportedFeatureError),
        ("variant", b"", UnsupportedFeatureError),
        ("long", True, TypeError),
        ("long", "1", TypeError),
        ("byte", 128, ValueError),
        ("boolean", 1, TypeError),
        ("double", 1, TypeError),
        ("string", b"a", TypeError),
        ("date", dt.datetime(2026, 1, 1), TypeError),
        ("timestamp", dt.datetime(2026, 1, 1), TypeError),
        ("timestamp_ntz", instant(2026, 1, 1), TypeError),
        ("decimal(3,1)", 1.5, TypeError),
        ("decimal(3,1)", Decimal("1.55"), ValueError),
        ("decimal(3,1)", Decimal("100"), ValueError),
        ("decimal(3,1)", Decimal("NaN"), ValueError),
    ],
)
def test_what_is_no_value_of_the_type_is_not_written(name, value, error):
    with pytest.raises(error):
        render_partition_value(value, PrimitiveType(name))


def test_any_time_zone_is_written_in_utc():
    tokyo = dt.timezone(dt.timedelta(hours=9))
    value = dt.datetime(2026, 1, 1, 8, tzinfo=tokyo)
    types = {"p": PrimitiveType("timestamp")}
    assert render_partition_value(value, types["p"]) == "2025-12-31T23:00:00.000000Z"
    assert partition_folder({"p": value}, types) == "p=2025-12-31 23%3A00%3A00"
