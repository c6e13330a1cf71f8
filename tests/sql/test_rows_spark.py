"""Spark's statements that change rows."""

import datetime
import decimal
import json
import re
from datetime import UTC

import pyarrow as pa
import pyarrow.parquet
import pytest

import deltaarrow
import deltaarrow.sql.rows.insertion
from deltaarrow import DeltaTable
from deltaarrow.errors import SchemaMismatchError, UnsupportedFeatureError
from deltaarrow.spark_sql import Words
from deltaarrow.sql.rows.spark import parse_merge


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


def test_merge_of_a_registered_table_a_view_and_a_registered_version(con, orders):
    news = pa.table({"id": [1], "s": ["A"], "p": pa.array([1], pa.int32())})
    merge = "MERGE INTO lake.orders t USING {} ON t.id = {}.id WHEN MATCHED THEN UPDATE SET *"
    con.register("news", news)
    con.sql(merge.format("news", "news"))
    assert rows(orders) == [(1, "A", 1), (2, "b", 1), (3, "c", 2)]
    con.sql("CREATE TEMP VIEW dear AS SELECT id, 'B' AS s, p FROM lake.orders WHERE id = 2")
    con.sql(merge.format("dear AS d", "d"))
    assert rows(orders) == [(1, "A", 1), (2, "B", 1), (3, "c", 2)]
    con.register("before", DeltaTable(orders, version=0))
    con.sql(merge.format("before", "before"))
    assert rows(orders) == [(1, "a", 1), (2, "b", 1), (3, "c", 2)]


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
    assert con.sql("TRUNCATE TABLE lake.orders").to_pylist() == []
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
        ("UPDATE lake.orders SET s = 'a', s = 'b'", "DELTA_CONFLICT_SET_COLUMN"),
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


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("INTO lake.orders VALUES (4, 'd', 2), (5, NULL, NULL)", [(4, "d", 2), (5, None, None)]),
        ("INTO lake.orders VALUES ('6', 7, '2')", [(6, "7", 2)]),
        ("INTO TABLE lake.orders (S, id) VALUES ('e', 5)", [(5, "e", None)]),
        ("INTO lake.orders BY NAME SELECT 's' AS s, 9 AS id", [(9, "s", None)]),
        ("INTO lake.orders PARTITION (p = 5) VALUES (10, 'z')", [(10, "z", 5)]),
        ("INTO lake.orders PARTITION (p = '6') (s, id) VALUES ('z', 10)", [(10, "z", 6)]),
        ("INTO lake.orders PARTITION (p) SELECT 12, 'q', 6", [(12, "q", 6)]),
        ("INTO lake.orders SELECT id + 10, s, p FROM lake.orders WHERE p = 2", [(13, "c", 2)]),
        ("INTO lake.orders (SELECT 4, 'd', 2)", [(4, "d", 2)]),
        ("INTO lake.orders VALUES (4, DEFAULT, 2)", [(4, None, 2)]),
        ("INTO lake.orders VALUES (4, 'd', 2), (5, DEFAULT, DEFAULT)", [(4, "d", 2), (5, None, None)]),
        ("INTO lake.orders WITH c AS (SELECT 7 AS id) SELECT id, 's', 1 FROM c;", [(7, "s", 1)]),
    ],
)
def test_insert(con, orders, text, found):
    before = rows(orders)
    assert con.sql(f"INSERT {text}").to_pylist() == []
    assert rows(orders) == sorted(before + found, key=repr)
    assert last(orders) == ("WRITE", {"mode": "Append", "partitionBy": "[]"})


@pytest.mark.parametrize(
    ("text", "found", "parameters"),
    [
        ("OVERWRITE lake.orders VALUES (4, 'd', 2)", [(4, "d", 2)], {}),
        (
            "OVERWRITE TABLE lake.orders PARTITION (p = 1) VALUES (4, 'd')",
            [(3, "c", 2), (4, "d", 1)],
            {"predicate": "(p <=> 1)"},
        ),
        ("OVERWRITE lake.orders PARTITION (p) VALUES (4, 'd', 2)", [(4, "d", 2)], {}),
        (
            "INTO lake.orders REPLACE WHERE p = 2 AND id > 2 VALUES (4, 'd', 2)",
            [(1, "a", 1), (2, "b", 1), (4, "d", 2)],
            {"predicate": "(p = 2 AND id > 2)"},
        ),
        ("OVERWRITE lake.orders SELECT id, s, p FROM lake.orders WHERE id = 1", [(1, "a", 1)], {}),
    ],
)
def test_insert_that_replaces(con, orders, text, found, parameters):
    con.sql(f"INSERT {text}")
    assert rows(orders) == found
    assert last(orders) == ("WRITE", {"mode": "Overwrite", "partitionBy": "[]", **parameters})


