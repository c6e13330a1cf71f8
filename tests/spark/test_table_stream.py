"""The files after an offset of a stream, without a Spark session."""

import json
import pickle
import shutil

import pyarrow as pa
import pytest

import deltaarrow as da
from deltaarrow.errors import (
    ChangeDataNotRecordedError,
    CorruptDataFileError,
    SchemaMismatchError,
    TableNotFoundError,
    UnsupportedFeatureError,
    VersionNotFoundError,
)
from deltaarrow.spark.stream_offset import StreamOffset
from deltaarrow.spark.stream_options import StreamOptions
from deltaarrow.spark.stream_scan import StreamScan
from deltaarrow.spark.table_stream import TableStream

FEED = {"delta.enableChangeDataFeed": "true"}
VECTORS = {"delta.enableDeletionVectors": "true"}


def append(path, *ids, **options):
    da.write_deltalake(path, pa.table({"id": pa.array(ids, pa.int64())}), mode="append", **options)


def scan(path, version=None, **options):
    return StreamScan.open(StreamOptions.parse({"path": str(path), **options}), version)


def rows(scan, stream, start, end):
    """The rows of a batch, read as executors do."""
    split_scan = pickle.loads(pickle.dumps(scan.split_scan))
    splits = pickle.loads(pickle.dumps(stream.splits(start, end)))
    batches = [batch.to_pylist() for split in splits for batch in split_scan.read(split)]
    return [row for batch in batches for row in batch]


def batches(path, start=None, version=None, **options):
    """The ids of each batch up to the end of the table, and the last offset; each by a stream of its own."""
    found = []
    offset = start or TableStream(scan(path, version, **options)).beginning()
    while True:
        opened = scan(path, version, **options)
        stream = TableStream(opened)
        end = stream.next_offset(offset, is_limited=True)
        assert StreamOffset.parse(end.render()) == end
        if end == offset:
            return found, offset
        found.append(sorted(row["id"] for row in rows(opened, TableStream(opened), offset, end)))
        offset = end


def test_initial_snapshot_comes_first_and_then_the_commits(tmp_path):
    append(tmp_path, 1, 2, configuration=VECTORS)
    append(tmp_path, 3)
    append(tmp_path, 4)
    da.DeltaTable(tmp_path).delete("id = 1")
    for limit, counts in [("1", [1, 1, 1]), ("2", [2, 1]), ("9", [3])]:
        found, end = batches(tmp_path, maxFilesPerTrigger=limit)
        assert [len(batch) for batch in found] == counts
        assert sorted(number for batch in found for number in batch) == [2, 3, 4]
        assert (end.version, end.index, end.is_initial_snapshot) == (4, -1, False)
    _, end = batches(tmp_path)
    append(tmp_path, 5)
    append(tmp_path, 6)
    assert batches(tmp_path, end, maxFilesPerTrigger="1")[0] == [[5], [6]]
    assert batches(tmp_path, end)[0] == [[5, 6]]


def test_limit_of_bytes_takes_one_file_at_least(tmp_path):
    for number in range(4):
        append(tmp_path, number)
    size = max(file.stat().st_size for file in tmp_path.glob("*.parquet"))
    assert batches(tmp_path, maxBytesPerTrigger="1", startingVersion="0")[0] == [[0], [1], [2], [3]]
    assert batches(tmp_path, maxBytesPerTrigger=str(size + 1), startingVersion="0")[0] == [[0, 1], [2, 3]]
    both = {"maxBytesPerTrigger": "1g", "maxFilesPerTrigger": "3"}
    assert batches(tmp_path, startingVersion="0", **both)[0] == [[0, 1, 2], [3]]


def test_beginning_by_version_and_time(tmp_path):
    for number in range(3):
        append(tmp_path, number)
    assert batches(tmp_path, startingVersion="1")[0] == [[1, 2]]
    found, end = batches(tmp_path, startingVersion="latest")
    assert found == []
    assert batches(tmp_path, startingTimestamp="1970-01-01")[0] == [[0, 1, 2]]
    with pytest.raises(VersionNotFoundError, match="no version is as new"):
        batches(tmp_path, startingTimestamp="2999-01-01")
    with pytest.raises(VersionNotFoundError, match="version 3 does not exist"):
        batches(tmp_path, startingVersion="3")
    append(tmp_path, 3)
    assert batches(tmp_path, end, startingVersion="latest")[0] == [[3]]


def test_commit_without_files_makes_no_batch(tmp_path):
    append(tmp_path, 1)
    append(tmp_path, 2)
    _, end = batches(tmp_path)
    da.DeltaTable(tmp_path).alter.set_table_properties({"delta.appendOnly": "false"})
    assert batches(tmp_path, end) == ([], end)


