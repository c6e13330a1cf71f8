"""JSON statistics as typed columns."""

import datetime as dt
import math
from decimal import Decimal

import pyarrow as pa

from deltaarrow.schema import ArrayType, Field, Schema, StructType
from deltaarrow.statistics import parse_statistics, statistics_schema

SCHEMA = Schema(
    [
        Field("a", "integer"),
        Field("d", "double"),
        Field("c", "decimal(38,2)"),
        Field("s", "string"),
        Field("day", "date"),
        Field("ts", "timestamp"),
        Field("ntz", "timestamp_ntz"),
        Field("b", "boolean"),
        Field("odd \".'", StructType([Field("n", "long"), Field("list", ArrayType("long"))])),
        Field("p", "long"),
    ]
)
FULL = (
    '{"numRecords":3,"tightBounds":false,"minValues":{"a":-1,"d":"-Infinity","c":12345678901234567890.12,'
    '"s":"\\u00e9\'","day":"2020-01-31","ts":"2020-01-31T00:00:00.001+01:00","ntz":"2020-01-31T00:00:00.001",'
    '"odd \\".\'":{"n":7}},"maxValues":{"d":"NaN"},"nullCount":{"a":0,"b":1,"odd \\".\'":{"n":2,"list":3}}}'
)


def test_every_type():
    table = parse_statistics(pa.array([FULL]), SCHEMA, partition_columns=["p"])
    assert table.schema == statistics_schema(SCHEMA, partition_columns=["p"])
    row = table.to_pylist()[0]
    assert (row["numRecords"], row["tightBounds"]) == (3, False)
    assert row["minValues"] == {
        "a": -1,
        "d": -math.inf,
        "c": Decimal("12345678901234567890.12"),
        "s": "é'",
        "day": dt.date(2020, 1, 31),
        "ts": dt.datetime(2020, 1, 30, 23, 0, 0, 1000, dt.UTC),
        "ntz": dt.datetime(2020, 1, 31, 0, 0, 0, 1000),
        "odd \".'": {"n": 7},
    }
    assert math.isnan(row["maxValues"]["d"])
    assert row["maxValues"]["a"] is None
    assert row["nullCount"]["b"] == 1
    assert row["nullCount"]["odd \".'"] == {"n": 2, "list": 3}
    assert "p" not in row["nullCount"]
    assert "b" not in row["minValues"]


def test_what_cannot_be_read_is_null():
    texts = pa.chunked_array(
        [
            [None, "{", "[]", '{"numRecords":"x","minValues":{"a":99999999999,"day":"x"}}'],
            ['{"numRecords":1,"minValues":7,"unknown":[{}]}'],
        ]
    )
    table = parse_statistics(texts, SCHEMA)
    assert table.column("numRecords").to_pylist() == [None, None, None, None, 1]
    bounds = table.column("minValues").to_pylist()
    assert [each and each["a"] for each in bounds] == [None] * 5


def test_legacy_null_counts():
    table = parse_statistics(pa.array(['{"nullCounts":{"a":4}}']), SCHEMA)
    assert table.column("nullCount").to_pylist()[0]["a"] == 4


def test_physical_names():
    schema = Schema([Field("a", "long", metadata={"delta.columnMapping.physicalName": "col-1"})])
    table = parse_statistics(pa.array(['{"minValues":{"col-1":1}}']), schema, "name")
    assert table.column("minValues").to_pylist() == [{"col-1": 1}]


def test_a_table_without_columns():
    table = parse_statistics(pa.array(['{"numRecords":1}']), Schema([Field("p", "long")]), "none", ["p"])
    assert table.to_pylist() == [{"numRecords": 1, "tightBounds": None}]


def test_columns_that_differ_in_case_alone_have_none():
    schema = Schema([Field("a", "long"), Field("A", "long"), Field("b", "long")])
    text = '{"numRecords":1,"minValues":{"a":1,"A":2,"b":3},"nullCount":{"a":0,"A":0,"b":0}}'
    (row,) = parse_statistics(pa.array([text]), schema).to_pylist()
    assert row["numRecords"] == 1
    assert row["minValues"] == {"b": 3}
    assert row["nullCount"] == {"b": 0}
