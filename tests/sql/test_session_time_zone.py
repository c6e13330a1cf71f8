"""Statements in a session time zone; `sql/statements/time_zone.sql` has what Spark gives."""

import datetime
import time

import pyarrow as pa
import pytest

import deltaarrow
from deltaarrow.errors import ConstraintViolationError, UnsupportedFeatureError


@pytest.fixture
def con():
    with deltaarrow.connect(dialect="spark") as connection:
        connection.sql("SET TIME ZONE 'Asia/Kolkata'")
        yield connection


@pytest.fixture
def table(con, tmp_path):
    name = f"delta.`{tmp_path / 'events'}`"
    con.sql(f"CREATE TABLE {name} (id INT, at TIMESTAMP, day DATE GENERATED ALWAYS AS (CAST(at AS DATE)))")
    con.sql(f"ALTER TABLE {name} ADD CONSTRAINT recent CHECK (at >= '2024-01-01 00:00:00')")
    con.sql(f"INSERT INTO {name} (id, at) VALUES (1, '2024-01-01 00:00:00')")
    return name


def values(relation):
    return [tuple(row.values()) for row in relation.to_arrow_table().to_pylist()]


def test_duckdb_shows_times_in_utc_until_a_statement_says_otherwise():
    zone = "SELECT current_setting('TimeZone')"
    with deltaarrow.connect(dialect="spark") as connection:
        for each in (connection, connection.cursor()):
            assert each.connection.execute(zone).fetchall() == [("UTC",)]


def test_constraints_and_generated_columns_have_the_zone(con, table):
    with pytest.raises(ConstraintViolationError, match="recent"):
        con.sql(f"INSERT INTO {table} (id, at) VALUES (2, TIMESTAMP '2023-12-31 23:59:59')")
    with pytest.raises(ConstraintViolationError, match="Generated Column"):
        con.sql(f"INSERT INTO {table} VALUES (2, TIMESTAMP '2024-07-01 20:00:00 UTC', DATE '2024-07-01')")
    con.sql(f"INSERT INTO {table} VALUES (2, TIMESTAMP '2024-07-01 20:00:00 UTC', DATE '2024-07-02')")
    con.sql("SET TIME ZONE 'UTC'")
    with pytest.raises(ConstraintViolationError, match="recent"):
        con.sql(f"UPDATE {table} SET id = 3 WHERE id = 1")


def test_defaults_have_the_zone_of_the_write(con, tmp_path):
    name = f"delta.`{tmp_path / 'defaults'}`"
    con.sql(
        f"CREATE TABLE {name} (id INT, at TIMESTAMP DEFAULT TIMESTAMP '2024-07-01 12:00:00')"
        " TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')"
    )
    con.sql(f"INSERT INTO {name} (id) VALUES (1)")
    con.sql(f"INSERT INTO {name} VALUES (2, DEFAULT)")
    con.sql("SET TIME ZONE 'UTC'")
    con.sql(f"INSERT INTO {name} (id) VALUES (3)")
    assert values(con.sql(f"SELECT id, hour(at), minute(at) FROM {name} ORDER BY id")) == [
        (1, 6, 30),
        (2, 6, 30),
        (3, 12, 0),
    ]


def test_times_of_versions_have_the_zone(con, table, tmp_path):
    time.sleep(0.01)
    after = datetime.datetime.now(datetime.UTC)
    time.sleep(0.01)
    con.sql(f"INSERT INTO {table} (id, at) VALUES (2, '2024-01-02')")
    local = (after + datetime.timedelta(hours=5, minutes=30)).replace(tzinfo=None).isoformat(" ")
    assert values(con.sql(f"SELECT id FROM {table} TIMESTAMP AS OF '{local}'")) == [(1,)]
    con.sql(f"CREATE TABLE delta.`{tmp_path / 'c'}` SHALLOW CLONE {table} TIMESTAMP AS OF '{local}'")
    assert values(con.sql(f"SELECT id FROM delta.`{tmp_path / 'c'}`")) == [(1,)]
    con.sql(f"RESTORE {table} TO TIMESTAMP AS OF '{local}'")
    assert values(con.sql(f"SELECT id FROM {table}")) == [(1,)]


