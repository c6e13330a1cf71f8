"""Data files of a write whose commit fails."""

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.errors import CommitStateUnknownError, StorageError
from deltaarrow.storage import open_store

ROWS = pa.table({"id": [1, 2], "p": ["a b", "c%"]})


def data_files(path) -> set[str]:
    return {file.name for file in path.rglob("*.parquet")}


def on_put(monkeypatch, path, function) -> None:
    """Let `function` put commits, which is given the way to do it."""
    store_type = type(open_store(path))
    real = store_type.put_if_absent
    monkeypatch.setattr(
        store_type,
        "put_if_absent",
        lambda self, name, data: function(self, lambda: real(self, name, data)),
    )


@pytest.mark.parametrize("mode", ["append", "overwrite"])
@pytest.mark.parametrize("exists", [False, True])
@pytest.mark.parametrize("error", [OSError("disk full"), StorageError("no hard links")])
def test_files_of_a_put_that_failed_are_deleted_again(tmp_path, monkeypatch, mode, exists, error):
    if exists:
        write_deltalake(tmp_path, ROWS, partition_by="p")
    before = data_files(tmp_path)

    def fail(store, put):
        raise error

    on_put(monkeypatch, tmp_path, fail)
    with pytest.raises(type(error), match=str(error)):
        write_deltalake(tmp_path, ROWS, mode=mode, partition_by="p")
    assert data_files(tmp_path) == before


def test_files_stay_where_the_put_took_place_and_could_not_be_looked_at(tmp_path, monkeypatch):
    write_deltalake(tmp_path, ROWS, partition_by="p")

    def put_and_lose_the_connection(store, put):
        put()
        # Only the first look fails: whoever asks again later finds the commit.
        real = type(store).read

        def fail_once(self, name):
            monkeypatch.setattr(type(store), "read", real)
            raise OSError("connection lost")

        monkeypatch.setattr(type(store), "read", fail_once)
        raise OSError("connection lost")

    on_put(monkeypatch, tmp_path, put_and_lose_the_connection)
    with pytest.raises(CommitStateUnknownError, match="connection lost"):
        write_deltalake(tmp_path, ROWS, mode="append")
    monkeypatch.undo()
    assert DeltaTable(tmp_path).version() == 1
    assert DeltaTable(tmp_path).to_pyarrow_table().num_rows == 4


def test_files_stay_where_the_put_took_place_but_may_not_last(tmp_path, monkeypatch):
    def put_and_fail_to_sync(store, put):
        put()
        raise StorageError("may not survive")

    on_put(monkeypatch, tmp_path, put_and_fail_to_sync)
    with pytest.raises(CommitStateUnknownError, match="may not survive"):
        write_deltalake(tmp_path, ROWS)
    assert DeltaTable(tmp_path).to_pyarrow_table().num_rows == 2


def test_files_stay_where_the_log_cannot_be_read(tmp_path, monkeypatch):
    def put_and_lose_the_connection(store, put):
        put()

        def fail(self, name):
            raise OSError("connection lost")

        monkeypatch.setattr(type(store), "exists", fail)
        monkeypatch.setattr(type(store), "read", fail)
        raise OSError("connection lost")

    on_put(monkeypatch, tmp_path, put_and_lose_the_connection)
    with pytest.raises(CommitStateUnknownError, match="connection lost"):
        write_deltalake(tmp_path, ROWS)
    monkeypatch.undo()
    assert DeltaTable(tmp_path).to_pyarrow_table().num_rows == 2


def test_files_stay_after_an_interrupt(tmp_path, monkeypatch):
    def put_and_interrupt(store, put):
        put()
        raise KeyboardInterrupt

    on_put(monkeypatch, tmp_path, put_and_interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_deltalake(tmp_path, ROWS)
    assert DeltaTable(tmp_path).to_pyarrow_table().num_rows == 2
