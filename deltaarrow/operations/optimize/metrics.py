"""Metrics of an OPTIMIZE: Spark's for history, deltalake's for the caller."""

from collections.abc import Sequence
from typing import Any

import orjson

__all__ = ["caller_metrics", "history_metrics"]


def history_metrics(added: Sequence[int], removed: Sequence[int], vectors_removed: int) -> dict[str, str]:
    """Return the `operationMetrics` of a commit.

    Args:
        added: the sizes of the new files in bytes.
        removed: those of the old ones.
        vectors_removed: how many old files had a deletion vector.
    """
    sizes = sorted(added)
    quantiles = {
        "minFileSize": 0,
        "p25FileSize": len(sizes) // 4,
        "p50FileSize": len(sizes) // 2,
        "p75FileSize": len(sizes) * 3 // 4,
        "maxFileSize": len(sizes) - 1,
    }
    return {
        "numAddedFiles": str(len(added)),
        "numRemovedFiles": str(len(removed)),
        "numAddedBytes": str(sum(added)),
        "numRemovedBytes": str(sum(removed)),
        **{name: str(sizes[place] if sizes else 0) for name, place in quantiles.items()},
        "numDeletionVectorsRemoved": str(vectors_removed),
    }


def caller_metrics(
    added: Sequence[int],
    removed: Sequence[int],
    *,
    partitions: int,
    bins: int,
    considered: int,
    vectors_removed: int,
    keeps_order: bool,
) -> dict[str, Any]:
    """Return the metrics under ``deltalake``'s names; ``filesAdded`` and ``filesRemoved`` are JSON texts."""
    return {
        "numFilesAdded": len(added),
        "numFilesRemoved": len(removed),
        "filesAdded": _sizes(added),
        "filesRemoved": _sizes(removed),
        "partitionsOptimized": partitions,
        "numBatches": bins,
        "totalConsideredFiles": considered,
        "totalFilesSkipped": considered - len(removed),
        "preserveInsertionOrder": keeps_order,
        "numDeletionVectorsRemoved": vectors_removed,
    }


def _sizes(sizes: Sequence[int]) -> str:
    average = sum(sizes) / len(sizes) if sizes else 0.0
    found = {"avg": average, "max": max(sizes, default=0), "min": min(sizes, default=0)}
    return orjson.dumps({**found, "totalFiles": len(sizes), "totalSize": sum(sizes)}).decode()
