"""Whole tables on stores other than local folders."""

from concurrent.futures import ThreadPoolExecutor

import duckdb
import pyarrow as pa
import pytest

import deltaarrow as da
from tests.support.stores import BUCKET, raw_s3, s3_options
from tests.support.tables import TableBuilder

__all__ = ["s3_options"]


@pytest.fixture
def local(tmp_path):
    """A table with partitions, a deletion vector, a checkpoint with sidecars and a commit after it."""
    table = TableBuilder(tmp_path).features("deletionVectors", "v2Checkpoint")
    table.metadata(pa.schema([("id", pa.int64()), ("p", pa.string())]), ["p"])
    first = table.add_file(pa.table({"id": [1, 2, 3]}), {"p": "a b"}, name="p=a b/first.parquet")
    first["add"]["path"] = "p=a%20b/first.parquet"
    table.commit([first]).commit(table.with_deletion_vector(first, table.deletion_vector([1])))
    table.checkpoint(kind="v2-json", sidecars=1)
    table.commit([table.add_file(pa.table({"id": [4]}), {"p": None})])
    return tmp_path


EXPECTED = [{"id": 1, "p": "a b"}, {"id": 3, "p": "a b"}, {"id": 4, "p": None}]


def test_a_table_on_s3_is_read_by_every_engine(local, s3_options):
    raw_s3(s3_options).put(f"{local}/", f"{BUCKET}/remote", recursive=True)
    table = da.DeltaTable(f"s3://{BUCKET}/remote", storage_options=s3_options)
    assert table.version() == 2
    assert table.count() == 3
    assert sorted(table.to_pyarrow_table().to_pylist(), key=lambda row: row["id"]) == EXPECTED
    con = duckdb.connect()
    da.register(con, "t", table)
    assert con.sql("SELECT * FROM t ORDER BY id").to_arrow_table().to_pylist() == EXPECTED
    assert da.scan_delta(table).sort("id").collect().to_dicts() == EXPECTED
    assert table.file_uris()[0].startswith(f"s3://{BUCKET}/remote/")


def test_a_table_on_s3_is_written_and_read_again(s3_options):
    uri = f"s3://{BUCKET}/written"
    rows = pa.table({"id": pa.array(range(1000), pa.int64()), "day": ["a", "b"] * 500})
    properties = {"delta.enableDeletionVectors": "true", "delta.checkpointInterval": "2"}
    da.write_deltalake(uri, rows, partition_by="day", configuration=properties, storage_options=s3_options)
    for i in range(3):
        more = pa.table({"id": pa.array([1000 + i], pa.int64()), "day": ["b"]})
        da.write_deltalake(uri, more, mode="append", storage_options=s3_options)
    da.write_deltalake(
        uri, rows.slice(0, 0), mode="overwrite", predicate="id < 500", storage_options=s3_options
    )
    table = da.DeltaTable(uri, storage_options=s3_options)
    assert table.version() == 4
    assert sorted(table.to_pyarrow_table()["id"].to_pylist()) == list(range(500, 1003))
    assert table.snapshot.segment.checkpoint is not None
    names = [entry.name for entry in table.snapshot.store.list_recursive()]
    assert [name for name in names if "put_if_absent" in name] == []


def test_appends_of_many_threads_to_s3_are_all_there_once(s3_options):
    uri = f"s3://{BUCKET}/threads"
    da.write_deltalake(uri, pa.table({"id": pa.array([], pa.int64())}), storage_options=s3_options)

    def append(writer: int) -> None:
        for i in range(3):
            data = pa.table({"id": pa.array([writer * 10 + i], pa.int64())})
            da.write_deltalake(uri, data, mode="append", storage_options=s3_options)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(append, range(4)))
    table = da.DeltaTable(uri, storage_options=s3_options)
    assert table.version() == 12
    expected = sorted(writer * 10 + i for writer in range(4) for i in range(3))
    assert sorted(table.to_pyarrow_table()["id"].to_pylist()) == expected


def test_an_upload_that_fails_midway_leaves_nothing(s3_options):
    uri = f"s3://{BUCKET}/failing"

    def batches():
        yield pa.record_batch({"id": pa.array(range(1000), pa.int64())})
        raise RuntimeError("the source is gone")

    with pytest.raises(RuntimeError, match="the source is gone"):
        da.write_deltalake(uri, batches(), storage_options=s3_options)
    assert not raw_s3(s3_options).exists(uri)


def test_a_table_in_memory_is_written_and_read_by_every_engine():
    uri = "memory://tables/orders"
    for ids in ([1, 2], [3]):
        da.write_deltalake(
            uri, pa.table({"id": ids, "p": ["a"] * len(ids)}), mode="append", partition_by=["p"]
        )
    table = da.DeltaTable(uri)
    table.create_checkpoint()
    table = da.DeltaTable(uri)
    assert sorted(table.to_pyarrow_table()["id"].to_pylist()) == [1, 2, 3]
    con = duckdb.connect()
    da.register(con, "t", table)
    assert con.sql("SELECT sum(id) FROM t WHERE p = 'a'").fetchall() == [(6,)]
    assert da.scan_delta(uri).select("id").sum().collect().item() == 6
