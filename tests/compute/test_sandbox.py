"""The sandbox: untrusted SQL computes, and reaches nothing."""

import datetime
import os

import duckdb
import pyarrow as pa
import pytest

from deltaarrow.compute import database, files_cursor, sandbox_cursor
from deltaarrow.storage import open_store
from tests.support.stores import fork


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM read_csv('/etc/passwd')",
        "FROM '/etc/passwd'",
        "SELECT * FROM glob('/etc/*')",
        "COPY (SELECT 1) TO '{tmp}/out.csv'",
        "COPY (SELECT 1) TO '{spill}/out.csv'",
        "SELECT * FROM read_text('{spill}/given')",
        "EXPORT DATABASE '{tmp}/out'",
        "ATTACH '{tmp}/out.db'",
        "INSTALL httpfs",
        "LOAD '{tmp}/x.duckdb_extension'",
        "SELECT getenv('HOME')",
        "SELECT * FROM read_parquet('memory://sandbox/f.parquet')",
        "FROM secret",
        "SET enable_external_access = true",
        "SET lock_configuration = false",
        "SET TimeZone = 'Asia/Tokyo'",
        "SET temp_directory = '{tmp}'",
        "SET memory_limit = '1TB'",
        "RESET enable_external_access",
        "SET python_enable_replacements = true",
    ],
)
def test_nothing_is_reached(sql: str, tmp_path) -> None:
    secret = pa.table({"a": [1]})  # noqa: F841
    open_store("memory://sandbox").write("f.parquet", b"")
    with files_cursor(open_store("memory://sandbox")) as cursor:
        spill = cursor.execute("SELECT current_setting('temp_directory')").fetchone()[0]
    os.makedirs(spill, exist_ok=True)  # as DuckDB does when it first spills
    with open(f"{spill}/given", "w") as given:
        given.write("another's spilled rows")
    with sandbox_cursor() as cursor, pytest.raises(duckdb.Error):
        cursor.execute(sql.format(tmp=tmp_path, spill=spill)).fetchall()
    assert list(tmp_path.iterdir()) == []


def test_arrow_comes_in_and_goes_out() -> None:
    with sandbox_cursor() as cursor:
        cursor.register("given", pa.table({"a": [1, 2, None]}))
        found = cursor.sql("SELECT a + 1 AS b FROM given").to_arrow_table()
    assert found.to_pydict() == {"b": [2, 3, None]}
    with sandbox_cursor() as cursor, pytest.raises(duckdb.CatalogException):
        cursor.execute("FROM given")


def test_times_are_in_utc() -> None:
    with sandbox_cursor() as cursor:
        sql = "SELECT '2026-01-02 03:04:05'::TIMESTAMPTZ AS t, current_setting('TimeZone') AS zone"
        [row] = cursor.sql(sql).to_arrow_table().to_pylist()
    assert row["zone"] == "UTC"
    assert row["t"] == datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)


def test_after_a_fork() -> None:
    def answer() -> int:
        with sandbox_cursor() as cursor:
            return cursor.execute("SELECT sum(range) FROM range(1000000)").fetchone()[0]

    assert answer() == fork(answer) == 499999500000


def test_it_is_made_once() -> None:
    with sandbox_cursor():
        made = database._pool.databases["sandbox"]
    with sandbox_cursor():
        assert database._pool.databases["sandbox"] is made
