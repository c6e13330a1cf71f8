"""Reassembly of shredded variants: the table of Parquet's VariantShredding.md, and a slow model."""

import datetime

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow.errors import CorruptDataFileError
from deltaarrow.variant import EMPTY_METADATA, VARIANT_TYPE, build, encode, parse, reassemble, shredded_type
from tests.support.examples import examples
from tests.support.variants import Shape, shapes, shredded, values

MISSING = object()
IDS = {"a": 0, "b": 1}
METADATA = build(IDS).metadata
NULL, ONE = b"\x00", b"\x0c\x01"
OBJECT = Shape({"a": Shape(pa.int64())})


def column(group_type: pa.StructType, *groups: dict | None, metadata: bytes = METADATA) -> pa.StructArray:
    stored = pa.struct([("metadata", pa.binary()), *group_type])
    return pa.array([None if each is None else {"metadata": metadata} | each for each in groups], stored)


def read(array: pa.StructArray) -> list:
    assert shredded_type(array.type) == array.type
    result = reassemble(array)
    result.validate(full=True)
    assert result.type == VARIANT_TYPE
    return [MISSING if row is None else parse(**row) for row in result.to_pylist()]


@settings(deadline=None, max_examples=examples(100))
@given(shapes(), st.lists(values() | st.just(MISSING), max_size=6), st.integers(0, 3), st.integers(0, 6))
def test_what_was_shredded_comes_back(shape, rows, start, count):
    array = shredded(rows, shape, MISSING)
    assert read(array) == rows
    assert read(array.slice(start, count)) == rows[start : start + count]


@settings(deadline=None, max_examples=examples(17))
@given(st.lists(values(), max_size=4))
def test_rows_that_share_a_file_need_not_share_a_dictionary(rows):
    objects = [{"a": value, "b": [value]} for value in rows]
    assert read(shredded(objects, Shape({"b": Shape(Shape(pa.int64()))}))) == objects


def test_the_series_of_measurements():
    groups = [{"typed_value": 34}, {"value": NULL}, {"value": b"\x0dn/a"}, {"typed_value": 100}]
    found = column(Shape(pa.int64()).arrow_type, *groups, metadata=EMPTY_METADATA)
    assert read(found) == [34, None, "n/a", 100]


def test_a_null_variant_is_not_the_variant_null():
    missing_both = {"value": None, "typed_value": None}
    found = column(Shape(pa.int64()).arrow_type, None, missing_both, {"value": NULL})
    assert read(found) == [MISSING, None, None]


def test_an_element_that_is_missing_is_the_variant_null():
    found = column(Shape(Shape(pa.string())).arrow_type, {"typed_value": [{}, {"typed_value": "x"}]})
    assert read(found) == [[None, "x"]]


def test_a_field_that_is_missing_is_not_in_the_object():
    fields = [{"a": {}}, {"a": {"value": NULL}}, {"a": None}]
    found = column(OBJECT.arrow_type, *({"typed_value": each} for each in fields))
    assert read(found) == [{}, {"a": None}, {}]


@pytest.mark.parametrize(
    ("group_type", "group", "wanted"),
    [
        (pa.struct([("typed_value", pa.int32())]), {"typed_value": 7}, 7),
        (pa.struct([("typed_value", pa.int32())]), {}, None),
        (pa.struct([("value", pa.binary())]), {}, None),
        (
            pa.struct([("typed_value", pa.list_(pa.struct([("typed_value", pa.int8())])))]),
            {"typed_value": [{"typed_value": 1}]},
            [1],
        ),
        (
            pa.struct([("typed_value", pa.struct([("a", pa.struct([("typed_value", pa.int8())]))]))]),
            {"typed_value": {"a": {"typed_value": 1}}},
            {"a": 1},
        ),
    ],
)
def test_value_may_be_left_out_at_every_level(group_type, group, wanted):
    assert read(column(group_type, group)) == [wanted]


def test_values_keep_the_type_they_were_shredded_as():
    groups = [{"typed_value": 1}]
    assert reassemble(column(Shape(pa.int64()).arrow_type, *groups)).field("value").to_pylist() == [
        b"\x18\x01" + bytes(7)
    ]


def test_an_object_in_value_alone_is_returned():
    assert read(column(OBJECT.arrow_type, {"value": encode({"b": 1}, IDS)})) == [{"b": 1}]


def test_more_than_255_fields_and_elements():
    value = {f"f{i:03}": [i] * i for i in range(300)}
    half = Shape({name: Shape(Shape(pa.int64())) for name in list(value)[::2]})
    assert read(shredded([value, {}], half)) == [value, {}]


def test_values_of_a_residual_object_may_lie_in_any_order():
    residual = b"\x02\x02\x00\x01\x02\x00\x04\x0c\x02\x0c\x01"  # a is 1 and stands behind b, which is 2
    shape = pa.struct(
        [("value", pa.binary()), ("typed_value", pa.struct([("c", Shape(pa.int64()).arrow_type)]))]
    )
    metadata = build({"a": 0, "b": 0, "c": 0}).metadata
    group = {"value": residual, "typed_value": {"c": {"typed_value": 3}}}
    assert read(column(shape, group, metadata=metadata)) == [{"a": 1, "b": 2, "c": 3}]


