"""Statistics in struct form converted to the JSON texts that writers write."""

import datetime as dt
import json
import math

import pyarrow as pa

from deltaarrow.compute import sandbox_cursor
from deltaarrow.statistics.struct_texts import struct_text_sql

BOUNDS = pa.struct(
    [
        ("id", pa.int64()),
        ("x", pa.float64()),
        ("f", pa.float32()),
        ("at", pa.timestamp("us", "UTC")),
        ("int96", pa.timestamp("ns")),
        ("ntz", pa.timestamp("us")),
        ("it's", pa.struct([("x", pa.float64())])),
        ("a", pa.float64()),
        ("A", pa.float64()),
    ]
)
STRUCT = pa.struct([("numRecords", pa.int64()), ("minValues", BOUNDS)])
AT = dt.datetime(2020, 1, 2, 3, 4, 5, 678_901)


def texts(values):
    table = pa.table({"s": pa.array(values, STRUCT)})
    with sandbox_cursor() as cursor:
        cursor.register("statistics", table)
        return [
            text
            for (text,) in cursor.sql(f"SELECT {struct_text_sql('s', STRUCT)} FROM statistics").fetchall()
        ]


def parsed(text):
    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


def test_numbers_and_times_are_spelled_as_json_and_the_protocol_have_them():
    bounds = {"id": 7, "x": math.nan, "f": -math.inf, "at": AT.replace(tzinfo=dt.UTC), "int96": AT, "ntz": AT}
    (text,) = texts([{"numRecords": 1, "minValues": bounds | {"it's": {"x": math.inf}}}])
    found = parsed(text)["minValues"]
    assert (found["id"], found["x"], found["f"], found["it's"]["x"]) == (7, "NaN", "-Infinity", "Infinity")
    assert found["at"] == found["int96"] == "2020-01-02T03:04:05.678901Z"
    assert found["ntz"] == "2020-01-02T03:04:05.678901"


def test_what_is_finite_or_not_there_stays_as_it_is():
    found = texts([{"minValues": {"x": 1.5, "f": 0.5, "a": 2.5}}, {"numRecords": 1}, None])
    assert found[2] is None
    assert parsed(found[1]) == {"numRecords": 1, "minValues": None}
    values = parsed(found[0])["minValues"]
    assert (values["x"], values["f"], values["at"], values["it's"]) == (1.5, 0.5, None, None)
