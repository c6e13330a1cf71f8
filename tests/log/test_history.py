import json
import os
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, connect, scan_delta
from deltaarrow.errors import CorruptLogError, VersionNotFoundError
from deltaarrow.log import CommitTimes
from deltaarrow.storage import open_store
from tests.support.tables import EPOCH_MS, TableBuilder

SCHEMA = pa.schema([("id", pa.int64())])
ICT = {
    "delta.enableInCommitTimestamps": "true",
    "delta.inCommitTimestampEnablementVersion": "2",
    "delta.inCommitTimestampEnablementTimestamp": str(EPOCH_MS + 50_000),
}


@pytest.fixture
def table(tmp_path):
    table = TableBuilder(tmp_path).protocol().metadata(SCHEMA)
    for _ in range(4):
        table.commit()
    return table


def test_version_by_time_is_the_newest_at_that_time_or_before(table):
    times = CommitTimes.load(open_store(table.path), {})
    assert times.version_at(EPOCH_MS) == 0
    assert times.version_at(EPOCH_MS + 999) == 0
    assert times.version_at(EPOCH_MS + 1000) == 1
    assert times.version_at(EPOCH_MS + 10**9) == 3


def test_a_time_before_the_oldest_commit_names_what_there_is(table):
    message = (
        "as old as 2025-12-31T23:59:59.999Z: the log holds the commits from version 0 of"
        " 2026-01-01T00:00:00.000Z to version 3 of 2026-01-01T00:00:03.000Z"
    )
    with pytest.raises(VersionNotFoundError, match=message):
        CommitTimes.load(open_store(table.path), {}).version_at(EPOCH_MS - 1)
    with pytest.raises(VersionNotFoundError, match="version 3 of"):
        CommitTimes.load(open_store(table.path), {}).version_at(-(10**18))


def test_file_times_that_go_backwards_are_made_to_increase(table):
    os.utime(table.log / f"{2:020d}.json", (0, 0))
    times = CommitTimes.load(open_store(table.path), {})
    assert times.timestamp(2) == EPOCH_MS + 1001
    assert times.version_at(EPOCH_MS + 1001) == 2


@pytest.mark.parametrize(
    "moment", ["2026-01-01T00:00:01Z", "2026-01-01T01:00:01.500+01:00", "2026-01-01 00:00:01"]
)
def test_a_table_is_loaded_by_time(table, moment):
    opened = DeltaTable(table.path)
    opened.load_as_version(moment)
    assert opened.version() == 1
    assert DeltaTable(table.path, version=moment).version() == 1


@pytest.mark.feature("inCommitTimestamp")
def test_in_commit_timestamps_win_over_file_times_from_their_enablement_on(tmp_path):
    table = TableBuilder(tmp_path)
    table.protocol(1, 7, None, ["inCommitTimestamp"]).metadata(SCHEMA).commit().commit()
    table.metadata(SCHEMA, configuration=ICT)
    table.commit(info={"inCommitTimestamp": EPOCH_MS + 50_000})
    table.commit(info={"inCommitTimestamp": EPOCH_MS + 60_000})
    times = CommitTimes.load(open_store(tmp_path), ICT)
    assert [times.timestamp(version) for version in range(4)] == [
        EPOCH_MS,
        EPOCH_MS + 1000,
        EPOCH_MS + 50_000,
        EPOCH_MS + 60_000,
    ]
    assert times.version_at(EPOCH_MS + 49_999) == 1
    assert times.version_at(EPOCH_MS + 59_999) == 2
    assert DeltaTable(tmp_path).history(1)[0]["timestamp"] == EPOCH_MS + 60_000


def test_a_missing_in_commit_timestamp_is_an_error(tmp_path):
    table = TableBuilder(tmp_path).protocol(1, 7, None, ["inCommitTimestamp"])
    table.metadata(SCHEMA, configuration={"delta.enableInCommitTimestamps": "true"}).commit()
    with pytest.raises(CorruptLogError, match="inCommitTimestamp"):
        CommitTimes.load(
            open_store(tmp_path), ICT | {"delta.inCommitTimestampEnablementVersion": "0"}
        ).timestamp(0)


def test_history_is_newest_first_and_bounded(table):
    history = DeltaTable(table.path).history()
    assert [info["version"] for info in history] == [3, 2, 1, 0]
    assert [info["version"] for info in DeltaTable(table.path).history(2)] == [3, 2]
    assert history[0]["timestamp"] == EPOCH_MS + 3000


def test_a_commit_without_commit_info_has_a_place_in_history(table):
    file = table.log / f"{3:020d}.json"
    file.write_text(json.dumps(table.txn("a", 1)))
    (info,) = DeltaTable(table.path).history(1)
    assert (info["version"], "operation" in info) == (3, False)


def test_history_shows_the_times_by_which_versions_are_found(table):
    """Not those that writers recorded; files whose times go backwards are later by a millisecond each."""
    for version, second in enumerate([5, 6, 6, 5]):
        file = table.log / f"{version:020d}.json"
        file.write_text(
            file.read_text() + json.dumps({"commitInfo": {"timestamp": 7, "operation": "X"}}) + "\n"
        )
        os.utime(file, (EPOCH_MS // 1000 + second + 0.1239,) * 2)
    times = [EPOCH_MS + ms for ms in (5123, 6123, 6124, 6125)]
    opened = DeltaTable(table.path)
    assert [info["timestamp"] for info in reversed(opened.history())] == times
    assert opened.history(1)[0]["timestamp"] == times[-1]
    shown = opened.inspect.history()["timestamp"].cast(pa.int64()).to_pylist()
    assert shown[::-1] == times
    described = pa.table(connect(dialect="spark").sql(f"DESCRIBE HISTORY delta.`{table.path}`"))
    assert [row.value for row in reversed(described["timestamp"])] == [1000 * time for time in times]
    for version, time in enumerate(times):
        moment = datetime.fromtimestamp(time / 1000, UTC)
        assert DeltaTable(table.path, version=moment).version() == version
        if version:
            before = moment - timedelta(microseconds=1)
            assert DeltaTable(table.path, version=before).version() == version - 1


@pytest.mark.parametrize(
    "use",
    [
        lambda path, time: DeltaTable(path, version=time),
        lambda path, time: DeltaTable(path).load_as_version(time),
        lambda path, time: scan_delta(path, version=time),
        lambda path, time: DeltaTable(path).clone(f"{path}-clone", version=time),
        lambda path, time: DeltaTable(path).restore(time),
        lambda path, time: connect().sql(f"FROM delta.'{path}' AT (TIMESTAMP => '{time}')"),
        lambda path, time: connect(dialect="spark").sql(
            f"SELECT * FROM delta.`{path}` TIMESTAMP AS OF '{time}'"
        ),
    ],
)
def test_a_time_after_the_newest_commit_is_refused_with_what_to_do(table, use):
    with pytest.raises(
        VersionNotFoundError, match=r"after (the|its) newest version.*3.*choose that time or an"
    ):
        use(table.path, "2026-01-01T00:00:03.001Z")


def test_history_of_an_older_version_begins_there(table):
    assert DeltaTable(table.path, version=1).history()[0]["version"] == 1
