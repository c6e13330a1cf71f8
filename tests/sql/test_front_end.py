"""The way of a statement through `deltaarrow.connect`: dialects, names and results."""

import subprocess
import sys

import duckdb
import pyarrow as pa
import pytest

import deltaarrow
from deltaarrow.errors import TableNotFoundError, UnsupportedFeatureError

MANIFEST = "GENERATE symlink_format_manifest FOR TABLE"


@pytest.fixture
def lake(tmp_path):
    deltaarrow.write_deltalake(f"{tmp_path}/orders", pa.table({"id": [1, 2]}))
    return tmp_path


@pytest.fixture
def con(lake):
    with deltaarrow.connect() as connection:
        yield connection.attach(lake, "lake")


@pytest.mark.parametrize("dialect", ["duckdb", "spark"])
@pytest.mark.parametrize("name", ["lake.orders", "LAKE.`orders`", "delta.`{lake}/orders`"])
def test_statement_is_run_by_its_handler(con, lake, dialect, name):
    text = f"{MANIFEST} {name.format(lake=lake)};"
    assert con.sql(text, dialect=dialect).to_pylist() == []
    assert (lake / "orders" / "_symlink_format_manifest" / "manifest").exists()
    assert con.execute(text, dialect=dialect).fetchall() == []


def test_queries_of_duckdb_stay_duckdbs(con):
    assert con.sql("FROM lake.orders WHERE id > 1").fetchall() == [(2,)]
    assert con.sql("CREATE TABLE t AS FROM lake.orders; SELECT count(*) FROM t").fetchall() == [(2,)]


def test_unknown_table_is_told_with_those_that_are_there(con):
    with pytest.raises(TableNotFoundError, match=r"lake\.nothing is not .* \(in lake are orders\)"):
        con.sql(f"{MANIFEST} lake.nothing", dialect="spark")
    with pytest.raises(TableNotFoundError, match=r"namespaces: lake"):
        con.sql(f"{MANIFEST} nothing", dialect="spark")


def test_text_that_is_no_statement_is_refused_where_it_stops_being_one(con):
    with pytest.raises(
        UnsupportedFeatureError, match="a statement or a query is expected, and there is 'FOO'"
    ):
        con.sql("FOO BAR", dialect="spark")
    with pytest.raises(UnsupportedFeatureError, match="the end is expected, and there is 'x'"):
        con.sql(f"{MANIFEST} lake.orders x", dialect="spark")


def test_dialect_is_one_of_two():
    with pytest.raises(ValueError, match="'duckdb' or 'spark'"):
        deltaarrow.connect(dialect="mysql")


def test_tables_of_a_catalog_are_known_by_name(tmp_path):
    deltaarrow.write_deltalake(f"{tmp_path}/catalog/default/orders", pa.table({"id": [7]}))
    with deltaarrow.connect(catalog=tmp_path / "catalog") as con:
        default = con.catalog.namespace("default")
        default.add("orders", default.place_for("orders"))
        assert con.sql("SELECT id FROM default.orders").fetchall() == [(7,)]


def test_current_namespace_is_that_of_its_cursor(con):
    other = con.cursor()
    con.catalog.current = "lake"
    assert con.sql("SELECT count(*) FROM orders").fetchall() == [(2,)]
    assert other.catalog.current is None
    assert con.cursor().sql("SELECT count(*) FROM orders").fetchall() == [(2,)]


