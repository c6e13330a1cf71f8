"""Views that a catalog keeps: who sees them, what they read, and what a damaged file of one does."""

import json

import duckdb
import pytest

import deltaarrow
from deltaarrow.catalogs import FolderNamespace, View
from deltaarrow.errors import DeltaError, TableNotFoundError, UnsupportedFeatureError, VersionExistsError
from deltaarrow.schema import Schema


@pytest.fixture
def con(tmp_path):
    with deltaarrow.connect(catalog=tmp_path) as connection:
        connection.sql("CREATE SCHEMA shop; CREATE SCHEMA other", dialect="spark")
        connection.sql("CREATE TABLE shop.orders AS SELECT range AS id FROM range(3)")
        connection.sql("CREATE VIEW shop.recent AS SELECT id FROM shop.orders WHERE id > 0")
        yield connection


def test_other_connections_see_the_view_and_the_newest_rows(con, tmp_path):
    con.sql("CREATE VIEW spark_catalog.shop.most AS SELECT max(id) AS most FROM spark_catalog.shop.recent")
    with deltaarrow.connect(catalog=tmp_path) as later:
        later.sql("INSERT INTO shop.orders VALUES (9)")
        assert later.sql("FROM shop.most").fetchall() == [(9,)]
        assert later.sql("SELECT sum(recent.id) FROM shop.recent").fetchall() == [(12,)]
        assert later.sql("SELECT count(*) FROM shop.RECENT", dialect="spark").fetchall() == [(3,)]
        assert later.sql("DESCRIBE shop.recent").fetchall()[0][:2] == ("id", "BIGINT")
        assert later.sql("SHOW TABLES FROM shop").column("name").to_pylist() == ["most", "orders", "recent"]
        shown = later.sql("SHOW VIEWS IN shop", dialect="spark").to_pylist()
        assert shown[0] == {"namespace": "shop", "viewName": "most", "isTemporary": False}


def test_view_keeps_the_namespace_in_which_it_was_made(con):
    con.sql("USE shop; CREATE VIEW shop.alone AS SELECT count(*) AS n FROM orders; USE other")
    assert con.sql("SELECT n FROM shop.alone").fetchall() == [(3,)]


def test_schemas_of_the_catalog_are_made_and_dropped_in_duckdbs_dialect(con):
    con.sql(
        "CREATE SCHEMA spark_catalog.new; CREATE TABLE spark_catalog.new.t (seen TIMESTAMP WITHOUT TIME ZONE)"
    )
    con.sql("CREATE SCHEMA own")
    assert con.connection.execute("DROP SCHEMA own").fetchall() == []
    con.sql("DROP SCHEMA IF EXISTS nothing; DROP SCHEMA new CASCADE; DROP SCHEMA spark_catalog.other")
    assert con.catalog.namespaces() == ["default", "shop"]


def test_questions_may_follow_a_comment(con):
    assert con.sql("/* why */ DESCRIBE (SELECT id FROM shop.orders)").fetchall()[0][:2] == ("id", "BIGINT")


def test_name_is_that_of_a_table_or_of_a_view(con):
    with pytest.raises(VersionExistsError, match="is a table: drop it first"):
        con.sql("CREATE OR REPLACE VIEW shop.orders AS SELECT 1 AS id")
    with pytest.raises(VersionExistsError, match="is a view: drop it first"):
        con.sql("CREATE OR REPLACE TABLE shop.recent AS SELECT 1 AS id")
    with pytest.raises(VersionExistsError, match="use CREATE OR REPLACE VIEW"):
        con.sql("CREATE VIEW shop.recent AS SELECT 1 AS id")
    con.sql("CREATE OR REPLACE VIEW shop.recent (key COMMENT 'the key') AS SELECT 7 AS id")
    assert con.sql("SELECT key FROM shop.recent").fetchall() == [(7,)]


