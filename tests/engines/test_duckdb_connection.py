"""A connection that knows Delta tables: names, versions, settings, and the files that it opens."""

import datetime
import json
from decimal import Decimal

import deltalake
import duckdb
import pyarrow as pa
import pytest

import deltaarrow
from deltaarrow import DeltaTable, UnsupportedFeatureError, connect, write_deltalake
from deltaarrow.engines import DeltaConnection
from deltaarrow.engines.duckdb.pruning import Rewriter
from deltaarrow.engines.duckdb.table_names import Catalog
from deltaarrow.errors import TableNotFoundError
from deltaarrow.storage.local import LocalStore
from tests.support.tables import TableBuilder

SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.int64()), ("s", pa.string())])


@pytest.fixture
def lake(tmp_path):
    """The table `numbers` of ten files, a partition each, with rows 10 p to 10 p + 9."""
    table = TableBuilder(tmp_path / "lake/numbers").protocol().metadata(SCHEMA, ["p"])
    adds = []
    for p in range(10):
        rows = pa.table({"id": range(10 * p, 10 * p + 10), "s": [f"{p}{n}" for n in range(10)]})
        adds.append(table.add_file(rows, {"p": str(p)}))
    table.commit(adds)
    return tmp_path / "lake"


@pytest.fixture
def con(lake):
    with connect() as connection:
        connection.register("numbers", DeltaTable(lake / "numbers"))
        yield connection.attach(lake, "lake")


def opened(con, sql, params=None):
    """How many data files DuckDB opens for a query."""
    plan = json.loads(con.execute(f"EXPLAIN (ANALYZE, FORMAT json) {sql}", params).fetchall()[0][1])
    nodes, count = [plan], 0
    while nodes:
        node = nodes.pop()
        nodes += node.get("children", []) + node.get("operator", [])
        count += int(node.get("extra_info", {}).get("Total Files Read", 0))
    return count


def append(lake, ids):
    rows = pa.table({"id": ids, "p": ids, "s": ["new"] * len(ids)}, schema=SCHEMA)
    write_deltalake(lake / "numbers", rows, mode="append")


# --- the files that are opened ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("where", "files"),
    [
        ("p = 3", 1),
        ("P = 3 AND NUMBERS.p = 3", 1),
        ('"P" in (3, 4)', 2),
        ("id BETWEEN 35 AND 44", 2),
        ("p = 3 OR id = 77", 2),
        ("NOT (id < 80)", 2),
        ("s LIKE '4%'", 1),
        ("p = 3 AND random() < 2", 1),
        ("p + 0 = 3", 10),
        ("p = 3 OR id % 2 = 5", 10),
    ],
)
def test_the_files_are_those_that_the_conditions_leave(con, where, files):
    sql = f"SELECT count(*) FROM numbers WHERE {where}"
    (found,) = con.explain(sql)
    assert (found.left_files, found.files) == (files, 10)
    assert opened(con, sql) <= files
    wanted = f"SELECT count(*) FROM rows AS numbers WHERE {where}"
    con.register("rows", DeltaTable(con.explain(sql)[0].table).to_pyarrow_table())
    assert con.sql(sql).fetchall() == con.sql(wanted).fetchall()


