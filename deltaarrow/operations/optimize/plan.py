"""The plan of an OPTIMIZE, made from the log without opening a data file."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from deltaarrow.columnar.numpy_arrays import integers
from deltaarrow.operations.optimize.bins import Bin, FileFigures, pack, partition_numbers
from deltaarrow.runtime.fork_safety import cached_property
from deltaarrow.scan import FileTask, ScanPlan, file_tasks

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
        firsts = self.scan.files.take(integers([each.places[0] for each in self.bins]))
        return len(np.unique(partition_numbers(replace(self.scan, files=firsts))))

    def tasks(self, of: Bin) -> list[FileTask]:
        """Return the files of a bin."""
        return [self.task(place) for place in of.places]

    def task(self, place: int) -> FileTask:
        """Return a file of a bin, by its place."""
        return self._tasks[place]

    @cached_property
    def _tasks(self) -> dict[int, FileTask]:
        places = [place for each in self.bins for place in each.places]
        return dict(zip(places, file_tasks(self.scan.files.take(integers(places))), strict=True))

    @classmethod
    def of_stale(cls, scan: ScanPlan, target_size: int, are_stale: Sequence[bool] | np.ndarray) -> Self:
        """Plan to rewrite the files that are stale, each even if it is alone."""
        stale = np.asarray(are_stale, np.bool_)
        bins = pack(FileFigures.of(scan), target_size, are_candidates=stale, are_worth_alone=stale)
        return cls(scan, tuple(bins), scan.files.num_rows)

    def __repr__(self) -> str:
        return f"OptimizePlan(bins={len(self.bins)}, files={self.num_files}, bytes={self.num_bytes})"
