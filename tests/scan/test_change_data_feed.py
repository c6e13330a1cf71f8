"""The change data feed: which rows of which files it shows and how, from logs written by hand."""

import datetime
import pickle

import pyarrow as pa
import pytest

import deltaarrow as da
from deltaarrow.errors import (
    CorruptDataFileError,
    CorruptLogError,
    SchemaMismatchError,
    UnsupportedFeatureError,
)
from deltaarrow.expressions import bind, from_filters, to_arrow
from tests.support.tables import EPOCH_MS, TableBuilder

SCHEMA = pa.schema([("id", pa.int64()), ("s", pa.string())])
ON = {"delta.enableChangeDataFeed": "true"}


def rows(*ids, **columns):
    data = {"id": pa.array(ids, pa.int64()), "s": pa.array([f"s{i}" for i in ids], pa.string())}
    return pa.table(data | columns)


@pytest.fixture
def table(tmp_path):
    return TableBuilder(tmp_path).features("deletionVectors", writer_only=["changeDataFeed"])


def started(table, schema=SCHEMA, partition_columns=(), **configuration):
    return table.metadata(schema, partition_columns, ON | configuration)


def changes(table, *arguments, columns=("_commit_version", "_change_type", "id"), **options):
    feed = da.DeltaTable(table.path).load_cdf(*arguments, columns=list(columns), **options)
    return sorted(tuple(row.values()) for row in feed.read_all().to_pylist())


# --- what a change is ------------------------------------------------------------------------------


def test_added_files_are_inserts_and_removed_ones_deletes(table):
    first = started(table).add_file(rows(1, 2))
    table.commit([first]).commit([table.remove(first), table.add_file(rows(3))])
    assert changes(table) == [
        (0, "insert", 1),
        (0, "insert", 2),
        (1, "delete", 1),
        (1, "delete", 2),
        (1, "insert", 3),
    ]


@pytest.mark.feature("changeDataFeed")
def test_a_version_with_change_data_files_is_read_from_them_alone(table):
    first = started(table).add_file(rows(1, 2))
    images = rows(1, 1, _change_type=pa.array(["update_preimage", "update_postimage"]))
    table.commit([first]).commit([table.remove(first), table.add_file(rows(1, 2)), table.cdc(images)])
    assert changes(table, 1) == [(1, "update_postimage", 1), (1, "update_preimage", 1)]


def test_actions_that_do_not_change_data_are_left_out(table):
    first = started(table).add_file(rows(1, 2))
    table.commit([first])
    table.commit([table.remove(first, dataChange=False), table.add_file(rows(1, 2), dataChange=False)])
    assert changes(table, 1) == []


@pytest.mark.feature("changeDataFeed")
@pytest.mark.feature("deletionVectors")
def test_rows_that_are_newly_marked_are_deletes(table):
    first = started(table).add_file(rows(1, 2, 3, 4))
    table.commit([first])
    table.commit(table.with_deletion_vector(first, table.deletion_vector([0])))
    (marked,) = [a for a in table.commits[1] if "add" in a]
    table.commit(table.with_deletion_vector(marked, table.deletion_vector([0, 2], "i")))
    assert changes(table, 1) == [(1, "delete", 1), (2, "delete", 3)]


def test_rows_that_are_no_longer_marked_are_inserts(table):
    first = started(table).add_file(rows(1, 2, 3, 4), deletion_vector=table.deletion_vector([0, 1]))
    table.commit([first])
    table.commit(table.with_deletion_vector(first, table.deletion_vector([1, 3])))
    (marked,) = [a for a in table.commits[1] if "add" in a]
    clean = {"add": {k: v for k, v in marked["add"].items() if k != "deletionVector"}}
    table.commit([clean, table.remove(marked)])
    assert changes(table) == [
        (0, "insert", 3),
        (0, "insert", 4),
        (1, "delete", 4),
        (1, "insert", 1),
        (2, "insert", 2),
        (2, "insert", 4),
    ]


def test_a_removed_file_shows_its_live_rows(table):
    first = started(table).add_file(rows(1, 2, 3), deletion_vector=table.deletion_vector([1]))
    table.commit([first]).commit([table.remove(first)])
    assert changes(table, 1) == [(1, "delete", 1), (1, "delete", 3)]


def test_row_groups_without_a_change_do_not_count(table):
    first = started(table).add_file(rows(*range(10)), parquet={"row_group_size": 2})
    table.commit([first]).commit(table.with_deletion_vector(first, table.deletion_vector([3, 8])))
    assert changes(table, 1) == [(1, "delete", 3), (1, "delete", 8)]
    feed = da.DeltaTable(table.path).change_data_feed(1)
    assert feed.count_rows() == 2
    assert feed.to_table(columns=["_change_type"])["_change_type"].to_pylist() == ["delete", "delete"]


