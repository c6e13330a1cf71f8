"""Hostile text in names, strings, comments and the metadata of a table: it stays text, in both dialects.

A secret stands in a file and in the environment. Nothing that a statement returns, raises or stores has it,
and no statement leaves another setting, database, extension, table or file.
"""

import contextlib
import datetime
import json
from collections.abc import Sequence
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import deltaarrow
from deltaarrow import DeltaTable
from deltaarrow.sql.create_text import text_literal
from tests.support.tables import TableBuilder

SECRET = "geheim-4711"
PIECES = [
    "'",
    '"',
    "`",
    "''",
    "\\'",
    "\\",
    "/*",
    "*/",
    "--",
    "\n",
    "\r",
    "\t",
    ";",
    "(",
    ")",
    "$1",
    "$secret",
    "${secret}",
    "?",
    ":name",
    "{0}",
    "%s",
    "x",
    "\u202e",
    "é👍",
    "/",
    "..",
    "=",
    "%2F",
    " OR true ",
    "DROP TABLE lake.t",
    "SET memory_limit = '1GB'",
    "SET VARIABLE stolen = 1",
    "INSTALL httpfs",
    "ATTACH ':memory:' AS stolen",
    "CREATE TABLE stolen AS SELECT 1",
    "read_text('{file}')",
    "FROM '{file}'",
    "(SELECT content FROM read_text('{file}'))",
    "getenv('DELTAARROW_TEST_SECRET')",
    "COPY (SELECT 1) TO '{out}'",
    "getvariable('x')",
    "|| getenv('DELTAARROW_TEST_SECRET') ||",
]
"""What hostile texts are made of."""

HOSTILE = [
    "'; DROP TABLE lake.t; --",
    '"; SET VARIABLE stolen = 1; --',
    "`; CREATE TABLE stolen AS SELECT 1; --",
    "' || getenv('DELTAARROW_TEST_SECRET') || '",
    "\" || getenv('DELTAARROW_TEST_SECRET') || \"",
    "x FROM read_text('{file}') --",
    "(SELECT content FROM read_text('{file}'))",
    "'), (SELECT content FROM read_text('{file}')) --",
    "$1 ? :name ${secret} {0} %s",
    "\\' OR true --",
    "a/*b*/c--d\ne",
    "COPY (SELECT 1) TO '{out}'",
    "\\",
    "''\"\"``",
]

FRAGMENTS = [
    "(SELECT content FROM read_text('{file}'))",
    "read_text('{file}')",
    "getenv('DELTAARROW_TEST_SECRET')",
    "getvariable('secret')",
    "query('FROM ''{file}''')",
    "current_setting('home_directory')",
    "(SELECT max(line) FROM read_csv('{file}', columns = {'line': 'VARCHAR'}))",
    "(SELECT max(value) FROM duckdb_settings())",
    "write_log('x')",
]
"""Expressions of DuckDB that reach something; Spark has none of them."""


class Watched:
    """A folder with a secret, and a connection that knows the tables of another folder."""

    def __init__(self, folder: Path, dialect: str) -> None:
        self.folder, self.lake, self.dialect = folder, folder / "lake", dialect
        self.file, self.out = folder / "secret.txt", folder / "out.csv"
        self.file.write_text(SECRET)
        self.lake.mkdir()
        self.con = deltaarrow.connect(dialect=dialect).attach(self.lake, "lake")
        self.con.connection.execute("SET VARIABLE secret = ?", [SECRET])
        self.before = self._state()

    def filled(self, text: str) -> str:
        return text.replace("{file}", str(self.file)).replace("{out}", str(self.out))

    def run(self, statement: str, parameters: Sequence[object] = ()) -> list[dict] | None:
        """Run a statement; its rows, or None where it is refused."""
        try:
            result = self.con.sql(statement, params=parameters or None)
            table = result if isinstance(result, pa.Table) else result.to_arrow_table()
        except (deltaarrow.DeltaError, ValueError, duckdb.Error) as error:
            assert SECRET not in str(error), statement
            return None
        rows = table.to_pylist()
        assert SECRET not in repr(rows), statement
        return rows

    def name(self, text: str) -> str:
        mark = "`" if self.dialect == "spark" else '"'
        return mark + text.replace(mark, 2 * mark) + mark

    def text(self, text: str) -> str:
        return text_literal(text) if self.dialect == "spark" else "'{}'".format(text.replace("'", "''"))

    def ensure_untouched(self) -> None:
        for query, rows in self._state().items():
            assert set(rows) ^ set(self.before[query]) == set(), query
        assert not self.out.exists()
        for path in self.lake.rglob("*"):
            assert not path.is_file() or SECRET.encode() not in path.read_bytes(), path

    def _state(self) -> dict[str, list[tuple]]:
        execute = self.con.connection.execute
        return {
            query: execute(f"FROM {query}").fetchall()
            for query in (
                # A connection sets this one itself, for each statement.
                "(SELECT name, value FROM duckdb_settings() WHERE name <> 'python_enable_replacements')",
                "(SELECT database_name FROM duckdb_databases())",
                "(SELECT extension_name, loaded FROM duckdb_extensions())",
                "(SELECT name FROM duckdb_variables())",
                "(SELECT name FROM duckdb_secrets())",
                "(SELECT table_name AS name FROM duckdb_tables() UNION ALL"
                " SELECT view_name FROM duckdb_views() WHERE NOT internal)"
                " WHERE NOT starts_with(name, '__deltaarrow:')",
            )
        }


