"""What a name in a query of Spark's dialect may refer to."""

import datetime
import os

import pyarrow as pa
import pyarrow.parquet
import pytest

import deltaarrow
from deltaarrow.errors import (
    ConstraintViolationError,
    SchemaMismatchError,
    TableNotFoundError,
    UnsupportedFeatureError,
)


@pytest.fixture
def con(tmp_path):
    pa.parquet.write_table(pa.table({"id": [8]}), tmp_path / "secret.parquet")
    with deltaarrow.connect(dialect="spark") as connection:
        yield connection


def test_tables_and_views_of_duckdb_are_found(con):
    con.connection.execute("CREATE TABLE own AS SELECT 1 AS id; CREATE SCHEMA s; CREATE VIEW s.v AS FROM own")
    con.register("shown", pa.table({"id": [2]}))
    for name, found in (("OWN", 1), ("s.v", 1), ("memory.s.v", 1), ("shown", 2)):
        assert con.sql(f"SELECT id FROM {name}").fetchall() == [(found,)]


@pytest.mark.parametrize("native", ["auto", False])
def test_a_table_is_registered_by_the_function_too(con, tmp_path, native):
    """Its own statements are in DuckDB's dialect whatever that of the connection is."""
    deltaarrow.write_deltalake(tmp_path / "t", pa.table({"id": [1, 2]}))
    for version in (0, 1):
        table = deltaarrow.DeltaTable(tmp_path / "t")
        deltaarrow.register(con, "shown", table, native=native)
        assert con.sql("SELECT count(*) FROM shown").fetchall() == [(2 + version,)]
        deltaarrow.write_deltalake(tmp_path / "t", pa.table({"id": [3]}), mode="append")


def test_a_string_is_no_name_of_a_file(con, tmp_path):
    with pytest.raises(UnsupportedFeatureError, match="PARSE_SYNTAX_ERROR"):
        con.sql(f"SELECT * FROM '{tmp_path / 'secret.parquet'}'")


@pytest.mark.parametrize("name", ["`{file}`", "variable", "main.variable", "v", "duckdb_types"])
def test_files_and_variables_are_not_tables(con, tmp_path, name):
    variable = pa.table({"id": [9]})
    con.connection.execute("CREATE SCHEMA s; CREATE VIEW s.v AS SELECT 1 AS id")
    with pytest.raises(TableNotFoundError, match="TABLE_OR_VIEW_NOT_FOUND"):
        con.sql(f"SELECT * FROM {name.format(file=tmp_path / 'secret.parquet')}")
    assert variable.num_rows == 1


def test_times_of_versions_are_in_utc_whatever_the_zone_of_the_connection(con, tmp_path):
    path = f"{tmp_path}/t"
    for number in range(2):
        deltaarrow.write_deltalake(path, pa.table({"id": [number]}), mode="append")
        os.utime(f"{path}/_delta_log/{number:020}.json", (86_400 * number, 86_400 * number))
    con.connection.execute("SET TimeZone = 'Asia/Tokyo'")
    for time, rows in (("1970-01-01 23:00:00", 1), ("1970-01-02 00:00:00", 2)):
        text = f"SELECT count(*) FROM delta.`{path}` TIMESTAMP AS OF '{time}'"
        assert con.sql(text).fetchall() == [(rows,)]


def test_a_timestamp_is_fetched_as_a_value_of_python(con):
    moment = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
    assert con.sql("SELECT TIMESTAMP '2026-01-02 03:04:05'").fetchall() == [(moment,)]


def test_fields_of_struct_are_named_as_they_are_written(con):
    found = con.sql(
        "SELECT struct(x, X + 1, y.b, from_json('{}', 'c INT').c, x AS z) AS s"
        " FROM VALUES (1, named_struct('b', 2)) AS t(x, y)"
    ).to_arrow_table()
    assert [field.name for field in found.schema.field("s").type] == ["x", "col2", "b", "c", "z"]


@pytest.mark.parametrize("zone", ["UTC", None])
def test_times_of_a_registered_table_are_in_microseconds(con, tmp_path, zone):
    counts = {"ns": [2_000, -1_000, None], "ms": [1, 2, 3], "s": [1, 2, 3]}
    times = {unit: pa.array(found, pa.timestamp(unit, zone)) for unit, found in counts.items()}
    con.register("times", pa.table(times))
    found = con.sql("SELECT * FROM times").to_arrow_table()
    assert {str(field.type).partition(",")[0].rstrip("]") for field in found.schema} == {"timestamp[us"}
    kind = "TIMESTAMP" if zone else "TIMESTAMP_NTZ"
    (row,) = con.sql(f"SELECT second(s) FROM times WHERE ns = {kind} '1970-01-01 00:00:00.000002'").fetchall()
    assert row == (1,)
    con.sql(f"CREATE TABLE delta.`{tmp_path}/t` AS SELECT ns FROM times")
    written = deltaarrow.DeltaTable(tmp_path / "t").to_pyarrow_table()["ns"]
    assert written.cast("int64").to_pylist() == [2, -1, None]


