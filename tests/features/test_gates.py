"""Gates for reads and writes: every refusal names the feature."""

import pickle
import re

import pytest

from deltaarrow.actions import Format, Metadata, Protocol
from deltaarrow.errors import DeltaProtocolError, InvalidTablePropertyError, UnsupportedFeatureError
from deltaarrow.features import (
    FEATURES,
    FeatureKind,
    Support,
    ensure_readable,
    ensure_writable,
    is_supported,
    supported_features,
)
from deltaarrow.schema import ArrayType, Field, Schema, StructType

ID = Field("id", "long")


def protocol(reader=1, writer=2, readers=None, writers=None):
    return Protocol(
        min_reader_version=reader,
        min_writer_version=writer,
        reader_features=None if readers is None else tuple(readers),
        writer_features=None if writers is None else tuple(writers),
    )


def listing(*names):
    """A protocol that lists these features, reader features for readers as well."""
    readers = [n for n in names if n not in FEATURES or FEATURES[n].kind is FeatureKind.READER_WRITER]
    return protocol(3, 7, readers, names)


def metadata(*fields, provider="parquet", **configuration):
    return Metadata(
        id="x",
        format=Format(provider=provider),
        schema_string=Schema(fields or [ID]).to_json(),
        configuration={f"delta.{key.replace('_', '.')}": text for key, text in configuration.items()},
    )


def with_metadata(key, value="x"):
    return Field("c", "long", metadata={key: value})


# -- reading --------------------------------------------------------------------------------------

READ = [
    protocol(1, 1),
    protocol(1, 2),
    protocol(1, 6),
    protocol(2, 5),
    protocol(1, 7, writers=["changeDataFeed", "appendOnly", "invariants"]),
    protocol(2, 7, writers=["columnMapping", "icebergCompatV1"]),
    protocol(3, 7, [], ["columnMapping", "icebergCompatV1"]),
    protocol(3, 7, ["deletionVectors"], ["domainMetadata", "deletionVectors", "rowTracking", "liquid"]),
    protocol(1, 7, writers=["domainMetadata", "collations"]),
    protocol(1, 9, writers=["somethingNew"]),
    protocol(3, 7, ["variantType-preview", "typeWidening-preview"], ["variantType-preview"]),
    protocol(3, 7, ["variantShredding-preview", "variantType", "v2Checkpoint", "vacuumProtocolCheck"], []),
    protocol(1, 2, [], []),
]


@pytest.mark.parametrize("readable", READ, ids=str)
def test_is_read(readable):
    ensure_readable(readable, metadata())


@pytest.mark.parametrize(
    "feature", [f for f in FEATURES.values() if f.read is Support.YES], ids=lambda f: f.name
)
def test_a_feature_that_is_read_stands_in_no_readers_way(feature):
    ensure_readable(listing(feature.name), metadata())


@pytest.mark.feature("geospatial")
@pytest.mark.feature("intervalTypes")
@pytest.mark.feature("timestampNanos")
@pytest.mark.feature("catalogManaged")
@pytest.mark.feature("adaptiveMetadata-preview")
@pytest.mark.parametrize(
    ("refused", "feature"),
    [
        (protocol(4, 7, [], []), "minReaderVersion=4"),
        (protocol(5, 7, ["columnMapping", "blahabl"], ["columnMapping"]), "minReaderVersion=5"),
        (protocol(3, 7, ["blahabl"], ["blahabl"]), "blahabl"),
        (protocol(3, 7, ["blahabl", "deletionVectors", "x"], []), "blahabl, x"),
        (protocol(3, 7, ["catalogManaged"], ["catalogManaged", "inCommitTimestamp"]), "catalogManaged"),
        (protocol(3, 7, ["catalogOwned-preview"], ["catalogOwned-preview"]), "catalogOwned-preview"),
        (protocol(3, 7, ["catalogOwned"], ["catalogOwned"]), "catalogOwned"),
        (protocol(3, 7, [], ["catalogManaged"]), "catalogManaged"),
        (protocol(3, 7, ["geospatial"], ["geospatial"]), "geospatial"),
        (protocol(3, 7, ["intervalTypes"], ["intervalTypes"]), "intervalTypes"),
        (protocol(3, 7, ["timestampNanos", "timestampNtz"], []), "timestampNanos"),
        (protocol(3, 7, ["adaptiveMetadata-preview"], []), "adaptiveMetadata-preview"),
    ],
    ids=str,
)
def test_is_refused_to_readers_by_name(refused, feature):
    with pytest.raises(UnsupportedFeatureError, match="cannot read the table") as caught:
        ensure_readable(refused, metadata())
    assert caught.value.feature == feature
    assert feature.removeprefix("minReaderVersion=") in str(caught.value)
    assert pickle.loads(pickle.dumps(caught.value)).feature == feature


def test_a_catalog_managed_table_is_refused_with_the_remedy():
    with pytest.raises(UnsupportedFeatureError, match=r"catalogManaged.*ask its catalog"):
        ensure_readable(listing("catalogManaged"), metadata())


