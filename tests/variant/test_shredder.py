"""Shredding of variants and their reassembly."""

from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow.errors import CorruptDataFileError
from deltaarrow.variant import (
    VARIANT_TYPE,
    Shape,
    infer_shape,
    parse_json,
    reassemble,
    shred,
    shredded_type,
    to_json,
    variant_array,
)
from tests.support.variants import values

SHAPES = st.recursive(
    st.sampled_from(
        [
            pa.int64(),
            pa.string(),
            pa.bool_(),
            pa.float64(),
            pa.decimal128(18, 2),
            pa.decimal128(38, 9),
            pa.binary(),
        ]
    ).map(Shape),
    lambda inner: st.dictionaries(st.sampled_from(["a", "b", "c", "é"]), inner, min_size=1).map(Shape),
    max_leaves=6,
)


def texts(rows):
    return to_json(rows).to_pylist()


@given(st.lists(st.none() | values(), max_size=6), SHAPES)
@settings(deadline=None)
def test_whatever_the_shape_the_variants_come_back(rows, shape):
    column = variant_array(rows)
    shredded = shred(column, shape)
    assert shredded.type.field("typed_value").type == shape.arrow_type.field("typed_value").type
    shredded.validate(full=True)
    assert texts(reassemble(shredded.cast(shredded_type(shredded.type)))) == texts(column)


@given(st.lists(st.none() | values(), min_size=1, max_size=12))
@settings(deadline=None)
def test_the_shape_that_is_chosen_is_one_in_which_they_come_back(rows):
    column = variant_array(rows)
    shape = infer_shape(column)
    if shape is not None:
        shredded = shred(column, shape)
        assert texts(reassemble(shredded.cast(shredded_type(shredded.type)))) == texts(column)


def shape_of(*values):
    shape = infer_shape(parse_json(pa.array(values)))
    return None if shape is None else shape.arrow_type.field("typed_value").type


def group(**fields):
    return pa.struct(
        [
            pa.field(name, pa.struct([("value", pa.binary()), ("typed_value", kind)]), nullable=False)
            for name, kind in fields.items()
        ]
    )


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        (["1", "300", "null"], pa.int64()),
        (["1", "1.5"], pa.decimal128(18, 1)),
        (["1.25", "-100.5"], pa.decimal128(18, 2)),
        (["1.25", "1" * 17 + ".5"], pa.decimal128(38, 2)),
        (["1e3"], pa.float64()),
        (["true", "false"], pa.bool_()),
        (['"a"', '"' + "x" * 100 + '"'], pa.string()),
        (["1", '"a"'], None),
        (["1", "1e3"], None),
        (["null"], None),
        (["[1]"], None),
        (["{}"], None),
        (['{"a":1}', "1"], None),
        (['{"a":1}', '{"b":"x"}'], group(a=pa.int64(), b=pa.string())),
        (['{"a":{"b":true}}', "null"], group(a=group(b=pa.bool_()))),
        (['{"a":[1],"b":1}'], group(b=pa.int64())),
        (['{"a.b":1,"":2}'], None),
        (['{"a":1}', *['{"b":1}'] * 10], group(b=pa.int64())),
    ],
)
def test_shapes(values, wanted):
    assert shape_of(*values) == wanted


def test_depth_and_width_are_bounded():
    deep = '{"a":' * 12 + "1" + "}" * 12
    assert shape_of(deep) is None
    wide = "{" + ",".join(f'"k{number}":1' for number in range(1000)) + "}"
    (rows,) = (parse_json(pa.array([wide])),)
    shape = infer_shape(rows)
    assert 100 < len(shape.typed) < 151
    assert texts(reassemble(shred(rows, shape))) == texts(rows)


def test_numbers_go_where_they_stay_what_they_are():
    rows = variant_array([1, Decimal("1.5"), Decimal("1.50"), Decimal("1.501"), Decimal(10**16), 2.5, None])
    typed = shred(rows, Shape(pa.decimal128(18, 2))).field("typed_value")
    assert typed.to_pylist() == [None, Decimal("1.50"), Decimal("1.50"), None, None, None, None]
    assert shred(rows, Shape(pa.int64())).field("typed_value").to_pylist() == [1] + [None] * 6


def test_an_object_with_two_fields_of_one_name_is_refused():
    twice = {"metadata": b"\x01\x01\x00\x01a", "value": b"\x02\x02\x00\x00\x00\x01\x02\x00\x00"}
    with pytest.raises(CorruptDataFileError, match="one name"):
        shred(pa.array([twice], VARIANT_TYPE), Shape({"a": Shape(pa.int64())}))
