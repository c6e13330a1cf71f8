"""`WriteTask`: writes the rows of a write, or a part of them, to files.

A task knows neither log nor snapshot and is picklable. On one node, one task writes all rows; in a cluster,
many executors run it, and `WrittenRows.joined` combines their results.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import orjson
import pyarrow as pa

from deltaarrow.actions import AddCDCFile, AddFile
from deltaarrow.operations.write.replaced_rows import checked_rows
from deltaarrow.runtime.clock import Clock, system_clock
from deltaarrow.spark_sql import Condition
from deltaarrow.write import RowNumbering, WritePlan, complete_rows, write_files, write_inserts

__all__ = ["WriteTask", "WrittenRows"]


@dataclass(frozen=True)
class WrittenRows:
    """The data files of written rows and, if the commit records changes, their change data files.

    `taken` is how far numbers of identity columns are taken, as `NumberedRows.taken` of
    `deltaarrow.write.identity_columns`.
    """

    files: Sequence[AddFile] = ()
    changes: Sequence[AddCDCFile] = ()
    taken: int = 0

    @classmethod
    def joined(cls, parts: Iterable["WrittenRows"]) -> "WrittenRows":
        """Combine the files of several tasks."""
        parts = list(parts)
        return cls(
            [file for part in parts for file in part.files],
            [file for part in parts for file in part.changes],
            max((part.taken for part in parts), default=0),
        )

    @property
    def paths(self) -> list[str]:
        """The paths of the files, encoded as in the log."""
        return [*(file.path for file in self.files), *(file.path for file in self.changes)]

    @property
    def rows(self) -> int:
        """The number of rows, from the statistics of the files."""
        return sum(orjson.loads(file.stats)["numRecords"] for file in self.files if file.stats is not None)


@dataclass(frozen=True, kw_only=True)
class WriteTask:
    """The work of writing rows to files; picklable.

    Args:
        plan: where and how the files are written, and the constraints on rows.
        numbering: the numbering of identity columns that the rows lack.
        moment_ms: the present time for expressions, in milliseconds since the epoch; the same for all rows of
            the write.
        condition: the condition that every row must satisfy, over the schema of the plan; None for none.
        records_changes: whether the rows are also written to change data files.
    """

    plan: WritePlan
    numbering: RowNumbering
    moment_ms: int
    condition: Condition | None = None
    records_changes: bool = False

    def part(self, number: int) -> Self:
        """Return the task for a part of the rows, whose place among the parts is `number`."""
        return replace(self, numbering=self.numbering.of_task(number))

    def write(self, rows: Iterable[pa.RecordBatch], *, clock: Clock = system_clock) -> WrittenRows:
        """Write rows to files; nothing is committed.

        Raises the exceptions of `deltaarrow.write.write_files`, and `ConstraintViolationError` for a row that
        does not satisfy the condition, or if an identity column runs out of numbers. Files written before are
        then deleted.
        """
        plan, numbered = self.plan, self.numbering.begin()
        rows = map(numbered.extend, rows)
        if plan.rules or self.condition is not None:
            rows = complete_rows(plan, rows, clock=lambda: self.moment_ms)
            plan = plan.without_rules()
        if self.condition is not None:
            rows = checked_rows(rows, self.condition, plan.schema)
        if self.records_changes:
            files, changes = write_inserts(plan, rows, clock=clock)
            return WrittenRows(files, changes, numbered.taken)
        files = write_files(plan, rows, clock=clock)
        return WrittenRows(files, taken=numbered.taken)