@pytest.mark.parametrize(
    ("sql", "files"),
    [
        ("FROM numbers WHERE p = 1 UNION ALL FROM numbers WHERE p > 7", [1, 2]),
        (
            "WITH c AS (FROM numbers WHERE p = 1) FROM c WHERE id IN (FROM numbers SELECT id WHERE p < 3)",
            [1, 3],
        ),
        ("FROM numbers a LEFT JOIN numbers b ON a.id = b.id AND a.p = 1 AND b.p = 1", [10, 1]),
        ("FROM numbers a LEFT JOIN numbers b USING (id) WHERE a.p = 1 AND b.p IS NULL", [1, 10]),
        ("FROM numbers a LEFT JOIN numbers b USING (id) WHERE b.p = 1", [10, 1]),
        ("FROM numbers a FULL JOIN numbers b ON a.p = 1 WHERE b.p = 1", [10, 1]),
        ("FROM numbers a SEMI JOIN numbers b ON a.id = b.id AND b.p = 1 WHERE p = 1", [1, 1]),
        ("FROM numbers a ASOF JOIN numbers b ON a.id >= b.id WHERE b.p = 1", [10, 10]),
        ("FROM numbers a POSITIONAL JOIN numbers b WHERE b.p = 1", [10, 10]),
        ("FROM numbers a, lake.numbers b JOIN range(1) AS c(n) ON p = 1 AND b.id = n", [10, 1]),
        ("FROM numbers TABLESAMPLE 50% WHERE p = 1", [10]),
        ("FROM lake.numbers WHERE numbers.p = 1", [1]),
        ("SELECT lake.numbers.id FROM lake.numbers WHERE p = 1", [1]),
        ("DESCRIBE FROM lake.numbers WHERE p = 1", [1]),
    ],
)
def test_each_reference_has_conditions_of_its_own(con, sql, files):
    assert [found.left_files for found in con.explain(sql)] == files
    con.sql(sql).fetchall()


@pytest.mark.parametrize(
    ("condition", "params"), [("p = ? AND id < ?", [3, 99]), ("p = $1", [3]), ("p = $wanted", {"wanted": 3})]
)
def test_values_of_parameters_leave_out_files(con, condition, params):
    sql = f"SELECT sum(id) FROM numbers WHERE {condition}"
    assert con.explain(sql, params)[0].left_files == 1
    assert con.explain(sql)[0].left_files == 10
    assert con.execute(sql, params).fetchall() == [(345,)]
    assert con.sql(sql, params=params).fetchall() == [(345,)]
    assert opened(con, sql, params) == 1


@pytest.mark.parametrize(
    ("condition", "files"),
    [
        ("d >= make_date(2026, 1, 4)", 2),
        ("d = make_date(2026, 1, day := 4)", 5),
        ("d < make_date(2026, 2, 30)", 5),
        ("d < make_date(d - DATE '1970-01-01')", 5),
        ("n > make_timestamp(2026, 1, 3, 12, 0, 59.999999)", 2),
        ("n > make_timestamp(2026, 1, 3, 12, 0, 60)", 2),
        ("n > make_timestamp(2026, 1, 3, 12, 0, 0.0000001)", 5),
        ("n > make_timestamp(2026, 1, 3, 24, 0, 0.0)", 5),
        ("z > make_timestamptz(2026, 1, 3, 12, 0, 0.5, 'UTC')", 2),
        ("z > make_timestamptz(2026, 1, 3, 12, 0, 0.5, 'Asia/Tokyo')", 5),
        ("z > make_timestamptz(2026, 1, 3, 12, 0, 0.5)", 5),
        ("z > make_timestamp(2026, 1, 3, 12, 0, 0.5)", 2),
        ("z > make_timestamp(2026, 1, 3, 12, 0, 1" + "0" * 40 + ".5)", 5),
    ],
)
def test_dates_and_times_made_of_numbers_leave_out_files(tmp_path, condition, files):
    for day in range(1, 6):
        noon = datetime.datetime(2026, 1, day, 12)
        rows = pa.table(
            {
                "d": [noon.date()],
                "n": pa.array([noon], pa.timestamp("us")),
                "z": pa.array([noon], pa.timestamp("us", "UTC")),
            }
        )
        write_deltalake(tmp_path, rows, mode="append")
    con = connect()
    con.execute("SET timezone = 'America/Los_Angeles'")
    con.register("made", DeltaTable(tmp_path))
    con.register("rows", DeltaTable(tmp_path).to_pyarrow_table())
    assert con.explain(f"FROM made WHERE {condition}")[0].left_files == files
    results = []
    for name in ("made", "rows"):
        try:
            results.append(sorted(con.sql(f"SELECT d FROM {name} WHERE {condition}").fetchall()))
        except duckdb.Error as error:
            results.append(type(error))
    assert results[0] == results[1]


