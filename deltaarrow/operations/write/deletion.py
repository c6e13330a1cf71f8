"""Deletion of rows by an overwrite, staged as deletion vectors, rewritten files or removed files.

A file whose live rows all match is removed without being read again. For other files, a deletion vector marks
the matching rows if the table enables deletion vectors; otherwise the remaining rows are written to new
files. The change data feed derives deleted rows from deletion vectors and removed files, but not from
rewritten files; if a file is rewritten, all deleted rows are also written to change data files. Chapters
"Deletion Vectors", "Add File and Remove File" and "Add CDC File" of the protocol.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import deltaarrow.scan as scan
from deltaarrow.actions import AddCDCFile, AddFile, RemoveFile
from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.features import properties
from deltaarrow.operations.rows.mark_or_rewrite import LostRows
from deltaarrow.operations.rows.row_id_assignment import tracking_of
from deltaarrow.runtime.fork_safety import cached_property
from deltaarrow.schema import ChangeType
from deltaarrow.snapshot import Snapshot
from deltaarrow.spark_sql import Condition
from deltaarrow.transaction import OptimisticTransaction
from deltaarrow.write import WritePlan, with_change_type, write_change_files, write_files

__all__ = ["Deletion", "PlannedDeletion", "plan_deletion", "records_changes"]


@dataclass(frozen=True)
class Deletion:
    """The effects of a deletion on files and rows.

    Marked files get a deletion vector and stay; together they have `marked_rows` live rows left and
    `marked_bytes` bytes. `rewritten` are the new files with the rows that stay.
    """

    removed_files: int = 0
    removed_bytes: int = 0
    rewritten: Sequence[AddFile] = ()
    marked_files: int = 0
    marked_rows: int = 0
    marked_bytes: int = 0
    deleted_rows: int = 0
    copied_rows: int = 0
    change_files: Sequence[AddCDCFile] = ()


def plan_deletion(
    transaction: OptimisticTransaction, snapshot: Snapshot, condition: Condition
) -> "PlannedDeletion":
    """Plan the deletion of rows that satisfy a condition, and record the read; nothing is staged.

    `condition` is over the schema of the snapshot that the transaction reads.

    Raises `UnsupportedFeatureError` if the deletion needs change data files and the transaction has earlier
    changes without them.
    """
    files = transaction.read_files(condition.predicate)
    columns = tuple(sorted({path[0] for path in condition.columns}))
    tracking = tracking_of(snapshot)
    if tracking is not None:
        scan.ensure_recorded(files, scan.ROW_TRACKING_COLUMNS)
    plan = scan.ScanPlan(scan.table_layout(snapshot, tracking), snapshot.version, columns, files)
    planned = PlannedDeletion(transaction, snapshot, plan, condition)
    if planned.records_changes and not records_changes(transaction):
        _ensure_first_change(transaction)
    return planned


def records_changes(transaction: OptimisticTransaction) -> bool:
    """Whether change data files are staged; they must then hold every change of the commit."""
    return any(isinstance(action, AddCDCFile) for action in transaction.actions)


def _ensure_first_change(transaction: OptimisticTransaction) -> None:
    if any(isinstance(each, AddFile | RemoveFile) and each.data_change for each in transaction.actions):
        raise UnsupportedFeatureError(
            f"{transaction.store.uri} has a change data feed, and this deletion rewrites files after the"
            " transaction has changed other rows without recording it; stage the deletion first",
            feature="changeDataFeed",
        )


@dataclass(frozen=True)
class PlannedDeletion:
    """The rows to delete: the rows of `plan` that satisfy the condition. They are found on first use."""

    transaction: OptimisticTransaction
    snapshot: Snapshot
    plan: scan.ScanPlan
    condition: Condition

    @cached_property
    def found(self) -> Sequence[scan.FileMatches]:
        """The matching rows by file."""
        return tuple(scan.find_matches(self.plan, self.condition))

    @cached_property
    def lost(self) -> LostRows:
        """The deleted rows by file."""
        gone = {each.place: each.positions for each in self.found}
        return LostRows.of(self.transaction, self.plan, gone)

    @cached_property
    def records_changes(self) -> bool:
        """Whether deleted rows, and so every change of the commit, go to change data files."""
        if not properties.ENABLE_CHANGE_DATA_FEED.parse(self.transaction.configuration):
            return False
        return bool(self.lost.rewritten) or (bool(self.found) and records_changes(self.transaction))

    def stage(self, write_plan: WritePlan) -> Deletion:
        """Stage the deletion; `write_plan` says how kept rows and change data files are written."""
        transaction, lost = self.transaction, self.lost
        write_plan = replace(write_plan, hidden_columns=lost.hidden)
        changes: Sequence[AddCDCFile] = ()
        if self.records_changes:
            rows = (with_change_type(batch, ChangeType.DELETE) for batch in lost.lost())
            changes = write_change_files(write_plan, rows, clock=transaction.clock)
            transaction.add_files(changes)
        rewritten = write_files(write_plan, lost.copied(), clock=transaction.clock)
        transaction.add_files(rewritten)
        lost.stage(transaction)
        return Deletion(
            removed_files=len(lost.removed),
            removed_bytes=sum(task.size for task in lost.removed),
            rewritten=rewritten,
            marked_files=len(lost.marked),
            marked_rows=sum(lost.left[place] for place in lost.marked),
            marked_bytes=sum(self.plan.tasks[place].size for place in lost.marked),
            deleted_rows=lost.lost_rows,
            copied_rows=lost.copied_rows,
            change_files=changes,
        )
