"""The cache on disk: what it keeps, what it never keeps, its limit, and damage to it."""

import concurrent.futures
import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import deltaarrow as da
from deltaarrow.errors import StorageError
from deltaarrow.storage import open_store
from deltaarrow.storage.disk_cache import BLOCK_BYTES, DiskCache
from tests.support.stores import BUCKET

UUID = "6f2c9a0e-0f3b-4f4e-9c2f-1c5d4e3b2a10"
NAME = f"part-00000-{UUID}-c000.snappy.parquet"


@pytest.fixture
def cache(tmp_path):
    """The options of a cache of its own."""
    return {"cache_folder": str(tmp_path / "cache")}


def blocks(cache: dict[str, str]) -> list[Path]:
    return list(Path(cache["cache_folder"]).glob("*/*"))


def gets(store) -> int:
    return store.io_stats().gets


def test_ranges_are_those_of_the_file(cache, tmp_path) -> None:
    root = f"memory://{tmp_path.name}/ranges"
    data = os.urandom(3 * BLOCK_BYTES + 1000)
    open_store(root).write(NAME, data)
    store = open_store(root, cache)
    ranges = [(0, 10), (BLOCK_BYTES - 5, 10), (5, 3 * BLOCK_BYTES), (3 * BLOCK_BYTES + 990, 100)]
    for _ in range(2):
        for offset, length in ranges:
            assert store.read_range(NAME, offset, length) == data[offset : offset + length]
        assert store.read_range(NAME, len(data) + 7, 5) == b""
        assert store.read_range(NAME, 4 * BLOCK_BYTES + 7, 5) == b""
    assert len(blocks(cache)) == 5, "four blocks and the details"


def test_a_second_reader_makes_no_request_for_data(cache, s3_options) -> None:
    uri = f"s3://{BUCKET}/cached"
    rows = pa.table({"id": range(50_000), "text": [f"row {number}" for number in range(50_000)]})
    da.write_deltalake(uri, rows, storage_options=s3_options)
    plain = da.DeltaTable(uri, storage_options=s3_options)
    expected = plain.to_pyarrow_table().sort_by("id")
    table = da.DeltaTable(uri, storage_options=s3_options | cache)
    assert table.to_pyarrow_table().sort_by("id") == expected
    before = table.io_stats()
    again = da.DeltaTable(uri, storage_options=s3_options | cache)
    assert again.to_pyarrow_table().sort_by("id") == expected
    with duckdb.connect() as connection:
        da.register(connection, "t", again)
        assert connection.sql("SELECT sum(id), max(text) FROM t").fetchall() == [(1249975000, "row 9999")]
    assert again.to_polars().collect()["id"].sum() == 1249975000
    after = again.io_stats()
    log = open_store(uri, s3_options)
    log_bytes = sum(len(log.read(each.name)) for each in log.list_from("_delta_log"))
    assert after.heads == before.heads, "nothing is asked about a file that is kept"
    assert after.received_bytes - before.received_bytes <= 3 * log_bytes, "only the log is read again"
    assert not any("secret" in path.read_bytes().decode("latin-1") for path in blocks(cache))


def test_names_that_may_be_written_twice_are_not_kept(cache, tmp_path) -> None:
    root = f"memory://{tmp_path.name}/names"
    store = open_store(root, cache)
    for name in ("_delta_log/00000000000000000000.json", "part-00000.parquet", f"{UUID}/part.parquet"):
        store.write(name, b"old")
        assert store.read_range(name, 0, 10) == b"old"
        store.write(name, b"new")
        assert store.read_range(name, 0, 10) == b"new" == store.read(name)
    assert blocks(cache) == []


def test_a_table_that_is_made_anew_at_a_place_is_read_anew(cache, tmp_path) -> None:
    root = f"memory://{tmp_path.name}/anew"
    for value in (1, 2):
        da.write_deltalake(root, pa.table({"id": [value]}))
        read = da.DeltaTable(root, storage_options=cache).to_pyarrow_table()
        assert read["id"].to_pylist() == [value]
        open_store(root).delete_folder("")
        filesystem = open_store(root).fsspec_filesystem()
        filesystem.rm(open_store(root).arrow_path(""), recursive=True)


