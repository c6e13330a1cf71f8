"""Conditions of many operands, deep expressions, long values and lists, and numbers that no type holds."""

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow import DeltaTable, connect, write_deltalake
from deltaarrow.engines.duckdb.table_references import parse_statement
from deltaarrow.errors import DeltaError
from deltaarrow.schema import Field, Schema
from deltaarrow.spark_sql import parse_expression
from deltaarrow.spark_sql.text.parsing import parse_tree

MANY = 600


@pytest.fixture
def table(tmp_path):
    write_deltalake(tmp_path, pa.table({"id": pa.array(range(4), pa.int64()), "s": ["a", "b", "c", "d"]}))
    return DeltaTable(tmp_path)


def run(table, dialect, statement):
    name = f'delta."{table.table_uri}"' if dialect == "duckdb" else f"delta.`{table.table_uri}`"
    with connect(dialect=dialect) as connection:
        found = connection.sql(statement.replace("@orders", name))
        return sorted(found.fetchall()) if statement.startswith("SELECT") else None


def left(table):
    return sorted(DeltaTable(table.table_uri).to_pyarrow_table()["id"].to_pylist())


CHAINS = {
    "OR": " OR ".join(f"id = {number}" for number in range(1, MANY)),
    "AND": "NOT (" + " AND ".join(f"id <> {number}" for number in range(1, MANY)) + ")",
    "OR in parentheses": f"({' OR '.join(f'(id = {number})' for number in range(1, MANY))})",
    "several columns": " OR ".join(f"(id = {number} AND s <> 'x{number}')" for number in range(1, MANY // 2)),
}
"""Long conditions that are true for each row but the first."""


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("dialect", ["duckdb", "spark"])
def test_queries_take_conditions_of_many_operands(table, dialect, chain):
    assert run(table, dialect, f"SELECT id FROM @orders WHERE {CHAINS[chain]}") == [(1,), (2,), (3,)]


STATEMENTS = {
    "DELETE": "DELETE FROM @orders WHERE NOT ({})",
    "UPDATE": "UPDATE @orders SET id = -1 WHERE NOT ({})",
    "MERGE": "MERGE INTO @orders t USING (SELECT 1) s ON NOT ({}) WHEN MATCHED THEN DELETE",
    "MERGE clause": "MERGE INTO @orders t USING (SELECT 1) s ON true WHEN MATCHED AND NOT ({}) THEN DELETE",
}


@pytest.mark.parametrize("statement", STATEMENTS)
@pytest.mark.parametrize("dialect", ["duckdb", "spark"])
def test_statements_take_conditions_of_many_operands(table, dialect, statement):
    run(table, dialect, STATEMENTS[statement].format(CHAINS["OR"]))
    assert [each for each in left(table) if each >= 0] == [1, 2, 3]


def test_methods_take_conditions_of_many_operands(table):
    assert table.to_pyarrow_table(filters=CHAINS["OR"]).num_rows == 3
    assert table.update({"s": "'x'"}, predicate=CHAINS["OR"])["num_updated_rows"] == 3
    assert table.delete(CHAINS["AND"])["num_deleted_rows"] == 3


def deep(value, levels=100):
    return "abs(" * levels + value + ")" * levels


DEEP = {
    f"SELECT id FROM @orders WHERE {deep('id')} = 2": [(2,)],
    f"SELECT id FROM @orders WHERE NOT ({deep('id * 2')} = 2) AND id > 0": [(2,), (3,)],
    f"SELECT {deep('id + length(s)')} FROM @orders WHERE s = 'd'": [(4,)],
    f"SELECT id FROM @orders AS o WHERE {deep('CASE WHEN o.id IN (1, 2) THEN o.id ELSE -9 END')} < 2": [(1,)],
    f"SELECT max({deep('x.id')}) FROM @orders x JOIN @orders y ON {deep('x.id')} = y.id WHERE y.id < 3": [
        (2,)
    ],
    f"SELECT count(*) FROM @orders WHERE {'(' * 100}id = 2{')' * 100}": [(1,)],
}


@pytest.mark.parametrize("query", DEEP)
def test_deep_expressions_read_the_tables_that_they_are_over(table, query):
    write_deltalake(table, pa.table({"id": [2, 40], "s": ["x", "y"]}), mode="overwrite")
    write_deltalake(table, pa.table({"id": range(4), "s": ["a", "b", "c", "d"]}), mode="overwrite")
    assert run(table, "duckdb", query) == DEEP[query]


def test_conditions_beside_deep_ones_skip_files(table):
    write_deltalake(table, pa.table({"id": [40], "s": ["y"]}), mode="append")
    query = f'SELECT id FROM delta."{table.table_uri}" WHERE {deep("id")} > 0 AND id = 40'
    with connect() as connection:
        assert connection.sql(query).fetchall() == [(40,)]
        assert [each.left_files for each in connection.explain(query)] == [1]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (
            "datediff(date_trunc('MONTH', TIMESTAMP'2024-05-05' - INTERVAL 1 DAY),"
            " DATE'2024-01-01' + CAST(id AS INT))",
            121,
        ),
        (
            "date_format(date_trunc('YEAR', date_trunc('MONTH', TIMESTAMP'2024-03-31 02:30:00'"
            " + make_dt_interval(id, 40)) - INTERVAL 2 MONTHS), 'yyyy-MM-dd HH:mm')",
            "2024-01-01 00:00",
        ),
    ],
)
def test_times_in_a_time_zone_of_summer_time_may_be_nested(table, value, expected):
    with connect(dialect="spark") as connection:
        connection.sql("SET TIME ZONE 'Europe/Berlin'")
        query = f"SELECT {value} FROM delta.`{table.table_uri}` WHERE s = 'a'"
        assert connection.sql(query).fetchall() == [(expected,)]