@pytest.mark.parametrize(
    "condition",
    [
        "flag = false",
        "flag",
        "NOT flag",
        "flag IS FALSE",
        "flag IN (true)",
        "flag <> CAST(true AS BOOLEAN)",
        "m > 6.0::DECIMAL(10,2)",
        "m < -CAST(-6 AS DECIMAL(4,1))",
        "m = 6::DECIMAL(38,30)",
        "m IN (3.0::DECIMAL(5,1), 6::BIGINT)",
        "m BETWEEN 1::TINYINT AND 4.5::DECIMAL(2,1)",
    ],
)
def test_conditions_on_booleans_and_decimals_leave_out_files(tmp_path, condition):
    for n in range(5):
        rows = pa.table({"flag": [n % 2 == 0] * 2, "m": pa.array([Decimal(3 * n)] * 2, pa.decimal128(10, 2))})
        deltalake.write_deltalake(tmp_path / "t", rows, mode="append")
    with connect() as con:
        con.register("t", tmp_path / "t")
        con.register("rows", DeltaTable(tmp_path / "t").to_pyarrow_table())
        found = con.sql(f"SELECT m FROM t WHERE {condition}").fetchall()
        assert found == con.sql(f"SELECT m FROM rows WHERE {condition}").fetchall()
        assert con.explain(f"SELECT m FROM t WHERE {condition}")[0].left_files == len(found) // 2 < 5


@pytest.mark.parametrize(
    "condition",
    [
        "m <> 6.004::DECIMAL(10,2)",
        "m > 5.996::DECIMAL(10,2)",
        "m = 6.4::INTEGER",
        "m > 6.0::DOUBLE",
        "m = 6::DECIMAL",
        "flag = 0",
        "flag = 'f'",
    ],
)
def test_casts_that_round_or_convert_are_left_to_duckdb(tmp_path, condition):
    for n in range(5):
        rows = pa.table({"flag": [n % 2 == 0], "m": pa.array([Decimal(3 * n)], pa.decimal128(10, 2))})
        deltalake.write_deltalake(tmp_path / "t", rows, mode="append")
    with connect() as con:
        con.register("t", tmp_path / "t")
        con.register("rows", DeltaTable(tmp_path / "t").to_pyarrow_table())
        found = con.sql(f"SELECT m FROM t WHERE {condition}").fetchall()
        assert found == con.sql(f"SELECT m FROM rows WHERE {condition}").fetchall() != []


@pytest.mark.parametrize(
    "condition",
    [
        "n IN (1e0, 9007199254740993)",
        "n BETWEEN 9007199254740993 AND 1e300",
        "n BETWEEN 9007199254740993 AND 1e15 * n",
        "n NOT BETWEEN 1e0 AND 9007199254740991",
    ],
)
def test_integers_that_stand_beside_a_double_are_compared_as_such(tmp_path, condition):
    for number in range(2**53 - 1, 2**53 + 3):
        write_deltalake(tmp_path, pa.table({"n": [number]}), mode="append")
    con = connect()
    con.register("rows", DeltaTable(tmp_path).to_pyarrow_table())
    found, wanted = (
        con.execute(f"SELECT n FROM {source} WHERE {condition} ORDER BY n").fetchall()
        for source in (f"delta.'{tmp_path}'", "rows")
    )
    assert found == wanted


def test_columns_that_are_not_mentioned_are_not_read(con):
    assert con.explain("SELECT id FROM numbers WHERE p = 1")[0].columns == ("p", "id")[::-1]
    assert con.explain("SELECT * FROM numbers")[0].columns == ("id", "p", "s")
    assert con.explain("SELECT numbers FROM numbers")[0].columns == ("id", "p", "s")


