"""A change data feed in DuckDB and Polars."""

import duckdb
import polars as pl
import pyarrow as pa
import pytest

import deltaarrow as da
from tests.support.tables import TableBuilder


@pytest.fixture
def feed(tmp_path):
    table = TableBuilder(tmp_path).protocol(1, 4)
    schema = pa.schema([("id", pa.int64()), ("p", pa.string())])
    table.metadata(schema, ["p"], {"delta.enableChangeDataFeed": "true"})
    first = table.add_file(pa.table({"id": [1, 2]}), {"p": "x"})
    images = pa.table({"id": [2, 20], "_change_type": ["update_preimage", "update_postimage"]})
    table.commit([first]).commit([table.cdc(images, {"p": "x"})])
    table.commit([table.add_file(pa.table({"id": [3]}), {"p": "y"})])
    return da.DeltaTable(tmp_path).change_data_feed()


def test_duckdb_reads_it_as_a_view(feed):
    with duckdb.connect() as connection:
        connection.register("feed", feed)
        query = "SELECT _commit_version, id FROM feed WHERE _change_type <> 'insert' AND p = 'x' ORDER BY id"
        assert connection.sql(query).fetchall() == [(1, 2), (1, 20)]
        assert connection.sql("SELECT count(*) FROM feed").fetchall() == [(5,)]
        query = "SELECT max(_commit_timestamp) - min(_commit_timestamp) FROM feed"
        assert connection.sql(query).fetchall()[0][0].total_seconds() == 2


def test_polars_reads_it_as_a_lazy_frame(feed):
    lazy = feed.to_polars()
    assert lazy.collect_schema() == pl.DataFrame(feed.to_table()).schema
    assert lazy.filter(pl.col("_change_type") == "insert").select("id").collect()["id"].sort().to_list() == [
        1,
        2,
        3,
    ]
    assert lazy.select(pl.len()).collect().item() == 5
    assert lazy.head(2).collect().height == 2


def test_a_filtered_feed_stays_filtered(feed):
    later = feed.filter(pa.compute.field("_commit_version") >= 1)
    assert later.count_rows() == 3
    assert later.to_polars().collect().height == 3
    assert "versions=0 to 2" in repr(later)
    assert len(later.files) == 3
