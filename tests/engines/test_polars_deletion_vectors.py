"""Deleted rows in Polars, through its private hook and through public functions only."""

import datetime

import polars as pl
import pyarrow as pa
import pytest

from deltaarrow.engines.polars import native_scan as polars_native
from deltaarrow.engines.polars.lazy_frame import scan_delta
from deltaarrow.engines.polars.private_hooks import VERIFIED, is_hook_verified
from deltaarrow.errors import CorruptDeletionVectorError
from tests.support.tables import TableBuilder

pytestmark = pytest.mark.feature("deletionVectors")

SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.string())])
ROWS = 1000
DELETED = {0: [0, 1, 2, 500, 999], 2: list(range(0, 1000, 3))}


@pytest.fixture(params=["hook", "public"])
def way(request, monkeypatch):
    """Both ways, whatever version of Polars is installed."""
    if request.param == "hook" and not is_hook_verified():
        pytest.fail(f"polars {pl.__version__} is not one of {VERIFIED}: verify the hook, then add it")
    monkeypatch.setattr(polars_native, "is_hook_verified", lambda: request.param == "hook")
    return request.param


@pytest.fixture
def table(tmp_path):
    """Three files of two partitions with row groups of 100 rows; the first and the last have deleted rows."""
    builder = TableBuilder(tmp_path).features("deletionVectors").metadata(SCHEMA, ["p"])
    adds = []
    for number in range(3):
        ids = pa.table({"id": pa.array(range(number * ROWS, (number + 1) * ROWS), pa.int64())})
        deleted = builder.deletion_vector(DELETED[number]) if number in DELETED else None
        partition = {"p": "a" if number < 2 else "b %"}
        adds.append(
            builder.add_file(
                ids,
                partition,
                name=f"f {number}[*].parquet".replace(" ", "%20"),
                parquet={"row_group_size": 100},
                deletion_vector=deleted,
            )
        )
    for add in adds:
        name = add["add"]["path"]
        (tmp_path / name).rename(tmp_path / name.replace("%20", " "))
    builder.commit(adds)
    return builder


LIVE = [n for n in range(3 * ROWS) if n % ROWS not in DELETED.get(n // ROWS, ())]


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_deleted_rows_do_not_show(table, way, engine):
    frame = scan_delta(table.path)
    assert sorted(frame.collect(engine=engine)["id"]) == LIVE
    assert frame.select(pl.len()).collect(engine=engine).item() == len(LIVE)
    assert frame.select("p").collect(engine=engine).height == len(LIVE)


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_filters_count_rows_from_the_beginning_of_the_file(table, way, engine):
    """Row groups and rows that a filter leaves out have positions too."""
    for condition, keep in (
        (pl.col("id") >= 450, lambda n: n >= 450),
        (pl.col("id").is_in([500, 501, 999, 2997, 2998]), lambda n: n in (500, 501, 999, 2997, 2998)),
        (pl.col("id") % 7 == 0, lambda n: n % 7 == 0),
        (pl.col("p") == "b %", lambda n: n >= 2000),
        ((pl.col("p") == "b %") & (pl.col("id") > 2500), lambda n: n > 2500),
    ):
        found = scan_delta(table.path).filter(condition).collect(engine=engine)
        assert sorted(found["id"]) == [n for n in LIVE if keep(n)]


def test_slices(table, way):
    frame = scan_delta(table.path)
    order = frame.collect()["id"].to_list()
    for offset, length in ((0, 5), (3, 700), (900, 200), (-10, 5), (1990, 1000)):
        found = frame.slice(offset, length).collect()["id"].to_list()
        expected = pl.Series(order).slice(offset, length).to_list()
        if way == "hook":  # where every file is in one scan, pages fit together
            assert found == expected
        assert len(set(found)) == len(expected)
        assert set(found) <= set(LIVE)


def test_a_column_of_the_name_that_row_positions_would_have(tmp_path, way):
    builder = TableBuilder(tmp_path).features("deletionVectors").metadata(pa.schema([("row", pa.int64())]))
    deleted = builder.deletion_vector([1])
    builder.commit([builder.add_file(pa.table({"row": [7, 8, 9]}), deletion_vector=deleted)])
    assert scan_delta(tmp_path).collect()["row"].to_list() == [7, 9]


def test_a_file_of_deleted_rows_alone(tmp_path, way):
    builder = TableBuilder(tmp_path).features("deletionVectors").metadata(pa.schema([("id", pa.int64())]))
    deleted = builder.deletion_vector(range(3))
    builder.commit([builder.add_file(pa.table({"id": [1, 2, 3]}), deletion_vector=deleted)])
    assert scan_delta(tmp_path).collect().shape == (0, 1)
    assert scan_delta(tmp_path).select(pl.len()).collect().item() == 0


def test_a_vector_that_reaches_beyond_its_file_is_an_error(tmp_path, way):
    builder = TableBuilder(tmp_path).features("deletionVectors").metadata(pa.schema([("id", pa.int64())]))
    deleted = builder.deletion_vector([1, 3])
    builder.commit([builder.add_file(pa.table({"id": [1, 2, 3]}), deletion_vector=deleted)])
    with pytest.raises(CorruptDeletionVectorError, match="row 3"):
        scan_delta(tmp_path).collect()


def test_a_vector_that_reaches_beyond_a_file_of_unknown_length(tmp_path, way):
    builder = TableBuilder(tmp_path).features("deletionVectors").metadata(pa.schema([("id", pa.int64())]))
    deleted = builder.deletion_vector([1, 3])
    builder.commit([builder.add_file(pa.table({"id": [1, 2, 3]}), stats=False, deletion_vector=deleted)])
    with pytest.raises(CorruptDeletionVectorError, match="row 3"):
        scan_delta(tmp_path).collect()


def test_a_broken_vector_is_an_error(table, way):
    vector = next(table.path.glob("deletion_vector_*.bin"))
    vector.write_bytes(vector.read_bytes()[:-1] + b"\x00")
    with pytest.raises(CorruptDeletionVectorError):
        scan_delta(table.path).collect()


def test_head_counts_live_rows(tmp_path, way):
    builder = TableBuilder(tmp_path).features("deletionVectors").metadata(pa.schema([("id", pa.int64())]))
    masked = builder.add_file(pa.table({"id": [1, 2, 3]}), deletion_vector=builder.deletion_vector([0, 1]))
    builder.commit([masked, builder.add_file(pa.table({"id": [4, 5]}))])
    assert scan_delta(tmp_path).head(3).collect().height == 3


def test_the_hook_is_for_verified_versions_alone():
    assert not is_hook_verified("99.0.0")
    assert not is_hook_verified(f"{VERIFIED[0][0]}.{VERIFIED[0][1]}9.0")
    assert all(is_hook_verified(f"{major}.{minor}.3") for major, minor in VERIFIED)


def test_a_large_vector_is_quick(tmp_path, way):
    """A million rows with every second one deleted: the mask is made by columns, not by rows."""
    builder = TableBuilder(tmp_path).features("deletionVectors").metadata(pa.schema([("id", pa.int64())]))
    ids = pa.table({"id": pa.array(range(1_000_000), pa.int64())})
    builder.commit([builder.add_file(ids, deletion_vector=builder.deletion_vector(range(0, 1_000_000, 2)))])
    started = datetime.datetime.now()
    assert scan_delta(tmp_path).select(pl.col("id").sum()).collect().item() == sum(range(1, 1_000_000, 2))
    assert datetime.datetime.now() - started < datetime.timedelta(seconds=5)
