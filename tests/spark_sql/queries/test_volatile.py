"""Random functions in queries: each is computed once per row, or refused."""

import pyarrow as pa
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


def test_numbers_of_a_seed_are_those_of_the_rows_in_the_order_of_a_table(con, tmp_path):
    """However many files, threads and conditions there are."""
    for start in range(0, 40_000, 10_000):
        rows = pa.table({"id": pa.array(range(start, start + 10_000))})
        deltaarrow.write_deltalake(tmp_path / "t", rows, mode="append")
    listed = f"SELECT id, rand(7) AS u, randn(7) AS n FROM delta.`{tmp_path}/t`"
    known = con.sql("SELECT rand(7) AS u, randn(7) AS n FROM range(40000)").fetchall()
    found = con.sql(listed).fetchall()
    assert [row[1:] for row in found] == known
    kept = con.sql(f"SELECT * FROM ({listed}) WHERE u < 0.3 AND id > 15000").fetchall()
    assert kept == [row for row in found if row[1] < 0.3 and row[0] > 15_000]


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("SELECT id FROM range(5) WHERE rand(5) < 0.5", "rand with a seed in WHERE"),
        ("SELECT id FROM range(5) ORDER BY randn(5)", "randn with a seed in ORDER BY"),
        ("SELECT a.id, rand(5) FROM range(2) AS a, range(2) AS b", "rand with a seed beside a join"),
        ("SELECT rand(5) FROM (range(2) AS a JOIN range(2) AS b)", "rand with a seed beside a join"),
        ("SELECT id, rand(5) FROM range(2) GROUP BY id", "rand with a seed beside a group"),
        ("SELECT explode(array(1, 2)), rand(5)", "rand with a seed beside a generator"),
        ("SELECT rand(5), sum(id) OVER () FROM range(2)", "rand with a seed beside a function over a window"),
        ("SELECT CASE WHEN id > 0 THEN rand(5) END FROM range(2)", "draws no number for some rows"),
        ("SELECT id + rand(5) FROM range(2)", "draws no number for some rows"),
        ("SELECT rand(2 + 3)", "rand with a seed that is not a literal"),
        ("SELECT shuffle(array(1, 2), 5)", "shuffle with a seed"),
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
