"""Older versions, calls that stand for tables, and feeds of changes in DuckDB's dialect."""

import time
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, connect, write_deltalake
from deltaarrow.errors import (
    ChangeDataNotRecordedError,
    TableNotFoundError,
    UnsupportedFeatureError,
    VersionNotFoundError,
)

FEED = {"delta.enableChangeDataFeed": "true"}


@pytest.fixture
def lake(tmp_path):
    """`orders`: version 0 has the ids 1 and 2, version 1 also 3, version 2 no longer 1."""
    folder = tmp_path / "lake" / "orders"
    write_deltalake(folder, pa.table({"id": [1, 2], "p": [1, 1]}), partition_by=["p"], configuration=FEED)
    write_deltalake(folder, pa.table({"id": [3], "p": [2]}), mode="append")
    DeltaTable(folder).delete("id = 1")
    return tmp_path / "lake"


@pytest.fixture
def con(lake):
    with connect() as connection:
        yield connection.attach(lake, "lake").register("pinned", lake / "orders")


def ids(con, sql, params=None):
    return sorted(row[0] for row in con.execute(sql, params).fetchall())


@pytest.mark.parametrize(
    "table",
    [
        "delta.'{lake}/orders' AT (VERSION => {n})",
        "delta.`{lake}/orders` at (version => {n}) AS t",
        "lake.orders AT (VERSION=>{n}) t",
        "pinned AT (VERSION => {n})",
        "delta_scan('{lake}/orders', version => {n})",
        "(SELECT * FROM lake.orders AT (VERSION => {n}))",
    ],
)
def test_version_is_read_by_each_name(con, lake, table):
    for n, expected in enumerate([[1, 2], [1, 2, 3], [2, 3]]):
        assert ids(con, f"SELECT id FROM {table.format(lake=lake, n=n)} WHERE id > 0") == expected


def test_versions_of_one_table_meet_in_a_statement(con):
    sql = (
        "SELECT o.id FROM lake.orders AT (VERSION => 0) AS o ANTI JOIN lake.orders n USING (id)"
        " UNION ALL SELECT orders.id FROM lake.orders AT (VERSION => 1) WHERE lake.orders.p = 2"
    )
    assert ids(con, sql) == [1, 3]


def test_conditions_skip_files_of_older_versions(con, lake):
    [found] = con.explain("SELECT id FROM lake.orders AT (VERSION => 1) AS t WHERE t.p = 2")
    assert (found.files, found.left_files) == (2, 1)
    [found] = con.explain(f"SELECT id FROM delta_scan('{lake}/orders') WHERE delta_scan.p = 1")
    assert (found.files, found.left_files) == (2, 1)


def test_parameters_say_version_and_time(con, lake):
    sql = "SELECT id FROM lake.orders AT (VERSION => ?) WHERE id < ? AND ? = 1"
    assert ids(con, sql, [1, 3, 1]) == [1, 2]
    assert ids(con, "SELECT id FROM lake.orders AT (VERSION => $v) WHERE id < $n", {"v": 1, "n": 3}) == [1, 2]
    assert con.explain("SELECT id FROM lake.orders AT (VERSION => ?) WHERE p = ?", [1, 2])[0].left_files == 1
    milliseconds = DeltaTable(lake / "orders").history(1)[0]["timestamp"]
    newest = datetime.fromtimestamp(milliseconds / 1000, UTC)
    assert ids(con, "SELECT id FROM lake.orders AT (TIMESTAMP => ?)", [newest]) == [2, 3]
    assert ids(con, "SELECT id FROM lake.orders AT (TIMESTAMP => ?)", [newest.isoformat()]) == [2, 3]
    assert ids(con, "FROM table_changes(?, ?, 1) SELECT id", ["lake.orders", 1]) == [3]


def test_times_are_those_of_duckdb(con, lake):
    time.sleep(0.005)
    between = datetime.now(UTC)
    time.sleep(0.005)
    write_deltalake(lake / "orders", pa.table({"id": [9], "p": [9]}), mode="append")
    text = between.strftime("%Y-%m-%d %H:%M:%S.%f")
    assert ids(con, f"SELECT id FROM lake.orders AT (TIMESTAMP => '{text}+00')") == [2, 3]
    assert ids(con, f"SELECT id FROM lake.orders AT (TIMESTAMP => TIMESTAMPTZ '{text}+00')") == [2, 3]
    con.execute("SET TimeZone = 'Asia/Tokyo'")
    shown = f"TIMESTAMP '{text}' + INTERVAL 9 HOURS"
    assert ids(con, f"SELECT id FROM lake.orders AT (TIMESTAMP => {shown})") == [2, 3]
    assert ids(con, f"SELECT id FROM lake.orders AT (TIMESTAMP => {shown} - INTERVAL 2 MILLISECONDS)") == [
        2,
        3,
    ]
    with pytest.raises(VersionNotFoundError, match="is after the newest version"):
        con.sql("SELECT id FROM lake.orders AT (TIMESTAMP => now() + INTERVAL 1 DAY)")
    with pytest.raises(VersionNotFoundError, match="no version is as old as"):
        con.sql("SELECT id FROM lake.orders AT (TIMESTAMP => DATE '1990-01-01')")


