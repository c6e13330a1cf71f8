"""DELETE, UPDATE and MERGE on a store that counts requests: what they write, and in how many requests."""

import contextlib
import itertools
from collections import Counter

import pyarrow as pa
import pytest

import deltaarrow as da
from deltaarrow.errors import ConcurrentDeleteDeleteException
from deltaarrow.storage.s3 import writing as s3_writing
from tests.support.leftovers import files_of_log
from tests.support.stores import BUCKET, s3_options

__all__ = ["s3_options"]

WRITES = {"put_object", "create_multipart_upload", "upload_part", "complete_multipart_upload", "copy_object"}
_numbers = itertools.count()


@contextlib.contextmanager
def puts_of(store):
    """Counts the requests by which objects are written."""
    kind, counted = type(store.fsspec_filesystem()), Counter()
    real, real_sync, real_once = kind._call_s3, kind.call_s3, s3_writing._call_once

    async def call(self, method, *arguments, **options):
        if method in WRITES:
            counted[method] += 1
        return await real(self, method, *arguments, **options)

    def call_sync(self, method, *arguments, **options):
        if method in WRITES:
            counted[method] += 1
        return real_sync(self, method, *arguments, **options)

    def call_once(filesystem, method, request):
        counted[method] += 1
        return real_once(filesystem, method, request)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(s3_writing, "_call_once", call_once)
        patch.setattr(kind, "_call_s3", call)
        patch.setattr(kind, "call_s3", call_sync)
        yield counted


def rows(first: int, count: int) -> pa.Table:
    return pa.table({"id": pa.array(range(first, first + count), pa.int64()), "v": ["x"] * count})


def delete(table):
    table.delete("id = 3")


def update(table):
    table.update({"v": "'y'"}, predicate="id = 5")


def merge(table):
    source = pa.table({"id": pa.array([7, 200], pa.int64()), "v": ["z", "new"]})
    merger = table.merge(source, "target.id = source.id")
    merger.when_matched_update_all().when_not_matched_insert_all().execute()


@pytest.mark.parametrize("has_feed", [False, True], ids=["plain", "feed"])
@pytest.mark.feature("deletionVectors")
def test_statements_on_s3_put_an_object_of_each_kind(s3_options, has_feed):
    """The commit and its checksum, new rows, changes, and the vectors; none of them in several requests."""
    counts = {}
    for vectors in (True, False):
        uri = f"s3://{BUCKET}/dml/{next(_numbers)}"
        configuration = {
            "delta.enableDeletionVectors": str(vectors).lower(),
            "delta.enableChangeDataFeed": str(has_feed).lower(),
        }
        da.write_deltalake(uri, rows(0, 50), configuration=configuration, storage_options=s3_options)
        da.write_deltalake(uri, rows(50, 50), mode="append", storage_options=s3_options)
        table = da.DeltaTable(uri, storage_options=s3_options)
        for statement in (delete, update, merge):
            with puts_of(table.snapshot.store) as counted:
                statement(table)
            assert counted.keys() <= {"put_object"}
            counts[statement, vectors] = counted.total()
        found = {row["id"]: row["v"] for row in table.to_pyarrow_table().to_pylist()}
        expected = dict.fromkeys(range(100), "x") | {5: "y", 7: "z", 200: "new"}
        del expected[3]
        assert found == expected
        assert table.verify(deep=True).ok
    assert counts == {
        (delete, True): 3,  # changes are read from the vectors
        (update, True): 4 + has_feed,
        (merge, True): 4 + has_feed,
        (delete, False): 3 + has_feed,
        (update, False): 3 + has_feed,
        (merge, False): 3 + has_feed,
    }


@pytest.mark.feature("deletionVectors")
def test_statements_on_s3_on_different_rows_of_one_file_commit(s3_options):
    uri = f"s3://{BUCKET}/dml/{next(_numbers)}"
    configuration = {"delta.enableDeletionVectors": "true"}
    da.write_deltalake(uri, rows(0, 50), configuration=configuration, storage_options=s3_options)
    tables = [da.DeltaTable(uri, storage_options=s3_options) for _ in range(3)]
    for table, statement in zip(tables, (delete, update, merge), strict=True):
        statement(table)
    assert tables[-1].version() == 3
    with pytest.raises(ConcurrentDeleteDeleteException):
        update(da.DeltaTable(uri, version=0, storage_options=s3_options))
    table = da.DeltaTable(uri, storage_options=s3_options)
    found = {row["id"]: row["v"] for row in table.to_pyarrow_table().to_pylist()}
    expected = dict.fromkeys(range(50), "x") | {5: "y", 7: "z", 200: "new"}
    del expected[3]
    assert found == expected
    names = {entry.name for entry in table.snapshot.store.list_recursive()}
    assert {each for each in names if not each.startswith("_delta_log")} == files_of_log(table)
