"""Products of decimals are exact, however many digits they have."""

from decimal import Decimal

import pyarrow as pa
import pytest

from deltaarrow.schema import Schema
from deltaarrow.spark_sql import evaluate, parse_expression

ROW = pa.record_batch(
    {
        "m": pa.array([Decimal("-99999999.99")], pa.decimal128(10, 2)),
        "w": pa.array([Decimal("9999999999999999.99")], pa.decimal128(18, 2)),
        "i": pa.array([-(2**31)], pa.int32()),
    }
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("m * i", "214748364778525163.52"),
        ("-m * i", "-214748364778525163.52"),
        ("m * m", "9999999998000000.0001"),
        ("w * w", "99999999999999999800000000000000.0001"),
    ],
)
def test_products_of_short_decimals(text, expected):
    expression = parse_expression(text, Schema.from_arrow(ROW.schema))
    assert evaluate(expression, ROW).to_pylist() == [Decimal(expected)]


@pytest.mark.parametrize("value", ["TIMESTAMP'2020-01-01 00:00:00'", "'2020-01-01 00:00:00'"])
def test_null_safe_equality_with_a_constant(value):
    rows = pa.record_batch({"at": pa.array([1577836800000000, None], pa.timestamp("us", "UTC"))})
    expression = parse_expression(f"at <=> {value}", Schema.from_arrow(rows.schema))
    assert evaluate(expression, rows).to_pylist() == [True, False]
