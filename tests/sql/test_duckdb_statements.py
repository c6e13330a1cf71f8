"""Statements in DuckDB's dialect, on a table of DuckDB's and on a Delta table: the same rows after each."""

import contextlib
import itertools

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings

import deltaarrow
from deltaarrow.errors import DeltaError
from tests.support.duckdb_statements import COLUMNS, scripts

ROWS = {
    "t": "(1, 'a', 1, 1.5, DATE '2026-01-01'), (2, 'b', 1, 'nan', DATE '2026-01-02'),"
    " (3, NULL, 2, -0.0, NULL), (NULL, 'ab', NULL, NULL, DATE '2026-01-02')",
    "u": "(2, 'B', 1, 0.5, DATE '2026-01-05'), (3, 'c', 2, NULL, NULL), (9, 'z', 3, 2.5, DATE '2026-02-01')",
}

NUMBERS = itertools.count()


@contextlib.contextmanager
def both(folder):
    """DuckDB with its tables `t` and `u`, and a connection with the same ones as Delta tables in `lake`."""
    listed = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    with duckdb.connect() as own, deltaarrow.connect() as con:
        for name, rows in ROWS.items():
            own.execute(f"CREATE TABLE {name} ({listed}); INSERT INTO {name} VALUES {rows}")
            data = own.sql(f"FROM {name}").to_arrow_table()
            marked = {"delta.enableDeletionVectors": "true"} if name == "t" else {}
            deltaarrow.write_deltalake(folder / name, data, partition_by=["p"], configuration=marked)
        yield own, con.attach(folder, "lake")


def run(connection, text):
    """The error of a statement; None without one."""
    try:
        connection.execute(text)
    except (duckdb.Error, DeltaError, ValueError) as error:
        return error
    return None


def rows(connection, table):
    return sorted(map(repr, connection.execute(f"FROM {table}").fetchall()))


def compare(folder, statements):
    """Run statements on both, one by one, and compare what they leave."""
    with both(folder / str(next(NUMBERS))) as (own, con):
        for text in statements:
            expected = run(own, text.format(t="t", u="u"))
            found = run(con, text.format(t="lake.t", u="lake.u"))
            assert is_alike(expected, found, text), f"{text}\n{expected!r}\n{found!r}"
            assert rows(con, "lake.t") == rows(own, "t"), text


def is_alike(expected, found, text):
    """Whether both refused a statement; one row that several rows change is refused by one of them alone."""
    if expected is None and isinstance(found, DeltaError) and "ambiguous" in str(found):
        pytest.skip("several rows change one row, and DuckDB takes any of them")
    return (expected is None) == (found is None)


QUICK = settings(max_examples=2, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@QUICK
@given(scripts(3))
def test_random_statements_leave_the_rows_that_duckdb_leaves(tmp_path, statements):
    compare(tmp_path, statements)


@pytest.mark.slow
@settings(QUICK, max_examples=300)
@given(scripts(4))
def test_many_random_statements_leave_the_rows_that_duckdb_leaves(tmp_path, statements):
    compare(tmp_path, statements)


FORMS = [
    "WITH w AS (SELECT * FROM {u}) INSERT INTO {t} SELECT * FROM w",
    "WITH w(k) AS (VALUES (1)), v AS (FROM w) DELETE FROM {t} WHERE id IN (SELECT k FROM v)",
    "WITH w AS MATERIALIZED (SELECT 1 AS k, 'w' AS v) UPDATE {t} SET s = v FROM w WHERE id = k",
    "WITH d(k) AS (VALUES (1), (9)) MERGE INTO {t} AS o USING d ON o.id = d.k WHEN MATCHED THEN DELETE"
    " WHEN NOT MATCHED THEN INSERT (id) VALUES (k)",
    "INSERT INTO {t} TABLE {u}",
    "INSERT INTO {t} DEFAULT VALUES; INSERT INTO {t} (id, s) VALUES (DEFAULT, DEFAULT), (DEFAULT, DEFAULT)",
    "COPY {t} FROM '{files}/rows.csv'",
    "COPY {t} (id, s) FROM '{files}/some.csv' (HEADER false, DELIMITER ';')",
    "COPY {t} FROM '{files}/rows.parquet' (FORMAT parquet)",
    "COPY {t} TO '{files}/out.csv'; COPY {t} (s) TO '{files}/out.parquet' (FORMAT parquet)",
    "ALTER TABLE IF EXISTS {t}_of_nobody ADD COLUMN k INT",
    "ALTER TABLE IF EXISTS {t} ADD COLUMN k INT",
    "COMMENT ON COLUMN {t}.s IS 'what it is'",
    "CREATE OR REPLACE TABLE {t}(a, b) AS SELECT 1, 2",
    "CREATE OR REPLACE TABLE {t} AS FROM {u} WITH NO DATA",
    "CREATE OR REPLACE TABLE {t} AS SELECT id FROM {t} WITH DATA",
    "CREATE OR REPLACE TABLE {t} (id BIGINT NOT NULL DEFAULT 3, s VARCHAR DEFAULT 'x');"
    " INSERT INTO {t} DEFAULT VALUES; INSERT INTO {t} (s) VALUES ('y');"
    " UPDATE {t} SET s = DEFAULT WHERE s = 'y';"
    " MERGE INTO {t} o USING {u} n ON o.id = n.id WHEN MATCHED AND o.id < 0 THEN UPDATE SET s = DEFAULT"
    " WHEN NOT MATCHED THEN INSERT (id, s) VALUES (id, DEFAULT)",
    "SUMMARIZE {t}",
    "BEGIN; DELETE FROM {t} WHERE id = 1; COMMIT; BEGIN; DELETE FROM {t}; ROLLBACK",
]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    (folder / "rows.csv").write_text("id,s,p,x,d\n31,c,3,0.5,2026-01-02\n32,,,,\n")
    (folder / "some.csv").write_text("33;d\n")
    duckdb.sql(f"COPY (SELECT 41, 's', 4, 1, NULL) TO '{folder}/rows.parquet'")
    return folder


@pytest.mark.parametrize("text", FORMS)
def test_statement_does_what_it_does_in_duckdb(tmp_path, files, text):
    compare(tmp_path, [text.replace("{files}", str(files))])


def test_comment_on_a_column_is_kept(tmp_path):
    with both(tmp_path) as (_, con):
        con.execute("COMMENT ON COLUMN lake.t.s IS 'what it is'")
        assert deltaarrow.DeltaTable(tmp_path / "t").schema().field("s").metadata["comment"] == "what it is"


def test_rows_of_a_summary_are_those_of_duckdb(tmp_path):
    with both(tmp_path) as (own, con):
        assert con.sql("SUMMARIZE lake.t").columns == own.sql("SUMMARIZE t").columns
        assert len(con.sql("SUMMARIZE lake.t").fetchall()) == len(COLUMNS)