@pytest.mark.parametrize("clause", ["", "PARTITION (p) "])
def test_overwrite_of_the_partitions_of_its_rows(con, orders, clause):
    con.sql("SET spark.sql.sources.partitionOverwriteMode = dynamic")
    con.sql(f"INSERT OVERWRITE lake.orders {clause}VALUES (4, 'd', 2)")
    assert rows(orders) == [(1, "a", 1), (2, "b", 1), (4, "d", 2)]
    con.sql("INSERT OVERWRITE lake.orders PARTITION (p = 1) VALUES (5, 'e')")
    assert rows(orders) == [(4, "d", 2), (5, "e", 1)]


@pytest.mark.parametrize("is_set", [True, False])
def test_insert_evolves_the_schema(con, orders, is_set):
    if is_set:
        con.sql("SET spark.databricks.delta.schema.autoMerge.enabled = true")
        con.sql("INSERT INTO lake.orders SELECT 4, 'd', 2, 'x' AS more")
    else:
        con.sql("INSERT WITH SCHEMA EVOLUTION INTO lake.orders BY NAME SELECT 'x' AS more, 4 AS id")
    assert DeltaTable(orders).schema().names == ["id", "s", "p", "more"]
    assert ("x",) in {row[3:] for row in rows(orders)}


def test_parameters_of_an_insert_are_values(con, orders):
    con.sql("INSERT INTO lake.orders VALUES (?, ?, 1)", params=[4, "x'); DROP"])
    con.sql("INSERT INTO lake.orders SELECT :id, :s, 2", params={"id": 5, "s": "--"})
    assert rows(orders)[3:] == [(4, "x'); DROP", 1), (5, "--", 2)]


