"""Options of the data source, and its parts that need no session: splits, types, a missing PySpark."""

import pickle
import subprocess
import sys
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from pyspark import TaskContext
from pyspark.sql import types

import deltaarrow as da
from deltaarrow.errors import UnsupportedFeatureError, VersionNotFoundError
from deltaarrow.operations import DistributedWrite, Transaction, WriteOptions
from deltaarrow.spark.frame_writer import FrameWriter
from deltaarrow.spark.options import ReadOptions, SinkOptions
from deltaarrow.spark.stream_options import StreamOptions
from deltaarrow.spark.table_scan import TableScan
from deltaarrow.spark.type_conversion import FrameColumns
from deltaarrow.storage import open_store


def test_names_of_options_are_taken_in_any_case():
    options = ReadOptions.parse(
        {"path": "t", "VERSIONASOF": "3", "columns": "a, b", "maxpartitionbytes": "10"}
    )
    assert (options.version, options.columns, options.partition_bytes) == (3, ["a", "b"], 10)


def test_names_with_commas_are_a_json_list():
    assert ReadOptions.parse({"path": "t", "columns": '["a,b", "c"]'}).columns == ["a,b", "c"]


def test_storage_options_are_a_json_object():
    options = ReadOptions.parse({"path": "t", "storageoptions": '{"AWS_REGION": "x"}'})
    assert options.storage_options == {"AWS_REGION": "x"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "no path"),
        ({"path": "t", "version": "1"}, "unknown option 'version'"),
        ({"path": "t", "versionAsOf": "-1"}, "versionAsOf must be an integer"),
        ({"path": "t", "versionAsOf": "1", "timestampAsOf": "2026-01-01"}, "exclude one another"),
        ({"path": "t", "timestampAsOf": "soon"}, "timestampAsOf must be a time such as .*, not 'soon'"),
        ({"path": "t", "endingVersion": "1"}, "endingVersion requires readChangeFeed"),
        (
            {
                "path": "t",
                "readChangeFeed": "true",
                "startingVersion": "1",
                "startingTimestamp": "2026-01-01",
            },
            "startingVersion and startingTimestamp exclude one another",
        ),
        (
            {
                "path": "t",
                "readChangeFeed": "true",
                "startingTimestamp": "2026-01-01",
                "endingTimestamp": "x",
            },
            "endingTimestamp must be a time such as",
        ),
        ({"path": "t", "readChangeFeed": "true"}, "needs startingVersion"),
        ({"path": "t", "readChangeFeed": "yes"}, "true or false"),
        ({"path": "t", "readChangeFeed": "true", "versionAsOf": "1"}, "cannot be combined"),
        ({"path": "t", "columns": "a,,b"}, "columns must be one or more names"),
        ({"path": "t", "columns": "[1]"}, "columns must be a list of names"),
        ({"path": "t", "columns": "[1"}, "columns is not JSON"),
        ({"path": "t", "maxPartitionBytes": "0"}, "at least 1"),
        ({"path": "t", "storageOptions": "[]"}, "JSON object"),
    ],
)
def test_refused_options_of_reads(options, said):
    with pytest.raises(ValueError, match=said):
        ReadOptions.parse(options)


def test_options_of_streams_limit_batches_as_those_of_delta_spark():
    for options, limits in [
        ({}, (1000, None)),
        ({"maxfilespertrigger": "7"}, (7, None)),
        ({"maxbytespertrigger": "64mb"}, (None, 64 << 20)),
        ({"maxfilespertrigger": "7", "maxbytespertrigger": "10"}, (7, 10)),
    ]:
        parsed = StreamOptions.parse({"path": "t", **options})
        assert (parsed.max_files, parsed.max_bytes) == limits
    assert StreamOptions.parse({"path": "t", "startingVersion": "Latest"}).starting_version == "latest"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "no path"),
        ({"path": "t", "versionAsOf": "1"}, "unknown option 'versionAsOf'"),
        ({"path": "t", "failOnDataLoss": "false"}, "unknown option 'failOnDataLoss'"),
        ({"path": "t", "startingVersion": "first"}, "startingVersion must be an integer"),
        ({"path": "t", "startingVersion": "1", "startingTimestamp": "2026-01-01"}, "exclude one another"),
        ({"path": "t", "startingTimestamp": "soon"}, "startingTimestamp must be a time .*, not 'soon'"),
        ({"path": "t", "maxFilesPerTrigger": "0"}, "maxFilesPerTrigger must be at least 1"),
        ({"path": "t", "maxBytesPerTrigger": "much"}, "maxBytesPerTrigger must be a positive number"),
        ({"path": "t", "maxBytesPerTrigger": "0"}, "maxBytesPerTrigger must be a positive number"),
        ({"path": "t", "skipChangeCommits": "yes"}, "true or false"),
        ({"path": "t", "readChangeFeed": "true", "ignoreDeletes": "true"}, "cannot be combined"),
    ],
)
def test_refused_options_of_streams(options, said):
    with pytest.raises(ValueError, match=said):
        StreamOptions.parse(options)


