"""Python values as variants."""

import datetime
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings

from deltaarrow.errors import SchemaMismatchError
from deltaarrow.variant import Moment, Primitive, build, parse, parse_metadata, variant_array
from tests.support.variants import values


@settings(deadline=None)
@given(values())
def test_a_value_comes_back(value):
    assert parse(*build(value)) == value


@pytest.mark.parametrize(
    ("value", "bytes_"),
    [
        (0, b"\x0c\x00"),
        (128, b"\x10\x80\x00"),
        (-(2**31), b"\x14\x00\x00\x00\x80"),
        (2**31, b"\x18\x00\x00\x00\x80\x00\x00\x00\x00"),
        (np.float32(0.5), b"\x38\x00\x00\x00\x3f"),
        (Decimal("1E+2"), b"\x20\x00\x64\x00\x00\x00"),
        (Decimal("0.0000000001"), b"\x24\x0a\x01" + bytes(7)),
        ("x" * 63, b"\xfd" + b"x" * 63),
        ("x" * 64, b"\x40\x40\x00\x00\x00" + b"x" * 64),
        ({"b": 1, "a": None}, b"\x02\x02\x00\x01\x00\x01\x03\x00\x0c\x01"),
    ],
)
def test_bytes(value, bytes_):
    assert build(value).value == bytes_


def test_an_integer_beyond_64_bits_is_a_decimal():
    assert parse(*build(10**37)) == Decimal(10**37)


def test_many_names_and_large_values():
    wide = {f"name {i:04}": "x" * (i % 100) for i in range(1000)}
    assert parse(*build([wide, wide])) == [wide, wide]
    assert len(parse_metadata(build(wide).metadata)) == 1000


def test_a_time_of_another_zone_is_stored_in_utc():
    zone = datetime.timezone(datetime.timedelta(hours=2))
    value = datetime.datetime(2024, 1, 1, 2, tzinfo=zone)
    assert parse(*build(value)) == datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)


@pytest.mark.parametrize("value", [Decimal("NaN"), 10**38, Decimal("1E-39")])
def test_a_number_that_no_type_holds_is_refused(value):
    with pytest.raises(SchemaMismatchError, match="cannot hold"):
        build(value)


@pytest.mark.parametrize("value", [object(), {1: 2}, {"a": {1, 2}}])
def test_another_type_is_refused(value):
    with pytest.raises(TypeError, match="variant"):
        build(value)


def test_none_is_a_null_row_and_inside_the_variant_null():
    column = variant_array([None, [None], Moment(Primitive.DATE, 2**31 - 1)])
    assert column.is_null().to_pylist() == [True, False, False]
    assert [parse(**row) for row in column.to_pylist()[1:]] == [[None], Moment(Primitive.DATE, 2**31 - 1)]
