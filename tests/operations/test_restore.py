"""RESTORE: rows, schema, properties and row ids of an older version come back; what must not fall stays."""

import contextlib
import itertools
import json
import os
import shutil
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow import DeltaTable, Field, Schema, VersionNotFoundError, write_deltalake
from deltaarrow.errors import (
    ConcurrentAppendException,
    DeltaProtocolError,
    MetadataChangedException,
    MissingFilesError,
    StorageError,
    UnsupportedFeatureError,
)
from deltaarrow.log.limits import LogLimits
from deltaarrow.operations import restore_table
from deltaarrow.scan.row_id_columns import ROW_COMMIT_VERSION, ROW_ID
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import open_store
from tests.support.commits import commit
from tests.support.examples import examples
from tests.support.stores import raw_s3, s3_options  # noqa: F401  a fixture
from tests.support.system_calls import Calls, Killed
from tests.support.tables import TableBuilder

TRACKED = {
    "delta.enableRowTracking": "true",
    "delta.enableDeletionVectors": "true",
    "delta.enableChangeDataFeed": "true",
}


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64())})


def ids(path, version=None) -> list[int]:
    return sorted(DeltaTable(path, version=version).to_pyarrow_table().column("id").to_pylist())


def row_ids(path, version=None) -> list[dict]:
    found = DeltaTable(path, version=version).to_pyarrow_table(columns=["id", ROW_ID, ROW_COMMIT_VERSION])
    return sorted(found.to_pylist(), key=repr)


@pytest.fixture
def path(tmp_path) -> str:
    """Version 0 has the rows 1 to 4, 1 the row 5 too, 2 has lost the row 2, 3 has one file."""
    path = str(tmp_path / "table")
    write_deltalake(path, rows(1, 2, 3, 4), configuration=TRACKED)
    write_deltalake(path, rows(5), mode="append")
    DeltaTable(path).delete("id = 2")
    DeltaTable(path).optimize.compact()
    return path


VERSIONS = {0: [1, 2, 3, 4], 1: [1, 2, 3, 4, 5], 2: [1, 3, 4, 5], 3: [1, 3, 4, 5]}


@pytest.mark.parametrize("version", VERSIONS)
def test_rows_of_the_version_come_back(path, version):
    table = DeltaTable(path)
    table.restore(version)
    assert table.version() == (3 if version == 3 else 4)
    assert ids(path) == VERSIONS[version]
    assert row_ids(path) == row_ids(path, version)
    assert {each: ids(path, each) for each in VERSIONS} == VERSIONS
    assert table.verify(deep=True).ok


def test_a_restore_is_restored(path):
    table = DeltaTable(path)
    table.restore(0)
    table.restore(3)
    assert ids(path) == VERSIONS[3]
    table.restore(4)
    assert (ids(path), table.version()) == (VERSIONS[0], 6)


def test_the_commit_has_files_metadata_and_protocol(path):
    before = commit(path, 2)
    metrics = DeltaTable(path).restore(2)
    (info, metadata, *files, protocol) = commit(path, 4)
    (old,) = (line["add"] for line in before if "add" in line)
    added = {line["add"]["path"]: line["add"] for line in files if "add" in line}
    assert added[old["path"]] == old
    assert [line["remove"]["dataChange"] for line in files if "remove" in line] == [True]
    assert metadata["metaData"] == next(line["metaData"] for line in commit(path, 0) if "metaData" in line)
    assert protocol["protocol"] == next(line["protocol"] for line in commit(path, 0) if "protocol" in line)
    told = info["commitInfo"]
    assert told["operation"] == "RESTORE"
    assert told["operationParameters"] == {"version": 2, "timestamp": None}
    assert told["operationMetrics"] == {
        name: str(number)
        for name, number in metrics.items()
        if name not in ("numRestoredFile", "numRemovedFile")
    }
    assert (metrics["numRestoredFile"], metrics["numRemovedFile"], metrics["numOfFilesAfterRestore"]) == (
        2,
        1,
        2,
    )
    assert metrics["tableSizeAfterRestore"] == sum(
        DeltaTable(path).snapshot.files().column("size").to_pylist()
    )
    assert "tags" not in told
    assert told["isBlindAppend"] is False


