"""DuckDB's statements that change rows: they do to a Delta table what DuckDB does to its own."""

import datetime
from decimal import Decimal

import duckdb
import pandas as pd
import pyarrow as pa
import pytest

import deltaarrow
from deltaarrow import DeltaTable
from deltaarrow.errors import (
    CommitFailedError,
    ConstraintViolationError,
    DeltaError,
    SchemaMismatchError,
    UnsupportedFeatureError,
)

DATA = pa.table(
    {
        "id": [1, 2, 3, None],
        "s": ["a", "b", "c", "d"],
        "p": pa.array([1, 1, 2, None], pa.int32()),
        "x": [1.5, float("nan"), -0.0, None],
    }
)
NEWS = pa.table({"id": [2, 9], "s": ["B", "Z"], "p": pa.array([1, 3], pa.int32()), "x": [0.5, 2.5]})


def rows(table):
    return as_text(map(tuple, (row.values() for row in DeltaTable(table).to_pyarrow_table().to_pylist())))


def as_text(found):
    """Rows that compare, NaN and -0.0 too."""
    return sorted(map(repr, found))


@pytest.fixture(params=[False, True], ids=["rewritten", "marked"])
def orders(tmp_path, request):
    marked = {"delta.enableDeletionVectors": "true"} if request.param else {}
    deltaarrow.write_deltalake(tmp_path / "orders", DATA, partition_by="p", configuration=marked)
    return tmp_path / "orders"


@pytest.fixture
def con(orders):
    deltaarrow.write_deltalake(orders.with_name("news"), NEWS)
    with deltaarrow.connect() as connection:
        connection.execute("SET TimeZone = 'Asia/Tokyo'")
        yield connection.attach(orders.parent, "lake")


