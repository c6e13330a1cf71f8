"""VACUUM by the log alone: what commits older than the retention have removed, and nothing else."""

import json
import os

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.errors import CorruptLogError, VacuumError
from deltaarrow.log.last_vacuum import read_last_vacuum, write_last_vacuum
from deltaarrow.storage import open_store
from tests.support.tables import TableBuilder
from tests.support.vacuum import DAY_MS, append, overwrite, put, reasons, stored, vacuum

SCHEMA = pa.schema([("id", pa.int64())])
WAYS = pytest.mark.parametrize("lite", [False, True])


def live(path) -> set[str]:
    return {os.path.relpath(uri, path) for uri in DeltaTable(path).file_uris()}


def info(path):
    file = path / "_delta_log" / "_last_vacuum_info"
    return json.loads(file.read_text()) if file.exists() else None


def age_commits(path, days, *versions) -> None:
    for version in versions:
        file = path / "_delta_log" / f"{version:020d}.json"
        moment = file.stat().st_mtime - days * 86_400
        os.utime(file, (moment, moment))


@WAYS
def test_removed_files_change_data_and_vectors_go_and_nothing_else(tmp_path, lite):
    settings = {"delta.enableDeletionVectors": "true", "delta.enableChangeDataFeed": "true"}
    write_deltalake(tmp_path, pa.table({"id": range(10)}), configuration=settings)
    table = DeltaTable(tmp_path)
    table.delete("id = 1")
    table.delete("id = 2")
    table.update({"id": "50"}, predicate="id = 3")
    overwrite(tmp_path, 7)
    put(tmp_path, "stray", "_change_data/stray", "empty/")
    before = stored(tmp_path)
    stays = live(tmp_path) | {"stray", "_change_data/stray", "empty/"}
    assert vacuum(tmp_path, lite=lite) == []
    assert set(vacuum(tmp_path, 0, lite=lite)) == before - stays
    assert {os.path.splitext(name)[1] for name in before - stays} == {".bin", ".parquet"}
    assert any(name.startswith("_change_data/") for name in before - stays)
    vacuum(tmp_path, 0, lite=lite, dry_run=False)
    assert stored(tmp_path) == stays


@WAYS
def test_the_next_one_goes_on_after_the_last_one(tmp_path, lite):
    for number in range(3):
        overwrite(tmp_path, number)
    first = vacuum(tmp_path, 0, lite=lite, dry_run=False)
    assert len(first) == 2
    assert info(tmp_path) == {"latestCommitVersionOutsideOfRetentionWindow": 2}
    assert vacuum(tmp_path, 0, lite=lite) == []
    (second,) = live(tmp_path)
    overwrite(tmp_path, 9)
    assert vacuum(tmp_path, 0, lite=lite, dry_run=False) == [second]
    assert info(tmp_path) == {"latestCommitVersionOutsideOfRetentionWindow": 5}
    vacuum(tmp_path, 0, full=True, dry_run=False)
    assert info(tmp_path) == {}
    assert vacuum(tmp_path, 0, lite=lite) == sorted([*first, second])


@WAYS
def test_commits_within_the_retention_are_for_a_later_one(tmp_path, lite):
    for number in range(4):
        overwrite(tmp_path, number)
    store = open_store(tmp_path)
    removed = [name for name in stored(tmp_path) if name not in live(tmp_path)]
    for version, days in enumerate((20, 15, 10, 1)):
        age_commits(tmp_path, days, version)
        commit = tmp_path / "_delta_log" / f"{version:020d}.json"
        moment = commit.stat().st_mtime
        lines = [json.loads(line) for line in commit.read_text().splitlines()]
        for line in lines:
            if "remove" in line:
                line["remove"]["deletionTimestamp"] = int(moment * 1000) - 5
        commit.write_text("\n".join(map(json.dumps, lines)))
        os.utime(commit, (moment, moment))
    old = vacuum(store, lite=lite, dry_run=False)
    assert len(old) == 2 and set(old) < set(removed)
    assert read_last_vacuum(store) == 2


@WAYS
def test_without_an_old_commit_nothing_is_noted(tmp_path, lite):
    overwrite(tmp_path, 1)
    overwrite(tmp_path, 2)
    write_last_vacuum(open_store(tmp_path), 0)
    assert vacuum(tmp_path, lite=lite, dry_run=False) == []
    assert read_last_vacuum(open_store(tmp_path)) == 0


@WAYS
def test_a_file_that_was_put_back_stays(tmp_path, lite):
    table = TableBuilder(tmp_path).protocol().metadata(SCHEMA)
    add = table.add_file(pa.table({"id": [1]}))
    other = table.add_file(pa.table({"id": [1]}))
    table.commit([add, other])
    table.commit([table.remove(add), table.remove(other)])
    table.commit([add])
    assert vacuum(tmp_path, 0, lite=lite, dry_run=False) == [other["add"]["path"]]
    assert DeltaTable(tmp_path).to_pyarrow_table().num_rows == 1


