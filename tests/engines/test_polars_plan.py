"""Pushdown in Polars, and the files that its plan leaves out because of it."""

import decimal
import pickle
import re
import threading

import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

from deltaarrow.engines.polars.lazy_frame import lazy_frame, scan_delta
from deltaarrow.engines.polars.native_scan import PolarsLimits
from deltaarrow.errors import TableNotFoundError, VersionNotFoundError
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import open_store
from tests.support.engines import open_snapshot
from tests.support.tables import TableBuilder

SCHEMA = pa.schema([("id", pa.int64()), ("x", pa.float64()), ("name", pa.string()), ("day", pa.date32())])
DAY = pl.date(2026, 1, 2)


def rows(start, stop):
    ids = list(range(start, stop))
    return pa.table(
        {"id": ids, "x": [i / 2 for i in ids], "name": [f"n{i}" for i in ids]}, schema=SCHEMA.remove(3)
    )


@pytest.fixture
def table(tmp_path):
    """Two files of two days; version 1 adds a third day, whose file is absent."""
    builder = TableBuilder(tmp_path).protocol().metadata(SCHEMA, ["day"])
    builder.commit(
        [
            builder.add_file(rows(0, 5), {"day": "2026-01-01"}),
            builder.add_file(rows(5, 9), {"day": "2026-01-02"}),
        ]
    )
    stats = {
        "numRecords": 4,
        "minValues": {"id": 100, "x": 50.0, "name": "z"},
        "maxValues": {"id": 103, "x": 51.5, "name": "zz"},
        "nullCount": {"id": 0, "x": 0, "name": 0},
    }
    builder.commit([builder.add_file(4, {"day": "2026-01-03"}, stats)])
    return builder


def test_every_row_in_the_order_and_types_of_the_schema(table):
    frame = scan_delta(table.path, version=0).sort("id").collect()
    assert frame.schema == {"id": pl.Int64, "x": pl.Float64, "name": pl.String, "day": pl.Date}
    assert frame.columns == SCHEMA.names
    assert frame["id"].to_list() == list(range(9))
    assert frame["day"].to_list() == [pl.select(pl.date(2026, 1, d)).item() for d in [1] * 5 + [2] * 4]


def test_the_schema_needs_no_data_file(table):
    assert scan_delta(table.path).collect_schema().names() == SCHEMA.names


def test_an_absent_file_that_may_match_is_an_error(table):
    with pytest.raises(Exception, match=r"part-00000-.*(not in storage|No such file)"):
        scan_delta(table.path).collect()


@pytest.mark.parametrize(
    "condition",
    [
        pl.col("day") == DAY,
        pl.col("day") <= DAY,
        pl.col("day").is_in([pl.select(DAY).item()]),
        (pl.col("day") != pl.date(2026, 1, 3)) & (pl.col("x") > 1),
        pl.col("id") < 50,
        pl.col("id").is_between(3, 70),
        pl.col("name") < "y",
        pl.col("id").is_null(),
        (pl.col("id") == 1) | (pl.col("name") == "n8"),
        (pl.col("id") < 50) & pl.col("name").str.ends_with("3"),
    ],
    ids=lambda condition: "_".join(re.findall(r"\w+", str(condition)))[:60],
)
def test_a_file_that_cannot_match_is_not_opened(table, condition):
    whole = scan_delta(table.path, version=0).collect()
    found = scan_delta(table.path).filter(condition).collect()
    assert_frame_equal(found.sort("id"), whole.filter(condition).sort("id"))


def test_filters_and_columns_reach_the_files(table):
    query = scan_delta(table.path).filter(pl.col("day") == DAY, pl.col("x") > 3).select("name")
    plan = query.explain()
    assert plan.count("Parquet SCAN") == 1
    assert 'SELECTION: col("x") > 3.0' in plan
    assert "PROJECT 2/2 COLUMNS" in plan or "PROJECT */2 COLUMNS" in plan
    assert query.collect()["name"].to_list() == ["n7", "n8"]


def test_partition_columns_alone_have_a_row_for_every_row(table):
    days = scan_delta(table.path, version=0).select("day").collect()
    assert days.height == 9
    counts = scan_delta(table.path, version=0).group_by("day").len().sort("day").collect()
    assert counts["len"].to_list() == [5, 4]


def test_length_without_columns(table):
    assert scan_delta(table.path, version=0).select(pl.len()).collect().item() == 9
    assert scan_delta(table.path).filter(pl.col("day") == DAY).select(pl.len()).collect().item() == 4


def test_head_opens_no_more_files_than_it_needs(table):
    frame = scan_delta(table.path, version=0)
    order = frame.select("id").collect()["id"].to_list()
    assert frame.head(7).collect()["id"].to_list() == order[:7]
    assert "1 other source" not in frame.head(1).explain()
    assert frame.head(1).explain().count("Parquet SCAN") == 1


def test_head_of_a_filter_reads_on(table):
    assert scan_delta(table.path, version=0).filter(pl.col("id") >= 8).head(3).collect()["id"].to_list() == [
        8
    ]


