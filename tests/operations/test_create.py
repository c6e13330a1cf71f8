import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, Schema
from deltaarrow.errors import DeltaError, SchemaMismatchError, VersionExistsError

SCHEMA = pa.schema([("id", pa.int64()), ("day", pa.date32())])


def test_create_makes_an_empty_table(tmp_path):
    table = DeltaTable.create(
        tmp_path / "t",
        SCHEMA,
        partition_by=["day"],
        name="orders",
        description="of the shop",
        configuration={"delta.appendOnly": "true"},
    )
    assert table.version() == 0
    assert table.schema().to_arrow().equals(SCHEMA)
    metadata = table.metadata()
    assert (metadata.name, metadata.description) == ("orders", "of the shop")
    assert metadata.partition_columns == ["day"]
    assert metadata.configuration == {"delta.appendOnly": "true"}
    assert tuple(table.protocol())[:2] == (1, 2)
    assert table.to_pyarrow_table().schema.equals(SCHEMA)


def test_a_delta_schema_does_as_well(tmp_path):
    schema = Schema.from_arrow(SCHEMA)
    assert DeltaTable.create(tmp_path, schema).schema() == schema


def test_create_refuses_a_table_that_exists(tmp_path):
    DeltaTable.create(tmp_path, SCHEMA)
    with pytest.raises(VersionExistsError, match="is a Delta table already"):
        DeltaTable.create(tmp_path, SCHEMA)
    assert (
        DeltaTable.create(tmp_path, pa.schema([("x", pa.int8())]), mode="ignore").schema().fields[0].name
        == "id"
    )


@pytest.mark.parametrize(
    ("configuration", "protocol"),
    [
        ({}, (1, 2, None, None)),
        (
            {"delta.enableDeletionVectors": "true"},
            (3, 7, {"deletionVectors", "invariants", "appendOnly"}, {"deletionVectors"}),
        ),
    ],
)
def test_the_protocol_is_the_weakest_that_does(tmp_path, configuration, protocol):
    reader, writer, writer_features, reader_features = DeltaTable.create(
        tmp_path, SCHEMA, configuration=configuration
    ).protocol()
    found = (
        reader,
        writer,
        None if writer_features is None else set(writer_features),
        None if reader_features is None else set(reader_features),
    )
    assert found == protocol


def test_timestamp_ntz_brings_its_feature(tmp_path):
    protocol = DeltaTable.create(tmp_path, pa.schema([("at", pa.timestamp("us"))])).protocol()
    assert (protocol.min_reader_version, protocol.min_writer_version) == (3, 7)
    assert "timestampNtz" in protocol.reader_features
    assert "timestampNtz" in protocol.writer_features


@pytest.mark.parametrize(
    ("schema", "partition_by"),
    [
        (SCHEMA, ["month"]),
        (SCHEMA, ["id", "day"]),
        (pa.schema([("id", pa.int64()), ("ID", pa.int64())]), []),
    ],
)
def test_a_schema_that_spark_would_refuse_is_refused(tmp_path, schema, partition_by):
    with pytest.raises(SchemaMismatchError):
        DeltaTable.create(tmp_path, schema, partition_by=partition_by)
    assert not DeltaTable.is_deltatable(tmp_path)


@pytest.mark.parametrize("name", ["delta.appendOnyl", "delta.checkpointInterval"])
def test_an_unknown_property_or_an_impossible_value_is_refused(tmp_path, name):
    with pytest.raises(DeltaError, match=name):
        DeltaTable.create(tmp_path, SCHEMA, configuration={name: "yes"})
