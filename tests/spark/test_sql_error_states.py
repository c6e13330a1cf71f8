"""Errors of SQL: their classes and SQLSTATEs are those of Spark and of delta-spark."""

import re

import pytest

from deltaarrow.errors import DeltaError
from deltaarrow.schema import Schema
from deltaarrow.spark_sql.functions.aggregate import AGGREGATES
from deltaarrow.spark_sql.functions.generator import GENERATORS
from deltaarrow.spark_sql.functions.registry import CHAPTERS
from deltaarrow.spark_sql.functions.window import WINDOW_FUNCTIONS
from deltaarrow.spark_sql.queries import Relation, compile_query
from deltaarrow.sql.error_states import _STATES

pytestmark = pytest.mark.spark

COLUMNS = (
    "i INT, l BIGINT, d DOUBLE, m DECIMAL(10,2), s STRING, dt DATE, ts TIMESTAMP, o BOOLEAN, bin BINARY,"
    " a ARRAY<INT>, mp MAP<STRING, INT>, st STRUCT<a: INT, b: STRING>"
)
NAMES = ("i", "l", "d", "m", "s", "dt", "ts", "o", "bin", "a", "mp", "st")
OPERATIONS = (
    *("{x} + {y}", "{x} = {y}", "{x} AND {y}", "{x} & {y}", "coalesce({x}, {y})", "if({x}, {y}, 1)"),
    *("array({x}, {y})", "concat_ws({x}, {y})", "add_months({x}, {y})", "array_append({x}, {y})"),
)
TYPES = ("INT", "DOUBLE", "DECIMAL(9,2)", "STRING", "DATE", "TIMESTAMP", "BOOLEAN", "BINARY", "ARRAY<INT>")


def test_states_are_those_of_spark(spark):
    known = spark._jvm.org.apache.spark.SparkThrowableHelper
    deltas = spark._jvm.org.apache.spark.sql.delta.DeltaThrowableHelper
    found = {name: (deltas if name.startswith("DELTA_") else known).getSqlState(name) for name in _STATES}
    assert found == _STATES


class Typed:
    """One table with a column of each type."""

    def __init__(self, schema):
        self.schema = schema

    def table(self, names, travel):
        return Relation("typed", self.schema)

    def function(self, name, arguments):
        return None


@pytest.fixture
def classes(spark):
    """Spark's class and ours of an expression over columns of all types; None where it is computed."""
    frame = spark.createDataFrame([], COLUMNS)
    frame.createOrReplaceTempView("typed")
    known = Typed(Schema.from_arrow(frame.toArrow().schema))

    def both(text):
        query, ours = f"SELECT {text} FROM typed", None
        try:
            compile_query(query, known)
        except DeltaError as error:
            named = re.match(r"\[(.*?)\] ", str(error))
            ours = "" if named is None else named[1]
        try:
            spark.sql(query)
        except Exception as error:
            return error.getCondition(), ours
        return None, ours

    yield both
    spark.catalog.dropTempView("typed")


def named_otherwise(classes, texts, kind):
    """How many expressions we name by a class of this kind, and those that Spark names otherwise."""
    named, wrong = 0, {}
    for text in texts:
        theirs, ours = classes(text)
        if ours is not None and ours.startswith(kind):
            named += 1
            if theirs != ours:
                wrong[text] = theirs, ours
    return named, wrong


@pytest.mark.slow
def test_what_is_named_a_wrong_number_of_arguments_is_one(classes):
    texts = []
    for group in (*CHAPTERS.values(), AGGREGATES, WINDOW_FUNCTIONS, GENERATORS):
        over = " OVER (ORDER BY i)" if group is WINDOW_FUNCTIONS else ""
        for function in group:
            least, most = function.arity
            for count in {least - 1, least if most is None else most + 1} - {-1}:
                texts.append(f"{function.names[0]}({', '.join(['NULL'] * count)}){over}")
    named, wrong = named_otherwise(classes, texts, "WRONG_NUM_ARGS")
    assert wrong == {}
    assert named > 250


@pytest.mark.slow
def test_what_is_named_a_mismatch_of_types_is_that_one(classes):
    texts = [each.format(x=x, y=y) for each in OPERATIONS for x in NAMES for y in NAMES]
    texts += [f"CAST({name} AS {kind})" for name in NAMES for kind in TYPES]
    named, wrong = named_otherwise(classes, texts, "DATATYPE_MISMATCH")
    assert wrong == {}
    assert named > 600
