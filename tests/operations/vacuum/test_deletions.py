"""What a VACUUM does beside deleting: history, the look at newer commits, failures, being killed."""

import contextlib
import itertools
import logging
import os
import time

import pyarrow as pa
import pytest

from deltaarrow import CommitProperties, DeltaTable, PostCommitHookProperties, Transaction, write_deltalake
from deltaarrow.errors import CommitFailedError, UnsupportedFeatureError, VacuumError
from deltaarrow.operations import VacuumOptions, vacuum_files
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import LocalStore, open_store
from tests.support.tables import TableBuilder
from tests.support.vacuum import append, overwrite, put, stored, vacuum

WAYS = pytest.mark.parametrize("way", [{}, {"full": True}, {"lite": True}])


def three(path, **options) -> None:
    for number in range(3):
        overwrite(path, number, **options)


def live(path) -> set[str]:
    return {os.path.relpath(uri, path) for uri in DeltaTable(path).file_uris()}


# --- history ----------------------------------------------------------------------------------------


@WAYS
def test_history_tells_what_spark_tells(tmp_path, way):
    three(tmp_path)
    gone = DeltaTable(tmp_path).vacuum(0, False, False, **way)
    end, start = DeltaTable(tmp_path).history(2)
    assert start["operation"] == "VACUUM START"
    assert start["operationParameters"] == {
        "retentionCheckEnabled": "false",
        "defaultRetentionMillis": "604800000",
        "specifiedRetentionMillis": "0",
    }
    sizes = start["operationMetrics"]
    assert sizes["numFilesToDelete"] == "2" and int(sizes["sizeOfDataToDelete"]) > 200
    assert end["operation"] == "VACUUM END"
    assert end["operationParameters"] == {"status": "COMPLETED"}
    assert end["operationMetrics"] == {"numDeletedFiles": "2", "numVacuumedDirectories": "1"}
    for commit in (start, end):
        assert (commit["isolationLevel"], commit["isBlindAppend"]) == ("SnapshotIsolation", True)
    assert len(gone) == 2


def test_the_default_retention_is_not_specified(tmp_path):
    overwrite(tmp_path, 1, configuration={"delta.deletedFileRetentionDuration": "interval 1 day"})
    put(tmp_path, "a/b/old", "empty/")
    DeltaTable(tmp_path).vacuum(dry_run=False, full=True)
    end, start = DeltaTable(tmp_path).history(2)
    assert start["operationParameters"] == {
        "retentionCheckEnabled": "true",
        "defaultRetentionMillis": "86400000",
    }
    # A file and a folder; the root and three folders were looked into.
    assert start["operationMetrics"]["numFilesToDelete"] == "2"
    assert end["operationMetrics"] == {"numDeletedFiles": "2", "numVacuumedDirectories": "4"}


@WAYS
def test_nothing_is_committed_where_nothing_goes(tmp_path, way):
    append(tmp_path, 1)
    assert vacuum(tmp_path, 0, dry_run=False, **way) == []
    assert vacuum(tmp_path, 0, **way) == []
    assert DeltaTable(tmp_path).version() == 0


