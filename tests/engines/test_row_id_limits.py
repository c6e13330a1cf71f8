"""Row ids and commit versions out of range are refused with the file's name and never wrap around."""

import pyarrow as pa
import pytest

from deltaarrow.errors import CorruptLogError
from tests.support.tables import TableBuilder

pytestmark = pytest.mark.feature("rowTracking")

CONFIGURATION = {
    "delta.enableRowTracking": "true",
    "delta.rowTracking.materializedRowIdColumnName": "_row-id",
    "delta.rowTracking.materializedRowCommitVersionColumnName": "_row-commit",
}
TRACKED = {"baseRowId": 0, "defaultRowCommitVersion": 0}


def build(path, checkpointed, **recorded):
    table = TableBuilder(path).protocol(1, 7, writer_features=["rowTracking", "domainMetadata"])
    table.metadata(pa.schema([("id", pa.int64())]), configuration=CONFIGURATION)
    rows = pa.table({"id": [1, 2]})
    good = table.add_file(rows, **TRACKED)
    table.commit([good, table.add_file(rows, name="bad.parquet", **(TRACKED | recorded))])
    if checkpointed:
        table.checkpoint()
    return table


@pytest.mark.parametrize("checkpointed", [False, True])
@pytest.mark.parametrize(
    ("recorded", "what"),
    [
        ({"baseRowId": -1}, "baseRowId out of range: -1"),
        ({"baseRowId": 2**63 - 1}, "baseRowId out of range: 9223372036854775807"),
        ({"baseRowId": 2**63 - 3}, "baseRowId out of range: 9223372036854775805"),
        ({"defaultRowCommitVersion": -7}, "defaultRowCommitVersion out of range: -7"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused(engine, tmp_path, recorded, what, checkpointed):
    build(tmp_path, checkpointed, **recorded)
    with pytest.raises(Exception, match=rf"bad\.parquet has a {what}") as caught:
        engine(tmp_path, row_tracking=True)
    if engine.name == "duckdb":
        assert isinstance(caught.value, CorruptLogError)


def test_who_wants_no_row_ids_reads_on(engine, tmp_path):
    build(tmp_path, False, baseRowId=-1)
    assert len(engine(tmp_path)) == 4


def test_great_row_ids_are_read(engine, tmp_path):
    build(tmp_path, False, baseRowId=2**62, defaultRowCommitVersion=2**62)
    found = engine(tmp_path, ["_metadata.row_id", "_metadata.row_commit_version"], row_tracking=True)
    assert {row.popitem()[1] for row in found} == {0, 2**62}


@pytest.mark.parametrize("recorded", [{"baseRowId": 2**63}, {"baseRowId": 1.5}, {"baseRowId": "1"}], ids=str)
def test_what_is_no_long_is_refused(engine, tmp_path, recorded):
    build(tmp_path, False, **recorded)
    with pytest.raises(Exception, match=r"baseRowId|base_row_id"):
        engine(tmp_path, row_tracking=True)
