"""CREATE, REPLACE, CLONE and DROP of tables and views: what is there afterwards, and what is not."""

import multiprocessing
import os
from pathlib import Path

import pyarrow as pa
import pytest

import deltaarrow
from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.errors import (
    ConcurrentAppendException,
    ConstraintViolationError,
    DeltaError,
    SchemaMismatchError,
    TableNotFoundError,
    UnsupportedFeatureError,
    VersionExistsError,
)
from deltaarrow.sql.define import handlers as definition


@pytest.fixture
def con(tmp_path):
    with deltaarrow.connect(catalog=tmp_path / "catalog", dialect="spark") as connection:
        yield connection


@pytest.fixture
def duck(tmp_path):
    write_deltalake(tmp_path / "lake" / "orders", pa.table({"id": [1, 2, 3], "s": ["x", "y", "y"]}))
    with deltaarrow.connect() as connection:
        yield connection.attach(tmp_path / "lake", "lake")


def operation(table):
    info = table.history(1)[0]
    return info["operation"], info["operationParameters"]


# --- Spark's dialect -------------------------------------------------------------------------------


def test_table_of_a_catalog_is_made_with_all_that_is_said(con, tmp_path):
    con.sql(
        """
        CREATE TABLE orders (
          id BIGINT NOT NULL COMMENT 'key', s STRING DEFAULT 'a, b', d DATE,
          y INT GENERATED ALWAYS AS (year(d)),
          n BIGINT GENERATED ALWAYS AS IDENTITY (START WITH 5 INCREMENT BY -2),
          CONSTRAINT positive CHECK (id > 0)) USING delta
        PARTITIONED BY (y) COMMENT 'of the shop'
        TBLPROPERTIES ('a' = 'b', delta.feature.allowColumnDefaults = 'supported')
        """
    )
    table = DeltaTable(tmp_path / "catalog" / "default" / "orders")
    fields = {each.name: each for each in table.schema().fields}
    assert not fields["id"].nullable
    assert fields["id"].metadata["comment"] == "key"
    assert fields["s"].metadata["CURRENT_DEFAULT"] == "'a, b'"
    assert fields["y"].metadata["delta.generationExpression"] == "year(d)"
    assert fields["n"].metadata["delta.identity.step"] == -2
    metadata = table.metadata()
    assert (metadata.description, metadata.partition_columns) == ("of the shop", ["y"])
    assert metadata.configuration == {"a": "b", "delta.constraints.positive": "id > 0"}
    name, parameters = operation(table)
    assert name == "CREATE TABLE"
    assert parameters["isManaged"] == "true"
    con.sql("INSERT INTO orders (id, d) VALUES (1, DATE'2026-01-02')")
    assert con.sql("SELECT s, y, n FROM orders").fetchall() == [("a, b", 2026, 5)]
    with pytest.raises(ConstraintViolationError):
        con.sql("INSERT INTO orders (id) VALUES (-1)")


def test_rows_of_a_query_make_a_table_in_one_commit(con, tmp_path):
    con.sql("CREATE TABLE a AS SELECT id, id % 2 AS p, CAST(id AS DECIMAL(5,2)) AS d FROM range(4) AS r(id)")
    con.sql("CREATE OR REPLACE TABLE b PARTITIONED BY (p) AS SELECT * FROM a WHERE id > 0")
    table = DeltaTable(tmp_path / "catalog" / "default" / "b")
    assert table.version() == 0
    assert operation(table)[0] == "CREATE OR REPLACE TABLE AS SELECT"
    assert [each.type.type for each in table.schema().fields] == ["long", "long", "decimal(5,2)"]
    con.sql("CREATE OR REPLACE TABLE b AS SELECT count(*) AS n FROM b")
    assert con.sql("SELECT * FROM b").fetchall() == [(3,)]
    assert con.sql("SELECT count(*) FROM b VERSION AS OF 0").fetchall() == [(3,)]


def test_replacing_query_reads_the_version_that_is_replaced(con, tmp_path, monkeypatch):
    con.sql("CREATE TABLE a AS SELECT 1 AS n")
    place = tmp_path / "catalog" / "default" / "a"
    real = definition.define_table

    def late(store, *arguments, **options):
        write_deltalake(place, pa.table({"n": pa.array([2], pa.int32())}), mode="append")
        return real(store, *arguments, **options)

    monkeypatch.setattr(definition, "define_table", late)
    with pytest.raises(ConcurrentAppendException):
        con.sql("CREATE OR REPLACE TABLE a AS SELECT sum(n) AS n FROM a")
    assert sorted(con.sql("SELECT n FROM a").fetchall()) == [(1,), (2,)]


