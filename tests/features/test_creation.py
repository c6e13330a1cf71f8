"""Protocol and properties of a new table, the same as delta-spark 4.4 makes."""

from dataclasses import replace

import pytest

from deltaarrow.actions import Protocol
from deltaarrow.errors import InvalidTablePropertyError, UnsupportedFeatureError
from deltaarrow.features import FEATURES, Support, minimal_protocol, new_table_configuration
from deltaarrow.schema import ArrayType, Field, Schema

PLAIN = Schema([Field("id", "long")])
VARIANT = Schema([Field("v", "variant")])
NTZ = Schema([Field("id", "long"), Field("times", ArrayType("timestamp_ntz"))])


def versions(reader, writer):
    return Protocol(min_reader_version=reader, min_writer_version=writer)


def lists(readers, writers):
    return Protocol(
        min_reader_version=3,
        min_writer_version=7,
        reader_features=tuple(readers.split()),
        writer_features=tuple(writers.split()),
    )


def writer_lists(writers):
    return Protocol(min_reader_version=1, min_writer_version=7, writer_features=tuple(writers.split()))


@pytest.mark.parametrize(
    ("schema", "configuration", "protocol"),
    [
        (PLAIN, {}, versions(1, 2)),
        (PLAIN, {"delta.appendOnly": "true"}, versions(1, 2)),
        (PLAIN, {"delta.minReaderVersion": "1", "delta.minWriterVersion": "2"}, versions(1, 2)),
        (PLAIN, {"delta.minWriterVersion": "1"}, versions(1, 1)),
        (PLAIN, {"delta.ignoreProtocolDefaults": "true"}, versions(1, 1)),
        (PLAIN, {"delta.minWriterVersion": "7"}, versions(1, 1)),
        (PLAIN, {"delta.feature.invariants": "supported"}, versions(1, 2)),
        (
            PLAIN,
            {"delta.enableDeletionVectors": "true"},
            lists("deletionVectors", "deletionVectors invariants appendOnly"),
        ),
        (
            PLAIN,
            {"delta.feature.deletionVectors": "supported"},
            lists("deletionVectors", "deletionVectors invariants appendOnly"),
        ),
        (NTZ, {}, lists("timestampNtz", "timestampNtz invariants appendOnly")),
        (VARIANT, {}, lists("variantType", "variantType invariants appendOnly")),
        (
            PLAIN,
            {"delta.enableVariantShredding": "true"},
            lists(
                "variantShredding-preview variantType",
                "variantShredding-preview variantType invariants appendOnly",
            ),
        ),
        (
            NTZ,
            {"delta.enableInCommitTimestamps": "true"},
            lists("timestampNtz", "timestampNtz inCommitTimestamp invariants appendOnly"),
        ),
        (
            PLAIN,
            {"delta.feature.changeDataFeed": "supported"},
            writer_lists("changeDataFeed invariants appendOnly"),
        ),
        (PLAIN, {"delta.constraints.positive": "id > 0"}, versions(1, 3)),
        (PLAIN, {"delta.minWriterVersion": "4"}, versions(1, 4)),
        (PLAIN, {"delta.minReaderVersion": "2", "delta.minWriterVersion": "5"}, versions(2, 5)),
        (Schema([Field("c", "long", metadata={"delta.invariants": "{}"})]), {}, versions(1, 2)),
        (
            Schema([Field("c", "long", metadata={"delta.generationExpression": "1"})]),
            {},
            writer_lists("generatedColumns invariants appendOnly"),
        ),
        (
            Schema([Field("c", "long", metadata={"CURRENT_DEFAULT": "1"})]),
            {"delta.feature.allowColumnDefaults": "supported"},
            writer_lists("allowColumnDefaults invariants appendOnly"),
        ),
        (
            PLAIN,
            {"delta.enableChangeDataFeed": "true", "delta.appendOnly": "true"},
            writer_lists("appendOnly changeDataFeed invariants"),
        ),
        (
            PLAIN,
            {"delta.enableInCommitTimestamps": "true"},
            writer_lists("inCommitTimestamp invariants appendOnly"),
        ),
        (
            PLAIN,
            {"delta.feature.domainMetadata": "supported"},
            writer_lists("domainMetadata invariants appendOnly"),
        ),
        (
            PLAIN,
            {"delta.checkpointPolicy": "v2"},
            lists("v2Checkpoint", "v2Checkpoint invariants appendOnly"),
        ),
        (
            PLAIN,
            {"delta.enableTypeWidening": "true"},
            lists("typeWidening", "typeWidening invariants appendOnly"),
        ),
        (
            PLAIN,
            {"delta.feature.vacuumProtocolCheck": "supported"},
            lists("vacuumProtocolCheck", "vacuumProtocolCheck invariants appendOnly"),
        ),
        (
            NTZ,
            {"delta.enableDeletionVectors": "TRUE"},
            lists("deletionVectors timestampNtz", "deletionVectors timestampNtz invariants appendOnly"),
        ),
        (
            PLAIN,
            {"delta.columnMapping.mode": "NAME"},
            replace(writer_lists("columnMapping invariants appendOnly"), min_reader_version=2),
        ),
        (PLAIN, {"delta.columnMapping.mode": "none"}, versions(1, 2)),
        (
            NTZ,
            {"delta.minReaderVersion": "3", "delta.minWriterVersion": "7"},
            lists("timestampNtz", "timestampNtz"),
        ),
    ],
    ids=str,
)
def test_the_protocol_is_the_weakest_that_has_what_is_asked_for(schema, configuration, protocol):
    assert minimal_protocol(schema, configuration) == protocol