@pytest.fixture
def watched(tmp_path, monkeypatch):
    monkeypatch.setenv("DELTAARROW_TEST_SECRET", SECRET)
    with contextlib.ExitStack() as stack:

        def watched(dialect: str, folder: Path = tmp_path) -> Watched:
            found = Watched(folder, dialect)
            stack.callback(found.con.close)
            return found

        yield watched


def use_columns(watched: Watched, texts: list[str]) -> None:
    """Let a table have texts for the names and comments of columns, and for values, and use all of it."""
    texts = list(dict.fromkeys(texts))
    names = [f"{place}{text}" for place, text in enumerate(texts)]
    schema = pa.schema(
        [
            pa.field(name, pa.string(), metadata={"comment": text})
            for name, text in zip(names, texts, strict=True)
        ]
    )
    rows = pa.table([[text, None] for text in texts], schema=schema)
    mapping = {"delta.columnMapping.mode": "name", "delta.enableChangeDataFeed": "true"}
    deltaarrow.write_deltalake(
        watched.lake / "t", rows, partition_by=names[:1], configuration=mapping, description=texts[-1]
    )
    quoted = [watched.name(name) for name in names]
    values = [watched.text(text) for text in texts]
    first, value = quoted[-1], values[-1]
    [row] = watched.run(f"SELECT {', '.join(quoted)} FROM lake.t WHERE {first} = {value}") or []
    assert list(row.values()) == texts
    found = watched.run(f"SELECT x.{first} FROM lake.t AS x WHERE x.{quoted[0]} IN ({', '.join(values)})")
    assert found == [{names[-1]: texts[-1]}]
    assert watched.run(f"INSERT INTO lake.t ({', '.join(quoted)}) VALUES ({', '.join(values)})") is not None
    assert watched.run(
        f"UPDATE lake.t SET {first} = concat({value}, {values[0]}) WHERE {first} = {value}"
    ) == [{"num_affected_rows": 2}]
    assert watched.run(f"DELETE FROM lake.t WHERE {first} IS NULL") == [{"num_affected_rows": 1}]
    source = f"(SELECT {values[0]} AS {quoted[0]}, {value} AS {first}) AS s"
    merged = watched.run(
        f"MERGE INTO lake.t AS t USING {source} ON t.{quoted[0]} = s.{quoted[0]}"
        f" WHEN MATCHED AND s.{first} <> '' THEN UPDATE SET {first} = s.{first}"
        f" WHEN NOT MATCHED THEN INSERT ({first}) VALUES ({value})"
    )
    assert merged is not None
    assert {row[names[-1]] for row in DeltaTable(watched.lake / "t").to_pyarrow_table().to_pylist()} == {
        texts[-1]
    }
    assert watched.run("SELECT * FROM table_changes('lake.t', 1)") is not None
    for statement in ("DESCRIBE lake.t", "OPTIMIZE lake.t", "VACUUM lake.t DRY RUN", "FROM lake.t"):
        watched.run(statement)
    assert len(watched.run(f"SELECT {quoted[0]}, count(*) AS n FROM lake.t GROUP BY ALL") or []) == 1