MAPPED = "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"


def mapped_columns(con, table):
    """The id and physical name of each field by its path."""
    paths: dict[str, tuple[int, str]] = {}

    def add(data_type, path):
        for each in getattr(data_type, "fields", ()):
            metadata = each.metadata
            paths[f"{path}{each.name}"] = (
                metadata["delta.columnMapping.id"],
                metadata["delta.columnMapping.physicalName"],
            )
            add(each.type, f"{path}{each.name}.")

    location = con.sql(f"DESCRIBE DETAIL {table}").column("location")[0].as_py()
    add(DeltaTable(location).snapshot.schema, "")
    return paths


def test_replaced_table_keeps_ids_and_physical_names_of_equal_columns(con):
    con.sql(f"CREATE TABLE a (n INT, s STRUCT<x: INT, y: STRING>, t STRING, u STRUCT<x: INT>) {MAPPED}")
    old = mapped_columns(con, "a")
    columns = "T STRING, n BIGINT, s STRUCT<y: STRING, x: INT>, u STRUCT<x: INT>"
    con.sql(f"CREATE OR REPLACE TABLE a ({columns}) {MAPPED}")
    new = mapped_columns(con, "a")
    kept = {"T": "t", "s.x": "s.x", "s.y": "s.y", "u": "u", "u.x": "u.x"}
    assert {name: new[name] for name in kept} == {name: old[before] for name, before in kept.items()}
    assert [new["n"][0], new["s"][0]] == [8, 9]
    con.sql("CREATE OR REPLACE TABLE a (t STRING) TBLPROPERTIES ('delta.columnMapping.mode' = 'id')")
    assert mapped_columns(con, "a")["t"][0] == 10


def test_table_like_another_has_its_columns_protocol_and_next_number(con):
    numbers = "n BIGINT GENERATED ALWAYS AS IDENTITY (START WITH 10 INCREMENT BY -5)"
    con.sql(f"CREATE TABLE a ({numbers}, v VARCHAR(3)) {MAPPED}; INSERT INTO a (v) VALUES ('x')")
    con.sql("CREATE TABLE b LIKE a; INSERT INTO b (v) VALUES ('y')")
    assert mapped_columns(con, "b") == mapped_columns(con, "a")
    assert con.sql("SELECT * FROM b").fetchall() == [(5, "y")]
    con.sql("CREATE TABLE c (n INT) TBLPROPERTIES ('delta.minWriterVersion' = '4'); CREATE TABLE d LIKE c")
    versions = [con.sql(f"DESCRIBE DETAIL {name}").column("minWriterVersion")[0].as_py() for name in "cd"]
    assert versions == [4, 4]


