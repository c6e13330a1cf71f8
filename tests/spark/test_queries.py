"""Queries in Spark's dialect, run by Spark and by the compiler: rows, names and types are equal."""

import pytest

from deltaarrow.schema import Schema
from tests.support.queries import QUERIES, TABLES, compared, run_here, shapes
from tests.support.spark import spark_rows

pytestmark = [pytest.mark.spark]

_REFUSED = "OR: "


@pytest.fixture(scope="module")
def session(spark):
    """The session with the tables as views."""
    for name, table in TABLES.items():
        spark.createDataFrame(table).createOrReplaceTempView(name)
    return spark


@pytest.mark.parametrize("text", [each for each in QUERIES if not each.startswith(_REFUSED)])
def test_same_as_spark(session, text):
    wanted = spark_rows(session.sql(text))
    compiled, found = run_here(text)
    assert compiled.schema.names == wanted.schema.names
    assert shapes(compiled.schema.fields) == shapes(Schema.from_arrow(wanted.schema).fields)
    is_ordered = "ORDER BY" in text.rpartition(")")[2]
    assert compared(found, is_ordered=is_ordered) == compared(wanted, is_ordered=is_ordered)


@pytest.mark.parametrize("text", [each[4:] for each in QUERIES if each.startswith(_REFUSED)])
def test_refused_by_spark_and_here(session, text):
    with pytest.raises(Exception, match=r"\["):
        session.sql(text).collect()
    with pytest.raises(Exception, match="."):
        run_here(text)