STATEMENTS = [
    "INSERT INTO {t} VALUES (5, 'e', 2, 1), ('6', NULL, 7.6, 'nan')",
    "INSERT INTO {t} (s, id) VALUES ('f', 6)",
    "INSERT INTO {t} BY NAME SELECT 's' AS S, 9 AS id",
    "INSERT INTO {t} BY POSITION FROM {u}",
    "INSERT INTO {t} SELECT id + 10, s, p, x FROM {t} WHERE p = 1",
    "INSERT INTO {t} VALUES (5, 'e', 2, DEFAULT)",
    "DELETE FROM {t}",
    "DELETE FROM {t} WHERE id = 2",
    "DELETE FROM {t} AS o WHERE o.x > 1 -- NaN is greatest",
    "DELETE FROM {t} o WHERE id IN (SELECT id FROM {u}) OR EXISTS (FROM {u} n WHERE n.id = o.id + 6)",
    "DELETE FROM {t} WHERE id = (SELECT max(id) FROM {t})",
    "DELETE FROM {t} o USING {u} n WHERE o.id = n.id",
    "DELETE FROM {t} o USING {u} n, {u} m WHERE o.id < n.id",
    "DELETE FROM {t} WHERE id IN (SELECT unnest([1, NULL]))",
    "DELETE FROM {t} WHERE s SIMILAR TO 'a|b' AND x IS NOT DISTINCT FROM 'nan'::DOUBLE",
    "UPDATE {t} SET s = upper(s) || id, x = 1e3 WHERE id < 3",
    "UPDATE {t} SET p = '3', s = 5",
    "UPDATE {t} o SET s = (SELECT n.s FROM {u} n WHERE n.id = o.id)",
    "UPDATE {t} AS o SET s = n.s, x = n.x FROM {u} AS n WHERE o.id = n.id",
    "UPDATE {t} SET \"s\" = CASE WHEN x IS NULL THEN 'none' ELSE s END",
    "UPDATE {t} SET x = r FROM (SELECT id AS k, row_number() OVER (ORDER BY id) AS r FROM {t}) WHERE k = id",
    "MERGE INTO {t} o USING {u} n ON o.id = n.id WHEN MATCHED THEN UPDATE SET *"
    " WHEN NOT MATCHED THEN INSERT *",
    "MERGE INTO {t} o USING {u} AS n USING (id) WHEN MATCHED AND n.x < 1 THEN UPDATE SET s = n.s || o.s"
    ", x = 7 WHEN NOT MATCHED BY TARGET AND n.id > 5 THEN INSERT (id, s) VALUES (n.id + 1, n.s)",
    "MERGE INTO {t} o USING (SELECT 2 AS id, 'k' AS s) n ON o.id = n.id WHEN MATCHED THEN DELETE"
    " WHEN NOT MATCHED BY SOURCE AND o.id = 1 THEN DELETE WHEN NOT MATCHED BY SOURCE THEN"
    " UPDATE SET s = o.s || '!'",
    "MERGE INTO {t} o USING (VALUES (1), (77)) AS n(k) ON o.id = n.k WHEN MATCHED THEN UPDATE SET s = 'in'"
    " WHEN NOT MATCHED THEN INSERT (id) VALUES (k)",
    "MERGE INTO {t} o USING (FROM {t} WHERE p = 1) n ON o.id = n.id WHEN MATCHED THEN UPDATE BY NAME",
    "MERGE INTO {t} o USING range(3) n(k) ON o.id = n.k WHEN MATCHED THEN DELETE",
    "MERGE INTO {t} o USING (SELECT 's' AS s, 4 AS id) n ON false WHEN NOT MATCHED THEN INSERT BY NAME",
    "MERGE INTO {t} o USING {u} n ON o.id = n.id WHEN NOT MATCHED AND id > 5 THEN INSERT (id) VALUES (id)",
    "MERGE INTO {t} o USING {u} n ON o.id = n.id WHEN NOT MATCHED BY SOURCE AND x > 1 THEN UPDATE SET s = p",
    "MERGE INTO {t} o USING {u} n ON o.id = n.id WHEN MATCHED THEN UPDATE SET s = o.s || n.s"
    " WHEN NOT MATCHED AND s > 'A' THEN INSERT (s, id) VALUES (lower(s) || id, (SELECT max(id) FROM {u}))"
    " WHEN NOT MATCHED BY SOURCE AND id IS NULL THEN DELETE"
    " WHEN NOT MATCHED BY SOURCE THEN UPDATE SET s = s || id, x = 1",
    "MERGE INTO {t} o USING (SELECT id, s FROM {u}) n USING (id) WHEN NOT MATCHED THEN INSERT (id, s)"
    " VALUES (id * 2, s)",
    "MERGE INTO {t} o USING {u} n ON o.id = n.id WHEN MATCHED AND o.p = 1 THEN DO NOTHING"
    " WHEN NOT MATCHED BY SOURCE AND x > 1 THEN DO NOTHING WHEN NOT MATCHED BY SOURCE THEN DELETE"
    " WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (id, s, DEFAULT, x + 1)",
    "MERGE INTO {t} o USING {u} n ON o.id = n.id WHEN MATCHED AND n.x < 0 THEN DELETE"
    " WHEN MATCHED AND n.x < 1 THEN DO NOTHING WHEN MATCHED THEN DELETE",
    "MERGE INTO {t} o USING {u} n ON o.id = n.id WHEN MATCHED THEN UPDATE SET (s, x) = (n.s, DEFAULT)"
    " WHEN NOT MATCHED THEN INSERT (id, s) VALUES (id, DEFAULT)",
    "UPDATE {t} SET s = DEFAULT, (p, x) = ROW(9, id / 2) WHERE id > 1",
    "MERGE INTO {t} o USING {u} n ON o.id = n.id WHEN MATCHED THEN DO NOTHING",
    "TRUNCATE {t}",
    "TRUNCATE TABLE {t};",
]


