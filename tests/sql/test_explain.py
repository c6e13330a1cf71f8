"""EXPLAIN of statements that change tables: it tells what they would do, and does nothing."""

import re

import pyarrow as pa
import pytest

import deltaarrow
from deltaarrow import DeltaTable
from deltaarrow.errors import DeltaError, UnsupportedFeatureError

BOTH = {
    "INSERT INTO lake.t SELECT id + 10, p FROM lake.u WHERE p = 1": [
        "INSERT makes version 3 of {t}",
        "{u}, version 1",
        "p = 1  partition values: skips 1 file, 1 left",
    ],
    "INSERT INTO lake.t VALUES (1, 2)": ["INSERT makes version 3 of {t}"],
    "DELETE FROM lake.t WHERE id = 1": [
        "DELETE makes version 3 of {t}",
        "id = 1  statistics: skips 1 file, 1 left",
    ],
    "DELETE FROM lake.t WHERE id IN (SELECT id FROM lake.u WHERE p = 2)": [
        "{t}, version 2\nreads 2 of 2 files",
        "{u}, version 1\nreads 1 of 2 files",
    ],
    "UPDATE lake.t SET p = id + 1 WHERE id = 2": [
        "UPDATE makes version 3 of {t}",
        "id = 2  statistics: skips 1 file, 1 left",
    ],
    "UPDATE lake.t AS o SET p = (SELECT max(p) FROM lake.u) WHERE o.id > 1": [
        "id > 1  statistics: skips 1 file, 1 left",
        "{u}, version 1",
    ],
    "MERGE INTO lake.t AS o USING (SELECT * FROM lake.u WHERE p = 1) AS n ON o.id = n.id AND o.id = 2"
    " WHEN MATCHED THEN UPDATE SET p = n.p WHEN NOT MATCHED THEN INSERT (id, p) VALUES (n.id, 0)": [
        "MERGE makes version 3 of {t}",
        "values of the source choose among the files",
        "statistics: skips 1 file, 1 left",
        "p = 1  partition values: skips 1 file, 1 left",
    ],
}
EITHER = {
    "TRUNCATE TABLE lake.t": ["TRUNCATE makes version 3 of {t}\nall 2 files of"],
    "OPTIMIZE lake.t": ["OPTIMIZE makes version 3 of {t}\nrewrites 2 of 2 files, "],
    "OPTIMIZE lake.t ZORDER BY (id)": ["rewrites 2 of 2 files"],
    "OPTIMIZE lake.u": ["OPTIMIZE makes no version of {u}: no file needs it"],
    "REORG TABLE lake.t APPLY (PURGE)": ["REORG makes no version"],
    "VACUUM lake.t": ["VACUUM deletes 0 files of {t}"],
    "RESTORE TABLE lake.t TO VERSION AS OF 1": ["1 files are removed"],
    "RESTORE TABLE lake.t TO VERSION AS OF 2": ["RESTORE makes no version: 2 is the newest"],
    "ALTER TABLE lake.t ADD COLUMN more INT": ["ALTER TABLE ADD COLUMNS makes version 3 of {t}"],
    "CREATE TABLE lake.new AS SELECT id FROM lake.u WHERE p = 2": [
        "CREATE TABLE makes version 0 of {new}",
        "p = 2  partition values: skips 1 file",
    ],
    "CREATE TABLE IF NOT EXISTS lake.t (id INT)": ["CREATE TABLE does nothing: there is a table lake.t"],
    "CREATE OR REPLACE TABLE lake.t AS SELECT * FROM lake.t": ["REPLACE TABLE makes version 3 of {t}"],
}
SPARKS = {
    "INSERT OVERWRITE lake.t SELECT * FROM lake.u": ["all 2 files of", "removed without being read"],
    "INSERT INTO lake.u REPLACE WHERE p = 1 SELECT id, 1 AS p FROM lake.t": [
        "rows with (p = 1) go",
        "{u}, version 1\nreads 1 of 2 files",
        "{t}, version 2\nreads 2 of 2 files",
    ],
    "INSERT INTO lake.t REPLACE USING (id) SELECT * FROM lake.u": ["rows that match those of the query go"],
    "DELETE FROM lake.u WHERE p = 1": ["note: the files are removed without being read"],
    "COPY INTO lake.t FROM '{in}' FILEFORMAT = CSV": ["COPY INTO makes version 3 of {t}\n1 files are copied"],
}
DUCKDBS = {
    "COPY (FROM lake.u WHERE p = 2) TO lake.new (FORMAT delta)": [
        "COPY makes version 0 of {new}",
        "skips 1 file, 1 left",
    ],
    "COPY (FROM lake.u) TO lake.t (FORMAT delta, MODE append)": ["COPY makes version 3 of {t}"],
    "INSERT INTO lake.t BY NAME FROM lake.u": ["INSERT makes version 3 of {t}", "physical_plan"],
}
CASES = [
    *((dialect, text) for text in BOTH for dialect in ("duckdb", "spark")),
    *((("duckdb", "spark")[place % 2], text) for place, text in enumerate(EITHER)),
    *(("spark", text) for text in SPARKS),
    *(("duckdb", text) for text in DUCKDBS),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explain")
    deltaarrow.DeltaTable.create(folder / "lake" / "t", pa.schema([("id", pa.int64()), ("p", pa.int64())]))
    for number in (1, 2):
        rows = pa.table({"id": [number], "p": [number]})
        deltaarrow.write_deltalake(folder / "lake" / "t", rows, mode="append")
        deltaarrow.write_deltalake(folder / "lake" / "u", rows, mode="append", partition_by=["p"])
    (folder / "in").mkdir()
    (folder / "in" / "a.csv").write_text("1,2\n")
    return folder


@pytest.fixture(scope="module")
def con(folder):
    with deltaarrow.connect() as connection:
        yield connection.attach(folder / "lake", "lake")


@pytest.mark.parametrize(("dialect", "text"), CASES)
def test_statement_is_explained_and_nothing_is_written(con, folder, dialect, text):
    files = sorted(folder.rglob("*"))
    shown = explained(con, text.replace("{in}", str(folder / "in")), dialect)
    for part in {**BOTH, **EITHER, **SPARKS, **DUCKDBS}[text]:
        places = {name: str(folder / "lake" / name) for name in ("t", "u", "new")}
        assert re.sub(r"\{(\w+)\}", lambda found, known=places: known[found[1]], part) in shown
    assert sorted(folder.rglob("*")) == files
    assert DeltaTable(folder / "lake" / "t").version() == 2
    names = con.connection.execute("SELECT view_name FROM duckdb_views() WHERE temporary AND NOT internal")
    assert not [name for (name,) in names.fetchall() if name.endswith(("rows", "source"))]


def explained(con, text, dialect):
    result = con.sql(f"EXPLAIN {text}", dialect=dialect)
    if dialect == "spark":
        [row] = result.to_pylist()
        return row["plan"]
    return "\n".join(f"{row['explain_key']}\n{row['explain_value']}" for row in result.to_pylist())


def test_rows_of_a_source_are_not_computed(con):
    text = "MERGE INTO lake.t USING (SELECT CAST('x' AS INT) AS k FROM lake.u) AS s ON id = k {}"
    for dialect in ("duckdb", "spark"):
        assert "makes version 3" in explained(con, text.format("WHEN MATCHED THEN DELETE"), dialect)
    for dialect in ("duckdb", "spark"):
        assert "makes version 3" in explained(con, "INSERT INTO lake.t SELECT 'x', 1", dialect)


@pytest.mark.parametrize("dialect", ["duckdb", "spark"])
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("DELETE FROM lake.nothing", "nothing"),
        ("INSERT INTO lake.t VALUES (1)", "ARITY"),
        ("UPDATE lake.t SET nope = 1", "nope"),
        ("CREATE TABLE lake.t (id INT)", "there is a table or view lake.t"),
        ("OPTIMIZE lake.u WHERE id = 1", "partition"),
    ],
)
def test_what_a_statement_refuses_is_refused(con, dialect, text, why):
    with pytest.raises((DeltaError, UnsupportedFeatureError), match=why):
        con.sql(f"EXPLAIN {text}", dialect=dialect)


