"""Statistics that a deletion vector made wide answer no query."""

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from deltaarrow.engines import DeltaDataset, register, scan_delta
from deltaarrow.scan.count import count_rows
from tests.support.duckdb_session import duckdb_session
from tests.support.engines import open_snapshot
from tests.support.tables import TableBuilder

SCHEMA = pa.schema([("id", pa.int64())])
LIVE = [None, 3, 4, 5, 20]


@pytest.fixture(params=[True, False], ids=["wide", "absent"])
def path(request, tmp_path):
    """The extremes and a NULL of the first file are deleted; nobody counted the NULLs of the second."""
    builder = TableBuilder(tmp_path).features("deletionVectors").metadata(SCHEMA)
    wide = {"tightBounds": False}
    first = {"numRecords": 7, "minValues": {"id": 1}, "maxValues": {"id": 9}, "nullCount": {"id": 2}}
    second = {"numRecords": 3, "minValues": {"id": -99}, "maxValues": {"id": 99}, "nullCount": {"id": 1}}
    builder.commit(
        [
            builder.add_file(
                pa.table({"id": [1, None, 3, 4, 5, None, 9]}, SCHEMA),
                stats=first | wide if request.param else False,
                deletion_vector=builder.deletion_vector([0, 1, 6]),
            ),
            builder.add_file(
                pa.table({"id": pa.array([20, 21, 22])}, SCHEMA),
                stats=second | wide if request.param else False,
                deletion_vector=builder.deletion_vector([1, 2]),
            ),
        ]
    )
    return tmp_path


@pytest.mark.feature("deletionVectors")
@pytest.mark.parametrize("native", [True, False])
def test_duckdb(path, native):
    with duckdb_session() as connection:
        register(connection, "t", open_snapshot(path), native=native)
        rows = connection.sql("SELECT min(id), max(id), count(*), count(id), count() FROM t").fetchall()
        assert rows == [(3, 20, 5, 4, 5)]
        assert connection.sql("SELECT count(*) FROM t WHERE id IS NULL").fetchall() == [(1,)]
        assert connection.sql("SELECT count(*), max(id) FROM t WHERE id IS NOT NULL").fetchall() == [(4, 20)]
        assert connection.sql("SELECT count(*) FROM t WHERE id IN (1, 9, 21)").fetchall() == [(0,)]


@pytest.mark.feature("deletionVectors")
def test_polars(path):
    frame, column = scan_delta(open_snapshot(path)), pl.col("id")
    found = frame.select(
        column.min().alias("a"), column.max().alias("b"), pl.len(), column.count().alias("c")
    )
    assert found.collect().row(0) == (3, 20, 5, 4)
    assert frame.select(pl.len()).collect().item() == 5
    assert frame.filter(column.is_null()).select(pl.len()).collect().item() == 1
    assert frame.filter(column.is_not_null()).collect().height == 4
    assert frame.filter(column.is_in([1, 9, 21])).collect().is_empty()


@pytest.mark.feature("deletionVectors")
def test_dataset(path):
    snapshot = open_snapshot(path)
    dataset, column = DeltaDataset(snapshot), pc.field("id")
    assert count_rows(snapshot) == dataset.count_rows() == 5
    assert dataset.count_rows(filter=column.is_null()) == 1
    assert dataset.count_rows(filter=column.is_valid()) == 4
    assert dataset.count_rows(filter=column.isin([1, 9, 21])) == 0
    assert sorted(dataset.to_table()["id"].to_pylist(), key=str) == sorted(LIVE, key=str)
    for fragment, live in zip(dataset.get_fragments(), ([None, 3, 4, 5], [20]), strict=True):
        assert pa.table({"id": live}).filter(fragment.guarantee).num_rows == len(live)