def test_values_may_be_long_and_have_comments(table):
    value = f"IF(id = 0, '{'x' * 30_000}', s) -- as long"
    assert table.update({"s": value})["num_updated_rows"] == 4
    merge = table.merge(pa.table({"one": [1]}), "one = t.id", "s", "t")
    merge.when_matched_update({"s": f"concat(s.one, '{'y' * 30_000}') /* as long */"}).execute()
    found = DeltaTable(table.table_uri).to_pyarrow_table().sort_by("id")["s"].to_pylist()
    assert [(each[:2], len(each)) for each in found[:2]] == [("xx", 30_000), ("1y", 30_001)]


@pytest.mark.parametrize("values", [range(0, 3_000, 2), [f"{number}'" for number in range(1_500)]])
def test_long_lists_skip_files_and_choose_rows(table, values):
    column = "id" if isinstance(values, range) else "s"
    table.update({"s": "concat(id, '\\'')"})
    write_deltalake(table, pa.table({"id": [5_001, -5], "s": ["a", "b"]}), mode="append")
    listed = ", ".join(str(each) if column == "id" else f'"{each}"' for each in values)
    left = [0, 2] if column == "id" else [0, 1, 2, 3]
    for filters in (f"{column} IN ({listed})", [(column, "in", list(values))]):
        assert sorted(table.to_pyarrow_table(filters=filters)["id"].to_pylist()) == left
        others = (
            f"{column} NOT IN ({listed})" if isinstance(filters, str) else [(column, "not in", [*values])]
        )
        assert table.to_pyarrow_table(filters=others).num_rows == 6 - len(left)
    assert run(table, "spark", f"SELECT id FROM @orders WHERE {column} IN ({listed})") == [
        (each,) for each in left
    ]
    assert table.delete(f"{column} IN ({listed})")["num_deleted_rows"] == len(left)


LISTED = {
    "integers": ("id", range(-90, 90)),
    "integers beyond the type": ("id", [*range(90), 10**30]),
    "decimals": ("id", [f"{number}.0" for number in range(90)]),
    "decimals among integers": ("id", [f"{number}.5" if number % 2 else number for number in range(90)]),
    "floats": ("id", [f"{number}e0" for number in range(90)]),
    "strings": ("s", [f"'{number}!'" for number in range(-90, 90)]),
    "strings of numbers": ("id", [f"'{number}'" for number in range(90)]),
    "with NULL": ("id", ["NULL", *range(90), "NULL"]),
    "with an expression": ("id", [*range(90), "1 + 1"]),
    "in brackets": ("id", [f"({number})" for number in range(90)]),
    "two strings in a row": ("s", [*(f"'{number}!'" for number in range(90)), "'2'\n'!'"]),
}


@pytest.mark.parametrize("kind", LISTED)
def test_duckdb_skips_files_by_long_lists_as_by_short_ones(tmp_path, kind):
    """A long list is one token of the text, wherever it stands, and chooses the files of its parts."""
    for first in (0, 200):
        ids = pa.array([first, first + 1, first + 2], pa.int64())
        rows = pa.table({"id": ids, "s": [f"{each}!" for each in ids.to_pylist()]})
        write_deltalake(tmp_path, rows, mode="append")
    column, values = LISTED[kind]
    texts = [str(each) for each in values]
    with connect(dialect="duckdb") as connection:
        query = f"FROM delta_scan('{tmp_path}') AS t SELECT id WHERE t.{column} "

        def found(condition):
            (explained,) = connection.explain(query + condition)
            return sorted(connection.sql(query + condition).fetchall()), explained.left_files

        rows, files = found(f"IN ({', '.join(texts)})")
        short = [f"IN ({', '.join(texts[start : start + 10])})" for start in range(0, len(texts), 10)]
        assert (rows, files) == found(f" OR t.{column} ".join(short))
        if kind in ("integers", "decimals", "strings", "decimals among integers"):
            assert files == 1
        both = f"IN ({', '.join(texts)}) OR t.id IN ({', '.join(map(str, range(201, 300)))})"
        assert found(both)[0] == sorted({*rows, (201,), (202,)})
        others = connection.sql(f"{query} NOT IN ({', '.join(texts)})").fetchall()
        assert len(others) == (0 if kind == "with NULL" else 6 - len(rows))


