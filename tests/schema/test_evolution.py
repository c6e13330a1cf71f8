"""Merged schemas; each rule was observed in Spark 4.2 with delta-spark 4.4."""

import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow.errors import ConstraintViolationError, SchemaMismatchError
from deltaarrow.features.type_changes import find_refused_change
from deltaarrow.schema import (
    ArrayType,
    Field,
    MapType,
    PrimitiveType,
    Schema,
    StructType,
    as_nullable,
    conform,
    ensure_conformable,
    keeps_types,
    merge_schemas,
)
from tests.support.examples import examples
from tests.support.schemas import pairs, sample_rows


def struct(**types):
    return StructType([Field(name, data_type) for name, data_type in types.items()])


def schema(**types):
    return Schema(struct(**types).fields)


def merged(table, data, *, widen=False, **options):
    return merge_schemas(schema(**table), schema(**data), widen=widen, **options)


def test_the_table_keeps_order_case_nullability_and_metadata():
    table = Schema(
        [
            Field("Id", "long", nullable=False, metadata={"comment": "key", "n": 1}),
            Field("S", StructType([Field("Aa", "long", nullable=False)]), nullable=False),
        ]
    )
    data = Schema(
        [Field("S", struct(AA="long"), metadata={"comment": "other"}), Field("ID", "long", nullable=True)]
    )
    assert merge_schemas(table, data, widen=True) == table


def test_new_columns_come_last_at_every_level_and_are_nullable():
    found = merged(
        {
            "xs": ArrayType(struct(a="long"), contains_null=False),
            "m": MapType(struct(k="long"), struct(v="long")),
        },
        {
            "New": "string",
            "m": MapType(struct(k2="long", k="long"), struct(v2="long")),
            "xs": ArrayType(struct(b=ArrayType("long", contains_null=False), A="long")),
        },
    )
    assert found == Schema(
        [
            Field("xs", ArrayType(struct(a="long", b=ArrayType("long")), contains_null=False)),
            Field("m", MapType(struct(k="long", k2="long"), struct(v="long", v2="long"))),
            Field("New", "string"),
        ]
    )


def test_the_word_of_the_data_on_null_and_its_table_metadata_do_not_count():
    new = Field(
        "new",
        StructType([Field("x", "long", nullable=False, metadata={"delta.columnMapping.id": 9})]),
        nullable=False,
        metadata={"comment": "kept", "delta.generationExpression": "1", "CURRENT_DEFAULT": "2"},
    )
    found = merge_schemas(schema(a="long"), Schema([new]), widen=False)
    assert found.field("new") == Field("new", struct(x="long"), metadata={"comment": "kept"})


@pytest.mark.parametrize(
    "data",
    [
        Schema([Field("other", "long"), Field("OTHER", "long")]),
        Schema([Field("a", "long"), Field("A", "long")]),
        Schema([Field("s", StructType([Field("x", "long"), Field("X", "long")]))]),
    ],
)
def test_names_that_differ_in_case_alone_are_refused(data):
    with pytest.raises(SchemaMismatchError, match="same name up to case"):
        merge_schemas(schema(a="long", s=struct(x="long")), data, widen=False)


@pytest.mark.parametrize(
    ("table", "data", "path"),
    [
        ("integer", "string", "c"),
        ("string", "integer", "c"),
        ("long", "double", "c"),
        (struct(x="long"), "long", "c"),
        ("long", ArrayType("long"), "c"),
        (ArrayType(struct(x="long")), ArrayType(struct(x="string")), r"c\.element\.x"),
        (MapType("long", "long"), MapType("string", "long"), r"c\.key"),
        (MapType("string", "long"), MapType("string", "boolean"), r"c\.value"),
    ],
)
@pytest.mark.parametrize("widen", [False, True])
def test_types_that_do_not_merge_are_named_with_their_path(table, data, path, widen):
    with pytest.raises(SchemaMismatchError, match=f"column '{path}' is .* in the table.* in the data"):
        merged({"c": table}, {"C": data}, widen=widen)


def test_void_takes_any_type_and_changes_none():
    assert merged({"a": "void"}, {"a": struct(x="long")}) == schema(a=struct(x="long"))
    assert merged({"a": struct(x="void")}, {"a": struct(x="string")}) == schema(a=struct(x="string"))
    kept = {"a": ArrayType("long"), "b": "long"}
    assert merged(kept, {"a": ArrayType("void"), "b": "void"}) == schema(**kept)
    assert merged({"a": "long"}, {"v": "void"}) == schema(a="long", v="void")


