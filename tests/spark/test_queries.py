"""Queries in Spark's dialect: Spark gives the recorded results, to which the compiler's are compared.

`tests/spark_sql/queries/test_same_as_spark.py` compares. Here an everyday run asks Spark for some of the
results, and a slow run for all. ``python -m tests.spark.test_queries`` records them anew.
"""

import json
import re
import tempfile
from pathlib import Path

import pytest

from tests.support.queries import QUERIES, RESULTS, TABLES, described
from tests.support.spark import running_spark, spark_rows

_STEP = 96
_CLASS = re.compile(r"\[([A-Z_.]+)\]")


def add_views(session):
    for name, table in TABLES.items():
        session.createDataFrame(table).createOrReplaceTempView(name)
    return session


def result_of(session, text):
    """What is recorded of a query: names, types and rows, or the class of the error."""
    try:
        return described(text, spark_rows(session.sql(text)))
    except Exception as error:  # Java's errors reach Python in several classes; Arrow gives no class.
        found = _CLASS.search(str(error))
    if found is None:
        with pytest.raises(Exception, match=_CLASS.pattern) as raised:
            session.sql(text).collect()
        found = _CLASS.search(str(raised.value))
    return {"error": found[1]}


@pytest.fixture(scope="module")
def session(spark):
    return add_views(spark)


@pytest.mark.spark
@pytest.mark.parametrize("text", QUERIES[::_STEP])
def test_spark_gives_what_is_recorded(session, text):
    assert result_of(session, text) == json.loads(RESULTS.read_text())[text]


@pytest.mark.spark
@pytest.mark.slow
def test_spark_gives_everything_that_is_recorded(session):
    recorded = json.loads(RESULTS.read_text())
    assert {text: result_of(session, text) for text in QUERIES} == recorded


def record() -> None:
    """Write the results of all queries."""
    with tempfile.TemporaryDirectory() as folder, running_spark(Path(folder)) as session:
        add_views(session)
        found = {text: result_of(session, text) for text in QUERIES}
        lines = (f"{json.dumps(text)}: {json.dumps(result)}" for text, result in found.items())
        RESULTS.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    record()