CHAR = Field("c", "string", metadata={"__CHAR_VARCHAR_TYPE_STRING": "char(4)"})
TYPES = ("long", "byte", "float", "decimal(5,2)", "string", "date", "boolean", "binary")
SCHEMA = Schema([CHAR, *(Field(each.partition("(")[0], each) for each in TYPES)])
LITERALS = (
    *("1", "-2", "0", "-0", "1.5", "-2.00", ".5", "1.005", "-1e0", "15e-1", "128", "-9223372036854775808"),
    *("99999999999999999999", "NULL", "''", "'a'", "'a\\'b'", "'a''b'", '"1"', "' 1'", "'2024-02-29'"),
    *("'true'", "'NaN'", "'x'", "'\\u0061'"),
)


@given(
    st.sampled_from([each.name for each in SCHEMA.fields]),
    st.lists(st.sampled_from(LITERALS), min_size=1, max_size=6),
    st.booleans(),
)
@settings(max_examples=15, deadline=None)
def test_a_long_list_of_literals_has_the_meaning_and_errors_of_any_list(column, literals, is_negated):
    """A literal in brackets is an expression, so the parser reads its list literal by literal."""
    many = literals * -(-64 // len(literals))

    def outcome(listed):
        condition = f"{column} {'NOT ' * is_negated}IN ({', '.join(listed)})"
        try:
            return parse_expression(condition, SCHEMA).root
        except DeltaError as error:
            return type(error), str(error).partition(" (at ")[0]

    assert outcome(many) == outcome([f"({many[0]})", *many[1:]])
    one_by_one = [node for each in many for node in parse_tree(f"{column} IN ({each})").expressions]
    assert parse_tree(f"{column} IN ({', '.join(many)})").expressions == one_by_one


@pytest.mark.parametrize("call", ["x IN ({}) + 1", "x IN ({}", "x IN ({},)"])
def test_errors_beside_long_lists_are_those_beside_short_ones(call):
    def error(count):
        with pytest.raises(DeltaError) as caught:
            parse_expression(call.format(", ".join(map(str, range(count)))), SCHEMA)
        return str(caught.value).partition(" at character")[0]

    assert error(100) == error(3)


def test_a_bracket_behind_an_in_that_is_no_list_is_parsed_whole():
    with pytest.raises(DeltaError, match="col100:int"):
        parse_expression(f"position('a' IN ({', '.join(map(str, range(100)))}))", SCHEMA)


@pytest.mark.parametrize("dialect", ["duckdb", "spark"])
def test_a_string_that_looks_like_a_long_list_is_a_string(table, dialect):
    listed = ", ".join(map(str, range(100, 200)))
    query = f"SELECT id FROM @orders WHERE s IN ('literals at 000') OR id IN ({listed})"
    place = query.replace("@orders", f"delta.`{table.table_uri}`").index("100, 101")
    assert 100 <= place < 1_000
    write_deltalake(table, pa.table({"id": [7], "s": [f"literals at {place}"]}), mode="append")
    assert run(table, dialect, query.replace("000", str(place))) == [(7,)]


def test_the_tree_of_a_statement_does_not_grow_with_a_list_of_literals():
    def nodes(count):
        numbers = ", ".join(str(number) for number in range(-count, count))
        strings = ", ".join(f"'{number}'" for number in range(count))
        listed = f"id IN ({numbers}) AND (s IN ({strings}) OR id = 1)"
        return sum(1 for _ in parse_statement(f"SELECT * FROM t WHERE {listed}").tree.walk())

    assert nodes(100) == nodes(500)


NINES = "9" * 5_000
HUGE = {
    "filters": lambda table: table.to_pyarrow_table(filters=f"id = {NINES}"),
    "a long": lambda table: table.to_pyarrow_table(filters=f"id = {NINES}L"),
    "digits behind a point": lambda table: table.to_pyarrow_table(filters=f"id = 0.{NINES}"),
    "a tuple": lambda table: table.to_pyarrow_table(filters=[("id", "=", 10**5_000)]),
    "delete": lambda table: table.delete(f"id = {NINES}"),
    "SELECT": lambda table: run(table, "spark", f"SELECT id FROM @orders WHERE id = {NINES}"),
    "DELETE": lambda table: run(table, "spark", f"DELETE FROM @orders WHERE id = {NINES}"),
    "LIMIT": lambda table: run(table, "spark", f"SELECT id FROM @orders LIMIT {NINES}"),
    "VERSION": lambda table: run(table, "spark", f"SELECT id FROM @orders VERSION AS OF {NINES}"),
    "AT": lambda table: run(table, "duckdb", f"SELECT id FROM @orders AT (VERSION => {NINES})"),
}


@pytest.mark.parametrize("door", HUGE)
def test_a_number_that_no_type_holds_is_refused(table, door):
    with pytest.raises(DeltaError):
        HUGE[door](table)


def test_duckdb_says_what_a_number_that_no_type_holds_equals(table):
    assert run(table, "duckdb", f"SELECT id FROM @orders WHERE id <> {NINES}.5") == [(0,), (1,), (2,), (3,)]