@pytest.mark.parametrize("text", STATEMENTS)
def test_statement_does_what_duckdb_does_to_its_own_table(con, orders, text):
    with duckdb.connect() as own:
        own.execute("SET TimeZone = 'Asia/Tokyo'")
        own.register("data", DATA)
        own.register("fresh", NEWS)
        own.execute("CREATE TABLE t AS FROM data; CREATE TABLE u AS FROM fresh")
        ((count,),) = own.execute(text.format(t="t", u="u")).fetchall()
        expected = own.execute("FROM t").fetchall()
    result = con.sql(text.format(t="lake.orders", u=f"delta.'{orders}/../news'"))
    assert rows(orders) == as_text(expected)
    if not text.startswith("TRUNCATE"):
        assert result.column("num_affected_rows").to_pylist() == [count]
    names = con.connection.execute("SELECT view_name FROM duckdb_views() WHERE temporary AND NOT internal")
    assert not [name for (name,) in names.fetchall() if "target" in name or name.endswith("rows")]
    assert con.connection.execute("FROM duckdb_variables() WHERE name LIKE '%parameter%'").fetchall() == []


def test_history_is_that_of_spark_for_the_same_change(con, orders):
    con.sql("DELETE FROM lake.orders WHERE id = 1; UPDATE lake.orders SET s = 'x'")
    con.sql("MERGE INTO lake.orders o USING lake.news n ON o.id = n.id WHEN MATCHED AND n.x > 0 THEN DELETE")
    merge, update, delete = DeltaTable(orders).history(3)
    assert (delete["operation"], delete["operationParameters"]) == ("DELETE", {"predicate": '["(id = 1)"]'})
    assert delete["operationMetrics"]["numDeletedRows"] == "1"
    assert (update["operation"], update["operationParameters"]) == ("UPDATE", {"predicate": "[]"})
    assert update["operationMetrics"]["numUpdatedRows"] == "3"
    assert merge["operation"] == "MERGE"
    assert merge["operationParameters"]["matchedPredicates"] == (
        '[{"predicate":"(n.x > 0)","actionType":"delete"}]'
    )
    assert (
        merge["operationMetrics"]["numSourceRows"],
        merge["operationMetrics"]["numTargetRowsDeleted"],
    ) == (
        "2",
        "1",
    )


def test_parameters_are_values(con, orders):
    con.sql("INSERT INTO lake.orders (id, s) VALUES (?, ?)", params=[7, "x'); DROP TABLE t; --"])
    con.sql("UPDATE lake.orders SET s = $s WHERE id = $id", params={"s": "?", "id": 1})
    con.execute("DELETE FROM lake.orders WHERE id = $2 OR id = $1", [2, 3])
    con.sql(
        "MERGE INTO lake.orders o USING (SELECT ? AS id) n ON o.id = n.id AND o.s = ? WHEN MATCHED THEN"
        " UPDATE SET s = ?",
        params=[1, "?", "$1"],
    )
    assert rows(orders)[:2] == as_text([(1, "$1", 1, 1.5), (7, "x'); DROP TABLE t; --", None, None)])
    with pytest.raises(ValueError, match="parameters"):
        con.sql("DELETE FROM lake.orders WHERE id = ?")
    with pytest.raises(ValueError, match="parameters"):
        con.sql("DELETE FROM lake.orders WHERE id = ?", params=[1, 2])


def test_a_parameter_below_microseconds_is_refused_instead_of_cut(con, tmp_path):
    """DuckDB takes the microseconds of a time of pandas, which would delete the row of another time."""
    times = pa.table({"t": pa.array([1], pa.timestamp("us"))})
    table = deltaarrow.DeltaTable.create(tmp_path / "times", times.schema)
    deltaarrow.write_deltalake(table, times, mode="append")
    statement = "DELETE FROM lake.times WHERE t = ?"
    with pytest.raises(ValueError, match="below microseconds"):
        con.sql(statement, params=[pd.Timestamp(1_999)])
    assert DeltaTable(tmp_path / "times").count() == 1
    con.sql(statement, params=[pd.Timestamp(1_000)])
    assert DeltaTable(tmp_path / "times").count() == 0


def test_only_the_files_that_the_condition_needs_are_read(con, orders):
    before = {path.name: path.stat().st_mtime_ns for path in orders.glob("p=2/*.parquet")}
    for path in orders.glob("p=1/*.parquet"):
        path.write_bytes(b"broken")
    con.sql("DELETE FROM lake.orders WHERE p = 2 AND id > 2")
    assert DeltaTable(orders).history(1)[0]["operationMetrics"]["numDeletedRows"] == "1"
    assert before