def test_table_without_columns_gets_those_of_its_first_rows(con, tmp_path):
    con.sql("CREATE TABLE a; CREATE TABLE b TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    with pytest.raises(SchemaMismatchError, match="DELTA_READ_TABLE_WITHOUT_COLUMNS"):
        con.sql("SELECT * FROM a")
    place = tmp_path / "catalog" / "default"
    assert DeltaTable(place / "a").to_pyarrow_table().num_rows == 0
    write_deltalake(place / "a", pa.table({"n": [1]}), mode="append", schema_mode="merge")
    assert con.sql("SELECT * FROM a").fetchall() == [(1,)]
    (tmp_path / "rows.json").write_text('{"n": 2, "s": "x"}')
    con.sql(
        f"COPY INTO b FROM '{tmp_path}/rows.json' FILEFORMAT = JSON COPY_OPTIONS ('mergeSchema' = 'true')"
    )
    assert con.sql("SELECT * FROM b").fetchall() == [(2, "x")]
    con.sql("RESTORE TABLE b TO VERSION AS OF 0; TRUNCATE TABLE b")
    assert con.sql("DESCRIBE b").num_rows == 0
    with pytest.raises(SchemaMismatchError, match="keeps at least one column"):
        con.sql("ALTER TABLE b ADD COLUMN n INT; ALTER TABLE b DROP COLUMN n")


def test_columns_of_nothing_have_no_type(con):
    con.sql("CREATE TABLE a AS SELECT NULL AS nothing, 1 AS n FROM range(3)")
    assert con.sql("DESCRIBE spark_catalog.default.a").column("data_type").to_pylist() == ["void", "int"]
    assert con.sql("SELECT * FROM spark_catalog.default.a").fetchall() == [(None, 1)] * 3


def test_statement_that_fails_leaves_neither_table_nor_name(con, tmp_path):
    con.sql("CREATE TABLE a AS SELECT 1 AS n")
    for text in (
        "CREATE TABLE bad AS SELECT 1 / (n - 1) AS q FROM a",
        f"CREATE TABLE bad LOCATION '{tmp_path}/bad' AS SELECT 1 / (n - 1) AS q FROM a",
        "CREATE TABLE bad (a INT) PARTITIONED BY (b)",
        "CREATE TABLE bad (a INT, A INT)",
        "CREATE TABLE bad AS SELECT 1 AS a, 2 AS a",
        "CREATE TABLE bad SHALLOW CLONE a VERSION AS OF 7",
        "CREATE TABLE bad LIKE nothing",
        f"CREATE OR REPLACE TABLE bad USING delta LOCATION '{tmp_path}/bad'",
    ):
        with pytest.raises(DeltaError):
            con.sql(text)
    assert con.sql("SHOW TABLES").column("tableName").to_pylist() == ["a"]
    left = [name for folder in ("bad", "catalog/default/bad") for name in os.walk(tmp_path / folder)]
    assert [file for _, _, files in left for file in files] == []
    with pytest.raises(DeltaError):
        con.sql("CREATE OR REPLACE TABLE a AS SELECT 1 / (n - 1) AS q FROM a")
    assert con.sql("SELECT n FROM a").fetchall() == [(1,)]


def test_table_that_is_there_stays_unless_it_is_replaced(con):
    con.sql("CREATE TABLE a (n INT)")
    assert con.sql("CREATE TABLE IF NOT EXISTS a (other INT)").to_pylist() == []
    with pytest.raises(VersionExistsError, match=r"\[TABLE_OR_VIEW_ALREADY_EXISTS\]"):
        con.sql("CREATE TABLE a (n INT)")
    with pytest.raises(TableNotFoundError, match=r"\[TABLE_OR_VIEW_NOT_FOUND\]"):
        con.sql("REPLACE TABLE b (n INT)")
    assert con.sql("SHOW COLUMNS IN a").to_pylist() == [{"col_name": "n"}]


def test_location_gives_a_table_a_name_and_dropping_takes_only_that(con, tmp_path):
    place = tmp_path / "elsewhere"
    con.sql(f"CREATE TABLE a (n INT) LOCATION '{place}'; INSERT INTO a VALUES (1)")
    con.sql(f"CREATE TABLE b LOCATION '{place}'; CREATE TABLE c (n INT) LOCATION '{place}'")
    with pytest.raises(SchemaMismatchError, match="DELTA_CREATE_TABLE_SCHEME_MISMATCH"):
        con.sql(f"CREATE TABLE d (n STRING) LOCATION '{place}'")
    con.sql("DROP TABLE a; DROP TABLE b PURGE")
    assert con.sql("SELECT n FROM c").fetchall() == [(1,)]
    con.sql("ALTER TABLE c RENAME TO e")
    assert con.sql("SHOW TABLES").column("tableName").to_pylist() == ["e"]
    assert con.sql(f"SELECT n FROM delta.`{place}`").fetchall() == [(1,)]


def test_dropping_a_table_of_the_catalog_deletes_its_files(con, tmp_path):
    con.sql("CREATE TABLE a AS SELECT 1 AS n; DROP TABLE a")
    assert not (tmp_path / "catalog" / "default" / "a").exists()
    with pytest.raises(TableNotFoundError, match="DROP TABLE IF EXISTS"):
        con.sql("DROP TABLE a")
    con.sql("DROP TABLE IF EXISTS a; CREATE TABLE a AS SELECT 2 AS n")
    assert con.sql("SELECT n FROM a").fetchall() == [(2,)]


def test_drop_that_was_killed_goes_on(con, tmp_path):
    con.sql("CREATE TABLE a AS SELECT 1 AS n")
    DeltaTable(tmp_path / "catalog" / "default" / "a").delete_table()
    con.sql("DROP TABLE a")
    assert con.sql("SHOW TABLES").num_rows == 0


def test_table_by_its_path_is_made_and_has_no_name_to_drop(con, tmp_path):
    name = f"delta.`{tmp_path}/t`"
    con.sql(f"CREATE TABLE {name} (n INT) USING delta")
    assert operation(DeltaTable(tmp_path / "t"))[1]["isManaged"] == "false"
    with pytest.raises(VersionExistsError):
        con.sql(f"CREATE TABLE {name} (n INT)")
    with pytest.raises(UnsupportedFeatureError, match="delete_table"):
        con.sql(f"DROP TABLE {name}")
    with pytest.raises(UnsupportedFeatureError, match="leave LOCATION out"):
        con.sql(f"CREATE TABLE delta.`{tmp_path}/u` (n INT) LOCATION '{tmp_path}/v'")


def test_like_and_clones(con):
    con.sql("CREATE TABLE a (n INT NOT NULL, p STRING) PARTITIONED BY (p) TBLPROPERTIES ('k' = 'v')")
    con.sql("INSERT INTO a VALUES (1, 'x'); INSERT INTO a VALUES (2, 'y')")
    con.sql("CREATE TABLE b LIKE a TBLPROPERTIES ('l' = 'w')")
    assert con.sql("SELECT count(*) FROM b").fetchall() == [(0,)]
    assert con.sql("SHOW TBLPROPERTIES b").to_pylist()[-1] == {"key": "l", "value": "w"}
    [metrics] = con.sql("CREATE TABLE c SHALLOW CLONE a VERSION AS OF 1").to_pylist()
    assert (metrics["source_num_of_files"], metrics["num_copied_files"]) == (1, 0)
    assert con.sql("CREATE TABLE IF NOT EXISTS c DEEP CLONE a").num_rows == 0
    [metrics] = con.sql("CREATE TABLE d DEEP CLONE a TBLPROPERTIES ('q' = 'w')").to_pylist()
    assert metrics["num_copied_files"] == 2
    assert con.sql("SELECT n FROM c").fetchall() == [(1,)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CREATE TABLE t (a INT) USING parquet", "only Delta tables"),
        ("CREATE TABLE t (a INT PRIMARY KEY)", "no keys"),
        ("CREATE TABLE t (a INT, PRIMARY KEY (a))", "no keys"),
        ("CREATE TABLE t (a BIGNT)", r"did you mean `bigint`"),
        ("CREATE TABLE t (a VARCHAR)", "the length of a VARCHAR"),
        ("CREATE TABLE t (a DECIMAL(39))", "1 to 38 digits"),
        ("CREATE TABLE t (a INT) PARTITIONED BY (years(a))", "not partitioned by expressions"),
        ("CREATE TABLE t (a INT) CLUSTER BY AUTO", "name the columns"),
        ("CREATE TABLE t (a INT) CLUSTERED BY (a) INTO 4 BUCKETS", "no CLUSTERED BY"),
        ("CREATE TABLE t (a INT) COMMENT 'x' COMMENT 'y'", "COMMENT is given twice"),
        ("CREATE TABLE t (a INT) AS SELECT 1 AS a", "leave them out"),
        ("CREATE TABLE t (a INT) TBLPROPERTIES ('a' = 'b', 'a' = 'c')", "given twice"),
        ("CREATE EXTERNAL TABLE t (a INT)", "give its LOCATION"),
        ("CREATE OR REPLACE TABLE t", "needs columns or a query"),
        ("CREATE TABLE t PARTITIONED BY (a)", "no columns yet"),
        ("CREATE TABLE t (a INT) OPTIONS ('path' = 'x') LOCATION 'y'", "leave one of them out"),
        ("ALTER TABLE t SET LOCATION 'x'", "a name keeps its location"),
        ("SET CATALOG nothing", "CATALOG_NOT_FOUND"),
        ("CREATE TABLE `_delta_log` (a INT)", "INVALID_SCHEMA_OR_RELATION_NAME"),
        ("CREATE SCHEMA `a.b`", "INVALID_SCHEMA_OR_RELATION_NAME"),
        ("CREATE TABLE nope.t (a INT)", r"SCHEMA_NOT_FOUND.*\(schemas: default\)"),
        ("CREATE TABLE other.a.b (a INT)", "has three parts"),
        ("CREATE GLOBAL TEMP VIEW v AS SELECT 1", "TEMPORARY is expected"),
        ("CREATE VIEW s.v AS SELECT 1", "cannot be in a schema"),
        ("DROP TABLE t extra", "the end is expected"),
    ],
)
def test_what_cannot_be_is_refused_by_name(con, text, message):
    with pytest.raises(DeltaError, match=message):
        con.sql(text)
    assert con.sql("SHOW TABLES").num_rows == 0


