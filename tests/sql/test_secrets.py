"""No error of a statement shows a password, a token or a key, whoever wrote its words."""

import pickle

import pyarrow as pa
import pytest

import deltaarrow
from deltaarrow.cli.statement_engine import error_text
from deltaarrow.errors import DeltaError
from tests.support.shown import shown

STATEMENTS = [
    "SELECT * FORM delta.'s3://ann:hunter2@b/t'",
    "SELECT * FROM delta.'s3://ann:hunter2@b/t'",
    "CREATE SECRET s (TYPE s3, KEY_ID 'hunter2', SECRET 'hunter2'",
    "CREATE SECRET s (TYPE s3, SECRET 'hunter2' 'hunter2')",
    "SET s3_secret_access_key = 'hunter2' nonsense",
    "SELECT 'host=h password=hunter2' FORM t",
    'SELECT \'{"account_key": "hunter2"}\' FORM t',
    "SELECT * FORM delta_scan('az://c/t?sv=2024&sig=hunter2')",
    "OPTIMIZE delta.'s3://ann:hunter2@b/t' nonsense",
]
SPARKS = [
    "SELECT nope(1) FROM delta.`s3://ann:hunter2@b/t`",
    "SET spark.hadoop.fs.s3a.secret.key = hunter2",
    "CREATE TABLE t (id INT) LOCATION 's3://ann:hunter2@b/t' nonsense",
    "SELECT raise_error('password=hunter2')",
    "SELECT CAST('token=hunter2' AS INT)",
    "SELECT * FORM delta.`https://host/t?sig=hunter2`",
    "SELECT nope FROM delta.`memory://x/t?sig=hunter2`",
    "SELECT * FROM read_csv('https://ann:hunter2@host/x.csv')",
    "COPY INTO x FROM 'https://host/t?sig=hunter2' FILEFORMAT = CSV",
]


@pytest.mark.parametrize(
    ("text", "dialect"), [*((each, "duckdb") for each in STATEMENTS), *((each, "spark") for each in SPARKS)]
)
def test_no_error_shows_a_secret(text, dialect, caplog):
    with deltaarrow.connect() as con, pytest.raises(Exception) as refused:
        con.sql(text, dialect=dialect).fetchall()
    assert "hunter2" not in shown(refused.value)
    assert "hunter2" not in error_text(refused.value)
    assert "hunter2" not in caplog.text


@pytest.mark.parametrize(
    "condition",
    [
        "nope = 'https://h/x?sig=hunter2'",
        "url = 'https://h/x?sig=hunter2' AND",
        "url = 'https://h/x?sig=hunter2' nope",
        "url = CAST('token=hunter2' AS INT)",
    ],
)
def test_no_error_of_a_condition_shows_a_secret(condition):
    deltaarrow.write_deltalake("memory://secrets/condition", pa.table({"url": ["a"]}), mode="overwrite")
    table = deltaarrow.DeltaTable("memory://secrets/condition")
    for method in (table.delete, lambda text: table.to_pyarrow_table(filters=text)):
        with pytest.raises(DeltaError) as refused:
            method(condition)
        assert "hunter2" not in shown(refused.value)


def test_place_of_an_error_is_the_same_in_the_text_without_secrets():
    error = DeltaError("no column")
    error.place = "a = 'https://h/x?sig=hunter2' AND nope", 34
    assert error.place == ("a = 'https://h/x?sig=***' AND nope", 30)
    assert error.place[0][error.place[1] :] == "nope"
    assert pickle.loads(pickle.dumps(error)).place == error.place


def test_errors_of_duckdb_point_at_the_statement_as_it_was_written(tmp_path):
    deltaarrow.write_deltalake(f"{tmp_path}/orders", pa.table({"id": [1]}))
    text = f"SELECT id\nFORM delta.'{tmp_path}/orders'"
    with deltaarrow.connect() as con, pytest.raises(Exception, match="Parser Error") as refused:
        con.sql(text)
    _, line, caret = str(refused.value).split("\n")
    assert "in line 2 of the statement:" in str(refused.value)
    assert line[caret.index("^") :].startswith("delta.'")


@pytest.mark.parametrize("dialect", ["duckdb", "spark"])
def test_no_result_shows_a_secret(dialect):
    place = f"memory://ann:hunter2@host/{dialect}?sig=hunter2"
    deltaarrow.write_deltalake(place, pa.table({"id": [1, 2]}))
    statements = [
        "EXPLAIN SELECT id FROM {}",
        "EXPLAIN DELETE FROM {} WHERE id = 1",
        "EXPLAIN OPTIMIZE {}",
        "DESCRIBE DETAIL {}",
        "DESCRIBE HISTORY {}",
        "SHOW CREATE TABLE {}",
    ]
    statements.append("OPTIMIZE {}")
    if dialect == "spark":
        statements.append("DESCRIBE EXTENDED {}")
    with deltaarrow.connect(dialect=dialect) as con:
        for statement in statements:
            found = con.sql(statement.format(f"delta.`{place}`"))
            rows = found.to_pylist() if isinstance(found, pa.Table) else found.fetchall()
            assert rows and "hunter2" not in str(rows), statement
