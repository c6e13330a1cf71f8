"""A full VACUUM: every file of the folder goes that is old, not hidden and needed by nobody."""

import os
import time

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.errors import CorruptDataFileError
from deltaarrow.operations import create_checkpoint
from deltaarrow.storage import open_store
from tests.support.tables import TableBuilder
from tests.support.vacuum import DAY_MS, HOUR_MS, append, overwrite, put, reasons, stored, vacuum

ROWS = pa.table({"id": [1, 2, 3], "_p": ["a b", "c", "c"]})


def data_files(path) -> set[str]:
    return {name for name in stored(path) if name.endswith(".parquet")}


def live(path) -> set[str]:
    return {os.path.relpath(uri, path) for uri in DeltaTable(path).file_uris()}


def test_stray_files_go_once_they_are_older_than_the_retention(tmp_path):
    overwrite(tmp_path, 1)
    put(tmp_path, "old.parquet", "sub/old", "a b%20/é", days=8)
    put(tmp_path, "young.parquet", "sub/young", days=6)
    old = ["a b%20/é", "old.parquet", "sub/old"]
    assert DeltaTable(tmp_path).vacuum(full=True) == old
    assert vacuum(tmp_path, 24 * 9, full=True) == []
    assert vacuum(tmp_path, 0, full=True) == sorted([*old, "young.parquet", "sub/young"])
    assert DeltaTable(tmp_path).vacuum(full=True, dry_run=False) == old
    assert stored(tmp_path) == live(tmp_path) | {"young.parquet", "sub/young", "a b%20/"}


def test_removed_files_stay_until_their_tombstones_are_older_than_the_retention(tmp_path):
    overwrite(tmp_path, 1)
    (first,) = live(tmp_path)
    overwrite(tmp_path, 2)
    os.utime(tmp_path / first, (0, 0))
    assert vacuum(tmp_path, full=True) == []
    assert reasons(tmp_path, full=True)[first] == "tombstone within retention"
    assert vacuum(tmp_path, full=True, later_ms=6 * DAY_MS) == []
    assert vacuum(tmp_path, full=True, later_ms=8 * DAY_MS) == [first]
    assert reasons(tmp_path, 0, full=True)[first] == "tombstone past retention"


def test_the_retention_is_that_of_the_table(tmp_path):
    overwrite(tmp_path, 1, configuration={"delta.deletedFileRetentionDuration": "interval 2 days"})
    put(tmp_path, "three", days=3)
    put(tmp_path, "one", days=1)
    assert DeltaTable(tmp_path).vacuum(full=True) == ["three"]


def test_hidden_files_and_folders_stay(tmp_path):
    write_deltalake(tmp_path, ROWS, partition_by=["_p"])
    hidden = ["_x", ".y", "_hidden/f", "sub/_under/f", "sub/.f", "_p=c/_f", "_p=c/.x/f", "_pq/f", "_q=1/f"]
    hidden += ["_delta_index/q", "sub/_change_data/f", "_change_datax", "_p"]
    put(tmp_path, *hidden)
    goes = ["_p=c/stray", "_p=z/stray", "_change_data/f", "_change_data/_p=c/f", "sub/_p=z/f", "metadata/m"]
    put(tmp_path, *goes)
    assert vacuum(tmp_path, full=True) == sorted(goes)
    assert vacuum(tmp_path, 0, full=True, dry_run=False) == sorted(goes)
    assert set(hidden) < stored(tmp_path)
    assert DeltaTable(tmp_path).count() == 3


def test_unfinished_files_of_a_writer_that_was_killed_go_once_they_are_older_than_the_retention(tmp_path):
    write_deltalake(tmp_path, ROWS, partition_by=["_p"])
    name = f".{'0af' * 10}12.tmp"
    put(tmp_path, name, f"_p=c/{name}", "_p=c/.0af.tmp", days=8)
    put(tmp_path, f"sub/{name}", days=6)
    put(tmp_path, f"_delta_log/{name}", f"_hidden/{name}", days=8)
    assert DeltaTable(tmp_path).vacuum(full=True, dry_run=False) == [name, f"_p=c/{name}"]


