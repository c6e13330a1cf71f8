"""Random queries over random small tables: Spark's rows are those of the compiled queries."""

import itertools
from collections import Counter

import duckdb
import pyarrow as pa
import pytest

from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.schema import Schema
from deltaarrow.spark_sql.queries import Relation, compile_query
from tests.support.queries import compared
from tests.support.random_spark_queries import RandomQueries, random_tables

pytestmark = [pytest.mark.spark]

_TOGETHER = 20
"""Queries of one statement of Spark, which takes much longer to begin a statement than to run one."""

_MOST_REFUSED = 0.05


class Tables:
    """The relations of random tables."""

    def __init__(self, tables):
        self.schemas = {name: Schema.from_arrow(table.schema) for name, table in tables.items()}

    def table(self, names, travel):
        return Relation(names[-1], self.schemas[names[-1]])

    def function(self, name, arguments):
        return None


def rows(table):
    """The rows; which zero is the greatest of some depends on their order."""
    return sorted(
        tuple("0.0" if value == "-0.0" else value for value in row)
        for row in compared(table, is_ordered=False)
    )


def spark_results(session, texts):
    """The rows of several queries, or None for one that Spark cannot run."""
    listed = ", ".join(
        f"(SELECT collect_list(struct(*)) FROM ({text})) AS q{i}" for i, text in enumerate(texts)
    )
    try:
        found = session.sql(f"SELECT {listed}").toArrow()
    except Exception:  # One of them fails: Java's errors reach Python in several classes.
        if len(texts) == 1:
            return [None]
        half = len(texts) // 2
        return [*spark_results(session, texts[:half]), *spark_results(session, texts[half:])]
    columns = (column.combine_chunks().flatten() for column in found.columns)
    return [rows(pa.Table.from_struct_array(column)) for column in columns]


def compare(session, seed, count=_TOGETHER):
    """Compare some queries of one seed; return how many were equal, refused, or failed in Spark."""
    tables = random_tables(seed)
    relations, making = Tables(tables), RandomQueries(seed)
    outcome = Counter()
    with duckdb.connect() as connection:
        connection.execute("SET timezone = 'Asia/Tokyo'")
        for name, table in tables.items():
            connection.register(f"given_{name}", table)
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given_{name}")
            session.createDataFrame(table).createOrReplaceTempView(name)
        found = {}
        for text in itertools.islice(iter(making.query, None), count):
            try:
                sql = compile_query(text, relations).sql
            except UnsupportedFeatureError:
                outcome["refused"] += 1
            else:
                found[text] = rows(connection.sql(sql).to_arrow_table())
    for (text, ours), theirs in zip(found.items(), spark_results(session, list(found)), strict=True):
        assert theirs is None or ours == theirs, f"seed {seed}: {text}"
        outcome["failed" if theirs is None else "equal"] += 1
    return outcome


def test_random_queries(spark):
    assert compare(spark, 7, 8)["equal"] > 4


@pytest.mark.slow
def test_many_random_queries(spark):
    outcome = sum((compare(spark, seed) for seed in range(10_000 // _TOGETHER)), Counter())
    assert outcome["refused"] < _MOST_REFUSED * outcome.total()
    assert outcome["equal"] > (1 - 2 * _MOST_REFUSED) * outcome.total()
