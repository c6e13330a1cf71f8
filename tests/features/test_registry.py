"""Feature records: complete, consistent with each other, and found under every name."""

import re

import pytest

from deltaarrow.features import FEATURES, FeatureKind, Support, find_feature, render_feature_table
from deltaarrow.features.__main__ import render_feature_table as printed

# As the appendix of the protocol says it: name, whom it concerns, versions that imply it.
PROTOCOL = {
    "appendOnly": (FeatureKind.WRITER, None, 2),
    "invariants": (FeatureKind.WRITER, None, 2),
    "checkConstraints": (FeatureKind.WRITER, None, 3),
    "generatedColumns": (FeatureKind.WRITER, None, 4),
    "changeDataFeed": (FeatureKind.WRITER, None, 4),
    "columnMapping": (FeatureKind.READER_WRITER, 2, 5),
    "identityColumns": (FeatureKind.WRITER, None, 6),
    "allowColumnDefaults": (FeatureKind.WRITER, None, None),
    "deletionVectors": (FeatureKind.READER_WRITER, None, None),
    "rowTracking": (FeatureKind.WRITER, None, None),
    "timestampNtz": (FeatureKind.READER_WRITER, None, None),
    "domainMetadata": (FeatureKind.WRITER, None, None),
    "v2Checkpoint": (FeatureKind.READER_WRITER, None, None),
    "icebergCompatV1": (FeatureKind.WRITER, None, None),
    "icebergCompatV2": (FeatureKind.WRITER, None, None),
    "icebergCompatV3": (FeatureKind.WRITER, None, None),
    "clustering": (FeatureKind.WRITER, None, None),
    "vacuumProtocolCheck": (FeatureKind.READER_WRITER, None, None),
    "inCommitTimestamp": (FeatureKind.WRITER, None, None),
    "typeWidening": (FeatureKind.READER_WRITER, None, None),
    "variantType": (FeatureKind.READER_WRITER, None, None),
    "variantShredding": (FeatureKind.READER_WRITER, None, None),
    "catalogManaged": (FeatureKind.READER_WRITER, None, None),
    "checkpointProtection": (FeatureKind.WRITER, None, None),
    "materializePartitionColumns": (FeatureKind.WRITER, None, None),
}


@pytest.mark.parametrize("name", PROTOCOL)
def test_a_feature_of_the_protocol_is_as_the_protocol_says(name):
    feature = FEATURES[name]
    assert (feature.kind, feature.legacy_reader_version, feature.legacy_writer_version) == PROTOCOL[name]


@pytest.mark.parametrize("feature", FEATURES.values(), ids=lambda f: f.name)
def test_a_record_is_consistent(feature):
    assert re.fullmatch(r"[A-Za-z0-9_-]+", feature.name)
    assert feature.sentence.endswith(".")
    assert set(feature.requires) <= set(FEATURES)
    if feature.kind is FeatureKind.WRITER:
        assert feature.read is Support.YES, "readers need not know a writer feature"
        assert feature.legacy_reader_version is None
    if feature.read is Support.NO:
        assert {feature.create, feature.append, feature.overwrite, feature.change} == {Support.NO}
    supports = [feature.supports(each) for each in ("read", "create", "append", "overwrite", "change")]
    if Support.UNLESS_ACTIVE in supports:
        assert feature.activation is not None


def test_rows_are_changed_where_they_are_replaced():
    for feature in FEATURES.values():
        assert feature.change is feature.overwrite, feature.name


def test_a_table_that_can_be_created_can_be_appended_to():
    for feature in FEATURES.values():
        if feature.create is Support.YES:
            assert feature.append is Support.YES, feature.name


@pytest.mark.parametrize(
    ("name", "feature"),
    [
        ("deletionVectors", "deletionVectors"),
        ("deletionvectors", "deletionVectors"),
        ("variantType-preview", "variantType"),
        ("variantShredding-preview", "variantShredding"),
        ("typeWidening-preview", "typeWidening"),
        ("catalogOwned-preview", "catalogManaged"),
        ("catalogOwned", "catalogManaged"),
    ],
)
def test_every_name_leads_to_its_feature(name, feature):
    assert find_feature(name) is FEATURES[feature]


def test_an_unknown_name_leads_nowhere():
    assert find_feature("blahabl") is None


def test_no_name_is_given_twice():
    names = [name.lower() for f in FEATURES.values() for name in (f.name, *f.also_named)]
    assert len(names) == len(set(names))


def test_the_feature_table_has_a_row_for_each_feature():
    head, rule, *rows = render_feature_table().splitlines()
    assert head.count("|") == rule.count("|") == 7
    assert len(rows) == len(FEATURES)
    for row, feature in zip(rows, FEATURES.values(), strict=True):
        assert row.startswith(f"| `{feature.name}`")
        assert row.count("|") == 7
    assert printed is render_feature_table