def test_queries_load_no_statements(lake):
    script = (
        "import deltaarrow, sys; con = deltaarrow.connect();"
        f"con.sql(\"FROM delta.'{lake}/orders'\").fetchall();"
        "print([name for name in sys.modules if name.startswith('deltaarrow.sql.h')])"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_text_is_split_into_statements_of_both_dialects(con):
    text = "SELECT ';'; OPTIMIZE lake.orders; -- twice;\nSET spark.sql.ansi.enabled = true;;"
    for dialect in ("duckdb", "spark"):
        found = con.split(text, dialect=dialect)
        found[1:] = [each.removeprefix("-- twice;").strip() for each in found[1:]]
        assert found == ["SELECT ';'", "OPTIMIZE lake.orders", "SET spark.sql.ansi.enabled = true"]
        assert con.sql(text, dialect=dialect).to_pylist() == [
            {"key": "spark.sql.ansi.enabled", "value": "true"}
        ]
    assert con.split("SELECT 1; SELECT $$;$$") == ["SELECT 1", "SELECT $$;$$"]
    assert con.split("FROM delta.`/t`; FROM x") == ["FROM delta.`/t`", "FROM x"]
    assert con.split(" ; ") == []


def test_progress_of_a_long_statement_is_told(lake):
    told = []
    with deltaarrow.connect(progress=lambda done, total: told.append((done, total))) as con:
        deltaarrow.write_deltalake(f"{lake}/orders", pa.table({"id": [3]}), mode="append")
        con.attach(lake, "lake").sql("OPTIMIZE lake.orders")
    assert told and told[-1][0] == told[-1][1]


@pytest.mark.parametrize(
    ("text", "dialect", "rows"),
    [
        ("INSERT INTO shop.t VALUES (2)", "duckdb", [(1, 1)]),
        ("INSERT INTO shop.t VALUES (2)", "spark", []),
        ("DELETE FROM shop.t", "duckdb", [(1,)]),
        ("DELETE FROM shop.t", "spark", [(1,)]),
        ("UPDATE shop.t SET id = 2", "spark", [(1,)]),
        ("CREATE VIEW shop.v AS SELECT * FROM shop.t", "duckdb", []),
        ("CREATE TEMPORARY VIEW v AS SELECT * FROM shop.t", "spark", []),
        ("CREATE TABLE shop.u (id BIGINT)", "duckdb", []),
        ("CREATE TABLE shop.u (id BIGINT) USING delta", "spark", []),
        ("CREATE TABLE own (id BIGINT)", "duckdb", []),
        ("CREATE TEMPORARY VIEW own AS SELECT 1", "duckdb", []),
        ("SET threads = 1", "duckdb", []),
        ("BEGIN; DELETE FROM shop.t; COMMIT", "duckdb", []),
        ("SHOW COLUMNS IN shop.t", "spark", [("id",)]),
        ("SELECT id FROM shop.t", "spark", [(1,)]),
    ],
)
def test_every_statement_returns_a_relation(tmp_path, text, dialect, rows):
    with deltaarrow.connect(catalog=tmp_path) as con:
        con.sql("CREATE SCHEMA shop", dialect="spark")
        con.sql("CREATE TABLE shop.t AS SELECT 1L AS id", dialect="spark")
        found = con.sql(text, dialect=dialect)
        assert isinstance(found, duckdb.DuckDBPyRelation)
        assert found.fetchall() == rows
        found = found.filter("true")
        assert (len(found.df()), found.pl().height, found.to_arrow_table().num_rows) == (len(rows),) * 3


def test_the_result_of_a_statement_has_the_methods_of_its_arrow_table(tmp_path):
    deltaarrow.write_deltalake(tmp_path, pa.table({"id": [1, 2]}))
    with deltaarrow.connect() as con:
        found = con.sql(f"OPTIMIZE delta.'{tmp_path}'", alias="result")
        assert (found.alias, found.columns, found.num_rows) == ("result", ["path", "metrics"], 1)
        [row] = found.to_pylist()
        assert row["metrics"]["numFilesAdded"] == 0
        assert found.query("r", "SELECT metrics.numFilesAdded FROM r").fetchall() == [(0,)]
        assert con.sql(f"ALTER TABLE delta.'{tmp_path}' SET TBLPROPERTIES ('k' = 'v')").to_pylist() == []
        with pytest.raises(AttributeError):
            con.sql("SELECT 1 AS x").to_pylist()