def test_nothing_is_committed_for_the_newest_version(path):
    metrics = DeltaTable(path).restore(3)
    assert DeltaTable(path).version() == 3
    assert (metrics["numRestoredFile"], metrics["numRemovedFile"], metrics["numOfFilesAfterRestore"]) == (
        0,
        0,
        1,
    )


def test_the_newest_version_is_replaced_whichever_is_open(path):
    table = DeltaTable(path, version=0)
    table.restore(1)
    assert (table.version(), ids(path)) == (4, VERSIONS[1])


def test_a_dry_run_commits_nothing(path):
    plan = DeltaTable(path).restore(0, dry_run=True)
    assert (plan.version, plan.newest, plan.is_needed, DeltaTable(path).version()) == (0, 3, True, 3)
    assert (len(plan.restored), len(plan.removed), repr(plan)) == (
        1,
        1,
        "RestorePlan(version=0, restored=1, removed=1)",
    )


def test_the_change_feed_tells_the_rows_that_came_and_went(tmp_path):
    path = str(tmp_path)
    write_deltalake(path, rows(1, 2, 3, 4), configuration=TRACKED)
    DeltaTable(path).delete("id = 2")
    DeltaTable(path).delete("id = 3")
    write_deltalake(path, rows(5), mode="append")
    DeltaTable(path).restore(1)
    found = DeltaTable(path).load_cdf(4, 4).read_all().to_pylist()
    assert sorted((row["id"], row["_change_type"]) for row in found) == [(3, "insert"), (5, "delete")]


@pytest.mark.feature("identityColumns")
def test_identity_columns_go_on_from_their_highest_number(tmp_path):
    keys = {"delta.identity.start": 1, "delta.identity.step": 1, "delta.identity.allowExplicitInsert": False}
    DeltaTable.create(tmp_path, Schema([Field("n", "long", metadata=keys), Field("id", "long")]))
    write_deltalake(tmp_path, rows(7), mode="append")
    write_deltalake(tmp_path, rows(8, 9), mode="append")
    DeltaTable(tmp_path).restore(1)
    write_deltalake(tmp_path, rows(10), mode="append")
    found = DeltaTable(tmp_path).to_pyarrow_table().to_pylist()
    assert sorted((row["n"], row["id"]) for row in found) == [(1, 7), (4, 10)]
    DeltaTable(tmp_path).restore(0)
    write_deltalake(tmp_path, rows(11), mode="append")
    assert DeltaTable(tmp_path).to_pyarrow_table().to_pylist() == [{"n": 5, "id": 11}]


@pytest.mark.feature("identityColumns")
def test_an_identity_column_that_was_renamed_goes_on_from_its_highest_number(tmp_path):
    keys = {"delta.identity.start": 1, "delta.identity.step": 1, "delta.identity.allowExplicitInsert": False}
    schema = Schema([Field("n", "long", metadata=keys), Field("id", "long")])
    table = DeltaTable.create(tmp_path, schema, configuration={"delta.columnMapping.mode": "name"})
    table.alter.rename_column("n", "number")
    write_deltalake(tmp_path, rows(7, 8), mode="append")
    table.restore(0)
    write_deltalake(tmp_path, rows(9), mode="append")
    assert DeltaTable(tmp_path).to_pyarrow_table().to_pylist() == [{"n": 3, "id": 9}]


