"""Columns added, renamed, dropped and described by `table.alter`, and the refusals of each rule."""

import json

import pyarrow as pa
import pytest

import deltaarrow as da

ITEM = pa.struct([("i", pa.int32()), ("j", pa.int32())])
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("p", pa.string()),
        ("s", pa.struct([("x", pa.int32()), ("y", pa.string())])),
        ("a", pa.list_(ITEM)),
        ("m", pa.map_(pa.string(), ITEM)),
    ]
)
ROWS = pa.table(
    {
        "id": [1, 2],
        "p": ["u", "v"],
        "s": [{"x": 1, "y": "k"}, None],
        "a": [[{"i": 1, "j": 2}], None],
        "m": [[("k", {"i": 3, "j": 4})], None],
    },
    SCHEMA,
)
MAPPED = {"delta.columnMapping.mode": "name"}


@pytest.fixture
def plain(tmp_path):
    da.write_deltalake(tmp_path, ROWS, partition_by="p")
    return da.DeltaTable(tmp_path)


@pytest.fixture
def mapped(tmp_path):
    da.write_deltalake(tmp_path, ROWS, partition_by="p", configuration=MAPPED)
    return da.DeltaTable(tmp_path)


def told(table):
    info = table.history(1)[0]
    return info["operation"], {
        name: json.loads(text) if text[:1] in "[{" else text
        for name, text in info["operationParameters"].items()
    }


def refused(table, error, match, change):
    before = table.version()
    with pytest.raises(error, match=match) as caught:
        change(table.alter)
    assert da.DeltaTable(table.table_uri).version() == before
    return caught.value


# --- adding -------------------------------------------------------------------------------------------


def column(name, kind, metadata=None):
    return {"column": {"name": name, "type": kind, "nullable": True, "metadata": metadata or {}}}


def test_columns_are_added_at_every_level(plain):
    inner = da.StructType([da.Field("k", "integer")])
    plain.alter.add_columns(
        [
            da.Field("n", "integer", metadata={"comment": "new"}),
            da.Field("S", da.StructType([da.Field("z.z", "long")])),
            da.Field("a", da.ArrayType(inner)),
            da.Field("m", da.MapType("string", inner)),
            da.Field("t", inner),
        ]
    )
    added = [
        column("n", "integer", {"comment": "new"}),
        column("s.`z.z`", "long"),
        column("a.element.k", "integer"),
        column("m.value.k", "integer"),
        column("t", "struct"),
    ]
    assert told(plain) == ("ADD COLUMNS", {"columns": added})
    assert plain.schema().names == [*SCHEMA.names, "n", "t"]
    first = plain.to_pyarrow_table().sort_by("id").slice(0, 1).to_pylist(maps_as_pydicts="strict")[0]
    assert first["s"] == {"x": 1, "y": "k", "z.z": None}
    assert first["a"] == [{"i": 1, "j": 2, "k": None}]
    assert first["m"] == {"k": {"i": 3, "j": 4, "k": None}}


@pytest.mark.feature("columnMapping")
def test_added_columns_of_a_mapped_table_get_ids(mapped):
    mapped.alter.add_columns(da.Field("a b", da.StructType([da.Field("c", "long")])))
    new = mapped.schema().field("a b")
    assert new.metadata["delta.columnMapping.id"] == 12
    assert new.type.field("c").metadata["delta.columnMapping.id"] == 13
    assert mapped.metadata().configuration["delta.columnMapping.maxColumnId"] == "13"
    assert mapped.to_pyarrow_table()["a b"].to_pylist() == [None, None]


@pytest.mark.parametrize(
    ("field", "match"),
    [
        (da.Field("ID", "integer"), "the column 'id' exists already"),
        (da.Field("p", da.StructType([da.Field("x", "long")])), "the column 'p' exists already"),
        (da.Field("n", "integer", nullable=False), "'n' is NOT NULL"),
        (da.Field("a b", "integer"), "contains one of the characters"),
        (da.Field("n", da.StructType([])), "struct without fields"),
        (da.Field("n", "integer", metadata={"CURRENT_DEFAULT": "1"}), "comment and user metadata"),
        (da.Field("n", "long", metadata={"delta.generationExpression": "id"}), "comment and user metadata"),
        (da.Field("n", "long", metadata={"delta.columnMapping.id": 3}), "comment and user metadata"),
    ],
)
def test_columns_that_cannot_be_added(plain, field, match):
    refused(plain, da.SchemaMismatchError, match, lambda alter: alter.add_columns([field]))


@pytest.mark.feature("timestampNtz")
def test_a_type_that_needs_a_feature_is_added_after_it(plain):
    field = da.Field("at", "timestamp_ntz")
    error = refused(plain, da.UnsupportedFeatureError, "add_feature", lambda alter: alter.add_columns(field))
    assert error.feature == "timestampNtz"
    plain.alter.add_feature(da.TableFeatures.TimestampWithoutTimezone, True)
    plain.alter.add_columns(field)
    assert plain.schema().names[-1] == "at"


# --- renaming -----------------------------------------------------------------------------------------


