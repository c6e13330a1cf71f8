"""Filters on struct fields skip files, whichever reader reads the rest."""

import datetime as dt

import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

from deltaarrow.engines.polars.lazy_frame import scan_delta
from tests.support.tables import TableBuilder

INNER = pa.struct([("c", pa.string()), ("d", pa.date32())])
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("s", pa.struct([("a", pa.int64()), ("b", INNER), ("at", pa.timestamp("us", "UTC"))])),
    ]
)
A, B = pl.col("s").struct.field("a"), pl.col("s").struct.field("b").struct
moment = pl.col("s").struct.field("at")


def value(number):
    day = dt.date(2026, 1, 1 + number)
    at = dt.datetime(2026, 1, 1 + number, microsecond=1, tzinfo=dt.UTC)
    return {"a": number, "b": {"c": f"c{number}", "d": day}, "at": at}


@pytest.fixture(params=["native", "arrow"])
def table(request, tmp_path):
    """Version 1 adds a file that is absent."""
    features = ["deletionVectors"] if request.param == "native" else ["variantType"]
    builder = TableBuilder(tmp_path).features(*features).metadata(SCHEMA)
    rows = pa.Table.from_pylist([{"id": n, "s": value(n) if n else None} for n in range(4)], SCHEMA)
    builder.commit([builder.add_file(rows)])
    bounds = {"a": 10, "b": {"c": "x", "d": "2026-02-01"}, "at": "2026-02-01T00:00:00.000Z"}
    nulls = {"id": 0, "s": {"a": 0, "b": {"c": 0, "d": 0}, "at": 0}}
    extremes = {"minValues": {"s": bounds}, "maxValues": {"s": bounds}}
    builder.commit([builder.add_file(1, stats={"numRecords": 1, "nullCount": nulls, **extremes})])
    return builder


@pytest.mark.parametrize(
    "condition",
    [
        A > 10,
        A == -1,
        A.is_in([1, 2]),
        (A >= 1) & (A <= 3),
        ~(A >= 2),
        B.field("c") == "c2",
        B.field("c").str.starts_with("c"),
        B.field("d") < dt.date(2026, 1, 3),
        B.field("d").is_in([dt.date(2026, 1, 3)]),
        moment > dt.datetime(2026, 3, 1, tzinfo=dt.UTC),
        moment < dt.datetime(2026, 1, 3, tzinfo=dt.UTC),
        (A < 5) & (pl.col("id") >= 0),
        (A < 2) | (B.field("c") == "c3"),
    ],
    ids=range(13),
)
def test_a_file_that_cannot_match_is_not_opened(table, condition):
    whole = scan_delta(table.path, version=0).collect()
    assert_frame_equal(scan_delta(table.path).filter(condition).collect(), whole.filter(condition))


@pytest.mark.parametrize("condition", [A >= 10, A.is_null(), B.field("c") == "it's", A + 1 > 5])
def test_a_file_that_may_match_is_opened(table, condition):
    with pytest.raises(Exception, match=r"part-00000-.*(not in storage|No such file)|No such file"):
        scan_delta(table.path).filter(condition).collect()
