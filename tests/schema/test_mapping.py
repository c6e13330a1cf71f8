import pytest

from deltaarrow.errors import CorruptLogError, SchemaMismatchError, UnsupportedFeatureError
from deltaarrow.schema import (
    ArrayType,
    Field,
    MapType,
    Schema,
    StructType,
    column_mapping_mode,
    field_id,
    physical_path,
    resolve_path,
    to_physical_schema,
    without_table_metadata,
)

NAME = {"delta.columnMapping.mode": "name"}


def mapped(name, data_type, physical, number=1):
    return Field(
        name,
        data_type,
        metadata={"delta.columnMapping.physicalName": physical, "delta.columnMapping.id": number},
    )


NESTED = Schema(
    [
        mapped(
            "s",
            StructType(
                [
                    mapped("xs", ArrayType(StructType([mapped("deep", "long", "c3")])), "c2"),
                    mapped("m", MapType(StructType([mapped("k", "long", "c5")]), "string"), "c4"),
                ]
            ),
            "c1",
        ),
        mapped("Plain", "long", "c6"),
    ]
)


@pytest.mark.parametrize(
    ("version", "readers", "writers", "configuration", "mode"),
    [
        (1, None, None, NAME, "none"),
        (2, None, None, NAME, "name"),
        (2, None, None, {"delta.columnMapping.mode": "ID"}, "id"),
        (2, None, None, {}, "none"),
        (3, ["columnMapping"], ["columnMapping"], NAME, "name"),
        (3, ["deletionVectors"], ["deletionVectors"], NAME, "none"),
        (1, None, ["columnMapping"], NAME, "name"),
        (1, None, None, {"delta.columnMapping.mode": "sideways"}, "none"),
    ],
)
def test_the_mode_holds_where_the_protocol_supports_it(version, readers, writers, configuration, mode):
    assert column_mapping_mode(version, readers, writers, configuration) == mode


def test_an_unknown_mode_is_refused():
    with pytest.raises(UnsupportedFeatureError, match="sideways"):
        column_mapping_mode(2, None, None, {"delta.columnMapping.mode": "sideways"})


def test_names_are_replaced_at_every_level():
    physical = to_physical_schema(NESTED, "id")
    assert physical.names == ["c1", "c6"]
    struct = physical.field("c1").type
    assert struct.names == ["c2", "c4"]
    assert struct.field("c2").type.element_type.names == ["c3"]
    assert struct.field("c4").type.key_type.names == ["c5"]
    assert physical.field("c6").metadata == NESTED.field("Plain").metadata
    assert to_physical_schema(NESTED, "none") is NESTED


def test_paths_are_resolved_like_columns_in_spark():
    assert physical_path(NESTED, ["S", "XS"], "name") == ("c1", "c2")
    assert physical_path(NESTED, ["plain"], "none") == ("Plain",)
    assert [each.name for each in resolve_path(NESTED, ["s", "m"])] == ["s", "m"]
    with pytest.raises(SchemaMismatchError, match=r"'s\.xs' is not a struct"):
        resolve_path(NESTED, ["s", "xs", "deep"])


@pytest.mark.parametrize("physical", [None, "", 5])
def test_a_mapped_column_without_physical_name_is_corrupt(physical):
    metadata = {} if physical is None else {"delta.columnMapping.physicalName": physical}
    with pytest.raises(CorruptLogError, match="'a'"):
        to_physical_schema(Schema([Field("a", "long", metadata=metadata)]), "name")


def test_mode_id_wants_field_ids_and_mode_name_does_not():
    schema = Schema([Field("a", "long", metadata={"delta.columnMapping.physicalName": "c"})])
    assert to_physical_schema(schema, "name").names == ["c"]
    with pytest.raises(CorruptLogError, match="id"):
        to_physical_schema(schema, "id")
    with pytest.raises(CorruptLogError, match="whole number"):
        field_id(Field("a", "long", metadata={"delta.columnMapping.id": "1"}))


def test_two_columns_with_one_physical_name_are_corrupt():
    with pytest.raises(CorruptLogError, match="share"):
        to_physical_schema(Schema([mapped("a", "long", "c"), mapped("b", "long", "c")]), "name")


def test_data_of_a_mapped_table_brings_its_comments_and_nothing_of_the_table():
    kept = {"comment": "key", "own": 1}
    own = {**kept, "delta.columnMapping.id": 1, "CURRENT_DEFAULT": "0", "delta.generationExpression": "b + 1"}
    schema = Schema([Field("s", ArrayType(StructType([Field("x", "long", False, own)])), metadata=own)])
    bare = Schema([Field("s", ArrayType(StructType([Field("x", "long", False, kept)])), metadata=kept)])
    assert without_table_metadata(schema) == bare