@pytest.mark.feature("columnMapping")
def test_schema_and_properties_come_back_and_column_ids_do_not_fall(tmp_path):
    write_deltalake(tmp_path, rows(1), configuration={"delta.columnMapping.mode": "name", "own": "1"})
    table = DeltaTable(tmp_path)
    table.alter.add_columns([Field("more", "string")])
    table.alter.rename_column("id", "key")
    table.alter.set_table_properties({"own": "2"}, raise_if_not_exists=False)
    table.restore(0)
    assert (ids(tmp_path), table.schema().names) == ([1], ["id"])
    assert table.snapshot.configuration["own"] == "1"
    assert table.snapshot.configuration["delta.columnMapping.maxColumnId"] == "2"
    table.restore(3)
    assert table.schema().names == ["key", "more"]


@pytest.mark.feature("clustering")
def test_clustering_columns_come_back_and_user_domains_stay(tmp_path):
    schema = pa.schema([("id", pa.int64()), ("b", pa.int64())])
    table = DeltaTable.create(tmp_path, schema)
    table.alter.cluster_by(["b"])
    table.alter.set_domain_metadata("mine", "1")
    table.alter.cluster_by(["id"])

    def domains() -> dict:
        return {name: domain.configuration for name, domain in DeltaTable(tmp_path).snapshot.domains.items()}

    table.restore(1)
    assert json.loads(domains()["delta.clustering"])["clusteringColumns"] == [["b"]]
    assert domains()["mine"] == "1"
    table.restore(0)
    assert json.loads(domains()["delta.clustering"])["clusteringColumns"] == []


def test_the_protocol_falls_only_if_allowed(tmp_path):
    write_deltalake(tmp_path, rows(1))
    table = DeltaTable(tmp_path)
    before = table.snapshot.protocol
    table.alter.add_feature("deletionVectors", allow_protocol_versions_increase=True)
    after = table.snapshot.protocol
    table.restore(0)
    assert table.snapshot.protocol == after
    table.restore(0, protocol_downgrade_allowed=True)
    assert table.snapshot.protocol == before


@pytest.mark.feature("deletionVectors")
def test_a_feature_that_was_dropped_comes_back_with_its_files(tmp_path):
    table = TableBuilder(tmp_path).features("deletionVectors").metadata(pa.schema([("id", pa.int64())]))
    file = table.add_file(rows(1, 2), name="a.parquet", deletion_vector=table.deletion_vector([0]))
    table.commit([file])
    table.protocol()
    table.commit([table.remove(file)])
    assert "deletionVectors" not in (DeltaTable(tmp_path).protocol().writer_features or ())
    DeltaTable(tmp_path).restore(0)
    assert ids(tmp_path) == [2]
    assert "deletionVectors" in (DeltaTable(tmp_path).protocol().writer_features or ())


@pytest.mark.feature("rowTracking")
def test_row_ids_that_come_back_are_not_given_again(tmp_path):
    write_deltalake(tmp_path, rows(1, 2, 3), configuration={"delta.enableRowTracking": "true"})
    lines = {next(iter(line)): line for line in commit(tmp_path, 0)}
    metadata, domain, file = (lines[name][name] for name in ("metaData", "domainMetadata", "add"))
    dropped = [
        {"metaData": metadata | {"configuration": {}}},
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["domainMetadata"]}},
        {"domainMetadata": domain | {"removed": True}},
        {"remove": {"path": file["path"], "dataChange": True, "deletionTimestamp": 0}},
    ]
    log = tmp_path / "_delta_log" / f"{1:020d}.json"
    log.write_text("".join(json.dumps(line) + "\n" for line in dropped))
    DeltaTable(tmp_path).restore(0)
    write_deltalake(tmp_path, rows(4, 5), mode="append")
    assert [(row["id"], row[ROW_ID]) for row in row_ids(tmp_path)] == [(1, 0), (2, 1), (3, 2), (4, 3), (5, 4)]


def test_a_version_that_was_cleaned_up_is_refused(path):
    table = DeltaTable(path)
    table.create_checkpoint()
    os.remove(Path(path) / "_delta_log" / f"{0:020d}.json")
    with pytest.raises(VersionNotFoundError, match="DELTA_CANNOT_RESTORE_TABLE_VERSION"):
        table.restore(1)
    assert table.version() == 3


