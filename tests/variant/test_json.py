"""JSON text of variants; the expected texts are those of Spark 4.2's own library."""

import datetime
import uuid
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from deltaarrow.variant import VARIANT_TYPE, Moment, Primitive, build, to_json


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (-(2**63), "-9223372036854775808"),
        (1.0, "1.0"),
        (1e7, "1.0E7"),
        (9.99e-4, "9.99E-4"),
        (float("nan"), '"NaN"'),
        (float("-inf"), '"-Infinity"'),
        (np.float32(0.1), "0.1"),
        (Decimal("1.500"), "1.5"),
        (Decimal("100"), "100"),
        (Decimal("0.00"), "0"),
        (Decimal("-0.10"), "-0.1"),
        (Decimal("1E-30"), "0.000000000000000000000000000001"),
        ('a"b\\c/\x00\x1f\x7f\n\té😀', r'"a\"b\\c/\u0000\u001F' + "\x7f" + r'\n\té😀"'),
        (b"\x00\xff1", '"AP8x"'),
        (datetime.date(1, 1, 1), '"0001-01-01"'),
        (Moment(Primitive.DATE, 2_932_897), '"+10000-01-01"'),
        (datetime.datetime(2024, 2, 29, 12, 30), '"2024-02-29 12:30:00"'),
        (datetime.datetime(2024, 2, 29, 12, 30, 0, 500000), '"2024-02-29 12:30:00.5"'),
        (datetime.datetime(2024, 2, 29, 0, 0, 0, 1, datetime.UTC), '"2024-02-29 00:00:00.000001+00:00"'),
        (Moment(Primitive.TIMESTAMP_NTZ, 2**63 - 1), '"+294247-01-10 04:00:54.775807"'),
        (uuid.UUID(int=5), '"00000000-0000-0000-0000-000000000005"'),
        ({"b": 1, "a": [1, {"é": None}], "": {}}, '{"":{},"a":[1,{"é":null}],"b":1}'),
        # Beyond Spark's library:
        (datetime.time(1, 2, 3, 400000), '"01:02:03.4"'),
        (Moment(Primitive.TIMESTAMP_NANOS, -1), '"1969-12-31 23:59:59.999999999+00:00"'),
    ],
)
def test_text(value, text):
    column = pa.array([build(value)._asdict(), None], VARIANT_TYPE)
    assert to_json(column).to_pylist() == [text, None]


def test_dates_are_those_of_the_calendar():
    days = [datetime.date.fromordinal(n) for n in range(1, 3_652_060, 997)]
    column = pa.array([build(day)._asdict() for day in days], VARIANT_TYPE)
    assert to_json(column).to_pylist() == [f'"{day.isoformat()}"' for day in days]