def test_a_void_column_alone_of_a_table_mapped_by_id(tmp_path):
    def field(name, data_type, number):
        names = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"c-{number}"}
        return {"name": name, "type": data_type, "nullable": True, "metadata": names}

    table = TableBuilder(tmp_path / "t").protocol(2, 5)
    schema = {"type": "struct", "fields": [field("id", "long", 1), field("v", "void", 2)]}
    table.metadata(schema, (), {"delta.columnMapping.mode": "id"})
    stored = pa.schema([pa.field("c-1", pa.int64(), metadata={"PARQUET:field_id": "1"})])
    table.commit([table.add_file(pa.table([[1, 2]], schema=stored))])
    with connect() as con:
        assert con.attach(tmp_path, "lake").sql("SELECT v FROM lake.t").fetchall() == [(None,), (None,)]


def test_deleted_rows_mapped_columns_and_members_of_structs(tmp_path):
    settings = {"delta.columnMapping.mode": "name", "delta.enableDeletionVectors": "true"}
    for first in range(0, 40, 10):
        ids = range(first, first + 10)
        rows = pa.table({"id": ids, "st": [{"a": n // 10, "b": "x"} for n in ids], "p": [first % 20] * 10})
        write_deltalake(tmp_path, rows, mode="append", configuration=settings, partition_by=["p"])
    DeltaTable(tmp_path).delete("id IN (11, 12, 31)")
    with connect() as con:
        con.register("t", tmp_path)
        sql = "SELECT count(*), sum(id) FROM t WHERE st.a = 1"
        assert (con.explain(sql)[0].left_files, opened(con, sql)) == (1, 1)
        assert con.sql(sql).fetchall() == [(8, 145 - 23)]
        assert con.sql("SELECT count(*) FROM t WHERE p = 10").fetchall() == [(17,)]
        assert con.sql("SELECT p, count(*) FROM t GROUP BY p ORDER BY p").fetchall() == [(0, 20), (10, 17)]


# --- versions --------------------------------------------------------------------------------------


def test_a_registered_table_stays_at_its_version_until_it_is_refreshed(con, lake):
    append(lake, [1000])
    count = "SELECT count(*) FROM {}"
    assert con.sql(count.format("numbers")).fetchall() == [(100,)]
    assert con.sql(count.format("lake.numbers")).fetchall() == [(101,)]
    assert con.sql(count.format(f"delta.'{lake}/numbers'")).fetchall() == [(101,)]
    con.refresh("NUMBERS")
    assert con.sql(count.format("numbers")).fetchall() == [(101,)]
    append(lake, [1001])
    assert con.sql(count.format('LAKE."Numbers"')).fetchall() == [(102,)]
    with pytest.raises(KeyError):
        con.refresh("unknown")


def test_the_second_query_reads_no_log(con, monkeypatch):
    con.sql("SELECT sum(id) FROM numbers WHERE p = 1").fetchall()
    calls = []
    for name in ("list_from", "read", "read_range", "size", "exists"):
        monkeypatch.setattr(LocalStore, name, lambda self, *_, called=name: calls.append(called))
    for where in ("p = 1", "p = 2", "id = 35"):
        con.sql(f"SELECT sum(id) FROM numbers WHERE {where}").fetchall()
    assert calls == []


def test_a_relation_keeps_its_files(con, lake):
    relation = con.sql("SELECT count(*) FROM lake.numbers WHERE p < 2")
    con.sql("SELECT count(*) FROM lake.numbers WHERE p > 2").fetchall()
    append(lake, [1])
    con.sql("SELECT count(*) FROM lake.numbers").fetchall()
    assert relation.fetchall() == [(20,)]


def test_long_lists_of_files_and_the_end_of_what_is_kept_for_them(tmp_path):
    table = TableBuilder(tmp_path).protocol().metadata(SCHEMA, ["p"])
    adds = [table.add_file(pa.table({"id": [n], "s": ["x"]}), {"p": str(n)}) for n in range(70)]
    table.commit(adds)
    catalog = Catalog(None)
    catalog.pin("t", tmp_path)
    with duckdb.connect() as con:
        rewriter = Rewriter(con, catalog, most_helpers=2)
        for _ in range(2):
            for least in (0, 1, 2, 3, 60):
                sql = rewriter.rewrite(f"SELECT count(*), sum(p) FROM t WHERE p >= {least}")
                assert con.sql(sql).fetchall() == [(70 - least, sum(range(least, 70)))]
        left = "SELECT (SELECT count(*) FROM duckdb_variables()), count(*) FROM duckdb_tables()"
        assert con.sql(left).fetchall() == [(1, 2)]
        rewriter.show_registered()
        assert con.sql(left).fetchall() == [(2, 3)]
        rewriter.drop_registered("t")
        assert con.sql(left).fetchall() == [(1, 2)]


def test_what_one_table_of_a_statement_needs_outlives_the_plan_of_the_next(lake):
    catalog = Catalog(None)
    catalog.pin("numbers", lake / "numbers")
    with duckdb.connect() as con:
        rewriter = Rewriter(con, catalog, most_helpers=2)
        for least in (2, 3):
            con.sql(rewriter.rewrite(f"SELECT count(*) FROM numbers WHERE p >= {least}")).fetchall()
        sql = (
            "SELECT (SELECT count(*) FROM numbers WHERE p >= 2), (SELECT count(*) FROM numbers WHERE p >= 4)"
        )
        assert con.sql(rewriter.rewrite(sql)).fetchall() == [(80, 60)]


# --- what is not rewritten -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT count(*) FROM (PIVOT numbers ON p USING count(*))", [(100,)]),
        ("SELECT count(*) FROM query_table('numbers')", [(100,)]),
        ("SELECT table_name FROM duckdb_views() WHERE view_name = 'numbers'", None),
        ("SELECT count(*) FROM numbers numbers WHERE numbers.p = 1 -- numbers", [(10,)]),
        ("SELECT count(*) FROM /* numbers */ numbers", [(100,)]),
        ("SELECT 'numbers', count(*) FROM numbers", [("numbers", 100)]),
        ("SELECT count(*) FROM n: numbers WHERE n.p = 1", [(10,)]),
        ("WITH numbers AS (SELECT 1 AS p) SELECT count(*) FROM numbers WHERE p = 1", [(1,)]),
        ("SELECT count(*) FROM numbers AS o(a, b, p) WHERE p = '15'", [(1,)]),
        ("FROM numbers SELECT count(*) WHERE p = (SELECT 1)", [(10,)]),
    ],
)
def test_every_spelling_finds_the_rows(con, sql, rows):
    if rows is None:
        with pytest.raises(duckdb.Error):
            con.sql(sql)
    else:
        assert con.sql(sql).fetchall() == rows


def test_what_sqlglot_does_not_parse_meets_a_view(con):
    assert ("numbers",) in con.sql("SHOW TABLES").fetchall() or con.table("numbers").columns
    con.execute("CREATE VIEW small AS SELECT * FROM numbers WHERE p = 1")
    assert con.sql("SELECT count(*) FROM small").fetchall() == [(10,)]
    con.execute("CREATE MACRO of_p(x) AS TABLE SELECT * FROM numbers WHERE p = x")
    assert con.sql("SELECT count(*) FROM of_p(3)").fetchall() == [(10,)]
    assert con.table("numbers").count("*").fetchall() == [(100,)]


def test_members_of_a_column_that_is_called_by_schema_and_table(con, lake):
    rows = pa.table({"st": [{"a": {"b": 1}}, {"a": {"b": 2}}]})
    write_deltalake(lake / "nested", rows)
    sql = "SELECT lake.nested.st.a.b FROM lake.nested WHERE lake.nested.st.a = {'b': 2}"
    assert con.sql(sql).fetchall() == [(2,)]


def test_views_over_places_are_refused_without_a_front_end(con):
    plain = DeltaConnection(con.connection, con.catalog)
    with pytest.raises(UnsupportedFeatureError, match="register the table"):
        plain.execute("CREATE VIEW small AS SELECT * FROM lake.numbers")


def test_tables_are_made_and_filled(con, tmp_path):
    con.execute("CREATE TABLE own AS FROM numbers WHERE p = 1")
    con.execute(
        "INSERT INTO own SELECT * FROM lake.numbers WHERE p = 2; INSERT INTO own FROM numbers WHERE p = 3"
    )
    assert con.sql("SELECT p, count(*) FROM own GROUP BY p ORDER BY p").fetchall() == [
        (1, 10),
        (2, 10),
        (3, 10),
    ]
    con.execute(f"COPY (FROM numbers WHERE p = 4) TO '{tmp_path}/four.parquet'")
    assert con.sql(f"SELECT count(*) FROM '{tmp_path}/four.parquet'").fetchall() == [(10,)]
    with pytest.raises(duckdb.Error):
        con.execute("INSERT INTO numbers FROM own")


def test_temporary_tables_of_the_caller_come_first(con):
    con.execute("CREATE TEMP TABLE numbers AS SELECT 7 AS p")
    assert con.sql("SELECT * FROM numbers WHERE p = 7").fetchall() == [(7,)]
    con.execute("DROP TABLE numbers; CREATE TABLE numbers AS SELECT 8 AS p")
    assert con.sql("SELECT count(*) FROM numbers").fetchall() == [(100,)]
    con.unregister("numbers")
    assert con.sql("SELECT * FROM numbers").fetchall() == [(8,)]


def test_schemas_of_the_caller_come_first(con):
    con.execute("CREATE SCHEMA delta; CREATE TABLE delta.numbers AS SELECT 7 AS p")
    assert con.sql("SELECT * FROM delta.numbers").fetchall() == [(7,)]
    with pytest.raises(ValueError, match="schema"):
        con.attach("anywhere", "main")


def test_settings_that_change_what_conditions_mean(con, tmp_path):
    for text in ("abc", "xyz"):
        write_deltalake(tmp_path / "t", pa.table({"s": [text]}), mode="append")
    con.register("t", tmp_path / "t")
    sql = "SELECT count(*) FROM t WHERE s = 'ABC'"
    assert (con.explain(sql)[0].left_files, con.sql(sql).fetchall()) == (0, [(0,)])
    con.execute("SET default_collation = 'NOCASE'")
    assert (con.explain(sql)[0].left_files, con.sql(sql).fetchall()) == (2, [(1,)])


def test_a_transaction_that_is_rolled_back_takes_no_helper_along(con, tmp_path):
    write_deltalake(tmp_path / "t", pa.table({"p": [1, 2, 3], "x": [1, 2, 3]}), partition_by=["p"])
    con.register("t", tmp_path / "t")
    con.execute("BEGIN")
    assert con.sql("SELECT sum(p) FROM t").fetchall() == [(6,)]
    con.execute("ROLLBACK")
    assert con.sql("SELECT sum(p) FROM t").fetchall() == [(6,)]
    con.begin().execute("SELECT sum(p) FROM t WHERE p > 1")
    con.rollback()
    assert con.sql("SELECT sum(p) FROM t WHERE p > 1").fetchall() == [(5,)]


def test_a_view_that_outlives_a_transaction_is_still_ours(con, lake):
    assert con.table("numbers").count("p").fetchall() == [(100,)]
    con.execute("BEGIN")
    con.execute("ROLLBACK")
    append(lake, [1000])
    con.refresh("numbers")
    assert con.sql("SELECT count(*) FROM numbers").fetchall() == [(101,)]
    assert con.table("numbers").count("p").fetchall() == [(101,)]
    con.begin().rollback().unregister("NUMBERS")
    with pytest.raises(duckdb.Error):
        con.table("numbers")


def test_a_commit_that_fails_takes_no_helper_along(con):
    con.execute("CREATE TABLE own (id INTEGER PRIMARY KEY)")
    sql = "SELECT count(*) FROM numbers WHERE p > 1"
    con.execute("BEGIN").execute(sql)
    con.execute("INSERT INTO own VALUES (1)")
    with con.cursor() as cursor:
        cursor.execute("INSERT INTO own VALUES (1)")
    with pytest.raises(duckdb.TransactionException):
        con.execute("COMMIT")
    assert con.sql(sql).fetchall() == [(80,)]


# --- the connection --------------------------------------------------------------------------------


def test_a_cursor_knows_the_same_tables(con):
    with con.cursor() as cursor:
        assert cursor.sql("SELECT count(*) FROM numbers WHERE p = 1").fetchall() == [(10,)]
        cursor.register("again", con.explain("FROM numbers")[0].table)
    assert con.execute("SELECT count(*) FROM again").fetchone() == (100,)
    assert con.description[0][0] == "count_star()"


def test_variables_of_the_caller_are_found(con):
    wanted = pa.table({"p": [1, 2]})
    assert con.sql("SELECT count(*) FROM numbers WHERE p IN (FROM wanted)").fetchall() == [(20,)]
    for connection in (con, con.cursor(), con.cursor().cursor()):
        assert connection.execute("SELECT count(*) FROM wanted").fetchall() == [(wanted.num_rows,)]


@pytest.mark.parametrize("place", ["`{}`", "'{}'", '"{}"'])
@pytest.mark.parametrize("schema", ["delta", "DELTA", "`delta`", '"Delta"', "delta /* of */ "])
def test_a_place_is_quoted_as_spark_does_and_is_no_variable(con, lake, monkeypatch, schema, place):
    numbers = pa.table({"variable": [1]})  # noqa: F841 - DuckDB finds it
    monkeypatch.chdir(lake)
    for path in (f"{lake}/numbers", "numbers"):
        table = f"{schema}.{place.format(path)}"
        assert con.sql(f"SELECT count(`id`) FROM {table} WHERE `p` = 3").fetchall() == [(10,)]
        with_cte = f"WITH x AS (FROM {table}), numbers AS (SELECT 5) SELECT (SELECT count(*) FROM x)"
        assert con.execute(with_cte).fetchall() == [(100,)]
        assert con.explain(f"SELECT id FROM {table} WHERE `p` = 3")[0].left_files == 1


def test_names_in_backticks_hold_backticks_and_quotes(con, tmp_path):
    write_deltalake(tmp_path / 'a`b"c', pa.table({'x`"y': [1, 2]}))
    con.attach(tmp_path, 'l`"k')
    assert con.sql('SELECT `x``"y` FROM `l``"k`.`a``b"c` WHERE `x``"y` > 1').fetchall() == [(2,)]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM lake.missing",
        "SELECT * FROM `LAKE`.`missing`",
        "SELECT * FROM memory.lake.missing",
        "SELECT * FROM lake.main.missing",
        "SELECT * FROM delta.main.missing",
        "SELECT * FROM query('FROM delta.missing')",
        "SELECT * FROM query_table('lake.missing')",
        "FROM numbers WHERE id IN (FROM query_table('lake.missing'))",
        "SUMMARIZE delta.missing",
        "DESCRIBE delta.`missing`",
        "TABLE delta.missing",
        "PIVOT delta.missing ON variable",
        "VALUES ((SELECT max(variable) FROM delta.missing))",
        "SET VARIABLE x = (SELECT max(variable) FROM delta.missing)",
        "COPY delta.missing TO '/dev/null' (FORMAT csv)",
        "PREPARE q AS SELECT * FROM delta.missing",
        "CREATE VIEW v AS (TABLE delta.missing)",
        "CALL query_table('delta.missing')",
        "UPDATE own SET a = variable FROM delta.missing",
        "MERGE INTO own USING delta.missing ON false WHEN NOT MATCHED THEN INSERT VALUES (1)",
        "INSERT INTO own TABLE delta.missing",
    ],
)
def test_a_name_of_delta_is_never_that_of_a_variable(con, sql):
    missing = pa.table({"variable": [1]})
    con.execute("CREATE TABLE own (a BIGINT)")
    for run in (con.execute, con.sql, lambda text: con.execute(con.extract_statements(text)[0])):
        with pytest.raises((duckdb.Error, TableNotFoundError, UnsupportedFeatureError)):
            run(sql)
        assert con.sql("SELECT * FROM missing").fetchall() == [(missing.num_rows,)]
    assert con.sql("SELECT * FROM own").fetchall() == []


