"""Types, defaults, NOT NULL and positions of columns changed by `table.alter`, and the refusals."""

import json

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import deltaarrow as da
from deltaarrow import ColumnChange
from deltaarrow.schema import Position, add_fields, move_field, without_column_ids
from tests.operations.test_altering_columns import MAPPED, refused, told
from tests.support.examples import examples

WIDENING = {"delta.enableTypeWidening": "true"}
SCHEMA = pa.schema(
    [
        ("id", pa.int32()),
        ("s", pa.struct([("x", pa.int32()), ("y", pa.string())])),
        ("a", pa.list_(pa.int16())),
        ("p", pa.int32()),
    ]
)
ROWS = pa.table(
    {"id": [1, 2], "s": [{"x": 1, "y": "a"}, {"x": 2, "y": None}], "a": [[1], [2, 3]], "p": [1, 2]}, SCHEMA
)


@pytest.fixture
def table(tmp_path):
    da.write_deltalake(tmp_path, ROWS, partition_by="p", configuration=WIDENING)
    return da.DeltaTable(tmp_path)


# --- types --------------------------------------------------------------------------------------------


@pytest.mark.feature("typeWidening")
def test_a_type_becomes_wider_at_every_level_and_new_rows_use_it(table):
    table.alter.change_columns(
        {
            "id": ColumnChange(type="long", comment="key"),
            "s.x": ColumnChange(type=da.PrimitiveType("double")),
            "a.element": ColumnChange(type="integer"),
            "p": ColumnChange(type="long"),
        }
    )
    assert told(table)[0] == "CHANGE COLUMNS"
    changed = table.schema().field("a").metadata["delta.typeChanges"]
    assert changed == [{"fromType": "short", "toType": "integer", "fieldPath": "element"}]
    new = pa.table({"id": [2**40], "s": [{"x": 0.5, "y": "b"}], "a": [[2**20]], "p": [2**50]})
    da.write_deltalake(table.table_uri, new, mode="append")
    table.update_incremental()
    found = table.to_pyarrow_table(filters="p >= 2").sort_by("id")
    assert found["id"].to_pylist() == [2, 2**40]
    assert found["a"].to_pylist() == [[2, 3], [2**20]]
    assert found["p"].to_pylist() == [2, 2**50]


@pytest.mark.feature("typeWidening")
@pytest.mark.parametrize(
    ("column", "kind", "match"),
    [
        ("id", "short", "NOT_SUPPORTED_CHANGE_COLUMN"),
        ("id", "string", "only changes that lose no value"),
        ("id", "decimal(9,0)", "from integer to decimal"),
        ("s", "string", "one by one"),
        ("id", da.ArrayType("integer"), "one by one"),
        ("id", "varchar(9)", "texts may only become longer"),
        ("nosuch", "long", "no column `nosuch`"),
    ],
)
def test_types_that_a_column_cannot_take(table, column, kind, match):
    refused(table, da.SchemaMismatchError, match, lambda alter: alter.change_column(column, type=kind))


def test_a_column_that_has_the_type_stays_without_a_commit(table):
    table.alter.change_column("id", type="integer")
    assert table.version() == 0


def test_types_are_widened_only_where_the_table_allows_it(tmp_path):
    da.write_deltalake(tmp_path, ROWS)
    table = da.DeltaTable(tmp_path)
    error = refused(
        table,
        da.UnsupportedFeatureError,
        "set delta.enableTypeWidening to true",
        lambda alter: alter.change_column("id", type="long"),
    )
    assert error.feature == "typeWidening"


@pytest.mark.feature("checkConstraints")
@pytest.mark.feature("generatedColumns")
@pytest.mark.feature("identityColumns")
def test_types_that_expressions_rely_on_stay(tmp_path):
    number = {"delta.identity.start": 1, "delta.identity.step": 1, "delta.identity.allowExplicitInsert": True}
    columns = [
        da.Field("id", "integer"),
        da.Field("s", da.StructType([da.Field("x", "integer"), da.Field("z", "integer")])),
        da.Field("g", "long", metadata={"delta.generationExpression": "CAST(id AS BIGINT)"}),
        da.Field("i", "long", metadata=number),
        da.Field("w", "integer"),
    ]
    table = da.DeltaTable.create(tmp_path, da.Schema(columns), configuration=WIDENING)
    table.alter.add_constraint({"c": "s.x > 0"})
    for column, kind, match in (
        ("id", "long", "g relies on it"),
        ("s.x", "long", "DELTA_CONSTRAINT_DEPENDENT_COLUMN_CHANGE"),
        ("g", "decimal(20,0)", "DELTA_GENERATED_COLUMNS"),
        ("i", "decimal(20,0)", "DELTA_IDENTITY_COLUMNS_ALTER_COLUMN_NOT_SUPPORTED"),
    ):
        refused(
            table,
            da.SchemaMismatchError,
            match,
            lambda alter, column=column, kind=kind: alter.change_column(column, type=kind),
        )
    refused(table, da.SchemaMismatchError, "identity", lambda alter: alter.change_column("i", nullable=True))
    table.alter.change_column("s.z", type="long")
    table.alter.change_column("i", comment="numbers", position="FIRST")
    assert table.schema().names == ["i", "id", "s", "g", "w"]