@pytest.mark.feature("columnMapping")
def test_columns_are_renamed_at_every_level(mapped):
    for old, new, path in (
        ("ID", "a.b", "`a.b`"),
        ("p", "part", "part"),
        ("s.x", "x y", "s.x y"),
        ("a.element.i", "k", "a.element.k"),
        ("m.value.j", "l", "m.value.l"),
    ):
        mapped.alter.rename_column(old, new)
        assert told(mapped)[0] == "RENAME COLUMN"
        assert told(mapped)[1]["newColumnPath"] == path
    assert mapped.metadata().partition_columns == ["part"]
    row = mapped.to_pyarrow_table(filters=[("part", "=", "u")]).to_pylist(maps_as_pydicts="strict")[0]
    assert row == {
        "a.b": 1,
        "part": "u",
        "s": {"x y": 1, "y": "k"},
        "a": [{"k": 1, "j": 2}],
        "m": {"k": {"i": 3, "l": 4}},
    }
    mapped.alter.rename_column("`a.b`", "id")
    assert told(mapped)[1] == {"oldColumnPath": "`a.b`", "newColumnPath": "id"}
    rows = pa.table({"id": [3], "part": ["w"], "s": [{"x y": 5}]})
    da.write_deltalake(mapped.table_uri, rows, mode="append")
    mapped.update_incremental()
    assert sorted(mapped.to_pyarrow_table()["id"].to_pylist()) == [1, 2, 3]


@pytest.mark.feature("columnMapping")
@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ("nosuch", "n", "no column `nosuch`"),
        ("s.nosuch", "n", "no column `nosuch`"),
        ("id.x", "n", "'id' is not a struct"),
        ("a.element", "n", "is an array element"),
        ("s", "P", "same name up to case"),
        ("s", "p", "column 'p' exists already"),
        ("s.x", "y", "column 's.y' exists already"),
        ("s", "S", "already has the name"),
        ("s.x", "Y", "same name up to case"),
        ("id", "", "a column name is empty"),
        ("id,p", "n", "not the name of one column"),
    ],
)
def test_renamings_that_are_refused(mapped, old, new, match):
    refused(mapped, da.SchemaMismatchError, match, lambda alter: alter.rename_column(old, new))


def test_renaming_and_dropping_need_column_mapping(plain):
    for change in (lambda alter: alter.rename_column("id", "n"), lambda alter: alter.drop_columns("id")):
        error = refused(plain, da.UnsupportedFeatureError, "only in a table with column mapping", change)
        assert error.feature == "columnMapping"


@pytest.mark.feature("columnMapping")
def test_names_of_change_data_stay_reserved(mapped):
    mapped.alter.set_table_properties({"delta.enableChangeDataFeed": "true"})
    refused(
        mapped,
        da.SchemaMismatchError,
        "'_change_type' is reserved",
        lambda alter: alter.rename_column("id", "_change_type"),
    )


# --- dropping -----------------------------------------------------------------------------------------


@pytest.mark.feature("columnMapping")
def test_columns_are_dropped_at_every_level_and_do_not_come_back(mapped):
    mapped.alter.drop_columns(["s.x", "a", "m.value.j"])
    assert told(mapped) == ("DROP COLUMNS", {"columns": ["s.x", "a", "m.value.j"]})
    row = mapped.to_pyarrow_table(filters=[("id", "=", 1)]).to_pylist(maps_as_pydicts="strict")[0]
    assert row == {"id": 1, "p": "u", "s": {"y": "k"}, "m": {"k": {"i": 3}}}
    mapped.alter.add_columns(da.Field("a", da.ArrayType(da.Schema.from_arrow(pa.schema(ITEM)))))
    assert mapped.to_pyarrow_table()["a"].to_pylist() == [None, None]
    mapped.alter.drop_columns(["nosuch"], raise_if_not_exists=False)
    assert mapped.version() == 2


@pytest.mark.feature("columnMapping")
@pytest.mark.parametrize(
    ("columns", "match"),
    [
        ("p", "'p' is a partition column"),
        ("nosuch", "no column `nosuch`"),
        (["s.x", "s.y"], "struct without fields"),
        (["id", "s", "a", "m"], "all columns are partition columns"),
        ("m.key", "is an array element"),
    ],
)
def test_columns_that_cannot_be_dropped(mapped, columns, match):
    refused(mapped, da.SchemaMismatchError, match, lambda alter: alter.drop_columns(columns))


@pytest.mark.feature("columnMapping")
def test_the_columns_of_statistics_follow(mapped):
    key = "delta.dataSkippingStatsColumns"
    mapped.alter.set_table_properties({key: "id, s.x,S.y"})
    mapped.alter.rename_column("s", "s t")
    assert mapped.metadata().configuration[key] == "id,`s t`.x,`s t`.y"
    mapped.alter.drop_columns("`s t`.x")
    assert mapped.metadata().configuration[key] == "id,`s t`.y"
    mapped.alter.drop_columns(["id", "s t"])
    assert mapped.metadata().configuration[key] == ""


EXPRESSIONS = {"delta.constraints.c": "k > 0 AND s . x > 0"}
RELIED_ON = [
    da.Field("id", "long"),
    da.Field("k", "integer"),
    da.Field("s", da.StructType([da.Field("x", "integer"), da.Field("z", "integer")])),
    da.Field("g", "long", metadata={"delta.generationExpression": "id + 1"}),
]


