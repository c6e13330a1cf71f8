"""A commit interrupted between any two steps is made wholly or not at all, and never twice."""

import contextlib
import itertools
import os
import sys
import uuid

import pyarrow as pa
import pytest
from pyroaring import BitMap64

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.actions import AddFile
from deltaarrow.errors import CommitFailedError, CommitStateUnknownError, MetadataChangedException
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import open_store
from deltaarrow.transaction import OptimisticTransaction
from tests.support.tables import TableBuilder

SCHEMA = pa.schema([("id", pa.int64())])


@pytest.fixture
def table(tmp_path) -> TableBuilder:
    return TableBuilder(tmp_path).protocol().metadata(SCHEMA).commit()


def begin(path) -> OptimisticTransaction:
    store = open_store(path)
    return OptimisticTransaction(store=store, snapshot=Snapshot.load(store), operation="TEST")


def new_file(table: TableBuilder, number: int) -> AddFile:
    """Write a data file with one row."""
    add = table.add_file(pa.table({"id": [number]}))["add"]
    return AddFile(
        path=add["path"],
        partition_values={},
        size=add["size"],
        modification_time=1,
        data_change=True,
        stats=add["stats"],
    )


def load_once(table: TableBuilder, number: int) -> None:
    """Append one row, unless the table has it by the word of its application."""
    with begin(table.path) as transaction:
        if transaction.set_application("load", number):
            transaction.add_files([new_file(table, number)])


def check(table: TableBuilder, number: int) -> None:
    """The table is whole, and after the load has been repeated it holds each row once."""
    assert DeltaTable(table.path).verify().ok
    load_once(table, number)
    rows = DeltaTable(table.path).to_pyarrow_table()["id"].to_pylist()
    assert sorted(rows) == list(range(number + 1))


class Interrupter:
    """Raises KeyboardInterrupt at the n-th line of the package `transaction` that runs."""

    def __init__(self, nth: int) -> None:
        self.left = nth

    def __call__(self, frame, event, argument):
        return self.line if "/transaction/" in frame.f_code.co_filename else None

    def line(self, frame, event, argument):
        if event == "line":
            self.left -= 1
            if self.left < 0:
                raise KeyboardInterrupt
        return self.line


def test_an_interrupt_at_any_line_makes_the_commit_or_does_not(table):
    made, before = [], sys.gettrace()
    for number in range(1000):
        transaction = begin(table.path)
        transaction.set_application("load", number)
        transaction.add_files([new_file(table, number)])
        tracer = Interrupter(2 * number)
        sys.settrace(tracer)
        try:
            transaction.commit()
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(before)
        if tracer.left >= 0:
            break
        made.append(DeltaTable(table.path).transaction_version("load") == number)
        if number % 10 == 0:
            check(table, number)
        else:
            load_once(table, number)
    else:
        pytest.fail("the commit never came to its end")
    check(table, number)
    assert set(made) == {True, False}


class Killed(BaseException):
    """The process is gone: nothing it would do after this takes place."""


class Killer:
    """Ends the process, as far as the file system can tell, before its n-th call of the system."""

    CALLS = ("open", "fsync", "link", "unlink", "replace", "mkdir")

    def __init__(self, monkeypatch, nth: int) -> None:
        self.left = nth
        for name in self.CALLS:
            monkeypatch.setattr(os, name, self.guarded(getattr(os, name)))

    def guarded(self, call):
        def guard(*arguments, **options):
            self.left -= 1
            if self.left < 0:
                raise Killed
            return call(*arguments, **options)

        return guard


def test_a_process_killed_before_any_call_of_the_system_makes_the_commit_or_does_not(table, monkeypatch):
    number, made = 0, []
    while True:
        transaction = begin(table.path)
        transaction.set_application("load", number)
        transaction.add_files([new_file(table, number)])
        with monkeypatch.context() as patch:
            killer = Killer(patch, number)
            with contextlib.suppress(Killed):
                transaction.commit()
            if killer.left >= 0:
                break
        made.append(DeltaTable(table.path).transaction_version("load") == number)
        check(table, number)
        number += 1
    assert made == sorted(made) and set(made) == {True, False}


def test_a_process_killed_while_it_rebases_rows_makes_the_commit_or_does_not(tmp_path, monkeypatch):
    """One commit comes before the first try and another before the first put."""
    made = []
    for number in itertools.count():
        table = TableBuilder(tmp_path / str(number)).features("deletionVectors")
        table.metadata(SCHEMA, configuration={"delta.enableDeletionVectors": "true"})
        file = table.add_file(pa.table({"id": range(10)}))
        table.commit([file])
        transaction = begin(table.path)
        (row,) = transaction.read_files(row_level=True).to_pylist(maps_as_pydicts="strict")
        transaction.remove_rows(row, BitMap64([1]))
        first = table.with_deletion_vector(file, table.deletion_vector([2]))
        second = table.with_deletion_vector(first[1], table.deletion_vector([2, 3]))
        table.commit(first)
        real = type(transaction.store).put_if_absent

        def put(self, name, data, table=table, second=second, real=real):
            if table.version == 1:
                table.commit(second)
            real(self, name, data)

        with monkeypatch.context() as patch:
            patch.setattr(type(transaction.store), "put_if_absent", put)
            killer = Killer(patch, number)
            with contextlib.suppress(Killed):
                transaction.commit()
        found = set(DeltaTable(table.path).to_pyarrow_table()["id"].to_pylist())
        made.append(1 not in found)
        gone = {2} | ({3} if table.version == 2 else set()) | ({1} if made[-1] else set())
        assert found == set(range(10)) - gone
        assert DeltaTable(table.path).verify(deep=True).ok
        if killer.left >= 0:
            break
    assert made == sorted(made) and set(made) == {True, False}


