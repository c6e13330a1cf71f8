"""Changes of a table's metadata by a write; the rules were observed in delta-spark 4.4."""

import json

import pyarrow as pa
import pytest

from deltaarrow.errors import SchemaMismatchError, UnsupportedFeatureError
from deltaarrow.operations.define.write_evolution import evolve
from deltaarrow.schema import (
    ArrayType,
    Field,
    MapType,
    Schema,
    StructType,
    assign_column_ids,
    field_id,
    physical_name,
)
from tests.support.engines import open_snapshot
from tests.support.tables import TableBuilder

TABLE = Schema(
    [
        Field("id", "long", nullable=False, metadata={"comment": "key"}),
        Field("s", StructType([Field("x", "integer")])),
        Field("day", "string"),
    ]
)


def snapshot_of(
    path,
    schema=TABLE,
    partitions=("day",),
    configuration=None,
    features=(),
    writer_features=(),
    domains=(),
):
    table = TableBuilder(path)
    if features or writer_features:
        table = table.features(*features, writer_only=writer_features)
    else:
        table = table.protocol()
    table = table.metadata(schema.to_json(), partitions, configuration, name="named", description="told")
    table.commit([table.domain(*each) for each in domains])
    return open_snapshot(path)


def changed(snapshot, data, schema_mode, partition_by=None):
    metadata, protocol = evolve(snapshot, data, schema_mode=schema_mode, partition_by=partition_by)
    assert protocol is None
    return metadata, Schema.from_json(metadata.schema_string)


def arrow(**types):
    return pa.schema(list(types.items()))


def test_nothing_changes_where_the_data_has_nothing_new(tmp_path):
    snapshot = snapshot_of(tmp_path)
    assert (
        evolve(snapshot, arrow(ID=pa.int8(), S=pa.struct([("X", pa.int64())])), schema_mode="merge") is None
    )
    nullable = Schema([Field("id", "long"), Field("day", "string")])
    same = snapshot_of(tmp_path / "nullable", nullable)
    assert evolve(same, nullable.to_arrow(), schema_mode="overwrite") is None


def test_merging_changes_the_schema_and_nothing_else(tmp_path):
    snapshot = snapshot_of(tmp_path, configuration={"owner": "me"})
    data = arrow(new=pa.large_string(), s=pa.struct([("y", pa.int8())]))
    metadata, schema = changed(snapshot, data, "merge")
    assert schema.fields[0] == TABLE.fields[0]
    assert schema.field("s").type.names == ["x", "y"]
    assert schema.names == ["id", "s", "day", "new"]
    kept = ("id", "name", "description", "partition_columns", "configuration", "created_time")
    for each in kept:
        assert getattr(metadata, each) == getattr(snapshot.metadata, each)


def test_overwriting_takes_the_schema_of_the_data_all_nullable(tmp_path):
    snapshot = snapshot_of(tmp_path, configuration={"owner": "me"})
    data = pa.schema(
        [
            pa.field("Day", pa.int64(), nullable=False, metadata={"comment": "now a number"}),
            pa.field("id", pa.string(), nullable=False),
        ]
    )
    metadata, schema = changed(snapshot, data, "overwrite")
    assert schema == Schema(
        [Field("Day", "long", metadata={"comment": "now a number"}), Field("id", "string")]
    )
    assert metadata.partition_columns == ("Day",)
    assert metadata.configuration == {"owner": "me"}
    assert metadata.id == snapshot.metadata.id


def test_overwriting_may_partition_the_table_anew(tmp_path):
    snapshot = snapshot_of(tmp_path)
    data = arrow(id=pa.int64(), day=pa.string())
    assert changed(snapshot, data, "overwrite", ["ID"])[0].partition_columns == ("id",)
    assert changed(snapshot, data, "overwrite", [])[0].partition_columns == ()
    with pytest.raises(SchemaMismatchError, match=r"no partition column 'day'.*partition_by"):
        evolve(snapshot, arrow(id=pa.int64()), schema_mode="overwrite")
    with pytest.raises(SchemaMismatchError, match="cannot partition"):
        evolve(snapshot, TABLE.to_arrow(), schema_mode="overwrite", partition_by=["s"])


