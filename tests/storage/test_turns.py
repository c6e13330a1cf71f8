"""Turns of the writers of one machine: one at a time, and never in the way of a commit."""

import fcntl
import os
import threading

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.storage import open_store
from deltaarrow.storage.turns import turn


@pytest.fixture
def store(tmp_path):
    (tmp_path / "log").mkdir()
    return open_store(tmp_path)


def is_free(path) -> bool:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    else:
        return True
    finally:
        os.close(descriptor)


def test_a_turn_begins_when_the_one_before_has_ended(store, tmp_path):
    events, begun = [], threading.Event()

    def second() -> None:
        begun.set()
        with turn(store, "log", longest_wait=60):
            events.append("second")

    other = threading.Thread(target=second)
    with turn(store, "log"):
        other.start()
        begun.wait()
        assert not is_free(tmp_path / "log")
        events.append("first")
    other.join()
    assert events == ["first", "second"]
    assert is_free(tmp_path / "log")


def test_a_turn_ends_with_its_block_though_it_fails(store, tmp_path):
    with pytest.raises(KeyboardInterrupt), turn(store, "log"):
        raise KeyboardInterrupt
    assert is_free(tmp_path / "log")


def test_a_child_forked_during_a_turn_does_not_keep_it(store, tmp_path):
    read, write = os.pipe()
    with turn(store, "log"):
        child = os.fork()
        if not child:
            os.close(write)
            os.read(read, 1)  # until the parent closes its end
            os._exit(0)
    os.close(read)
    try:
        assert is_free(tmp_path / "log")
    finally:
        os.close(write)
        os.waitpid(child, 0)


def test_nobody_waits_long_for_a_writer_that_is_stopped(store):
    with turn(store, "log"), turn(store, "log", longest_wait=0.01):
        pass


def test_a_commit_is_made_while_a_stopped_writer_has_the_turn(tmp_path):
    write_deltalake(tmp_path, pa.table({"id": [1]}))
    with turn(open_store(tmp_path), "_delta_log"):
        write_deltalake(tmp_path, pa.table({"id": [2]}), mode="append")
    assert DeltaTable(tmp_path).version() == 1


@pytest.mark.parametrize("location", ["memory://turns/t", "missing"])
def test_a_store_or_folder_without_turns_has_none(tmp_path, location):
    with turn(open_store(location if "://" in location else tmp_path / location), "_delta_log"):
        pass