def test_first_batch_that_is_repeated_has_the_beginning_that_it_had(tmp_path):
    append(tmp_path, 1)
    append(tmp_path, 2)
    for options in ({}, {"startingVersion": "latest"}):
        opened = scan(tmp_path, **options)
        begin = TableStream(opened).beginning()
        append(tmp_path, 3)
        end = TableStream(opened).next_offset(begin, is_limited=True)
        wanted = sorted(row["id"] for row in rows(opened, TableStream(opened), begin, end))
        append(tmp_path, 4)
        again = TableStream(opened).beginning()
        assert again != begin
        assert sorted(row["id"] for row in rows(opened, TableStream(opened), again, end)) == wanted
        assert batches(tmp_path, end, **options)[0] == [[4]]


def test_deleted_rows_stop_the_stream_after_what_came_before(tmp_path):
    append(tmp_path, 1, 2)
    _, end = batches(tmp_path)
    append(tmp_path, 3)
    da.DeltaTable(tmp_path).delete("id = 1")
    append(tmp_path, 4)
    opened = scan(tmp_path)
    stream = TableStream(opened)
    barrier = stream.next_offset(end, is_limited=True)
    assert [row["id"] for row in rows(opened, stream, end, barrier)] == [3]
    with pytest.raises(UnsupportedFeatureError, match=r"version 2 changes rows: .*skipChangeCommits"):
        stream.next_offset(barrier, is_limited=True)
    assert batches(tmp_path, end, skipChangeCommits="true")[0] == [[3, 4]]
    assert batches(tmp_path, end, ignoreChanges="true")[0] == [[2, 3, 4]]
    with pytest.raises(UnsupportedFeatureError, match="version 2 changes rows"):
        batches(tmp_path, end, ignoreDeletes="true")
    _, end = batches(tmp_path)
    da.DeltaTable(tmp_path).delete()
    with pytest.raises(UnsupportedFeatureError, match="version 4 deletes rows"):
        batches(tmp_path, end)
    append(tmp_path, 5)
    assert batches(tmp_path, end, ignoreDeletes="true")[0] == [[5]]


def test_file_that_comes_twice_has_the_deletion_vector_of_each_time(tmp_path):
    append(tmp_path, *range(5), configuration=VECTORS)
    _, end = batches(tmp_path)
    da.DeltaTable(tmp_path).delete("id = 1")
    da.DeltaTable(tmp_path).delete("id = 2")
    assert batches(tmp_path, end, ignoreChanges="true")[0] == [[0, 0, 2, 3, 3, 4, 4]]


@pytest.mark.parametrize("times", [{}, {"delta.enableInCommitTimestamps": "true"}])
def test_change_feed_begins_with_inserts_and_takes_updates_whole(tmp_path, times):
    append(tmp_path, 1, 2, configuration=FEED | VECTORS | times)
    append(tmp_path, 3)
    options = {"readChangeFeed": "true", "maxFilesPerTrigger": "1"}
    opened = scan(tmp_path, **options)
    stream = TableStream(opened)
    begin = stream.beginning()
    end = stream.next_offset(begin, is_limited=False)
    first = rows(opened, stream, begin, end)
    assert {(row["id"], row["_change_type"], row["_commit_version"]) for row in first} == {
        (number, "insert", 1) for number in (1, 2, 3)
    }
    da.DeltaTable(tmp_path).update({"id": "id + 10"}, predicate="id > 1")
    da.DeltaTable(tmp_path).delete("id = 1")
    append(tmp_path, 4)
    found, last = batches(tmp_path, end, **options)
    assert found == [[2, 3, 12, 13], [1], [4]]
    changes = rows(opened, TableStream(opened), end, last)
    wanted = da.DeltaTable(tmp_path).load_cdf(2).read_all().to_pylist()
    key = lambda row: (row["_commit_version"], row["_change_type"], row["id"])  # noqa: E731
    assert sorted(changes, key=key) == sorted(wanted, key=key)
    assert batches(tmp_path, end, filter="_change_type = 'delete'", **options)[0] == [[], [1], []]
    everything = sorted(da.DeltaTable(tmp_path).load_cdf(0).read_all()["id"].to_pylist())
    for limit in range(1, 6):
        feed = {"readChangeFeed": "true", "maxFilesPerTrigger": str(limit), "startingVersion": "0"}
        found = batches(tmp_path, **feed)[0]
        assert sorted(number for batch in found for number in batch) == everything
    with pytest.raises(ChangeDataNotRecordedError, match="version 0"):
        append(tmp_path / "other", 1)
        batches(tmp_path / "other", readChangeFeed="true")


def test_filter_and_columns(tmp_path):
    da.write_deltalake(tmp_path, pa.table({"id": [1, 2], "p": ["a", "b"]}), partition_by=["p"])
    opened = scan(tmp_path, filter="p = 'b' AND id > 0", columns="p")
    stream = TableStream(opened)
    begin = stream.beginning()
    end = stream.next_offset(begin, is_limited=True)
    assert [len(split) for split in stream.splits(begin, end)] == [1]
    assert rows(opened, stream, begin, end) == [{"p": "b"}]