# --- NOT NULL -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("column", ["id", "s", "s.x", "p"])
def test_a_column_without_null_becomes_not_null(table, column):
    table.alter.change_column(column, nullable=False)
    described = json.loads(table.history(1)[0]["operationParameters"]["column"])
    assert (described["name"], described["nullable"]) == (column, False)
    row = {"id": [3], "s": [{"x": 3, "y": "b"}], "a": [[3]], "p": [3]}
    da.write_deltalake(table.table_uri, pa.table(row, SCHEMA), mode="append")
    bad = pa.table({**row, column.split(".")[0]: [None]}, SCHEMA)
    with pytest.raises(da.ConstraintViolationError, match="NULL"):
        da.write_deltalake(table.table_uri, bad, mode="append")


def test_only_files_that_may_hold_null_are_read(tmp_path):
    da.write_deltalake(tmp_path, pa.table({"id": [1]}))
    (tmp_path / da.DeltaTable(tmp_path).file_uris()[0].rpartition("/")[2]).write_bytes(b"unreadable")
    table = da.DeltaTable(tmp_path)
    table.alter.change_column("id", nullable=False)
    assert not table.schema().field("id").nullable


@pytest.mark.parametrize("column", ["s.y", "n", "a.element"])
def test_a_column_with_null_stays_nullable(table, column):
    table.alter.add_columns(da.Field("n", "integer"))
    error = da.SchemaMismatchError if column == "a.element" else da.ConstraintViolationError
    match = "only the type can change" if column == "a.element" else "rows of .* have NULL"
    refused(table, error, match, lambda alter: alter.change_column(column, nullable=False))


def test_a_null_that_another_writer_adds_meanwhile_is_a_conflict(table):
    stale = da.DeltaTable(table.table_uri)
    fine = pa.table({"id": [3], "s": [{"x": 3, "y": "b"}], "a": [[3]], "p": [3]}, SCHEMA)
    da.write_deltalake(table.table_uri, fine, mode="append")
    stale.alter.change_column("id", nullable=False)
    assert stale.version() == 2
    stale = da.DeltaTable(table.table_uri)
    empty = pa.table({**fine.to_pydict(), "s": [None]}, fine.schema)
    da.write_deltalake(table.table_uri, empty, mode="append")
    with pytest.raises(da.ConcurrentAppendException):
        stale.alter.change_column("s", nullable=False)


# --- defaults, comments, positions --------------------------------------------------------------------


@pytest.mark.feature("allowColumnDefaults")
def test_a_default_is_set_and_dropped(table):
    error = refused(
        table,
        da.UnsupportedFeatureError,
        "allowColumnDefaults",
        lambda alter: alter.change_column("id", default="5"),
    )
    assert error.feature == "allowColumnDefaults"
    table.alter.add_feature(da.TableFeatures.AllowColumnDefaults, True)
    table.alter.change_column("id", default="5 + 7")
    rest = pa.table({"s": [None], "a": [None], "p": [3]}, pa.schema(list(SCHEMA)[1:]))
    da.write_deltalake(table.table_uri, rest, mode="append")
    table.update_incremental()
    assert table.to_pyarrow_table(filters="p = 3")["id"].to_pylist() == [12]
    table.alter.change_column("id", drop_default=True)
    assert table.schema().field("id").metadata == {}
    for column, text, match in (
        ("id", "'a'", "not a valid"),
        ("s.x", "1", "only whole columns"),
        ("id", "nosuch", "nosuch"),
    ):
        with pytest.raises(da.DeltaError, match=match):
            table.alter.change_column(column, default=text)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({}, "no column to change"),
        ({"id": ColumnChange(comment="a"), "ID": ColumnChange(comment="b")}, "CHANGE_SAME_COLUMN"),
        ({"s": ColumnChange(comment="a"), "s.x": ColumnChange(comment="b")}, "CHANGE_SAME_COLUMN"),
        ({"id": ColumnChange(position="LAST")}, "write 'FIRST' or 'AFTER name'"),
        ({"id": ColumnChange(position="AFTER nosuch")}, "no column `nosuch`"),
        ({"s.x": ColumnChange(position="AFTER id")}, "no column `id`"),
        ({"a.element": ColumnChange(comment="c")}, "DELTA_UNSUPPORTED_COMMENT_MAP_ARRAY"),
    ],
)
def test_changes_that_are_refused(table, changes, match):
    refused(table, da.SchemaMismatchError, match, lambda alter: alter.change_columns(changes))


