"""The contract of every writable store; the other stores refuse to write."""

import gc
import threading
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaarrow.errors import StorageError
from deltaarrow.storage import Store, open_store
from deltaarrow.storage.s3 import writing as s3_writing
from tests.support.stores import BUCKET, Place


def names(place: Place) -> list[str]:
    return sorted(entry.name for entry in place.store.list_recursive())


def test_put_if_absent(writable_place: Place) -> None:
    store = writable_place.store
    assert store.can_put_if_absent
    store.put_if_absent("_delta_log/0.json", b"first")
    with pytest.raises(FileExistsError):
        store.put_if_absent("_delta_log/0.json", b"second")
    assert store.read("_delta_log/0.json") == b"first"
    store.put_if_absent("_delta_log/empty", b"")
    with pytest.raises(FileExistsError):
        store.put_if_absent("_delta_log/empty", b"")
    assert names(writable_place) == ["_delta_log/0.json", "_delta_log/empty"]


def test_of_sixteen_writers_one_wins(writable_place: Place) -> None:
    store = writable_place.store
    barrier = threading.Barrier(16)

    def commit(writer: int, version: int) -> bool:
        barrier.wait()
        try:
            store.put_if_absent(f"_delta_log/{version}.json", bytes([writer]) * 5000)
        except FileExistsError:
            return False
        return True

    with ThreadPoolExecutor(16) as pool:
        for version in range(10):
            won = list(pool.map(commit, range(16), [version] * 16))
            assert won.count(True) == 1
            assert store.read(f"_delta_log/{version}.json") == bytes([won.index(True)]) * 5000
    assert len(names(writable_place)) == 10


def test_a_reader_never_sees_half_a_commit(writable_place: Place) -> None:
    store = writable_place.store
    data = b"x" * 300_000
    stop = threading.Event()
    torn = []

    def watch() -> None:
        while not stop.is_set():
            found = store.list_from("_delta_log", "0")
            # An empty file of such a name finds out what the store can do; it is no file of the log.
            files = (entry for entry in found if "/_put_if_absent_" not in entry.name)
            torn.extend(entry for entry in files if entry.size != len(data))

    watcher = threading.Thread(target=watch)
    watcher.start()
    for version in range(40):
        store.put_if_absent(f"_delta_log/{version}.json", data)
        store.write("_delta_log/_last_checkpoint", data)
    stop.set()
    watcher.join()
    assert not torn


def test_write_replaces(writable_place: Place) -> None:
    store = writable_place.store
    store.write("d/f", b"one")
    store.write("d/f", b"two, and longer")
    assert store.read("d/f") == b"two, and longer"
    store.write("d/f", b"")
    assert store.read("d/f") == b""
    assert names(writable_place) == ["d/f"]


def test_delete(writable_place: Place) -> None:
    store = writable_place.store
    store.write("d/f", b"1")
    store.delete("d/f")
    store.delete("d/f")
    store.delete("nothing/at/all")
    assert not store.exists("d/f")
    store.put_if_absent("d/f", b"2")
    assert store.read("d/f") == b"2"


def test_an_output_appears_when_its_block_ends(writable_place: Place) -> None:
    store = writable_place.store
    table = pa.table({"a": pa.array(range(10_000))})
    with store.open_output("p=1/f.parquet") as output:
        with pq.ParquetWriter(output, table.schema) as writer:
            writer.write_table(table)
        assert output.tell() > 0
        assert not store.exists("p=1/f.parquet")
    assert output.closed
    path, filesystem = store.arrow_path("p=1/f.parquet"), store.arrow_filesystem()
    assert pq.read_table(path, filesystem=filesystem, partitioning=None) == table
    assert names(writable_place) == ["p=1/f.parquet"]


def test_an_output_without_a_block_appears_when_it_is_closed(writable_place: Place) -> None:
    output = writable_place.store.open_output("f")
    assert output.write(b"abc") == 3
    assert output.write(memoryview(b"de")) == 2
    output.flush()
    assert not writable_place.store.exists("f")
    output.close()
    output.close()
    assert writable_place.store.read("f") == b"abcde"
    with pytest.raises(ValueError, match="closed"):
        output.write(b"f")


