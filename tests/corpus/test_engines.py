"""The corpus through DuckDB and Polars: the same rows as by Arrow."""

import json

import pytest

from tests.corpus.expected_failures import EXPECTED_FAILURES
from tests.support.corpus import ABSENT, CORPUS, canon, corpus_rows, expected
from tests.support.rows import READERS

ROWS = {
    row_id: row
    for row_id, row in corpus_rows().items()
    if row["expect"] == "rows" and row_id not in EXPECTED_FAILURES
}
if not ROWS:
    pytest.skip(ABSENT, allow_module_level=True)

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("row_id", ROWS)
@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_rows_are_those_of_the_writer(engine, row_id):
    row = ROWS[row_id]
    actual = READERS[engine](str(CORPUS / row["path"]), row["version"])
    schema = json.loads(row["schema"]) if row.get("schema") else None
    assert canon().compare(actual, expected(row), schema) is None