def test_views_are_dropped_by_name_and_with_their_schema(con, tmp_path):
    with pytest.raises(TableNotFoundError, match="there is no view"):
        con.sql("DROP VIEW shop.nothing")
    con.sql("DROP VIEW IF EXISTS shop.nothing; DROP VIEW shop.recent; CREATE VIEW other.v AS SELECT 1 AS id")
    with pytest.raises(UnsupportedFeatureError, match="SCHEMA_NOT_EMPTY"):
        con.sql("DROP SCHEMA other", dialect="spark")
    con.sql("DROP SCHEMA other CASCADE", dialect="spark")
    assert con.catalog.namespace("shop").views() == []


def test_what_no_catalog_keeps_is_refused(con, tmp_path):
    with pytest.raises(UnsupportedFeatureError, match="it is not temporary"):
        con.sql("CREATE TEMP VIEW shop.v AS SELECT 1 AS id")
    con.attach(tmp_path / "shop", "folder")
    with pytest.raises(UnsupportedFeatureError, match="views are not kept in the folder"):
        con.sql("CREATE VIEW folder.v AS SELECT 1 AS id")
    folder = FolderNamespace(tmp_path)
    assert (folder.view("v"), folder.views()) == (None, [])
    with pytest.raises(KeyError):
        folder.remove_view("v")


def test_view_that_reads_itself_is_refused(con):
    con.sql("CREATE VIEW shop.v AS FROM shop.recent; CREATE OR REPLACE VIEW shop.recent AS FROM shop.v")
    with pytest.raises(UnsupportedFeatureError, match=r"\[RECURSIVE_VIEW\]"):
        con.sql("FROM shop.v")


@pytest.mark.parametrize("query", ["SELECT 1; COPY (SELECT 1) TO '{file}'", "COPY (SELECT 1) TO '{file}'"])
def test_file_of_a_view_can_hold_a_query_only(con, tmp_path, query):
    file = tmp_path / "written.csv"
    view = View("hostile", query.format(file=file), Schema([]))
    con.catalog.namespace("shop").add_view(view)
    with pytest.raises((UnsupportedFeatureError, duckdb.ParserException), match=r"is no query|Parser Error"):
        con.sql("FROM shop.hostile")
    assert not file.exists()


@pytest.mark.parametrize("text", ["", "[]", "{}", json.dumps({"query": "SELECT 1", "schema": "x"})])
def test_damaged_file_of_a_view_is_refused(con, tmp_path, text):
    (tmp_path / "shop" / "recent.view.json").write_text(text)
    with pytest.raises(DeltaError, match=r"the file of the view shop\.recent is damaged"):
        con.sql("FROM shop.recent")