@pytest.mark.parametrize("name", ["`../x`", "`a/b`", "`/etc/x`", "`a\\b`", "`x.json`"])
def test_hostile_names_reach_no_file(con, tmp_path, name):
    before = sorted(str(each) for each in tmp_path.rglob("*"))
    for text in (
        f"CREATE TABLE {name} (a INT)",
        f"CREATE TABLE {name} AS SELECT 1 AS a",
        f"DROP TABLE {name}",
    ):
        with pytest.raises((DeltaError, ValueError)):
            con.sql(text)
    assert sorted(str(each) for each in tmp_path.rglob("*")) == before


def create(folder, barrier, results):
    barrier.wait()
    with deltaarrow.connect(catalog=folder, dialect="spark") as con:
        try:
            con.sql(f"CREATE TABLE t LOCATION '{folder}/{os.getpid()}' AS SELECT {os.getpid()} AS n")
        except DeltaError:
            results.put(None)
        else:
            results.put(os.getpid())


def test_of_two_processes_that_make_a_table_one_wins(tmp_path):
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(2), context.Queue()
    workers = [context.Process(target=create, args=(tmp_path, barrier, results)) for _ in range(2)]
    for worker in workers:
        worker.start()
    found = [results.get(timeout=60) for _ in workers]
    for worker in workers:
        worker.join()
    [winner] = [each for each in found if each is not None]
    with deltaarrow.connect(catalog=tmp_path, dialect="spark") as con:
        assert con.sql("SELECT n FROM t").fetchall() == [(winner,)]


