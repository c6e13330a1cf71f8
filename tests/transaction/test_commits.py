import errno
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest

import deltaarrow.statistics as statistics
from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.actions import SetTransaction
from deltaarrow.errors import (
    CommitFailedError,
    ConcurrentAppendException,
    ConcurrentWriteException,
    MetadataChangedException,
    ProtocolChangedException,
    StorageError,
    StorageSystemError,
    VersionExistsError,
)
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import open_store
from deltaarrow.storage.local import LocalStore
from deltaarrow.transaction import OptimisticTransaction
from deltaarrow.transaction.commit_loop import CommitLoop
from tests.support.tables import TableBuilder

SCHEMA = pa.schema([("id", pa.int64())])


@pytest.fixture
def table(tmp_path):
    return TableBuilder(tmp_path).protocol().metadata(SCHEMA).commit()


def begin(path, **options) -> OptimisticTransaction:
    store = open_store(path)
    return OptimisticTransaction(store=store, snapshot=Snapshot.load(store), operation="TEST", **options)


def test_blind_append_goes_after_a_blind_append_that_was_first(table):
    transaction = begin(table.path)
    table.commit([table.add_file(1)]).commit([table.add_file(1)])
    transaction.stage([SetTransaction(app_id="a", version=1)])
    assert transaction.commit() == 3
    assert DeltaTable(table.path).transaction_version("a") == 1


def test_a_transaction_that_read_the_table_is_refused_after_an_append(table):
    transaction = begin(table.path)
    transaction.read_files()
    transaction.stage([SetTransaction(app_id="a", version=1)])
    table.commit([table.add_file(1)])
    with pytest.raises(ConcurrentAppendException, match="version 1"):
        transaction.commit()
    assert DeltaTable(table.path).version() == 1


def test_blind_append_is_refused_after_a_change_of_metadata(table):
    transaction = begin(table.path)
    table.metadata(SCHEMA, name="other").commit()
    with pytest.raises(MetadataChangedException, match="version 1"):
        transaction.commit()


def test_blind_append_is_refused_after_a_change_of_protocol_two_versions_on(table):
    transaction = begin(table.path)
    table.commit().protocol(1, 4).commit()
    with pytest.raises(ProtocolChangedException, match="version 2"):
        transaction.commit()


def test_an_append_goes_after_a_log_that_was_cleaned_up_meanwhile(tmp_path):
    write_deltalake(tmp_path, pa.table({"id": [0]}))
    stale = DeltaTable(tmp_path)
    for i in range(5):
        write_deltalake(tmp_path, pa.table({"id": [i]}), mode="append")
    DeltaTable(tmp_path).create_checkpoint()
    for version in range(5):
        (tmp_path / "_delta_log" / f"{version:020d}.json").unlink()
    write_deltalake(stale, pa.table({"id": [9]}), mode="append")
    assert stale.version() == DeltaTable(tmp_path).version() == 6
    assert DeltaTable(tmp_path).count() == 7


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_a_write_is_refused_where_the_table_was_deleted_since_it_was_read(tmp_path, mode):
    write_deltalake(tmp_path / "t", pa.table({"id": [0]}))
    stale = DeltaTable(tmp_path / "t")
    shutil.rmtree(tmp_path / "t")
    with pytest.raises(CommitFailedError, match="deleted"):
        write_deltalake(stale, pa.table({"id": [9]}), mode=mode)
    assert not list(tmp_path.rglob("*.json"))


@pytest.mark.parametrize("folder", ["", "_delta_log"])
def test_a_commit_does_not_make_the_log_anew_that_another_tool_deletes_after_the_last_listing(
    tmp_path, monkeypatch, folder
):
    path = tmp_path / "t"
    for number in (0, 1):
        write_deltalake(path, pa.table({"id": [number]}), mode="append")
    prepare = CommitLoop._prepare

    def delete_and_prepare(self, *arguments):
        shutil.rmtree(path / folder)
        return prepare(self, *arguments)

    monkeypatch.setattr(CommitLoop, "_prepare", delete_and_prepare)
    with pytest.raises(CommitFailedError, match="was deleted while version 2 was written; nothing was"):
        DeltaTable(path).update({"id": "id + 10"})
    assert not list(tmp_path.rglob("*.json"))