def test_place_of_an_error_is_that_in_the_whole_text(con):
    with pytest.raises(UnsupportedFeatureError) as refused:
        con.sql("EXPLAIN\n  OPTIMIZE lake.t nonsense", dialect="spark")
    assert str(refused.value).splitlines()[0].endswith("in line 2 of the statement (SQLSTATE: 42601):")
    assert str(refused.value).splitlines()[1:] == ["    OPTIMIZE lake.t nonsense", " " * 20 + "^"]


@pytest.mark.parametrize(
    ("dialect", "text", "why"),
    [
        ("spark", "EXPLAIN DROP TABLE lake.t", "EXPLAIN of DROP TABLE is not supported"),
        ("spark", "EXPLAIN SHOW TABLES IN lake", "EXPLAIN of SHOW TABLES is not supported"),
        ("duckdb", "EXPLAIN ANALYZE DELETE FROM lake.t", "EXPLAIN ANALYZE would run the DELETE"),
    ],
)
def test_what_is_not_explained_is_refused_by_name(con, dialect, text, why):
    with pytest.raises(UnsupportedFeatureError, match=why):
        con.sql(text, dialect=dialect)


def test_parameters_are_values(con):
    found = con.execute("EXPLAIN DELETE FROM lake.t WHERE id = ?", [1]).fetchall()
    assert "id = 1  statistics: skips 1 file, 1 left" in dict(found)["delta_files"]


def test_statements_of_duckdbs_own_tables_are_explained_by_it(con):
    con.sql("CREATE TABLE own (id INT)")
    for text in ("DELETE FROM own", "INSERT INTO own SELECT id FROM lake.t WHERE id = 1"):
        keys = [key for key, _ in con.sql(f"EXPLAIN {text}").fetchall()]
        assert keys[0] == "physical_plan"
        assert ("delta_files" in keys) == ("lake" in text)
