"""The part of a read that executors do: `SplitScan`, and the splits of bounded size that it reads.

Spark plans each read in fresh processes of Python on the driver, so what reads files is imported where that
is done.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import pyarrow as pa

from deltaarrow import engines, scan
from deltaarrow.expressions import columns_of
from deltaarrow.scan import ChangePlan, FileTask, RowCondition, ScanPlan
from deltaarrow.spark.types import FrameColumns

if TYPE_CHECKING:
    from deltaarrow.engines import DeltaScanner

__all__ = ["SplitScan", "needed_columns", "split_tasks"]

_OPEN_BYTES = 4 << 20
"""What opening a file counts for, as ``spark.sql.files.openCostInBytes`` has it."""

_LEAST_BYTES, _MOST_BYTES = 16 << 20, 128 << 20
_WANTED_SPLITS = 16
_LEAST_PART = 1 << 20
"""No smaller part of a file is worth opening it once more."""


@dataclass(frozen=True)
class SplitScan:
    """Reads the rows of some files as Spark takes them; small and picklable.

    `plan` has the columns of `needed_columns`, and no files: those come with the splits.
    """

    plan: ScanPlan | ChangePlan
    columns: FrameColumns
    conditions: tuple[RowCondition, ...]

    @classmethod
    def of(
        cls, plan: ScanPlan | ChangePlan, columns: FrameColumns, conditions: tuple[RowCondition, ...]
    ) -> Self:
        """Return what reads any files of a plan.

        Raises the exceptions of pyarrow for a condition that it cannot evaluate.
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
        """Yield the rows that the read asks for."""
        return map(self.columns.to_spark, self._scanner.read(tasks))


def needed_columns(columns: FrameColumns, conditions: Sequence[RowCondition]) -> tuple[str, ...]:
    """The names of the columns to read from files: those of a frame, and then those of its conditions."""
    asked = {path for each in conditions for path in columns_of(each.predicate)}
    return tuple(dict.fromkeys([*columns.schema.names, *(path[0] for path in sorted(asked))]))


def split_tasks(tasks: Sequence[FileTask], partition_bytes: int | None) -> list[tuple[FileTask, ...]]:
    """Put tasks into splits of about `partition_bytes`, but of a row group at least.

    If None, there are 16 splits, as long as each is of 16 to 128 MiB. No split holds a file twice: a reader
    takes the deletion vectors of its files by their paths.
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