def test_insert_that_reads_its_table_conflicts_with_a_delete(con, orders, monkeypatch):
    table = DeltaTable(orders)
    find = deltaarrow.sql.rows.insertion.InsertedRows.reader

    def read(self):
        table.delete("id = 1")
        return find(self)

    monkeypatch.setattr(deltaarrow.sql.rows.insertion.InsertedRows, "reader", read)
    with pytest.raises(deltaarrow.errors.CommitFailedError):
        con.sql("INSERT INTO lake.orders SELECT id + 10, s, p FROM lake.orders")
    assert rows(orders) == [(2, "b", 1), (3, "c", 2)]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("INTO lake.orders VALUES (1)", "DELTA_INSERT_COLUMN_ARITY_MISMATCH"),
        ("INTO lake.orders VALUES (1, 'a', 1, 4)", "DELTA_METADATA_MISMATCH"),
        ("INTO lake.orders (id) VALUES (1, 2)", "INSERT_COLUMN_ARITY_MISMATCH.TOO_MANY_DATA_COLUMNS"),
        ("INTO lake.orders (id, nope) VALUES (1, 2)", "UNRESOLVED_COLUMN"),
        ("INTO lake.orders (id, ID) VALUES (1, 2)", "COLUMN_ALREADY_EXISTS"),
        ("INTO lake.orders BY NAME SELECT 1 AS id, 2 AS nope", "DELTA_METADATA_MISMATCH"),
        ("INTO lake.orders BY NAME SELECT 1 AS id, 2 AS ID", "DELTA_DUPLICATE_COLUMNS_FOUND"),
        ("INTO lake.orders PARTITION (s = 'x') VALUES (1, 2)", "NON_PARTITION_COLUMN"),
        ("INTO lake.orders PARTITION (p = 1) VALUES (1, 'a', 1)", "DELTA_METADATA_MISMATCH"),
        ("INTO lake.orders VALUES ('x', 'a', 1)", "not a valid BIGINT"),
        ("INTO lake.orders REPLACE WHERE p = 5 VALUES (1, 'a', 6)", "do not fulfil"),
        ("INTO lake.orders SELECT * FROM lake.nothing", "lake.nothing"),
        ("INTO lake.orders VALUES (1, 'a', 1); x", "a statement or a query"),
    ],
)
def test_insert_that_is_refused_writes_nothing(con, orders, text, error):
    with pytest.raises(deltaarrow.DeltaError, match=error):
        con.sql(f"INSERT {text}")
    assert DeltaTable(orders).version() == (1 if "; x" in text else 0)


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO lake.orders SELECT id, s, p FROM read_parquet('{file}')",
        "INSERT INTO lake.orders SELECT getenv('HOME'), 's', 1",
        "MERGE INTO lake.orders t USING (FROM read_csv('{file}')) s ON true WHEN MATCHED THEN DELETE",
        "MERGE INTO lake.orders t USING (SELECT 1) s ON read_text('{file}') = 1 WHEN MATCHED THEN DELETE",
        "UPDATE lake.orders SET s = (SELECT content FROM read_text('{file}'))",
        "DELETE FROM lake.orders WHERE EXISTS (SELECT 1 FROM '{file}')",
        "INSERT INTO lake.orders SELECT * FROM '{file}'",
    ],
)
def test_hostile_text_reaches_no_file(con, orders, text):
    file = orders.with_name("secret.parquet")
    pa.parquet.write_table(pa.table({"id": [8], "s": ["secret"], "p": [1]}), file)
    with pytest.raises(deltaarrow.DeltaError):
        con.sql(text.format(file=file))
    assert DeltaTable(orders).version() == 0


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("DELETE FROM lake.orders WHERE id IN (SELECT id FROM lake.orders WHERE p = 1)", [(3, "c", 2)]),
        (
            "DELETE FROM lake.orders AS o WHERE EXISTS (SELECT 1 FROM lake.orders q WHERE q.id = o.id + 2)",
            [(2, "b", 1), (3, "c", 2)],
        ),
        ("DELETE FROM lake.orders WHERE id = (SELECT max(id) FROM lake.orders)", [(1, "a", 1), (2, "b", 1)]),
        (
            "DELETE FROM lake.orders WHERE id NOT IN (SELECT CAST(NULL AS INT))",
            [(1, "a", 1), (2, "b", 1), (3, "c", 2)],
        ),
        (
            "UPDATE lake.orders o SET s = (SELECT max(s) FROM lake.orders q WHERE q.p = o.p), p = '4'"
            " WHERE id < 3",
            [(1, "b", 4), (2, "b", 4), (3, "c", 2)],
        ),
        (
            "UPDATE lake.orders SET s = 'in' WHERE id IN (SELECT id - 1 FROM lake.orders)"
            " AND 1 / (id - 1) > 0",
            [(1, "a", 1), (2, "in", 1), (3, "c", 2)],
        ),
    ],
)
def test_subqueries(con, orders, text, found):
    if "/ (id" in text:
        con.sql("DELETE FROM lake.orders WHERE id = 1")
        found = found[1:]
    before = rows(orders)
    result = con.sql(text)
    assert rows(orders) == found
    assert result.column("num_affected_rows").to_pylist() == [len({*before} - {*found})]


def test_subqueries_of_marked_rows_compute_nothing_for_these(con, orders):
    DeltaTable(orders).alter.set_table_properties({"delta.enableDeletionVectors": "true"})
    deltaarrow.write_deltalake(
        orders, pa.table({"id": [4, 5, 6], "p": pa.array([3, 3, 3], pa.int32())}), mode="append"
    )
    con.sql("DELETE FROM lake.orders WHERE id = 4")
    con.sql("DELETE FROM lake.orders WHERE 1 / (id - 4) > 0 AND id = (SELECT 5)")
    assert rows(orders)[3:] == [(6, None, 3)]


def test_refusal_shows_the_line():
    with pytest.raises(UnsupportedFeatureError) as refused:
        parse_merge(Words("MERGE INTO delta.`/t` AS t\n  USING 'delta'\nON TRUE"))
    assert str(refused.value) == (
        "[PARSE_SYNTAX_ERROR] the name of a table is expected, and there is \"'delta'\" in line 2"
        " of the statement:\n    USING 'delta'\n          ^"
    )


def test_refusal_of_a_long_word_is_short():
    with pytest.raises(UnsupportedFeatureError, match=r"and there is '9{100}\.\.\.' in line 1") as refused:
        parse_merge(Words("MERGE INTO " + "9" * 100_000))
    assert len(str(refused.value)) < 500