def test_one_file_may_change_in_many_versions(table):
    first = started(table).add_file(rows(*range(6)))
    table.commit([first])
    for end in range(1, 6):
        last = [a for a in table.commits[table.version] if "add" in a][-1]
        table.commit(table.with_deletion_vector(last, table.deletion_vector(range(end))))
    assert changes(table, 1) == [(version, "delete", version - 1) for version in range(1, 6)]


def test_a_merge_without_effect_is_left_out(table):
    first = started(table).add_file(rows(1))
    table.commit([first])
    metrics = dict.fromkeys(("numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted"), "0")
    info = {"operation": "MERGE", "operationMetrics": metrics}
    table.commit([table.remove(first), table.add_file(rows(1))], info=info)
    assert changes(table, 1) == []


@pytest.mark.parametrize("again", ["same", "marked"])
def test_a_commit_that_contradicts_itself_is_refused(table, again):
    first = started(table).add_file(rows(1, 2))
    table.commit([first])
    other = {"add": first["add"] | {"deletionVector": table.deletion_vector([0])}}
    table.commit([table.remove(first), first] if again == "same" else [first, other])
    with pytest.raises(CorruptLogError, match=r"00000000000000000001\.json"):
        changes(table, 1)


def test_a_change_without_its_type_is_refused(table):
    started(table).commit([table.cdc(rows(1))])
    with pytest.raises(CorruptDataFileError, match="_change_type"):
        changes(table)


# --- columns ---------------------------------------------------------------------------------------


def test_the_columns_of_the_feed(table):
    started(table).commit([table.add_file(rows(1))])
    feed = da.DeltaTable(table.path).load_cdf()
    assert feed.schema == SCHEMA.append(pa.field("_change_type", pa.string())).append(
        pa.field("_commit_version", pa.int64())
    ).append(pa.field("_commit_timestamp", pa.timestamp("us", "UTC")))
    (row,) = feed.read_all().to_pylist()
    assert row["_commit_timestamp"] == datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


def test_times_of_files_are_made_increasing(table):
    started(table).commit([table.add_file(rows(1))], timestamp=EPOCH_MS + 5)
    table.commit([table.add_file(rows(2))], timestamp=EPOCH_MS)
    found = changes(table, columns=["id", "_commit_timestamp"])
    assert [at.microsecond for _, at in found] == [5000, 6000]


@pytest.mark.feature("changeDataFeed")
@pytest.mark.feature("inCommitTimestamp")
def test_times_are_those_in_commits_once_a_table_has_them(table):
    started(table).commit([table.add_file(rows(1))], timestamp=EPOCH_MS)
    since = {
        "delta.enableInCommitTimestamps": "true",
        "delta.inCommitTimestampEnablementVersion": "1",
        "delta.inCommitTimestampEnablementTimestamp": str(EPOCH_MS + 7),
    }
    table.features("deletionVectors", writer_only=["changeDataFeed", "inCommitTimestamp"])
    started(table, **since)
    table.commit([table.add_file(rows(2))], info={"inCommitTimestamp": EPOCH_MS + 7})
    found = changes(table, columns=["id", "_commit_timestamp"])
    assert [at.microsecond for _, at in found] == [0, 7000]


def test_partition_values_of_the_log_win(table):
    schema = SCHEMA.append(pa.field("p", pa.int32()))
    held = rows(1, p=pa.array([9], pa.int32()))
    started(table, schema, ["p"]).commit([table.add_file(held, {"p": "1"})])
    images = held.append_column("_change_type", pa.array(["delete"]))
    table.commit([table.cdc(images, {"p": None})])
    assert changes(table, columns=["_change_type", "p"]) == [("delete", None), ("insert", 1)]


def test_a_null_left_out_of_partition_values_is_null(table):
    schema = SCHEMA.append(pa.field("p", pa.int32()))
    first = started(table, schema, ["p"]).add_file(rows(1), {"p": None})
    table.commit([first]).commit([table.remove(first, partitionValues={})])
    assert changes(table, columns=["_change_type", "p"]) == [("delete", None), ("insert", None)]


def test_a_file_of_another_partitioning_is_refused(table):
    started(table).commit([table.add_file(rows(1), {"p": "1"})])
    with pytest.raises(SchemaMismatchError, match=r"version 0 changes .* \['p'\]"):
        changes(table)


@pytest.mark.parametrize("mode", ["name", "id"])
def test_change_data_files_of_a_mapped_table(tmp_path, mode):
    table = TableBuilder(tmp_path).features("columnMapping", writer_only=["changeDataFeed"])
    meta = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-1"}
    field = {"name": "id", "type": "long", "nullable": True, "metadata": meta}
    table.metadata(
        {"type": "struct", "fields": [field]}, configuration=ON | {"delta.columnMapping.mode": mode}
    )
    physical = pa.schema(
        [pa.field("col-1", pa.int64(), metadata={"PARQUET:field_id": "1"}), ("_change_type", pa.string())]
    )
    images = pa.table([pa.array([1], pa.int64()), pa.array(["delete"])], schema=physical)
    table.commit([table.add_file(images.drop_columns("_change_type"))]).commit([table.cdc(images)])
    assert changes(table) == [(0, "insert", 1), (1, "delete", 1)]
    assert changes(table, predicate="_change_type = 'delete'") == [(1, "delete", 1)]
    assert changes(table, predicate="_commit_version = 0") == [(0, "insert", 1)]


