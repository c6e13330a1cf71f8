"""Compaction: the rows of small files, and of files with many deleted rows, in fewer and fuller files."""

from dataclasses import dataclass

from deltaarrow.features import properties
from deltaarrow.operations.optimize.bins import Bin, FileFigures, pack
from deltaarrow.operations.optimize.partition_selection import Selection, plan_files
from deltaarrow.operations.optimize.plan import OptimizePlan
from deltaarrow.runtime.sizes import ensure_sizes
from deltaarrow.snapshot import Snapshot

__all__ = [
    "CompactionRules",
    "compaction_bins",
    "compaction_parameters",
    "plan_compaction",
    "target_size_of",
]

_DEFAULT_TARGET_SIZE = 1 << 30
"""As in Spark, which would go on compacting smaller files."""


@dataclass(frozen=True, kw_only=True)
class CompactionRules:
    """Which files are rewritten together.

    Args:
        target_size: what the files of a bin come to at most, in bytes; ``delta.targetFileSize`` if None, or
            else 1 GiB.
        min_file_size: smaller files are candidates; the target size if None.
        max_deleted_rows_ratio: files of whose rows a larger part is deleted are candidates.

    Raises:
        ValueError: a size is not positive, or the ratio is not between 0 and 1.
    """

    target_size: int | None = None
    min_file_size: int | None = None
    max_deleted_rows_ratio: float = 0.05

    def __post_init__(self) -> None:
        ensure_sizes(target_size=self.target_size, min_file_size=self.min_file_size)
        if not 0 <= self.max_deleted_rows_ratio <= 1:
            raise ValueError(
                f"max_deleted_rows_ratio must be between 0 and 1, not {self.max_deleted_rows_ratio!r}"
            )


def target_size_of(snapshot: Snapshot, wanted: int | None) -> int:
    """Return what the files of a bin come to at most, in bytes."""
    return wanted or properties.TARGET_FILE_SIZE.parse(snapshot.configuration) or _DEFAULT_TARGET_SIZE


def plan_compaction(snapshot: Snapshot, selection: Selection, rules: CompactionRules) -> OptimizePlan:
    """Plan to compact the files of chosen partitions, from the log alone.

    Raises `InvalidPredicateError` for a condition that is not on partition columns.
    """
    planned = plan_files(snapshot, selection)
    bins = compaction_bins(snapshot, FileFigures.of(planned), rules)
    return OptimizePlan(planned, tuple(bins), planned.files.num_rows)


def compaction_bins(snapshot: Snapshot, files: FileFigures, rules: CompactionRules) -> list[Bin]:
    """Return the bins of a compaction, given figures of files of a table."""
    target_size = target_size_of(snapshot, rules.target_size)
    sparse = files.have_too_many_deleted_rows(rules.max_deleted_rows_ratio)
    small = files.sizes < (rules.min_file_size or target_size)
    return pack(files, target_size, are_candidates=small | sparse, are_worth_alone=sparse)


def compaction_parameters(selection: Selection) -> dict[str, object]:
    """Return the parameters that history shows, as Spark has them."""
    return {"predicate": selection.text, "zOrderBy": "[]", "clusterBy": "[]", "auto": False}
