"""Row ids and row commit versions, the same from every engine."""

import duckdb
import pyarrow as pa
import pytest

from deltaarrow.engines import register, scan_delta
from deltaarrow.errors import CorruptLogError, SchemaMismatchError
from deltaarrow.scan.row_tracking import ROW_COMMIT_VERSION, ROW_ID
from tests.support.engines import open_snapshot
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
    with duckdb.connect() as connection:
        register(connection, "t", open_snapshot(tmp_path), native=True, row_tracking=True)
        found = connection.sql(f'SELECT "{ROW_ID}" FROM t').fetchall()
        types = connection.sql("FROM t").types
    assert sorted(found) == sorted((row["row_id"],) for row in TRACKED)
    assert [str(each) for each in types[-2:]] == ["BIGINT", "BIGINT"]


def test_polars_reads_the_files_itself_where_row_ids_are_not_used(tmp_path):
    tracked_table(tmp_path)
    frame = scan_delta(open_snapshot(tmp_path), row_tracking=True)
    assert "deltaarrow" not in frame.select("id").explain()
    assert "where rows stand" in frame.select(ROW_ID).explain()
    assert frame.head(3).collect().height == 3
