"""The part of a read that executors do, `SplitScan`, and the division of files into splits.

Spark plans each read in a new Python process on the driver, so modules that read files are imported only
where files are read.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import pyarrow as pa

from deltaarrow import engines, scan
from deltaarrow.expressions import columns_of
from deltaarrow.scan import ChangePlan, FileTask, RowCondition, ScanPlan
from deltaarrow.spark.type_conversion import FrameColumns

if TYPE_CHECKING:
    from deltaarrow.engines import DeltaScanner

__all__ = ["SplitScan", "needed_columns", "split_tasks"]

_OPEN_BYTES = 4 << 20
"""Cost of opening a file, in bytes, like ``spark.sql.files.openCostInBytes``."""

_LEAST_BYTES, _MOST_BYTES = 16 << 20, 128 << 20
_WANTED_SPLITS = 16
_LEAST_PART = 1 << 20
"""A smaller part of a file is not worth opening the file again."""


@dataclass(frozen=True)
class SplitScan:
    """Reads the rows of some files in the form that Spark takes; small and picklable.

    `plan` has the columns of `needed_columns` and no files: the splits carry the files.
    """

    plan: ScanPlan | ChangePlan
    columns: FrameColumns
    conditions: tuple[RowCondition, ...]

    @classmethod
    def of(
        cls, plan: ScanPlan | ChangePlan, columns: FrameColumns, conditions: tuple[RowCondition, ...]
    ) -> Self:
        """Return the scan for all files of a plan.

        Raises pyarrow's exceptions for a condition that pyarrow cannot evaluate.
        """
        if isinstance(plan, ScanPlan):  # `empty_table` would import pandas
            plan = replace(plan, files=pa.Table.from_batches([], plan.files.schema))
        else:
            plan = replace(plan, tasks=())
        split_scan = cls(plan, columns, conditions)
        if conditions:
            _ = split_scan._scanner.projected_schema
        return split_scan

    @property
    def _scanner(self) -> "DeltaScanner":
        plan, pushdown = self.plan, scan.joined_predicate(self.conditions)
        reader = (
            scan.BatchReader(plan.layout, plan.columns, pushdown)
            if isinstance(plan, ScanPlan)
            else scan.ChangeReader(plan, pushdown)
        )
        return engines.DeltaScanner(plan, reader, self.columns.schema.names, self.conditions)

    def read(self, tasks: Sequence[FileTask]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the read in some files."""
        return map(self.columns.to_spark, self._scanner.read(tasks))


def needed_columns(columns: FrameColumns, conditions: Sequence[RowCondition]) -> tuple[str, ...]:
    """The names of the columns to read from files: first those of a frame, then those of its conditions."""
    asked = {path for each in conditions for path in columns_of(each.predicate)}
    return tuple(dict.fromkeys([*columns.schema.names, *(path[0] for path in sorted(asked))]))


def split_tasks(tasks: Sequence[FileTask], partition_bytes: int | None) -> list[tuple[FileTask, ...]]:
    """Group tasks into splits of about `partition_bytes`, but at least one row group.

    If None, there are 16 splits, as long as each has 16 to 128 MiB. No split has a file twice, because a
    reader finds the deletion vectors of its files by path.
    """
    limit = partition_bytes
    if limit is None:
        total = sum(task.size + _OPEN_BYTES for task in tasks)
        limit = min(max(total // _WANTED_SPLITS, _LEAST_BYTES), _MOST_BYTES)
    splits: list[list[FileTask]] = []
    room, paths = 0, set[str]()
    for task in _parts(tasks, max(limit, _LEAST_PART)):
        cost = task.span_size + _OPEN_BYTES
        if not splits or cost > room or task.path in paths:
            splits.append([])
            room, paths = limit, set()
        splits[-1].append(task)
        room -= cost
        paths.add(task.path)
    return [tuple(split) for split in splits]


def _parts(tasks: Sequence[FileTask], size: int) -> Iterable[FileTask]:
    return (part for task in tasks for part in task.parts(size))
