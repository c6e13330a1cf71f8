"""COPY INTO from files in every kind of store."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaarrow
from deltaarrow.errors import CorruptDataFileError
from tests.support.stores import FEW_WRITABLE, cloud, s3_options, servers, writable_place

__all__ = ["cloud", "s3_options", "servers", "writable_place"]


@pytest.fixture
def con(writable_place, tmp_path):
    options = writable_place.store.storage_options or None
    with deltaarrow.connect(dialect="spark", storage_options=options) as connection:
        (tmp_path / "lake").mkdir()
        connection.attach(tmp_path / "lake", "lake")
        connection.sql("CREATE TABLE lake.t (id BIGINT, s STRING)")
        yield connection


def parquet(rows):
    target = io.BytesIO()
    pq.write_table(pa.table(rows), target)
    return target.getvalue()


@FEW_WRITABLE
def test_files_of_a_store_are_copied_once(con, writable_place):
    place = writable_place
    place.put("a.csv", b"id,s\n1,x\n")
    place.put("sub/b.csv", b"id,s\n2,y\n")
    place.put("c.parquet", parquet({"id": [3], "s": ["z"]}))
    place.put("d.json", b'{"s": "j", "id": 4}\n')
    place.put("e.parquet", b"damaged")
    text = f"COPY INTO lake.t FROM '{place.store.uri}' FILEFORMAT = {{}}"
    csv = text.format("CSV PATTERN = '*.csv' FORMAT_OPTIONS ('header' = 'true')")
    found = [
        con.sql(csv),
        con.sql(csv),
        con.sql(text.format("CSV FILES = ('sub/b.csv') FORMAT_OPTIONS ('header' = 'true')")),
        con.sql(text.format("JSON PATTERN = '*.json'")),
        con.sql(text.format("PARQUET PATTERN = '*.parquet' FORMAT_OPTIONS ('ignoreCorruptFiles' = 'true')")),
    ]
    assert [each.to_pylist()[0]["num_inserted_rows"] for each in found] == [1, 0, 1, 1, 1]
    assert found[-1].to_pylist()[0]["num_skipped_corrupt_files"] == 1
    rows = con.sql("SELECT * FROM lake.t ORDER BY id").fetchall()
    assert rows == [(1, "x"), (2, "y"), (3, "z"), (4, "j")]
    with pytest.raises(CorruptDataFileError, match=r"e\.parquet"):
        con.sql(text.format("PARQUET VALIDATE FILES = ('e.parquet')"))
    checked = con.sql(text.format("PARQUET VALIDATE FILES = ('c.parquet') COPY_OPTIONS ('force' = 'true')"))
    assert checked.to_pylist() == [{"id": 3, "s": "z"}]