@WAYS
def test_names_are_decoded(tmp_path, lite):
    table = TableBuilder(tmp_path).protocol().metadata(SCHEMA)
    add = table.add_file(pa.table({"id": [1]}), name="p=a b%3A/é.parquet")
    put(tmp_path, "p=a b%3A/é.parquet")
    add["add"]["path"] = "p=a%20b%253A/é.parquet"
    table.commit([add])
    table.commit([table.remove(add)])
    assert vacuum(tmp_path, 0, lite=lite, dry_run=False) == ["p=a b%3A/é.parquet"]
    assert not (tmp_path / "p=a b%3A" / "é.parquet").exists()


def cleaned_up(path) -> set[str]:
    """A table whose log begins with a checkpoint; the files that left it before and after."""
    table = TableBuilder(path).protocol().metadata(SCHEMA)
    adds = [table.add_file(pa.table({"id": [number]}), name=f"{number}") for number in range(4)]
    table.commit(adds)
    for add in adds[:2]:
        table.commit([table.remove(add)])
    table.checkpoint()
    table.commit([table.remove(adds[2])])
    for version in (0, 1):
        os.unlink(path / "_delta_log" / f"{version:020d}.json")
    return {"0", "1", "2"}


def test_a_log_that_was_cleaned_up_is_refused_by_lite(tmp_path):
    removed = cleaned_up(tmp_path)
    before = stored(tmp_path)
    with pytest.raises(VacuumError, match=r"begins with version 2, .*full=True.*DELTA_CANNOT_VACUUM_LITE"):
        vacuum(tmp_path, 0, lite=True, dry_run=False)
    assert stored(tmp_path) == before
    assert DeltaTable(tmp_path).version() == 3
    assert set(vacuum(tmp_path, 0, dry_run=False)) == removed  # as far as it is remembered
    assert info(tmp_path) is None


def test_lite_goes_on_where_the_log_was_cleaned_up_after_it_had_been_there(tmp_path):
    cleaned_up(tmp_path)
    write_last_vacuum(open_store(tmp_path), 1)
    assert vacuum(tmp_path, 0, lite=True, dry_run=False) == ["1", "2"]
    assert info(tmp_path) == {"latestCommitVersionOutsideOfRetentionWindow": 3}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"latestCommitVersionOutsideOfRetentionWindow":"1"}', "{}"])
def test_a_note_that_says_nothing_is_none(tmp_path, text):
    overwrite(tmp_path, 1)
    overwrite(tmp_path, 2)
    (tmp_path / "_delta_log" / "_last_vacuum_info").write_text(text)
    assert len(vacuum(tmp_path, 0, lite=True)) == 1


def test_a_note_of_a_table_that_stood_here_before_is_none(tmp_path):
    overwrite(tmp_path, 1)
    overwrite(tmp_path, 2)
    write_last_vacuum(open_store(tmp_path), 77)
    assert len(vacuum(tmp_path, 0, lite=True)) == 1


def test_what_keeps_versions_notes_nothing(tmp_path):
    for number in range(3):
        overwrite(tmp_path, number)
    assert len(vacuum(tmp_path, 0, lite=True, keep_versions=[0], dry_run=False)) == 1
    assert info(tmp_path) is None
    assert len(vacuum(tmp_path, 0, lite=True)) == 2


def test_a_tombstone_younger_than_its_commit_ends_what_is_looked_at(tmp_path):
    table = TableBuilder(tmp_path).protocol().metadata(SCHEMA)
    adds = [table.add_file(pa.table({"id": [number]}), name=f"{number}") for number in range(3)]
    table.commit(adds)
    table.commit([table.remove(adds[0])])
    late = table.remove(adds[1])
    late["remove"]["deletionTimestamp"] = 4_000_000_000_000
    table.commit([late])
    table.commit([table.remove(adds[2])])
    assert vacuum(tmp_path, 0, dry_run=False) == ["0"]
    assert info(tmp_path) == {"latestCommitVersionOutsideOfRetentionWindow": 1}


def test_a_tombstone_without_a_time_is_an_old_one(tmp_path):
    table = TableBuilder(tmp_path).protocol().metadata(SCHEMA)
    add = table.add_file(pa.table({"id": [1]}), name="f")
    table.commit([add])
    remove = table.remove(add)
    del remove["remove"]["deletionTimestamp"]
    table.commit([remove])
    assert vacuum(tmp_path, full=True) == []  # young by its own time
    assert vacuum(tmp_path) == ["f"]


def test_commits_are_read_however_their_actions_are_spread_over_lines(tmp_path):
    table = TableBuilder(tmp_path).protocol().metadata(SCHEMA)
    add = table.add_file(pa.table({"id": [1]}), name="f")
    table.commit([add])
    table.commit([table.remove(add)])
    file = tmp_path / "_delta_log" / f"{1:020d}.json"
    actions = [json.loads(line) for line in file.read_text().splitlines()]
    file.write_text("\n".join(json.dumps(action, indent=2) for action in actions))
    assert vacuum(tmp_path, 0) == ["f"]


