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