def test_merge_has_its_parts_as_they_are_written():
    text = (
        "merge into delta.`/t` using (SELECT (1) AS id) ON id = 1 AND target.end > 2"
        " WHEN MATCHED AND CASE WHEN TRUE THEN TRUE END THEN UPDATE SET `a b` = f(1, 2), c.d = 'WHEN, x'"
        " WHEN NOT MATCHED THEN INSERT (a, `b`) VALUES (f(1, 2), DEFAULT)"
    )
    merge = parse_merge(Words(text))
    assert (merge.table.parts, merge.alias, merge.source_alias) == (("delta", "/t"), None, None)
    assert (merge.source, merge.condition) == ("SELECT (1) AS id", "id = 1 AND target.end > 2")
    update, insert = merge.clauses
    assert update.predicate == "CASE WHEN TRUE THEN TRUE END"
    assert update.values == {"`a b`": "f(1, 2)", "c.d": "'WHEN, x'"}
    assert insert.values == {"a": "f(1, 2)", "`b`": "DEFAULT"}


DEFAULTS = {
    "s STRING": (r"'it\'s \\'", "it's \\"),
    "b BOOLEAN": ("true", True),
    "d DATE": ("DATE'2026-01-02'", datetime.date(2026, 1, 2)),
    "t TIMESTAMP": ("TIMESTAMP'2026-01-02 03:04:05.6'", datetime.datetime(2026, 1, 2, 3, 4, 5, 600_000, UTC)),
    "n TIMESTAMP_NTZ": ("TIMESTAMP_NTZ'2026-01-02 03:04:05'", datetime.datetime(2026, 1, 2, 3, 4, 5)),
    "m DECIMAL(5,2)": ("1.50", decimal.Decimal("1.50")),
    "i INT": ("1 + 1", 2),
    "z INT": ("NULL", None),
    "f FLOAT": ("1.5", 1.5),
    "g DOUBLE": ("-1e-7D", -1e-7),
}


@pytest.mark.parametrize("dialect", ["spark", "duckdb"])
@pytest.mark.parametrize("column", DEFAULTS)
def test_default_in_some_rows_is_the_value_of_the_column(con, tmp_path, column, dialect):
    text, value = DEFAULTS[column]
    con.sql(
        f"CREATE TABLE lake.t (id INT, {column} DEFAULT {text})"
        " TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')"
    )
    con.sql("INSERT INTO lake.t VALUES (1, DEFAULT), (2, NULL)", dialect=dialect)
    found = DeltaTable(f"{tmp_path}/t").to_pyarrow_table().sort_by("id").column(1).to_pylist()
    assert found == [value, None]


@pytest.mark.parametrize("column", ["f BINARY DEFAULT X'00'", "g INT GENERATED ALWAYS AS (id + 1)"])
def test_default_in_some_rows_without_a_literal_is_refused(con, column):
    con.sql(
        f"CREATE TABLE lake.t (id INT, {column})"
        " TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')"
    )
    with pytest.raises(deltaarrow.UnsupportedFeatureError, match="give rows with it an INSERT of their own"):
        con.sql("INSERT INTO lake.t VALUES (1, DEFAULT), (2, 3)")
    with pytest.raises(deltaarrow.UnsupportedFeatureError, match="leave the column out of the INSERT"):
        con.sql("INSERT INTO lake.t SELECT 1, DEFAULT", dialect="spark")


@pytest.mark.parametrize(
    ("query", "error_class"),
    [
        ("SELECT DEFAULT + 1, 2", "DEFAULT_PLACEMENT_INVALID"),
        ("SELECT 2, abs(DEFAULT) FROM lake.orders", "DEFAULT_PLACEMENT_INVALID"),
        ("SELECT DEFAULT AS x, 2", "DEFAULT_PLACEMENT_INVALID"),
        ("SELECT (SELECT DEFAULT), 2", "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION"),
        ("SELECT DISTINCT DEFAULT, 2", "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION"),
        ("SELECT 1, 2 WHERE DEFAULT = 1", "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION"),
        ("SELECT DEFAULT, 2 UNION ALL SELECT 3, 4", "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION"),
    ],
)
def test_default_that_is_no_whole_value_of_one_select_is_refused_as_by_spark(con, query, error_class):
    con.sql(
        "CREATE TABLE lake.t (a INT DEFAULT 3, b INT DEFAULT 4)"
        " TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')"
    )
    with pytest.raises(deltaarrow.SchemaMismatchError, match=re.escape(f"[{error_class}]")) as caught:
        con.sql(f"INSERT INTO lake.t {query}", dialect="spark")
    text, place = caught.value.place or ("", 0)
    assert text[place:].startswith("DEFAULT")
    con.sql("INSERT INTO lake.t SELECT DEFAULT + 1, 5 FROM (SELECT 1 AS default)", dialect="spark")
    assert con.sql("SELECT * FROM lake.t").fetchall() == [(2, 5)]