@pytest.mark.feature("checkConstraints")
@pytest.mark.feature("generatedColumns")
def test_columns_that_expressions_rely_on_are_neither_renamed_nor_dropped(tmp_path):
    table = da.DeltaTable.create(tmp_path, da.Schema(RELIED_ON), configuration=MAPPED | EXPRESSIONS)
    for name, owner in (
        ("id", "g"),
        ("k", "constraints.c"),
        ("s", "constraints.c"),
        ("s.x", "constraints.c"),
    ):
        for change in (
            lambda alter, name=name: alter.rename_column(name, "other"),
            lambda alter, name=name: alter.drop_columns(name),
        ):
            refused(table, da.SchemaMismatchError, f"{owner} relies on it", change)
    table.alter.rename_column("s.z", "other")
    table.alter.drop_columns(["s.other", "g", "id"])
    assert table.schema().names == ["k", "s"]


# --- describing ---------------------------------------------------------------------------------------


def test_columns_are_described(plain):
    plain.alter.set_column_metadata("id", {"comment": "key", "unit": "one"})
    assert plain.schema().field("id").metadata == {"comment": "key", "unit": "one"}
    described = {
        "name": "id",
        "type": "long",
        "nullable": True,
        "metadata": {"comment": "key", "unit": "one"},
    }
    assert told(plain) == ("CHANGE COLUMN", {"column": described})
    plain.alter.set_column_metadata("s.x", {"comment": "inner"})
    plain.alter.set_column_metadata("id", {"unit": None})
    assert plain.schema().field("id").metadata == {"comment": "key"}
    assert plain.schema().field("s").type.field("x").metadata == {"comment": "inner"}


@pytest.mark.parametrize("key", ["comment", "CURRENT_DEFAULT"])
def test_metadata_that_spark_reads_as_text_is_text(tmp_path, key):
    table = da.DeltaTable.create(
        tmp_path,
        da.Schema([da.Field("id", "long")]),
        configuration={"delta.feature.allowColumnDefaults": "supported"},
    )
    for change in (
        lambda alter: alter.set_column_metadata("id", {key: 7}),
        lambda alter: da.DeltaTable.create(
            tmp_path / "other", da.Schema([da.Field("id", "long", metadata={key: 7})])
        ),
    ):
        refused(table, da.SchemaMismatchError, f"{key} .* is 7; give it as a text", change)


@pytest.mark.parametrize(
    "key", ["delta.invariants", "delta.columnMapping.id", "EXISTS_DEFAULT", "__CHAR_VARCHAR_TYPE_STRING"]
)
def test_metadata_that_engines_keep(plain, key):
    error = refused(
        plain,
        da.UnsupportedFeatureError,
        "only engines may set",
        lambda alter: alter.set_column_metadata("id", {key: "1"}),
    )
    assert error.feature == key


def test_not_null_is_dropped_and_not_set(tmp_path):
    inner = pa.struct([pa.field("x", pa.int32(), nullable=False)])
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("s", inner)])
    table = da.DeltaTable.create(tmp_path, schema)
    table.alter.drop_column_not_null("id")
    table.alter.drop_column_not_null("s.x")
    assert told(table)[1]["column"] == {"name": "s.x", "type": "integer", "nullable": True, "metadata": {}}
    da.write_deltalake(tmp_path, pa.table({"id": pa.nulls(1, pa.int64())}), mode="append")
    with pytest.raises(da.SchemaMismatchError, match="no column"):
        table.alter.drop_column_not_null("nosuch")


@pytest.mark.feature("identityColumns")
def test_an_identity_column_goes_on_after_the_numbers_that_rows_have(tmp_path):
    numbered = {
        "delta.identity.start": 1,
        "delta.identity.step": 1,
        "delta.identity.allowExplicitInsert": True,
    }
    columns = [da.Field("id", "long", metadata=numbered), da.Field("v", "string")]
    table = da.DeltaTable.create(tmp_path, da.Schema(columns))
    da.write_deltalake(tmp_path, pa.table({"id": [7], "v": ["given"]}), mode="append")
    table.update_incremental()
    refused(table, da.SchemaMismatchError, "no identity column 'v'", lambda alter: alter.sync_identity("v"))
    table.alter.sync_identity("id")
    da.write_deltalake(tmp_path, pa.table({"v": ["next"]}), mode="append")
    table.update_incremental()
    assert sorted(table.to_pyarrow_table()["id"].to_pylist()) == [7, 8]


def test_a_column_that_is_not_there_is_dropped_from_any_table(tmp_path):
    da.write_deltalake(tmp_path / "t", pa.table({"id": [1], "n": [2]}))
    table = da.DeltaTable(tmp_path / "t")
    table.alter.drop_columns(["nosuch"], raise_if_not_exists=False)
    assert table.version() == 0
    with pytest.raises(da.UnsupportedFeatureError, match="column mapping"):
        table.alter.drop_columns(["nosuch", "n"], raise_if_not_exists=False)