@pytest.mark.feature("inCommitTimestamp")
def test_in_commit_timestamps_come_and_go(tmp_path):
    write_deltalake(tmp_path, rows(1))
    table = DeltaTable(tmp_path)
    table.alter.set_table_properties({"delta.enableInCommitTimestamps": "true"})
    write_deltalake(tmp_path, rows(2), mode="append")
    table.restore(0)
    assert "inCommitTimestamp" not in commit(tmp_path, 3)[0]["commitInfo"]
    table.restore(2)
    assert commit(tmp_path, 4)[0]["commitInfo"]["inCommitTimestamp"]
    assert table.snapshot.configuration["delta.inCommitTimestampEnablementVersion"] == "4"
    assert (ids(tmp_path), table.verify().ok) == ([1, 2], True)


@pytest.mark.feature("appendOnly")
def test_rows_of_an_append_only_table_stay(tmp_path):
    write_deltalake(tmp_path, rows(1), configuration={"delta.appendOnly": "true"})
    write_deltalake(tmp_path, rows(2), mode="append")
    with pytest.raises(DeltaProtocolError, match="append-only"):
        DeltaTable(tmp_path).restore(0)
    assert ids(tmp_path) == [1, 2]


@pytest.mark.feature("appendOnly")
def test_the_newest_version_says_whether_rows_stay(tmp_path):
    write_deltalake(tmp_path, rows(1), configuration={"delta.appendOnly": "true"})
    table = DeltaTable(tmp_path)
    table.alter.set_table_properties({"delta.appendOnly": "false"})
    write_deltalake(tmp_path, rows(2), mode="append")
    table.restore(0)
    assert (ids(tmp_path), table.snapshot.configuration["delta.appendOnly"]) == ([1], "true")
    write_deltalake(tmp_path, rows(3), mode="append")
    with pytest.raises(DeltaProtocolError, match="append-only"):
        table.restore(2)
    assert ids(tmp_path) == [1, 3]


def test_files_that_are_gone_are_named_before_anything_is_written(path):
    (gone,) = DeltaTable(path, version=0).file_uris()
    vector = next(Path(path).glob("*.bin"))
    os.remove(gone)
    vector.unlink()
    listed = sorted(os.listdir(Path(path) / "_delta_log"))
    with pytest.raises(MissingFilesError, match="ignore_missing_files") as caught:
        DeltaTable(path).restore(2)
    assert set(caught.value.files) == {os.path.basename(gone), vector.name}
    assert sorted(os.listdir(Path(path) / "_delta_log")) == listed
    DeltaTable(path).restore(0, ignore_missing_files=True)
    assert DeltaTable(path).version() == 4


@pytest.mark.parametrize("target", [9, -1])
def test_a_version_that_is_not_there_is_refused(path, target):
    with pytest.raises(VersionNotFoundError, match="DELTA_CANNOT_RESTORE_TABLE_VERSION"):
        DeltaTable(path).restore(target)


@pytest.mark.parametrize(
    ("target", "error"), [("2000-01-01", "TIMESTAMP_EARLIER"), ("2200-01-01", "TIMESTAMP_GREATER")]
)
def test_a_time_outside_the_log_is_refused(path, target, error):
    with pytest.raises(VersionNotFoundError, match=f"DELTA_CANNOT_RESTORE_{error}"):
        DeltaTable(path).restore(target)


@pytest.mark.parametrize(("target", "error"), [(True, TypeError), (1.5, TypeError), ("soon", ValueError)])
def test_other_targets_are_refused(path, target, error):
    with pytest.raises(error):
        DeltaTable(path).restore(target)