def test_an_interrupt_of_the_block_deletes_what_was_written(table):
    with pytest.raises(KeyboardInterrupt), begin(table.path) as transaction:
        add = new_file(table, 0)
        transaction.add_files([add])
        raise KeyboardInterrupt
    assert not (table.path / add.path).exists()


def test_a_transaction_that_was_refused_is_not_committed_after_all(table):
    transaction = begin(table.path)
    transaction.add_files([new_file(table, 0)])
    table.metadata(SCHEMA, name="other").commit()
    with pytest.raises(MetadataChangedException):
        transaction.commit()
    with pytest.raises(CommitFailedError, match="begin another"):
        transaction.commit()
    with pytest.raises(CommitFailedError, match="begin another"):
        transaction.set_application("a", 1)


def test_a_transaction_that_was_given_up_is_not_committed_after_all(table):
    transaction = begin(table.path)
    transaction.add_files([new_file(table, 0)])
    transaction.abort()
    with pytest.raises(CommitFailedError, match="begin another"):
        transaction.commit()


def test_giving_up_after_the_commit_deletes_nothing(table):
    transaction = begin(table.path)
    add = new_file(table, 0)
    transaction.add_files([add])
    transaction.commit()
    transaction.abort()
    assert (table.path / add.path).exists()


def test_a_hook_that_fails_leaves_the_commit_and_its_files(table, caplog):
    def fail(done):
        raise RuntimeError("no checkpoint today")

    transaction = begin(table.path)
    transaction.hooks = [fail]
    add = new_file(table, 0)
    transaction.add_files([add])
    assert transaction.commit() == 1
    assert (table.path / add.path).exists()
    assert "fail failed after version 1" in caplog.text


# --- a remote store ---------------------------------------------------------------------------------


class LibraryError(Exception):
    """What a library of a remote store raises; it is no OSError."""


@pytest.fixture
def remote():
    uri = f"memory://{uuid.uuid4()}/t"
    DeltaTable.create(uri, SCHEMA)
    return uri


def stage_file(transaction: OptimisticTransaction) -> str:
    transaction.store.write("f.parquet", b"rows")
    add = AddFile(path="f.parquet", partition_values={}, size=4, modification_time=1, data_change=True)
    transaction.add_files([add])
    return "f.parquet"


@pytest.mark.parametrize("error", [LibraryError("reset by peer"), TimeoutError(), FileExistsError()])
def test_a_put_that_failed_after_it_took_place_is_a_commit(remote, monkeypatch, error):
    transaction = begin(remote)
    name, real = stage_file(transaction), type(transaction.store).put_if_absent

    def put_and_fail(self, name, data):
        real(self, name, data)
        raise error

    monkeypatch.setattr(type(transaction.store), "put_if_absent", put_and_fail)
    assert transaction.commit() == 1
    assert transaction.store.exists(name)
    assert DeltaTable(remote).version() == 1


@pytest.mark.parametrize("error", [LibraryError("reset by peer"), TimeoutError()])
def test_files_of_a_put_that_may_yet_take_place_are_kept(remote, monkeypatch, error):
    transaction = begin(remote)
    name, real = stage_file(transaction), type(transaction.store).put_if_absent
    requests = []

    def lose_the_answer(self, name, data):
        requests.append((name, data))
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(type(transaction.store), "put_if_absent", lose_the_answer)
        with pytest.raises(CommitStateUnknownError):
            transaction.commit()
    real(transaction.store, *requests[0])
    assert DeltaTable(remote).file_uris() == [transaction.store.location(name)]
    assert transaction.store.exists(name)


def test_vectors_of_a_rebased_put_that_may_yet_take_place_are_kept(monkeypatch):
    uri = f"memory://{uuid.uuid4()}/t"
    rows = pa.table({"id": pa.array(range(10), pa.int64())})
    write_deltalake(uri, rows, configuration={"delta.enableDeletionVectors": "true"})
    transactions = [begin(uri), begin(uri), begin(uri)]
    for position, transaction in enumerate(transactions):
        (row,) = transaction.read_files(row_level=True).to_pylist(maps_as_pydicts="strict")
        transaction.remove_rows(row, BitMap64([position]))
    last, real, requests = transactions[-1], type(transactions[0].store).put_if_absent, []

    def lose_the_answer(self, name, data):
        if self is not last.store:
            return real(self, name, data)
        if len(requests) == 0:
            transactions[1].commit()
        requests.append((name, data))
        if len(requests) == 1:
            return real(self, name, data)
        raise LibraryError("reset by peer")

    monkeypatch.setattr(type(last.store), "put_if_absent", lose_the_answer)
    transactions[0].commit()
    with pytest.raises(CommitStateUnknownError):
        last.commit()
    real(last.store, *requests[-1])
    assert sorted(DeltaTable(uri).to_pyarrow_table()["id"].to_pylist()) == list(range(3, 10))
    assert DeltaTable(uri).verify(deep=True).ok
    vectors = [entry.name for entry in last.store.list_from("") if entry.name.endswith(".bin")]
    assert len(vectors) == 3


def test_files_of_a_commit_that_was_not_tried_are_deleted(remote, monkeypatch):
    transaction = begin(remote)
    name = stage_file(transaction)

    def fail(self, folder, start=""):
        raise LibraryError("no connection")

    with monkeypatch.context() as patch:
        patch.setattr(type(transaction.store), "list_from", fail)
        with pytest.raises(LibraryError):
            transaction.commit()
    assert not transaction.store.exists(name)