@pytest.mark.parametrize("remove", ['{"path": 1}', '{"size": 1}', '{"path": "f", "deletionVector": 1}', "[]"])
def test_an_ill_formed_commit_is_named(tmp_path, remove):
    overwrite(tmp_path, 1)
    overwrite(tmp_path, 2)
    DeltaTable(tmp_path).create_checkpoint()
    file = tmp_path / "_delta_log" / f"{0:020d}.json"
    file.write_text(file.read_text() + '{"remove": ' + remove + "}\n")
    with pytest.raises(CorruptLogError, match=file.name):
        vacuum(tmp_path, 0)


@WAYS
def test_in_commit_timestamps_count_where_the_table_has_them(tmp_path, lite):
    overwrite(tmp_path, 1, configuration={"delta.enableInCommitTimestamps": "true"})
    overwrite(tmp_path, 2)
    age_commits(tmp_path, 30, 0, 1)  # the files are old, and the commits are not
    assert vacuum(tmp_path, lite=lite, dry_run=False) == []
    assert info(tmp_path) is None
    assert len(vacuum(tmp_path, lite=lite, later_ms=8 * DAY_MS)) == 1


# --- what a log must not name -----------------------------------------------------------------------


def test_the_log_is_not_deleted_whoever_names_it(tmp_path):
    table = TableBuilder(tmp_path).protocol().metadata(SCHEMA)
    add = table.add_file(pa.table({"id": [1]}), name="f")
    table.commit([add])
    for name in (f"_delta_log/{0:020d}.json", "_delta_log/_sidecars/x"):
        put(tmp_path, "_delta_log/_sidecars/x")
        remove = table.remove(add)
        remove["remove"]["path"] = name
        table.commit([remove])
    assert vacuum(tmp_path, 0) == []
    assert set(reasons(tmp_path, 0).values()) == {"log"}


def test_files_behind_a_link_are_not_deleted(tmp_path):
    table = TableBuilder(tmp_path / "t").protocol().metadata(SCHEMA)
    add = table.add_file(pa.table({"id": [1]}), name="elsewhere/f")
    os.rename(table.path / "elsewhere", tmp_path / "elsewhere")
    (table.path / "elsewhere").symlink_to(tmp_path / "elsewhere")
    table.commit([add])
    table.commit([table.remove(add)])
    assert reasons(table.path, 0) == {"elsewhere/f": "link"}
    assert vacuum(table.path, 0, dry_run=False) == []
    assert (tmp_path / "elsewhere" / "f").exists()


def test_the_source_of_a_clone_stays_where_it_is_in_the_folder_of_the_clone(tmp_path):
    source = TableBuilder(tmp_path / "source").protocol().metadata(SCHEMA)
    add = source.add_file(pa.table({"id": [1]}), name="p=1/f")
    source.commit([add])
    clone = TableBuilder(tmp_path).protocol().metadata(SCHEMA)
    taken = {"add": add["add"] | {"path": f"file:{source.path}/p=1/f"}}
    clone.commit([taken])
    clone.commit([clone.remove(taken)])
    for full in (False, True):
        assert reasons(tmp_path, 0, full=full)["source/p=1/f"] == "of another table"
        assert vacuum(tmp_path, 0, full=full, dry_run=False) == []
    assert DeltaTable(source.path).to_pyarrow_table().num_rows == 1


def test_a_path_that_leaves_the_table_is_not_followed(tmp_path):
    table = TableBuilder(tmp_path / "t").protocol().metadata(SCHEMA)
    add = table.add_file(pa.table({"id": [1]}), name="f")
    table.commit([add])
    put(tmp_path, "f")
    remove = table.remove(add)
    remove["remove"]["path"] = "../f"
    table.commit([remove])
    assert reasons(table.path, 0) == {"../f": "outside the table"}
    assert vacuum(table.path, 0, dry_run=False) == []
    assert (tmp_path / "f").exists()


def test_appends_remove_nothing(tmp_path):
    for number in range(3):
        append(tmp_path, number)
    assert vacuum(tmp_path, 0, dry_run=False) == []
    assert DeltaTable(tmp_path).version() == 2


@WAYS
def test_copied_table_keeps_what_left_it_before_the_copy_and_the_report_says_why(tmp_path, lite):
    # delta-spark's LITE goes by the age of commit files too, whatever the tombstones say.
    for number in range(3):
        overwrite(tmp_path, number)
    before = stored(tmp_path)
    for commit in (tmp_path / "_delta_log").glob("*.json"):
        actions = [json.loads(line) for line in commit.read_text().splitlines()]
        for action in actions:
            if "remove" in action:
                action["remove"]["deletionTimestamp"] -= 30 * DAY_MS
        commit.write_text("".join(f"{json.dumps(action)}\n" for action in actions))
    removed = before - live(tmp_path)
    assert vacuum(tmp_path, lite=lite) == []
    assert reasons(tmp_path, lite=lite) == dict.fromkeys(removed, "removing commit within retention")
    age_commits(tmp_path, 30, 0, 1, 2)
    assert set(vacuum(tmp_path, lite=lite)) == removed
    assert reasons(tmp_path, lite=lite) == dict.fromkeys(removed, "tombstone past retention")
    vacuum(tmp_path, lite=lite, dry_run=False)
    assert reasons(tmp_path, lite=lite) == {}