def test_a_time_restores_the_version_of_that_time(path):
    for version in VERSIONS:
        os.utime(Path(path) / "_delta_log" / f"{version:020d}.json", (1e9 + version, 1e9 + version))
    DeltaTable(path).restore("2001-09-09T01:46:41.5")
    assert ids(path) == VERSIONS[1]
    told = DeltaTable(path).history(1)[0]["operationParameters"]
    assert told == {"version": None, "timestamp": "2001-09-09 01:46:41.5"}


def test_versions_between_which_the_log_has_lost_commits_are_listed(path):
    table = DeltaTable(path)
    write_deltalake(path, rows(6), mode="append")
    for version in (1, 4):
        DeltaTable(path, version=version).create_checkpoint()
    write_deltalake(path, rows(7), mode="append")
    os.remove(Path(path) / "_delta_log" / f"{3:020d}.json")
    plan = table.restore(2, dry_run=True)
    assert (len(plan.restored), len(plan.removed)) == (2, 3)
    table.restore(2)
    assert (ids(path), table.version()) == (VERSIONS[2], 6)


# --- other writers ----------------------------------------------------------------------------------


def beside(path, monkeypatch, other):
    """Let another writer commit just before the RESTORE does."""
    from deltaarrow.transaction import committer

    put = committer.FileSystemCommitter.commit
    pending = [other]

    def commit_after(self, version, actions, lines):
        if pending:
            pending.pop()()
        return put(self, version, actions, lines)

    monkeypatch.setattr(committer.FileSystemCommitter, "commit", commit_after)
    DeltaTable(path).restore(0)


def test_an_append_meanwhile_is_a_conflict(path, monkeypatch):
    with pytest.raises(ConcurrentAppendException):
        beside(path, monkeypatch, lambda: write_deltalake(path, rows(9), mode="append"))
    assert ids(path) == [1, 3, 4, 5, 9]


def test_a_change_of_properties_meanwhile_is_a_conflict(path, monkeypatch):
    with pytest.raises(MetadataChangedException):
        beside(path, monkeypatch, lambda: DeltaTable(path).alter.set_table_description("x"))
    assert ids(path) == VERSIONS[3]


def test_a_domain_of_a_user_meanwhile_is_none(path, monkeypatch):
    beside(path, monkeypatch, lambda: DeltaTable(path).alter.set_domain_metadata("mine", "1"))
    assert (ids(path), DeltaTable(path).version()) == (VERSIONS[0], 5)
    assert DeltaTable(path).snapshot.domains["mine"].configuration == "1"
    assert DeltaTable(path).verify(deep=True).ok


@pytest.mark.feature("catalogManaged")
def test_a_table_of_a_catalog_is_left_to_it(tmp_path):
    table = TableBuilder(tmp_path).features("catalogManaged", writer_only=["inCommitTimestamp"])
    table.metadata(pa.schema([("id", pa.int64())]), configuration={"delta.enableInCommitTimestamps": "true"})
    table.commit([])
    with pytest.raises(UnsupportedFeatureError, match="catalog"):
        restore_table(Snapshot.load(open_store(tmp_path)), 0)


def test_a_process_that_is_killed_leaves_the_old_table_or_the_new_one(path, tmp_path, monkeypatch):
    versions = set()
    for number in itertools.count():
        copy = str(shutil.copytree(path, tmp_path / f"copy{number}"))
        table = DeltaTable(copy)
        with monkeypatch.context() as patch:
            calls = Calls(patch, number, Killed(), is_last=True)
            with contextlib.suppress(Killed, StorageError):
                table.restore(0)
        version = DeltaTable(copy).version()
        versions.add(version)
        assert ids(copy) == VERSIONS[3 if version == 3 else 0]
        DeltaTable(copy).restore(1)
        assert ids(copy) == VERSIONS[1]
        if calls.left >= 0:
            break
    assert versions == {3, 4}


