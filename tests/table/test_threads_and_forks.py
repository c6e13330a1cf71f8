import multiprocessing
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import deltaarrow as da
from deltaarrow.runtime.fork_safety import Lock, cached_property
from tests.support.stores import BUCKET, fork, s3_options

__all__ = ["s3_options"]


@pytest.fixture
def table(tmp_path):
    da.write_deltalake(
        tmp_path, pa.table({"id": range(1000), "p": [i % 3 for i in range(1000)]}), partition_by=["p"]
    )
    da.write_deltalake(tmp_path, pa.table({"id": [5000], "p": [1]}), mode="append")
    table = da.DeltaTable(tmp_path)
    table.create_checkpoint()
    return da.DeltaTable(tmp_path)


def read_all(table: da.DeltaTable) -> tuple[int, int, int]:
    con = duckdb.connect()
    da.register(con, "t", table)
    (by_duckdb,) = con.sql("SELECT sum(id)::BIGINT FROM t").fetchall()[0]
    by_polars = da.scan_delta(table).select("id").sum().collect().item()
    by_arrow = pa.compute.sum(table.to_pyarrow_table(filters=[("p", ">=", 0)])["id"]).as_py()
    return by_duckdb, by_polars, by_arrow


EXPECTED = (sum(range(1000)) + 5000,) * 3


def test_one_table_is_read_by_many_threads(table):
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda _: read_all(table), range(16))) == [EXPECTED] * 16


@pytest.fixture
def readers(table):
    """Four threads of this process that go on reading, a table that all of them share and new ones."""
    ended = threading.Event()

    def read() -> None:
        while not ended.is_set():
            assert _read_as_a_child_may(table) == _read_as_a_child_may(da.DeltaTable(table.table_uri))

    with ThreadPoolExecutor(4) as pool:
        reading = [pool.submit(read) for _ in range(4)]
        yield
        ended.set()
        for each in reading:
            each.result()


def _read_as_a_child_may(table: da.DeltaTable) -> tuple[int, int, int]:
    """As `read_all`, without Polars, whose threads a child does not have."""
    con = da.connect().register("t", table)
    (by_duckdb,) = con.sql("SELECT sum(id)::BIGINT FROM t").fetchall()[0]
    by_arrow = pa.compute.sum(table.to_pyarrow_table(filters=[("p", ">=", 0)])["id"]).as_py()
    return by_duckdb, by_arrow, table.count()


on_unix = pytest.mark.skipif(sys.platform == "win32", reason="no fork on this platform")


@on_unix
@pytest.mark.parametrize("children", [5, pytest.param(50, marks=pytest.mark.slow)])
def test_children_read_while_the_threads_of_their_parent_do(table, readers, children):
    def read() -> list[tuple[int, int, int]]:
        return [_read_as_a_child_may(each) for each in (table, da.DeltaTable(table.table_uri))]

    for _ in range(children):
        assert fork(read) == [(*EXPECTED[:2], 1001)] * 2


@on_unix
def test_a_lock_that_another_thread_holds_is_free_in_a_child():
    lock, held, ended = Lock(), threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            ended.wait()

    def take() -> str:
        with lock:
            return "taken"

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait()
    assert fork(take) == "taken"
    ended.set()
    holder.join()


def test_all_threads_get_the_same_value_of_a_cached_property():
    begun = threading.Barrier(4)

    class Holder:
        @cached_property
        def value(self) -> object:
            begun.wait()
            return object()

    holder = Holder()
    with ThreadPoolExecutor(4) as pool:
        found = set(pool.map(lambda _: holder.value, range(4)))
    assert found == {holder.value}


@on_unix
def test_a_dataset_of_an_object_store_is_read_on_after_a_fork(s3_options):
    uri = f"s3://{BUCKET}/read-on-after-a-fork"
    da.write_deltalake(uri, pa.table({"id": range(1000)}), mode="overwrite", storage_options=s3_options)
    dataset = da.DeltaTable(uri, storage_options=s3_options).to_pyarrow_dataset()
    assert dataset.to_table().num_rows == 1000
    assert fork(lambda: dataset.to_table().num_rows) == 1000


@on_unix
def test_a_connection_of_the_parent_is_refused_by_name_in_a_child(table):
    con = da.connect().register("t", table)

    def use_it_and_another() -> tuple[str, int]:
        nonlocal con
        with pytest.raises(da.DeltaError) as caught:
            con.sql("SELECT count(*) FROM t")
        con = da.connect().register("t", table)  # the inherited one is let go of
        return str(caught.value), con.sql("SELECT count(*) FROM t").fetchall()[0][0]

    message, rows = fork(use_it_and_another)
    assert "before a fork: open another with deltaarrow.connect()" in message
    assert rows == con.sql("SELECT count(*) FROM t").fetchall()[0][0] == 1001


def _read_arrow(table: da.DeltaTable, answers) -> None:
    total = pa.compute.sum(table.to_pyarrow_table(filters=[("p", ">=", 0)])["id"]).as_py()
    answers.put((table.count(), total))


@on_unix
def test_a_table_is_read_after_a_fork(table):
    assert table.count() == 1001  # the private databases of this process are in use
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    process = context.Process(target=_read_arrow, args=(table, answers))
    process.start()
    process.join(60)
    assert process.exitcode == 0
    assert answers.get() == (1001, EXPECTED[0])


def _count(readable) -> int:
    if isinstance(readable, da.DeltaTable):
        return readable.count()
    if isinstance(readable, pl.LazyFrame):
        return readable.select("id").collect().height
    return readable.to_table().num_rows


def test_tables_datasets_and_lazy_frames_go_to_processes_that_are_spawned(table):
    dataset = table.to_pyarrow_dataset()
    readables = [table, dataset, dataset.filter(pc.field("id") < 10), da.scan_delta(table)]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(_count, readables) == [1001, 1001, 10, 1001]