def test_a_damaged_block_is_fetched_again(cache, tmp_path) -> None:
    root = f"memory://{tmp_path.name}/damaged"
    data = os.urandom(BLOCK_BYTES + 10)
    open_store(root).write(NAME, data)
    store = open_store(root, cache)
    assert store.read_range(NAME, 0, len(data)) == data
    for path in blocks(cache):
        kept = bytearray(path.read_bytes())
        kept[len(kept) // 2] ^= 1
        path.write_bytes(bytes(kept))
    assert store.read_range(NAME, 0, len(data)) == data
    for path in blocks(cache):
        path.write_bytes(b"")
    assert store.read_range(NAME, 0, len(data)) == data


def test_a_short_answer_is_not_kept(cache, tmp_path, monkeypatch) -> None:
    root = f"memory://{tmp_path.name}/short"
    data = os.urandom(BLOCK_BYTES)
    open_store(root).write(NAME, data)
    store = open_store(root, cache)
    filesystem = store.fsspec_filesystem()
    whole = filesystem.cat_file
    with monkeypatch.context() as patch:
        patch.setattr(filesystem, "cat_file", lambda *place, **range_: whole(*place, **range_)[:100])
        assert len(store.read_range(NAME, 0, 200)) == 100
    assert store.read_range(NAME, 0, 200) == data[:200]


def test_the_blocks_used_longest_ago_go_first(tmp_path) -> None:
    cache = DiskCache(str(tmp_path), 11 * BLOCK_BYTES)
    block = bytes(BLOCK_BYTES)
    for number in range(10):
        cache.put("file", number, block)
        for path in tmp_path.glob(f"*/*-{number}"):
            os.utime(path, (1000 + number, 1000 + number))
    assert cache.get("file", 0) == block, "this use makes it the last to go"
    for number in range(10, 15):
        cache.put("file", number, block)
    size = sum(path.stat().st_size for path in tmp_path.glob("*/*"))
    assert size <= 12 * BLOCK_BYTES
    assert cache.get("file", 0) == block and cache.get("file", 1) is None
    assert cache.get("file", 14) == block


def test_threads_and_processes_share_a_folder(cache, tmp_path) -> None:
    cache["cache_bytes"] = str(4 * BLOCK_BYTES)
    root = f"memory://{tmp_path.name}/shared"
    data = os.urandom(12 * BLOCK_BYTES)
    open_store(root).write(NAME, data)

    def read(number: int) -> bool:
        offset = (number * 100_003) % len(data)
        return open_store(root, cache).read_range(NAME, offset, 300_000) == data[offset : offset + 300_000]

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert all(pool.map(read, range(100)))
    code = (
        "import sys; from deltaarrow.storage.disk_cache import DiskCache\n"
        "c = DiskCache(sys.argv[1], 1 << 20)\n"
        "for n in range(60): c.put('f', n % 9, bytes([n % 9]) * 300000)\n"
        "for n in range(9): assert c.get('f', n) in (None, bytes([n]) * 300000)"
    )
    several = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "two")]) for _ in range(2)]
    assert [each.wait(60) for each in several] == [0, 0]


def test_a_full_disk_and_a_folder_that_cannot_be_made(tmp_path, monkeypatch) -> None:
    cache = DiskCache(str(tmp_path / "full"), 1000)
    (tmp_path / "full").chmod(0o500)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", full)
        cache.put("file", 0, b"data")
    assert cache.get("file", 0) is None
    assert list((tmp_path / "full").glob("*/*")) == [], "nothing is left half written"
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="cannot create the cache folder"):
        open_store("memory://x/t", {"cache_folder": str(tmp_path / "file" / "below")})


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"cache_bytes": 1000}, "cache_folder must name a local folder"),
        ({"cache_folder": ""}, "cache_folder must name a local folder"),
        ({"cache_folder": "/tmp", "cache_bytes": "many"}, "'cache_bytes' must be a number"),
    ],
)
def test_options_that_say_nothing_are_refused(options, said) -> None:
    with pytest.raises(StorageError, match=said):
        open_store("memory://x/t", options)
