"""What an OPTIMIZE is going to do, decided from the log: nothing is opened for it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from deltaarrow.operations.optimize.bins import Bin, by_partition, pack
from deltaarrow.scan import FileTask, ScanPlan

__all__ = ["OptimizePlan"]


@dataclass(frozen=True)
class OptimizePlan:
    """The bins of an OPTIMIZE: each becomes one new file.

    `considered` says how many files of the table the choice was made from.
    """

    scan: ScanPlan
    bins: tuple[Bin, ...]
    considered: int

    @property
    def num_files(self) -> int:
        """How many files are rewritten."""
        return sum(len(each.places) for each in self.bins)

    @property
    def num_bytes(self) -> int:
        """How many bytes are rewritten."""
        return sum(each.size for each in self.bins)

    @property
    def paths(self) -> list[list[str]]:
        """The files of each bin, by their names in the table."""
        return [[task.path for task in self.tasks(each)] for each in self.bins]

    @property
    def num_partitions(self) -> int:
        """How many partitions have files that are rewritten."""
        return len(by_partition(self.scan.tasks, (each.places[0] for each in self.bins)))

    def tasks(self, of: Bin) -> list[FileTask]:
        """Return the files of a bin."""
        return [self.scan.tasks[place] for place in of.places]

    @classmethod
    def of_stale(cls, scan: ScanPlan, target_size: int, is_stale: Callable[[FileTask], bool]) -> Self:
        """Plan to rewrite the files that are stale, each even if it is alone."""
        bins = pack(scan.tasks, target_size, is_candidate=is_stale, is_worth_alone=lambda task: True)
        return cls(scan, tuple(bins), scan.files.num_rows)

    def __repr__(self) -> str:
        return f"OptimizePlan(bins={len(self.bins)}, files={self.num_files}, bytes={self.num_bytes})"