def test_an_output_whose_block_fails_leaves_nothing(writable_place: Place) -> None:
    with pytest.raises(KeyboardInterrupt), writable_place.store.open_output("d/f") as output:
        output.write(b"half")
        raise KeyboardInterrupt
    assert names(writable_place) == []


def test_an_output_that_a_library_closed_leaves_nothing_when_the_block_fails(writable_place: Place) -> None:
    with pytest.raises(RuntimeError), writable_place.store.open_output("d/f") as output:
        output.write(b"all")
        output.close()
        raise RuntimeError
    assert names(writable_place) == []


def test_a_discarded_output_leaves_nothing(writable_place: Place) -> None:
    output = writable_place.store.open_output("d/f")
    output.write(b"half")
    output.discard()
    output.close()
    assert names(writable_place) == []


def test_a_forgotten_output_leaves_nothing(writable_place: Place) -> None:
    writable_place.store.open_output("d/f").write(b"half")
    gc.collect()
    assert names(writable_place) == []


def test_an_output_does_not_replace_a_file(writable_place: Place) -> None:
    writable_place.store.write("f", b"old")
    with pytest.raises(FileExistsError), writable_place.store.open_output("f") as output:
        output.write(b"new")
    assert writable_place.store.read("f") == b"old"
    assert names(writable_place) == ["f"]


def test_nothing_is_written_outside_the_root(writable_place: Place) -> None:
    store = writable_place.store
    for use in (store.put_if_absent, store.write):
        with pytest.raises(StorageError, match="leaves the folder"):
            use("../f", b"")
    for use in (store.delete, store.open_output):
        with pytest.raises(StorageError, match="leaves the folder"):
            use("../f")


def ensure_refused(store: Store) -> None:
    assert not store.can_put_if_absent
    for use in (
        lambda: store.put_if_absent("f", b""),
        lambda: store.write("f", b""),
        lambda: store.delete("f"),
        lambda: store.open_output("f"),
    ):
        with pytest.raises(StorageError, match="has no proven way"):
            use()


def test_a_store_without_a_proven_put_if_absent_refuses_to_write(tmp_path) -> None:
    ensure_refused(open_store(f"local://{tmp_path}/t"))


def test_an_s3_server_that_ignores_conditions_is_not_written_to(s3_options, monkeypatch) -> None:
    # Another spelling of the server, so that no earlier proof is there.
    options = s3_options | {
        "AWS_ENDPOINT_URL": s3_options["AWS_ENDPOINT_URL"].replace("127.0.0.1", "localhost")
    }
    store = open_store(f"s3://{BUCKET}/unsafe", options)
    real = s3_writing._call_once

    def ignore_conditions(filesystem, method, request):
        request.pop("IfNoneMatch", None)
        return real(filesystem, method, request)

    monkeypatch.setattr(s3_writing, "_call_once", ignore_conditions)
    ensure_refused(store)
    assert list(store.list_recursive()) == []


def test_a_conflict_of_conditional_puts_is_tried_again(s3_options, monkeypatch) -> None:
    import botocore.exceptions

    store = open_store(f"s3://{BUCKET}/conflict", s3_options)
    assert store.can_put_if_absent
    real, answers = s3_writing._call_once, ["ConditionalRequestConflict", "ConditionalRequestConflict"]

    def conflict_first(filesystem, method, request):
        if method == "put_object" and answers:
            code = answers.pop()
            cause = botocore.exceptions.ClientError({"Error": {"Code": code}}, "PutObject")
            raise OSError(5, code) from cause
        return real(filesystem, method, request)

    monkeypatch.setattr(s3_writing, "_call_once", conflict_first)
    store.put_if_absent("f", b"once")
    assert answers == []
    assert store.read("f") == b"once"
