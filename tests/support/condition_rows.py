"""A table of odd values, and Spark SQL conditions on it with the rows that Spark finds."""

import datetime as dt
import math
from decimal import Decimal
from pathlib import Path

import pyarrow as pa

import deltaarrow as da

__all__ = ["ROWS", "partitioned_table", "plain_table"]

NAN, INF = math.nan, math.inf
UTC = dt.UTC
NOON = dt.datetime(2020, 1, 31, 12)
FIRST, LAST = dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999999)
DAY, FIRST_DAY, LAST_DAY = dt.date(2020, 1, 31), dt.date(1, 1, 1), dt.date(9999, 12, 31)
MUCH = 2**53
SCHEMA = pa.schema(
    {
        "id": pa.int32(),
        "d": pa.float64(),
        "e": pa.float64(),
        "f": pa.float32(),
        "i": pa.int32(),
        "l": pa.int64(),
        "m": pa.decimal128(12, 2),
        "n": pa.string(),
        "s": pa.string(),
        "ok": pa.bool_(),
        "ts": pa.timestamp("us", "UTC"),
        "ntz": pa.timestamp("us"),
        "day": pa.date32(),
        "st": pa.struct({"a": pa.int32(), "b": pa.string(), "x": pa.float64()}),
        "x": pa.binary(),
        "p": pa.string(),
        "q": pa.float64(),
        "r": pa.date32(),
    }
)


def _row(*values):
    return dict(zip(SCHEMA.names, values, strict=True))


def _struct(a, b, x):
    return {"a": a, "b": b, "x": x}


def _decimal(text):
    return Decimal(text)


ROWS = pa.Table.from_pylist(
    [
        _row(
            1, 1.0, NAN, 1.5, 1, 1, _decimal("1.50"), "a", "10", True, NOON.replace(tzinfo=UTC), NOON, DAY,
            _struct(1, "x", 1.0), b"a", "a", 0.0, DAY,
        ),
        _row(
            2, NAN, NAN, NAN, 2, MUCH, _decimal("-1.00"), "b", "1", False, FIRST.replace(tzinfo=UTC), FIRST,
            FIRST_DAY, _struct(None, "", NAN), b"", "1", -0.0, FIRST_DAY,
        ),
        _row(
            3, 3.0, 1.0, 0.1, 0, MUCH + 1, _decimal("1.00"), "", "2", None, LAST.replace(tzinfo=UTC), LAST,
            LAST_DAY, _struct(2, None, 3.0), b"\x00", "10", 1.5, LAST_DAY,
        ),
        _row(
            4, -0.0, 0.0, -0.0, -1, -MUCH - 1, _decimal("0.00"), "axb", "-3", True,
            NOON.replace(tzinfo=UTC) + dt.timedelta(microseconds=1), NOON, DAY + dt.timedelta(1), None, None,
            "a", NAN, None,
        ),
        _row(*([5] + [None] * (len(SCHEMA) - 1))),
        _row(
            6, INF, -INF, INF, 2**31 - 1, 2**63 - 1, _decimal("9999999999.99"), "50%", "0", False,
            dt.datetime(1969, 12, 31, 23, 59, 59, 999999, UTC), dt.datetime(1969, 12, 31), DAY,
            _struct(1, "", None), b"\xff", None, None, DAY,
        ),
        _row(
            7, -INF, INF, -INF, -(2**31), -(2**63), _decimal("-9999999999.99"), "É", "9", True,
            dt.datetime(2020, 2, 1, tzinfo=UTC), dt.datetime(2020, 2, 1), dt.date(1969, 12, 31),
            _struct(0, "xy", 0.5), b"aa", "1", 0.0, dt.date(1969, 12, 31),
        ),
        _row(
            8, 0.0, -0.0, 2.5, 3, 3, _decimal("2.55"), " b ", " 7 ", None,
            dt.datetime(2020, 1, 31, tzinfo=UTC), dt.datetime(2020, 1, 31, 13), DAY,
            _struct(-1, "b", INF), b"b", "z", -1.5, DAY,
        ),
    ],
    schema=SCHEMA,
)  # fmt: skip


def plain_table(folder: str | Path) -> da.DeltaTable:
    """The rows in two files, with a change data feed."""
    for half in (ROWS.slice(0, 4), ROWS.slice(4)):
        configuration = {"delta.enableChangeDataFeed": "true"}
        da.write_deltalake(folder, half, mode="append", configuration=configuration)
    return da.DeltaTable(folder)


def partitioned_table(folder: str | Path) -> da.DeltaTable:
    """The rows in as many partitions."""
    da.write_deltalake(folder, ROWS, partition_by=["p", "q", "r"])
    return da.DeltaTable(folder)
