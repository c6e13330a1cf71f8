"""Small tables of files that are alike: Polars plans with what it finds in them."""

import pickle

import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

import deltaarrow as da
from deltaarrow.engines import polars as engine
from deltaarrow.engines import scan_delta
from tests.support.tables import TableBuilder

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])


def rows(first, count, schema=SCHEMA):
    ids = range(first, first + count)
    return pa.table([pa.array(ids, schema.field("id").type), [f"n{i}" for i in ids]], schema=schema)


@pytest.fixture
def builder(tmp_path):
    """Two files of five rows, of which one is deleted."""
    found = TableBuilder(tmp_path / "t").features("deletionVectors").metadata(SCHEMA)
    found.commit(
        [
            found.add_file(rows(0, 5)),
            found.add_file(rows(5, 5), deletion_vector=found.deletion_vector([1])),
        ]
    )
    return found


def is_plain(frame):
    return "RESOLVER" not in frame.explain()


def test_polars_knows_how_many_rows_there_are(builder):
    frame = scan_delta(builder.path)
    assert is_plain(frame)
    assert "ESTIMATED ROWS: 10" in frame.explain()
    assert frame.collect()["id"].sort().to_list() == [0, 1, 2, 3, 4, 5, 7, 8, 9]
    assert frame.select(pl.len()).collect().item() == 9
    assert frame.filter(pl.col("id") > 5).select("name").collect()["name"].to_list() == ["n7", "n8", "n9"]


def test_semi_joins_go_below_joins_as_with_bare_files(builder, tmp_path):
    """An order that Polars chooses when it knows sizes, and else does not."""
    large = TableBuilder(tmp_path / "large").protocol().metadata(SCHEMA)
    large.commit([large.add_file(rows(0, 1000))])
    tables = {"small": scan_delta(builder.path), "large": scan_delta(large.path)}
    query = (
        "SELECT large.name FROM large JOIN small USING (id) WHERE id IN (SELECT id FROM small WHERE id < 3)"
    )
    found = pl.SQLContext(tables).execute(query)
    assert is_plain(found)
    assert sorted(found.collect()["name"]) == ["n0", "n1", "n2"]


def test_a_frame_that_is_used_twice_is_read_once(builder):
    frame = scan_delta(builder.path)
    joined = frame.join(frame.group_by("id").agg(pl.len()), on="id")
    assert joined.explain().count("Parquet SCAN") == 1
    assert joined.collect().height == 9


def test_frames_pickle(builder):
    frame = scan_delta(builder.path).filter(pl.col("id") > 3)
    copy = pickle.loads(pickle.dumps(frame))
    assert is_plain(copy)
    assert_frame_equal(copy.collect(), frame.collect(), check_row_order=False)


def test_what_was_pinned_stays(builder):
    frame, before = scan_delta(builder.path), scan_delta(builder.path, version=0)
    builder.commit([builder.add_file(rows(50, 1))])
    assert frame.collect().height == before.collect().height == 9
    assert scan_delta(builder.path).collect().height == 10


def test_files_that_polars_leaves_out_are_explained_by_the_log(builder):
    (found,) = da.explain(scan_delta(builder.path).filter(pl.col("id") < 5).select("name"))
    assert (found.files, found.left_files) == (2, 1)


@pytest.mark.parametrize("engine_name", ["in-memory", "streaming"])
def test_filters_see_no_deleted_row(builder, engine_name):
    found = scan_delta(builder.path).filter(pl.col("name") == "n6").collect(engine=engine_name)
    assert found.is_empty()


# --- tables that are not like that -------------------------------------------------------------------


def test_a_file_without_a_column(builder):
    builder.commit([builder.add_file(rows(20, 1).select(["id"]))])
    frame = scan_delta(builder.path)
    assert not is_plain(frame)
    assert frame.filter(pl.col("id") == 20).collect().rows() == [(20, None)]


def test_a_file_with_a_further_column(builder):
    builder.commit([builder.add_file(rows(20, 1).append_column("more", pa.array([1])))])
    frame = scan_delta(builder.path)
    assert not is_plain(frame)
    assert frame.collect().columns == SCHEMA.names
    assert frame.collect().height == 10


def test_files_that_all_have_a_further_column(tmp_path):
    builder = TableBuilder(tmp_path).protocol().metadata(SCHEMA)
    builder.commit([builder.add_file(rows(20, 1).append_column("more", pa.array([1])))])
    assert not is_plain(scan_delta(builder.path))
    assert scan_delta(builder.path).collect().rows() == [(20, "n20")]


def test_a_type_that_is_widened(tmp_path):
    narrow = pa.schema([("id", pa.int32()), ("name", pa.string())])
    builder = TableBuilder(tmp_path).features("typeWidening").metadata(SCHEMA)
    builder.commit([builder.add_file(rows(0, 2, narrow))])
    frame = scan_delta(builder.path)
    assert not is_plain(frame)
    assert frame.collect().schema["id"] == pl.Int64


def test_many_files(builder, monkeypatch):
    monkeypatch.setattr(engine, "_FEW_FILES", 1)
    frame = scan_delta(builder.path)
    assert not is_plain(frame)
    assert frame.collect().height == 9


def test_an_absent_file_that_cannot_match(builder):
    statistics = {"numRecords": 1, "minValues": {"id": 90}, "maxValues": {"id": 90}, "nullCount": {"id": 0}}
    builder.commit([builder.add_file(1, stats=statistics)])
    frame = scan_delta(builder.path)
    assert frame.filter(pl.col("id") < 50).collect().height == 9
    with pytest.raises(Exception, match="not in storage"):
        frame.collect()


def test_a_release_of_polars_that_was_not_tried(builder, monkeypatch):
    monkeypatch.setattr(engine, "is_hook_verified", lambda: False)
    frame = scan_delta(builder.path)
    assert not is_plain(frame)
    assert frame.collect().height == 9


def test_an_empty_table(tmp_path):
    builder = TableBuilder(tmp_path).protocol().metadata(SCHEMA)
    builder.commit([])
    assert scan_delta(builder.path).collect().rows() == []
