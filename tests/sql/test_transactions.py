"""BEGIN ... COMMIT: the changes of one Delta table as one version."""

import duckdb
import pyarrow as pa
import pytest

import deltaarrow
from deltaarrow import DeltaTable
from deltaarrow.errors import CommitFailedError, DeltaError, UnsupportedFeatureError


@pytest.fixture(params=[False, True], ids=["rewritten", "marked"])
def orders(tmp_path, request):
    marked = {"delta.enableDeletionVectors": "true"} if request.param else {}
    for name in ("orders", "other"):
        data = pa.table({"id": [1, 2, 3], "s": ["a", "b", "c"]})
        deltaarrow.write_deltalake(tmp_path / name, data, configuration=marked)
    return tmp_path / "orders"


@pytest.fixture
def con(orders):
    with deltaarrow.connect() as connection:
        connection.sql("CREATE TABLE own (id INT)")
        yield connection.attach(orders.parent, "lake")


def rows(table):
    return sorted(tuple(row.values()) for row in DeltaTable(table).to_pyarrow_table().to_pylist())


def test_changes_are_one_version(con, orders):
    con.sql("BEGIN")
    con.sql("DELETE FROM lake.orders WHERE id < 3")
    con.sql("INSERT INTO lake.orders VALUES (7, 'x')")
    con.sql("INSERT INTO lake.orders SELECT id + 10, s FROM lake.other")
    con.sql("INSERT INTO own VALUES (1)")
    assert rows(orders) == [(1, "a"), (2, "b"), (3, "c")]
    con.sql("COMMIT")
    assert rows(orders) == [(3, "c"), (7, "x"), (11, "a"), (12, "b"), (13, "c")]
    table = DeltaTable(orders)
    entry = table.history(1)[0]
    assert (table.version(), entry["operation"]) == (1, "TRANSACTION")
    assert entry["operationParameters"] == {"statements": '["DELETE","INSERT","INSERT"]'}
    assert con.sql("FROM own").fetchall() == [(1,)]
    assert con.sql("SELECT count(*) FROM lake.orders").fetchall() == [(5,)]
    con.sql("INSERT INTO lake.orders VALUES (8, 'y')")
    assert DeltaTable(orders).version() == 2


def test_statements_of_an_application_are_one_change_that_is_made_once(con, orders):
    con.sql("SET spark.databricks.delta.write.txnAppId = app")
    con.sql("SET spark.databricks.delta.write.txnVersion = 1")
    for _ in range(2):
        con.sql("BEGIN; DELETE FROM lake.orders WHERE id < 3")
        con.sql("INSERT INTO lake.orders VALUES (7, 'x'); INSERT INTO lake.orders VALUES (8, 'y'); COMMIT")
    assert rows(orders) == [(3, "c"), (7, "x"), (8, "y")]
    assert DeltaTable(orders).version() == 1


@pytest.mark.parametrize(
    "text",
    ["UPDATE lake.orders SET s = 'k' WHERE id = 1", "INSERT INTO lake.orders VALUES (4, 'd')"],
)
def test_one_statement_keeps_its_name_in_history(con, orders, text):
    con.begin()
    con.sql(text)
    con.commit()
    entry = DeltaTable(orders).history(1)[0]
    assert entry["operation"] == ("UPDATE" if "UPDATE" in text else "WRITE")
    assert entry["operationMetrics"].get("numUpdatedRows", "1") == "1"
    assert DeltaTable(orders).version() == 1


def test_rollback_leaves_nothing(con, orders):
    files = set(orders.rglob("*"))
    con.sql("START TRANSACTION; UPDATE lake.orders SET s = 'k'; INSERT INTO own VALUES (1)")
    con.rollback()
    assert (set(orders.rglob("*")), con.sql("FROM own").fetchall()) == (files, [])
    con.sql("BEGIN; COMMIT")
    assert DeltaTable(orders).version() == 0


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("DELETE FROM lake.other", "changes of one table"),
        ("INSERT INTO lake.other VALUES (1, 'a')", "changes of one table"),
        ("DELETE FROM lake.orders", "would have to see"),
        ("MERGE INTO lake.orders o USING range(2) r(k) ON o.id = k WHEN MATCHED THEN DELETE", "have to see"),
        ("INSERT INTO lake.orders FROM lake.orders", "can be read after COMMIT"),
        ("SELECT * FROM lake.orders", "can be read after COMMIT"),
        ("TRUNCATE lake.orders", "cannot be part of a transaction"),
        ("COPY lake.other TO lake.orders (MODE append)", "cannot be part"),
        ("GENERATE symlink_format_manifest FOR TABLE lake.orders", "cannot be part"),
    ],
)
def test_what_would_not_be_one_version_is_refused_before_anything_is_written(con, orders, text, why):
    con.sql("BEGIN; INSERT INTO lake.orders VALUES (7, 'x')")
    files = set(orders.parent.rglob("*"))
    with pytest.raises(UnsupportedFeatureError, match=why):
        con.sql(text)
    assert set(orders.parent.rglob("*")) == files
    con.sql("COMMIT")
    assert (7, "x") in rows(orders)
    assert (DeltaTable(orders).version(), DeltaTable(orders.with_name("other")).version()) == (1, 0)


def test_statements_in_sparks_dialect_are_refused(con, orders):
    con.sql("BEGIN")
    with pytest.raises(UnsupportedFeatureError, match="cannot be part"):
        con.sql("DELETE FROM lake.orders", dialect="spark")
    con.sql("ROLLBACK")


def test_nothing_is_kept_after_a_failure(con, orders):
    files = set(orders.rglob("*.parquet"))
    con.sql("BEGIN; INSERT INTO lake.orders VALUES (7, 'x'); INSERT INTO own VALUES (1)")
    with pytest.raises(DeltaError):
        con.sql("INSERT INTO lake.orders VALUES ('x', 'x')")
    with pytest.raises((UnsupportedFeatureError, duckdb.Error)):
        con.sql("INSERT INTO lake.orders VALUES (8, 'x')")
    with pytest.raises(UnsupportedFeatureError, match="ROLLBACK"):
        con.sql("COMMIT")
    assert (set(orders.rglob("*.parquet")), DeltaTable(orders).version()) == (files, 0)
    assert con.sql("FROM own").fetchall() == []
    con.sql("INSERT INTO lake.orders VALUES (8, 'x')")
    assert DeltaTable(orders).version() == 1


def test_conflict_with_another_writer_rolls_all_back(con, orders):
    con.sql("BEGIN; DELETE FROM lake.orders WHERE id = 1; INSERT INTO own VALUES (1)")
    DeltaTable(orders).delete("id = 1")
    with pytest.raises(CommitFailedError):
        con.sql("COMMIT")
    assert con.sql("FROM own").fetchall() == []
    assert rows(orders) == [(2, "b"), (3, "c")]


def test_appends_of_other_writers_stay(con, orders):
    con.sql("BEGIN; INSERT INTO lake.orders VALUES (7, 'x')")
    deltaarrow.write_deltalake(orders, pa.table({"id": [8], "s": ["y"]}), mode="append")
    con.sql("COMMIT")
    assert rows(orders)[3:] == [(7, "x"), (8, "y")]
