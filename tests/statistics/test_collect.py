"""Statistics of a written file: footers and kernels together give Spark's statistics of the same rows."""

import decimal
import io
import json
import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow.schema import Schema
from deltaarrow.statistics import FOOTER_BOUND_LIMIT, CollectedColumns, FileStatistics, statistics_columns
from tests.support.examples import examples


def collect(table, row_group_rows=None, *, tight_bounds=False, **writer_options):
    columns = statistics_columns(
        Schema.from_arrow(table.schema), [], {"delta.dataSkippingNumIndexedCols": "-1"}
    )
    statistics = FileStatistics(CollectedColumns(columns, tight_bounds=tight_bounds))
    footers = []
    options = {"store_decimal_as_integer": True, "store_schema": False, **writer_options}
    with pq.ParquetWriter(io.BytesIO(), table.schema, metadata_collector=footers, **options) as writer:
        for start in range(0, table.num_rows, row_group_rows or table.num_rows):
            row_group = table.slice(start, row_group_rows or table.num_rows)
            statistics.observe(row_group)
            writer.write_table(row_group)
    statistics.add_footer(footers[0], table.schema)
    return statistics.render()


def of_column(values, kind, row_group_rows=None):
    found = json.loads(collect(pa.table({"c": pa.array(values, kind)}), row_group_rows))
    return found["minValues"].get("c"), found["maxValues"].get("c"), found["nullCount"]["c"]


every_cut = pytest.mark.parametrize("row_group_rows", [None, 1])


@every_cut
def test_nested_columns_as_spark_wrote_them(row_group_rows):
    e = pa.struct([("f", pa.date32()), ("g", pa.bool_())])
    struct = pa.struct(
        [("a", pa.int32()), ("b", pa.string()), ("c", pa.binary()), ("d", pa.list_(pa.int32())), ("e", e)]
    )
    table = pa.table(
        {
            "st": pa.array(
                [
                    {"a": 1, "b": "q", "c": b"\0", "d": [1], "e": {"f": 18262, "g": True}},
                    None,
                    {"a": None, "b": "r", "c": None, "d": None, "e": None},
                ],
                struct,
            ),
            "ar": pa.array([[1, None], None, []], pa.list_(pa.int32())),
            "m": pa.array([[("k", 1)], [], None], pa.map_(pa.string(), pa.int32())),
            "ob": pa.array(
                [{"x": b"\0", "y": True}, None, {}], pa.struct([("x", pa.binary()), ("y", pa.bool_())])
            ),
            "nn": pa.array([None, {"p": None}, None], pa.struct([("p", pa.int32())])),
        }
    )
    assert collect(table, row_group_rows) == (
        '{"numRecords":3,"minValues":{"st":{"a":1,"b":"q","e":{"f":"2020-01-01"}},"nn":{}},'
        '"maxValues":{"st":{"a":1,"b":"r","e":{"f":"2020-01-01"}},"nn":{}},'
        '"nullCount":{"st":{"a":2,"b":1,"c":2,"d":2,"e":{"f":2,"g":2}},"ar":1,"m":1,'
        '"ob":{"x":2,"y":2},"nn":{"p":3}}}'
    )


@every_cut
@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.5, math.nan], (1.5, "NaN", 0)),
        ([math.nan, 1.5, None], (1.5, "NaN", 1)),
        ([math.nan, math.nan], ("NaN", "NaN", 0)),
        ([None, math.nan], ("NaN", "NaN", 1)),
        ([math.inf, -math.inf], ("-Infinity", "Infinity", 0)),
        ([None, None], (None, None, 2)),
        ([2.0, -3.5], (-3.5, 2.0, 0)),
    ],
)
def test_floating_point(values, expected, row_group_rows):
    for kind in (pa.float64(), pa.float32()):
        assert of_column(values, kind, row_group_rows) == expected


@pytest.mark.parametrize("values", [[-0.0, 0.0], [0.0, -0.0], [-0.0, -0.0]])
def test_zeros_keep_the_sign_of_the_first_as_in_spark(values):
    low, high, _ = of_column(values, pa.float64())
    assert math.copysign(1, low) == math.copysign(1, high) == math.copysign(1, values[0])