def test_own_tables_stay_duckdbs(con, orders):
    con.sql("CREATE TABLE own AS FROM lake.orders")
    con.sql("INSERT INTO own SELECT * FROM lake.orders WHERE id = 1")
    assert con.sql("SELECT count(*) FROM own").fetchall() == [(5,)]
    con.sql("CREATE TEMP TABLE picked AS SELECT 2 AS id")
    con.sql("DELETE FROM lake.orders WHERE id IN (FROM picked)")
    assert not any(row.startswith("(2,") for row in rows(orders))


def test_frames_of_the_caller_are_sources(con, orders):
    mine = pa.table({"k": [1], "v": ["mine"]})
    con.sql("UPDATE lake.orders SET s = v FROM mine WHERE id = k")
    assert repr((1, "mine", 1, 1.5)) in rows(orders)
    assert mine.num_rows == 1


TYPES = pa.table(
    {
        "i8": pa.array([1], pa.int8()),
        "f": pa.array([0.5], pa.float32()),
        "m": pa.array([Decimal("1.50")], pa.decimal128(10, 2)),
        "d": [datetime.date(2026, 1, 1)],
        "at": pa.array([datetime.datetime(2026, 1, 1)], pa.timestamp("us", "UTC")),
        "ntz": pa.array([datetime.datetime(2026, 1, 1)], pa.timestamp("us")),
        "b": [b"x"],
        "ok": [True],
        "st": [{"a": 1, "b": ["x", None]}],
        "ma": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())),
    }
)


