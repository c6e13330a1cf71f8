"""INSERT ... REPLACE USING and REPLACE ON: one commit deletes the rows that match and adds the new ones."""

import pytest

import deltaarrow
from deltaarrow import DeltaTable
from deltaarrow.errors import DeltaError, SchemaMismatchError, UnsupportedFeatureError
from deltaarrow.spark_sql import Words
from deltaarrow.sql.rows.spark import parse_insert
from tests.support.commits import commit

EVERYTHING = (
    "'delta.enableDeletionVectors' = 'true', 'delta.enableChangeDataFeed' = 'true',"
    " 'delta.enableRowTracking' = 'true', 'delta.columnMapping.mode' = 'name'"
)


@pytest.fixture
def con(tmp_path):
    with deltaarrow.connect(dialect="spark") as connection:
        yield connection.attach(tmp_path, "lake")


@pytest.fixture(params=["'k' = 'v'", EVERYTHING], ids=["plain", "everything"])
def orders(con, request, tmp_path):
    con.sql(
        "CREATE TABLE lake.t (id INT, day STRING, n INT DEFAULT 7) USING delta PARTITIONED BY (day)"
        f" TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported', {request.param});"
        "INSERT INTO lake.t VALUES (1, 'mon', 1), (2, 'mon', 2), (3, 'tue', 3), (4, NULL, 4),"
        " (NULL, 'wed', 5)"
    )
    return lambda: DeltaTable(tmp_path / "t")


def rows(table):
    return sorted((tuple(row.values()) for row in table().to_pyarrow_table().to_pylist()), key=repr)


def actions(table):
    found = table()
    return commit(found.table_uri, found.version())


def test_rows_of_the_same_values_are_replaced(con, orders):
    con.sql(
        "INSERT INTO lake.t REPLACE USING (day) VALUES (5, 'mon', '50'), (6, 'mon', '60'), (7, NULL, '70')"
    )
    expected = [
        (3, "tue", 3),
        (4, None, 4),
        (5, "mon", 50),
        (6, "mon", 60),
        (7, None, 70),
        (None, "wed", 5),
    ]
    assert rows(orders) == expected
    assert orders().version() == 2
    entry = orders().history(1)[0]
    assert (entry["operation"], entry["operationParameters"]) == (
        "WRITE",
        {"mode": "Overwrite", "partitionBy": "[]", "replaceUsing": "`day`"},
    )
    metrics = entry["operationMetrics"]
    assert (metrics["numOutputRows"], metrics["numDeletedRows"]) == ("3", "2")
    # Files of other partitions are not touched.
    removed = [each["remove"] for each in actions(orders) if "remove" in each]
    assert len(removed) == 1
    assert list(orders().verify(deep=True)) == []


def test_rows_that_meet_a_condition_are_replaced(con, orders):
    con.sql(
        "INSERT INTO lake.t AS o REPLACE ON o.id <=> n.key AND o.day > n.day"
        " (SELECT CAST(NULL AS INT) AS key, 'a' AS day, 1 AS n UNION ALL SELECT 1, 'x', 2) AS n"
    )
    assert rows(orders) == [
        (1, "mon", 1),
        (1, "x", 2),
        (2, "mon", 2),
        (3, "tue", 3),
        (4, None, 4),
        (None, "a", 1),
    ]
    assert orders().history(1)[0]["operationParameters"]["replaceOn"] == "o.id <=> n.key AND o.day > n.day"


def test_the_feed_tells_of_both(con, orders):
    con.sql("INSERT INTO lake.t BY NAME REPLACE USING (id) SELECT 'sun' AS day, 2 AS id")
    assert (2, "sun", 7) in rows(orders)
    if orders().metadata().configuration.get("delta.enableChangeDataFeed") == "true":
        feed = orders().load_cdf(2).read_all().select(["id", "day", "n", "_change_type"]).to_pylist()
        assert sorted(map(repr, map(tuple, map(dict.values, feed)))) == [
            "(2, 'mon', 2, 'delete')",
            "(2, 'sun', 7, 'insert')",
        ]