def use_metadata(watched: Watched, text: str) -> None:
    """Let Spark's statements that describe and alter a table have the text wherever they take one."""
    quoted, name = watched.text(text), watched.name(text)
    for statement in (
        "CREATE TABLE lake.m (id INT, p STRING) USING delta PARTITIONED BY (p)",
        f"COMMENT ON TABLE lake.m IS {quoted}",
        f"ALTER TABLE lake.m SET TBLPROPERTIES ({quoted} = {quoted})",
        f"ALTER TABLE lake.m ALTER COLUMN id COMMENT {quoted}",
        f"INSERT INTO lake.m PARTITION (p = {quoted}) VALUES (1)",
        f"SET spark.databricks.delta.commitInfo.userMetadata = {quoted}",
        "INSERT INTO lake.m VALUES (2, 'x')",
        f"OPTIMIZE lake.m WHERE p = {quoted}",
        f"ALTER TABLE lake.m ADD CONSTRAINT {name} CHECK (p <> {quoted} OR id > 0)",
        f"INSERT INTO lake.m REPLACE WHERE p = {quoted} VALUES (3, {quoted})",
        f"INSERT INTO lake.m REPLACE USING (p) SELECT 4 AS {name}, {quoted}",
        "SHOW PARTITIONS lake.m",
        "SHOW CREATE TABLE lake.m",
        "SHOW TBLPROPERTIES lake.m",
        "DESCRIBE EXTENDED lake.m",
        "DESCRIBE DETAIL lake.m",
        "DESCRIBE HISTORY lake.m",
        f"CREATE TEMP VIEW v AS SELECT id AS {name} FROM lake.m WHERE p = {quoted}",
        "SELECT * FROM v",
        "DROP VIEW v",
        f"COPY INTO lake.m FROM {quoted} FILEFORMAT = CSV PATTERN = {quoted}",
        f"SELECT * FROM delta.{name}",
        f"SELECT * FROM lake.{name}",
        "RESET",
    ):
        watched.run(statement)
    assert watched.run(f"SELECT id FROM lake.m WHERE p = {quoted}") == [{"id": 4}]
    assert DeltaTable(watched.lake / "m").metadata().description == text


@pytest.mark.parametrize("dialect", ["spark", "duckdb"])
def test_hostile_names_comments_and_values_stay_texts(watched, dialect):
    found = watched(dialect)
    use_columns(found, [found.filled(text) for text in HOSTILE])
    found.ensure_untouched()


def test_hostile_metadata_stays_text(watched):
    found = watched("spark")
    use_metadata(found, found.filled("'; \"`$1 || (SELECT content FROM read_text('{file}')) --\n${secret}"))
    found.ensure_untouched()


@pytest.mark.slow
@pytest.mark.parametrize("dialect", ["spark", "duckdb"])
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    texts=st.lists(
        st.lists(st.sampled_from(PIECES), min_size=1, max_size=6).map("".join), min_size=1, max_size=6
    )
)
def test_any_hostile_text_stays_text(watched, tmp_path_factory, dialect, texts):
    found = watched(dialect, tmp_path_factory.mktemp("hostile"))
    filled = [found.filled(text) for text in texts]
    use_columns(found, [*filled, "' --", "plain"])
    if dialect == "spark":
        use_metadata(found, filled[0])
    found.ensure_untouched()


PLACES = [
    "SELECT {0} FROM lake.t",
    "SELECT id FROM lake.t ORDER BY {0}",
    "SELECT id FROM lake.t WHERE s = {0}",
    "SELECT count(*) FROM lake.t GROUP BY {0}",
    "SELECT * FROM lake.t JOIN {0} AS other",
    "SELECT sum(id) OVER (PARTITION BY {0}) FROM lake.t",
    "SELECT * FROM lake.t LATERAL VIEW explode(array({0})) AS x",
    "INSERT INTO lake.t VALUES (1, {0})",
    "INSERT INTO lake.t REPLACE WHERE s = {0} VALUES (1, 'x')",
    "INSERT INTO lake.t REPLACE ON s = {0} VALUES (1, 'x')",
    "DELETE FROM lake.t WHERE s = {0}",
    "DELETE FROM lake.t WHERE s IN (SELECT {0})",
    "UPDATE lake.t SET s = {0}",
    "MERGE INTO lake.t USING (SELECT {0} AS s) AS n ON t.s = n.s WHEN MATCHED THEN DELETE",
    "MERGE INTO lake.t USING lake.t AS n ON t.s = {0} WHEN MATCHED THEN UPDATE SET s = {0}",
    "ALTER TABLE lake.t ADD CONSTRAINT c CHECK (s <> {0})",
    "ALTER TABLE lake.t ALTER COLUMN s SET DEFAULT {0}",
    "CREATE TABLE lake.u (s STRING, g STRING GENERATED ALWAYS AS ({0}))",
    "CREATE TABLE lake.u AS SELECT {0} AS s",
    "CREATE TEMP VIEW v AS SELECT {0} AS s",
    "OPTIMIZE lake.t WHERE s = {0}",
    "VACUUM lake.t USING INVENTORY (SELECT {0} AS path)",
    "COPY INTO lake.t FROM (SELECT {0} AS s FROM '{folder}') FILEFORMAT = CSV",
    "SELECT * FROM lake.t VERSION AS OF {0}",
]