# --- views -----------------------------------------------------------------------------------------


def test_views_follow_their_tables(con):
    con.sql("CREATE TABLE a AS SELECT id FROM range(3) AS r(id)")
    con.sql("CREATE TEMP VIEW v AS SELECT id FROM a WHERE id > 0")
    con.sql("CREATE OR REPLACE TEMPORARY VIEW w (k COMMENT 'key') AS SELECT id + 1 AS id FROM v")
    assert con.sql("SELECT sum(k) FROM w").fetchall() == [(5,)]
    con.sql("INSERT INTO a VALUES (10)")
    assert con.sql("SELECT sum(k) FROM w WHERE k > 1").fetchall() == [(16,)]
    assert con.sql("DESCRIBE w").to_pylist() == [{"col_name": "k", "data_type": "bigint", "comment": "key"}]
    assert con.sql("SHOW VIEWS").column("viewName").to_pylist() == ["v", "w"]
    con.sql("DROP VIEW w")
    with pytest.raises(TableNotFoundError, match="no view w"):
        con.sql("DROP VIEW w")
    a = pa.table({"id": [99]})
    con.sql("DROP TABLE a")
    with pytest.raises(TableNotFoundError, match="the view v reads what is not there"):
        con.sql("SELECT * FROM v")
    assert a.num_rows == 1


def test_views_of_duckdb_are_over_delta_names(duck):
    duck.sql("CREATE VIEW v AS SELECT s, count(*) AS n FROM lake.orders GROUP BY s")
    assert duck.sql("SELECT n FROM v WHERE s = 'y'").fetchall() == [(2,)]
    assert duck.sql("WITH orders AS (SELECT 1) SELECT v.n FROM v ORDER BY n").fetchall() == [(1,), (2,)]
    duck.sql("CREATE OR REPLACE TEMP VIEW v AS FROM lake.orders AT (VERSION => 0) WHERE id = 1")
    assert duck.sql("SELECT id FROM v").fetchall() == [(1,)]
    [found] = duck.explain("SELECT * FROM v JOIN lake.orders USING (id)")[1:]
    assert found.files == 1
    duck.sql("CREATE VIEW own AS SELECT 42 AS n")
    assert duck.connection.execute("SELECT n FROM own").fetchall() == [(42,)]
    duck.sql("DROP VIEW v; DROP VIEW own")
    with pytest.raises(Exception, match="does not exist"):
        duck.sql("FROM v")


