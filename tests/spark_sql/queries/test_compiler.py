"""The compiler of queries: parameters, versions of tables, places of errors, and plain conditions."""

import datetime
from decimal import Decimal

import duckdb
import pandas as pd
import pyarrow as pa
import pytest

import deltaarrow
from deltaarrow.errors import SchemaMismatchError, UnsupportedFeatureError
from deltaarrow.schema import Field, Schema, StructType
from deltaarrow.spark_sql import in_time_zone, parse_time_zone
from deltaarrow.spark_sql.queries import QuerySettings, Relation, Travel, compile_query
from deltaarrow.table import DeltaTable
from tests.support.queries import Known, run_here, time


def rows(text, parameters=None):
    return [tuple(row.values()) for row in run_here(text, parameters)[1].to_pylist()]


def compiled(text, parameters=None):
    return compile_query(text, Known(), parameters).sql


class Orders:
    """One table, whose log is at a place."""

    def __init__(self, place, metadata=None):
        self.place = place
        self.schema = DeltaTable(place).snapshot.schema
        self.metadata = metadata

    def table(self, names, travel):
        return Relation(f"delta.'{self.place}'", self.schema, self.metadata)

    def function(self, name, arguments):
        return Relation(f"delta.'{self.place}'", self.schema) if name == "table_changes" else None


# --- parameters ---


def test_unnamed_parameters_are_bound_in_the_order_of_the_text():
    text = "SELECT ? AS x, id FROM t WHERE id > ? AND s = ? ORDER BY id"
    assert rows(text, [7, 0, "x"]) == [(7, 1)]


def test_named_parameters_are_bound_wherever_they_stand():
    assert rows("SELECT :n + 1, :n FROM t WHERE id = :n", {"N": 2}) == [(3, 2)]


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (1, "integer"),
        (2**40, "long"),
        (1.5, "double"),
        ("x'; DROP TABLE t; --", "string"),
        (b"\x00\xff", "binary"),
        (True, "boolean"),
        (Decimal("1.50"), "decimal(3,2)"),
        (datetime.date(2020, 1, 2), "date"),
        (datetime.datetime(2020, 1, 2, 3, 4, 5, 6, tzinfo=datetime.UTC), "timestamp"),
        (None, "void"),
    ],
)
def test_a_parameter_keeps_its_value_and_gets_the_type_of_pyspark(value, name):
    query, table = run_here("SELECT ?", [value])
    assert query.schema.fields[0].type.type == name
    assert table.column(0).to_pylist() == [value]


def test_parameters_are_never_pasted():
    assert rows("SELECT count(*) FROM t WHERE s = ?", ["' OR '1' = '1"]) == [(0,)]


@pytest.mark.parametrize(("text", "given"), [("SELECT ?", []), ("SELECT :a", {"b": 1}), ("SELECT 1", [1])])
def test_a_parameter_without_a_value_and_a_value_without_a_parameter_are_refused(text, given):
    with pytest.raises(SchemaMismatchError, match="parameter"):
        run_here(text, given)


@pytest.mark.parametrize("value", [2**63, Decimal("NaN"), "\0", object()])
def test_a_parameter_of_another_type_is_refused(value):
    with pytest.raises(UnsupportedFeatureError, match="parameter"):
        run_here("SELECT ?", [value])


def test_a_parameter_below_microseconds_is_refused_instead_of_cut():
    with pytest.raises(UnsupportedFeatureError, match="below microseconds"):
        run_here("SELECT ?", [pd.Timestamp(1_999, tz="UTC")])
    assert rows("SELECT ?", [pd.Timestamp(2_000, tz="UTC")]) == [(time("1970-01-01 00:00:00.000002"),)]


# --- relations ---


@pytest.mark.parametrize(
    ("words", "travel"),
    [
        ("t VERSION AS OF 3", Travel(version=3)),
        ("t VERSION AS OF '3'", Travel(version=3)),
        ("t@v3", Travel(version=3)),
        ("t@v3 AS x", Travel(version=3)),
        (
            "t TIMESTAMP AS OF '2020-01-02'",
            Travel(timestamp=time("2020-01-02")),
        ),
        (
            "t TIMESTAMP AS OF date_sub(DATE'2020-01-02', 1)",
            Travel(timestamp=time("2020-01-01")),
        ),
        (
            "t TIMESTAMP AS OF current_timestamp()",
            Travel(timestamp=time("1970-01-01T00:00:01")),
        ),
        ("t", None),
    ],
)
def test_the_version_of_a_table(words, travel):
    known = Known()
    compile_query(f"SELECT id FROM {words}", known, settings=QuerySettings(clock=lambda: 1000))
    assert known.travels == [(("t",), travel)]