@pytest.mark.parametrize("commits", [1, 3])
def test_a_write_is_refused_where_the_table_was_made_anew_since_it_was_read(tmp_path, commits):
    write_deltalake(tmp_path / "t", pa.table({"id": [0]}))
    stale = DeltaTable(tmp_path / "t")
    shutil.rmtree(tmp_path / "t")
    for _ in range(commits):
        write_deltalake(tmp_path / "t", pa.table({"other": ["x"]}), mode="append")
    with pytest.raises(CommitFailedError, match="deleted and created again"):
        write_deltalake(stale, pa.table({"id": [9]}), mode="append")
    assert DeltaTable(tmp_path / "t").version() == commits - 1


def test_a_table_is_not_created_over_one_whose_first_commits_were_cleaned_up(tmp_path):
    write_deltalake(tmp_path, pa.table({"id": [0]}))
    write_deltalake(tmp_path, pa.table({"id": [1]}), mode="append")
    DeltaTable(tmp_path).create_checkpoint()
    (tmp_path / "_delta_log" / f"{0:020d}.json").unlink()
    with pytest.raises(CommitFailedError):
        DeltaTable.create(tmp_path, SCHEMA)
    assert DeltaTable(tmp_path).count() == 2


def test_a_new_table_is_refused_where_another_writer_made_one(tmp_path):
    store = open_store(tmp_path)
    transaction = OptimisticTransaction(store=store, snapshot=None, operation="TEST")
    TableBuilder(tmp_path).protocol().metadata(SCHEMA).commit()
    with pytest.raises(VersionExistsError):
        transaction.commit()


@pytest.mark.parametrize("error", [OSError("connection lost"), FileExistsError("by a retry of the client")])
def test_a_put_that_failed_after_it_took_place_is_a_commit(table, monkeypatch, error):
    transaction = begin(table.path)
    transaction.stage([SetTransaction(app_id="a", version=1)])
    real = type(transaction.store).put_if_absent

    def put_and_fail(self, name, data):
        real(self, name, data)
        raise error

    monkeypatch.setattr(type(transaction.store), "put_if_absent", put_and_fail)
    assert transaction.commit() == 1
    assert DeltaTable(table.path).version() == 1


def test_a_put_that_failed_is_an_error(table, monkeypatch):
    transaction = begin(table.path)

    def fail(self, name, data):
        raise OSError("disk full")

    monkeypatch.setattr(type(transaction.store), "put_if_absent", fail)
    with pytest.raises(OSError, match="disk full"):
        transaction.commit()
    assert DeltaTable(table.path).version() == 0


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(FileNotFoundError("the bucket does not exist"), id="bucket"),
        pytest.param(StorageSystemError(errno.ENOENT, "the folder does not exist"), id="folder"),
    ],
)
def test_a_put_where_the_folder_or_the_bucket_is_gone_is_no_commit(table, monkeypatch, error):
    transaction = begin(table.path)

    def fail(self, name, data):
        raise error

    monkeypatch.setattr(type(transaction.store), "put_if_absent", fail)
    with pytest.raises(CommitFailedError, match="nothing was committed"):
        transaction.commit()


def test_retries_are_bounded(table, monkeypatch):
    transaction = begin(table.path, max_commit_retries=2)
    store_type = type(transaction.store)

    def always_lose(self, name, data):
        (table.log / name.rpartition("/")[2]).write_text("{}")
        raise FileExistsError(name)

    monkeypatch.setattr(store_type, "put_if_absent", always_lose)
    with pytest.raises(CommitFailedError, match="tried 3 times"):
        transaction.commit()


class _Busy(LocalStore):
    """A disk on which another writer commits right after each of the next `others` listings of the log."""

    def __init__(self, table: TableBuilder) -> None:
        super().__init__(str(table.path))
        self.table, self.others = table, 0
        self.asked: list[int | str] = []

    def list_from(self, folder, start=""):
        found = super().list_from(folder, start)
        if folder == "_delta_log":
            self.asked.append(self.others)
            if self.others:
                self.others -= 1
                self.table.commit([self.table.add_file(pa.table({"id": [self.others]}))])
        return found

    def put_if_absent(self, name, data, *more):
        self.asked.append(name)
        super().put_if_absent(name, data, *more)


