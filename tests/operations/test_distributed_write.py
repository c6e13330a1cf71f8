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
    return [carried(carried(write.part(place)).write(part.to_batches())) for place, part in enumerate(parts)]


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
    assert write.part(0).records_changes is (vectors == "false")
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
    assert again.part(0) is None
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


def create_numbered(path, start=1, step=1, explicit=False):
    identity = {
        "delta.identity.start": start,
        "delta.identity.step": step,
        "delta.identity.allowExplicitInsert": explicit,
    }
    schema = da.Schema([da.Field("id", "long", metadata=identity), da.Field("s", "string")])
    da.DeltaTable.create(path, schema)


def texts(count):
    return pa.table({"s": ["a"] * count})


def mark(path):
    return da.DeltaTable(path).snapshot.schema.field("id").metadata.get("delta.identity.highWaterMark")


@pytest.mark.feature("identityColumns")
@pytest.mark.parametrize("step", [3, -3])
def test_each_part_gives_numbers_of_its_own(tmp_path, step):
    create_numbered(tmp_path, start=10, step=step)
    write = planned(tmp_path, texts(1), mode="append")
    rows = texts(5)
    parts = [rows, texts(0), rows, pa.concat_tables([texts(2), texts(3)])]
    written(write, *parts)  # attempts that are not counted
    write.commit(written(write, *parts))
    places = [0, 1, 2, 5, 6, 4, 11, 12, 29, 30, 13, 33, 34, 81, 82]
    assert ids(tmp_path) == sorted(10 + step * place for place in places)
    assert mark(tmp_path) == 10 + step * 82
    info = da.DeltaTable(tmp_path).history(1)[0]
    assert (info["isBlindAppend"], info["tags"]) == (True, {"delta.identity.schemaUpdate": "true"})
    da.write_deltalake(tmp_path, texts(2), mode="append")
    assert ids(tmp_path)[-2 if step > 0 else 0 :][:2] == sorted(10 + step * place for place in (83, 84))


@pytest.mark.feature("identityColumns")
def test_an_overwrite_goes_on_numbering_and_rows_that_stay_keep_their_numbers(tmp_path):
    create_numbered(tmp_path)
    for options in ({}, {"predicate": "id = 2"}):
        write = planned(tmp_path, texts(1), mode="overwrite", checks_predicate=False, **options)
        write.commit(written(write, texts(2), texts(1)))
    assert ids(tmp_path) == [1, 4, 5, 6, 8]
    assert mark(tmp_path) == 8


@pytest.mark.feature("identityColumns")
def test_parts_without_rows_leave_the_mark(tmp_path):
    create_numbered(tmp_path)
    write = planned(tmp_path, texts(0), mode="append")
    write.commit(written(write, texts(0), texts(0)))
    assert (mark(tmp_path), da.DeltaTable(tmp_path).version()) == (None, 0)


@pytest.mark.feature("identityColumns")
@pytest.mark.parametrize(("step", "start"), [(1, 2**63 - 5), (-1, -(2**63) + 4), (2**62, -(2**62))])
def test_a_part_without_numbers_left_is_refused(tmp_path, step, start):
    create_numbered(tmp_path, start, step)
    write = planned(tmp_path, texts(1), mode="append")
    with pytest.raises(da.ConstraintViolationError, match="'id' has no numbers left"):
        carried(write.part(7)).write(texts(1).to_batches())
    with pytest.raises(da.ConstraintViolationError, match="'id' has no numbers left"):
        carried(write.part(0)).write(texts(4).to_batches())
    assert not data_files(tmp_path)
    write.commit(written(write, texts(2)))
    assert ids(tmp_path) == sorted([start, start + step])


@pytest.mark.feature("identityColumns")
def test_two_writes_that_number_rows_conflict(tmp_path):
    create_numbered(tmp_path)
    first, second = (planned(tmp_path, texts(1), mode="append") for _ in range(2))
    parts = written(second, texts(2), texts(2))
    first.commit(written(first, texts(3)))
    with pytest.raises(da.MetadataChangedException):
        second.commit(parts)
    assert ids(tmp_path) == [1, 2, 3]
    assert len(data_files(tmp_path)) == 1


@pytest.mark.feature("identityColumns")
def test_numbers_that_data_gives_are_kept_where_the_column_allows_it(tmp_path):
    create_numbered(tmp_path / "always")
    create_numbered(tmp_path / "default", explicit=True)
    given = pa.table({"id": [5], "s": ["a"]})
    with pytest.raises(da.SchemaMismatchError, match="GENERATED ALWAYS"):
        planned(tmp_path / "always", given, mode="append")
    write = planned(tmp_path / "default", given, mode="append")
    write.commit(written(write, given))
    assert (ids(tmp_path / "default"), mark(tmp_path / "default")) == ([5], None)


@pytest.mark.feature("identityColumns")
@pytest.mark.parametrize("are_given", [True, False], ids=["given", "generated"])
def test_batch_of_a_stream_conflicts_with_other_numbers_only_if_it_has_numbered_rows(tmp_path, are_given):
    create_numbered(tmp_path, explicit=True)
    data = pa.table({"id": [50], "s": ["a"]}) if are_given else texts(1)
    write = planned(tmp_path, data, mode="append")
    parts = written(write, data)
    da.write_deltalake(tmp_path, texts(1), mode="append")
    newest = Snapshot.load(open_store(tmp_path))
    if are_given:
        assert write.again(newest, [Transaction("stream", 0)]).commit(parts).version == 2
        assert (ids(tmp_path), mark(tmp_path)) == ([1, 50], 1)
    else:
        with pytest.raises(da.MetadataChangedException, match="high water marks"):
            write.again(newest, [Transaction("stream", 0)])


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
