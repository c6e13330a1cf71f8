"""Real tables of other writers read as their writers intended."""

import json
import re

import duckdb
import pytest

from deltaarrow.errors import DeltaError
from tests.support.corpus import ABSENT, CORPUS, canon, corpus_rows, expected, read, read_duckdb, read_polars

ROWS = corpus_rows()
if not ROWS:
    pytest.skip(ABSENT, allow_module_level=True)

ROW_COUNT = 295

REASONS = {
    "kernel-golden/no-delta-log-folder": r"no Delta table|not a Delta table|no _delta_log",
    "kernel-golden/versions-not-contiguous": r"version 1\b|gap|missing|contiguous",
    "kernel-data/crc-malformed": r"no Delta table|not a Delta table|no commit",
    "delta-rs/simple_table_features": r"blahabl|reader version 5|minReaderVersion",
    "misc/catalog_managed_0": r"catalogManaged",
    "misc/rs-data_err_logs/table_f": r"catalogOwned",
    "parquet-testing/case-040": r"shredded|value and typed_value",
    "parquet-testing/case-127": r"(?i)unsigned|uint|shredded",
}
"""Rows that must be refused -> what the error has to say."""

ENGINES = {"arrow": read, "duckdb": read_duckdb, "polars": read_polars}
by_every_engine = pytest.mark.parametrize("engine", ENGINES)
READABLE = [row_id for row_id in ROWS if row_id not in REASONS]


def test_corpus_is_complete():
    assert len(ROWS) == ROW_COUNT
    assert {row_id for row_id, row in ROWS.items() if row["expect"] == "error"} == set(REASONS)


@by_every_engine
@pytest.mark.parametrize("row_id", READABLE)
def test_rows_are_those_of_the_writer(engine, row_id):
    row = ROWS[row_id]
    actual = ENGINES[engine](str(CORPUS / row["path"]), row["version"])
    schema = json.loads(row["schema"]) if row.get("schema") else None
    assert canon().compare(actual, expected(row), schema) is None
    if schema:
        types = {field["name"]: field["type"] for field in schema["fields"]}
        assert actual.column_names == list(types)
        issues = [
            canon().type_issue(actual.schema.field(name).type, kind, name) for name, kind in types.items()
        ]
        assert [issue for issue in issues if issue] == []


@by_every_engine
@pytest.mark.parametrize("row_id", REASONS)
def test_what_must_be_refused_is_refused_with_the_reason(engine, row_id):
    row = ROWS[row_id]
    # DuckDB hands an error from a stream of Arrow on as one of its own.
    with pytest.raises((DeltaError, duckdb.InvalidInputException)) as caught:
        ENGINES[engine](str(CORPUS / row["path"]), row["version"])
    assert re.search(REASONS[row_id], str(caught.value)), str(caught.value)
