"""What becomes of the rows of a write, or of some of them, wherever that happens: `WriteTask`.

A task knows neither log nor snapshot and is picklable. One node gives all rows to it; elsewhere it goes to
many executors, and what each returns is put together with `WrittenRows.joined`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import orjson
import pyarrow as pa

from deltaarrow.actions import AddCDCFile, AddFile
from deltaarrow.operations.replacement import checked_rows
from deltaarrow.runtime.clock import Clock, system_clock
from deltaarrow.spark_sql import Condition
from deltaarrow.write import WritePlan, complete_rows, write_files, write_inserts

__all__ = ["WriteTask", "WrittenRows"]


@dataclass(frozen=True)
class WrittenRows:
    """The files that rows are in, as data and, where a commit records its changes, once more as changes."""

    files: Sequence[AddFile] = ()
    changes: Sequence[AddCDCFile] = ()

    @classmethod
    def joined(cls, parts: Iterable["WrittenRows"]) -> "WrittenRows":
        """The files of several tasks."""
        parts = list(parts)
        return cls(
            [file for part in parts for file in part.files],
            [file for part in parts for file in part.changes],
        )

    @property
    def paths(self) -> list[str]:
        """Where the files are, as the log spells it."""
        return [*(file.path for file in self.files), *(file.path for file in self.changes)]

    @property
    def rows(self) -> int:
        """How many rows there are, by the statistics of the files."""
        return sum(orjson.loads(file.stats)["numRecords"] for file in self.files if file.stats is not None)


@dataclass(frozen=True, kw_only=True)
class WriteTask:
    """How rows of a write become files; picklable.

    Args:
        plan: where and how the files are written, and the rules that rows have to meet.
        moment_ms: the time, in milliseconds since the epoch, that rules take for the present one: the same
            for all rows of the write.
        condition: what every row has to fulfil, on the schema of the plan; None for nothing.
        records_changes: whether the rows are written as changes too.
    """

    plan: WritePlan
    moment_ms: int
    condition: Condition | None = None
    records_changes: bool = False

    def write(self, rows: Iterable[pa.RecordBatch], *, clock: Clock = system_clock) -> WrittenRows:
        """Write rows as files; nothing is committed.

        Raises what `deltaarrow.write.write_files` raises, and `ConstraintViolationError` for a row that does
        not fulfil the condition. Then no file is left behind.
        """
        plan = self.plan
        if plan.rules or self.condition is not None:
            rows = complete_rows(plan, rows, clock=lambda: self.moment_ms)
            plan = plan.without_rules()
        if self.condition is not None:
            rows = checked_rows(rows, self.condition)
        if self.records_changes:
            return WrittenRows(*write_inserts(plan, rows, clock=clock))
        return WrittenRows(write_files(plan, rows, clock=clock))
