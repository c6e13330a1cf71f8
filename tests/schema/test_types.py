import pickle

import pytest

from deltaarrow.errors import CorruptLogError, SchemaMismatchError, UnknownTypeError, UnsupportedFeatureError
from deltaarrow.schema import (
    ArrayType,
    Field,
    MapType,
    PrimitiveType,
    Schema,
    StructType,
    data_type_from_json,
)

SCHEMA = Schema(
    [
        Field("id", "long", nullable=False, metadata={"comment": "key", "n": 1, "deep": {"a": [1, None]}}),
        Field("price", "decimal(10,2)"),
        Field("tags", ArrayType("string", contains_null=False)),
        Field(
            "attributes", MapType("string", StructType([Field("x", "variant")]), value_contains_null=False)
        ),
    ]
)


def test_the_text_is_that_of_spark():
    assert Schema(
        [Field("a", MapType("string", ArrayType("date")), metadata={"comment": "é"})]
    ).to_json() == (
        '{"type":"struct","fields":[{"name":"a","type":{"type":"map","keyType":"string","valueType":'
        '{"type":"array","elementType":"date","containsNull":true},"valueContainsNull":true},'
        '"nullable":true,"metadata":{"comment":"é"}}]}'
    )


def test_values_are_equal_hashable_and_picklable():
    twin = Schema.from_json(SCHEMA.to_json())
    assert twin == SCHEMA
    assert hash(twin) == hash(SCHEMA)
    assert twin.field("ID").name == "id"  # fills the lookup tables, which are not part of the value
    assert pickle.loads(pickle.dumps(twin)) == SCHEMA
    assert len({PrimitiveType("long"), PrimitiveType("long"), ArrayType("long")}) == 2


def test_reprs_are_those_of_deltalake():
    assert repr(SCHEMA.fields[0].type) == 'PrimitiveType("long")'
    assert repr(Field("a", MapType("string", ArrayType("long", contains_null=False)))) == (
        'Field(a, MapType(PrimitiveType("string"), ArrayType(PrimitiveType("long"), contains_null=False), '
        "value_contains_null=True), nullable=True)"
    )
    assert repr(Schema([Field("a", "long", False, {"k": 1})])) == (
        "Schema([Field(a, PrimitiveType(\"long\"), nullable=False, metadata={'k': 1})])"
    )


def test_metadata_is_read_only_and_tells_true_from_one():
    metadata = SCHEMA.field("id").metadata
    metadata["deep"]["a"].append(2)
    assert metadata["deep"] == {"a": [1, None]}
    with pytest.raises(TypeError):
        metadata["comment"] = "other"
    assert metadata == {"comment": "key", "n": 1, "deep": {"a": [1, None]}}
    assert metadata != {"comment": "key", "n": True, "deep": {"a": [1, None]}}


def test_unknown_keys_survive():
    text = (
        '{"type":"struct","fields":[{"name":"a","type":{"type":"array","elementType":"long","containsNull":true,'
        '"later":[1]},"nullable":true,"metadata":{},"soon":{"b":2}}],"also":12345678901234567890123}'
    )
    assert Schema.from_json(text).to_json() == text


@pytest.mark.parametrize(
    ("spelled", "meant"),
    [("decimal( 10 , 2 )", "decimal(10,2)"), ("decimal", "decimal(10,0)"), ("null", "void")],
)
def test_other_spellings_of_spark_are_taken_in_json(spelled, meant):
    assert data_type_from_json(f'"{spelled}"').type == meant


@pytest.mark.parametrize(
    "name", ["int", "decimal", "decimal(39,0)", "decimal(5,-1)", "decimal(2,3)", "interval day", ""]
)
def test_unknown_types_are_refused_by_name(name):
    with pytest.raises(UnsupportedFeatureError) as caught:
        PrimitiveType(name)
    assert isinstance(caught.value, ValueError)
    for error in (caught.value, pickle.loads(pickle.dumps(caught.value))):
        assert (type(error), error.feature, str(error)) == (UnknownTypeError, name, str(caught.value))


def test_an_unknown_type_in_a_schema_names_its_column():
    struct = '{"type":"struct","fields":[{"name":"g","type":"geometry"}]}'
    text = f'{{"type":"struct","fields":[{{"name":"s","type":{struct}}}]}}'
    with pytest.raises(UnsupportedFeatureError, match=r"column 's\.g'.*'geometry'"):
        Schema.from_json(text)
    with pytest.raises(UnsupportedFeatureError, match="udt"):
        data_type_from_json('{"type":"udt","sqlType":"long"}')


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '"long"',
        '{"type":"array","elementType":"long"}',
        '{"type":"struct"}',
        '{"type":"struct","fields":{}}',
        '{"type":"struct","fields":[1]}',
        '{"type":"struct","fields":[{"type":"long"}]}',
        '{"type":"struct","fields":[{"name":"a"}]}',
        '{"type":"struct","fields":[{"name":"a","type":1}]}',
        '{"type":"struct","fields":[{"name":"a","type":"long","nullable":"yes"}]}',
        '{"type":"struct","fields":[{"name":"a","type":"long","metadata":[]}]}',
        '{"type":"struct","fields":[{"name":"a","type":{"type":"array"}}]}',
        '{"type":"struct","fields":[],"x":NaN}',
        '{"type":"struct","fields":' * 5000,
    ],
)
def test_what_is_not_a_schema_is_a_corrupt_log(text):
    with pytest.raises(CorruptLogError):
        Schema.from_json(text)


def test_deep_nesting_is_an_error_and_no_crash():
    text = '{"type":"array","containsNull":true,"elementType":' * 900 + '"long"' + "}" * 900
    with pytest.raises(CorruptLogError, match="deep"):
        data_type_from_json(text)


def test_fields_are_found_whatever_their_case_unless_ambiguous():
    schema = Schema(
        [Field("a", "long"), Field("A", "string"), Field("B", "date"), Field("c", "date"), Field("C", "date")]
    )
    assert schema.field("A").type == PrimitiveType("string")
    assert schema.field("b").name == "B"
    assert schema.find("d") is None
    with pytest.raises(SchemaMismatchError, match="`d`"):
        schema.field("d")
    assert Schema(schema.fields[:2]).find("a").name == "a"
    assert StructType([Field("ab", "long"), Field("aB", "long")]).find("AB") is None


def test_wrong_python_types_are_type_errors():
    with pytest.raises(TypeError):
        ArrayType(int)
    with pytest.raises(TypeError):
        Schema([Field("a", "long", metadata={"k": object()})]).to_json()
