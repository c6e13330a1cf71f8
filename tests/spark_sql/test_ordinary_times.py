"""Dates and times in the form in which they are mostly written are cast by a quick branch of the cast.

A blank before a text changes nothing of its value, and keeps it out of that branch.
"""

import datetime

import pyarrow as pa
import pytest

from deltaarrow.errors import ConstraintViolationError
from deltaarrow.schema import Schema
from deltaarrow.spark_sql import evaluate, in_time_zone, parse_expression, parse_time_zone

SCHEMA = Schema.from_arrow(pa.schema([("s", pa.string())]))
DAYS = (
    *("2024-02-29", "2023-02-29", "2023-04-31", "2023-00-01", "2023-13-01", "2023-01-00", "2023-01-32"),
    *("1000-01-01", "0999-12-31", "9999-12-31", "1582-10-10", "1900-02-29", "2026-03-29"),
    *("2026-10-25", "1893-03-31", "2024-1-01", "2024-01-1"),
)
TIMES = (
    *("", " 00:00:00", "T23:59:59", " 24:00:00", " 23:60:00", " 23:59:60", " 02:30:00", "T02:30:00.5"),
    *(" 02:30:00.000001", " 02:30:00.123456", " 02:30:00.1234567", " 02:30:00.", " 02:30", " 02:30:00 "),
)
ZONES = ("", "Z", " Z", "+02:00", "-18:00", "UTC")
TEXTS = [f"{day}{time}{zone}" for day in DAYS for time in TIMES for zone in (ZONES if time else [""])]


def values(text, texts):
    return evaluate(parse_expression(text, SCHEMA), pa.record_batch({"s": pa.array(texts)})).to_pylist()


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
@pytest.mark.parametrize("kind", ["DATE", "TIMESTAMP", "TIMESTAMP_NTZ"])
def test_the_quick_branch_reads_what_the_general_one_reads(kind, zone):
    texts = [each for each in TEXTS if kind != "TIMESTAMP_NTZ" or not each.endswith(ZONES[1:])]
    with in_time_zone(parse_time_zone(zone)):
        found = dict(zip(texts, values(f"try_cast(s AS {kind})", texts), strict=True))
        general = dict(zip(texts, values(f"try_cast(' ' || s AS {kind})", texts), strict=True))
    assert found == general
    assert sum(each is not None for each in found.values()) > 60


def test_a_day_that_there_is_not_is_no_valid_text():
    batch = pa.record_batch({"s": ["2023-02-29 10:00:00"]})
    assert values("try_cast(s AS TIMESTAMP)", ["2023-02-29 10:00:00"]) == [None]
    with pytest.raises(ConstraintViolationError, match=r"CAST_INVALID_INPUT.*2023-02-29 10:00:00"):
        evaluate(parse_expression("CAST(s AS TIMESTAMP)", SCHEMA), batch)


def test_z_says_that_a_time_is_in_utc():
    batch = pa.record_batch({"s": ["2026-07-01T10:00:00Z", "2026-07-01 10:00:00"]})
    with in_time_zone(parse_time_zone("Europe/Berlin")):
        found = evaluate(parse_expression("CAST(s AS TIMESTAMP)", SCHEMA), batch).to_pylist()
    hours = [each.astimezone(datetime.UTC).hour for each in found]
    assert hours == [10, 8]
