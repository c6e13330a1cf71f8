import pyarrow as pa
import pytest

from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.schema import (
    ArrayType,
    Field,
    MapType,
    PrimitiveType,
    Schema,
    StructType,
    from_arrow_type,
    leaf_paths,
    to_arrow_type,
)

PLAIN = {
    "string": pa.string(),
    "long": pa.int64(),
    "integer": pa.int32(),
    "short": pa.int16(),
    "byte": pa.int8(),
    "float": pa.float32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "void": pa.null(),
    "decimal(38,18)": pa.decimal128(38, 18),
}


@pytest.mark.parametrize("name", PLAIN)
def test_every_primitive_has_one_arrow_type(name):
    assert to_arrow_type(PrimitiveType(name)) == PLAIN[name]
    assert from_arrow_type(PLAIN[name]) == PrimitiveType(name)


@pytest.mark.parametrize(
    ("arrow", "name"),
    [
        (pa.uint8(), "byte"),
        (pa.uint16(), "short"),
        (pa.uint32(), "integer"),
        (pa.uint64(), "long"),
        (pa.float16(), "float"),
        (pa.date64(), "date"),
        (pa.large_string(), "string"),
        (pa.string_view(), "string"),
        (pa.large_binary(), "binary"),
        (pa.binary_view(), "binary"),
        (pa.binary(3), "binary"),
        (pa.timestamp("ns"), "timestamp_ntz"),
        (pa.timestamp("s", "Europe/Berlin"), "timestamp"),
        (pa.decimal32(5, 2), "decimal(5,2)"),
        (pa.decimal64(12, 2), "decimal(12,2)"),
        (pa.decimal256(38, 2), "decimal(38,2)"),
        (pa.dictionary(pa.int8(), pa.string()), "string"),
        (pa.run_end_encoded(pa.int32(), pa.int16()), "short"),
        (pa.uuid(), "binary"),
        (pa.json_(), "string"),
    ],
)
def test_other_arrow_types_become_the_plain_one(arrow, name):
    assert from_arrow_type(arrow) == PrimitiveType(name)


@pytest.mark.parametrize(
    "make", [pa.list_, pa.large_list, pa.list_view, pa.large_list_view, lambda value: pa.list_(value, 3)]
)
def test_every_kind_of_list_is_an_array(make):
    assert from_arrow_type(make(pa.int8())) == ArrayType("byte")
    assert from_arrow_type(make(pa.field("item", pa.int8(), nullable=False))) == ArrayType(
        "byte", contains_null=False
    )


@pytest.mark.parametrize(
    "arrow",
    [
        pa.time32("s"),
        pa.time64("us"),
        pa.duration("us"),
        pa.month_day_nano_interval(),
        pa.decimal256(39, 0),
        pa.decimal128(5, -2),
        pa.dense_union([pa.field("a", pa.int8())]),
        pa.bool8(),
    ],
)
def test_types_that_delta_lacks_are_refused_by_column_and_type(arrow):
    schema = pa.schema([("s", pa.struct([("items", pa.list_(arrow))]))])
    with pytest.raises(UnsupportedFeatureError, match=r"column 's\.items\.element'") as caught:
        Schema.from_arrow(schema)
    assert caught.value.feature == str(arrow)


def test_variant_is_a_struct_that_remembers_what_it_is():
    schema = Schema([Field("v", "variant"), Field("vs", ArrayType("variant", contains_null=False))])
    arrow = schema.to_arrow()
    assert arrow.field("v").type == pa.struct([("metadata", pa.binary()), ("value", pa.binary())])
    assert Schema.from_arrow(arrow) == schema
    bare = pa.schema([("v", arrow.field("v").type)])
    assert isinstance(Schema.from_arrow(bare).field("v").type, StructType)
    extension = pa.field(
        "v", arrow.field("v").type, metadata={"ARROW:extension:name": "arrow.parquet.variant"}
    )
    assert Schema.from_arrow(pa.schema([extension])) == Schema([Field("v", "variant")])


def test_void_is_always_nullable_to_arrow():
    assert Schema([Field("v", "void", nullable=False)]).to_arrow().field("v").nullable
    with pytest.raises(UnsupportedFeatureError, match="void keys"):
        to_arrow_type(MapType("void", "long"))


def test_nullability_is_kept_at_every_level():
    inner = StructType([Field("x", "long", nullable=False)])
    schema = Schema(
        [Field("m", MapType("string", ArrayType(inner, contains_null=False), False), nullable=False)]
    )
    arrow = schema.to_arrow()
    assert not arrow.field("m").nullable
    assert not arrow.field("m").type.item_field.nullable
    assert not arrow.field("m").type.item_type.value_field.nullable
    assert Schema.from_arrow(arrow) == schema


def test_metadata_is_spelled_as_deltalake_does_and_comes_back_as_it_was():
    metadata = {"comment": "1", "delta.columnMapping.id": 7, "own": {"a": [1, None]}, "flag": True}
    schema = Schema([Field("a", "long", metadata=metadata)])
    arrow = schema.to_arrow().field("a").metadata
    assert arrow[b"comment"] == b"1"
    assert arrow[b"delta.columnMapping.id"] == b"7"
    assert arrow[b"own"] == b'{"a":[1,null]}'
    assert arrow[b"flag"] == b"true"
    assert Schema.from_arrow(schema.to_arrow()) == schema


def test_metadata_of_other_writers_and_of_the_formats():
    foreign = {
        "comment": "1",
        "delta.columnMapping.id": "7",
        "PARQUET:field_id": "3",
        "ARROW:extension:metadata": "",
    }
    field = Schema.from_arrow(pa.schema([pa.field("a", pa.int64(), metadata=foreign)])).field("a")
    assert field.metadata == {"comment": "1", "delta.columnMapping.id": 7}
    with pytest.raises(UnsupportedFeatureError, match="UTF-8"):
        Schema.from_arrow(pa.schema([pa.field("a", pa.int64(), metadata={b"k": b"\xff"})]))


def test_anything_with_an_arrow_schema_is_taken():
    class Exporter:
        def __arrow_c_schema__(self):
            return pa.schema([("a", pa.int64())]).__arrow_c_schema__()

    assert Schema.from_arrow(Exporter()).names == ["a"]


def test_leaves_stop_at_arrays_and_maps():
    arrow = pa.schema(
        [
            ("a", pa.struct([("b", pa.struct([("c", pa.int8())])), ("d", pa.list_(pa.int8()))])),
            ("m", pa.map_(pa.string(), pa.struct([("x", pa.int8())]))),
        ]
    )
    assert leaf_paths(Schema.from_arrow(arrow)) == [("a", "b", "c"), ("a", "d"), ("m",)]