def test_a_change_says_what_it_changes():
    with pytest.raises(ValueError, match="at least one argument"):
        ColumnChange()
    with pytest.raises(ValueError, match="both get a default and lose it"):
        ColumnChange(default="1", drop_default=True)


@pytest.mark.parametrize(
    ("positions", "match"),
    [
        ({"n": "AFTER nosuch"}, "no column `nosuch`"),
        ({"n": "BEFORE id"}, "not the position"),
        ({"other": "FIRST"}, "not among the new columns"),
        ({"n,m": "FIRST"}, "not the name of one column"),
    ],
)
def test_positions_that_new_columns_cannot_have(table, positions, match):
    field = da.Field("n", "integer")
    refused(table, da.SchemaMismatchError, match, lambda alter: alter.add_columns(field, positions=positions))


@pytest.mark.feature("clustering")
def test_a_clustering_column_stays_among_those_with_statistics(tmp_path):
    properties = WIDENING | {"delta.dataSkippingNumIndexedCols": "2"}
    schema = pa.schema([("a", pa.int32()), ("b", pa.int32()), ("c", pa.int32())])
    table = da.DeltaTable.create(tmp_path, schema, configuration=properties, cluster_by=["b"])
    field = da.Field("n", "integer")
    for change in (
        lambda alter: alter.change_column("c", position="FIRST"),
        lambda alter: alter.add_columns(field, positions={"n": "FIRST"}),
        lambda alter: alter.replace_columns([da.Field(name, "integer") for name in "acb"]),
    ):
        refused(table, da.SchemaMismatchError, "does not fit the clustering columns", change)
    table.alter.change_column("b", position="FIRST", type="long")
    assert table.detail()["clusteringColumns"] == ["b"]


def test_fields_inside_a_column_with_text_limits_stay_in_their_places(tmp_path):
    limited = {"__CHAR_VARCHAR_TYPE_STRING": "struct<x:varchar(3),y:varchar(9)>"}
    inner = da.StructType([da.Field("x", "string"), da.Field("y", "string")])
    schema = da.Schema([da.Field("s", inner, metadata=limited)])
    table = da.DeltaTable.create(tmp_path, schema, configuration={"delta.columnMapping.mode": "name"})
    reordered = da.StructType([da.Field("y", "string"), da.Field("x", "string")])
    for error, change in (
        (da.UnsupportedFeatureError, lambda alter: alter.change_column("s.y", position="FIRST")),
        (da.UnsupportedFeatureError, lambda alter: alter.drop_columns(["s.x"])),
        (da.SchemaMismatchError, lambda alter: alter.replace_columns([da.Field("s", reordered)])),
    ):
        refused(table, error, "count by their place", change)


# --- replacing ----------------------------------------------------------------------------------------


def test_limits_of_texts_in_an_array_stay(tmp_path):
    limited = {"__CHAR_VARCHAR_TYPE_STRING": "array<varchar(2)>"}
    schema = da.Schema([da.Field("a", da.ArrayType("string"), metadata=limited)])
    table = da.DeltaTable.create(tmp_path, schema)
    refused(
        table,
        da.SchemaMismatchError,
        "limits of texts in it stay",
        lambda alter: alter.change_column("a.element", type="varchar(5)"),
    )
    table.alter.change_column("a.element", type="string")
    assert table.version() == 0


def test_columns_are_replaced_in_another_order_and_with_new_ones(table):
    inner = da.StructType([da.Field("y", "string"), da.Field("n", "date"), da.Field("x", "long")])
    columns = [
        da.Field("p", "integer"),
        da.Field("s", inner, metadata={"comment": "new"}),
        da.Field("a", da.ArrayType("short")),
        da.Field("z", "string"),
        da.Field("ID", "integer"),
    ]
    table.alter.replace_columns(columns)
    assert table.schema().names == ["p", "s", "a", "z", "id"]
    assert table.schema().field("s").metadata["comment"] == "new"
    found = table.to_pyarrow_table().sort_by("id").to_pylist()
    assert found[0] == {"p": 1, "s": {"y": "a", "n": None, "x": 1}, "a": [1], "z": None, "id": 1}
    table.alter.replace_columns(table.schema().fields)
    assert table.version() == 2


