"""Row ids and row commit versions, the same from every engine."""

import math
import operator
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, strategies as st

from deltaarrow.engines import register, scan_delta
from deltaarrow.errors import CorruptLogError, SchemaMismatchError
from deltaarrow.expressions import Column, Compare, IsIn, Literal, Or
from deltaarrow.scan.row_id_columns import ROW_COMMIT_VERSION, ROW_ID, may_hold
from tests.support.duckdb_session import duckdb_session
from tests.support.engines import ENGINES, open_snapshot
from tests.support.row_tracking import TRACKED, tracked_table
from tests.support.tables import TableBuilder

pytestmark = pytest.mark.feature("rowTracking")


def expected(*columns, where=lambda row: True):
    """Rows of `tracked_table`, the way an engine names its columns."""
    names = {name: f"_metadata.{name}" if name.startswith("row_") else name for name in columns}
    rows = ({shown: row[name] for name, shown in names.items()} for row in TRACKED if where(row))
    return sorted(rows, key=repr)


@pytest.mark.parametrize("stats", [True, False])
def test_row_ids_come_after_the_columns_of_the_table(engine, tmp_path, stats):
    tracked_table(tmp_path, stats)
    everything = ("id", "p", "row_id", "row_commit_version")
    assert engine(tmp_path, row_tracking=True) == expected(*everything)
    assert engine(tmp_path) == expected("id", "p")


@pytest.mark.parametrize(
    ("where", "keep"),
    [
        (f'"{ROW_ID}" = 201', lambda row: row["row_id"] == 201),
        (f'"{ROW_ID}" < 104', lambda row: row["row_id"] < 104),
        (f'"{ROW_COMMIT_VERSION}" >= 2', lambda row: row["row_commit_version"] >= 2),
        (f'"{ROW_ID}" IS NULL', lambda row: False),
        ("id >= 4", lambda row: row["id"] >= 4),
        ("id = 22", lambda row: row["id"] == 22),
        ("p = 'b'", lambda row: row["p"] == "b"),
        (f"p = 'b' AND \"{ROW_ID}\" > 7", lambda row: row["p"] == "b" and row["row_id"] > 7),
    ],
)
def test_filters_and_columns(engine, tmp_path, where, keep):
    tracked_table(tmp_path)
    everything = ("id", "p", "row_id", "row_commit_version")
    assert engine(tmp_path, None, where, row_tracking=True) == expected(*everything, where=keep)
    for columns in (["id"], [ROW_ID], [ROW_COMMIT_VERSION], [ROW_COMMIT_VERSION, "p", ROW_ID]):
        short = [name.removeprefix("_metadata.") for name in columns]
        assert engine(tmp_path, columns, where, row_tracking=True) == expected(*short, where=keep)


def test_tables_without_row_tracking_and_files_without_row_ids(engine, tmp_path):
    table = TableBuilder(tmp_path / "plain").protocol().metadata(pa.schema([("id", pa.int64())]))
    table.commit([table.add_file(pa.table({"id": [1]}))])
    with pytest.raises(SchemaMismatchError, match="rowTracking"):
        engine(tmp_path / "plain", row_tracking=True)
    table = tracked_table(tmp_path / "bare")
    table.commit([table.add_file(pa.table({"id": [1]}), {"p": "b"}, name="bare.parquet")])
    with pytest.raises(Exception, match=r"bare\.parquet has no baseRowId") as caught:
        engine(tmp_path / "bare", row_tracking=True)
    if engine.name == "duckdb":
        assert isinstance(caught.value, CorruptLogError)


def test_empty_tables(engine, tmp_path):
    table = tracked_table(tmp_path)
    table.commit([table.remove({"add": add}) for add in table.live_files().values()])
    assert engine(tmp_path, row_tracking=True) == []


def test_duckdb_reads_the_files_itself(tmp_path):
    tracked_table(tmp_path)
    with duckdb_session() as connection:
        register(connection, "t", open_snapshot(tmp_path), native=True, row_tracking=True)
        found = connection.sql(f'SELECT "{ROW_ID}" FROM t').fetchall()
        types = connection.sql("FROM t").types
    assert sorted(found) == sorted((row["row_id"],) for row in TRACKED)
    assert [str(each) for each in types[-2:]] == ["BIGINT", "BIGINT"]


def test_polars_reads_the_files_itself_where_row_ids_are_not_used(tmp_path):
    tracked_table(tmp_path)
    frame = scan_delta(open_snapshot(tmp_path), row_tracking=True)
    assert "deltaarrow" not in frame.select("id").explain()
    assert "the positions of rows" in frame.select(ROW_ID).explain()
    assert frame.head(3).collect().height == 3


@pytest.mark.parametrize("engine_name", ["dataset", "polars"])
def test_row_groups_of_other_row_ids_are_not_read(tmp_path, engine_name):
    """Unless the file has ids of its own; what the log says of it is then no more than a default."""
    table = tracked_table(tmp_path)
    (plain, *_) = (add for add in table.live_files().values() if add["baseRowId"] == 300)
    file = tmp_path / plain["path"]
    group = pq.read_metadata(file).row_group(1).column(0)
    content = bytearray(file.read_bytes())
    start = group.data_page_offset if group.dictionary_page_offset is None else group.dictionary_page_offset
    content[start : start + group.total_compressed_size] = bytes(group.total_compressed_size)
    file.write_bytes(content)

    def found(where):
        return ENGINES[engine_name](open_snapshot(tmp_path), ["id"], where, row_tracking=True)[
            "id"
        ].to_pylist()

    for where, ids in (
        ("< 302", [1, 3, 4, 5, 10, 11, 13, 20, 21]),
        ("= 300", [20]),
        ("IN (2, 301)", [13, 21]),
    ):
        assert sorted(found(f'"{ROW_ID}" {where}')) == ids
    for where in (">= 302", "= 302", "IN (2, 302)", "!= 301"):
        with pytest.raises(Exception, match=re.escape(plain["path"])):
            found(f'"{ROW_ID}" {where}')


@given(
    st.sampled_from(["=", "!=", "<", "<=", ">", ">="]),
    st.integers(-3, 8) | st.floats(-3, 8) | st.just(math.nan),
    st.integers(0, 4),
    st.integers(0, 3),
)
@example("=", 1.5, 0, 3)
def test_what_row_ids_may_match(op, value, first, count):
    ids = range(first, first + count)
    compare = {"=": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}[op]
    expected = any(getattr(operator, compare)(each, value) for each in ids)
    found = may_hold(Compare(op, Column((ROW_ID,)), Literal(value)), ids)
    assert found == expected or (math.isnan(value) and found)
    either = Or((Compare(op, Column((ROW_ID,)), Literal(value)), Compare("=", Column(("id",)), Literal(1))))
    assert may_hold(either, ids)
    if not math.isnan(value):
        assert may_hold(IsIn(Column((ROW_ID,)), (value,)), ids) >= any(each == value for each in ids)
