"""The corpus of real tables next to the project, and the readers that are scored on it.

Score: ``python ../shared/tables/score.py --strict-types --reader tests.support.corpus:read``, and the same
with ``:read_duckdb`` and ``:read_polars``.
"""

import importlib.util
import json
from functools import cache
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.support.modules import ROOT
from tests.support.rows import read_arrow as read, read_duckdb, read_polars

__all__ = [
    "ABSENT",
    "CORPUS",
    "canon",
    "corpus_rows",
    "expected",
    "read",
    "read_duckdb",
    "read_polars",
]

CORPUS = ROOT.parent / "shared" / "tables"
"""Where the corpus is; it is no part of the project."""

ABSENT = f"corpus absent: no {CORPUS.relative_to(ROOT.parent)} beside the project"


@cache
def corpus_rows() -> dict[str, dict[str, Any]]:
    """The rows of the manifest by id; none where the corpus is absent."""
    manifest = CORPUS / "manifest.jsonl"
    if not manifest.exists():
        return {}
    rows = {}
    for line in manifest.read_text().splitlines():
        row = json.loads(line)
        at = "" if row["version"] is None else f"@v{row['version']}"
        rows[f"{row['source']}/{row['name']}{at}"] = row
    return rows


def expected(row: dict[str, Any]) -> pa.Table:
    """The rows that a right reader returns."""
    return pq.read_table(
        CORPUS / row["expected_parquet"], coerce_int96_timestamp_unit="us", partitioning=None
    )


@cache
def canon() -> ModuleType:
    """The corpus' own comparison (`compare`) and type check (`type_issue`)."""
    spec = importlib.util.spec_from_file_location("deltaarrow_corpus_canon", CORPUS / "canon.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