@every_cut
def test_decimals_in_each_of_their_physical_types(row_group_rows):
    for precision in (5, 18, 19, 38):
        values = [decimal.Decimal("-2.50"), None, decimal.Decimal("1.25")]
        kind = pa.decimal128(precision, 2)
        assert of_column(values, kind, row_group_rows) == (-2.5, 1.25, 1)


@every_cut
@pytest.mark.parametrize("long", ["min", "max", "both"])
def test_strings_longer_than_what_a_footer_keeps(long, row_group_rows):
    low = "a" * (FOOTER_BOUND_LIMIT + 1 if long != "max" else 1)
    high = "z" * (FOOTER_BOUND_LIMIT + 1 if long != "min" else 1)
    found = of_column([high, "m", None, low], pa.string(), row_group_rows)
    assert found == (low[:32], high if len(high) == 1 else "z" * 32 + "\x7f", 1)


def test_a_string_of_just_the_limit_is_in_the_footer():
    assert of_column(["a" * FOOTER_BOUND_LIMIT], pa.string()) == ("a" * 32, "a" * 32 + "\x7f", 0)


def test_strings_are_ordered_by_their_utf8_bytes():
    low, high, _ = of_column(["\U00010000", "\uffff"], pa.string())
    assert (low, high) == ("\uffff", "\U00010000")


def test_a_name_with_a_dot_is_not_a_path():
    table = pa.table({"a.b": [1], "a": [{"b": 2}], "b": pa.array([["x"]]), "c": [3]})
    found = json.loads(collect(table))
    assert found["minValues"] == {"a.b": 1, "a": {"b": 2}, "c": 3}


def test_a_column_without_bounds_in_the_footer_has_none():
    found = json.loads(collect(pa.table({"a": [1], "b": ["x"]}), write_statistics=["b"]))
    assert found["minValues"] == {"b": "x"}
    assert found["nullCount"] == {"a": 0, "b": 0}


def test_tight_bounds():
    assert json.loads(collect(pa.table({"a": [1]}), tight_bounds=True))["tightBounds"] is True


@settings(deadline=None, max_examples=examples(20))
@given(
    st.lists(
        st.tuples(
            st.none() | st.integers(-(2**63), 2**63 - 1),
            st.none() | st.text(max_size=5),
            st.none() | st.floats(),
            st.none() | st.binary(max_size=3),
        ),
        min_size=1,
        max_size=12,
    ),
    st.integers(1, 12),
)
def test_row_groups_add_up_to_the_whole(rows, row_group_rows):
    i, s, f, b = (list(column) for column in zip(*rows, strict=True))
    table = pa.table(
        {
            "i": pa.array(i, pa.int64()),
            "s": pa.array(s, pa.string()),
            "f": pa.array(f, pa.float64()),
            "b": pa.array(b, pa.binary()),
        }
    )
    found = json.loads(collect(table, row_group_rows))
    integers = [value for value in i if value is not None]
    texts = [value.encode() for value in s if value is not None]
    floats = [value for value in f if value is not None]
    numbers = [value for value in floats if not math.isnan(value)]
    assert found["numRecords"] == len(rows)
    assert found["nullCount"] == {
        name: column.count(None) for name, column in zip("isfb", (i, s, f, b), strict=True)
    }
    assert found["minValues"].get("i") == min(integers, default=None)
    assert found["maxValues"].get("i") == max(integers, default=None)
    assert found["minValues"].get("s") == (min(texts).decode() if texts else None)
    assert found["maxValues"].get("s") == (max(texts).decode() if texts else None)
    if floats:
        low, high = float(found["minValues"]["f"]), float(found["maxValues"]["f"])
        assert low == min(numbers) if numbers else math.isnan(low)
        assert math.isnan(high) if len(numbers) < len(floats) else high == max(numbers)
    assert "b" not in found["minValues"]