def test_values_of_all_types(con, orders):
    deltaarrow.write_deltalake(orders.with_name("types"), TYPES)
    con.sql(
        "UPDATE lake.types SET i8 = i8 + 1, f = 0.25, m = m * 2, d = d + INTERVAL 1 DAY,"
        " \"at\" = \"at\" + INTERVAL 1 HOUR, ntz = '2026-02-03 04:05:06', b = 'y'::BLOB, ok = NOT ok,"
        " st = {'a': 2, 'b': ['y']}, ma = MAP {'z': 5}"
    )
    con.sql("INSERT INTO lake.types SELECT * FROM lake.types")
    con.sql("INSERT INTO lake.types (at) VALUES ('2026-01-01 09:00:00')")
    found = DeltaTable(orders.with_name("types")).to_pyarrow_table().to_pylist()
    first = [row for row in found if row["i8"] == 2]
    assert len(first) == 2
    assert (
        first[0]
        == first[1]
        == {
            "i8": 2,
            "f": 0.25,
            "m": Decimal("3.00"),
            "d": datetime.date(2026, 1, 2),
            "at": datetime.datetime(2026, 1, 1, 1, tzinfo=datetime.UTC),
            "ntz": datetime.datetime(2026, 2, 3, 4, 5, 6),
            "b": b"y",
            "ok": False,
            "st": {"a": 2, "b": ["y"]},
            "ma": [("z", 5)],
        }
    )
    (last,) = [row for row in found if row["i8"] is None]
    assert last["at"] == datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ("text", "error", "why"),
    [
        ("INSERT OR REPLACE INTO lake.orders VALUES (1)", UnsupportedFeatureError, "no keys"),
        ("INSERT INTO lake.orders FROM lake.orders RETURNING id", UnsupportedFeatureError, "not returned"),
        ("INSERT INTO lake.orders VALUES (1) ON CONFLICT DO NOTHING", UnsupportedFeatureError, "use MERGE"),
        ("INSERT INTO lake.orders VALUES (1)", SchemaMismatchError, "ARITY"),
        ("INSERT INTO lake.orders VALUES ('x', 's', 1, 1)", ConstraintViolationError, "Could not convert"),
        ("DELETE FROM lake.orders RETURNING *", UnsupportedFeatureError, "not returned"),
        ("DELETE FROM lake.orders WHERE nope = 1", duckdb.BinderException, "nope"),
        ("DELETE FROM lake.orders WHERE file = 1", duckdb.BinderException, "file"),
        ("DELETE FROM lake.orders WHERE s::INT = 1", ConstraintViolationError, "Could not convert"),
        ("DELETE FROM lake.orders WHERE id = 1) OR (true", UnsupportedFeatureError, "not open"),
        ("UPDATE lake.orders SET orders.s = 1", UnsupportedFeatureError, "= is expected"),
        ("UPDATE lake.orders SET nope = 1", SchemaMismatchError, "nope"),
        ("UPDATE lake.orders SET p = s", ConstraintViolationError, "Could not convert"),
        ("UPDATE lake.orders SET s = 'k' FROM range(2) r WHERE id = 1", UnsupportedFeatureError, "ambiguous"),
        (
            "MERGE INTO lake.orders o USING range(2) r(k) ON true WHEN MATCHED THEN DELETE RETURNING *",
            UnsupportedFeatureError,
            "not returned",
        ),
        (
            "MERGE INTO lake.orders o USING range(2) r(k) ON true WHEN MATCHED THEN ERROR",
            UnsupportedFeatureError,
            "DO NOTHING",
        ),
        (
            "MERGE INTO lake.orders o USING range(2) r(k) ON true WHEN NOT MATCHED THEN INSERT VALUES (1)",
            SchemaMismatchError,
            "has 1 values, and the table 4 columns",
        ),
        (
            "MERGE INTO lake.orders o USING range(2) r(k) ON true WHEN NOT MATCHED THEN INSERT (id)"
            " VALUES (DEFAULT)",
            UnsupportedFeatureError,
            "give one column a value",
        ),
        (
            "MERGE INTO lake.orders o USING range(2) r(k) ON true WHEN MATCHED THEN UPDATE SET s = 'k'",
            UnsupportedFeatureError,
            "ambiguous",
        ),
        (
            "MERGE INTO lake.orders o USING range(2) r(k) ON true WHEN MATCHED THEN UPDATE",
            SchemaMismatchError,
            "position",
        ),
        (
            "MERGE INTO lake.orders o USING lake.news n ON o.id = n.id WHEN MATCHED THEN UPDATE SET s = s",
            duckdb.BinderException,
            "Ambiguous",
        ),
        (
            "MERGE INTO lake.orders o USING lake.news n ON o.id = n.id WHEN NOT MATCHED THEN INSERT (id)"
            " VALUES (o.id)",
            duckdb.BinderException,
            '"o" not found',
        ),
        ("DELETE FROM lake.nothing", DeltaError, "nothing"),
    ],
)
def test_statement_that_is_refused_changes_nothing(con, orders, text, error, why):
    with pytest.raises((error, duckdb.CatalogException) if "nothing" in text else error, match=why):
        con.sql(text)
    assert DeltaTable(orders).version() == 0
    assert rows(orders) == as_text(tuple(row.values()) for row in DATA.to_pylist())
    assert len(list(orders.rglob("*.parquet"))) == 3


def test_delete_that_reads_other_rows_conflicts_with_an_append(con, orders, monkeypatch):
    import deltaarrow.sql.rows.found_rows as found_rows

    asked = found_rows.FoundRows.sql

    def sql(self, *arguments, **named):
        deltaarrow.write_deltalake(orders, DATA.slice(0, 1), mode="append")
        return asked(self, *arguments, **named)

    monkeypatch.setattr(found_rows.FoundRows, "sql", sql)
    with pytest.raises(CommitFailedError):
        con.sql("DELETE FROM lake.orders WHERE id < (SELECT max(id) FROM lake.orders)")
    assert DeltaTable(orders).version() == 1


def test_feed_of_changes_has_what_a_statement_changed(con, orders):
    DeltaTable(orders).alter.set_table_properties({"delta.enableChangeDataFeed": "true"})
    con.sql("UPDATE lake.orders SET s = 'new' WHERE id = (SELECT 2); DELETE FROM lake.orders WHERE id = 3")
    feed = DeltaTable(orders).load_cdf(2).read_all().sort_by("_commit_version").to_pylist()
    assert sorted((row["_commit_version"], row["_change_type"], row["id"], row["s"]) for row in feed) == [
        (2, "update_postimage", 2, "new"),
        (2, "update_preimage", 2, "b"),
        (3, "delete", 3, "c"),
    ]


