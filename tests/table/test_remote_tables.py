"""A whole table on stores that are not folders of this machine."""

import duckdb
import pyarrow as pa
import pytest

import deltaarrow as da
from deltaarrow.errors import StorageError
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


def test_writing_to_s3_is_refused_before_anything_is_written(s3_options):
    with pytest.raises(StorageError, match="s3"):
        da.write_deltalake(f"s3://{BUCKET}/new", pa.table({"id": [1]}), storage_options=s3_options)
    assert not raw_s3(s3_options).exists(f"{BUCKET}/new")


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
