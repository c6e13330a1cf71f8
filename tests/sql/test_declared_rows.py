"""DuckDB's CREATE TABLE with columns and a query, and what else DuckDB's dialect says of Delta tables."""

import pytest

import deltaarrow
from deltaarrow import DeltaTable
from deltaarrow.errors import ConstraintViolationError, SchemaMismatchError, UnsupportedFeatureError
from deltaarrow.schema import PrimitiveType

COLUMNS = "(id BIGINT NOT NULL, name VARCHAR)"


@pytest.fixture
def con(tmp_path):
    with deltaarrow.connect() as connection:
        yield connection.attach(tmp_path, "lake")


def test_rows_become_the_declared_columns_in_one_commit(con, tmp_path):
    for count in (1, 2):
        con.sql(
            f"CREATE OR REPLACE TABLE lake.t {COLUMNS} AS SELECT '7' AS a, range AS b FROM range({count})"
        )
    table = DeltaTable(tmp_path / "t")
    assert [each["operation"] for each in table.history()] == ["CREATE OR REPLACE TABLE AS SELECT"] * 2
    [key, name] = table.schema().fields
    assert (key.name, key.type, key.nullable) == ("id", PrimitiveType("long"), False)
    assert name.nullable
    assert con.sql("SELECT id, name FROM lake.t ORDER BY name").fetchall() == [(7, "0"), (7, "1")]


def test_rows_that_break_a_rule_leave_the_table_as_it_was(con, tmp_path):
    rules = "WITH ('delta.constraints.positive' = 'id > 0')"
    con.sql(f"CREATE TABLE lake.t {COLUMNS} {rules} AS SELECT 1, 'a'")
    for value, message in (("NULL", "NOT NULL column 'id'"), ("-1", "CHECK constraint positive")):
        with pytest.raises(ConstraintViolationError, match=message):
            con.sql(f"CREATE OR REPLACE TABLE lake.t {COLUMNS} {rules} AS SELECT {value}, 'b'")
    assert con.sql("FROM lake.t").fetchall() == [(1, "a")]
    assert DeltaTable(tmp_path / "t").version() == 0


@pytest.mark.parametrize(
    ("statement", "error", "message"),
    [
        (f"CREATE TABLE lake.t {COLUMNS} AS SELECT 1", SchemaMismatchError, "declares 2 columns"),
        ("CREATE TABLE lake.t (a INT DEFAULT 3) AS SELECT 1", UnsupportedFeatureError, "has no default"),
    ],
)
def test_columns_that_a_query_cannot_fill_are_refused(con, tmp_path, statement, error, message):
    with pytest.raises(error, match=message):
        con.sql(statement)
    assert not (tmp_path / "t").exists()


def test_layout_and_comments_are_declared_in_duckdbs_dialect(con, tmp_path):
    con.sql("CREATE TABLE lake.t CLUSTER BY (a) COMMENT 'of the shop' AS SELECT 1 AS a, 2 AS b")
    con.sql("ALTER TABLE lake.t ALTER COLUMN a COMMENT 'it''s', b COMMENT 'other'")
    table = DeltaTable(tmp_path / "t")
    assert table.detail()["clusteringColumns"] == ["a"]
    assert table.metadata().description == "of the shop"
    assert [each.metadata["comment"] for each in table.schema().fields] == ["it's", "other"]


def test_new_column_may_have_null_as_its_default(con, tmp_path):
    con.sql(
        "CREATE TABLE lake.t AS SELECT 1 AS id; ALTER TABLE lake.t ADD COLUMN name VARCHAR(9) DEFAULT NULL"
    )
    assert con.sql("FROM lake.t").fetchall() == [(1, None)]
    assert DeltaTable(tmp_path / "t").schema().field("name").metadata == {}


def test_result_that_nobody_has_read_gives_way_to_the_next(con):
    con.sql("CREATE TABLE lake.t AS SELECT range AS id FROM range(9)")
    con.execute("SELECT * FROM lake.t")
    assert con.execute("OPTIMIZE lake.t").fetchone() is not None


def test_insert_replaces_the_rows_of_a_condition(con, tmp_path):
    con.sql("CREATE TABLE lake.t AS SELECT range AS id, 'old' AS s FROM range(4)")
    con.sql("INSERT INTO lake.t REPLACE WHERE id > 1 SELECT range + 2, 'new' FROM range(3)")
    assert con.sql("SELECT id FROM lake.t WHERE s = 'new' ORDER BY id").fetchall() == [(2,), (3,), (4,)]
    last = DeltaTable(tmp_path / "t").history(1)[0]["operationParameters"]
    assert (last["mode"], last["predicate"]) == ("Overwrite", "(id > 1)")
    with pytest.raises(ConstraintViolationError, match="id > 1"):
        con.sql("INSERT INTO lake.t BY NAME REPLACE WHERE id > 1 SELECT 0 AS id, 'new' AS s")
