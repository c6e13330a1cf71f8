"""Values at random in queries: each is computed once for its row, or refused."""

import pytest

import deltaarrow
from deltaarrow import UnsupportedFeatureError


@pytest.fixture(scope="module")
def con():
    with deltaarrow.connect(dialect="spark") as connection:
        yield connection


def test_a_value_that_an_expression_reads_twice_is_one(con):
    query = "SELECT sum(s * s) FROM (SELECT sign(rand() - 0.5) AS s FROM range(1000))"
    assert con.sql(query).fetchall() == [(1000.0,)]


def test_a_condition_is_computed_once_for_each_row(con):
    query = "SELECT count(*) FROM range(10000) WHERE rand() < 0.5 AND 1 / (id + 1) > 0"
    [(kept,)] = con.sql(query).fetchall()
    assert 4500 < kept < 5500


def test_a_value_beside_a_column_differs_from_row_to_row(con):
    query = "SELECT id FROM range(1000) WHERE id < rand() * 1000"
    kept = {row[0] // 100 for row in con.sql(query).fetchall()}
    assert len(kept) > 5


def test_rows_are_in_the_order_of_the_value_that_is_shown(con):
    rows = con.sql("SELECT rand() AS a, rand() AS b FROM range(100) ORDER BY b").fetchall()
    assert [b for _, b in rows] == sorted(b for _, b in rows)
    assert len({a for a, _ in rows} | {b for _, b in rows}) == 200


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("SELECT rand(5)", "rand with a seed"),
        ("SELECT rand() AS a, a + 1 FROM range(5)", "`a`, a value at random,"),
        ("SELECT sum(rand()) FROM range(5)", r"rand in sum\(\.\.\.\)"),
        ("SELECT * FROM range(2) AS a JOIN range(2) AS b ON rand() < 0.5", "rand in the condition of a join"),
        ("SELECT shuffle(1)", "shuffle of integer"),
        ("SELECT var_pop(rand()) OVER () FROM range(5)", "window var_pop of a value at random"),
    ],
)
def test_what_would_compute_a_value_twice_is_refused(con, query, named):
    with pytest.raises(UnsupportedFeatureError, match=named):
        con.sql(query)
