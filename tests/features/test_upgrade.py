"""The protocol of an existing table when new metadata activates features."""

import pytest

from deltaarrow.actions import Protocol
from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.features import FEATURES, Support, upgraded_protocol
from deltaarrow.schema import ArrayType, Field, Schema

PLAIN = Schema([Field("id", "long")])
VECTORS = {"delta.enableDeletionVectors": "true"}


def protocol(reader, writer, reader_features=None, writer_features=None):
    return Protocol(
        min_reader_version=reader,
        min_writer_version=writer,
        reader_features=None if reader_features is None else tuple(reader_features.split()),
        writer_features=None if writer_features is None else tuple(writer_features.split()),
    )


@pytest.mark.parametrize("old", [protocol(1, 1), protocol(2, 5), protocol(3, 7, "", "appendOnly")])
def test_nothing_is_added_that_is_not_active(old):
    assert upgraded_protocol(old, PLAIN, {}, "append") is old


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (protocol(1, 1), protocol(3, 7, "deletionVectors", "deletionVectors")),
        (protocol(1, 2), protocol(3, 7, "deletionVectors", "deletionVectors invariants appendOnly")),
        (
            protocol(2, 5),
            protocol(
                3,
                7,
                "deletionVectors columnMapping",
                "deletionVectors columnMapping generatedColumns changeDataFeed checkConstraints"
                " invariants appendOnly",
            ),
        ),
        (
            protocol(1, 7, None, "rowTracking"),
            protocol(3, 7, "deletionVectors", "rowTracking deletionVectors"),
        ),
        (
            protocol(3, 7, "timestampNtz", "timestampNtz appendOnly"),
            protocol(3, 7, "timestampNtz deletionVectors", "timestampNtz appendOnly deletionVectors"),
        ),
    ],
)
def test_what_the_metadata_makes_active_is_added_to_what_there_is(old, new):
    assert upgraded_protocol(old, PLAIN, VECTORS, "append") == new
    assert upgraded_protocol(new, PLAIN, VECTORS, "append") is new


def test_versions_without_lists_stay_so_where_they_imply_just_what_is_wanted():
    constrained = {"delta.constraints.positive": "id > 0"}
    assert upgraded_protocol(protocol(1, 2), PLAIN, constrained, "append") == protocol(1, 3)
    listed = protocol(1, 7, None, "checkConstraints")
    assert upgraded_protocol(protocol(1, 1), PLAIN, constrained, "append") == listed


def test_timestamps_without_a_zone_are_not_added_to_a_table_unasked():
    schema = Schema([Field("times", ArrayType("timestamp_ntz"))])
    with pytest.raises(
        UnsupportedFeatureError, match=r"'delta\.feature\.timestampNtz' = 'supported'"
    ) as caught:
        upgraded_protocol(protocol(1, 2), schema, {}, "append")
    assert caught.value.feature == "timestampNtz"
    old = protocol(3, 7, "timestampNtz", "timestampNtz")
    assert upgraded_protocol(old, schema, {}, "append") is old


def test_a_feature_that_is_not_written_is_refused_by_name():
    schema = Schema([Field("v", "variant")])
    if FEATURES["variantType"].append is Support.YES:
        assert upgraded_protocol(protocol(1, 2), schema, {}, "append").reader_features == ("variantType",)
        return
    with pytest.raises(UnsupportedFeatureError, match="variantType") as caught:
        upgraded_protocol(protocol(1, 2), schema, {}, "append")
    assert caught.value.feature == "variantType"