def test_the_folder_of_a_partition_whose_column_was_renamed_is_looked_into(tmp_path):
    write_deltalake(tmp_path, ROWS, partition_by=["_p"])
    table = DeltaTable(tmp_path)
    table.alter.set_table_properties({"delta.columnMapping.mode": "name"})
    table.alter.rename_column("_p", "q")
    put(tmp_path, "_p=c/stray")
    assert vacuum(tmp_path, full=True) == ["_p=c/stray"]


def test_the_log_is_never_touched(tmp_path):
    overwrite(tmp_path, 1)
    put(tmp_path, "_delta_log/_sidecars/old.parquet", "_delta_log/_staged_commits/x.json", "_delta_log/stray")
    assert vacuum(tmp_path, 0, full=True, dry_run=False) == []
    assert DeltaTable(tmp_path).vacuum_report(full=True).num_rows > 3
    assert reasons(tmp_path, full=True)["_delta_log/stray"] == "log"
    assert (tmp_path / "_delta_log/_sidecars/old.parquet").exists()


def test_a_table_in_the_folder_stays_whole(tmp_path):
    overwrite(tmp_path, 1)
    overwrite(tmp_path / "sub" / "inner", 1)
    overwrite(tmp_path / "sub" / "inner", 2)
    put(tmp_path, "sub/inner/old", "sub/inner/deep/old", "sub/old")
    assert vacuum(tmp_path, 0, full=True, dry_run=False) == ["sub/old"]
    assert reasons(tmp_path, 0, full=True)["sub/inner/deep/old"] == "of another table"
    assert DeltaTable(tmp_path / "sub" / "inner", version=0).count() == 1


def test_change_data_goes_by_its_age(tmp_path):
    overwrite(tmp_path, 1, 2, configuration={"delta.enableChangeDataFeed": "true"})
    DeltaTable(tmp_path).update({"id": "5"}, predicate="id = 1")
    (change,) = (name for name in stored(tmp_path) if name.startswith("_change_data/"))
    assert vacuum(tmp_path, full=True) == []
    assert reasons(tmp_path, full=True)[change] == "change data within retention"
    assert change in vacuum(tmp_path, full=True, later_ms=8 * DAY_MS)
    assert reasons(tmp_path, 0, full=True)[change] == "change data past retention"


def vectors_of(path) -> set[str]:
    return {name for name in stored(path) if name.endswith(".bin")}


def test_a_vector_file_stays_as_long_as_one_of_its_data_files_does(tmp_path):
    settings = {"delta.enableDeletionVectors": "true"}
    write_deltalake(
        tmp_path, pa.table({"id": range(10), "p": [0, 1] * 5}), partition_by=["p"], configuration=settings
    )
    table = DeltaTable(tmp_path)
    table.delete("id < 2")
    (shared,) = vectors_of(tmp_path)
    table.delete("id = 2")  # one of both files has another vector now
    assert len(vectors_of(tmp_path)) == 2
    assert vacuum(tmp_path, 0, full=True) == []
    assert reasons(tmp_path, 0, full=True)[shared] == "live"
    table.delete("id = 3")
    assert vacuum(tmp_path, 0, full=True, dry_run=False) == [shared]
    assert sorted(DeltaTable(tmp_path).to_pyarrow_table()["id"].to_pylist()) == list(range(4, 10))
    table.delete("p = 0")
    assert reasons(tmp_path, full=True).keys() >= vectors_of(tmp_path)
    assert vacuum(tmp_path, full=True) == []
    gone = vacuum(tmp_path, full=True, dry_run=False, later_ms=8 * DAY_MS)
    assert len(gone) == 2 and len(vectors_of(tmp_path)) == 1
    assert DeltaTable(tmp_path).verify(deep=True).ok


def absolute(action, table):
    ((kind, body),) = action.items()
    return {kind: body | {"path": f"file:{table.path}/{body['path']}"}}


def test_absolute_paths_into_the_table_are_its_files(tmp_path):
    table = TableBuilder(tmp_path / "t").protocol().metadata(pa.schema([("id", pa.int64())]))
    adds = [table.add_file(pa.table({"id": [number]}), name=f"sub/{number}.parquet") for number in range(4)]
    spelled = [absolute(each, table) for each in adds[:2]]
    spelled.append({"add": adds[2]["add"] | {"path": "sub//./2.parquet"}})
    spelled.append({"add": adds[3]["add"] | {"path": f"file://{table.path}/x/../sub/3.parquet"}})
    table.commit(spelled)
    put(table.path, "sub/stray")
    for number in range(4):
        os.utime(table.path / f"sub/{number}.parquet", (0, 0))
    assert vacuum(table.path, 0, full=True) == ["sub/stray"]
    link = tmp_path / "link"
    link.symlink_to(table.path)
    assert vacuum(link, 0, full=True) == ["sub/stray"]


