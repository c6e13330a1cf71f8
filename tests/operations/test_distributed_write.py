"""A write whose tasks run elsewhere: planned, pickled, written in parts and committed once."""

import pickle
from pathlib import Path

import pyarrow as pa
import pytest

import deltaarrow as da
from deltaarrow.operations import DistributedWrite, StreamEpoch, Transaction, WriteOptions, WrittenRows
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import open_store


def carried(value):
    """What arrives in another process."""
    return pickle.loads(pickle.dumps(value))


def planned(path, data, **options):
    store = open_store(path)
    snapshot = Snapshot.load(store) if da.DeltaTable.is_deltatable(path) else None
    return carried(DistributedWrite.plan(store, snapshot, data.schema, WriteOptions(**options)))


def written(write, *parts):
    """What executors return that have got a part each."""
    return [carried(carried(write.task).write(part.to_batches())) for part in parts]


def data_files(path):
    return sorted(file.name for file in Path(path).rglob("*.parquet") if "_delta_log" not in file.parts)


def ids(path):
    return sorted(da.DeltaTable(path).to_pyarrow_table()["id"].to_pylist())


def test_parts_are_committed_at_once(tmp_path):
    parts = [pa.table({"id": [1, 2]}), pa.table({"id": [3]}), pa.table({"id": pa.array([], pa.int64())})]
    write = planned(tmp_path, parts[0], mode="append")
    done = written(write, *parts)
    assert not da.DeltaTable.is_deltatable(tmp_path)
    result = write.commit(done)
    assert (result.version, result.num_files, result.num_rows) == (0, 2, 3)
    assert ids(tmp_path) == [1, 2, 3]
    [info] = da.DeltaTable(tmp_path).history()
    assert info["operationMetrics"]["numOutputRows"] == "3"


def test_files_of_tasks_that_are_not_counted_are_no_part_of_the_table(tmp_path):
    data = pa.table({"id": [1]})
    write = planned(tmp_path, data, mode="append")
    lost, counted = written(write, data, data)
    write.commit([counted])
    assert ids(tmp_path) == [1]
    write.discard([lost])
    assert len(data_files(tmp_path)) == 1


def test_new_columns_have_one_physical_name_in_all_parts(tmp_path):
    properties = {"delta.columnMapping.mode": "name"}
    da.write_deltalake(tmp_path, pa.table({"id": [0]}), configuration=properties)
    data = pa.table({"id": [1], "more": ["a"]})
    write = planned(tmp_path, data, mode="append", schema_mode="merge")
    write.commit(written(write, data, data))
    assert sorted(map(str, da.DeltaTable(tmp_path).to_pyarrow_table()["more"].to_pylist())) == [
        "None",
        "a",
        "a",
    ]


@pytest.mark.feature("changeDataFeed")
@pytest.mark.parametrize("vectors", ["true", "false"])
def test_rows_of_a_condition_are_replaced_and_their_changes_recorded(tmp_path, vectors):
    properties = {"delta.enableChangeDataFeed": "true", "delta.enableDeletionVectors": vectors}
    da.write_deltalake(tmp_path, pa.table({"id": [1, 2, 3, 4]}), configuration=properties)
    data = pa.table({"id": [3, 30]})
    write = planned(tmp_path, data, mode="overwrite", predicate="id >= 3")
    assert write.task.records_changes is (vectors == "false")
    result = write.commit(written(write, data.slice(0, 1), data.slice(1)))
    assert (result.version, result.num_deleted_rows) == (1, 2)
    assert ids(tmp_path) == [1, 2, 3, 30]
    feed = da.DeltaTable(tmp_path).load_cdf(1).read_all()
    found = sorted(zip(feed["_change_type"].to_pylist(), feed["id"].to_pylist(), strict=True))
    assert found == [("delete", 3), ("delete", 4), ("insert", 3), ("insert", 30)]


def test_row_outside_of_the_condition_is_refused_where_it_is_written(tmp_path):
    da.write_deltalake(tmp_path, pa.table({"id": [1]}))
    data = pa.table({"id": [1, 2]})
    write = planned(tmp_path, data, mode="overwrite", predicate="id = 1")
    with pytest.raises(da.ConstraintViolationError, match="id = 1"):
        written(write, data)
    assert len(data_files(tmp_path)) == 1


def test_partitions_that_any_part_is_in_are_replaced(tmp_path):
    rows = pa.table({"id": [1, 2, 3], "p": ["a", "b", "c"]})
    da.write_deltalake(tmp_path, rows, partition_by=["p"])
    data = pa.table({"id": [10, 20], "p": ["a", "b"]})
    write = planned(tmp_path, data, mode="overwrite", partition_overwrite_mode="dynamic")
    write.commit(written(write, data.slice(0, 1), data.slice(1)))
    assert ids(tmp_path) == [3, 10, 20]


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_repeated_write_of_an_application_is_not_made(tmp_path, mode):
    data = pa.table({"id": [1]})
    options = {"mode": mode, "applications": (Transaction("app", 7),)}
    first = planned(tmp_path, data, **options)
    first.commit(written(first, data))
    again = planned(tmp_path, data, **options)
    assert again.task is None
    result = again.commit([])
    assert (result.version, result.is_replay) == (None, True)
    assert da.DeltaTable(tmp_path).version() == 0