@pytest.mark.parametrize("words", ["t VERSION AS OF -1", "t VERSION AS OF id", "t@x3", "t @v3", "t@v"])
def test_other_versions_are_refused(words):
    with pytest.raises((UnsupportedFeatureError, SchemaMismatchError)):
        compile_query(f"SELECT id FROM {words}", Known())


def test_a_name_of_several_parts_qualifies_columns(tmp_path):
    text = "SELECT `/p/t`.id, delta.`/p/t`.s FROM delta.`/p/t`"
    known = Known()
    known.schemas["/p/t"] = Schema([Field("id", "long"), Field("s", "string")])
    assert compile_query(text, known).schema.names == ["id", "s"]


def test_a_table_function_gets_the_values_of_its_arguments(tmp_path):
    deltaarrow.write_deltalake(tmp_path, pa.table({"id": [1]}))
    query = compile_query("SELECT id FROM table_changes('t', 0, 1 ) c WHERE c.id = 1", Orders(tmp_path))
    assert f"delta.'{tmp_path}'" in query.sql
    with pytest.raises(UnsupportedFeatureError, match="the table function nope"):
        compile_query("SELECT * FROM nope(1)", Orders(tmp_path))


def test_metadata_is_a_column_that_no_star_includes(tmp_path):
    deltaarrow.write_deltalake(tmp_path, pa.table({"id": [1]}))
    orders = Orders(tmp_path, StructType([Field("file_path", "string")]))
    query = compile_query("SELECT *, _metadata.file_path, _metadata FROM t", orders)
    assert query.schema.names == ["id", "file_path", "_metadata"]
    with pytest.raises(SchemaMismatchError, match="no column `_metadata`"):
        compile_query("SELECT _metadata FROM t", Orders(tmp_path))


@pytest.mark.parametrize(
    ("text", "given", "found"),
    [
        (
            "SELECT IDENTIFIER(:c) FROM IDENTIFIER(:t) AS x WHERE IDENTIFIER('x.' || :c) = 2",
            {"c": "id", "t": "t"},
            2,
        ),
        ("SELECT s FROM IDENTIFIER(?) WHERE IDENTIFIER(?) = 1", ["`t`", "t.`id`"], "x"),
    ],
)
def test_names_may_be_parameters(text, given, found):
    assert rows(text, given) == [(found,)]


def test_a_name_that_is_a_parameter_is_never_more_than_a_name():
    for text in ("t WHERE id = 1", "t, u", "upper(s)"):
        with pytest.raises(UnsupportedFeatureError, match=r"which is no name|cannot parse"):
            run_here("SELECT * FROM IDENTIFIER(:t)", {"t": text})
    with pytest.raises(SchemaMismatchError, match="UNBOUND_SQL_PARAMETER"):
        run_here("SELECT * FROM IDENTIFIER(:t)")


# --- samples and recursion ---


@pytest.mark.parametrize("how", ["10 PERCENT", "BUCKET 1 OUT OF 10"])
def test_a_sample_has_about_as_many_rows_as_it_says(how):
    text = f"SELECT count(*) FROM (SELECT * FROM range(100000)) TABLESAMPLE ({how})"
    assert 9_000 < rows(text)[0][0] < 11_000
    repeated = f"SELECT id FROM (SELECT * FROM range(10000)) TABLESAMPLE ({how}) REPEATABLE (7)"
    first = rows(repeated)
    assert 800 < len(first) < 1_200
    assert rows(repeated) == first != rows(repeated.replace("(7)", "(8)"))


def test_a_recursive_query_has_a_greatest_level_and_a_greatest_number_of_rows():
    made = "SELECT 1 UNION ALL SELECT n + 1 FROM q WHERE n < {}"
    text = f"WITH RECURSIVE q(n) {{}} AS ({made}) SELECT count(*) FROM q"
    assert rows(text.format("", 100)) == [(100,)]
    assert rows(text.format("MAX RECURSION LEVEL 150", 150)) == [(150,)]
    with pytest.raises(duckdb.Error, match=r"RECURSION_LEVEL_LIMIT_EXCEEDED.*more than 100 levels"):
        rows(text.format("", 101))
    grown = "WITH RECURSIVE q AS (SELECT id FROM range(600000) UNION ALL SELECT id + 1 FROM q)"
    with pytest.raises(duckdb.Error, match=r"RECURSION_ROW_LIMIT_EXCEEDED.*more than 1000000 rows"):
        rows(f"{grown} SELECT count(*) FROM q")


