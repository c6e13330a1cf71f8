"""Tables readable as Iceberg: the output under each version of the rules, and each rule broken."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaarrow as da
from deltaarrow.actions import AddFile
from deltaarrow.errors import InvalidTablePropertyError
from deltaarrow.schema.metadata_keys import NESTED_IDS_KEY
from tests.support.tables import TableBuilder

V1, V2, V3 = ({f"delta.enableIcebergCompatV{version}": "true"} for version in (1, 2, 3))
MAPPED = {"delta.columnMapping.mode": "name"}
WIDENING = {"delta.enableTypeWidening": "true"}
VECTORS = {"delta.enableDeletionVectors": "true"}
FLAT = pa.schema([("id", pa.int32()), ("p", pa.string()), ("at", pa.timestamp("us", "UTC"))])
NESTED = pa.schema(
    [
        ("p", pa.string()),
        ("m", pa.map_(pa.struct([("a", pa.list_(pa.int32()))]), pa.list_(pa.int32()))),
        ("s", pa.struct([("x", pa.map_(pa.int32(), pa.int32()))])),
        ("aa", pa.list_(pa.list_(pa.struct([("z", pa.int32())])))),
    ]
)
BOTH = [
    pytest.param(1, marks=pytest.mark.feature("icebergCompatV1")),
    pytest.param(2, marks=pytest.mark.feature("icebergCompatV2")),
]


def switch(version):
    return f"delta.enableIcebergCompatV{version}"


def files(table):
    names = table.snapshot.files(columns=["path"])["path"].to_pylist()
    return [pq.ParquetFile(f"{table.table_uri}/{name}") for name in names]


def commits(table):
    return sorted((Path(table.table_uri) / "_delta_log").glob("*.json"))


def refused(table, error, match, change):
    before = commits(table)
    with pytest.raises(error, match=match):
        change(table)
    assert commits(table) == before


def set_properties(**properties):
    """A change of a table; ``__`` in the names stands for a dot."""
    given = {f"delta.{name.replace('__', '.')}": text for name, text in properties.items()}
    return lambda table: table.alter.set_table_properties(given)


# --- what is written ----------------------------------------------------------------------------------


@pytest.mark.parametrize("version", BOTH)
def test_a_new_table_brings_what_the_rules_need(tmp_path, version):
    table = da.DeltaTable.create(tmp_path, FLAT, configuration={switch(version): "true"})
    assert table.metadata().configuration == {
        switch(version): "true",
        "delta.columnMapping.mode": "name",
        "delta.universalFormat.iceberg.atomicConversion.supported": "true",
        "delta.columnMapping.maxColumnId": "3",
    }
    protocol = table.protocol()
    assert (protocol.min_reader_version, protocol.min_writer_version) == (2, 7)
    wanted = {f"icebergCompatV{version}", "columnMapping", "appendOnly", "invariants"}
    assert set(protocol.writer_features) == wanted


@pytest.mark.parametrize("version", BOTH)
def test_files_hold_the_partition_columns_last_and_times_in_microseconds(tmp_path, version):
    rows = pa.table({"id": [1, 2, 3], "p": ["a", "", None], "at": [1, 2, 3]}, FLAT)
    da.write_deltalake(tmp_path, rows, partition_by="p", configuration={switch(version): "true"})
    table = da.DeltaTable(tmp_path)
    schema = table.schema()
    names = [schema.field(name).metadata["delta.columnMapping.physicalName"] for name in ("id", "at", "p")]
    for file in files(table):
        assert file.schema_arrow.names == names
        assert [field.metadata[b"PARQUET:field_id"] for field in file.schema_arrow] == [b"1", b"3", b"2"]
        assert file.schema.column(1).physical_type == "INT64"
        assert "timeUnit=microseconds" in str(file.schema.column(1).logical_type)
    values = sorted((file.read()[names[2]].to_pylist() for file in files(table)), key=repr)
    assert values == [["a"], [None, None]]  # the log has no empty string
    tags = table.snapshot.files(columns=["tags"])["tags"].to_pylist(maps_as_pydicts="strict")
    assert tags == [None if version == 1 else {"ICEBERG_COMPAT_VERSION": "2"}] * 2
    statistics = table.snapshot.files(columns=["stats"])["stats"].to_pylist()
    assert all(names[2] not in text and "numRecords" in text for text in statistics)
    assert sorted(table.to_pyarrow_table()["id"].to_pylist()) == [1, 2, 3]


@pytest.mark.feature("icebergCompatV2")
def test_elements_keys_and_values_have_field_ids(tmp_path):
    value = {"m": [({"a": [1]}, [2])], "s": {"x": [(3, 4)]}, "aa": [[{"z": 5}]], "p": "a"}
    da.write_deltalake(tmp_path, pa.Table.from_pylist([value], NESTED), partition_by="p", configuration=V2)
    table = da.DeltaTable(tmp_path)
    names = {}

    def ids_of(fields, path=""):
        """Ids by logical paths, which are easier to read than physical ones."""
        for field in fields:
            physical = field.metadata["delta.columnMapping.physicalName"]
            names[field.metadata["delta.columnMapping.id"]] = path + field.name
            for inner, number in field.metadata[NESTED_IDS_KEY].items():
                assert inner.startswith(f"{physical}.")
                names[number] = path + field.name + inner.removeprefix(physical)
            within = [field.type]
            while within:
                part = within.pop()
                if isinstance(part, da.StructType):
                    ids_of(part.fields, f"{path}{field.name}/")
                elif isinstance(part, da.ArrayType):
                    within.append(part.element_type)
                elif isinstance(part, da.MapType):
                    within += [part.value_type, part.key_type]

    ids_of(table.schema().fields)
    # Those of all columns first, then their parts, each part before what is in it, as in Spark.
    assert [names[number] for number in sorted(names)] == [
        *("p", "m", "m/a", "s", "s/x", "aa", "aa/z"),
        *("m.key", "m/a.element", "m.value", "m.value.element"),
        *("s/x.key", "s/x.value", "aa.element", "aa.element.element"),
    ]
    assert table.metadata().configuration["delta.columnMapping.maxColumnId"] == str(len(names))
    (file,) = files(table)
    found = [line.split("field_id=")[1] for line in str(file.schema).splitlines() if "field_id=" in line]
    numbers = [int(text.split(" ")[0]) for text in found]
    assert sorted(number for number in numbers if number > 0) == sorted(names)
    (read,) = table.to_pyarrow_table().to_pylist()
    assert read == value
    table.alter.add_columns(da.Field("n", da.ArrayType("integer")))
    new = table.schema().field("n")
    assert list(new.metadata[NESTED_IDS_KEY].values()) == [len(names) + 2]


@pytest.mark.parametrize("version", BOTH)
def test_a_table_that_is_mapped_gets_the_rules(tmp_path, version):
    da.write_deltalake(tmp_path, pa.table({"id": [1], "p": ["a"]}), partition_by="p")
    table = da.DeltaTable(tmp_path)
    refused(
        table,
        InvalidTablePropertyError,
        "columnMapping",
        lambda t: t.alter.set_table_properties({switch(version): "true"}),
    )
    table.alter.set_table_properties({switch(version): "true", "delta.columnMapping.mode": "name"})
    assert "delta.universalFormat.iceberg.atomicConversion.supported" not in table.metadata().configuration
    da.write_deltalake(tmp_path, pa.table({"id": [2], "p": ["a"]}), mode="append")
    table.update_incremental()
    assert sorted(file.schema_arrow.names for file in files(table)) == [["id"], ["id", "p"]]
    assert sorted(table.to_pyarrow_table()["id"].to_pylist()) == [1, 2]
    other = 3 - version
    table.alter.set_table_properties({switch(version): "false", switch(other): "true"})
    assert (NESTED_IDS_KEY in table.schema().field("id").metadata) is True
    table.alter.unset_table_properties(switch(other))


# --- the rules ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "properties", "match"),
    [
        (FLAT, V1 | V2, "exclude each other"),
        (FLAT, V1 | VECTORS, "icebergCompatV1 does not allow delta.enableDeletionVectors"),
        (FLAT, V2 | VECTORS, "icebergCompatV2 does not allow delta.enableDeletionVectors"),
        (FLAT, V2 | {"delta.columnMapping.mode": "none"}, "icebergCompatV2 needs delta.columnMapping.mode"),
        (NESTED, V1, "does not allow the type map of column 'm'"),
        (pa.schema([("id", pa.int32()), ("a", pa.list_(pa.int32()))]), V1, "type array of column 'a'"),
        (pa.schema([("id", pa.int32()), ("v", pa.null())]), V1, "type void of column 'v'"),
        (pa.schema([("id", pa.int32()), ("v", pa.null())]), V2, "type void of column 'v'"),
    ],
)
@pytest.mark.feature("icebergCompatV1")
@pytest.mark.feature("icebergCompatV2")
def test_tables_that_cannot_be_made(tmp_path, schema, properties, match):
    with pytest.raises((InvalidTablePropertyError, da.SchemaMismatchError), match=match):
        da.DeltaTable.create(tmp_path, schema, configuration=properties)
    assert not da.DeltaTable.is_deltatable(tmp_path)


@pytest.mark.feature("icebergCompatV2")
def test_decimals_are_no_partition_columns(tmp_path):
    schema = pa.schema([("id", pa.int32()), ("d", pa.decimal128(4, 2)), ("f", pa.float64())])
    with pytest.raises(da.SchemaMismatchError, match="decimal partition column 'd'"):
        da.DeltaTable.create(tmp_path, schema, partition_by=["f", "d"], configuration=V2)
    da.DeltaTable.create(tmp_path, schema, partition_by=["f", "d"], configuration=V1)


@pytest.mark.feature("icebergCompatV2")
def test_properties_that_a_table_with_rules_does_not_take(tmp_path):
    table = da.DeltaTable.create(tmp_path, FLAT, configuration=V2)
    for change, match in (
        (set_properties(enableDeletionVectors="true"), "does not allow delta.enableDeletionVectors"),
        (set_properties(enableIcebergCompatV1="true"), "exclude each other"),
        (set_properties(columnMapping__mode="none"), "icebergCompatV2 needs delta.columnMapping.mode"),
    ):
        refused(table, InvalidTablePropertyError, match, change)


@pytest.mark.parametrize("version", BOTH)
def test_columns_that_a_table_with_rules_does_not_take(tmp_path, version):
    properties = {switch(version): "true"} | WIDENING
    table = da.DeltaTable.create(tmp_path, FLAT, partition_by="p", configuration=properties)
    kind = da.ArrayType("integer") if version == 1 else da.PrimitiveType("void")
    refused(
        table,
        da.SchemaMismatchError,
        f"icebergCompatV{version} does not allow the type",
        lambda table: table.alter.add_columns(da.Field("x", kind)),
    )
    rows = pa.table({"p": ["a"], "x": [[1]] if version == 1 else pa.nulls(1)})
    refused(
        table,
        da.SchemaMismatchError,
        "does not allow the type",
        lambda table: da.write_deltalake(table, rows, mode="append", schema_mode="merge"),
    )
    other = pa.table({"id": [1], "p": ["a"]})
    refused(
        table,
        da.SchemaMismatchError,
        r"does not allow the new partition columns \['id'\]",
        lambda table: da.write_deltalake(
            table, other, mode="overwrite", schema_mode="overwrite", partition_by=["id"]
        ),
    )
    wider = pa.table({"id": pa.array([1], pa.int64()), "p": ["a"]})
    da.write_deltalake(tmp_path, wider, mode="append", schema_mode="merge")
    assert da.DeltaTable(tmp_path).schema().field("id").type == da.PrimitiveType("long")


@pytest.mark.feature("icebergCompatV1")
@pytest.mark.feature("icebergCompatV2")
@pytest.mark.parametrize(
    ("old", "new"), [("date", "timestamp_ntz"), ("integer", "double"), ("decimal(10,2)", "decimal(12,3)")]
)
def test_type_changes_that_iceberg_does_not_know(tmp_path, old, new):
    changes = {"delta.typeChanges": [{"fromType": old, "toType": new}]}
    builder = TableBuilder(tmp_path)
    builder.features("typeWidening", "columnMapping", "timestampNtz")
    ids = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "c"}
    schema = da.Schema([da.Field("c", new, metadata=ids | changes)])
    builder.metadata(schema.to_json(), configuration=MAPPED | {"delta.columnMapping.maxColumnId": "1"})
    builder.commit()
    for version in (1, 2):
        refused(
            da.DeltaTable(tmp_path),
            da.SchemaMismatchError,
            f"icebergCompatV{version} does not allow the change of column 'c'",
            lambda table, version=version: table.alter.set_table_properties({switch(version): "true"}),
        )


@pytest.mark.feature("icebergCompatV2")
def test_deletion_vectors_have_to_go_first(tmp_path):
    da.write_deltalake(tmp_path, pa.table({"id": [1, 2]}), configuration=MAPPED | VECTORS)
    da.write_deltalake(tmp_path, pa.table({"id": [3]}), mode="overwrite", predicate="id = 1 OR id = 3")
    table = da.DeltaTable(tmp_path)
    off = set_properties(enableDeletionVectors="false", enableIcebergCompatV2="true")
    refused(table, InvalidTablePropertyError, "in a separate commit", off)
    set_properties(enableDeletionVectors="false")(table)
    refused(
        table,
        da.DeltaProtocolError,
        "does not allow deletion vectors, but files of the table have some",
        set_properties(enableIcebergCompatV2="true"),
    )
    da.write_deltalake(tmp_path, pa.table({"id": [4]}), mode="overwrite")
    table.update_incremental()
    set_properties(enableIcebergCompatV2="true")(table)


@pytest.mark.feature("icebergCompatV3")
def test_version_3_comes_with_row_tracking_and_stays(tmp_path):
    table = da.DeltaTable.create(tmp_path, NESTED, configuration=V3 | VECTORS)
    configuration = table.metadata().configuration
    assert configuration["delta.enableRowTracking"] == "true"
    assert configuration["delta.rowTracking.materializedRowIdColumnName"].startswith("_row-id-col-")
    assert {"icebergCompatV3", "rowTracking", "domainMetadata"} < set(table.protocol().writer_features)
    for change, match in (
        (set_properties(enableRowTracking="false"), "icebergCompatV3 needs delta.enableRowTracking"),
        (set_properties(enableIcebergCompatV3="false"), "cannot be switched off"),
        (lambda table: table.alter.unset_table_properties(switch(3)), "cannot be switched off"),
        (set_properties(enableIcebergCompatV2="true"), "exclude each other"),
    ):
        refused(table, InvalidTablePropertyError, match, change)
    refused(
        table,
        da.SchemaMismatchError,
        "icebergCompatV3 does not allow the type void",
        lambda table: table.alter.add_columns(da.Field("x", "void")),
    )


@pytest.mark.feature("icebergCompatV3")
def test_version_3_of_a_table_whose_rows_have_ids(tmp_path):
    da.write_deltalake(tmp_path, pa.table({"id": [1]}), configuration=MAPPED)
    table = da.DeltaTable(tmp_path)
    enable = set_properties(enableIcebergCompatV3="true")
    refused(table, InvalidTablePropertyError, "first enable row tracking", enable)
    set_properties(enableRowTracking="true")(table)
    enable(table)
    da.write_deltalake(tmp_path, pa.table({"id": [2]}), mode="append")
    tags = da.DeltaTable(tmp_path).snapshot.files(columns=["tags"])["tags"]
    assert [dict(each or ()) for each in tags.to_pylist()].count({"ICEBERG_COMPAT_VERSION": "3"}) == 1


@pytest.mark.parametrize("version", BOTH)
def test_files_without_row_counts_are_not_committed(tmp_path, version):
    da.write_deltalake(tmp_path, pa.table({"id": [1]}), configuration={switch(version): "true"})
    table = da.DeltaTable(tmp_path)
    (path,) = table.snapshot.files(columns=["path"])["path"].to_pylist()

    def add(table, **fields):
        action = AddFile(
            path=f"{path}.other", partition_values={}, size=1, modification_time=1, data_change=True, **fields
        )
        with table.transaction() as transaction:
            transaction.stage([action])

    for stats in (None, json.dumps({"minValues": {}})):
        refused(table, da.DeltaProtocolError, "needs numRecords", lambda t, s=stats: add(t, stats=s))


@pytest.mark.feature("icebergCompatV2")
def test_a_table_whose_files_lack_row_counts_does_not_get_the_rules(tmp_path):
    builder = TableBuilder(tmp_path).protocol(2, 5)
    ids = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "id"}
    schema = da.Schema([da.Field("id", "long", metadata=ids)])
    builder.metadata(schema.to_json(), configuration=MAPPED | {"delta.columnMapping.maxColumnId": "1"})
    add = builder.add_file(pa.table({"id": [1]}))
    del add["add"]["stats"]
    builder.commit([add])
    refused(
        da.DeltaTable(tmp_path),
        da.DeltaProtocolError,
        "needs numRecords in the statistics of every file",
        set_properties(enableIcebergCompatV2="true"),
    )