def test_two_writes_of_one_application_at_once_are_made_once(tmp_path):
    data = pa.table({"id": [1]})
    da.write_deltalake(tmp_path, data)
    options = {"mode": "append", "applications": (Transaction("app", 1),)}
    both = [planned(tmp_path, data, **options) for _ in range(2)]
    parts = [written(write, data) for write in both]
    both[0].commit(parts[0])
    with pytest.raises(da.ConcurrentTransactionException):
        both[1].commit(parts[1])
    assert ids(tmp_path) == [1, 1]
    assert len(data_files(tmp_path)) == 2


def test_conflict_deletes_what_the_tasks_have_written(tmp_path):
    data = pa.table({"id": [1]})
    da.write_deltalake(tmp_path, data)
    write = planned(tmp_path, data, mode="overwrite")
    parts = written(write, data)
    da.write_deltalake(tmp_path, pa.table({"id": [2]}), mode="append")
    with pytest.raises(da.ConcurrentAppendException):
        write.commit(parts)
    assert ids(tmp_path) == [1, 2]
    assert len(data_files(tmp_path)) == 2


def test_append_goes_after_what_others_have_committed(tmp_path):
    data = pa.table({"id": [1]})
    da.write_deltalake(tmp_path, data)
    write = planned(tmp_path, data, mode="append")
    parts = written(write, data)
    da.write_deltalake(tmp_path, pa.table({"id": [2]}), mode="append")
    assert write.commit(parts).version == 2
    assert ids(tmp_path) == [1, 1, 2]


def test_failure_before_the_commit_deletes_what_the_tasks_have_written(tmp_path):
    data = pa.table({"id": [1]})
    da.write_deltalake(tmp_path, data)
    write = planned(tmp_path, data, mode="append")
    parts = written(write, data)
    (tmp_path / "_delta_log" / f"{0:020}.json").unlink()
    with pytest.raises(da.DeltaError):
        write.commit(parts)
    assert len(data_files(tmp_path)) == 1


@pytest.mark.feature("identityColumns")
def test_identity_columns_are_refused_by_name(tmp_path):
    identity = {
        "delta.identity.start": 1,
        "delta.identity.step": 1,
        "delta.identity.allowExplicitInsert": True,
    }
    schema = da.Schema([da.Field("id", "long", metadata=identity), da.Field("s", "string")])
    da.DeltaTable.create(tmp_path, schema)
    with pytest.raises(da.UnsupportedFeatureError, match="'id'") as caught:
        planned(tmp_path, pa.table({"s": ["a"]}), mode="append")
    assert caught.value.feature == "identityColumns"
    given = pa.table({"id": [5], "s": ["a"]})
    write = planned(tmp_path, given, mode="append")
    write.commit(written(write, given))
    assert ids(tmp_path) == [5]


@pytest.mark.feature("allowColumnDefaults")
def test_all_parts_have_the_same_present_time(tmp_path):
    schema = da.Schema(
        [
            da.Field("id", "long"),
            da.Field("at", "timestamp", metadata={"CURRENT_DEFAULT": "current_timestamp()"}),
        ]
    )
    properties = {"delta.feature.allowColumnDefaults": "supported"}
    da.DeltaTable.create(tmp_path, schema, configuration=properties)
    data = pa.table({"id": [1]})
    write = planned(tmp_path, data, mode="append")
    write.commit(written(write, data, data))
    times = da.DeltaTable(tmp_path).to_pyarrow_table()["at"]
    assert times.null_count == 0
    assert len(times.unique()) == 1


def test_joined_parts_name_all_files(tmp_path):
    data = pa.table({"id": [1]})
    write = planned(tmp_path, data, mode="append")
    joined = WrittenRows.joined(written(write, data, data))
    assert sorted(joined.paths) == data_files(tmp_path)
    assert joined.rows == 2


@pytest.mark.parametrize("is_written_again", [True, False])
def test_batch_of_a_stream_that_is_repeated_is_committed_once(tmp_path, is_written_again):
    data = pa.table({"id": [1]})
    write = planned(tmp_path, data, mode="append")
    parts = written(write, data)
    assert carried(write).again(None, [Transaction("stream", 0)]).commit(parts).version == 0
    if is_written_again:
        write = planned(tmp_path, data, mode="append")
        parts = written(write, data)
    again = write.again(Snapshot.load(open_store(tmp_path)), [Transaction("stream", 0)])
    assert again.commit(parts).is_replay
    assert (ids(tmp_path), da.DeltaTable(tmp_path).version()) == ([1], 0)


def test_batch_goes_after_what_others_have_committed_unless_the_table_is_another(tmp_path):
    data = pa.table({"id": [1]})
    da.write_deltalake(tmp_path, data)
    write = planned(tmp_path, data, mode="append")
    parts = written(write, data)
    da.write_deltalake(tmp_path, data, mode="append")
    epoch = StreamEpoch("a query", 0)
    later = write.again(Snapshot.load(open_store(tmp_path)), [Transaction("stream", 0)], epoch)
    assert later.commit(parts).version == 2
    entry = da.DeltaTable(tmp_path).history(1)[0]
    assert entry["operation"] == "STREAMING UPDATE"
    assert entry["operationParameters"] == {"outputMode": "Append", "queryId": "a query", "epochId": "0"}
    metrics = {name: entry["operationMetrics"][name] for name in ("numAddedFiles", "numRemovedFiles")}
    assert metrics == {"numAddedFiles": "1", "numRemovedFiles": "0"}
    assert entry["operationMetrics"]["numOutputRows"] == "1"
    da.write_deltalake(tmp_path, pa.table({"more": [1]}), mode="append", schema_mode="merge")
    with pytest.raises(da.MetadataChangedException, match="begin it anew"):
        write.again(Snapshot.load(open_store(tmp_path)), [Transaction("stream", 1)])