def test_a_table_on_s3_is_restored(s3_options):  # noqa: F811
    path = f"s3://deltaarrow-tests/restore-{time.time_ns()}"
    write_deltalake(path, rows(1, 2), storage_options=s3_options)
    write_deltalake(path, rows(3), mode="overwrite", storage_options=s3_options)
    table = DeltaTable(path, storage_options=s3_options)
    table.restore(0)
    assert sorted(table.to_pyarrow_table().column("id").to_pylist()) == [1, 2]
    (name,) = (each.rpartition("/")[2] for each in DeltaTable(path, 1, s3_options).file_uris())
    raw_s3(s3_options).rm(f"{path}/{name}")
    with pytest.raises(MissingFilesError, match=name):
        table.restore(1)


# --- random histories -------------------------------------------------------------------------------

STEPS = st.one_of(
    st.tuples(st.just("append"), st.integers(1, 4)),
    st.tuples(st.just("overwrite"), st.integers(1, 4)),
    st.tuples(st.just("delete"), st.integers(0, 12)),
    st.tuples(st.just("update"), st.integers(0, 12)),
    st.tuples(st.just("compact"), st.just(0)),
    st.tuples(st.just("restore"), st.integers(0, 7)),
    st.tuples(st.just("checkpoint"), st.just(0)),
)


class History:
    """A table and what each version of it holds, row ids included."""

    def __init__(self, path: str, policy: str) -> None:
        self.path, self.next = path, 4
        configuration = TRACKED | {"delta.checkpointInterval": "3", "delta.checkpointPolicy": policy}
        write_deltalake(path, rows(*range(4)), configuration=configuration)
        self.versions = {0: row_ids(path)}

    def do(self, step: str, argument: int) -> None:
        # A checkpoint of any size stays on disk, as that of a large table does.
        snapshot = Snapshot.load(open_store(self.path), limits=LogLimits(replayed_bytes=0))
        table = DeltaTable(self.path)
        match step:
            case "append" | "overwrite":
                write_deltalake(self.path, rows(*range(self.next, self.next + argument)), mode=step)
                self.next += argument
            case "delete":
                table.delete(f"id = {argument}")
            case "update":
                table.update({"id": "id + 1000"}, predicate=f"id = {argument}")
            case "compact":
                table.optimize.compact()
            case "checkpoint":
                table.create_checkpoint()
            case "restore":
                version = max(0, snapshot.version - argument)
                self.restore(snapshot, version)
        newest = DeltaTable(self.path).version()
        for version in range(max(self.versions) + 1, newest + 1):
            self.versions[version] = row_ids(self.path, version)

    def restore(self, snapshot: Snapshot, version: int) -> None:
        restore_table(snapshot, version)
        assert row_ids(self.path) == self.versions[version]
        newest = DeltaTable(self.path).version()
        changes = (
            [] if newest == snapshot.version else DeltaTable(self.path).load_cdf(newest, newest).read_all()
        )
        found = sorted(row["id"] for row in self.versions[snapshot.version])
        for row in changes.to_pylist() if changes else ():
            if row["_change_type"] == "delete":
                found.remove(row["id"])
        for row in changes.to_pylist() if changes else ():
            if row["_change_type"] == "insert":
                found.append(row["id"])
        assert sorted(found) == sorted(row["id"] for row in self.versions[version])


def check(policy: str, steps: list) -> None:
    with tempfile.TemporaryDirectory() as folder:
        history = History(f"{folder}/t", policy)
        for step in steps:
            history.do(*step)
        for version, found in history.versions.items():
            assert row_ids(history.path, version) == found
        assert DeltaTable(history.path).verify(deep=True).ok


POLICIES = st.sampled_from(["classic", "v2"])


@settings(max_examples=examples(4), deadline=None)
@given(POLICIES, st.lists(STEPS, min_size=3, max_size=8))
def test_a_restore_to_any_version_gives_its_rows(policy, steps):
    check(policy, [*steps, ("restore", 5)])


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(POLICIES, st.lists(STEPS, min_size=3, max_size=25))
def test_a_restore_to_any_version_gives_its_rows_in_long_histories(policy, steps):
    check(policy, [*steps, ("restore", 5)])
