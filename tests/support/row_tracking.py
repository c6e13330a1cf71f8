"""A table with row tracking in every state that a file can be in."""

import os
from typing import Any

import pyarrow as pa

from tests.support.tables import TableBuilder

__all__ = ["COMMIT_VERSIONS", "PROPERTIES", "ROW_IDS", "TRACKED", "tracked_table"]

ROW_IDS = "_row-id-col-1f3a"
COMMIT_VERSIONS = "_row-commit-version-col-9b2c"
PROPERTIES = {
    "delta.enableRowTracking": "true",
    "delta.rowTracking.materializedRowIdColumnName": ROW_IDS,
    "delta.rowTracking.materializedRowCommitVersionColumnName": COMMIT_VERSIONS,
}

TRACKED = [
    *({"id": i, "p": "a", "row_id": 100 + i, "row_commit_version": 1} for i in (1, 3, 4, 5)),
    {"id": 10, "p": "b", "row_id": 7, "row_commit_version": 0},
    {"id": 11, "p": "b", "row_id": 201, "row_commit_version": 2},
    {"id": 13, "p": "b", "row_id": 2, "row_commit_version": 2},
    *({"id": i, "p": "b", "row_id": 280 + i, "row_commit_version": 3} for i in (20, 21, 22)),
]
"""The rows of `tracked_table`, by `id`."""


def tracked_table(path: str | os.PathLike[str], stats: bool = True) -> TableBuilder:
    """Three files of several row groups: with a deletion vector, with materialised columns, and neither."""
    table = TableBuilder(path).features("deletionVectors", writer_only=["rowTracking", "domainMetadata"])
    table.metadata(pa.schema([("id", pa.int64()), ("p", pa.string())]), ["p"], PROPERTIES)
    options: dict[str, Any] = {"stats": stats, "parquet": {"row_group_size": 2}}
    deleted = table.add_file(
        pa.table({"id": range(7)}),
        {"p": "a"},
        deletion_vector=table.deletion_vector([0, 2, 6]),
        baseRowId=100,
        defaultRowCommitVersion=1,
        **options,
    )
    moved = pa.table(
        {
            "id": [10, 11, 12, 13],
            ROW_IDS: pa.array([7, None, 9, 2], pa.int64()),
            COMMIT_VERSIONS: pa.array([0, None, 1, None], pa.int64()),
        }
    )
    materialized = table.add_file(
        moved,
        {"p": "b"},
        deletion_vector=table.deletion_vector([2]),
        baseRowId=200,
        defaultRowCommitVersion=2,
        **options,
    )
    plain = table.add_file(
        pa.table({"id": [20, 21, 22]}), {"p": "b"}, baseRowId=300, defaultRowCommitVersion=3, **options
    )
    return table.commit([deleted, materialized, plain])