def test_a_statement_that_knows_no_place_says_what_to_do(con):
    with pytest.raises(duckdb.CatalogException) as caught:
        con.execute("PREPARE p AS SELECT * FROM lake.numbers")
    assert "register the table" in caught.value.__notes__[0]


def test_a_macro_over_a_place_is_refused(con):
    for body in ("TABLE SELECT * FROM delta.`numbers`", "(SELECT 1 FROM (PIVOT delta.numbers ON id))"):
        with pytest.raises(UnsupportedFeatureError, match="register the table"):
            con.execute(f"CREATE OR REPLACE TEMP MACRO m() AS {body}")


def test_a_failed_transaction_with_a_name_of_delta_is_rolled_back(con):
    missing = pa.table({"variable": [1]})
    con.execute("BEGIN")
    with pytest.raises(TableNotFoundError):
        con.execute("SELECT * FROM lake.missing")
    con.execute("ROLLBACK")
    assert con.execute("SELECT * FROM missing").fetchall() == [(missing.num_rows,)]


def test_variables_are_found_beside_columns_and_texts_that_look_like_names_of_delta(con):
    rows = pa.table({"p": [1, 2]})
    assert con.sql("SELECT sum(lake.p) FROM rows AS lake").fetchall() == [(rows.num_rows + 1,)]
    con.execute("SET python_enable_replacements = false")
    with pytest.raises(TableNotFoundError):
        con.sql("SELECT * FROM lake.missing")
    with pytest.raises(duckdb.Error):
        con.sql("SELECT * FROM rows")


