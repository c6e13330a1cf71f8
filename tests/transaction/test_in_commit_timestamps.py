"""In-commit timestamps: they only grow, whatever the clocks say."""

import json
import os

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable
from deltaarrow.actions import Metadata, Protocol, SetTransaction
from deltaarrow.schema import Schema
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import open_store
from deltaarrow.transaction import OptimisticTransaction
from tests.support.tables import EPOCH_MS, TableBuilder

SCHEMA = pa.schema([("id", pa.int64())])
ON = {"delta.enableInCommitTimestamps": "true"}
PROTOCOL = Protocol(min_reader_version=1, min_writer_version=7, writer_features=("inCommitTimestamp",))
SINCE_VERSION = "delta.inCommitTimestampEnablementVersion"
SINCE_TIMESTAMP = "delta.inCommitTimestampEnablementTimestamp"


def build(path, configuration=ON, timestamp=EPOCH_MS) -> TableBuilder:
    table = TableBuilder(path).protocol(1, 7, writer_features=["inCommitTimestamp"])
    info = {"inCommitTimestamp": timestamp} if configuration else {}
    return table.metadata(SCHEMA, configuration=configuration).commit(timestamp=timestamp, info=info)


def begin(path, now: int) -> OptimisticTransaction:
    store = open_store(path)
    transaction = OptimisticTransaction(
        store=store, snapshot=Snapshot.load(store), operation="TEST", clock=lambda: now
    )
    transaction.stage([SetTransaction(app_id="a", version=now)])
    return transaction


def first_action(path, version: int) -> dict:
    log = path / "_delta_log" / f"{version:020d}.json"
    return json.loads(log.read_text().splitlines()[0])["commitInfo"]


@pytest.mark.parametrize(("now", "expected"), [(1000, 1000), (1, 1), (0, 1), (-5000, 1)])
def test_a_commit_is_later_than_the_one_before_even_if_the_clock_goes_back(tmp_path, now, expected):
    build(tmp_path)
    assert begin(tmp_path, EPOCH_MS + now).commit() == 1
    info = first_action(tmp_path, 1)
    assert next(iter(info)) == "inCommitTimestamp"
    assert info["inCommitTimestamp"] == EPOCH_MS + expected
    assert DeltaTable(tmp_path).snapshot.timestamp_ms == EPOCH_MS + expected


def test_a_commit_after_a_winner_is_later_than_the_winner(tmp_path):
    table = build(tmp_path)
    transaction = begin(tmp_path, EPOCH_MS + 10)
    table.commit(timestamp=EPOCH_MS + 1, info={"inCommitTimestamp": EPOCH_MS + 500})
    assert transaction.commit() == 2
    assert first_action(tmp_path, 2)["inCommitTimestamp"] == EPOCH_MS + 501


def test_the_times_of_files_do_not_count_where_timestamps_are_on(tmp_path):
    build(tmp_path)
    late = (EPOCH_MS + 9_000_000) / 1000
    os.utime(tmp_path / "_delta_log" / f"{0:020d}.json", (late, late))
    begin(tmp_path, EPOCH_MS + 10).commit()
    assert first_action(tmp_path, 1)["inCommitTimestamp"] == EPOCH_MS + 10


def test_many_commits_by_a_clock_that_stands_still_are_a_millisecond_apart(tmp_path):
    build(tmp_path)
    for _ in range(5):
        begin(tmp_path, EPOCH_MS).commit()
    times = [first_action(tmp_path, version)["inCommitTimestamp"] for version in range(6)]
    assert times == [EPOCH_MS + number for number in range(6)]


def test_a_table_without_timestamps_gets_none(tmp_path):
    build(tmp_path, configuration={})
    begin(tmp_path, EPOCH_MS + 10).commit()
    assert "inCommitTimestamp" not in first_action(tmp_path, 1)


def enable(path, now: int) -> OptimisticTransaction:
    transaction = begin(path, now)
    present = transaction.snapshot.metadata
    changed = Metadata(id=present.id, schema_string=present.schema_string, configuration=ON)
    transaction.set_metadata(changed)
    return transaction


@pytest.mark.parametrize(("now", "expected"), [(1000, 1000), (-5000, 1)])
def test_the_commit_that_switches_timestamps_on_is_later_than_the_file_before_and_says_so(
    tmp_path, now, expected
):
    build(tmp_path, configuration={})
    enable(tmp_path, EPOCH_MS + now).commit()
    assert first_action(tmp_path, 1)["inCommitTimestamp"] == EPOCH_MS + expected
    assert DeltaTable(tmp_path).snapshot.configuration == ON | {
        SINCE_VERSION: "1",
        SINCE_TIMESTAMP: str(EPOCH_MS + expected),
    }


def test_the_commit_that_switches_timestamps_on_after_a_winner_names_its_own_version(tmp_path):
    table = build(tmp_path, configuration={})
    transaction = enable(tmp_path, EPOCH_MS)
    table.commit(timestamp=EPOCH_MS + 700)
    assert transaction.commit() == 2
    configuration = DeltaTable(tmp_path).snapshot.configuration
    assert (configuration[SINCE_VERSION], configuration[SINCE_TIMESTAMP]) == ("2", str(EPOCH_MS + 701))
    assert DeltaTable(tmp_path).history()[0]["inCommitTimestamp"] == EPOCH_MS + 701


def test_a_table_that_is_made_with_timestamps_counts_from_its_first_commit(tmp_path):
    transaction = OptimisticTransaction(
        store=open_store(tmp_path), snapshot=None, operation="CREATE TABLE", clock=lambda: EPOCH_MS
    )
    schema = Schema.from_arrow(SCHEMA).to_json()
    transaction.stage([PROTOCOL, Metadata(id="t", schema_string=schema, configuration=ON)])
    transaction.commit()
    assert first_action(tmp_path, 0)["inCommitTimestamp"] == EPOCH_MS
    assert DeltaTable(tmp_path).snapshot.configuration == ON


def test_another_change_of_metadata_leaves_the_beginning_as_it_was(tmp_path):
    build(tmp_path, configuration={})
    enable(tmp_path, EPOCH_MS + 10).commit()
    transaction = begin(tmp_path, EPOCH_MS + 20)
    present = transaction.snapshot.metadata
    renamed = Metadata(
        id=present.id, name="t", schema_string=present.schema_string, configuration=present.configuration
    )
    transaction.set_metadata(renamed)
    transaction.commit()
    assert DeltaTable(tmp_path).snapshot.configuration[SINCE_VERSION] == "1"
