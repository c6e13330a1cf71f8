"""Results of statements: rows with Spark's columns, and metrics beside them.

Spark's result of a VACUUM is a path, and tells nothing of what was deleted. The metrics of an operation go
into the metadata of the Arrow schema, for reports.
"""

from collections.abc import Mapping
from typing import Any

import orjson
import pyarrow as pa

__all__ = [
    "MERGE_COUNTS",
    "NOTHING",
    "OPTIMIZE",
    "PATH",
    "RESTORE",
    "affected",
    "merged",
    "metrics_of",
    "with_metrics",
]

_METRICS = b"deltaarrow.metrics"

NOTHING = pa.table({})
"""The result of a statement that says nothing."""

PATH = pa.schema([("path", pa.string())])

RESTORE = pa.schema(
    [
        (name, pa.int64())
        for name in (
            "table_size_after_restore",
            "num_of_files_after_restore",
            "num_removed_files",
            "num_restored_files",
            "removed_files_size",
            "restored_files_size",
        )
    ]
)


def _integers(*names: str) -> list[tuple[str, pa.DataType]]:
    return [(name, pa.int64()) for name in names]


_SIZES = pa.struct([*_integers("min", "max"), ("avg", pa.float64()), *_integers("totalFiles", "totalSize")])
_CUBE = pa.struct(_integers("num", "size"))
_Z_CUBE = pa.struct(_integers("numFiles", "size"))

OPTIMIZE = pa.schema(
    [
        ("path", pa.string()),
        (
            "metrics",
            pa.struct(
                [
                    *_integers("numFilesAdded", "numFilesRemoved"),
                    ("filesAdded", _SIZES),
                    ("filesRemoved", _SIZES),
                    *_integers("partitionsOptimized"),
                    (
                        "zOrderStats",
                        pa.struct(
                            [
                                ("strategyName", pa.string()),
                                ("inputCubeFiles", _CUBE),
                                ("inputOtherFiles", _CUBE),
                                *_integers("inputNumCubes"),
                                ("mergedFiles", _CUBE),
                                *_integers("numOutputCubes", "mergedNumCubes"),
                            ]
                        ),
                    ),
                    (
                        "clusteringStats",
                        pa.struct(
                            [
                                ("inputZCubeFiles", _Z_CUBE),
                                ("inputOtherFiles", _Z_CUBE),
                                *_integers("inputNumZCubes"),
                                ("mergedFiles", _Z_CUBE),
                                *_integers("numOutputZCubes"),
                            ]
                        ),
                    ),
                    *_integers("numBins", "numBatches", "totalConsideredFiles", "totalFilesSkipped"),
                    ("preserveInsertionOrder", pa.bool_()),
                    *_integers(
                        "numFilesSkippedToReduceWriteAmplification",
                        "numBytesSkippedToReduceWriteAmplification",
                        "startTimeMs",
                        "endTimeMs",
                        "totalClusterParallelism",
                        "totalScheduledTasks",
                    ),
                    (
                        "autoCompactParallelismStats",
                        pa.struct(
                            _integers(
                                "maxClusterActiveParallelism",
                                "minClusterActiveParallelism",
                                "maxSessionActiveParallelism",
                                "minSessionActiveParallelism",
                            )
                        ),
                    ),
                    (
                        "deletionVectorStats",
                        pa.struct(_integers("numDeletionVectorsRemoved", "numDeletionVectorRowsRemoved")),
                    ),
                    *_integers("numTableColumns", "numTableColumnsWithStats"),
                ]
            ),
        ),
    ]
)
"""Spark's columns of OPTIMIZE and REORG; what this package does not count is NULL."""


MERGE_COUNTS = tuple(f"num_target_rows_{each}" for each in ("updated", "deleted", "inserted"))
"""The metrics of a MERGE that its result has."""


def affected(rows: int, **others: int) -> pa.Table:
    """Return the result of a statement that changes rows.

    >>> affected(2).to_pylist()
    [{'num_affected_rows': 2}]
    """
    return pa.table({"num_affected_rows": [rows], **{name: [count] for name, count in others.items()}})


def merged(metrics: Mapping[str, Any]) -> pa.Table:
    """Return the result of a MERGE with these metrics.

    >>> merged(dict.fromkeys(MERGE_COUNTS, 1)).column_names
    ['num_affected_rows', 'num_updated_rows', 'num_deleted_rows', 'num_inserted_rows']
    """
    counts = [metrics[name] for name in MERGE_COUNTS]
    return affected(
        sum(counts), num_updated_rows=counts[0], num_deleted_rows=counts[1], num_inserted_rows=counts[2]
    )


def with_metrics(rows: pa.Table, metrics: Mapping[str, Any]) -> pa.Table:
    """Return the rows with metrics beside them.

    >>> metrics_of(with_metrics(NOTHING, {"numDeletedFiles": 2}))
    {'numDeletedFiles': 2}
    """
    return rows.replace_schema_metadata({_METRICS: orjson.dumps(dict(metrics))})


def metrics_of(rows: pa.Table) -> dict[str, Any]:
    """Return the metrics beside a result; empty if there are none."""
    text = (rows.schema.metadata or {}).get(_METRICS)
    return {} if text is None else dict(orjson.loads(text))
