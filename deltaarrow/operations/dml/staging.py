"""Staging of changed rows: new files, change data files, and files that lose rows."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from deltaarrow.actions import AddCDCFile, AddFile
from deltaarrow.operations.dml.change_task import ChangedRows, ChangeTask, RowChanges
from deltaarrow.operations.dml.changed_rows import FoundRows
from deltaarrow.operations.rows.mark_or_rewrite import FileLosses
from deltaarrow.runtime.executors import TaskLimits, run_all
from deltaarrow.transaction import OptimisticTransaction

__all__ = ["InsertTasks", "RowStage", "StagedRows"]

InsertTasks = Callable[[ChangedRows], Sequence[ChangeTask]]
"""Makes the tasks that insert rows after tasks that change rows."""


@dataclass
class StagedRows:
    """The staged changes: row counts by clause number and, after the commit, what happened to files.

    `taken` is how far numbers of identity columns are taken, as `NumberedRows.taken` of
    `deltaarrow.write.identity_columns`. `scan_seconds` is the time spent finding rows, `seconds` that of the
    whole operation.
    """

    by_clause: dict[int, int] = field(default_factory=dict)
    copied_rows: int = 0
    taken: int = 0
    added: Sequence[AddFile] = ()
    change_files: Sequence[AddCDCFile] = ()
    losses: FileLosses = field(default_factory=FileLosses)
    scan_seconds: float = 0.0
    seconds: float = 0.0

    def rows(self, numbers: Iterable[int]) -> int:
        """Return the number of rows that these clauses changed."""
        return sum(self.by_clause.get(number, 0) for number in numbers)


@dataclass(frozen=True)
class RowStage:
    """Stages the changes of one query over a plan.

    Args:
        transaction: the transaction to stage in.
        changes: how the rows are written.
        relies_on_kept: whether the operation depends on matched rows that it leaves unchanged.
    """

    transaction: OptimisticTransaction
    changes: RowChanges
    relies_on_kept: bool = False

    def stage(self, found: Iterable[FoundRows]) -> StagedRows:
        """Write and stage the changes of rows; after an error, no written file is left.

        Raises what `RowChanges.write` raises.
        """
        begun = time.perf_counter()
        clock = self.transaction.clock
        return self._stage(self.changes.write(found, clock(), clock), begun)

    def stage_tasks(
        self,
        tasks: Sequence[ChangeTask],
        places: Sequence[Sequence[int]],
        inserts: InsertTasks | None = None,
    ) -> StagedRows:
        """Let the executor in use run tasks over parts of the plan, and stage what they have done.

        Args:
            tasks: the tasks.
            places: the indexes in the plan of the files of each task.
            inserts: returns tasks that insert rows, given what the others have done; None if no row is
                inserted.

        Raises what a task raises; the files of the other tasks are then deleted.
        """
        begun = time.perf_counter()
        changed = ChangedRows.joined(self._run(tasks), places)
        if inserts is not None:
            try:
                more = self._run(inserts(changed))
            except BaseException:
                changed.delete_files(self.transaction.store)
                raise
            all_places = range(self.changes.plan.files.num_rows)
            changed = ChangedRows.joined([changed, *more], [all_places, *[()] * len(more)])
        return self._stage(changed, begun)

    def _run(self, tasks: Sequence[ChangeTask]) -> list[ChangedRows]:
        """Return what each task has done; after an error, no file is left."""
        store = self.transaction.store

        def discard(changed: ChangedRows) -> None:
            changed.delete_files(store)

        return run_all([task.run for task in tasks], TaskLimits(len(tasks), "deltaarrow-change"), discard)

    def _stage(self, changed: ChangedRows, begun: float) -> StagedRows:
        with self.transaction.all_or_nothing():
            self.transaction.add_files(changed.added)
            self.transaction.add_files(changed.change_files)
            for place, positions in changed.kept.items() if self.relies_on_kept else ():
                self.transaction.read_rows({"path": self.changes.plan.tasks[place].path}, positions)
            self.changes.lost_rows(changed.gone).stage(self.transaction)
        return StagedRows(
            changed.by_clause,
            changed.copied_rows,
            changed.taken,
            changed.added,
            changed.change_files,
            scan_seconds=changed.scan_seconds,
            seconds=time.perf_counter() - begun,
        )