def test_view_hides_the_table_of_its_name_from_statements_that_change_it(con, duck):
    duck.sql("USE lake; CREATE TEMP VIEW orders AS SELECT id FROM lake.orders WHERE id = 1")
    for text in ("DELETE FROM orders", "INSERT INTO orders VALUES (9, 'z')", "OPTIMIZE orders"):
        with pytest.raises(TableNotFoundError, match="EXPECT_TABLE_NOT_VIEW"):
            duck.sql(text)
    assert duck.sql("SELECT count(*) FROM lake.orders").fetchall() == [(3,)]
    con.sql("CREATE TABLE a (id INT) USING delta; CREATE TEMP VIEW at_first AS SELECT * FROM a@v0")
    with pytest.raises(TableNotFoundError, match="at_first is a view"):
        con.sql("UPDATE at_first SET id = 1")
    con.sql("CREATE TEMP VIEW whole AS SELECT * FROM a; INSERT INTO a VALUES (1)")
    assert "DELETE" in str(con.sql("EXPLAIN DELETE FROM whole").to_pylist())
    assert con.sql("SELECT * FROM whole").fetchall() == [(1,)]


def test_database_in_a_file_keeps_no_view(tmp_path, duck):
    with deltaarrow.connect(tmp_path / "file.db") as con:
        con.attach(tmp_path / "lake", "lake")
        with pytest.raises(UnsupportedFeatureError, match="CREATE TEMP VIEW v"):
            con.sql("CREATE VIEW v AS FROM lake.orders")
        con.sql("CREATE TEMP VIEW v AS FROM lake.orders")
        assert con.sql("SELECT count(*) FROM v").fetchall() == [(3,)]


# --- DuckDB's dialect ------------------------------------------------------------------------------


def test_duckdb_makes_tables_in_folders_and_by_path(duck, tmp_path):
    duck.sql(
        "CREATE TABLE lake.new (id BIGINT NOT NULL, at TIMESTAMPTZ, tags VARCHAR[], n INTEGER DEFAULT 7)"
    )
    schema = DeltaTable(tmp_path / "lake" / "new").schema()
    assert [each.type.type for each in schema.fields[:2]] == ["long", "timestamp"]
    assert schema.field("n").metadata["CURRENT_DEFAULT"] == "7"
    query = "SELECT s, sum(id) AS n FROM lake.orders GROUP BY s"
    duck.sql(f"CREATE OR REPLACE TABLE lake.new PARTITIONED BY (s) AS {query}")
    assert sorted(duck.sql("FROM lake.new SELECT s, n").fetchall()) == [("x", 1), ("y", 5)]
    assert DeltaTable(tmp_path / "lake" / "new").metadata().partition_columns == ["s"]
    duck.sql(f"CREATE TABLE IF NOT EXISTS delta.'{tmp_path}/t' AS FROM lake.orders WHERE id > ?", params=[1])
    assert DeltaTable(tmp_path / "t").count() == 2
    duck.sql("CREATE TABLE IF NOT EXISTS lake.new AS SELECT 1 AS a; DROP TABLE lake.new")
    duck.sql("DROP TABLE IF EXISTS lake.new")
    assert not (tmp_path / "lake" / "new").exists()


def test_tables_of_duckdb_stay_duckdbs(duck):
    duck.sql("CREATE TABLE own (id INTEGER PRIMARY KEY, c VARCHAR CHECK (c <> 'delta')); DROP TABLE own")
    duck.sql("CREATE TABLE made AS FROM lake.orders; ALTER TABLE made ADD COLUMN z UTINYINT")
    assert duck.connection.execute("SELECT count(*) FROM made").fetchall() == [(3,)]
    duck.sql("CREATE SCHEMA s; CREATE TABLE s.t (x HUGEINT); DROP TABLE s.t")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CREATE TABLE lake.t (a HUGEINT)", "no type of a Delta table"),
        ("CREATE TABLE lake.t (a INT CHECK (a > 0))", "dialect='spark'"),
        ("CREATE TABLE lake.t (a INT DEFAULT random())", "dialect='spark'"),
        ("CREATE TABLE lake.t (a INT, b INT GENERATED ALWAYS AS (a + 1))", "dialect='spark'"),
        ("CREATE TABLE lake.t (a INT PRIMARY KEY)", "no keys"),
        ("CREATE TABLE lake.orders (a INT)", "TABLE_OR_VIEW_ALREADY_EXISTS"),
        ("DROP TABLE lake.nothing", "TABLE_OR_VIEW_NOT_FOUND"),
    ],
)
def test_what_duckdb_cannot_say_of_delta_tables_is_refused(duck, text, message):
    with pytest.raises(DeltaError, match=message):
        duck.sql(text)


def test_folder_has_its_tables_in_itself(duck, tmp_path):
    with pytest.raises(ValueError, match="leave"):
        duck.sql(f"CREATE TABLE lake.t (a INT) LOCATION '{tmp_path}/x'", dialect="spark")
    assert not Path(tmp_path / "x").exists()
