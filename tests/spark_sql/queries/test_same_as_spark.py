"""Queries in Spark's dialect, compiled and run by DuckDB: names, types and rows are those of Spark.

`tests/spark/test_queries.py` checks the recorded results against Spark.
"""

import json
import re

import pytest

from deltaarrow.errors import DeltaError
from tests.support.queries import QUERIES, RESULTS, described, run_here

RECORDED = json.loads(RESULTS.read_text())


def test_every_query_has_a_result():
    assert list(RECORDED) == QUERIES


@pytest.mark.parametrize("text", [text for text, result in RECORDED.items() if "error" not in result])
def test_names_types_and_rows_are_those_of_spark(text):
    compiled, rows = run_here(text)
    assert described(text, rows, compiled.schema) == RECORDED[text]


@pytest.mark.parametrize("text", [text for text, result in RECORDED.items() if "error" in result])
def test_what_spark_refuses_is_refused(text):
    import duckdb

    with pytest.raises((DeltaError, duckdb.Error)) as raised:
        run_here(text)
    named = re.match(r"\[([A-Z_.]+)\]", str(raised.value))
    assert named is None or named[1] == RECORDED[text]["error"]