HARMLESS = (
    "SELECT upper('x') AS x, count(*) OVER () AS n, list_transform([1], lambda y: y + 1) AS l"
    " FROM shop.orders",
    "WITH few AS (SELECT * FROM shop.recent) SELECT * FROM few JOIN range(3) AS r(id) USING (id)",
    "SELECT CASE WHEN id > 1 THEN id::VARCHAR END AS v, id IN (SELECT max(id) FROM shop.orders) AS m"
    " FROM shop.orders",
    "SELECT random() AS r, now() AS t, uuid() AS u, date_trunc('day', TIMESTAMP '2026-01-02') AS d",
    "SELECT id, row_number() OVER (ORDER BY id) AS n FROM shop.orders AT (VERSION => 0)",
    "SELECT version FROM delta_history('shop.orders')",
    "SELECT n FROM own_table",
    "SELECT DISTINCT ON (id) orders.id, unnest([1, 2]) AS u FROM shop.orders ORDER BY ALL LIMIT 3",
    "FROM delta.'{folder}/default/at'",
    "SELECT json_extract('{{\"a\": 1}}', '$.a') AS j, [x for x in [1, 2]] AS l, {{'a': 1}}.a AS s",
    "SELECT * FROM (VALUES (1), (2)) AS v(id) WHERE id BETWEEN 1 AND 2 AND 'abc' LIKE 'a%'",
)
HOSTILE = (
    "SELECT * FROM read_text('{file}')",
    "SELECT * FROM (SELECT content FROM read_blob('{file}'))",
    "SELECT (SELECT max(content) FROM read_text('{file}')) AS c FROM shop.orders",
    "SELECT * FROM shop.orders WHERE id IN (SELECT length(content) FROM read_text('{file}'))",
    "FROM '{file}'",
    'FROM "{file}"',
    "FROM '{folder}/*.csv'",
    "FROM here.csv",
    'SELECT * FROM (WITH "{file}" AS (SELECT 1 AS x) FROM "{file}") AS q, \'{file}\'',
    "SELECT * FROM glob('{folder}/*')",
    "FROM query('SELECT 1')",
    "FROM query_table('x')",
    "FROM duckdb_secrets()",
    "FROM duckdb_settings()",
    "FROM duckdb_tables",
    "FROM pg_catalog.pg_class",
    "FROM (SHOW TABLES)",
    "SELECT current_setting('s3_secret_access_key')",
    "SELECT getenv('HOME')",
    "SELECT getvariable('x')",
    "SELECT nextval('counter')",
    "SELECT setseed(0.5)",
    "SELECT write_log('x')",
    "SELECT sleep_ms(1)",
    "SELECT pg_sleep(1)",
    "SELECT own_macro(1)",
    "SELECT main.own_macro(1)",
    "SELECT * FROM own_rows()",
    "SELECT $x",
)


@pytest.fixture
def rich(con, tmp_path):
    """A connection with what a view of a catalog could misuse; DuckDB's own views may."""
    (tmp_path / "secret.csv").write_text("secret")
    con.sql(f"CREATE TABLE delta.'{tmp_path}/default/at' AS SELECT 1 AS n")
    con.connection.execute("CREATE TABLE own_table AS SELECT 1 AS n; CREATE SEQUENCE counter")
    con.connection.execute("CREATE MACRO own_macro(x) AS x; CREATE MACRO own_rows() AS TABLE SELECT 1")
    return con


@pytest.mark.parametrize("text", HARMLESS)
def test_view_of_a_catalog_reads_tables_and_computes(rich, tmp_path, text):
    text = text.format(folder=tmp_path)
    rich.sql(f"CREATE VIEW shop.v AS {text}")
    assert len(rich.sql("SELECT * FROM shop.v").fetchall()) == len(rich.sql(text).fetchall())


@pytest.mark.parametrize("dialect", ["duckdb", "spark"])
@pytest.mark.parametrize("text", HOSTILE)
def test_view_of_a_catalog_does_nothing_else(rich, tmp_path, monkeypatch, text, dialect):
    (tmp_path / "here.csv").write_text("secret")
    monkeypatch.chdir(tmp_path)
    text = text.format(file=tmp_path / "secret.csv", folder=tmp_path)
    schema = rich.catalog.namespace("shop").view("recent").schema
    rich.catalog.namespace("shop").add_view(View("hostile", text, schema))
    with pytest.raises((UnsupportedFeatureError, TableNotFoundError), match="the view hostile"):
        rich.sql("SELECT * FROM shop.hostile", dialect=dialect).fetchall()
    with pytest.raises(DeltaError):
        rich.sql("SELECT count(*) FROM shop.hostile", dialect=dialect).fetchall()


@pytest.mark.parametrize("text", HOSTILE[:4])
def test_view_that_no_catalog_keeps_is_not_made(rich, tmp_path, text):
    text = text.format(file=tmp_path / "secret.csv", folder=tmp_path)
    with pytest.raises(UnsupportedFeatureError, match="may only read tables"):
        rich.sql(f"CREATE VIEW shop.v AS {text}")
    assert rich.catalog.namespace("shop").views() == ["recent"]
    rich.sql(f"CREATE TEMP VIEW v AS {text}")
    assert rich.sql("SELECT count(*) FROM v").fetchall()