@pytest.mark.parametrize("schema_mode", ["merge", "overwrite"])
@pytest.mark.parametrize(
    ("data", "match"),
    [
        (arrow(**{"a b": pa.int64()}), "'a b' contains one of the characters"),
        (arrow(t=pa.struct([("a=b", pa.int64())])), r"'t\.a=b' contains"),
        (arrow(new=pa.struct([])), "without fields"),
        (arrow(new=pa.list_(pa.null())), "void inside an array"),
        (arrow(new=pa.int64(), NEW=pa.int64()), "'new' and 'NEW'|'NEW' and 'new' have the same name"),
        (arrow(_Change_Type=pa.string()), "'_Change_Type' is reserved for the change data feed"),
        (arrow(_row=pa.int64()), "'_row' is reserved for row tracking"),
    ],
)
def test_names_and_types_that_a_table_cannot_have_are_refused(tmp_path, schema_mode, data, match):
    configuration = {
        "delta.enableChangeDataFeed": "true",
        "delta.rowTracking.materializedRowIdColumnName": "_row",
    }
    snapshot = snapshot_of(tmp_path, partitions=(), configuration=configuration)
    with pytest.raises(SchemaMismatchError, match=match):
        evolve(snapshot, data, schema_mode=schema_mode)


def test_names_of_change_data_are_free_where_there_is_none(tmp_path):
    _, schema = changed(snapshot_of(tmp_path), arrow(_change_type=pa.string(), _metadata=pa.int8()), "merge")
    assert schema.names[3:] == ["_change_type", "_metadata"]


WIDENING = {"delta.enableTypeWidening": "true"}


def widened(path, *features, **more):
    snapshot = snapshot_of(
        path,
        Schema([Field("a", "integer"), Field("b", "long")]),
        (),
        WIDENING | more,
        features or ("typeWidening",),
    )
    _, schema = changed(snapshot, arrow(a=pa.int64()), "merge")
    return schema.field("a")


def test_types_widen_where_the_table_enables_it(tmp_path):
    field = widened(tmp_path / "stable")
    assert field.type.type == "long"
    assert field.metadata == {"delta.typeChanges": [{"fromType": "integer", "toType": "long"}]}
    preview = widened(tmp_path / "preview", "typeWidening-preview")
    assert preview.metadata["delta.typeChanges"][0]["tableVersion"] == 1
    supported = snapshot_of(tmp_path / "off", Schema([Field("a", "integer")]), (), features=("typeWidening",))
    assert evolve(supported, arrow(a=pa.int64()), schema_mode="merge") is None


def test_overwriting_forgets_type_changes(tmp_path):
    field = Field("a", "long", metadata={"delta.typeChanges": [{"fromType": "byte", "toType": "long"}]})
    snapshot = snapshot_of(tmp_path, Schema([field]), (), WIDENING, ("typeWidening",))
    _, schema = changed(snapshot, arrow(a=pa.int64()), "overwrite")
    assert schema.field("a") == Field("a", "long")


def test_a_constraint_holds_its_columns(tmp_path):
    configuration = {"delta.constraints.Positive": "s . `x` > 0 AND `DAY` <> 'id, once'"}
    snapshot = snapshot_of(
        tmp_path, partitions=(), configuration=configuration, writer_features=("checkConstraints",)
    )
    changed(snapshot, arrow(s=pa.struct([("z", pa.int8())]), new=pa.int8()), "merge")
    fine = {"day": pa.string(), "s": pa.struct([("x", pa.int32())]), "id": pa.int64()}
    changed(snapshot, arrow(**fine), "overwrite")
    for broken in ({"day": pa.int64()}, {"s": pa.struct([("y", pa.int32())])}, {"id": pa.string()}):
        with pytest.raises(SchemaMismatchError, match=r"delta\.constraints\.Positive"):
            evolve(snapshot, arrow(**fine | broken), schema_mode="overwrite")


def test_a_generated_column_holds_what_it_is_made_of(tmp_path):
    made = Field("made", "long", metadata={"delta.generationExpression": "a + 1"})
    snapshot = snapshot_of(
        tmp_path,
        Schema([Field("a", "integer"), made, Field("b", "integer")]),
        (),
        WIDENING,
        ("typeWidening",),
        ("generatedColumns",),
    )
    changed(snapshot, arrow(b=pa.int64()), "merge")
    with pytest.raises(SchemaMismatchError, match="made relies on it"):
        evolve(snapshot, arrow(a=pa.int64()), schema_mode="merge")
    # Its values are data like any other once the schema is overwritten.
    _, schema = changed(snapshot, arrow(made=pa.int64()), "overwrite")
    assert schema.field("made") == Field("made", "long")


