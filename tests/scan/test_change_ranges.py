"""Ranges of a change data feed: versions, times, and changes that must not happen inside."""

import datetime

import pyarrow as pa
import pytest

import deltaarrow as da
from deltaarrow.errors import ChangeDataNotRecordedError, CorruptLogError, SchemaMismatchError
from deltaarrow.spark.options import ReadOptions
from deltaarrow.spark.table_scan import TableScan
from tests.support.tables import EPOCH_MS, TableBuilder

SCHEMA = pa.schema([("id", pa.int64())])
ON = {"delta.enableChangeDataFeed": "true"}
START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


def at(seconds):
    return START + datetime.timedelta(seconds=seconds)


@pytest.fixture
def table(tmp_path):
    return TableBuilder(tmp_path).protocol(1, 4)


@pytest.fixture
def five(table):
    """Versions 0 to 4, a second apart, that insert their number."""
    table.metadata(SCHEMA, configuration=ON)
    for version in range(5):
        table.commit([table.add_file(pa.table({"id": [version]}))])
    return table


def versions(table, *arguments, **options):
    feed = da.DeltaTable(table.path).load_cdf(*arguments, columns=["id"], **options)
    return sorted(feed.read_all()["id"].to_pylist())


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ({}, [0, 1, 2, 3, 4]),
        ({"starting_version": 3}, [3, 4]),
        ({"starting_version": 1, "ending_version": 2}, [1, 2]),
        ({"ending_version": 9}, [0, 1, 2, 3, 4]),
        ({"starting_timestamp": at(2).isoformat()}, [2, 3, 4]),
        ({"starting_timestamp": at(1.5)}, [2, 3, 4]),
        ({"starting_timestamp": at(2) + datetime.timedelta(microseconds=1)}, [3, 4]),
        ({"starting_version": None, "starting_timestamp": at(-9)}, [0, 1, 2, 3, 4]),
        ({"starting_version": 3, "starting_timestamp": at(1)}, [3, 4]),
        ({"ending_timestamp": at(1).replace(tzinfo=None)}, [0, 1]),
        ({"ending_timestamp": at(1.5)}, [0, 1]),
        ({"ending_timestamp": at(4)}, [0, 1, 2, 3, 4]),
        ({"ending_timestamp": at(4), "ending_version": 2}, [0, 1, 2]),
        ({"ending_timestamp": at(99), "allow_out_of_range": True}, [0, 1, 2, 3, 4]),
        ({"starting_timestamp": at(1.2), "ending_timestamp": at(1.8)}, []),
    ],
)
def test_ranges(five, arguments, wanted):
    assert versions(five, **arguments) == wanted


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ({"starting_version": 5}, da.VersionNotFoundError, "newest version of the table is 4"),
        ({"starting_timestamp": at(9)}, da.VersionNotFoundError, "4, was committed at 2026-01-01T00:00:04"),
        ({"ending_timestamp": at(-9)}, da.VersionNotFoundError, "2026-01-01"),
        ({"starting_version": 3, "ending_version": 2}, ValueError, "ends with version 2"),
        ({"starting_timestamp": at(3), "ending_timestamp": at(1)}, ValueError, "ends with version 1"),
    ],
)
def test_ranges_without_a_version(five, arguments, error, said):
    with pytest.raises(error, match=said):
        versions(five, **arguments)
    assert versions(five, **arguments, allow_out_of_range=True) == []


@pytest.mark.parametrize("end", ["2026-01-01 00:00:04.5", "2099-01-01"])
def test_time_after_the_newest_version_ends_no_range(five, end):
    """Nor in Spark: another version may still be committed before that time."""
    sql = f"SELECT id FROM table_changes_by_path('{five.path}', 0, '{end}')"
    options = {"path": str(five.path), "readChangeFeed": "true", "startingVersion": 0, "endingTimestamp": end}
    for call in (
        lambda: versions(five, ending_timestamp=end),
        lambda: da.DeltaTable(five.path).change_data_feed(ending_timestamp=end),
        lambda: da.connect(dialect="spark").sql(sql),
        lambda: da.connect().sql(sql),
        lambda: TableScan.open(ReadOptions.parse({name: str(value) for name, value in options.items()})),
    ):
        with pytest.raises(da.VersionNotFoundError, match="DELTA_TIMESTAMP_GREATER_THAN_COMMIT"):
            call()


def test_a_range_needs_a_beginning(five):
    with pytest.raises(ValueError, match="needs a start"):
        versions(five, None)
    with pytest.raises(da.VersionNotFoundError, match="-1"):
        versions(five, -1)


def test_the_end_is_the_newest_version_whichever_is_open(five):
    old = da.DeltaTable(five.path, version=1)
    assert old.load_cdf(columns=["id"]).read_all().num_rows == 5
    assert old.version() == 1