@pytest.mark.parametrize("reads", [False, True])
def test_a_disk_is_listed_again_until_nothing_is_new_before_a_commit_is_tried(table, reads):
    store = _Busy(table)
    transaction = OptimisticTransaction(store=store, snapshot=Snapshot.load(store), operation="TEST")
    if reads:
        transaction.read_files("id > 10")
    transaction.stage([SetTransaction(app_id="a", version=1)])
    table.commit()
    store.others, store.asked = 5, []
    assert transaction.commit() == 7
    assert store.asked[:8] == [5, 4, 3, 2, 1, 0, 0, f"_delta_log/{7:020d}.json"]


def test_a_commit_is_tried_beside_a_writer_that_commits_after_each_listing(table):
    store = _Busy(table)
    transaction = OptimisticTransaction(
        store=store, snapshot=Snapshot.load(store), operation="TEST", max_commit_retries=2
    )
    transaction.stage([SetTransaction(app_id="a", version=1)])
    store.others, store.asked = 60, []
    with pytest.raises(ConcurrentWriteException, match="tried 3 times"):
        transaction.commit()
    tried = [each for each in store.asked if isinstance(each, str)]
    assert len(tried) == 3
    assert store.others > 0


def test_statistics_of_all_commits_that_came_first_are_read_together(table, monkeypatch):
    transaction = begin(table.path)
    transaction.read_files("id > 100")
    transaction.read_files("id < 0")
    transaction.stage([SetTransaction(app_id="a", version=1)])
    for number in range(20):
        table.commit([table.add_file(pa.table({"id": [number]}))])
    read, asked = statistics.listed.read_statistics, []

    def recording(*arguments, **options):
        asked.append(arguments)
        return read(*arguments, **options)

    monkeypatch.setattr(statistics.listed, "read_statistics", recording)
    assert transaction.commit() == 21
    assert len(asked) == 2, "one query for each condition"


def test_the_first_conflict_of_several_commits_counts(table):
    transaction = begin(table.path)
    transaction.read_files("id > 100")
    transaction.stage([SetTransaction(app_id="a", version=1)])
    for ids in ([1], [200], [300]):
        table.commit([table.add_file(pa.table({"id": ids}))])
    table.metadata(SCHEMA, name="other").commit()
    with pytest.raises(ConcurrentAppendException, match="version 2"):
        transaction.commit()


def test_a_change_of_metadata_counts_before_the_files_of_later_commits(table):
    transaction = begin(table.path)
    transaction.read_files("id > 100")
    table.commit([table.add_file(pa.table({"id": [1]}))])
    table.metadata(pa.schema([("id", pa.string())])).commit()
    table.commit([table.add_file(pa.table({"id": ["x"]}))])
    with pytest.raises(MetadataChangedException, match="version 2"):
        transaction.commit()


def test_a_store_without_put_if_absent_is_refused_before_anything_is_written(monkeypatch, tmp_path):
    store = open_store(tmp_path / "t")
    monkeypatch.setattr(type(store), "can_put_if_absent", False)
    with pytest.raises(StorageError, match="put-if-absent"):
        write_deltalake(tmp_path / "t", pa.table({"id": [1]}))
    assert not list(tmp_path.rglob("*.parquet"))


def test_appends_of_many_threads_are_all_there_once(tmp_path):
    write_deltalake(tmp_path, pa.table({"id": pa.array([], pa.int64())}))
    barrier = threading.Barrier(8)

    def append(writer: int) -> None:
        barrier.wait()
        for i in range(5):
            write_deltalake(tmp_path, pa.table({"id": [writer * 100 + i]}), mode="append")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(append, range(8)))
    table = DeltaTable(tmp_path)
    assert table.version() == 40
    expected = sorted(writer * 100 + i for writer in range(8) for i in range(5))
    assert sorted(table.to_pyarrow_table()["id"].to_pylist()) == expected


def test_files_of_a_refused_overwrite_are_deleted_again(tmp_path):
    write_deltalake(tmp_path, pa.table({"id": [1]}))
    stale = DeltaTable(tmp_path)
    write_deltalake(tmp_path, pa.table({"id": [2]}), mode="append")
    before = set(tmp_path.rglob("*.parquet"))
    with pytest.raises(ConcurrentAppendException):
        write_deltalake(stale, pa.table({"id": [3]}), mode="overwrite")
    assert set(tmp_path.rglob("*.parquet")) == before
    assert sorted(DeltaTable(tmp_path).to_pyarrow_table()["id"].to_pylist()) == [1, 2]