@pytest.mark.parametrize(
    "fragment",
    [
        each if place < 2 else pytest.param(each, marks=pytest.mark.slow)
        for place, each in enumerate(FRAGMENTS)
    ],
)
def test_expressions_of_duckdb_are_none_of_sparks(watched, fragment):
    found = watched("spark")
    deltaarrow.write_deltalake(found.lake / "t", pa.table({"id": [1, 2], "s": ["a", "b"]}))
    for place in PLACES:
        text = place.replace("{0}", found.filled(fragment)).replace("{folder}", str(found.folder))
        assert found.run(text) is None, text
    assert DeltaTable(found.lake / "t").version() == 0
    found.ensure_untouched()


def stored(watched: Watched, expression: str) -> None:
    """A table by a hostile writer: its rules are an expression that its reader would have to compute."""
    metadata = {
        "default": {"CURRENT_DEFAULT": expression},
        "generated": {"delta.generationExpression": expression},
        "invariant": {"delta.invariants": json.dumps({"expression": {"expression": f"{expression} = 's'"}})},
    }
    for name, own in metadata.items():
        fields = [
            {"name": "id", "type": "integer", "nullable": True, "metadata": {}},
            {"name": "s", "type": "string", "nullable": True, "metadata": own},
        ]
        builder = TableBuilder(watched.lake / name)
        builder.protocol(
            3, 7, [], ["allowColumnDefaults", "generatedColumns", "invariants", "checkConstraints"]
        )
        builder.metadata({"type": "struct", "fields": fields}).commit()
    builder = TableBuilder(watched.lake / "checked")
    builder.protocol(1, 3).metadata(
        pa.schema([("id", pa.int32()), ("s", pa.string())]),
        configuration={"delta.constraints.c": f"s = {expression}"},
    ).commit()


@pytest.mark.parametrize("dialect", ["spark", "duckdb"])
def test_stored_expressions_reach_nothing(watched, tmp_path_factory, dialect):
    for fragment in FRAGMENTS[1:3]:
        found = watched(dialect, tmp_path_factory.mktemp("stored"))
        stored(found, found.filled(fragment))
        for table in ("default", "generated", "invariant", "checked"):
            for statement in (
                f"INSERT INTO lake.{table} (id) VALUES (1)",
                f"INSERT INTO lake.{table} VALUES (1, '{SECRET[:3]}')",
                f"UPDATE lake.{table} SET id = 2",
                f"SELECT * FROM lake.{table}",
                f"DESCRIBE lake.{table}",
            ):
                found.run(statement)
            rows = DeltaTable(found.lake / table).to_pyarrow_table().to_pylist()
            assert all(row["s"] in (None, SECRET[:3]) for row in rows), (table, rows)
        found.ensure_untouched()


def test_a_timestamp_and_a_parameter_are_values(watched):
    found = watched("spark")
    deltaarrow.write_deltalake(found.lake / "t", pa.table({"id": [1], "s": ["a"]}))
    hostile = found.filled("x' OR (SELECT content FROM read_text('{file}')) = '")
    assert found.run("SELECT ? AS v, id FROM lake.t WHERE s <> ?", [hostile, hostile]) == [
        {"v": hostile, "id": 1}
    ]
    assert found.run(f"SELECT * FROM lake.t TIMESTAMP AS OF {found.text(hostile)}") is None
    assert found.run("SELECT ? AS v", [datetime.date(2026, 1, 1)]) is not None
    found.ensure_untouched()
