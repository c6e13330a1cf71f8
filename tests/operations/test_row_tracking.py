"""Row tracking in tables that are created, rewritten, or enable it later."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.errors import (
    CorruptLogError,
    InvalidTablePropertyError,
    MetadataChangedException,
    UnsupportedFeatureError,
)
from deltaarrow.operations.rows.row_id_assignment import backfill_row_ids
from deltaarrow.scan.row_id_columns import ROW_COMMIT_VERSION, ROW_ID
from tests.support.tables import TableBuilder

pytestmark = pytest.mark.feature("rowTracking")

ON = {"delta.enableRowTracking": "true"}
SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.string())])


def rows(*ids: int, p: str = "a") -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "p": [p] * len(ids)})


def tracked(path) -> dict[int, tuple[int, int]]:
    table = DeltaTable(path).to_pyarrow_table(columns=["id", ROW_ID, ROW_COMMIT_VERSION])
    return {row["id"]: (row[ROW_ID], row[ROW_COMMIT_VERSION]) for row in table.to_pylist()}


def commit_info(path, version: int) -> dict:
    log = path / "_delta_log" / f"{version:020d}.json"
    return json.loads(log.read_text().splitlines()[0])["commitInfo"]


@pytest.mark.parametrize("mapping", ["none", "name", "id"])
@pytest.mark.parametrize("partition_by", [[], ["p"]])
def test_rows_that_are_copied_keep_their_ids(tmp_path, mapping, partition_by):
    configuration = ON | {"delta.columnMapping.mode": mapping}
    write_deltalake(tmp_path, rows(1, 2, 3), configuration=configuration, partition_by=partition_by)
    write_deltalake(tmp_path, rows(4, 5, p="b"), mode="append")
    before = tracked(tmp_path)
    assert sorted(before.values()) == [(0, 0), (1, 0), (2, 0), (3, 1), (4, 1)]
    write_deltalake(tmp_path, rows(2), mode="overwrite", predicate="id = 2")
    after = tracked(tmp_path)
    assert after == before | {2: (5, 2)}
    write_deltalake(tmp_path, rows(3), mode="overwrite", predicate="id = 3")
    last = tracked(tmp_path)
    assert last.pop(3)[1] == 3
    del after[3]
    assert last == after
    assert DeltaTable(tmp_path).to_pyarrow_table().column_names == ["id", "p"]
    assert list(DeltaTable(tmp_path).verify(deep=True)) == []


def test_statistics_and_schema_say_nothing_of_the_hidden_columns(tmp_path):
    write_deltalake(tmp_path, rows(1, 2, 3), configuration=ON)
    write_deltalake(tmp_path, rows(2), mode="overwrite", predicate="id = 2")
    table = DeltaTable(tmp_path)
    assert table.schema().to_arrow() == SCHEMA
    names = set(table.metadata().configuration.values()) - {"true"}
    assert len(names) == 2
    for action in table.get_add_actions().to_pylist():
        assert not any(name in str(action) for name in names)
    (copied,) = [
        found for file in tmp_path.glob("*.parquet") if len((found := pq.read_table(file)).column_names) == 4
    ]
    assert copied.to_pylist()[0]["id"] == 1
    assert copied.column(2).to_pylist() == [0, 2]
    assert copied.column(3).to_pylist() == [0, 0]


def test_rows_of_a_table_that_merely_supports_row_tracking_are_copied_as_they_are(tmp_path):
    write_deltalake(tmp_path, rows(1, 2, 3), configuration={"delta.feature.rowTracking": "supported"})
    write_deltalake(tmp_path, rows(2), mode="overwrite", predicate="id = 2")
    assert all(len(pq.read_schema(file).names) == 2 for file in tmp_path.glob("*.parquet"))
    assert "tags" not in commit_info(tmp_path, 1)


def test_rows_that_are_marked_keep_the_ids_of_their_files(tmp_path):
    write_deltalake(tmp_path, rows(1, 2, 3), configuration=ON | {"delta.enableDeletionVectors": "true"})
    write_deltalake(tmp_path, rows(2), mode="overwrite", predicate="id = 2")
    assert tracked(tmp_path) == {1: (0, 0), 3: (2, 0), 2: (3, 1)}


def test_a_file_without_ids_is_not_rewritten_as_if_it_had_some(tmp_path):
    table = TableBuilder(tmp_path).protocol(1, 7, writer_features=["rowTracking", "domainMetadata"])
    names = {f"delta.rowTracking.materializedRow{n}ColumnName": n for n in ("Id", "CommitVersion")}
    table.metadata(SCHEMA, configuration=ON | names)
    table.commit([table.add_file(rows(1, 2))])
    with pytest.raises(CorruptLogError, match="baseRowId"):
        write_deltalake(tmp_path, rows(2), mode="overwrite", predicate="id = 2")


# --- enabling it later ----------------------------------------------------------------------------------


def test_files_from_before_get_ids_a_batch_at_a_time(tmp_path):
    write_deltalake(tmp_path, rows(1, 2))
    for number in range(3, 7):
        write_deltalake(tmp_path, rows(number), mode="append")
    snapshot = backfill_row_ids(DeltaTable(tmp_path).snapshot, most_files=2)
    assert snapshot.version == 8
    operations = [commit_info(tmp_path, version) for version in range(5, 9)]
    assert [each["operation"] for each in operations] == [
        "UPGRADE PROTOCOL",
        *["ROW TRACKING BACKFILL"] * 3,
    ]
    assert [each["operationParameters"].get("batchId") for each in operations] == [None, "0", "1", "2"]
    assert operations[1]["isolationLevel"] == "SnapshotIsolation"
    assert not operations[1]["isBlindAppend"]
    assert not any(DeltaTable(tmp_path).snapshot.files().column("data_change").to_pylist())
    assert backfill_row_ids(snapshot).version == 8
    table = DeltaTable(tmp_path)
    table.alter.set_table_properties(ON)
    assert table.version() == 9
    assert sorted(row_id for row_id, _ in tracked(tmp_path).values()) == list(range(6))


def test_enabling_is_said_to_be_all_only_where_it_is(tmp_path):
    for name, more in (("only", {}), ("more", {"delta.appendOnly": "false"})):
        path = tmp_path / name
        write_deltalake(path, rows(1), configuration={"delta.feature.rowTracking": "supported"})
        DeltaTable(path).alter.set_table_properties(ON | more)
        tags = commit_info(path, 1).get("tags")
        assert tags == (None if more else {"rowTrackingEnablementOnly": "true"})


def test_a_feature_that_is_added_names_the_hidden_columns(tmp_path):
    write_deltalake(tmp_path, rows(1))
    table = DeltaTable(tmp_path)
    table.alter.add_feature("rowTracking", allow_protocol_versions_increase=True)
    assert len([name for name in table.metadata().configuration if "materialized" in name]) == 2
    write_deltalake(tmp_path, rows(2), mode="append")
    assert DeltaTable(tmp_path).snapshot.files().column("base_row_id").to_pylist().count(None) == 1
    table.update_incremental()
    table.alter.set_table_properties(ON)
    assert tracked(tmp_path) == {2: (0, 2), 1: (1, 3)}


def test_a_file_whose_rows_are_not_counted_is_refused_before_anything_is_committed(tmp_path):
    table = TableBuilder(tmp_path).protocol(1, 2).metadata(SCHEMA)
    table.commit([table.add_file(rows(1), stats=False)])
    with pytest.raises(UnsupportedFeatureError, match="numRecords") as caught:
        DeltaTable(tmp_path).alter.set_table_properties(ON)
    assert caught.value.feature == "rowTracking"
    assert DeltaTable(tmp_path).version() == 0


def test_what_is_suspended_cannot_be_enabled(tmp_path):
    configuration = {"delta.feature.rowTracking": "supported", "delta.rowTrackingSuspended": "true"}
    write_deltalake(tmp_path, rows(1), configuration=configuration)
    table = DeltaTable(tmp_path)
    with pytest.raises(InvalidTablePropertyError, match="Suspended"):
        table.alter.set_table_properties(ON)
    assert DeltaTable(tmp_path).version() == 0
    table.alter.set_table_properties({"delta.rowTrackingSuspended": "false"})
    table.alter.set_table_properties(ON)
    assert tracked(tmp_path) == {1: (0, 2)}
    with pytest.raises(InvalidTablePropertyError, match="Suspended"):
        table.alter.set_table_properties({"delta.rowTrackingSuspended": "true"})


def test_metadata_that_is_changed_while_rows_get_ids_is_not_undone(tmp_path):
    write_deltalake(tmp_path, rows(1))
    late = DeltaTable(tmp_path)
    late.alter.add_feature("rowTracking", allow_protocol_versions_increase=True)
    DeltaTable(tmp_path).alter.set_table_name("other")
    with pytest.raises(MetadataChangedException):
        late.alter.set_table_properties(ON)
    assert DeltaTable(tmp_path).metadata().name == "other"
    assert DeltaTable(tmp_path).snapshot.files().column("base_row_id").to_pylist() in ([0], [None])