@pytest.mark.parametrize(
    ("group_type", "group", "reason"),
    [
        (Shape(pa.int64()).arrow_type, {"value": ONE, "typed_value": 1}, "both value and typed_value"),
        (Shape(Shape()).arrow_type, {"value": ONE, "typed_value": []}, "both value and typed_value"),
        (
            Shape(Shape(pa.int64())).arrow_type,
            {"typed_value": [{"value": ONE, "typed_value": 1}]},
            "both value and typed_value",
        ),
        (
            OBJECT.arrow_type,
            {"typed_value": {"a": {"value": ONE, "typed_value": 1}}},
            "both value and typed_value",
        ),
        (OBJECT.arrow_type, {"value": ONE, "typed_value": {"a": {}}}, "not an object"),
        (
            OBJECT.arrow_type,
            {"value": encode({"a": 1}, IDS), "typed_value": {"a": {}}},
            "both value and typed_value",
        ),
        (
            Shape({"x": Shape(pa.int64())}).arrow_type,
            {"typed_value": {"x": {"typed_value": 1}}},
            "does not name",
        ),
        (OBJECT.arrow_type, {"value": b"\x02\x01\x07\x00\x01\x00", "typed_value": {}}, "does not name"),
        (OBJECT.arrow_type, {"value": b"\x02\x01\x01\x00\x09\x00", "typed_value": {}}, "outside"),
        (OBJECT.arrow_type, {"value": b"\x02\x01", "typed_value": {}}, "outside"),
        (OBJECT.arrow_type, {"value": b"\x02\x01\x01\x01\x01\x00", "typed_value": {}}, "outside"),
        (
            OBJECT.arrow_type,
            {"value": b"\x02\x02\x01\x01\x00\x01\x02\x00\x00", "typed_value": {}},
            "two fields",
        ),
        (OBJECT.arrow_type, {"value": b"", "typed_value": {}}, "no bytes"),
        (OBJECT.arrow_type, {"typed_value": {"a": {"value": b""}}}, "no bytes"),
    ],
)
def test_a_contradiction_is_refused(group_type, group, reason):
    with pytest.raises(CorruptDataFileError, match=reason):
        reassemble(column(group_type, group))


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        (None, "no metadata"),
        (b"", "empty"),
        (b"\x02\x00\x00", "version 1"),
        (b"\x41\x01", "cut off"),
        (b"\x01\x05\x00", "cut off"),
        (b"\x01\x01\x00\x02a", "outside"),
        (b"\x01\x02\x00\x01\x00a", "outside"),
        (b"\x01\x01\x00\x01\xff", "UTF-8"),
    ],
)
def test_broken_metadata_is_refused(metadata, reason):
    group = {"typed_value": {"a": {"typed_value": 1}}}
    with pytest.raises(CorruptDataFileError, match=reason):
        reassemble(column(OBJECT.arrow_type, group, metadata=metadata))


def stored(typed_value: pa.DataType) -> pa.StructType:
    fields = [("metadata", pa.binary()), ("value", pa.binary()), ("typed_value", typed_value)]
    return pa.struct(fields)


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (stored(pa.uint32()), "typed_value is shredded as uint32"),
        (stored(pa.timestamp("ms")), r"timestamp\[ms\]"),
        (stored(pa.time64("ns")), r"time64\[ns\]"),
        (stored(pa.binary(4)), r"fixed_size_binary\[4\]"),
        (stored(pa.decimal256(50, 2)), "decimal256"),
        (stored(pa.list_(pa.int64())), "not into value and typed_value"),
        (stored(pa.struct([("a", pa.int64())])), "typed_value.a is shredded into int64"),
        (
            stored(pa.list_(pa.struct([("typed_value", pa.uint8())]))),
            "element.typed_value is shredded as uint8",
        ),
        (pa.struct([("value", pa.binary())]), "no metadata"),
        (pa.struct([("metadata", pa.binary())]), "not into value and typed_value"),
        (pa.struct([("metadata", pa.binary()), ("value", pa.int64())]), "not as binary"),
        (pa.binary(), "no metadata"),
    ],
)
def test_a_type_that_a_variant_cannot_be_shredded_as_is_refused(found, reason):
    with pytest.raises(CorruptDataFileError, match=reason):
        shredded_type(found)


@pytest.mark.parametrize(
    ("found", "read_as"),
    [
        (pa.large_string(), pa.string()),
        (pa.string_view(), pa.string()),
        (pa.dictionary(pa.int32(), pa.string()), pa.string()),
        (pa.large_binary(), pa.binary()),
        (pa.uuid(), pa.binary(16)),
        (pa.decimal64(10, 2), pa.decimal128(10, 2)),
        (pa.timestamp("us", "Europe/Berlin"), pa.timestamp("us", "UTC")),
    ],
)
def test_other_arrow_types_of_the_same_values_are_read_as_plain_ones(found, read_as):
    assert shredded_type(stored(found)) == stored(read_as)


def test_primitives_of_each_type():
    moment = datetime.datetime(2024, 2, 29, 12, 30, 0, 1)
    for typed, value in {
        pa.int8(): -1,
        pa.int16(): -2,
        pa.int32(): -3,
        pa.float32(): 0.5,
        pa.timestamp("us", "UTC"): moment.replace(tzinfo=datetime.UTC),
        pa.timestamp("us"): moment,
    }.items():
        found = column(Shape(typed).arrow_type, {"typed_value": value}, {"value": ONE}, None)
        assert read(found) == [value, 1, MISSING]