def test_changes_are_read_by_name_and_by_place(con, lake):
    expected = [(1, "delete", 2), (3, "insert", 1)]
    for call in ("table_changes('lake.orders', 1)", f"table_changes_by_path('{lake}/orders', 1, 9)"):
        sql = f"SELECT id, _change_type, _commit_version FROM {call} ORDER BY id"
        assert con.sql(sql).fetchall() == expected
    sql = "SELECT c.id FROM table_changes('pinned', 0, 2) c JOIN lake.orders AS o ON o.id = c.id"
    assert ids(con, sql) == [2, 3]
    assert ids(
        con, "SELECT id FROM table_changes('lake.orders', '1990-01-01') WHERE _commit_version = 0"
    ) == [
        1,
        2,
    ]


def test_changes_follow_new_versions(con, lake):
    sql = "SELECT count(*) FROM table_changes('lake.orders', 2)"
    assert ids(con, sql) == [1]
    write_deltalake(lake / "orders", pa.table({"id": [4], "p": [4]}), mode="append")
    assert ids(con, sql) == [2]


def test_older_versions_of_a_table_that_is_made_anew_are_the_new_ones(con, lake):
    import shutil

    sql = "SELECT id FROM lake.orders AT (VERSION => 0)"
    assert ids(con, sql) == [1, 2]
    shutil.rmtree(lake / "orders")
    assert_gone = "FROM lake.orders"
    with pytest.raises(TableNotFoundError, match="in lake are no tables"):
        con.execute(assert_gone)
    for n in (7, 8):
        write_deltalake(lake / "orders", pa.table({"id": [n]}), mode="append")
    assert ids(con, sql) == [7]


@pytest.mark.parametrize(
    ("sql", "error", "message"),
    [
        ("FROM lake.orders AT (VERSION => 7)", VersionNotFoundError, "7"),
        ("FROM lake.orders AT (VERSION => 1 + 1)", UnsupportedFeatureError, "is no version"),
        ("FROM lake.orders AT (VERSION => -1)", UnsupportedFeatureError, "is no version"),
        ("FROM lake.orders AT (VERSION => 'x')", UnsupportedFeatureError, "is no version"),
        ("FROM lake.orders AT (TIMESTAMP => NULL)", UnsupportedFeatureError, "no time"),
        ("FROM delta_scan('/nowhere')", TableNotFoundError, "nowhere"),
        ("FROM delta_scan('/a' || '/b')", UnsupportedFeatureError, "takes texts"),
        ("FROM delta_scan(['/a'])", UnsupportedFeatureError, "takes texts"),
        ("FROM delta_scan('/a', pushdown => true)", UnsupportedFeatureError, "no argument 'pushdown'"),
        ("FROM table_changes('lake.orders')", UnsupportedFeatureError, "a first and possibly a last"),
        ("FROM table_changes('lake.nothing', 0)", TableNotFoundError, "lake.nothing"),
        ("FROM table_changes('lake.orders; DROP', 0)", UnsupportedFeatureError, "the end is expected"),
        ("FROM table_changes('lake.orders', 5)", VersionNotFoundError, "version 5 does not exist"),
        ("CREATE VIEW v AS FROM delta_scan('/a')", TableNotFoundError, "/a"),
    ],
)
def test_what_has_no_meaning_is_refused_by_name(con, sql, error, message):
    with pytest.raises(error, match=message):
        con.execute(sql)


def test_feed_that_was_not_recorded_is_told(con, lake):
    write_deltalake(lake / "plain", pa.table({"id": [1]}))
    with pytest.raises(ChangeDataNotRecordedError):
        con.execute("FROM table_changes('lake.plain', 0)")


def test_texts_that_look_like_calls_stay_texts(con):
    sql = "SELECT 'FROM table_changes(''x'', 1)', 'a AT (VERSION => 1)', id FROM lake.orders ORDER BY id"
    assert con.execute(sql).fetchall()[0] == ("FROM table_changes('x', 1)", "a AT (VERSION => 1)", 2)
    assert con.execute("SELECT timestamp '2026-01-01' AT TIME ZONE 'UTC' IS NULL").fetchall() == [(False,)]