def test_the_query_may_read_the_table(con, orders):
    con.sql("INSERT INTO lake.t REPLACE USING (id) SELECT id, day, n * 10 FROM lake.t WHERE day = 'mon'")
    assert rows(orders)[:3] == [(1, "mon", 10), (2, "mon", 20), (3, "tue", 3)]


def test_columns_may_be_added(con, orders):
    con.sql(
        "INSERT WITH SCHEMA EVOLUTION INTO lake.t BY NAME REPLACE USING (id) SELECT 3L AS id, 1.5 AS more"
    )
    assert orders().schema().names == ["id", "day", "n", "more"]
    assert [str(row[3]) for row in rows(orders) if row[0] == 3] == ["1.5"]


def test_a_query_without_rows_replaces_none(con, orders):
    before = rows(orders)
    con.sql("INSERT INTO lake.t REPLACE USING (day) SELECT 1, 'mon', 1 WHERE false")
    con.sql("INSERT INTO lake.t REPLACE ON true SELECT 1, 'mon', 1 WHERE false")
    assert rows(orders) == before


def test_columns_of_one_name_are_told_apart_by_their_position(con, orders):
    con.sql("INSERT INTO lake.t REPLACE USING (id) SELECT n, day, n FROM lake.t WHERE id = 1")
    assert (1, "mon", 1) in rows(orders)
    with pytest.raises(DeltaError, match="no column"):
        con.sql("INSERT INTO lake.t REPLACE ON t.id = s.n (SELECT n, day, n FROM lake.t) s")


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("REPLACE USING (nope) VALUES (1, 'a', 1)", SchemaMismatchError, "REPLACE USING names nope"),
        ("REPLACE USING (n) BY NAME SELECT 1 AS id", SchemaMismatchError, "does not fill"),
        ("REPLACE USING (id) VALUES (1)", SchemaMismatchError, "the INSERT fills 3 columns"),
        ("REPLACE USING (id) VALUES ('x', 'a', 1)", DeltaError, "not a valid INTEGER"),
        ("REPLACE ON nope = 1 VALUES (1, 'a', 1)", DeltaError, "no column `nope`"),
        ("REPLACE ON id + 1 VALUES (1, 'a', 1)", DeltaError, "id"),
    ],
)
def test_what_does_not_fit_is_refused_and_changes_nothing(con, tmp_path, text, error, message):
    con.sql("CREATE TABLE lake.t (id INT, day STRING, n INT) USING delta")
    with pytest.raises(error, match=message):
        con.sql(f"INSERT INTO lake.t {text}")
    assert DeltaTable(tmp_path / "t").version() == 0


@pytest.mark.parametrize(
    ("text", "alias", "match", "query", "query_alias"),
    [
        ("t REPLACE ON a = b SELECT 1", None, "a = b", "SELECT 1", None),
        ("t AS x REPLACE ON a = b (SELECT 1) s", "x", "a = b", "SELECT 1", "s"),
        ("t x BY NAME REPLACE ON (a) = (b) (SELECT 1)", "x", "(a) = (b)", "SELECT 1", None),
        ("t REPLACE ON a IS DISTINCT FROM b VALUES (1)", None, "a IS DISTINCT FROM b", "VALUES (1)", None),
        (
            "t REPLACE ON a = b (SELECT 1) UNION (SELECT 2)",
            None,
            "a = b",
            "(SELECT 1) UNION (SELECT 2)",
            None,
        ),
    ],
)
def test_grammar_of_replace_on(text, alias, match, query, query_alias):
    found = parse_insert(Words(f"INSERT INTO {text}"))
    assert (found.alias, found.match, found.query, found.query_alias) == (alias, match, query, query_alias)


@pytest.mark.parametrize(
    "text",
    [
        "OVERWRITE t REPLACE USING (a) SELECT 1",
        "INTO t PARTITION (a = 1) REPLACE USING (b) SELECT 1",
        "INTO t REPLACE USING () SELECT 1",
        "INTO t REPLACE ON SELECT 1",
        "INTO t x REPLACE USING (a) SELECT 1",
    ],
)
def test_other_forms_are_refused(text):
    with pytest.raises(UnsupportedFeatureError, match="PARSE_SYNTAX_ERROR"):
        parse_insert(Words(f"INSERT {text}"))
