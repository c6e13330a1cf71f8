"""DROP: what goes and what stays, and that a drop that is killed anywhere leaves nothing that reads."""

import contextlib
import shutil

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.errors import DeltaError, TableNotFoundError, UnsupportedFeatureError
from deltaarrow.operations import drop_table, plan_drop
from deltaarrow.operations.define.drop_table import delete_abandoned
from deltaarrow.storage import LocalStore, open_store
from tests.support.system_calls import Calls, Killed


def make(path, versions=3):
    for number in range(versions):
        data = pa.table({"id": [number], "p": [number]})
        write_deltalake(path, data, partition_by=["p"], mode="append")
    if versions > 1:
        DeltaTable(path).create_checkpoint()
    return DeltaTable(path)


def test_a_dropped_table_leaves_nothing(tmp_path):
    table = make(tmp_path / "t")
    (tmp_path / "t" / "note.txt").write_text("mine")
    seen = []
    assert table.delete_table(dry_run=True)["num_files"] == 3 + 1 + 3 + 3 + 2
    assert table.version() == 2
    found = table.delete_table(progress=lambda *each: seen.append(each))
    assert found["num_files"] == seen[-1][0] == seen[-1][1]
    assert not (tmp_path / "t").exists()


def test_what_is_not_a_table_is_refused(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"x")
    with pytest.raises(TableNotFoundError):
        drop_table(open_store(tmp_path))
    (tmp_path / "_delta_log").mkdir()
    with pytest.raises(TableNotFoundError):
        drop_table(open_store(tmp_path))
    assert (tmp_path / "a.parquet").exists()


def test_a_table_below_is_refused(tmp_path):
    make(tmp_path)
    make(tmp_path / "sub" / "t")
    with pytest.raises(UnsupportedFeatureError, match="sub/t"):
        DeltaTable(tmp_path).delete_table()
    assert DeltaTable(tmp_path).version() == 2


def test_links_are_not_followed(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "f").write_text("mine")
    make(tmp_path / "t")
    (tmp_path / "t" / "folder").symlink_to(outside)
    (tmp_path / "t" / "file").symlink_to(outside / "f")
    assert DeltaTable(tmp_path / "t").delete_table()["kept"] == ["folder"]
    assert (outside / "f").read_text() == "mine"
    assert [each.name for each in (tmp_path / "t").iterdir()] == ["folder"]


def test_table_behind_a_link_stays(tmp_path):
    make(tmp_path / "t")
    (tmp_path / "link").symlink_to(tmp_path / "t")
    for is_dry in (True, False):
        with pytest.raises(UnsupportedFeatureError, match=f"symbolic link.*drop the table at {tmp_path}/t"):
            DeltaTable(tmp_path / "link").delete_table(dry_run=is_dry)
    assert DeltaTable(tmp_path / "link").count() == 3


@pytest.mark.parametrize("versions", [1, 3])
def test_a_drop_that_is_killed_leaves_no_table_with_fewer_rows(tmp_path, monkeypatch, versions):
    for nth in range(0, 200, versions):
        path = tmp_path / f"t{nth}"
        make(path, versions)
        was_killed = False
        with monkeypatch.context() as patch:
            Calls(patch, nth, Killed(), is_last=True)
            try:
                drop_table(open_store(path))
            except Killed:
                was_killed = True
        if not was_killed:
            break
        if (path / "_delta_log").exists() and any((path / "_delta_log").glob("*.json")):
            try:
                rows = DeltaTable(path).to_pyarrow_table().num_rows
            except DeltaError:
                rows = versions
            assert rows == versions
            drop_table(open_store(path))
        assert not list(path.rglob("*.parquet"))
    assert nth > 3
    assert not path.exists()


def test_a_writer_that_began_before_loses(tmp_path):
    table = make(tmp_path)
    transaction = table.transaction()
    drop = plan_drop(open_store(tmp_path))
    assert drop.num_files
    table.delete_table()
    with pytest.raises(DeltaError), transaction as staged:
        staged.set_application("a", 1)
    assert not list(tmp_path.rglob("*.parquet"))


class _Stopping(LocalStore):
    """The store of a process that is killed when it begins to delete the files of a table."""

    def delete_all(self, names):
        raise Killed


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_table_goes_that_another_process_begins_to_drop_meanwhile(tmp_path, monkeypatch, is_killed):
    def drop():
        with contextlib.suppress(TableNotFoundError, Killed):
            drop_table(_Stopping(str(path)) if is_killed else open_store(path))

    make(tmp_path / "t", versions=1)
    for nth in range(100):
        path = tmp_path / str(nth)
        shutil.copytree(tmp_path / "t", path)
        with monkeypatch.context() as patch:
            calls = Calls(patch, nth, drop, is_last=False)
            delete_abandoned(open_store(path))
        assert not path.exists()
        if calls.left >= 0:
            break
    assert 3 < nth < 99