def test_versions_that_were_cleaned_up_are_refused_with_those_there_are(five):
    five.checkpoint(2)
    five.delete_commits(0, 1)
    assert versions(five, 2) == [2, 3, 4]
    with pytest.raises(da.VersionNotFoundError, match="versions 2 to 4"):
        versions(five, 1)
    assert versions(five, None, starting_timestamp=at(0)) == [2, 3, 4]
    five.delete_commits(2)
    with pytest.raises(da.VersionNotFoundError, match="versions 3 to 4"):
        versions(five, 2)


@pytest.mark.parametrize("off", [0, 1, 2])
def test_a_version_without_the_feed_is_named(table, off):
    for version in range(4):
        table.metadata(SCHEMA, configuration={} if version == off else ON)
        table.commit([table.add_file(pa.table({"id": [version]}))])
    with pytest.raises(ChangeDataNotRecordedError, match=f"version {off} "):
        versions(table)
    assert versions(table, off + 1) == list(range(off + 1, 4))


def test_the_feed_is_off_in_versions_after_the_one_that_turned_it_off(table):
    table.metadata(SCHEMA).commit([table.add_file(pa.table({"id": [0]}))])
    table.commit([table.add_file(pa.table({"id": [1]}))])
    table.metadata(SCHEMA, configuration=ON).commit([table.add_file(pa.table({"id": [2]}))])
    with pytest.raises(ChangeDataNotRecordedError, match="version 1 "):
        versions(table, 1)
    assert versions(table, 2) == [2]


# --- schema changes --------------------------------------------------------------------------------

WIDE = pa.schema([("id", pa.int64()), ("new", pa.string())])


def test_added_columns_are_null_before(table):
    table.metadata(SCHEMA, configuration=ON).commit([table.add_file(pa.table({"id": [0]}))])
    added = pa.table({"id": [1], "new": ["x"]})
    table.metadata(WIDE, configuration=ON).commit([table.add_file(added)])
    feed = da.DeltaTable(table.path)
    found = feed.load_cdf(columns=["id", "new"]).read_all().to_pylist()
    assert sorted(found, key=lambda row: row["id"]) == [{"id": 0, "new": None}, {"id": 1, "new": "x"}]
    assert "new" not in feed.load_cdf(0, 0).schema.names


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (WIDE, SCHEMA, "'new' was dropped or renamed"),
        (pa.schema([("id", pa.int32())]), SCHEMA, "from integer to long"),
        (pa.schema([("ID", pa.int64())]), SCHEMA, "'ID' was dropped or renamed"),
        (SCHEMA, pa.schema([pa.field("id", pa.int64(), nullable=False)]), "'id' was made NOT NULL"),
        (
            pa.schema([("s", pa.struct({"a": pa.int64()}))]),
            pa.schema([("s", pa.struct({"b": pa.int64()}))]),
            "'s.a' was dropped",
        ),
        (
            pa.schema([("s", pa.list_(pa.struct({"a": pa.int64()})))]),
            pa.schema([("s", pa.list_(pa.struct({"a": pa.string()})))]),
            "'s.element.a' was changed from long to string",
        ),
        (
            pa.schema([("s", pa.map_(pa.int32(), pa.int64()))]),
            pa.schema([("s", pa.map_(pa.int64(), pa.int64()))]),
            "'s.key' was changed",
        ),
    ],
)
def test_a_schema_that_does_not_fit_the_last_one_is_named(table, before, after, said):
    table.metadata(after, configuration=ON).commit()
    table.metadata(before, configuration=ON).commit()
    table.metadata(after, configuration=ON).commit()
    load = da.DeltaTable(table.path).load_cdf
    with pytest.raises(SchemaMismatchError, match=f"version 1 .* version 2: .*{said}"):
        load(0)
    with pytest.raises(SchemaMismatchError, match="version 1 "):
        load(1)
    assert load(2).read_all().num_rows == 0
    assert load(1, 1).schema.names[: len(before)] == before.names


def test_a_table_that_was_partitioned_anew_is_refused(table):
    table.metadata(WIDE, configuration=ON)
    first = table.add_file(pa.table({"id": [1], "new": ["x"]}))
    table.commit([first])
    table.metadata(WIDE, ["new"], ON)
    table.commit([table.remove(first), table.add_file(pa.table({"id": [1]}), {"new": "x"})])
    load = da.DeltaTable(table.path).load_cdf
    with pytest.raises(SchemaMismatchError, match=r"version 0 .* partition columns were changed"):
        load(0)
    with pytest.raises(SchemaMismatchError, match="version 1 changes the partition columns"):
        load(1)


def test_a_removal_without_partition_values_is_refused(table):
    table.metadata(WIDE, ["new"], ON)
    first = table.add_file(pa.table({"id": [1]}), {"new": "x"})
    removal = {"remove": {"path": first["add"]["path"], "dataChange": True, "deletionTimestamp": EPOCH_MS}}
    table.commit([first]).commit([removal])
    with pytest.raises(CorruptLogError, match=r"version 1 removes .* without its partition values"):
        versions(table, 1)