@pytest.mark.parametrize("name", [f.name for f in FEATURES.values() if f.create is Support.NO])
def test_a_feature_that_cannot_be_created_is_refused_by_name(name):
    with pytest.raises(UnsupportedFeatureError, match=name) as caught:
        minimal_protocol(PLAIN, {f"delta.feature.{name}": "supported"})
    assert name in caught.value.feature


@pytest.mark.parametrize(
    ("schema", "configuration", "feature"),
    [
        (Schema([Field("c", "long", metadata={"CURRENT_DEFAULT": "1"})]), {}, "allowColumnDefaults"),
    ],
    ids=str,
)
def test_what_needs_more_is_refused_by_name(schema, configuration, feature):
    with pytest.raises(UnsupportedFeatureError, match=f"cannot create the table: .*{feature}"):
        minimal_protocol(schema, configuration)


def test_stored_properties_have_their_proper_names_and_none_that_chooses_the_protocol():
    asked = {
        "DELTA.APPENDONLY": "true",
        "delta.checkpointinterval": "5",
        "delta.minReaderVersion": "1",
        "delta.ignoreProtocolDefaults": "false",
        "delta.feature.deletionVectors": "supported",
        "delta.universalFormat.config.iceberg.x": "1",
        "Owner.Name": "me",
    }
    assert new_table_configuration(asked) == {
        "delta.appendOnly": "true",
        "delta.checkpointInterval": "5",
        "delta.universalFormat.config.iceberg.x": "1",
        "Owner.Name": "me",
    }


@pytest.mark.parametrize(
    ("configuration", "message"),
    [
        ({"delta.tuneFileSizes": "1gb"}, r"no table property 'delta\.tuneFileSizes'"),
        ({"delta.": "x"}, "no table property"),
        ({"delta.checkpointInterval": "0"}, "must be a positive integer, not '0'"),
        ({"delta.minReaderVersion": "4"}, r"delta\.minReaderVersion must be one of 1, 2, 3"),
        ({"delta.columnMapping.maxColumnId": "4"}, "set by the engine"),
        ({"delta.appendOnly": "true", "delta.appendonly": "false"}, "given twice"),
        ({"delta.feature.deletionVectors": "yes"}, "'supported'"),
        ({"delta.appendOnly": True}, "must be text"),
        ({"delta.logRetentionDuration": "6 days"}, r"delta\.logRetentionDuration \(6 days\) .* at least"),
        ({"delta.deletedFileRetentionDuration": "31 days"}, "the default, 30 days.* at least"),
    ],
    ids=str,
)
def test_an_impossible_property_is_refused_by_name(configuration, message):
    with pytest.raises(InvalidTablePropertyError, match=message):
        new_table_configuration(configuration)
    with pytest.raises(InvalidTablePropertyError, match=message):
        minimal_protocol(PLAIN, configuration)


def test_an_unknown_feature_is_refused_by_name():
    with pytest.raises(UnsupportedFeatureError, match="blahabl"):
        minimal_protocol(PLAIN, {"delta.feature.blahabl": "supported"})