@pytest.mark.parametrize(
    ("columns", "match"),
    [
        ([("id", "integer")], "columns are dropped only"),
        ([("id", "integer"), ("ID", "integer")], "given twice"),
        ([("id", "short"), ("s", None), ("a", None), ("p", None)], "lose no value"),
        ([("id", da.StructType([])), ("s", None), ("a", None), ("p", None)], "cannot change from"),
    ],
)
def test_columns_that_cannot_replace_others(table, columns, match):
    present = table.schema()
    given = [da.Field(name, present.field(name).type if kind is None else kind) for name, kind in columns]
    refused(table, da.SchemaMismatchError, match, lambda alter: alter.replace_columns(given))


@pytest.mark.feature("columnMapping")
@pytest.mark.feature("clustering")
def test_a_clustering_column_that_would_be_dropped_is_named_as_users_name_it(tmp_path):
    inner = da.StructType([da.Field("x", "long"), da.Field("y", "long")])
    schema = [da.Field("id", "long"), da.Field("s", inner)]
    table = da.DeltaTable.create(tmp_path, da.Schema(schema), configuration=MAPPED)
    table.alter.cluster_by(["s.x"])
    for change in (
        lambda alter: alter.drop_columns(["s"]),
        lambda alter: alter.drop_columns(["s.x"]),
        lambda alter: alter.replace_columns(schema[:1]),
    ):
        refused(table, da.SchemaMismatchError, "'s.x' is a clustering column", change)


@pytest.mark.feature("columnMapping")
@pytest.mark.feature("checkConstraints")
def test_columns_that_a_replacement_must_keep(tmp_path):
    schema = [da.Field(name, "integer") for name in ("id", "k", "p", "w")]
    table = da.DeltaTable.create(
        tmp_path, da.Schema(schema), partition_by=["p"], configuration=MAPPED | WIDENING
    )
    table.alter.add_constraint({"c": "k > 0"})
    by_name = {field.name: field for field in schema}
    for kept, match in (("id k w", "DROP_PARTITION"), ("id p w", "constraints.c relies on it")):
        refused(
            table,
            da.SchemaMismatchError,
            match,
            lambda alter, kept=kept: alter.replace_columns([by_name[name] for name in kept.split()]),
        )
    for columns, match in (
        ([*schema[:3], da.Field("n", "integer")], "not clear whether"),
        ([*schema, da.Field("n", "integer", nullable=False)], "is NOT NULL"),
        ([*schema[:3], da.Field("w", "integer", nullable=False)], "together with others"),
        ([schema[0], da.Field("k", "long"), *schema[2:]], "relies on it"),
    ):
        refused(
            table,
            da.SchemaMismatchError,
            match,
            lambda alter, columns=columns: alter.replace_columns(columns),
        )
    table.alter.replace_columns([by_name["p"], by_name["k"]])
    table.alter.replace_columns([by_name["p"], by_name["k"], by_name["id"]])
    ids = [field.metadata["delta.columnMapping.id"] for field in table.schema().fields]
    assert ids == [3, 2, 5]
    clustered = da.DeltaTable.create(
        tmp_path / "c", da.Schema(schema), cluster_by=["k"], configuration=MAPPED
    )
    refused(
        clustered,
        da.SchemaMismatchError,
        "DELTA_UNSUPPORTED_DROP_CLUSTERING_COLUMN",
        lambda alter: alter.replace_columns(schema[:1]),
    )


# --- random orders ------------------------------------------------------------------------------------

NAMES = ["a", "b", "c", "d"]
MOVES = st.lists(
    st.tuples(st.sampled_from(NAMES), st.none() | st.sampled_from(NAMES), st.booleans()), max_size=12
)


@given(MOVES)
@settings(max_examples=examples(20), deadline=None, suppress_health_check=list(HealthCheck))
def test_moves_give_the_order_of_a_list(moves):
    """A list of names moved by the same steps has the order of the schema, at both levels."""
    inner = da.StructType([da.Field(name, "integer") for name in NAMES])
    schema = da.Schema([*(da.Field(name, "integer") for name in NAMES), da.Field("s", da.ArrayType(inner))])
    orders = {True: list(NAMES), False: [*NAMES, "s"]}
    for name, after, is_inside in moves:
        path = ("s", "element", name) if is_inside else (name,)
        schema = move_field(schema, path, Position(after))
        if name != after:
            order = orders[is_inside]
            order.remove(name)
            order.insert(0 if after is None else order.index(after) + 1, name)
    assert schema.names == orders[False]
    assert schema.field("s").type.element_type.names == orders[True]
    assert without_column_ids(schema) == schema
    again, added = add_fields(schema, [da.Field("n", "long")], {("N",): Position("B")})
    assert again.names[again.names.index("b") + 1] == "n"
    assert [path for path, _ in added] == [("n",)]
