import datetime as dt
import json
import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaarrow import DeltaTable, PostCommitHookProperties, write_deltalake
from deltaarrow.errors import UnsupportedFeatureError, VersionNotFoundError
from deltaarrow.operations import cleanup_metadata, compact_logs, create_checkpoint
from deltaarrow.storage import open_store
from tests.support.tables import EPOCH_MS, TableBuilder

ROWS = pa.table({"id": [1, 2]})
SCHEMA = pa.schema([("id", pa.int64())])
YEAR = dt.timedelta(days=365).total_seconds()


def log_files(path, pattern="*"):
    return sorted(file.name for file in (path / "_delta_log").glob(pattern))


def age(path, seconds=YEAR):
    """Make all files of the log older."""
    for file in (path / "_delta_log").iterdir():
        moment = file.stat().st_mtime - seconds
        os.utime(file, (moment, moment))


def test_the_methods_of_the_table(tmp_path):
    for _ in range(4):
        write_deltalake(tmp_path, ROWS, mode="append")
    table = DeltaTable(tmp_path)
    table.compact_logs(starting_version=0, ending_version=2)
    assert len(log_files(tmp_path, "*.compacted.json")) == 1
    table.create_checkpoint()
    age(tmp_path)
    table.cleanup_metadata()
    assert log_files(tmp_path, "0*") == [
        "00000000000000000003.checkpoint.parquet",
        *log_files(tmp_path, "00000000000000000003.crc"),
        "00000000000000000003.json",
    ]
    assert DeltaTable(tmp_path).count() == 8
    with pytest.raises(VersionNotFoundError):
        DeltaTable(tmp_path, version=2)


def test_the_retention_is_that_of_the_table(tmp_path):
    table = (
        TableBuilder(tmp_path)
        .protocol()
        .metadata(SCHEMA, configuration={"delta.logRetentionDuration": "interval 10 days"})
    )
    table.commit().commit()
    table.checkpoint()
    store, day = open_store(tmp_path), 24 * 3600 * 1000
    assert cleanup_metadata(store, clock=lambda: EPOCH_MS + 10 * day) == []
    assert cleanup_metadata(store, clock=lambda: EPOCH_MS + 11 * day) == [
        "_delta_log/00000000000000000000.json"
    ]


def commit_ten(path, hooks=None, **configuration):
    write_deltalake(path, ROWS, configuration={"delta.checkpointInterval": "2"} | configuration)
    for _ in range(2):
        write_deltalake(path, ROWS, mode="append")
    age(path)
    for _ in range(2):
        write_deltalake(path, ROWS, mode="append", post_commithook_properties=hooks)


def test_logs_are_cleaned_up_after_a_checkpoint(tmp_path):
    commit_ten(tmp_path)
    assert log_files(tmp_path, "*.json") == [f"{version:020d}.json" for version in (2, 3, 4)]


@pytest.mark.parametrize(
    ("hooks", "configuration"),
    [
        (None, {"delta.enableExpiredLogCleanup": "false"}),
        (PostCommitHookProperties(cleanup_expired_logs=False), {}),
        (PostCommitHookProperties(create_checkpoint=False), {}),
    ],
)
def test_they_are_not_where_somebody_says_so(tmp_path, hooks, configuration):
    commit_ten(tmp_path, hooks, **configuration)
    assert len(log_files(tmp_path, "*.json")) == 5


def test_they_are_after_any_commit_where_the_caller_says_so(tmp_path):
    hooks = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=True)
    commit_ten(tmp_path, hooks, **{"delta.enableExpiredLogCleanup": "false"})
    assert log_files(tmp_path, "*.json") == [f"{version:020d}.json" for version in (2, 3, 4)]


def test_what_fails_after_a_commit_does_not_fail_it(tmp_path, monkeypatch, caplog):
    def fail(*args, **kwargs):
        raise OSError("no such bucket")

    monkeypatch.setattr("deltaarrow.log.clean_up_log", fail)
    commit_ten(tmp_path)
    assert DeltaTable(tmp_path).version() == 4
    assert "no such bucket" in caplog.text


@pytest.mark.parametrize("manifest_format", ["parquet", "json"])
def test_v2_checkpoints_are_written_in_both_formats(tmp_path, manifest_format):
    table = TableBuilder(tmp_path).features("v2Checkpoint")
    table.metadata(SCHEMA, configuration={"delta.checkpointPolicy": "v2"}).commit([table.add_file(ROWS)])
    name = create_checkpoint(open_store(tmp_path), 0, manifest_format=manifest_format)
    assert name.endswith(f".{manifest_format}")
    table.delete_commits(0)
    assert DeltaTable(tmp_path).count() == 2


FEATURES = [("catalogManaged", "catalogManaged"), ("fromTheFuture", "fromTheFuture")]


@pytest.mark.parametrize(("feature", "named"), FEATURES)
@pytest.mark.parametrize(
    "maintain",
    [lambda s: create_checkpoint(s, 1), lambda s: compact_logs(s, 0, 1), cleanup_metadata],
    ids=["checkpoint", "compaction", "cleanup"],
)
def test_tables_with_rules_of_their_own_are_refused(tmp_path, feature, named, maintain):
    table = TableBuilder(tmp_path).features(feature).metadata(SCHEMA).commit().commit()
    before = log_files(tmp_path)
    with pytest.raises(UnsupportedFeatureError, match=named):
        maintain(open_store(table.path))
    assert log_files(tmp_path) == before


def protected(path, version):
    table = TableBuilder(path).features(writer_only=["checkpointProtection"])
    configuration = {"delta.requireCheckpointProtectionBeforeVersion": str(version)}
    table.metadata(SCHEMA, configuration=configuration)
    for _ in range(4):
        table.commit()
    return table


def test_no_protected_checkpoint_is_written(tmp_path):
    protected(tmp_path, 3)
    store = open_store(tmp_path)
    with pytest.raises(UnsupportedFeatureError, match="requireCheckpointProtectionBeforeVersion is 3"):
        create_checkpoint(store, 2)
    create_checkpoint(store, 3)


@pytest.mark.parametrize(("version", "gone"), [(3, 0), (2, 2)])
def test_protected_checkpoints_outlive_a_cleanup_that_ends_before(tmp_path, version, gone):
    protected(tmp_path, version).checkpoint(2)
    assert len(cleanup_metadata(open_store(tmp_path))) == gone


def test_an_older_version_gets_a_checkpoint_of_its_own(tmp_path):
    for _ in range(3):
        write_deltalake(tmp_path, ROWS, mode="append")
    DeltaTable(tmp_path, version=1).create_checkpoint()
    assert pq.read_metadata(tmp_path / "_delta_log/00000000000000000001.checkpoint.parquet").num_rows == 4
    assert json.loads((tmp_path / "_delta_log/_last_checkpoint").read_text())["version"] == 1
    assert DeltaTable(tmp_path).count() == 6