def test_streaming_engine_and_sinks(table, tmp_path):
    query = scan_delta(table.path, version=0).filter(pl.col("id") > 2)
    expected = query.collect().sort("id")
    assert_frame_equal(query.collect(engine="streaming").sort("id"), expected)
    query.sink_parquet(tmp_path / "out.parquet")
    assert_frame_equal(pl.read_parquet(tmp_path / "out.parquet").sort("id"), expected)


def test_a_table_without_files(tmp_path):
    builder = TableBuilder(tmp_path).protocol().metadata(SCHEMA, ["day"])
    builder.commit()
    frame = scan_delta(tmp_path)
    assert frame.collect().schema == frame.collect_schema()
    assert frame.select(pl.len()).collect().item() == 0
    assert frame.filter(pl.col("id") > 1).select("day").collect().shape == (0, 1)


def test_a_lazy_frame_is_pinned_to_its_version(table):
    frame = scan_delta(table.path, version=0)
    table.commit([table.remove(table.commits[0][-1])])
    assert frame.select(pl.len()).collect().item() == 9


def test_pickle_and_serialize(table):
    frame = scan_delta(table.path, version=0).filter(pl.col("id") > 6)
    expected = frame.collect()
    assert_frame_equal(pickle.loads(pickle.dumps(frame)).collect(), expected)
    assert_frame_equal(pl.LazyFrame.deserialize(frame.serialize()).collect(), expected)


def test_one_table_twice_in_a_query(table):
    frame = scan_delta(table.path, version=0)
    again = scan_delta(table.path, version=0)
    joined = frame.filter(pl.col("id") > 2).join(again.select("id", other="x"), on="id").collect()
    assert sorted(joined["id"]) == list(range(3, 9))
    assert (joined["x"] == joined["other"]).all()