@WAYS
def test_a_dry_run_writes_nothing(tmp_path, way):
    three(tmp_path)
    put(tmp_path, "empty/")
    before = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*")}
    assert len(vacuum(tmp_path, 0, **way)) == 2
    assert {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*")} == before


def test_commit_properties_go_into_both_commits_and_an_application_into_one(tmp_path):
    three(tmp_path)
    properties = CommitProperties({"userMetadata": "tidy"}, app_transactions=[Transaction("tidy", 1)])
    hooks = PostCommitHookProperties(create_checkpoint=False)
    DeltaTable(tmp_path).vacuum(
        0, False, False, commit_properties=properties, post_commithook_properties=hooks
    )
    table = DeltaTable(tmp_path)
    assert [commit["userMetadata"] for commit in table.history(2)] == ["tidy", "tidy"]
    assert table.transaction_version("tidy") == 1
    overwrite(tmp_path, 5)
    with pytest.raises(CommitFailedError, match="tidy"):
        DeltaTable(tmp_path).vacuum(
            0, False, False, commit_properties=properties, post_commithook_properties=hooks
        )


def test_a_table_that_is_only_appended_to_is_vacuumed(tmp_path):
    overwrite(tmp_path, 1, configuration={"delta.appendOnly": "true"})
    put(tmp_path, "stray")
    assert DeltaTable(tmp_path).vacuum(dry_run=False, full=True) == ["stray"]


def test_progress_is_told(tmp_path):
    overwrite(tmp_path, 1)
    put(tmp_path, *(f"sub/{number}" for number in range(2500)))
    told = []
    table = DeltaTable(tmp_path)
    table.vacuum(dry_run=False, full=True, parallelism=2, progress=lambda *numbers: told.append(numbers))
    # The parts of 1000, 1000 and 500 files are done in any order.
    assert {total for _, total in told} == {2500}
    done = [0, *(done for done, _ in told)]
    assert sorted(after - before for before, after in itertools.pairwise(done)) == [500, 1000, 1000]


# --- other writers ----------------------------------------------------------------------------------


class Meddling(LocalStore):
    """A store in which somebody else does something just before a file is deleted."""

    def __init__(self, root, meddle) -> None:
        super().__init__(str(root))
        self.meddle = meddle
        self.deleted = []

    def put_if_absent(self, name, data):
        super().put_if_absent(name, data)
        if b"VACUUM START" in data:
            self.meddle()

    def delete_all(self, names):
        self.deleted += names
        return super().delete_all(names)


@WAYS
def test_a_file_that_is_put_back_meanwhile_stays(tmp_path, way):
    table = TableBuilder(tmp_path).protocol().metadata(pa.schema([("id", pa.int64())]))
    adds = [table.add_file(pa.table({"id": [number]}), name=f"{number}") for number in range(3)]
    table.commit(adds)
    table.commit([table.remove(add) for add in adds])
    for number in range(3):
        os.utime(tmp_path / str(number), (0, 0))
    table.commit([])  # version 2; the VACUUM begins with version 3

    def restore() -> None:
        with DeltaTable(tmp_path).transaction("RESTORE") as transaction:
            taken = DeltaTable(tmp_path, version=0).get_add_actions()
            assert taken.num_rows == 3
            transaction.stage([_add(adds[1])])

    store = Meddling(tmp_path, restore)
    assert vacuum(store, 0, dry_run=False, **way) == ["0", "2"]
    assert store.deleted == ["0", "2"]
    assert DeltaTable(tmp_path).to_pyarrow_table().to_pydict() == {"id": [1]}
    assert DeltaTable(tmp_path).history(1)[0]["operationMetrics"]["numDeletedFiles"] == "2"


def _add(action):
    from deltaarrow.actions import AddFile

    body = action["add"]
    return AddFile(
        path=body["path"],
        partition_values=body["partitionValues"],
        size=body["size"],
        modification_time=body["modificationTime"],
        data_change=True,
        stats=body.get("stats"),
    )


def test_files_of_a_writer_that_commits_meanwhile_stay_even_without_retention(tmp_path):
    settings = {"delta.enableDeletionVectors": "true", "delta.enableChangeDataFeed": "true"}
    write_deltalake(tmp_path, pa.table({"id": range(10)}), configuration=settings)
    overwrite(tmp_path, *range(10))
    put(tmp_path, "stray")
    store = Meddling(tmp_path, lambda: DeltaTable(tmp_path).update({"id": "77"}, predicate="id < 2"))
    gone = vacuum(store, 0, dry_run=False, full=True, later_ms=60_000)
    assert len(gone) == 2 and "stray" in gone
    assert DeltaTable(tmp_path).verify(deep=True).ok
    changes = DeltaTable(tmp_path).load_cdf(3).read_all()
    assert changes.num_rows > 0


def test_a_file_that_is_being_written_is_younger_than_no_retention_at_all(tmp_path):
    three(tmp_path)
    open_store(tmp_path).write("being-written.parquet", b"1")
    table = DeltaTable(tmp_path)
    options = VacuumOptions(retention_hours=0, enforce_retention_duration=False, full=True)
    moment = os.stat(tmp_path / "being-written.parquet").st_mtime_ns // 1_000_000
    assert "being-written.parquet" not in vacuum_files(table.snapshot, options, clock=lambda: moment).paths
    assert "being-written.parquet" in vacuum_files(table.snapshot, options, clock=lambda: moment + 1).paths


def test_commits_that_are_gone_before_they_were_looked_at_end_it(tmp_path):
    three(tmp_path)
    before = stored(tmp_path)

    def meddle() -> None:
        append(tmp_path, 7)
        os.unlink(tmp_path / "_delta_log" / f"{3:020d}.json")

    store = Meddling(tmp_path, meddle)
    with pytest.raises(VacuumError, match="from version 3 on are gone"):
        vacuum(store, 0, dry_run=False)
    assert store.deleted == [] and before < stored(tmp_path)


def test_an_interrupt_does_not_wait_for_all_files(tmp_path):
    overwrite(tmp_path, 1)
    put(tmp_path, *(f"sub/{number}" for number in range(6000)))

    def interrupt(deleted: int, of: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        DeltaTable(tmp_path).vacuum(dry_run=False, full=True, parallelism=1, progress=interrupt)
    assert len(stored(tmp_path)) > 2000
    assert DeltaTable(tmp_path).to_pyarrow_table().num_rows == 1


def test_an_end_that_cannot_be_committed_is_a_warning(tmp_path, caplog):
    three(tmp_path)

    class Full(LocalStore):
        def put_if_absent(self, name, data):
            if b"VACUUM END" in data:
                raise OSError(28, "No space left on device")
            super().put_if_absent(name, data)

    assert len(vacuum(Full(str(tmp_path)), 0, dry_run=False)) == 2
    assert "VACUUM END is not committed" in caplog.text
    assert DeltaTable(tmp_path).history(1)[0]["operation"] == "VACUUM START"


# --- failures ---------------------------------------------------------------------------------------


class Stubborn(LocalStore):
    """A store that does not delete some files."""

    def delete(self, name):
        if name.endswith("kept"):
            raise PermissionError(13, "Permission denied", name)
        super().delete(name)


def test_a_file_that_cannot_be_deleted_is_reported_and_the_rest_goes(tmp_path, caplog):
    overwrite(tmp_path, 1)
    put(tmp_path, "a", "b.kept", "c")
    store = Stubborn(str(tmp_path))
    options = VacuumOptions(dry_run=False, full=True)
    with caplog.at_level(logging.WARNING):
        outcome = vacuum_files(Snapshot.load(store), options, with_kept=True)
    assert outcome.paths == ["a", "c"]
    assert stored(tmp_path) == live(tmp_path) | {"b.kept"}
    assert "b.kept" in caplog.text and "Permission denied" in caplog.text
    rows = {row["path"]: row for row in outcome.report().to_pylist()}
    assert (rows["b.kept"]["is_deleted"], rows["a"]["is_deleted"]) == (False, True)
    assert rows["b.kept"]["reason"] == rows["a"]["reason"] == "not referenced"
    assert "Permission denied" in rows["b.kept"]["error"] and rows["a"]["error"] is None
    end = DeltaTable(tmp_path).history(1)[0]
    assert (end["operationParameters"], end["operationMetrics"]["numDeletedFiles"]) == (
        {"status": "FAILED"},
        "2",
    )


def test_after_a_failure_the_next_one_by_log_tries_again(tmp_path):
    table = TableBuilder(tmp_path).protocol().metadata(pa.schema([("id", pa.int64())]))
    adds = [table.add_file(pa.table({"id": [1]}), name=name) for name in ("a", "b.kept")]
    table.commit(adds)
    table.commit([table.remove(add) for add in adds])
    assert vacuum(Stubborn(str(tmp_path)), 0, dry_run=False, lite=True) == ["a"]
    assert not (tmp_path / "_delta_log" / "_last_vacuum_info").exists()
    assert "b.kept" in vacuum(tmp_path, 0, dry_run=False, lite=True)
    assert stored(tmp_path) == set()


def test_a_store_that_fails_altogether_is_told_of_every_file(tmp_path):
    three(tmp_path)

    class Unreachable(LocalStore):
        def delete_all(self, names):
            raise OSError(5, "Input/output error")

    outcome = vacuum_files(
        Snapshot.load(Unreachable(str(tmp_path))),
        VacuumOptions(retention_hours=0, dry_run=False, enforce_retention_duration=False),
        clock=lambda: time.time_ns() // 1_000_000 + 1000,
    )
    assert outcome.paths == [] and len(outcome.failures) == 2
    assert len(stored(tmp_path)) == 3


@pytest.mark.parametrize("at", ["put_if_absent", "delete_all", "list_from"])
def test_whoever_is_killed_leaves_the_table_whole(tmp_path, at):
    three(tmp_path)
    left = 0

    class Killed(BaseException):
        pass

    class Store(LocalStore):
        pass

    def killed(self, *arguments):
        nonlocal left
        left -= 1
        if left < 0:
            raise Killed
        return getattr(LocalStore, at)(self, *arguments)

    setattr(Store, at, killed)
    for calls in range(11):
        left = calls
        with contextlib.suppress(Killed):
            vacuum(Store(str(tmp_path)), 0, dry_run=False, full=True)
        assert DeltaTable(tmp_path).to_pyarrow_table().num_rows == 1
        assert DeltaTable(tmp_path).verify(deep=True).ok
    vacuum(tmp_path, 0, dry_run=False, full=True)
    assert stored(tmp_path) == live(tmp_path)


# --- tables that are refused ------------------------------------------------------------------------


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_table_that_cannot_be_written_is_not_vacuumed(tmp_path, dry_run):
    table = TableBuilder(tmp_path).features("vacuumProtocolCheck", writer_only=["unheardOf"])
    table.metadata(pa.schema([("id", pa.int64())]))
    table.commit()
    put(tmp_path, "stray")
    with pytest.raises(UnsupportedFeatureError, match="unheardOf"):
        DeltaTable(tmp_path).vacuum(dry_run=dry_run, full=True)
    assert stored(tmp_path) == {"stray"}


@pytest.mark.feature("vacuumProtocolCheck")
def test_a_table_with_the_protocol_check_is_vacuumed(tmp_path):
    overwrite(tmp_path, 1, configuration={"delta.feature.vacuumProtocolCheck": "supported"})
    put(tmp_path, "stray")
    assert DeltaTable(tmp_path).vacuum(dry_run=False, full=True) == ["stray"]


def test_a_table_that_a_catalog_manages_is_not_vacuumed(tmp_path):
    from deltaarrow.log import RatifiedCommits

    features = ("catalogManaged", "vacuumProtocolCheck")
    table = TableBuilder(tmp_path).features(*features, writer_only=["inCommitTimestamp"])
    settings = {"delta.enableInCommitTimestamps": "true"}
    table.metadata(pa.schema([("id", pa.int64())]), configuration=settings)
    table.commit()
    opened = DeltaTable(tmp_path, catalog=RatifiedCommits([], 0))
    with pytest.raises(UnsupportedFeatureError, match="DELTA_UNSUPPORTED_CATALOG_MANAGED_TABLE_OPERATION"):
        opened.vacuum()
