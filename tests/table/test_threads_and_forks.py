import multiprocessing
import sys
from concurrent.futures import ThreadPoolExecutor

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import deltaarrow as da


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


def _read_arrow(table: da.DeltaTable, answers) -> None:
    total = pa.compute.sum(table.to_pyarrow_table(filters=[("p", ">=", 0)])["id"]).as_py()
    answers.put((table.count(), total))


@pytest.mark.skipif(sys.platform == "win32", reason="no fork on this platform")
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
