"""VACUUM while others write: every commit of theirs is whole afterwards, and every stray file is gone."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.errors import CommitFailedError
from tests.support.vacuum import put, stored

SETTINGS = {"delta.enableDeletionVectors": "true", "delta.checkpointInterval": "5"}
RETENTION_HOURS = 60 / 3600
"""Far longer than a commit takes on a busy machine, far shorter than the strays are old."""


def test_nothing_that_others_commit_is_lost(tmp_path):
    write_deltalake(tmp_path, pa.table({"id": range(10)}), configuration=SETTINGS)
    stop = threading.Event()
    ledger: list[int] = [*range(10)]
    lock = threading.Lock()

    def append(writer: int) -> None:
        for number in range(1000 * writer, 1000 * writer + 8):
            write_deltalake(tmp_path, pa.table({"id": [number]}), mode="append")
            with lock:
                ledger.append(number)

    def delete() -> None:
        for number in range(6):
            DeltaTable(tmp_path).delete(f"id = {number}")
            with lock:
                ledger.remove(number)

    def vacuum() -> int:
        rounds = 0
        while not stop.is_set() or not rounds:
            rounds += 1
            put(tmp_path, f"stray/{rounds}", f"_change_data/{rounds}")
            try:
                DeltaTable(tmp_path).vacuum(RETENTION_HOURS, False, False, full=True)
            except CommitFailedError:
                time.sleep(0.01)  # another writer was first each time; nothing is deleted
        return rounds

    with ThreadPoolExecutor(4) as pool:
        tidying = pool.submit(vacuum)
        writing = [pool.submit(append, 1), pool.submit(append, 2), pool.submit(delete)]
        for each in writing:
            each.result()
        stop.set()
        assert tidying.result() > 0
    DeltaTable(tmp_path).vacuum(RETENTION_HOURS, False, False, full=True)
    table = DeltaTable(tmp_path)
    assert sorted(table.to_pyarrow_table()["id"].to_pylist()) == sorted(ledger)
    assert table.verify(deep=True).ok
    strays = [name for name in stored(tmp_path) if name.startswith(("stray/", "_change_data/"))]
    assert all(name.endswith("/") for name in strays), "only folders are left of them"
    for version in range(table.version() + 1):
        assert DeltaTable(tmp_path, version=version).to_pyarrow_table().num_rows > 0