def test_added_column_is_had_by_a_stream_that_is_loaded_again(tmp_path):
    append(tmp_path, 1)
    _, end = batches(tmp_path)
    append(tmp_path, 2)
    da.write_deltalake(tmp_path, pa.table({"id": [3], "more": ["x"]}), mode="append", schema_mode="merge")
    opened = scan(tmp_path, 1)
    stream = TableStream(opened)
    barrier = stream.next_offset(end, is_limited=True)
    assert [row["id"] for row in rows(opened, stream, end, barrier)] == [2]
    with pytest.raises(SchemaMismatchError, match=r"version 2 adds columns.*load the stream again"):
        stream.next_offset(barrier, is_limited=True)
    opened = scan(tmp_path)
    stream = TableStream(opened)
    last = stream.next_offset(end, is_limited=True)
    assert sorted(rows(opened, stream, end, last), key=lambda row: row["id"]) == [
        {"id": 2, "more": None},
        {"id": 3, "more": "x"},
    ]


def test_renamed_column_ends_the_stream(tmp_path):
    mapped = {
        "delta.columnMapping.mode": "name",
        "delta.minReaderVersion": "2",
        "delta.minWriterVersion": "5",
    }
    append(tmp_path, 1, configuration=mapped)
    loaded = scan(tmp_path)
    _, end = batches(tmp_path)
    append(tmp_path, 2)
    da.DeltaTable(tmp_path).alter.rename_column("id", "number")
    barrier = TableStream(loaded).next_offset(end, is_limited=True)
    with pytest.raises(SchemaMismatchError, match=r"version 2 .*'id' was renamed.*begin a new stream"):
        TableStream(loaded).next_offset(barrier, is_limited=True)
    with pytest.raises(SchemaMismatchError, match=r"version 1 .*'id' was renamed.*begin a new stream"):
        TableStream(scan(tmp_path)).next_offset(end, is_limited=True)


def test_lost_commits_and_files_are_told(tmp_path):
    for number in range(3):
        append(tmp_path, number)
    opened = scan(tmp_path)
    begin = TableStream(scan(tmp_path, startingVersion="0")).beginning()
    end = TableStream(opened).next_offset(begin, is_limited=True)
    [split] = TableStream(opened).splits(begin, end)
    (tmp_path / split[0].path).unlink()
    with pytest.raises(CorruptDataFileError, match="is in the log and not in storage"):
        list(opened.split_scan.read(split))
    da.DeltaTable(tmp_path).create_checkpoint()
    (tmp_path / "_delta_log" / f"{0:020}.json").unlink()
    with pytest.raises(VersionNotFoundError, match="continues with version 0, but the log no longer has"):
        TableStream(scan(tmp_path)).next_offset(begin, is_limited=True)


def test_commit_that_needs_an_unknown_feature_stops_the_stream(tmp_path):
    append(tmp_path, 1)
    stream = TableStream(scan(tmp_path))
    end = stream.next_offset(stream.beginning(), is_limited=True)
    features = {"readerFeatures": ["soon"], "writerFeatures": ["soon"]}
    protocol = {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **features}}
    (tmp_path / "_delta_log" / f"{1:020}.json").write_text(json.dumps(protocol))
    with pytest.raises(UnsupportedFeatureError, match="soon"):
        stream.next_offset(end, is_limited=True)


def test_another_table_in_the_place_of_the_first_is_refused(tmp_path):
    for number in range(3):
        append(tmp_path, number)
    stream = TableStream(scan(tmp_path))
    begin = stream.beginning()
    end = stream.next_offset(begin, is_limited=True)
    shutil.rmtree(tmp_path)
    append(tmp_path, 7)
    for each in (stream, TableStream(scan(tmp_path))):
        with pytest.raises(TableNotFoundError, match="is now another table"):
            each.next_offset(end, is_limited=True)
        with pytest.raises(TableNotFoundError, match="is now another table"):
            each.splits(begin, end)


def test_stream_that_ends_with_the_newest_version_leaves_out_later_ones(tmp_path):
    for number in range(2):
        append(tmp_path, number)
    opened = scan(tmp_path, maxFilesPerTrigger="1")
    stream = TableStream(opened)
    stream.end_with_newest()
    append(tmp_path, 2)
    offset, found = stream.beginning(), []
    while (end := stream.next_offset(offset, is_limited=True)) != offset:
        found += [row["id"] for row in rows(opened, stream, offset, end)]
        offset = end
    assert sorted(found) == [0, 1]
    assert batches(tmp_path, offset)[0] == [[2]]


@pytest.mark.parametrize(
    "offset",
    [
        {},
        {"tableId": "a", "version": 1, "index": 0},
        {"tableId": "a", "version": True, "index": 0, "isInitialSnapshot": False},
        {
            "sourceVersion": 1,
            "reservoirId": "a",
            "reservoirVersion": 1,
            "index": 0,
            "isStartingVersion": False,
        },
    ],
)
def test_offsets_of_others_are_refused(offset):
    with pytest.raises(ValueError, match="is not an offset of a format"):
        StreamOffset.parse(offset)
