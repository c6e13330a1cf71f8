"""What a scan asks an object store for, and how many bytes of the objects it holds at a time."""

import gc
import threading
import uuid
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import deltaarrow as da
from deltaarrow.storage.s3.requests import S3Service
from tests.support.faulty_server import faulty_server
from tests.support.stores import BUCKET


def ids_in_arrow(uri: str, options: dict[str, Any]) -> int:
    return da.DeltaTable(uri, storage_options=options).to_pyarrow_table().num_rows


def ids_in_duckdb(uri: str, options: dict[str, Any]) -> int:
    with da.connect(storage_options=options) as lake:
        [(found,)] = lake.sql(f"SELECT count(id) FROM delta.'{uri}'").fetchall()
        return found


def ids_in_polars(uri: str, options: dict[str, Any]) -> int:
    return da.scan_delta(uri, storage_options=options).select("id").collect().height


@pytest.mark.feature("deletionVectors")
@pytest.mark.parametrize("scan", [ids_in_arrow, ids_in_duckdb, ids_in_polars])
def test_a_scan_reads_all_vectors_of_a_file_by_one_request(s3_options, scan) -> None:
    uri, files = f"s3://{BUCKET}/{uuid.uuid4()}", 12
    ids = range(files * 10)
    da.write_deltalake(
        uri,
        pa.table({"id": ids, "part": [number % files for number in ids]}),
        partition_by=["part"],
        configuration={"delta.enableDeletionVectors": "true"},
        storage_options=s3_options,
    )
    table = da.DeltaTable(uri, storage_options=s3_options)
    table.delete(f"id < {files}")
    with faulty_server(s3_options) as server:
        assert scan(uri, server.options) == files * 9
        read = Counter(each.key.rpartition(".")[2] for each in server.requests if each.method == "GET")
    assert read["bin"] == 1
    assert read["parquet"] >= files, "each file has a vector"


FILES, FILE_ROWS = 60, 90_000


class Held(bytes):
    """Bytes of an answer; it counts those that somebody still has."""

    now = most = total = 0
    lock = threading.RLock()

    def __init__(self, data: bytes) -> None:
        with Held.lock:
            Held.now += len(self)
            Held.total += len(self)
            Held.most = max(Held.most, Held.now)

    def __del__(self) -> None:
        with Held.lock:
            Held.now -= len(self)


@pytest.fixture(scope="module")
def large(s3_options) -> str:
    """A table of random numbers, whose files of 700 KB are too large to be kept whole."""
    uri, chance = f"s3://{BUCKET}/{uuid.uuid4()}", np.random.default_rng(0)
    rows = pa.table(
        {
            "x": chance.integers(0, 1 << 62, FILES * FILE_ROWS),
            "part": np.repeat(np.arange(FILES), FILE_ROWS),
        }
    )
    da.write_deltalake(uri, rows, partition_by=["part"], storage_options=s3_options)
    return uri


def rows_in_arrow(uri: str, options: dict[str, Any]) -> int:
    dataset = da.DeltaTable(uri, storage_options=options).to_pyarrow_dataset()
    return sum(batch.num_rows for batch in dataset.to_batches(columns=["x"]))


def rows_in_duckdb(uri: str, options: dict[str, Any]) -> int:
    with da.connect(storage_options=options) as lake:
        [(found,)] = lake.sql(f"SELECT count(*) FILTER (x >= 0) FROM delta.'{uri}'").fetchall()
        return found


@pytest.mark.parametrize("scan", [rows_in_arrow, rows_in_duckdb])
def test_a_scan_of_many_files_holds_few_of_them(s3_options, large, monkeypatch, scan) -> None:
    # Arrow holds some files ahead of the one that it decodes, DuckDB one for each thread.
    read = S3Service.read_range
    monkeypatch.setattr(S3Service, "read_range", lambda *arguments: Held(read(*arguments)))
    gc.collect()
    before = Held.now
    Held.total, Held.most = 0, before
    assert scan(large, {**s3_options, "user_agent": scan.__name__}) == FILES * FILE_ROWS
    assert Held.total > FILES * FILE_ROWS * 7, "all reads are counted"
    assert Held.most - before < Held.total / 4