def test_columns_named_for_statistics_must_stay(tmp_path):
    configuration = {"delta.dataSkippingStatsColumns": "id, s.x"}
    snapshot = snapshot_of(tmp_path, partitions=(), configuration=configuration)
    changed(snapshot, arrow(new=pa.int64()), "merge")
    with pytest.raises(SchemaMismatchError, match=r"delta\.dataSkippingStatsColumns"):
        evolve(snapshot, arrow(id=pa.int64(), s=pa.struct([("y", pa.int8())])), schema_mode="overwrite")


def test_a_clustered_table_keeps_its_clustering_columns(tmp_path):
    domains = [("delta.clustering", json.dumps({"clusteringColumns": [["id"]]}))]
    snapshot = snapshot_of(tmp_path, partitions=(), domains=domains)
    assert changed(snapshot, arrow(id=pa.int64()), "overwrite")[1].names == ["id"]
    for data, partition_by in (
        (arrow(new=pa.int64()), None),
        (arrow(id=pa.bool_()), None),
        (arrow(id=pa.int64(), day=pa.date32()), ["day"]),
    ):
        with pytest.raises(SchemaMismatchError, match="clustering columns"):
            evolve(snapshot, data, schema_mode="overwrite", partition_by=partition_by)
        assert evolve(
            snapshot, data, schema_mode="overwrite", partition_by=partition_by, keeps_clustering=False
        )


@pytest.mark.parametrize("schema_mode", ["merge", "overwrite"])
def test_a_type_whose_feature_a_user_must_add_is_refused(tmp_path, schema_mode):
    snapshot = snapshot_of(tmp_path, partitions=())
    with pytest.raises(UnsupportedFeatureError, match="timestampNtz"):
        evolve(snapshot, arrow(at=pa.timestamp("us")), schema_mode=schema_mode)


MAPPED = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "9"}


def mapped_snapshot(path):
    schema, _ = assign_column_ids(Schema([*TABLE.fields, Field("xs", ArrayType("long"))]))
    return snapshot_of(path, schema, configuration=MAPPED, features=("columnMapping",))


def test_new_columns_of_a_mapped_table_get_ids_and_physical_names(tmp_path):
    snapshot = mapped_snapshot(tmp_path)
    data = arrow(**{"a b": pa.int8(), "s": pa.struct([("y", pa.int8())])})
    metadata, schema = changed(snapshot, data, "merge")
    assert schema.field("id") == snapshot.schema.field("id")
    assert [field_id(field) for field in schema.fields] == [1, 2, 4, 5, 11]
    assert field_id(schema.field("s").type.field("y")) == 10
    assert physical_name(schema.field("a b"), "name").startswith("col-")
    assert metadata.configuration == MAPPED | {"delta.columnMapping.maxColumnId": "11"}
    assert evolve(snapshot, arrow(id=pa.int64()), schema_mode="merge") is None


def test_columns_of_a_mapped_table_go_on_after_overwriting(tmp_path):
    snapshot = mapped_snapshot(tmp_path)
    data = arrow(xs=pa.list_(pa.int64()), day=pa.int64(), id=pa.int64())
    metadata, schema = changed(snapshot, data, "overwrite")
    assert [field_id(field) for field in schema.fields] == [5, 10, 1]
    assert physical_name(schema.field("id"), "name") == physical_name(snapshot.schema.field("id"), "name")
    assert metadata.configuration["delta.columnMapping.maxColumnId"] == "10"


def test_an_overwritten_schema_keeps_what_data_says_of_elements(tmp_path):
    """As a table that is made of the data does, and as deltalake; columns may hold NULL as ever."""
    values = pa.map_(pa.string(), pa.field("value", pa.int64(), nullable=False))
    lists = pa.list_(pa.field("element", pa.struct([pa.field("x", values)]), nullable=False))
    data = pa.schema(
        [pa.field("id", pa.int64(), nullable=False), ("lists", lists), ("open", pa.list_(pa.int8()))]
    )
    _, schema = changed(snapshot_of(tmp_path, partitions=()), data, "overwrite")
    within = StructType([Field("x", MapType("string", "long", value_contains_null=False))])
    assert schema.field("lists").type == ArrayType(within, contains_null=False)
    assert schema.field("open").type == ArrayType("byte", contains_null=True)
    assert schema.field("id").nullable