@pytest.mark.parametrize("zone", ["UTC", None])
def test_a_time_below_microseconds_is_an_error_instead_of_another_time(con, tmp_path, zone):
    """DuckDB would round it, so that an INSERT would store another time."""
    con.register("times", pa.table({"id": [1], "at": pa.array([1_999], pa.timestamp("ns", zone))}))
    kind = "TIMESTAMP" if zone else "TIMESTAMP_NTZ"
    con.sql(f"CREATE TABLE delta.`{tmp_path}/t` (at {kind})")
    for statement in ("SELECT at FROM times", f"INSERT INTO delta.`{tmp_path}/t` SELECT at FROM times"):
        with pytest.raises(ConstraintViolationError, match=r"column 'at' .* below microseconds"):
            con.sql(statement).fetchall()
    assert deltaarrow.DeltaTable(tmp_path / "t").count() == 0
    assert con.sql("SELECT id FROM times").fetchall() == [(1,)]


SPANS = """
    SELECT TIMESTAMP'2024-01-02 00:00:00' - TIMESTAMP'2024-01-01 00:00:00.5' AS x,
        array(INTERVAL -1 SECOND, NULL) AS listed, named_struct('h', INTERVAL 1 HOUR) AS st,
        map('k', DATE'9999-12-31' - DATE'0001-01-01') AS m
"""


def test_intervals_reach_arrow_and_polars_as_durations(con):
    x, duration = datetime.timedelta(hours=23, minutes=59, seconds=59.5), pa.duration("us")
    nested = ([-datetime.timedelta(seconds=1), None], {"h": datetime.timedelta(hours=1)})
    most = [("k", datetime.timedelta(days=3_652_058))]
    tables = [
        con.sql(SPANS).to_arrow_table(),
        con.sql(SPANS).to_arrow_reader().read_all(),
        pa.table(con.sql(SPANS)),
        con.execute(SPANS).fetch_arrow_table(),
    ]
    for table in tables:
        assert table.schema.field("x").type == duration
        assert table.schema.field("listed").type.value_type == duration
        assert table.to_pylist() == [{"x": x, "listed": nested[0], "st": nested[1], "m": most}]
    assert con.sql(SPANS).fetchall()[0][0] == x
    assert con.sql(SPANS).pl().row(0)[:3] == (x, *nested)
    assert con.sql(SPANS).pl(lazy=True).collect().row(0)[0] == x


def test_intervals_of_sliced_and_empty_results_are_durations(con):
    rows = "SELECT id, INTERVAL '1' DAY * id AS x FROM range(5)"
    found = con.sql(f"SELECT x FROM ({rows}) WHERE id > 9").to_arrow_table()
    assert found.schema.field("x").type == pa.duration("us") and found.num_rows == 0
    days = con.sql(f"{rows} ORDER BY id").to_arrow_table()["x"].slice(2, 2).to_pylist()
    assert days == [datetime.timedelta(days=2), datetime.timedelta(days=3)]


def test_no_table_stores_an_interval(con, tmp_path):
    for select in ("INTERVAL 1 DAY AS x", "array(INTERVAL 1 DAY) AS x"):
        with pytest.raises(UnsupportedFeatureError, match=r"DELTA_UNSUPPORTED_DATA_TYPES.*column 'x'"):
            con.sql(f"CREATE TABLE delta.`{tmp_path}/t` USING delta AS SELECT {select}")
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize(
    ("call", "refusal"),
    [
        ("window(ts, '1 month')", "a length of months"),
        ("window(ts, '0 hours')", "VALUE_OUT_OF_RANGE"),
        ("window(ts, '1 hour', '2 hours')", "PARAMETER_CONSTRAINT_VIOLATION"),
        ("window(ts, '1 hour', '30 minutes', '31 minutes')", "PARAMETER_CONSTRAINT_VIOLATION"),
        ("window(ts, string(id))", "depends on rows"),
        ("window(id, '1 hour')", "UNEXPECTED_INPUT_TYPE"),
        ("window(ts, '1 hour'), window(ts, '1 day')", "several different windows"),
        ("session_window(ts, '0 seconds')", "a gap of 0 microseconds"),
        ("ROLLUP(session_window(ts, '1 hour'), id)", "session_window in ROLLUP"),
    ],
)
def test_windows_of_time_that_are_refused(con, call, refusal):
    rows = "(SELECT id, TIMESTAMP'2024-01-01 00:00:00' AS ts FROM range(3))"
    with pytest.raises((SchemaMismatchError, UnsupportedFeatureError), match=refusal):
        con.sql(f"SELECT count(*) FROM {rows} GROUP BY {call}")