def test_a_connection_of_the_caller_is_used_as_it_is(lake):
    with duckdb.connect() as own:
        own.execute("CREATE TABLE mine AS SELECT 1 AS p")
        found = connect(own).sql(f"SELECT count(*) FROM delta.'{lake}/numbers' JOIN mine USING (p)")
        assert found.fetchall() == [(10,)]


def test_arrow_tables_and_change_feeds_are_registered_as_ever(con, tmp_path):
    settings = {"delta.enableChangeDataFeed": "true"}
    write_deltalake(tmp_path / "t", pa.table({"x": [1, 2]}), configuration=settings)
    con.register("feed", DeltaTable(tmp_path / "t").change_data_feed())
    con.register("rows", pa.table({"x": [5]}))
    assert con.sql("SELECT count(*), (SELECT x FROM rows) FROM feed").fetchall() == [(2, 5)]
    con.unregister("rows").detach("lake")
    with pytest.raises(duckdb.Error):
        con.sql("SELECT * FROM rows, lake.numbers")


def test_a_place_without_a_table(con, tmp_path):
    with pytest.raises(TableNotFoundError):
        con.sql(f"SELECT * FROM delta.'{tmp_path}/nothing'")
    with pytest.raises(TableNotFoundError, match="in lake are numbers"):
        con.sql("SELECT * FROM lake.nothing")


def test_deltaarrow_explains_its_connections(con):
    (found,) = deltaarrow.explain(con, "SELECT id FROM numbers WHERE p = 1")
    assert (found.left_files, found.files) == (1, 10)


def test_functions_read_the_columns_that_are_named(con):
    query = "SELECT list_transform([id], lambda x: CASE WHEN x < 0 THEN error('low') ELSE x END) FROM numbers"
    (found,) = con.explain(query)
    assert found.columns == ("id",)
    assert len(con.sql(query).fetchall()) == 100


def test_a_macro_may_read_columns_that_are_not_named(con):
    """In databases that older releases of DuckDB have made."""
    con.execute("CREATE MACRO twice(x) AS x || x")
    (found,) = con.explain("SELECT twice(s) FROM numbers WHERE id = 12")
    assert found.columns == ("id", "p", "s")
    assert con.sql("SELECT twice(s) FROM numbers WHERE id = 12").fetchall() == [("1212",)]
