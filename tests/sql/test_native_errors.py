"""Errors that DuckDB raises by itself, in queries in Spark's dialect."""

import pytest

import deltaarrow
from deltaarrow.errors import ConstraintViolationError


@pytest.fixture
def con(tmp_path):
    connection = deltaarrow.connect(catalog=tmp_path, dialect="spark")
    connection.sql("CREATE SCHEMA shop; USE shop; CREATE TABLE t (id INT, n BIGINT)")
    connection.sql("INSERT INTO t VALUES (2147483647, 9223372036854775807)")
    return connection


def raised(con, query):
    with pytest.raises(ConstraintViolationError) as error:
        con.sql(query).fetchall()
    return str(error.value).splitlines()


@pytest.mark.parametrize(
    ("query", "named", "place"),
    [
        ("SELECT n, id + 1 FROM t", "ARITHMETIC_OVERFLOW", "id + 1"),
        ("SELECT id - 1, n * 2 FROM t", "ARITHMETIC_OVERFLOW", "n * 2"),
        ("SELECT id + 0\nFROM t WHERE CAST(n AS INT) > 5", "CAST_OVERFLOW", "n AS INT"),
        ("SELECT sum(id - -5) FROM t", "ARITHMETIC_OVERFLOW", "id - -5"),
    ],
)
def test_an_overflow_is_shown_at_the_only_call_that_can_be_meant(con, query, named, place):
    first, line, caret = raised(con, query)
    assert first.startswith(f"[{named}] ")
    assert line[caret.index("^") :].startswith(place)


def test_an_overflow_of_one_of_several_calls_has_no_place(con):
    assert len(raised(con, "SELECT id + 1, n + 1 FROM t")) == 1


@pytest.mark.parametrize("condition", ["n * 2 > 0", "id + 1 > 0", "0 > id - -1", "n * 3 BETWEEN 1 AND 2"])
def test_an_operand_is_computed_before_it_is_compared(con, condition):
    assert raised(con, f"SELECT id FROM t WHERE {condition}")[0].startswith("[ARITHMETIC_OVERFLOW] ")