# --- settings and refusals ---


def test_a_long_expression_stands_beside_a_subquery():
    text = "SELECT id FROM t WHERE get_json_object(s, '$.a') = 'x' OR id IN (SELECT id FROM u) ORDER BY id"
    assert run_here(text)[1]["id"].to_pylist() == [1, 2, 4]


def test_a_column_is_compared_with_a_computed_null_character():
    assert run_here("SELECT id FROM t WHERE s > chr(0) AND id < 3 ORDER BY id")[1]["id"].to_pylist() == [1, 2]


def test_time_without_a_zone_is_a_parameter_in_utc_alone():
    compile_query("SELECT ?", Known(), [datetime.datetime(2024, 7, 1)])
    with in_time_zone(parse_time_zone("Europe/Berlin")):
        compile_query("SELECT ?", Known(), [datetime.datetime(2024, 7, 1, tzinfo=datetime.UTC)])
        with pytest.raises(UnsupportedFeatureError, match="session time zone Europe/Berlin"):
            compile_query("SELECT ?", Known(), [datetime.datetime(2024, 7, 1)])


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("SELECT foo(id) FROM t", "the function FOO"),
        ("SELECT * FROM t TABLESAMPLE (101 PERCENT)", "TABLESAMPLE of more than all rows"),
        ("SELECT * FROM t TABLESAMPLE (BUCKET 1 OUT OF 2 ON id)", "TABLESAMPLE with BUCKET_FIELD"),
        ("SELECT * FROM t TABLESAMPLE (30)", "TABLESAMPLE without ROWS"),
        ("SELECT * FROM range(5) TABLESAMPLE (3 ROWS)", "TABLESAMPLE of something other"),
        ("FROM t |> SET id = 1", "|> SET"),
        ("FROM t |> WINDOW w AS (ORDER BY id)", "|> WINDOW"),
        ("FROM t |> |> WHERE id = 1", "without an operator"),
        ("SELECT * FROM t PIVOT (sum(b) FOR (a, h) IN ((1, 2, 3) AS x))", "2 columns for 3 values"),
        ("SELECT * FROM t PIVOT (sum(b) FOR dt IN (DATE'2020-01-01'))", "add AS name"),
        ("SELECT * FROM t UNPIVOT ((v, w) FOR n IN ((a, b, h)))", "as many as have names"),
        ("WITH RECURSIVE q MAX RECURSION LEVEL x AS (SELECT 1) SELECT * FROM q", "MAX RECURSION LEVEL"),
        (
            "WITH RECURSIVE q AS (SELECT 1 n UNION ALL SELECT b FROM t WHERE b IN (TABLE q)) SELECT * FROM q",
            "a recursive name in a subquery",
        ),
        ("SELECT IDENTIFIER(id) FROM t", "IDENTIFIER of something other"),
        ("SELECT IDENTIFIER('id + 1') FROM t", "which is no name"),
        ("SELECT (id, b) IN (SELECT id, t.b FROM u) FROM t", "several columns"),
        ("SELECT TRANSFORM(id) USING 'cat' AS (x) FROM t", "TRANSFORM with USING, which runs a program"),
        ("FROM t MAP id USING 'cat'", "MAP with USING"),
        ("SELECT s:a.b FROM t", "a part of string, which is no variant"),
        ("SELECT explode(ar) + 1 FROM n", "explode"),
        ("SELECT count(*), explode(ar) FROM n", "a generator beside an aggregate"),
        ("SELECT mp, count(*) FROM n GROUP BY mp", "GROUP BY"),
        ("SELECT DISTINCT mp FROM n", "DISTINCT"),
        ("INSERT INTO t SELECT 1", "INSERT"),
        ("DROP TABLE t", "DROP"),
        ("SELECT 1; SELECT 2", ";"),
        ("SELECT x FROM (SELECT 1 AS x, 2 AS let__e1)", "a column with the name let__e1"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(text, named):
    with pytest.raises(UnsupportedFeatureError, match=named):
        compile_query(text, Known())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "SELECT id,\n  idd\nFROM t",
            "[UNRESOLVED_COLUMN.WITH_SUGGESTION] no column `idd` in the query; did you mean `id`?",
        ),
        ("SELECT id,\n  foo(id)\nFROM t", "the function FOO is not supported in a SQL expression"),
    ],
)
def test_an_error_has_its_place(text, message):
    with pytest.raises((SchemaMismatchError, UnsupportedFeatureError)) as raised:
        compile_query(text, Known())
    assert str(raised.value).startswith(message)
    assert raised.value.place == (text, text.index("\n") + 3)