@pytest.mark.parametrize(
    ("table", "data"),
    [
        ("long", "integer"),
        ("integer", "long"),
        ("byte", "short"),
        ("double", "float"),
        ("float", "double"),
        ("decimal(10,2)", "decimal(12,4)"),
        ("decimal(10,2)", "integer"),
        ("timestamp_ntz", "date"),
    ],
)
def test_without_widening_a_type_that_can_be_stored_leaves_the_table_as_it_is(table, data):
    assert merged({"c": table}, {"c": data}) == schema(c=table)


@pytest.mark.parametrize(
    ("table", "data", "widens"),
    [
        ("byte", "short", True),
        ("byte", "long", True),
        ("integer", "long", True),
        ("long", "integer", False),
        ("float", "double", True),
        ("date", "timestamp_ntz", True),
        ("decimal(10,2)", "decimal(14,4)", True),
        ("decimal(10,2)", "decimal(10,1)", False),
        ("decimal(10,2)", "decimal(11,4)", False),
        ("integer", "decimal(12,0)", None),
        ("integer", "double", None),
    ],
)
def test_types_widen_within_their_family(table, data, widens):
    if widens is None:
        with pytest.raises(SchemaMismatchError):
            merged({"c": table}, {"c": data}, widen=True)
        return
    field = merged({"c": table}, {"c": data}, widen=True).field("c")
    assert field.type == PrimitiveType(data if widens else table)
    wanted = {"delta.typeChanges": [{"fromType": table, "toType": data}]} if widens else {}
    assert field.metadata == wanted


def test_type_changes_stand_at_the_nearest_field_after_those_that_were_there():
    once = merged(
        {"m": MapType("short", ArrayType(struct(i="integer"))), "b": "byte"},
        {"m": MapType("integer", ArrayType(struct(i="long"))), "b": "short"},
        widen=True,
    )
    assert once.field("m").metadata == {
        "delta.typeChanges": [{"fromType": "short", "toType": "integer", "fieldPath": "key"}]
    }
    inner = once.field("m").type.value_type.element_type.field("i")
    assert inner.metadata == {"delta.typeChanges": [{"fromType": "integer", "toType": "long"}]}
    twice = merge_schemas(once, schema(m=MapType("long", "void"), b="integer"), widen=True, table_version=7)
    assert twice.field("m").metadata["delta.typeChanges"][1] == {
        "tableVersion": 7,
        "fromType": "integer",
        "toType": "long",
        "fieldPath": "key",
    }
    assert [change["toType"] for change in twice.field("b").metadata["delta.typeChanges"]] == [
        "short",
        "integer",
    ]


def test_keeps_types():
    old = schema(a="long", s=struct(x=ArrayType("long"), y="long"))
    assert keeps_types(old, schema(new="long", s=struct(y="long", X=ArrayType("long")), A="long"))
    assert not keeps_types(old, schema(a="long"))
    assert not keeps_types(old, schema(a="long", s=struct(x=ArrayType("integer"), y="long")))
    assert not keeps_types(old, schema(a="long", s=struct(y="long")))


@settings(deadline=None, max_examples=examples(50))
@given(pairs(), st.booleans())
def test_merging_again_changes_nothing_and_what_was_there_stays(pair, widen):
    table, data = pair
    try:
        found = merge_schemas(table, data, widen=widen)
    except SchemaMismatchError:
        assert not widen  # a moment is no date
        return
    assert merge_schemas(found, data, widen=widen) == found
    assert merge_schemas(found, table, widen=widen) == found
    assert merge_schemas(table, table, widen=widen) == table
    assert found.names[: len(table)] == table.names
    assert as_nullable(found) == found
    assert find_refused_change(found) is None
    if not widen:
        assert keeps_types(table, found)
        assert "delta.typeChanges" not in found.to_json()


@settings(deadline=None, max_examples=examples(50))
@given(pairs(), st.booleans())
def test_data_conforms_after_merging_without_losing_anything(pair, widen):
    table, data = pair
    try:
        found = merge_schemas(table, data, widen=widen)
    except SchemaMismatchError:
        return
    batch = sample_rows(data)
    stored = conform(batch, found.to_arrow())
    ensure_conformable(batch.schema, found.to_arrow())
    for field in data.fields:
        column = stored.column(found.names.index(found.field(field.name).name))
        back = column if column.type == batch.column(field.name).type else None
        assert column.null_count == 1
        if back is not None:
            assert back.to_pylist() == batch.column(field.name).to_pylist()


def test_a_column_that_must_not_be_null_is_still_wanted():
    table = Schema([Field("a", "long", nullable=False), Field("b", "long")])
    found = merge_schemas(table, schema(b="long", c="long"), widen=False)
    with pytest.raises(ConstraintViolationError, match="'a' is missing"):
        ensure_conformable(schema(b="long", c="long").to_arrow(), found.to_arrow())