def test_options_tell_a_stream_from_a_read():
    for options, is_stream in [
        ({}, False),
        ({"filter": "id = 1"}, False),
        ({"readChangeFeed": "true", "startingVersion": "1"}, False),
        ({"startingVersion": "1"}, True),
        ({"readChangeFeed": "true"}, True),
        ({"maxfilespertrigger": "none"}, True),
        ({"versionAsOff": "1"}, False),
    ]:
        assert StreamOptions.are_meant({"path": "t", **options}) == is_stream


def test_options_of_writes_are_those_of_the_writer():
    options = SinkOptions.parse(
        {
            "path": "t",
            "partitionby": "a",
            "mergeschema": "true",
            "txnappid": "app",
            "txnversion": "2",
            "usermetadata": "note",
        },
        "append",
    )
    assert (options.write.mode, options.write.partition_by, options.write.schema_mode) == (
        "append",
        ["a"],
        "merge",
    )
    assert options.write.applications == [Transaction("app", 2)]
    assert options.commit.custom_metadata == {"userMetadata": "note"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"path": "t", "versionAsOf": "1"}, "unknown option 'versionAsOf'"),
        ({"path": "t", "partitonBy": "a"}, "unknown option 'partitonBy'.*partitionBy.*replaceWhere"),
        ({"path": "t", "overwriteSchema": "true"}, "needs mode='overwrite'"),
        ({"path": "t", "txnVersion": "1"}, "given together"),
        ({"path": "t", "partitionOverwriteMode": "some"}, "partition_overwrite_mode"),
    ],
)
def test_refused_options_of_writes(options, said):
    with pytest.raises(ValueError, match=said):
        SinkOptions.parse(options, "append")


@pytest.mark.parametrize(
    ("data_type", "said"),
    [
        (types.DayTimeIntervalType(), "'x'.*interval day to second"),
        (types.TimeType(), r"'x'.*time\(6\)"),
        (types.StringType("UNICODE_CI"), "table feature collations"),
        (types.StructType([types.StructField("a", types.StringType("UTF8_LCASE"))]), "collations"),
        (types.ArrayType(types.CalendarIntervalType()), "interval"),
    ],
)
def test_refused_types_of_new_tables(tmp_path, data_type, said):
    options = SinkOptions.parse({"path": str(tmp_path)}, "append")
    with pytest.raises(UnsupportedFeatureError, match=said):
        FrameWriter.plan(
            options, FrameColumns.of_frame(types.StructType([types.StructField("x", data_type)]))
        )
    assert list(tmp_path.iterdir()) == []


def test_splits_hold_files_up_to_a_size(tmp_path):
    da.write_deltalake(tmp_path, pa.table({"id": [0]}))
    for number in range(1, 5):
        da.write_deltalake(tmp_path, pa.table({"id": [number]}), mode="append")
    opening = 4 << 20
    for size, counts in [(1, [1] * 5), (2 * opening + 10_000, [2, 2, 1]), (None, [3, 2])]:
        scan = TableScan.open(ReadOptions(path=str(tmp_path), partition_bytes=size))
        splits = scan.splits()
        assert [len(split) for split in splits] == counts
        batches = [batch for split in splits for batch in scan.split_scan.read(split)]
        assert sorted(pa.Table.from_batches(batches)["id"].to_pylist()) == [0, 1, 2, 3, 4]