def test_files_of_another_folder_are_never_touched(tmp_path):
    source = TableBuilder(tmp_path / "source").protocol().metadata(pa.schema([("id", pa.int64())]))
    adds = [source.add_file(pa.table({"id": [number]}), name=f"{number}.parquet") for number in range(2)]
    source.commit(adds)
    clone = TableBuilder(tmp_path / "clone").protocol().metadata(pa.schema([("id", pa.int64())]))
    adds = [absolute(each, source) for each in adds]
    clone.commit(adds)
    clone.commit([clone.remove(adds[0])])
    put(clone.path, "0.parquet")
    for name in ("0.parquet", "1.parquet"):
        os.utime(source.path / name, (0, 0))
    assert vacuum(clone.path, 0, full=True, dry_run=False) == ["0.parquet"]
    assert stored(source.path) == {"0.parquet", "1.parquet"}
    assert reasons(clone.path, 0)[f"{source.path}/0.parquet"] == "outside the table"
    assert vacuum(clone.path, 0, dry_run=False) == []
    assert stored(source.path) == {"0.parquet", "1.parquet"}


@pytest.mark.parametrize("way", [{"full": True}, {}])
def test_a_longer_retention_holds_for_tombstones_that_a_checkpoint_has_dropped(tmp_path, way):
    settings = {"delta.deletedFileRetentionDuration": "interval 1 hours"}
    settings |= {"delta.enableDeletionVectors": "true"}
    write_deltalake(tmp_path, pa.table({"id": range(4)}), configuration=settings)
    DeltaTable(tmp_path).delete("id = 1")
    overwrite(tmp_path, 2)
    later = 3 * HOUR_MS
    create_checkpoint(open_store(tmp_path), 2, clock=lambda: time.time_ns() // 1_000_000 + later)
    assert DeltaTable(tmp_path).snapshot.tombstones().num_rows == 0
    for name in stored(tmp_path):
        os.utime(tmp_path / name, (0, 0))
    assert vacuum(tmp_path, 100, later_ms=later, dry_run=False, **way) == []
    assert DeltaTable(tmp_path, version=1).to_pyarrow_table().num_rows == 3
    assert len(vacuum(tmp_path, later_ms=later, **way)) == 2


# --- links ------------------------------------------------------------------------------------------


def test_a_link_to_a_file_goes_and_what_it_leads_to_stays(tmp_path):
    overwrite(tmp_path / "t", 1)
    put(tmp_path, "elsewhere/f")
    (tmp_path / "t" / "link").symlink_to(tmp_path / "elsewhere" / "f")
    (tmp_path / "t" / "broken").symlink_to(tmp_path / "nothing")
    assert vacuum(tmp_path / "t", 0, full=True, dry_run=False) == ["broken", "link"]
    assert (tmp_path / "elsewhere" / "f").exists()


def test_a_link_to_a_folder_stays_and_is_not_followed(tmp_path):
    overwrite(tmp_path / "t", 1)
    put(tmp_path, "elsewhere/f")
    (tmp_path / "t" / "link").symlink_to(tmp_path / "elsewhere")
    assert vacuum(tmp_path / "t", 0, full=True, dry_run=False) == []
    assert reasons(tmp_path / "t", 0, full=True)["link"] == "link"
    assert (tmp_path / "t" / "link" / "f").exists()


@pytest.mark.parametrize("of_folder", [True, False])
def test_what_a_live_name_leads_to_inside_the_table_stays(tmp_path, of_folder):
    table = TableBuilder(tmp_path).protocol().metadata(pa.schema([("id", pa.int64())]))
    add = table.add_file(pa.table({"id": [1]}), name="real/f.parquet")
    os.utime(tmp_path / "real" / "f.parquet", (0, 0))
    if of_folder:
        (tmp_path / "link").symlink_to(tmp_path / "real")
    else:
        put(tmp_path, "link/")
        (tmp_path / "link" / "f.parquet").symlink_to(tmp_path / "real" / "f.parquet")
    table.commit([{"add": add["add"] | {"path": "link/f.parquet"}}])
    put(tmp_path, "real/stray")
    assert vacuum(tmp_path, 0, full=True, dry_run=False) == ["real/stray"]
    assert DeltaTable(tmp_path).to_pyarrow_table().num_rows == 1


# --- folders ----------------------------------------------------------------------------------------


def test_empty_folders_go_and_those_that_become_empty_go_the_next_time(tmp_path):
    overwrite(tmp_path, 1)
    put(tmp_path, "sub/old", "a/b/c/", "a/d/", "keep/_hidden/")
    assert vacuum(tmp_path, 0, full=True) == ["sub/old"]
    report = reasons(tmp_path, 0, full=True)
    assert {name for name, why in report.items() if why == "empty folder"} == {"a/b/c/", "a/b/", "a/d/", "a/"}
    assert vacuum(tmp_path, 0, full=True, dry_run=False) == ["sub/old"]
    assert stored(tmp_path) == live(tmp_path) | {"sub/", "keep/_hidden/"}
    assert vacuum(tmp_path, 0, full=True, dry_run=False) == []
    assert stored(tmp_path) == live(tmp_path) | {"keep/_hidden/"}


def test_a_folder_that_was_just_made_stays(tmp_path):
    overwrite(tmp_path, 1)
    put(tmp_path, "new/", days=0)
    DeltaTable(tmp_path).vacuum(full=True, dry_run=False)
    assert (tmp_path / "new").exists()
    os.utime(tmp_path / "new", (0, 0))
    DeltaTable(tmp_path).vacuum(full=True, dry_run=False)
    assert not (tmp_path / "new").exists()


# --- the newest version -----------------------------------------------------------------------------


def test_the_newest_version_counts_whichever_is_open(tmp_path):
    overwrite(tmp_path, 1)
    (first,) = live(tmp_path)
    table = DeltaTable(tmp_path)
    overwrite(tmp_path, 2)
    assert table.vacuum(0, enforce_retention_duration=False, full=True) == [first]
    assert table.version() == 0
    table.vacuum(0, enforce_retention_duration=False, full=True, dry_run=False)
    assert table.version() == 3


@pytest.mark.parametrize("policy", ["classic", "v2"])
def test_checkpoints_tell_the_same_as_commits(tmp_path, policy):
    settings = {"delta.enableDeletionVectors": "true", "delta.checkpointPolicy": policy}
    write_deltalake(tmp_path, pa.table({"id": range(10)}), configuration=settings)
    table = DeltaTable(tmp_path)
    table.delete("id = 1")
    append(tmp_path, 11)
    table.delete("id = 2")
    table.create_checkpoint()
    append(tmp_path, 12)
    put(tmp_path, "stray")
    before = reasons(tmp_path, 0, full=True)
    gone = sorted(name for name, why in before.items() if why not in ("live", "log", "hidden"))
    assert gone == vacuum(tmp_path, 0, full=True)
    assert len(gone) == 2
    assert DeltaTable(tmp_path).count() == 10
    vacuum(tmp_path, 0, full=True, dry_run=False)
    assert DeltaTable(tmp_path).verify(deep=True).ok


def test_versions_that_are_kept_can_be_read_afterwards(tmp_path):
    settings = {"delta.enableDeletionVectors": "true"}
    write_deltalake(tmp_path, pa.table({"id": range(10)}), configuration=settings)
    DeltaTable(tmp_path).delete("id = 1")
    for number in range(3):
        overwrite(tmp_path, number)
    for full in (True, False):
        gone = vacuum(tmp_path, 0, full=full, keep_versions=[1, 3], dry_run=False)
        assert len(gone) == 1
        assert DeltaTable(tmp_path, version=1).to_pyarrow_table().num_rows == 9
        assert DeltaTable(tmp_path, version=3).to_pyarrow_table().num_rows == 1
    with pytest.raises(CorruptDataFileError):
        DeltaTable(tmp_path, version=2).to_pyarrow_table()
    assert "version kept" in reasons(tmp_path, 0, full=True, keep_versions=[1]).values()