@pytest.mark.parametrize(
    ("broken", "what"),
    [
        (protocol(3, 6, ["deletionVectors"]), "reader version 3 needs writer version 7"),
        (protocol(3, 7, None, []), "reader version 3 needs readerFeatures"),
        (protocol(3, 7, [], None), "writer version 7 needs writerFeatures"),
        (protocol(1, 7, None, None), "writer version 7 needs writerFeatures"),
        (protocol(2, 7, ["columnMapping"], ["columnMapping"]), "reader version 2 has no readerFeatures"),
        (protocol(1, 2, None, ["appendOnly"]), "writer version 2 has no writerFeatures"),
        (protocol(0, 2), "versions start at 1"),
    ],
    ids=str,
)
def test_a_protocol_that_contradicts_itself_is_refused(broken, what):
    with pytest.raises(DeltaProtocolError, match=what):
        ensure_readable(broken, metadata())


def test_another_format_than_parquet_is_refused_by_name():
    with pytest.raises(UnsupportedFeatureError, match="'orc'") as caught:
        ensure_readable(protocol(), metadata(provider="orc"))
    assert caught.value.feature == "orc"


@pytest.mark.feature("redirectReaderWriter-preview")
def test_a_redirected_table_is_refused_and_one_that_could_be_is_read():
    table = listing("redirectReaderWriter-preview")
    ensure_readable(table, metadata())
    redirected = metadata(**{"redirectReaderWriter-preview": "{}"})
    with pytest.raises(UnsupportedFeatureError, match="redirectReaderWriter-preview"):
        ensure_readable(table, redirected)


# -- writing --------------------------------------------------------------------------------------

NTZ = Field("t", "timestamp_ntz")
OPERATIONS = ["append", "overwrite", "change"]


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize(
    ("writable", "meta"),
    [
        (protocol(1, 1), metadata()),
        (protocol(1, 2), metadata()),
        (protocol(1, 2), metadata(appendOnly="false")),
        (protocol(1, 7, writers=[]), metadata()),
        (listing("deletionVectors"), metadata()),
        (listing("deletionVectors", "invariants", "appendOnly"), metadata(enableDeletionVectors="true")),
        (listing("timestampNtz"), metadata(ID, NTZ)),
        (listing("timestampNtz"), metadata(Field("s", StructType([Field("a", ArrayType("timestamp_ntz"))])))),
        (protocol(1, 2), metadata(someday="true", checkpointInterval="3")),
        (protocol(1, 2), metadata(enableChangeDataFeed="true")),
        (listing("changeDataFeed"), metadata(enableChangeDataCapture="true")),
        (listing("v2Checkpoint"), metadata(checkpointPolicy="v2")),
        (listing("typeWidening"), metadata(enableTypeWidening="true")),
        (listing("typeWidening-preview"), metadata(enableTypeWidening="true")),
        (listing("inCommitTimestamp"), metadata(enableInCommitTimestamps="true")),
        (listing("domainMetadata", "vacuumProtocolCheck"), metadata()),
        (listing("columnMapping"), metadata(columnMapping_mode="name")),
        (protocol(2, 7, writers=["columnMapping"]), metadata(columnMapping_mode="ID")),
        (protocol(3, 7, [], ["columnMapping"]), metadata(columnMapping_mode="name")),
    ],
    ids=str,
)
def test_is_written(writable, meta, operation):
    ensure_writable(writable, meta, operation)


WRITES = {f.name for f in FEATURES.values() if f.append is not Support.NO}


def test_the_features_that_are_written():
    assert {
        "appendOnly",
        "invariants",
        "changeDataFeed",
        "deletionVectors",
        "timestampNtz",
        "v2Checkpoint",
        "vacuumProtocolCheck",
        "typeWidening",
        "domainMetadata",
        "inCommitTimestamp",
        "columnMapping",
        "rowTracking",
        "identityColumns",
        "checkConstraints",
        "generatedColumns",
        "allowColumnDefaults",
        "catalogManaged",
        "checkpointProtection",
        "materializePartitionColumns",
        "icebergCompatV1",
        "icebergCompatV2",
        "icebergCompatV3",
        "variantType",
        "variantShredding",
        "clustering",
    } == WRITES


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("name", [f.name for f in FEATURES.values() if f.name not in WRITES])
def test_every_other_feature_is_refused_by_name(name, operation):
    with pytest.raises(UnsupportedFeatureError, match=name) as caught:
        ensure_writable(listing(name), metadata(), operation)
    assert caught.value.feature == name


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize(("reader", "writer"), [*((1, writer) for writer in range(1, 7)), (2, 5), (2, 6)])
def test_all_that_legacy_versions_imply_is_written(reader, writer, operation):
    ensure_writable(protocol(reader, writer), metadata(), operation)


def test_unknown_features_and_versions_are_refused_to_writers_by_name():
    with pytest.raises(UnsupportedFeatureError, match=r"cannot append to the table: .* liquid") as caught:
        ensure_writable(protocol(1, 7, writers=["deletionVectors", "liquid"]), metadata(), "append")
    assert caught.value.feature == "liquid"
    with pytest.raises(UnsupportedFeatureError, match="writer version 8"):
        ensure_writable(protocol(1, 8, writers=[]), metadata(), "append")