def test_threads(table):
    frame = scan_delta(table.path, version=0)
    sums = []
    threads = [
        threading.Thread(target=lambda n=n: sums.append(frame.filter(pl.col("id") >= n).collect().height + n))
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sums == [9] * 8


def test_a_snapshot_and_what_has_one(table):
    snapshot = Snapshot.load(open_store(table.path), 0)
    holder = type("Holder", (), {"snapshot": snapshot})()
    assert scan_delta(snapshot).collect().height == 9
    assert scan_delta(holder).collect().height == 9
    assert scan_delta(holder, version=1).filter(pl.col("id") < 50).collect().height == 9


def test_absent_tables_and_versions(table, tmp_path):
    with pytest.raises(TableNotFoundError):
        scan_delta(tmp_path / "nothing")
    with pytest.raises(VersionNotFoundError):
        scan_delta(table.path, version=7)


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
def test_nan_is_greater_than_every_number_and_equal_to_itself(tmp_path, kind, native):
    """Also where bounds leave NaN out, as delta-rs writes them, and where pyarrow reads the file."""
    schema = pa.schema([("X" if native else "x", kind)])
    values = [1.0, 0.1, float("nan"), None]
    builder = TableBuilder(tmp_path).protocol().metadata(pa.schema([("x", kind)]))
    bounds = {"minValues": {"x": 0.1}, "maxValues": {"x": 1.0}, "nullCount": {"x": 1}, "numRecords": 4}
    builder.commit([builder.add_file(pa.table({schema.names[0]: pa.array(values, kind)}), stats=bounds)])
    frame = scan_delta(tmp_path)
    local = pl.DataFrame({"x": values}, schema=frame.collect_schema())
    nan = float("nan")
    for condition in (
        pl.col("x") > 5,
        pl.col("x") >= 1,
        pl.col("x") == nan,
        pl.col("x") != 1,
        ~(pl.col("x") < 5),
        pl.col("x").is_nan(),
        pl.col("x").is_in([nan]),
        pl.col("x") >= 0.1,
        pl.col("x") <= 0.1,
        pl.col("x") == 0.1,
        pl.col("x") < nan,
        pl.col("x").is_between(0.5, nan),
    ):
        assert_frame_equal(frame.filter(condition).collect(), local.filter(condition))


def test_filters_on_partitions_alone_are_settled_by_the_log(table):
    """Whatever Polars can say of them; then their column is not made, and one scan reads all files."""
    frame = scan_delta(table.path)
    query = frame.filter(pl.col("day").dt.day() < 3, pl.col("day").dt.strftime("%d").str.contains("0[12]"))
    assert "FILTER" not in query.explain()
    assert query.collect().height == 9
    plan = query.select("id").explain()
    assert plan.count("Parquet SCAN") == 1
    assert "UNION" not in plan
    assert sorted(query.select("id").collect()["id"]) == list(range(9))
    assert frame.filter(pl.col("day").dt.year() > 2026).collect().shape == (0, 4)
    mixed = frame.filter(pl.col("day").dt.day() < 3, pl.col("id") == pl.col("day").dt.day())
    assert mixed.select("id").collect()["id"].to_list() == [1]


def test_filters_that_look_at_other_rows_stay_with_polars(table):
    frame = scan_delta(table.path, version=0)
    local = frame.collect()
    for condition in (
        pl.col("day") == pl.col("day").max(),
        pl.col("day").is_first_distinct(),
        pl.col("id") == pl.col("id").max().over("day"),
        pl.col("day").is_duplicated(),
        pl.col("id").cum_sum() > 10,
    ):
        assert_frame_equal(frame.filter(condition).collect(), local.filter(condition))


def test_bounds_of_single_precision_are_of_single_precision(tmp_path):
    """The literal 0.1 is a float32 beside such a column, and a little more than the 0.1 of the statistics."""
    builder = TableBuilder(tmp_path).protocol().metadata(pa.schema([("x", pa.float32())]))
    bounds = {"minValues": {"x": 0.1}, "maxValues": {"x": 0.1}, "nullCount": {"x": 0}, "numRecords": 1}
    builder.commit([builder.add_file(pa.table({"x": pa.array([0.1], pa.float32())}), stats=bounds)])
    for condition in (pl.col("x") == 0.1, pl.col("x") >= 0.1, pl.col("x").is_between(0.1, 1)):
        assert scan_delta(tmp_path).filter(condition).collect().height == 1


@pytest.mark.parametrize("most", [0, 2, 5])
def test_any_number_of_partition_values(tmp_path, most):
    """Up to a number of them a scan each, then all in one scan."""
    schema = pa.schema(
        [("column 0", pa.int64()), ("p", pa.string()), ("q", pa.decimal128(5, 1)), ("v", pa.null())]
    )
    builder = TableBuilder(tmp_path).features("deletionVectors").metadata(schema, ["p", "q"])
    partitions = [("a b%", "1"), (None, "1"), ("a b%", None), ("[*]é", "1"), ("a b%", "1")]
    adds = []
    for number, (p, q) in enumerate(partitions):
        deleted = builder.deletion_vector([1]) if number % 2 else None
        ids = pa.table({"column 0": [10 * number, 10 * number + 1]})
        name = f"p={p}/q={q}/{number}.parquet"
        add = builder.add_file(ids, {"p": p, "q": q}, name=name, deletion_vector=deleted)
        adds.append({"add": add["add"] | {"path": name.replace("%", "%25")}})
    builder.commit(adds)
    local = pl.DataFrame(
        [
            (10 * number + row, p, q and decimal.Decimal(q), None)
            for number, (p, q) in enumerate(partitions)
            for row in (0, 1)
            if not (number % 2 and row)
        ],
        schema=pl.Schema(schema),
        orient="row",
    )
    frame = lazy_frame(open_snapshot(tmp_path), limits=PolarsLimits(most_scans=most))
    for engine in ("in-memory", "streaming"):
        assert_frame_equal(frame.collect(engine=engine), local, check_row_order=False)
    assert ("JOIN" in frame.explain()) == (most < 4)
    for condition in (
        pl.col("p") == "a b%",
        pl.col("p").is_null() | (pl.col("column 0") > 20),
        (pl.col("q") == decimal.Decimal("1")) & (pl.col("column 0") % 10 == 1),
        pl.col("p").fill_null("z") > pl.col("column 0").cast(pl.String),
    ):
        assert_frame_equal(frame.filter(condition).collect(), local.filter(condition), check_row_order=False)
    assert_frame_equal(frame.select("q").collect(), local.select("q"), check_row_order=False)
    assert_frame_equal(frame.select("v", "p").collect(), local.select("v", "p"), check_row_order=False)
    assert frame.filter(pl.col("p") == "a b%").select(pl.len()).collect().item() == 6
    pages = [frame.slice(start, 3).collect() for start in range(0, 9, 3)]
    assert_frame_equal(pl.concat(pages), frame.collect())


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
@pytest.mark.parametrize("texts", [("-0.0", "0.0"), ("0.0", "-0.0", "1.5", "-0.0")])
def test_zeros_of_either_sign_stay_partition_values(tmp_path, kind, texts):
    builder = TableBuilder(tmp_path).protocol()
    builder.metadata(pa.schema([("x", pa.int64()), ("p", kind)]), ["p"])
    builder.commit([builder.add_file(pa.table({"x": [n]}), {"p": text}) for n, text in enumerate(texts)])
    for wanted in (scan_delta(tmp_path), scan_delta(tmp_path).filter(pl.col("p") < 2)):
        for engine in ("in-memory", "streaming"):
            assert [*map(str, wanted.sort("x").collect(engine=engine)["p"])] == list(texts)


def test_many_partitions_are_few_scans(tmp_path):
    builder = (
        TableBuilder(tmp_path).protocol().metadata(pa.schema([("id", pa.int64()), ("p", pa.int32())]), ["p"])
    )
    builder.commit([builder.add_file(pa.table({"id": [n]}), {"p": str(-n)}) for n in range(200)])
    frame = scan_delta(tmp_path)
    assert frame.explain().count("Parquet SCAN") == 1
    assert (frame.collect()["id"] + frame.collect()["p"] == 0).all()
    assert frame.group_by("p").agg(pl.col("id").sum()).collect().height == 200
