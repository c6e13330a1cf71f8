"""The Arrow forms of types, fields and schemas, and what they have in common with deltalake's."""

import pickle

import deltalake
import pyarrow as pa
import pytest
from arro3.core import DataType as ForeignType

from deltaarrow import ArrayType, Field, MapType, PrimitiveType, Schema, StructType, VariantType
from deltaarrow.schema import to_arrow_schema

TYPES = [
    PrimitiveType("long"),
    PrimitiveType("decimal(10,2)"),
    PrimitiveType("timestamp"),
    ArrayType("string", contains_null=False),
    MapType("string", ArrayType("double")),
    StructType([Field("x", "integer", nullable=False), Field("y", "binary")]),
]


@pytest.mark.parametrize("data_type", TYPES, ids=str)
def test_types_return_from_their_arrow_form(data_type):
    arrow = data_type.to_arrow()
    assert type(data_type).from_arrow(arrow) == data_type
    assert pa.field(data_type).type == arrow  # exported as a PyCapsule
    assert type(data_type).from_arrow(data_type) == data_type


def test_a_type_of_another_library_is_taken():
    assert PrimitiveType.from_arrow(ForeignType.int16()) == PrimitiveType("short")


def test_a_type_of_another_class_is_refused():
    with pytest.raises(TypeError, match="from_arrow of PrimitiveType"):
        ArrayType.from_arrow(pa.int64())


def test_schemas_and_fields_are_exported():
    schema = Schema([Field("id", "long", nullable=False, metadata={"comment": "key"}), Field("v", "void")])
    assert pa.schema(schema) == to_arrow_schema(schema)
    assert pa.field(schema.fields[0]).equals(schema.fields[0].to_arrow(), check_metadata=True)
    assert Field.from_arrow(schema.fields[0].to_arrow()) == schema.fields[0]
    assert deltalake.Schema.from_arrow(Schema([Field("id", "long")])) is not None


def test_a_column_without_metadata_has_an_empty_dictionary_in_the_arrow_schema():
    assert Schema([Field("id", "long")]).to_arrow().field("id").metadata == {}


def test_large_types_at_all_levels():
    schema = Schema(
        [Field("s", StructType([Field("x", ArrayType("string"))])), Field("m", MapType("string", "binary"))]
    )
    ours = schema.to_arrow(as_large_types=True)
    assert ours.field("s").type.field("x").type.value_type == pa.large_string()
    assert pa.types.is_large_list(ours.field("s").type.field("x").type)
    assert ours.field("m").type.item_type == pa.large_binary()


def test_fields_equal_a_list_and_stay_hashable():
    fields = [Field("x", "integer"), Field("y", "string")]
    struct = StructType(fields)
    assert struct.fields == fields and struct.fields == tuple(fields)
    more = [Field("z", "long")]
    assert struct.fields + more == [*fields, *more]
    assert repr(struct.fields) == repr(fields)
    assert hash(struct) == hash(StructType(fields)) and pickle.loads(pickle.dumps(struct)) == struct


def test_kinds_of_types_are_told_by_name():
    assert [each.type for each in TYPES[-3:]] == ["array", "map", "struct"]


def test_the_variant_type_is_a_primitive_type():
    assert VariantType() == PrimitiveType("variant") == VariantType.from_json('"variant"')
    assert Field("v", VariantType()).type.type == "variant"
    assert isinstance(PrimitiveType("variant"), VariantType)
    assert not isinstance(PrimitiveType("long"), VariantType)
    with pytest.raises(TypeError, match="long"):
        VariantType("long")


def test_invariants_are_told_with_their_columns():
    text = '{"expression": {"expression": "x > 1"}}'
    inner = StructType([Field("x", "long", metadata={"delta.invariants": text})])
    assert Schema([Field("s", inner)]).invariants == [("s.x", "x > 1")]
    assert Schema([Field("s", inner)]).json()["fields"][0]["name"] == "s"


@pytest.mark.parametrize("part", [*TYPES, Field("x", "long"), Schema([Field("x", "long")])], ids=str)
def test_the_older_name_of_to_arrow_says_what_to_use(part):
    with pytest.raises(AttributeError, match=r"has no attribute 'to_pyarrow'; use to_arrow\(\)"):
        part.to_pyarrow()
    assert not hasattr(part, "nothing")
