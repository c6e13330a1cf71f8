"""Small tables of similar files, which Polars plans by itself."""

import pickle
import re

import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

import deltaarrow as da
from deltaarrow.engines import scan_delta
from deltaarrow.engines.polars import lazy_frame as engine
from deltaarrow.engines.polars.lazy_frame import lazy_frame
from deltaarrow.engines.polars.live_rows import LiveRows
from deltaarrow.engines.polars.native_scan import PolarsLimits
from deltaarrow.errors import CorruptDataFileError
from tests.support.engines import open_snapshot
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


@pytest.mark.parametrize(("most_runs", "counts"), [(8, [5, 5]), (0, [10])])
def test_polars_knows_how_many_rows_there_are(builder, most_runs, counts):
    frame = lazy_frame(open_snapshot(builder.path), limits=PolarsLimits(most_runs=most_runs))
    assert is_plain(frame)
    assert [int(found) for found in re.findall(r"ESTIMATED ROWS: (\d+)", frame.explain())] == counts
    assert frame.collect()["id"].to_list() == [0, 1, 2, 3, 4, 5, 7, 8, 9]
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
    assert joined.explain().count("Parquet SCAN") == 2, "one for each run of files"
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


@pytest.fixture(params=[8, 0], ids=["by runs", "as one"])
def many_row_groups(tmp_path, request):
    """Five files of 40 rows in groups of 7, as a frame, and which rows are deleted.

    Two files are whole, the rows of one are all deleted.
    """
    found = TableBuilder(tmp_path / "many").features("deletionVectors").metadata(SCHEMA)
    deleted = [[], [0, 6, 7, 39], [], range(40), [1, *range(8, 30)]]
    found.commit(
        [
            found.add_file(
                rows(place * 40, 40),
                parquet={"row_group_size": 7},
                deletion_vector=found.deletion_vector(gone) if gone else None,
            )
            for place, gone in enumerate(deleted)
        ]
    )
    frame = lazy_frame(open_snapshot(found.path), limits=PolarsLimits(most_runs=request.param))
    return frame, {place * 40 + row for place, gone in enumerate(deleted) for row in gone}


@pytest.mark.parametrize("engine_name", ["in-memory", "streaming"])
@pytest.mark.parametrize(
    "bounds", [(0, 200), (5, 8), (45, 47), (46, 81), (60, 199), (119, 161), (187, 190), (300, 400)]
)
def test_rows_are_numbered_through_files_and_row_groups_that_are_left_out(
    many_row_groups, engine_name, bounds
):
    frame, gone = many_row_groups
    frame = frame.filter(pl.col("id").is_between(*bounds, closed="left"))
    assert is_plain(frame)
    wanted = [i for i in range(*bounds) if i < 200 and i not in gone]
    assert frame.collect(engine=engine_name)["id"].to_list() == wanted
    assert frame.select(pl.len()).collect(engine=engine_name).item() == len(wanted)
    names = frame.filter(pl.col("name") != f"n{bounds[0]}").select("name").collect(engine=engine_name)
    assert names["name"].to_list() == [f"n{i}" for i in wanted if i != bounds[0]]


@pytest.mark.parametrize("engine_name", ["in-memory", "streaming"])
def test_the_first_and_last_rows_are_live_ones(many_row_groups, engine_name):
    frame, gone = many_row_groups
    live = [i for i in range(200) if i not in gone]
    frame = frame.select("id")
    assert frame.head(45).collect(engine=engine_name)["id"].to_list() == live[:45]
    assert frame.tail(3).collect(engine=engine_name)["id"].to_list() == live[-3:]
    assert frame.slice(38, 4).collect(engine=engine_name)["id"].to_list() == live[38:42]


def test_columns_may_have_the_names_that_rows_are_numbered_by(tmp_path):
    schema = pa.schema([("column 0", pa.int64()), ("name", pa.string()), ("column 1", pa.int64())])
    builder = TableBuilder(tmp_path).features("deletionVectors").metadata(schema)
    data = pa.table([[1, 2, 3], ["a", "b", "c"], [4, 5, 6]], schema=schema)
    builder.commit([builder.add_file(data, deletion_vector=builder.deletion_vector([1]))])
    frame = scan_delta(builder.path)
    assert is_plain(frame)
    assert frame.collect().rows() == [(1, "a", 4), (3, "c", 6)]


def test_a_file_with_other_rows_than_the_log_says_is_refused(builder):
    add = builder.add_file(rows(20, 3), stats={"numRecords": 4}, deletion_vector=builder.deletion_vector([3]))
    builder.commit([add])
    with pytest.raises(CorruptDataFileError, match="has 3 rows; the log says 4"):
        scan_delta(builder.path).collect()


def test_more_rows_than_polars_has_numbers_for_are_left_to_its_own_deletion_vectors(builder, monkeypatch):
    monkeypatch.setattr(LiveRows, "are_numbered", False)
    frame = scan_delta(builder.path)
    assert is_plain(frame)
    assert "ROW_INDEX" not in frame.explain()
    assert frame.collect()["id"].to_list() == [0, 1, 2, 3, 4, 5, 7, 8, 9]


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


def test_many_files(builder):
    frame = lazy_frame(open_snapshot(builder.path), limits=PolarsLimits(most_files=1))
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