def test_large_file_is_split_by_row_groups(tmp_path):
    groups = da.WriterProperties(max_row_group_size=50_000)
    data = pa.table({"id": range(400_000), "s": [str(number * 7919) for number in range(400_000)]})
    da.write_deltalake(tmp_path, data, writer_properties=groups)
    scan = TableScan.open(ReadOptions(path=str(tmp_path), partition_bytes=1, filter="id >= 100000"))
    splits = scan.splits()
    assert len(splits) > 2
    found = [sum(batch.num_rows for batch in scan.split_scan.read(split)) for split in splits]
    assert sum(found) == 300_000
    assert max(found) < 300_000


def test_pinned_options_read_the_same_once_more(tmp_path):
    properties = {"delta.enableChangeDataFeed": "true"}
    da.write_deltalake(tmp_path, pa.table({"id": [0]}), configuration=properties)
    for options in (
        ReadOptions(path=str(tmp_path)),
        ReadOptions(path=str(tmp_path), is_feed=True, starting_version=0),
    ):
        pinned = TableScan.open(options).pinned
        da.write_deltalake(tmp_path, pa.table({"id": [1]}), mode="append")
        again, now = TableScan.open(pinned), TableScan.open(options)
        assert len(again.plan.tasks) == len(now.plan.tasks) - 1


def test_feed_begins_and_ends_with_times(tmp_path):
    properties = {"delta.enableChangeDataFeed": "true", "delta.enableInCommitTimestamps": "true"}
    for number in range(4):
        data = pa.table({"id": [number]})
        da.write_deltalake(tmp_path, data, mode="append", configuration=None if number else properties)
    times = da.DeltaTable(tmp_path).snapshot.commit_times()
    since, until = (
        datetime.fromtimestamp(times.timestamp(version) / 1000, UTC).isoformat() for version in (1, 2)
    )
    options = {"readChangeFeed": "true", "startingTimestamp": since, "endingTimestamp": until}
    scan = TableScan.open(ReadOptions.parse({"path": str(tmp_path), **options}))
    rows = [
        row for split in scan.splits() for batch in scan.split_scan.read(split) for row in batch.to_pylist()
    ]
    assert sorted((row["id"], row["_commit_version"]) for row in rows) == [(1, 1), (2, 2)]
    assert (scan.pinned.starting_version, scan.pinned.ending_version) == (1, 2)
    with pytest.raises(VersionNotFoundError, match="2999"):
        TableScan.open(
            ReadOptions.parse(
                {"path": str(tmp_path), "readChangeFeed": "true", "startingTimestamp": "2999-01-01"}
            )
        )


def test_missing_pyspark_is_named_with_the_command_that_brings_it():
    code = (
        "import sys; sys.modules['pyspark'] = None\n"
        "from deltaarrow.spark import register\n"
        "from deltaarrow.errors import MissingDependencyError\n"
        "try: register(None)\n"
        "except MissingDependencyError as error: print(error)\n"
        "try: from deltaarrow.spark.tables import DeltaTable\n"
        "except MissingDependencyError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["pyspark is not installed; run: pip install 'deltaarrow[spark]'"] * 2


@pytest.mark.parametrize("failed", [True, False])
def test_files_of_a_commit_that_failed_are_left_to_the_commit(tmp_path, failed):
    data = pa.table({"id": [1]})
    write = DistributedWrite.plan(open_store(tmp_path), None, data.schema, WriteOptions(mode="append"))
    writer = FrameWriter(write, FrameColumns(da.Schema.from_arrow(data.schema)))
    context = TaskContext._getOrCreate()  # as in a task of Spark
    try:
        done = []
        for context._partitionId in range(2):
            done.append(writer.write(iter(data.to_batches())))
    finally:
        TaskContext._setTaskContext(None)
    # A message that is missing says that a task failed, so that there was no commit.
    pickle.loads(pickle.dumps(writer)).abort([*done, None] if failed else done)
    assert len(list(tmp_path.glob("*.parquet"))) == (0 if failed else 2)
