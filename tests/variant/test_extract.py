"""Parts of variants by path, compared with the same in Python."""

import datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow.errors import CorruptDataFileError, SchemaMismatchError
from deltaarrow.variant import VARIANT_TYPE, build, parse, variant_array, variant_extract, variant_get
from tests.support.examples import examples
from tests.support.variants import NAMES, values

NOTHING = object()


def in_python(value, steps):
    for step in steps:
        if not isinstance(value, dict if isinstance(step, str) else list):
            return NOTHING
        if step not in (value if isinstance(value, dict) else range(len(value))):
            return NOTHING
        value = value[step]
    return value


@settings(deadline=None, max_examples=examples(67))
@given(
    st.lists(values() | st.just(NOTHING), max_size=6),
    st.lists(st.sampled_from(NAMES) | st.integers(0, 2), max_size=3),
)
def test_parts_are_those_of_python(rows, steps):
    path = "$" + "".join(f"[{step}]" if isinstance(step, int) else f"['{step}']" for step in steps)
    column = pa.array([None if row is NOTHING else build(row)._asdict() for row in rows], VARIANT_TYPE)
    found = variant_extract(column, path)
    found.validate(full=True)
    assert [NOTHING if row is None else parse(**row) for row in found.to_pylist()] == [
        NOTHING if row is NOTHING else in_python(row, steps) for row in rows
    ]


@pytest.mark.parametrize("path", ["", "a", "$a", "$.", "$..a", "$[a]", "$['a", "$.a[-1]", "$.a "])
def test_an_ill_formed_path_is_refused(path):
    if path == "$.a ":  # a name may hold any sign that has no meaning in a path
        assert variant_get(variant_array([{"a ": 1}]), path, pa.int8()).to_pylist() == [1]
        return
    with pytest.raises(SchemaMismatchError, match="not a path"):
        variant_extract(variant_array([1]), path)


@pytest.mark.parametrize(
    ("rows", "wanted", "result"),
    [
        ([1, 1000, 2**40, -1], pa.int64(), [1, 1000, 2**40, -1]),
        ([1.0, Decimal("2.0"), 3], pa.int32(), [1, 2, 3]),
        ([1, 0.5, Decimal("-1.25")], pa.float64(), [1.0, 0.5, -1.25]),
        (
            [1, 0.5, Decimal("1.25"), 10**20],
            pa.decimal128(38, 2),
            [1, Decimal("0.5"), Decimal("1.25"), 10**20],
        ),
        (["x", "y" * 100, ""], pa.string(), ["x", "y" * 100, ""]),
        ([b"x", b""], pa.binary(), [b"x", b""]),
        ([True, False, None], pa.bool_(), [True, False, None]),
        ([datetime.date(2024, 1, 2)], pa.timestamp("us"), [datetime.datetime(2024, 1, 2)]),
        ([datetime.datetime(2024, 1, 2)], pa.date32(), [datetime.date(2024, 1, 2)]),
        ([datetime.time(1, 2)], pa.time64("us"), [datetime.time(1, 2)]),
        ([], pa.int64(), []),
        ([None], pa.int64(), [None]),
    ],
)
def test_values_of_a_type(rows, wanted, result):
    found = variant_get(variant_array(rows), "$", wanted)
    assert found.type == wanted
    assert found.to_pylist() == result


@pytest.mark.parametrize(
    ("bad", "wanted"),
    [
        ("1", pa.int64()),
        (1000, pa.int8()),
        (0.5, pa.int64()),
        (1, pa.string()),
        ([1], pa.int64()),
        ({"a": 1}, pa.string()),
        (0.125, pa.decimal128(10, 2)),
        (datetime.datetime(2024, 1, 1, 1), pa.date32()),
        (datetime.datetime(2024, 1, 1), pa.timestamp("us", "UTC")),
    ],
)
def test_a_value_that_does_not_fit_is_an_error_or_null(bad, wanted):
    column = variant_array([bad, bad])
    with pytest.raises(SchemaMismatchError, match="does not fit"):
        variant_get(column, "$", wanted)
    assert variant_get(column, "$", wanted, strict=False).to_pylist() == [None, None]


def test_values_that_do_not_fit_leave_the_others():
    rows = [0.5, 1.0, 1.5, 2.0, 3.0, "x", 7]
    found = variant_get(variant_array(rows), "$", pa.int64(), strict=False)
    assert found.to_pylist() == [None, 1, None, 2, 3, None, 7]


def test_a_chunked_column():
    chunks = pa.chunked_array([variant_array([{"a": 1}]), variant_array([{"a": 2}, None])])
    assert variant_get(chunks, "$.a", pa.int64()).to_pylist() == [1, 2, None]
    assert variant_get(pa.chunked_array([], VARIANT_TYPE), "$.a", pa.int64()).to_pylist() == []


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"\x54", "unknown type 21"),
        (b"\x18\x00", "cut off"),
        (b"\x40\x05\x00\x00\x00a", "cut off"),
        (b"\x0da", "cut off"),
        (b"\x05\xff", "UTF-8"),
        (b"\x20\x27\x00\x00\x00\x00", "too many digits"),
        (b"", "no bytes"),
    ],
)
def test_broken_values_are_refused(value, reason):
    column = pa.array([{"metadata": b"\x01\x00\x00", "value": value}], VARIANT_TYPE)
    with pytest.raises(CorruptDataFileError, match=reason):
        variant_get(column, "$", pa.int64(), strict=False)
