"""DuckDB's substitute for an fsspec file system: right bytes in threads, few requests."""

import collections
import io
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import duckdb
import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaarrow import DeltaTable, WriterProperties, write_deltalake
from deltaarrow.compute import files_cursor, quote_file
from deltaarrow.compute.filesystem import RangeReader, filesystem_for_duckdb
from deltaarrow.engines import register
from deltaarrow.storage import open_store
from deltaarrow.storage.memory import memory_filesystem
from tests.support.stores import BUCKET, raw_s3


@pytest.fixture
def numbers() -> RangeReader:
    """A file whose every four bytes are their own position."""
    filesystem = fsspec.filesystem("memory")
    filesystem.pipe_file("/compute/numbers", np.arange(0, 400_000, 4, dtype=np.uint32).tobytes())
    return RangeReader(lambda begin, end: filesystem.cat_file("/compute/numbers", begin, end))


def number(data: bytes) -> int:
    return int.from_bytes(data, "little")


def test_threads_that_seek_and_read_do_not_meet(numbers: RangeReader) -> None:
    def check(seed: int) -> bool:
        positions = np.random.default_rng(seed).integers(0, 100_000, 1000) * 4
        for position in positions.tolist():
            numbers.seek(position)
            if number(numbers.read(4)) != position:
                return False
        return True

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(check, range(8)))
    finally:
        sys.setswitchinterval(before)


def test_reading_on_from_one_thread_to_the_next(numbers: RangeReader) -> None:
    def elsewhere(call) -> int:
        result = []
        thread = threading.Thread(target=lambda: result.append(call()))
        thread.start()
        thread.join()
        return result[0]

    assert number(numbers.read(4)) == 0
    numbers.seek(40)
    assert number(elsewhere(lambda: numbers.read(4))) == 40
    assert number(numbers.read(4)) == 44
    assert number(elsewhere(lambda: numbers.read(4))) == 48
    assert numbers.tell() == 52
    assert numbers.read(0) == b""


def test_the_end_of_a_file(numbers: RangeReader) -> None:
    numbers.seek(399_996)
    assert number(numbers.read(100)) == 399_996
    assert numbers.read(4) == b""
    numbers.seek(399_992)
    assert len(numbers.read()) == 8


def test_a_big_file_read_by_many_threads() -> None:
    """fsspec's own files give wrong bytes here."""
    values = np.arange(2_000_000)
    sink = io.BytesIO()
    pq.write_table(pa.table({"a": values, "b": values * 2}), sink, row_group_size=20_000)
    store = open_store("memory://compute/big")
    store.write("f.parquet", sink.getvalue())
    for _ in range(3):
        with files_cursor(store) as cursor:
            cursor.execute("SET threads = 8")
            sql = "SELECT count(*), sum(a), count(*) FILTER (b <> 2 * a) FROM "
            row = cursor.execute(sql + f"read_parquet({quote_file(store.location('f.parquet'))})").fetchone()
            cursor.execute("RESET threads")
        assert row == (len(values), values.sum(), 0)


class _SlowFile(io.BytesIO):
    """Lets other threads run after each step, as a file of an object store does."""

    def seek(self, *arguments: int) -> int:
        position = super().seek(*arguments)
        time.sleep(0.0003)
        return position

    def read(self, *arguments: int | None) -> bytes:
        time.sleep(0.0003)
        return super().read(*arguments)


def test_threads_of_a_view_do_not_meet(monkeypatch) -> None:
    uri, numbers = "memory://compute/view", np.arange(200_000)
    rows, properties = pa.table({"a": numbers, "b": numbers * 2}), WriterProperties(max_row_group_size=5_000)
    write_deltalake(uri, rows, writer_properties=properties)
    memory, real = type(memory_filesystem()), memory_filesystem()._open
    monkeypatch.setattr(memory, "_open", lambda self, *a, **options: _SlowFile(real(*a, **options).read()))
    with duckdb.connect() as connection:
        connection.execute("SET threads = 8")
        register(connection, "t", DeltaTable(uri), native=True)
        sql = "SELECT count(*), sum(a), count(*) FILTER (b <> 2 * a) FROM t"
        assert connection.execute(sql).fetchone() == (len(numbers), numbers.sum(), 0)


def test_requests_to_an_object_store(s3_options: dict[str, str], monkeypatch) -> None:
    sink = io.BytesIO()
    pq.write_table(pa.table({name: np.random.default_rng(1).random(100_000) for name in "abcd"}), sink)
    raw = raw_s3(s3_options)
    for part in range(20):
        raw.pipe_file(f"{BUCKET}/few/{part}.parquet", sink.getvalue())
    store = open_store(f"s3://{BUCKET}/few", s3_options)
    filesystem = store.fsspec_filesystem()
    requests: collections.Counter[str] = collections.Counter()
    received = []
    real = filesystem._call_s3

    async def call(method, *args, **kwargs):
        answer = await real(method, *args, **kwargs)
        requests[method] += 1
        received.append(answer.get("ContentLength", 0) if method == "get_object" else 0)
        return answer

    monkeypatch.setattr(type(filesystem), "_call_s3", lambda self, method, *a, **k: call(method, *a, **k))
    files = ", ".join(quote_file(store.location(f"{part}.parquet")) for part in range(20))
    with files_cursor(store) as cursor:
        sql = f"SELECT count(a) FROM read_parquet([{files}], file_row_number=true) WHERE file_index = 3"
        assert cursor.execute(sql).fetchone() == (100_000,)
    assert requests["list_objects_v2"] == 0
    assert requests["head_object"] <= 4, "files that are not read are not looked up"
    assert sum(received) < len(sink.getvalue()) * 0.6, "one column of four is fetched"


def test_files_that_are_written_or_missing() -> None:
    filesystem = filesystem_for_duckdb(open_store("memory://compute"))
    with filesystem.open("memory://compute/w", "wb") as file:
        file.write(b"1234")
    assert filesystem.size("memory://compute/w") == 4
    assert filesystem.glob("memory://compute/[w]") == ["/compute/w"]
    with pytest.raises(FileNotFoundError):
        filesystem.open("memory://compute/none")
    for number in range(1100):
        filesystem.open("memory://compute/w" + "/" * (number % 2))
        filesystem._opened[str(number)] = {}
    assert filesystem.modified("memory://compute/w").tzinfo is not None