def test_feed_of_changes_begins_at_a_local_time(con, tmp_path):
    path = tmp_path / "feed"
    deltaarrow.write_deltalake(
        path, pa.table({"id": [1]}), configuration={"delta.enableChangeDataFeed": "true"}
    )
    time.sleep(0.01)
    after = datetime.datetime.now(datetime.UTC)
    time.sleep(0.01)
    deltaarrow.write_deltalake(path, pa.table({"id": [2]}), mode="append")
    local = (after + datetime.timedelta(hours=5, minutes=30)).replace(tzinfo=None).isoformat(" ")
    found = con.sql(f"SELECT id FROM table_changes_by_path('{path}', '{local}')")
    assert values(found) == [(2,)]


def test_results_of_statements_show_local_times(con, table):
    (shown, *_) = con.sql(f"DESCRIBE HISTORY {table}").column("timestamp").to_pylist()
    assert shown.utcoffset() == datetime.timedelta(hours=5, minutes=30)
    con.sql("SET TIME ZONE 'Asia/Tokyo'")
    (local, *_) = con.sql(f"DESCRIBE HISTORY {table}").column("timestamp").to_pylist()
    assert (local, local.utcoffset()) == (shown, datetime.timedelta(hours=9))
    found = con.sql("SELECT TIMESTAMP '2024-07-01 12:00:00' AS at").to_arrow_table()
    assert str(found["at"][0]) == "2024-07-01 12:00:00+09:00"


def test_view_keeps_the_zone_in_which_it_was_made(con, table):
    con.sql(f"CREATE TEMP VIEW hours AS SELECT hour(at) AS hour FROM {table}")
    con.sql("SET TIME ZONE 'UTC'")
    assert values(con.sql("SELECT hour FROM hours")) == [(0,)]


def test_statements_of_another_cursor_are_in_utc(con, table):
    assert values(con.cursor().sql(f"SELECT hour(at), current_timezone() FROM {table}")) == [(18, "UTC")]


def test_local_times_of_old_partitions_are_refused(con, tmp_path):
    name = f"delta.`{tmp_path / 'parts'}`"
    con.sql(f"CREATE TABLE {name} (id INT, at TIMESTAMP) PARTITIONED BY (at)")
    con.sql(f"INSERT INTO {name} VALUES (1, TIMESTAMP '2024-07-01 12:00:00'), (2, NULL)")
    commit = tmp_path / "parts" / "_delta_log" / f"{1:020}.json"
    assert '"2024-07-01T06:30:00.000000Z"' in commit.read_text()
    assert values(con.sql(f"SELECT hour(at) FROM {name} WHERE at = '2024-07-01 12:00:00'")) == [(12,)]
    commit.write_text(commit.read_text().replace("2024-07-01T06:30:00.000000Z", "2024-07-01 06:30:00"))
    with deltaarrow.connect(dialect="spark") as fresh:
        assert values(fresh.sql(f"SELECT hour(at) FROM {name} WHERE id = 1")) == [(6,)]
        fresh.sql("SET TIME ZONE 'Asia/Kolkata'")
        for statement in (f"SELECT * FROM {name}", f"DELETE FROM {name} WHERE id = 1"):
            with pytest.raises(UnsupportedFeatureError, match=r"the partition column at .* has local times"):
                fresh.sql(statement)


def test_times_by_another_calendar_are_refused(con):
    con.connection.execute("SET Calendar = 'japanese'")
    with pytest.raises(UnsupportedFeatureError, match="not gregorian"):
        con.sql("SELECT hour(current_timestamp())").to_arrow_table()
    con.connection.execute("SET Calendar = 'gregorian'")
    con.sql("SELECT hour(current_timestamp())").to_arrow_table()
