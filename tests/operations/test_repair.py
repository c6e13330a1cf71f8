"""Repair of tables with lost files: what is gone, what is truncated, and what is left alone."""

import os
import shutil

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.errors import StorageError, UnsupportedFeatureError
from deltaarrow.operations.repair import repair_table
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import open_store
from tests.support.commits import commit


def make(path, **options):
    for number in range(3):
        data = pa.table({"id": [number, number + 10, number + 20], "p": [f"a b{number}"] * 3})
        write_deltalake(path, data, partition_by=["p"], mode="append", **options if number == 0 else {})
    return DeltaTable(path)


def path_of(table, number):
    (found,) = [each for each in table.file_uris() if f"a b{number}" in each]
    return found


def test_a_sound_table_gets_no_commit(tmp_path):
    table = make(tmp_path)
    assert table.repair() == {"dry_run": False, "files_removed": [], "reasons": {}}
    assert table.version() == 2


def test_files_that_are_gone_or_truncated_leave_the_log(tmp_path):
    table = make(tmp_path)
    os.remove(path_of(table, 0))
    os.truncate(path_of(table, 1), 100)
    found = table.repair(dry_run=True)
    assert sorted(found["reasons"].values())[0] == "gone"
    assert "truncated to 100 of" in sorted(found["reasons"].values())[1]
    assert table.version() == 2
    assert table.repair()["files_removed"] == found["files_removed"]
    assert table.to_pyarrow_table().column("id").to_pylist() == [2, 12, 22]
    assert table.verify(deep=True).ok
    info, *removes = commit(tmp_path, 3)
    assert info["commitInfo"]["operation"] == "FSCK"
    assert {action["remove"]["path"] for action in removes} == set(found["files_removed"])
    assert all(action["remove"]["dataChange"] for action in removes)


def test_a_whole_file_of_another_size_than_the_log_says_stays(tmp_path):
    table = make(tmp_path)
    other = tmp_path / "other"
    write_deltalake(other, pa.table({"id": list(range(100)), "p": ["x"] * 100}), partition_by=["p"])
    shutil.copy(DeltaTable(other).file_uris()[0], path_of(table, 0))
    shutil.rmtree(other)
    assert table.repair()["files_removed"] == []


@pytest.mark.parametrize("is_gone", [True, False])
def test_a_file_whose_deletion_vector_is_lost_leaves_the_log(tmp_path, is_gone):
    table = make(tmp_path, configuration={"delta.enableDeletionVectors": "true"})
    table.delete("id = 11")
    (vector,) = tmp_path.rglob("*.bin")
    vector.unlink() if is_gone else os.truncate(vector, 10)
    (reason,) = table.repair()["reasons"].values()
    assert "deletion vector" in reason
    assert sorted(table.to_pyarrow_table().column("id").to_pylist()) == [0, 2, 10, 12, 20, 22]


def test_a_file_that_cannot_be_reached_is_not_removed(tmp_path):
    make(tmp_path)
    store = open_store(tmp_path)

    class Unreachable(type(store)):
        def statuses(self, names):
            raise StorageError("the network is down")

    table = DeltaTable(tmp_path)
    os.remove(path_of(table, 0))
    unreachable = Unreachable(store.uri)
    with pytest.raises(StorageError, match="network is down"):
        repair_table(Snapshot.load(unreachable))
    assert DeltaTable(tmp_path).version() == 2


def test_a_file_on_a_disk_that_is_not_mounted_is_not_removed(tmp_path):
    source = tmp_path / "source"
    table = make(tmp_path / "t")
    name = path_of(table, 0)
    elsewhere = tmp_path / "mounted" / "f.parquet"
    elsewhere.parent.mkdir()
    shutil.move(name, elsewhere)
    log = tmp_path / "t" / "_delta_log" / f"{0:020d}.json"
    (add,) = [action["add"] for action in commit(tmp_path / "t", 0) if "add" in action]
    log.write_text(log.read_text().replace(add["path"], f"file://{elsewhere}"))
    assert DeltaTable(tmp_path / "t").repair()["files_removed"] == []
    elsewhere.rename(tmp_path / "lost")
    elsewhere.parent.rmdir()
    with pytest.raises(StorageError, match="may not be mounted"):
        DeltaTable(tmp_path / "t").repair()
    elsewhere.parent.mkdir()
    assert len(DeltaTable(tmp_path / "t").repair()["files_removed"]) == 1
    assert not source.exists()


def test_a_table_that_keeps_its_rows_is_refused(tmp_path):
    table = make(tmp_path, configuration={"delta.appendOnly": "true"})
    os.remove(path_of(table, 0))
    with pytest.raises(UnsupportedFeatureError, match="appendOnly"):
        table.repair()