def test_what_cannot_be_read_is_not_written():
    with pytest.raises(UnsupportedFeatureError, match="geospatial"):
        ensure_writable(listing("geospatial"), metadata(), "append")


def test_a_catalog_managed_table_is_written_with_in_commit_timestamps_alone():
    with pytest.raises(DeltaProtocolError, match=r"catalogManaged.*delta\.enableInCommitTimestamps"):
        ensure_writable(listing("catalogManaged"), metadata(), "append")
    managed = listing("catalogManaged", "inCommitTimestamp", "vacuumProtocolCheck")
    ensure_writable(managed, metadata(enableInCommitTimestamps="true"), "append")


def test_a_feature_listed_for_readers_alone_counts_for_writers():
    with pytest.raises(UnsupportedFeatureError, match="geospatial"):
        ensure_writable(protocol(3, 7, ["geospatial"], []), metadata(), "append")


@pytest.mark.parametrize("table", [protocol(1, 1), protocol(1, 2), listing("appendOnly"), listing()], ids=str)
def test_an_append_only_table_is_appended_to_and_neither_overwritten_nor_changed(table):
    meta = metadata(appendOnly="true")
    ensure_writable(table, meta, "append")
    for operation, doing in (("overwrite", "overwrite the table"), ("change", "change rows of the table")):
        with pytest.raises(UnsupportedFeatureError, match=rf"{doing}: .* delta\.appendOnly") as caught:
            ensure_writable(table, meta, operation)
        assert caught.value.feature == "appendOnly"


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize(
    ("meta", "feature"),
    [
        (metadata(universalFormat_enabledFormats="hudi"), "universalFormat"),
    ],
    ids=str,
)
@pytest.mark.parametrize("table", [protocol(1, 2), listing("deletionVectors")], ids=["legacy", "listed"])
def test_what_the_metadata_asks_for_counts_though_the_protocol_is_silent(table, meta, feature, operation):
    with pytest.raises(UnsupportedFeatureError, match=feature):
        ensure_writable(table, meta, operation)


@pytest.mark.parametrize(
    "meta",
    [
        metadata(enableChangeDataFeed="false", columnMapping_mode="none", checkpointPolicy="classic"),
        metadata(enableIcebergCompatV2="false", enableRowTracking="FALSE"),
        metadata(requireCheckpointProtectionBeforeVersion="0", universalFormat_enabledFormats=""),
    ],
    ids=str,
)
def test_what_is_switched_off_is_in_no_ones_way(meta):
    ensure_writable(protocol(), meta, "append")


def test_a_feature_in_use_that_the_protocol_does_not_list_is_refused_by_name():
    with pytest.raises(
        DeltaProtocolError, match=r"timestamp_ntz, but its protocol does not list .* timestampNtz"
    ):
        ensure_writable(protocol(), metadata(NTZ), "append")
    for active, feature in (
        (metadata(enableDeletionVectors="true"), "deletionVectors"),
        (metadata(with_metadata("CURRENT_DEFAULT")), "allowColumnDefaults"),
        (metadata(checkpointPolicy="v2"), "v2Checkpoint"),
        (metadata(enableTypeWidening="true"), "typeWidening"),
        (metadata(enableInCommitTimestamps="true"), "inCommitTimestamp"),
        (metadata(columnMapping_mode="name"), "columnMapping"),
    ):
        for table in (listing("timestampNtz"), protocol()):
            with pytest.raises(DeltaProtocolError, match=feature):
                ensure_writable(table, active, "append")


def test_a_property_that_means_nothing_is_refused_to_writers_and_not_to_readers():
    meta = metadata(appendOnly="maybe")
    ensure_readable(protocol(), meta)
    with pytest.raises(InvalidTablePropertyError, match=r"delta\.appendOnly"):
        ensure_writable(protocol(), meta, "overwrite")


# -- what a protocol supports ---------------------------------------------------------------------


def test_supported_features_are_those_listed_and_those_implied():
    assert supported_features(protocol(1, 1)) == []
    assert supported_features(protocol(1, 2)) == ["appendOnly", "invariants"]
    assert supported_features(protocol(3, 7, ["b"], ["a", "b"])) == ["a", "b"]
    assert supported_features(protocol(3, 7, ["b"], ["a"])) == ["a", "b"]


def test_is_supported_knows_previews():
    assert is_supported(listing("variantType-preview"), "variantType")
    assert not is_supported(listing("variantType-preview"), "deletionVectors")
    assert is_supported(protocol(2, 5), "columnMapping")
    assert not is_supported(protocol(1, 5), "columnMapping")


@pytest.mark.parametrize(
    "name",
    ["interval year to month", "interval day to second", "timestamp_nanos", "geometry(4326)", "geography"],
)
def test_a_type_of_a_proposal_is_refused_by_name(name):
    text = f'{{"type":"struct","fields":[{{"name":"c","type":"{name}","nullable":true,"metadata":{{}}}}]}}'
    with pytest.raises(UnsupportedFeatureError, match=re.escape(name)) as caught:
        Schema.from_json(text)
    assert caught.value.feature == name