@pytest.fixture
def damaged(tmp_path):
    """A table of the ids 1 to 3, one a file, of which that of 1 is lost; and the changes for it."""
    table = tmp_path / "damaged"
    for number in (1, 2, 3):
        rows = pa.table({"id": [number], "s": [f"s{number}"], "p": [number]})
        deltaarrow.write_deltalake(table, rows, mode="append")
        if number == 1:
            (lost,) = table.glob("*.parquet")
    lost.unlink()
    deltaarrow.write_deltalake(tmp_path / "changes", pa.table({"id": [3, 9], "s": ["new", "s9"]}))
    with deltaarrow.connect() as connection:
        yield connection.attach(tmp_path, "lake")


@pytest.mark.parametrize(
    ("text", "parameters", "found"),
    [
        ("USING lake.changes n ON o.id = n.id WHEN MATCHED THEN UPDATE SET s = n.s", None, "new"),
        (
            "USING lake.changes n ON n.id = o.id AND o.s <> 'x' WHEN MATCHED THEN UPDATE SET s = n.s",
            None,
            "new",
        ),
        ("USING lake.changes n USING (id) WHEN MATCHED THEN UPDATE SET s = n.s", None, "new"),
        ("USING (SELECT 's3' AS t) n ON o.s = n.t WHEN MATCHED THEN UPDATE SET s = 'new'", None, "new"),
        ("USING (SELECT $v AS k) n ON o.id = n.k WHEN MATCHED THEN UPDATE SET s = 'new'", {"v": 3}, "new"),
        ("USING (SELECT 1) n ON o.id = ? WHEN MATCHED THEN UPDATE SET s = ?", [3, "new"], "new"),
        (
            "USING (SELECT NULL::BIGINT AS k) n ON o.id = n.k WHEN MATCHED THEN UPDATE SET s = 'new'",
            None,
            "s3",
        ),
    ],
)
def test_merge_opens_only_files_with_keys_of_the_source(damaged, text, parameters, found):
    damaged.sql(f"MERGE INTO lake.damaged AS o {text}", params=parameters)
    assert damaged.sql("SELECT s FROM lake.damaged WHERE id = 3").fetchall() == [(found,)]


def test_merge_inserts_rows_whose_keys_no_file_has(damaged):
    text = "MERGE INTO lake.damaged o USING lake.changes n USING (id) WHEN NOT MATCHED THEN INSERT BY NAME"
    assert damaged.sql(text).column("num_inserted_rows").to_pylist() == [1]


def test_values_of_parameters_skip_files_too(damaged):
    damaged.sql("UPDATE lake.damaged SET s = ? WHERE id = ? AND s = 's2'", params=["two", 2])
    damaged.sql(
        "INSERT INTO lake.changes SELECT id, s FROM lake.damaged WHERE id BETWEEN ? AND 2", params=[2]
    )
    damaged.sql("DELETE FROM lake.damaged WHERE id > $least", params={"least": 2})
    assert damaged.sql("SELECT s FROM lake.damaged WHERE id > 1").fetchall() == [("two",)]
    assert sorted(damaged.sql("SELECT s FROM lake.changes").fetchall()) == [("new",), ("s9",), ("two",)]


@pytest.mark.parametrize(
    "text",
    [
        "USING lake.changes n ON o.id + 1 = n.id WHEN MATCHED THEN DELETE",
        "USING lake.changes n ON o.id = n.id OR n.id = 9 WHEN MATCHED THEN DELETE",
        "USING lake.changes n ON o.id = n.id WHEN NOT MATCHED BY SOURCE THEN DELETE",
    ],
)
def test_other_conditions_open_all_files(damaged, text):
    with pytest.raises(DeltaError, match=r"not in storage|is missing|cannot read"):
        damaged.sql(f"MERGE INTO lake.damaged AS o {text}")
