"""`write_deltalake(cast=True)`: a value of another type is stored as its equal, or is an error."""

import datetime as dt
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.errors import SchemaMismatchError

DAY = dt.date(2026, 1, 31)
NOON = dt.datetime(2026, 1, 31, 12)
DECIMAL = pa.decimal128(10, 2)


@pytest.mark.parametrize(
    ("values", "target", "stored"),
    [
        (pa.array([2.0, None, -3.0]), pa.int64(), [2, None, -3]),
        (pa.array([0.1, float("nan"), float("inf")]), pa.float32(), None),
        (pa.array([1.1, -2.0]), DECIMAL, [Decimal("1.10"), Decimal("-2.00")]),
        (pa.array([Decimal("7.00")]), pa.int32(), [7]),
        (pa.array([Decimal("0.1")]), pa.float64(), [0.1]),
        (pa.array([Decimal("1.50")]), pa.string(), ["1.50"]),
        (pa.array([7, None]), pa.string(), ["7", None]),
        (pa.array([True]), pa.string(), ["true"]),
        (pa.array([DAY]), pa.string(), ["2026-01-31"]),
        (pa.array([dt.datetime(2026, 1, 31)]), pa.date32(), [DAY]),
        (pa.array(["2026-01-31", None]), pa.date32(), [DAY, None]),
        (pa.array(["2026-01-31"], pa.large_string()), pa.date32(), [DAY]),
        (pa.array(["2026-01-31 12:00:00"], pa.string_view()), pa.timestamp("us"), [NOON]),
        (pa.array(["-12"]), pa.int8(), [-12]),
        (pa.array(["1.5"]), pa.float64(), [1.5]),
        (pa.array(["1.50"]), DECIMAL, [Decimal("1.50")]),
        (pa.array(["true", "false"]), pa.bool_(), [True, False]),
        (pa.array([[9.5], [2.0, None], None, []])[1:], pa.list_(pa.int64()), [[2, None], None, []]),
        (pa.array([["1"]], pa.large_list(pa.string())), pa.list_(pa.int8()), [[1]]),
        (
            pa.array([{"B": "1", "a": 2}, None]),
            pa.struct({"a": pa.string(), "b": pa.int8()}),
            [{"a": "2", "b": 1}, None],
        ),
        (
            pa.array([[("1", [2.0])], None], pa.map_(pa.string(), pa.list_(pa.float64()))),
            pa.map_(pa.int64(), pa.list_(pa.int64())),
            [[(1, [2])], None],
        ),
    ],
)
def test_an_equal_value_is_stored_and_refused_without_the_option(tmp_path, values, target, stored):
    write_deltalake(tmp_path, pa.table({"Id": pa.nulls(0, target)}))
    with pytest.raises(SchemaMismatchError, match="cast=True"):
        write_deltalake(tmp_path, pa.table({"id": values}), mode="append")
    write_deltalake(tmp_path, pa.table({"id": values}), mode="append", cast=True)
    expected = values.cast(target) if stored is None else pa.array(stored, target)
    found = DeltaTable(tmp_path).to_pyarrow_table()["Id"]
    assert found.type == target
    assert str(found.to_pylist()) == str(expected.to_pylist())


@pytest.mark.parametrize(
    ("values", "target"),
    [
        (pa.array([2.5]), pa.int64()),
        (pa.array([float("nan")]), pa.int64()),
        (pa.array([300.0]), pa.int8()),
        (pa.array([1e300]), pa.float32()),
        (pa.array([1.239]), DECIMAL),
        (pa.array([1e20]), DECIMAL),
        (pa.array([Decimal("1.5")]), pa.int64()),
        (pa.array([Decimal("12345678901234567890.1")]), pa.float64()),
        (pa.array([NOON]), pa.date32()),
        (pa.array(["31.1.2026"]), pa.date32()),
        (pa.array([""]), pa.int64()),
        (pa.array(["0x1F"]), pa.int64()),
        (pa.array(["1.5"]), pa.int64()),
        (pa.array(["1.555"]), DECIMAL),
        (pa.array(["2026-01-31 12:00:00"]), pa.timestamp("us", "UTC")),
        (pa.array(["yes"]), pa.bool_()),
        (pa.array([{"a": [2.0, 2.5]}]), pa.struct({"a": pa.list_(pa.int64())})),
    ],
)
def test_a_value_without_an_equal_is_an_error_and_nothing_is_committed(tmp_path, values, target):
    write_deltalake(tmp_path, pa.table({"id": pa.nulls(0, target)}))
    with pytest.raises(SchemaMismatchError, match=r"column 'id(\.a\.element)?': a value of .* has no equal"):
        write_deltalake(tmp_path, pa.table({"id": values}), mode="append", cast=True)
    assert DeltaTable(tmp_path).version() == 0


@pytest.mark.parametrize(
    ("values", "target"),
    [
        (pa.array([1]), pa.bool_()),
        (pa.array([NOON]), pa.timestamp("us", "UTC")),
        (pa.array([1]), pa.date32()),
        (pa.array([1.5]), pa.string()),
        (pa.array([[1]]), pa.list_(pa.bool_())),
        (pa.array([{"a": 1.5}]), pa.struct({"a": pa.string()})),
    ],
)
def test_types_without_such_a_cast_stay_refused(tmp_path, values, target):
    write_deltalake(tmp_path, pa.table({"id": pa.nulls(0, target)}))
    with pytest.raises(SchemaMismatchError, match="does not fit"):
        write_deltalake(tmp_path, pa.table({"id": values}), mode="append", cast=True)


def test_a_frame_of_pandas_whose_missing_values_made_numbers_floats_is_appended(tmp_path):
    write_deltalake(tmp_path, pa.table({"id": [1], "n": [1]}))
    frame = pd.DataFrame({"id": [2.0, 3.0], "n": [5, None]})
    write_deltalake(tmp_path, frame, mode="append", cast=True)
    rows = DeltaTable(tmp_path).to_pyarrow_table().sort_by("id").to_pydict()
    assert rows == {"id": [1, 2, 3], "n": [1, 5, None]}


def test_a_new_table_and_a_new_schema_keep_the_types_of_the_data(tmp_path):
    write_deltalake(tmp_path, pa.table({"id": [1]}), cast=True)
    write_deltalake(tmp_path, pa.table({"id": ["x"]}), mode="overwrite", schema_mode="overwrite", cast=True)
    assert DeltaTable(tmp_path).to_pyarrow_table().to_pydict() == {"id": ["x"]}