def test_a_table_may_not_have_the_columns_of_the_feed(table):
    started(table, SCHEMA.append(pa.field("_Commit_Version", pa.int64()))).commit()
    with pytest.raises(SchemaMismatchError, match="_Commit_Version"):
        changes(table)


def test_an_absent_column_is_refused(table):
    started(table).commit([table.add_file(rows(1))])
    with pytest.raises(SchemaMismatchError, match="`x`"):
        changes(table, columns=["x"])


@pytest.mark.feature("rowTracking")
@pytest.mark.parametrize("column", ["_metadata.row_id", "_metadata.row_commit_version"])
def test_row_ids_cannot_be_read_from_change_data_files(tmp_path, column):
    table = TableBuilder(tmp_path).protocol(
        1, 7, writer_features=["rowTracking", "domainMetadata", "changeDataFeed"]
    )
    hidden = {
        f"delta.rowTracking.materializedRow{what}ColumnName": f"_row-{what}"
        for what in ("Id", "CommitVersion")
    }
    started(table, **hidden, **{"delta.enableRowTracking": "true"})
    table.commit([table.add_file(rows(1), baseRowId=0, defaultRowCommitVersion=0)])
    recorded = {"_row-Id": pa.array([7]), "_change_type": pa.array(["delete"])}
    table.commit([table.cdc(rows(1, **recorded))])
    feed = da.DeltaTable(table.path).change_data_feed()
    assert feed.schema.names == ["id", "s", "_change_type", "_commit_version", "_commit_timestamp"]
    assert feed.to_table().num_rows == 2
    with pytest.raises(UnsupportedFeatureError, match=f"has no {column}") as caught:
        changes(table, columns=["id", column])
    assert caught.value.feature == "rowTracking"


# --- what is read ----------------------------------------------------------------------------------


def test_predicates_are_exact_and_leave_out_files(table):
    schema = SCHEMA.append(pa.field("p", pa.int32()))
    started(table, schema, ["p"]).commit([table.add_file(rows(1, 2), {"p": "1"})])
    table.commit([table.add_file(rows(3, 4), {"p": "2"})])
    images = rows(3, 3, _change_type=pa.array(["update_preimage", "update_postimage"]))
    table.commit([table.cdc(images, {"p": "2"})])
    assert changes(table, predicate="id > 1 and _change_type = 'insert'") == [
        (0, "insert", 2),
        (1, "insert", 3),
        (1, "insert", 4),
    ]
    feed = da.DeltaTable(table.path).change_data_feed()

    def read(**conditions):
        filters = [(name, "=", value) for name, value in conditions.items()]
        return len(feed.plan(filter=to_arrow(bind(from_filters(filters), feed.logical_schema))).tasks)

    assert read(p=1) == 1
    assert read(_commit_version=2) == 1
    assert read(id=1) == 2, "a change data file has no statistics"
    assert read(_change_type="delete") == 1, "only a change data file says it in its rows"
    assert read(_commit_timestamp=datetime.datetime(2026, 1, 1, 0, 0, 1, tzinfo=datetime.UTC)) == 1


def test_rows_before_a_deletion_are_found_by_the_statistics_of_that_time(table):
    first = started(table).add_file(rows(1, 9))
    table.commit([first])
    tight = first["add"] | {
        "stats": '{"numRecords":2,"tightBounds":true,"minValues":{"id":1},"maxValues":{"id":1}}',
        "deletionVector": table.deletion_vector([1]),
    }
    removed = table.remove(first, stats=first["add"]["stats"])
    table.commit([removed, {"add": tight}])
    assert changes(table, 1, predicate="id = 9") == [(1, "delete", 9)]


def test_the_feed_as_a_dataset_travels(table):
    started(table).commit([table.add_file(rows(1))])
    feed = pickle.loads(pickle.dumps(da.DeltaTable(table.path).change_data_feed()))
    assert feed.to_table(columns=["id"]).to_pylist() == [{"id": 1}]
    with pytest.raises(da.UnsupportedFeatureError, match="fragments"):
        feed.get_fragments()


@pytest.mark.feature("changeDataFeed")
def test_ordinary_reads_do_not_show_the_column(table, engine):
    held = rows(1, _change_type=pa.array([None], pa.string()))
    started(table).commit([table.add_file(held)])
    assert engine(table.path) == [{"id": 1, "s": "s1"}]
    assert changes(table) == [(0, "insert", 1)]
