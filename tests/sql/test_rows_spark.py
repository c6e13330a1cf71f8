"""Spark's statements that change rows."""

import json

import pyarrow as pa
import pytest

import deltaarrow
from deltaarrow import DeltaTable
from deltaarrow.errors import SchemaMismatchError, UnsupportedFeatureError


def rows(table):
    found = DeltaTable(table).to_pyarrow_table().to_pylist()
    return sorted((tuple(row.values()) for row in found), key=repr)


def last(table):
    entry = DeltaTable(table).history(1)[0]
    return entry["operation"], entry["operationParameters"]


@pytest.fixture
def orders(tmp_path):
    data = pa.table({"id": [1, 2, 3], "s": ["a", "b", "c"], "p": pa.array([1, 1, 2], pa.int32())})
    deltaarrow.write_deltalake(tmp_path / "orders", data, partition_by="p")
    return tmp_path / "orders"


@pytest.fixture
def con(orders):
    with deltaarrow.connect(dialect="spark") as connection:
        yield connection.attach(orders.parent, "lake")


def test_delete(con, orders):
    result = con.sql("DELETE FROM lake.orders WHERE orders.id > 1 AND s = 'b'")
    assert result.to_pylist() == [{"num_affected_rows": 1}]
    assert rows(orders) == [(1, "a", 1), (3, "c", 2)]
    con.sql(f"DELETE FROM delta.`{orders}` AS x WHERE x.id = 1 -- one\n;")
    assert rows(orders) == [(3, "c", 2)]
    assert con.sql("delete from lake.orders").to_pylist() == [{"num_affected_rows": 1}]
    assert last(orders) == ("DELETE", {"predicate": '["true"]'})


def test_update(con, orders):
    result = con.sql("UPDATE lake.orders o SET o.s = upper(o.s), p = CASE WHEN id = 1 THEN 7 ELSE 8 END")
    assert result.to_pylist() == [{"num_affected_rows": 3}]
    assert rows(orders) == [(1, "A", 7), (2, "B", 8), (3, "C", 8)]
    con.sql("UPDATE lake.orders SET s = DEFAULT WHERE id = 2")
    assert rows(orders)[1] == (2, None, 8)


def test_alias_hides_the_name_of_the_table(con):
    with pytest.raises(SchemaMismatchError, match="orders"):
        con.sql("DELETE FROM lake.orders AS x WHERE orders.id = 1")


def test_merge_of_a_table(con, orders):
    deltaarrow.write_deltalake(
        orders.with_name("news"), pa.table({"id": [2, 9], "s": ["B", "Z"], "p": pa.array([1, 3], pa.int32())})
    )
    result = con.sql(
        "MERGE INTO lake.orders USING lake.news ON orders.id = news.id WHEN MATCHED THEN UPDATE SET *"
        " WHEN NOT MATCHED THEN INSERT * WHEN NOT MATCHED BY SOURCE AND orders.id = 3 THEN DELETE"
    )
    assert result.to_pylist() == [
        {"num_affected_rows": 3, "num_updated_rows": 1, "num_deleted_rows": 1, "num_inserted_rows": 1}
    ]
    assert rows(orders) == [(1, "a", 1), (2, "B", 1), (9, "Z", 3)]


def test_merge_of_the_table_itself(con, orders):
    con.sql(f"MERGE INTO lake.orders t USING delta.`{orders}` AS s ON t.id = s.id WHEN MATCHED THEN DELETE")
    assert rows(orders) == []


@pytest.mark.parametrize("is_set", [True, False])
def test_merge_evolves_the_schema(con, orders, is_set):
    deltaarrow.write_deltalake(orders.with_name("news"), pa.table({"id": [9], "more": ["x"]}))
    merge = "INTO lake.orders t USING lake.news s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *"
    if is_set:
        con.sql(f"SET spark.databricks.delta.schema.autoMerge.enabled = true; MERGE {merge}")
    else:
        con.sql(f"MERGE WITH SCHEMA EVOLUTION {merge}")
    assert DeltaTable(orders).schema().names == ["id", "s", "p", "more"]


def test_truncate(con, orders):
    assert con.sql("TRUNCATE TABLE lake.orders") == pa.table({})
    assert (rows(orders), last(orders)) == ([], ("TRUNCATE", {}))


def test_settings_go_into_the_commit(con, orders):
    con.sql(
        "SET spark.databricks.delta.commitInfo.userMetadata = noted; DELETE FROM lake.orders WHERE id = 1"
    )
    assert DeltaTable(orders).history(1)[0]["userMetadata"] == "noted"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("DELETE lake.orders", "FROM is expected"),
        ("DELETE FROM lake.orders WHERE", "an expression is expected"),
        ("DELETE FROM lake.orders x y WHERE id = 1", "the end is expected"),
        ("UPDATE lake.orders", "SET is expected"),
        ("UPDATE lake.orders SET s = 'a', s = 'b'", "none twice"),
        ("UPDATE lake.orders SET s", "= is expected"),
        ("MERGE INTO lake.orders USING lake.orders s ON true", "WHEN is expected"),
        (
            "MERGE INTO lake.orders USING lake.orders s ON true WHEN MATCHED THEN INSERT *",
            "UPDATE is expected",
        ),
        ("INSERT INTO lake.orders", "a query or VALUES"),
        ("INSERT INTO lake.orders IF NOT EXISTS VALUES (1)", "without IF NOT EXISTS"),
        ("INSERT INTO lake.orders PARTITION (p, p) VALUES (1)", "another partition column"),
        ("TRUNCATE TABLE lake.orders PARTITION (p = 1)", "the end is expected"),
    ],
)
def test_what_is_no_statement_is_refused_where_it_stops_being_one(con, orders, text, why):
    with pytest.raises(UnsupportedFeatureError, match=why):
        con.sql(text)
    assert DeltaTable(orders).version() == 0


def test_statement_changes_nothing_if_it_fails(con, orders):
    for text in (
        "UPDATE lake.orders SET p = CAST('x' AS INT)",
        "DELETE FROM lake.orders WHERE nothing = 1",
        "MERGE INTO lake.orders t USING lake.nothing s ON t.id = s.id WHEN MATCHED THEN DELETE",
    ):
        with pytest.raises(deltaarrow.DeltaError):
            con.sql(text)
    assert DeltaTable(orders).version() == 0
    assert not list(orders.rglob("*.tmp"))


def test_history_has_the_conditions(con, orders):
    con.sql("UPDATE lake.orders SET s = 'x' WHERE id = 1")
    assert last(orders) == ("UPDATE", {"predicate": json.dumps(["(id = 1)"])})
