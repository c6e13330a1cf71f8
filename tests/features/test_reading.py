"""Features that concern only writers: tables that use them are read like any other."""

import pyarrow as pa
import pytest

from deltaarrow.features import FEATURES, FeatureKind
from tests.support.rows import READERS, assert_same_rows
from tests.support.tables import EPOCH_MS, TableBuilder

ROWS = pa.table({"id": [1, 2, 3], "s": ["a", "B", None], "p": ["x", "x", "x"]})


def uses(mark, configuration=None, *, column=None, domain=None, info=None, **add):
    """A case: a table that lists the feature of `mark`, with what puts the feature to use.

    `column` is the metadata of the column ``id``, `domain` a domain with its text, `info` goes into
    ``commitInfo`` and `add` into the action of the data file.
    """
    (name,) = mark.args
    return pytest.param(name, configuration or {}, column or {}, domain, info, add, marks=mark, id=name)


MAPPED = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "3"}
IDENTITY = {"delta.identity.start": 1, "delta.identity.step": 1, "delta.identity.allowExplicitInsert": False}


@pytest.mark.parametrize(
    ("name", "configuration", "column", "domain", "info", "add"),
    [
        uses(pytest.mark.feature("appendOnly"), {"delta.appendOnly": "true"}),
        uses(
            pytest.mark.feature("invariants"),
            column={"delta.invariants": '{"expression": {"expression": "id > 0"}}'},
        ),
        uses(pytest.mark.feature("checkConstraints"), {"delta.constraints.positive": "id > 0"}),
        uses(pytest.mark.feature("generatedColumns"), column={"delta.generationExpression": "length(s)"}),
        uses(pytest.mark.feature("identityColumns"), column=IDENTITY),
        uses(pytest.mark.feature("domainMetadata"), domain=("someone's", "anything")),
        uses(
            pytest.mark.feature("rowTracking"),
            {"delta.enableRowTracking": "true"},
            domain=("delta.rowTracking", '{"rowIdHighWaterMark": 2}'),
            baseRowId=0,
            defaultRowCommitVersion=0,
        ),
        uses(
            pytest.mark.feature("clustering"), domain=("delta.clustering", '{"clusteringColumns": [["id"]]}')
        ),
        uses(pytest.mark.feature("allowColumnDefaults"), column={"CURRENT_DEFAULT": "42"}),
        uses(
            pytest.mark.feature("inCommitTimestamp"),
            {"delta.enableInCommitTimestamps": "true"},
            info={"inCommitTimestamp": EPOCH_MS},
        ),
        uses(
            pytest.mark.feature("checkpointProtection"),
            {"delta.requireCheckpointProtectionBeforeVersion": "5"},
        ),
        uses(
            pytest.mark.feature("materializePartitionColumns"),
            {"delta.enableMaterializePartitionColumnsFeature": "true"},
        ),
        uses(pytest.mark.feature("icebergCompatV1"), MAPPED | {"delta.enableIcebergCompatV1": "true"}),
        uses(pytest.mark.feature("icebergCompatV2"), MAPPED | {"delta.enableIcebergCompatV2": "true"}),
        uses(pytest.mark.feature("icebergCompatV3"), MAPPED | {"delta.enableIcebergCompatV3": "true"}),
        uses(
            pytest.mark.feature("icebergWriterCompatV1"),
            MAPPED | {"delta.enableIcebergWriterCompatV1": "true"},
        ),
        uses(
            pytest.mark.feature("icebergWriterCompatV3"),
            MAPPED | {"delta.enableIcebergWriterCompatV3": "true"},
        ),
        uses(pytest.mark.feature("collations"), column={"__COLLATIONS": {"id": "icu.UNICODE_CI.75.1"}}),
        uses(
            pytest.mark.feature("coordinatedCommits-preview"),
            {"delta.coordinatedCommits.commitCoordinator-preview": "in-memory"},
        ),
        uses(pytest.mark.feature("redirectWriterOnly-preview"), {"delta.redirectWriterOnly-preview": "{}"}),
        uses(pytest.mark.feature("vacuumProtocolCheck")),
    ],
)
def test_the_rows_are_those_of_the_files(tmp_path, name, configuration, column, domain, info, add):
    mapped = "delta.columnMapping.mode" in configuration
    physical = {key: f"col-{key}" if mapped else key for key in ROWS.column_names}
    fields = []
    for number, (key, kind) in enumerate({"id": "long", "s": "string", "p": "string"}.items(), 1):
        mapping = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": physical[key]}
        metadata = (mapping if mapped else {}) | (column if key == "id" else {})
        fields.append({"name": key, "type": kind, "nullable": True, "metadata": metadata})
    required = [*FEATURES[name].requires, *(["columnMapping"] if mapped else [])]
    listed = {name, *required}
    readers = [key for key in listed if FEATURES[key].kind is FeatureKind.READER_WRITER]
    table = TableBuilder(tmp_path).features(*readers, writer_only=sorted(listed.difference(readers)))
    table.metadata({"type": "struct", "fields": fields}, ["p"], configuration)
    stored = ROWS.rename_columns(list(physical.values()))
    if name != "materializePartitionColumns":
        stored = stored.drop_columns(physical["p"])
    actions = [table.add_file(stored, {physical["p"]: "x"}, **add)]
    table.commit([*actions, *([table.domain(*domain)] if domain else [])], info=info)
    for read in READERS.values():
        assert_same_rows(read(tmp_path), ROWS)