@pytest.mark.parametrize(
    "name",
    ['a"b', "a'b", "a`b", "{0}", "{", "}", "a.b", "x y", "é", "SELECT", "t1", "%s", "--", "\\"],
)
def test_names_reach_duckdb_as_they_are(name):
    quoted = "`" + name.replace("`", "``") + "`"
    text = f"SELECT {quoted}.{quoted} AS {quoted} FROM (SELECT 1 AS {quoted}) AS {quoted} ORDER BY {quoted}"
    query, table = run_here(f"WITH {quoted} AS ({text}) SELECT * FROM {quoted}")
    assert (query.schema.names, table.to_pydict()) == ([name], {name: [1]})


@pytest.mark.parametrize("text", ["{0}", "}{", "'; --", "\\", "%", "{now}", "\n"])
def test_texts_reach_duckdb_as_they_are(text):
    written = "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"
    query = f"SELECT {written}, (SELECT max(u.x || {written}) FROM u WHERE u.id = t.id) FROM t WHERE id = 1"
    assert rows(query) == [(text, f"p{text}")]


# --- the choice of files ---


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    place = tmp_path_factory.mktemp("lake")
    for year in (2024, 2025, 2026):
        times = pa.array([datetime.datetime(year, 1, 1, tzinfo=datetime.UTC)], pa.timestamp("us", "UTC"))
        table = pa.table(
            {
                "year": pa.array([year], pa.int32()),
                "id": pa.array([year * 2], pa.int64()),
                "s": [f"k{year}"],
                "m": pa.array([Decimal(year)], pa.decimal128(10, 2)),
                "d": [float(-year)],
                "dt": [datetime.date(year, 1, 1)],
                "ts": times,
                "st": [{"a": year}],
            }
        )
        deltaarrow.write_deltalake(place, table, mode="append")
    return place


@pytest.mark.parametrize(
    "condition",
    [
        *("year = 2026", "year > 2025L", "id >= 4052 AND year IN (2025, 2026)", "NOT year < 2026"),
        *("year = 2026 OR year > 3000", "year <=> 2026", "year BETWEEN 2026 AND 2030", "st.a = 2026"),
        *("s = 'k2026'", "s > 'k2025x'", "s LIKE 'k2026%'", "startswith(s, 'k2026')", "m > 2025.5"),
        *("m = 2026", "d < -2025.5", "dt = '2026-01-01'", "dt >= date_sub(DATE'2026-01-08', 7)"),
        *("ts >= '2026-01-01'", "ts > TIMESTAMP'2025-06-01 00:00:00'", "year = 2026 AND id / year > 1"),
        *("year = 2026 AND id IN (SELECT 4052)", "year = CAST('2026' AS INT) AND dt <> ts + INTERVAL 1 DAY"),
    ],
)
def test_a_condition_skips_files(lake, condition):
    query = compile_query(f"SELECT id FROM orders WHERE {condition}", Orders(lake))
    with deltaarrow.connect() as connection:
        [found] = connection.explain(query.sql)
        assert (found.left_files, found.files) == (1, 3)
        assert connection.sql(query.sql).fetchall() == [(4052,)]


def test_conditions_of_joins_and_groups_skip_files(lake):
    with deltaarrow.connect() as connection:
        for text in (
            "SELECT t.id FROM t JOIN t u ON t.id = u.id AND t.year = 2026 WHERE u.s = 'k2026'",
            "SELECT year, count(*) FROM t WHERE year = 2026 GROUP BY year HAVING count(*) > 0",
            "WITH q AS (SELECT * FROM t WHERE year = 2026) SELECT x.id FROM q x JOIN q y ON x.id = y.id",
        ):
            query = compile_query(text, Orders(lake))
            assert {found.left_files for found in connection.explain(query.sql)} == {1}
            assert len(connection.sql(query.sql).fetchall()) == 1
