"""Taking rows out of a table: staged as deletion vectors, as rewritten files or as removed ones.

A file all of whose live rows match is removed without being read again. Of any other the matching rows
are marked in a deletion vector where the table has these switched on; elsewhere the remaining rows are
written to new files. A change data feed derives what was deleted from vectors and from removed files; a
rewritten file does not tell it, so that all deleted rows go to change data files then. Chapters "Deletion
Vectors", "Add File and Remove File" and "Add CDC File" of the protocol.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import deltaarrow.scan as scan
from deltaarrow.actions import AddCDCFile, AddFile, RemoveFile
from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.features import properties
from deltaarrow.operations.mark_or_rewrite import LostRows
from deltaarrow.operations.row_id_assignment import tracking_of
from deltaarrow.runtime.fork_safety import cached_property
from deltaarrow.schema import ChangeType
from deltaarrow.snapshot import Snapshot
from deltaarrow.spark_sql import Condition
from deltaarrow.transaction import OptimisticTransaction
from deltaarrow.write import WritePlan, with_change_type, write_change_files, write_files

__all__ = ["Deletion", "PlannedDeletion", "plan_deletion", "records_changes"]


@dataclass(frozen=True)
class Deletion:
    """What a deletion does: files that go, files that take their place, and rows.

    Files that are marked stay, with `marked_rows` live rows and `marked_bytes` in all.
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
    """Plan to find the rows that meet a condition, and note what is read for it; nothing is staged.

    `condition` is on the schema of the snapshot that the transaction reads.

    Raises `UnsupportedFeatureError` where the change data feed could not tell what the transaction has done
    before.
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
    """Whether change data files are staged: then they have to tell all that the commit changes."""
    return any(isinstance(action, AddCDCFile) for action in transaction.actions)


def _ensure_first_change(transaction: OptimisticTransaction) -> None:
    if any(isinstance(each, AddFile | RemoveFile) and each.data_change for each in transaction.actions):
        raise UnsupportedFeatureError(
            f"{transaction.store.uri} has a change data feed, and rows of files that are rewritten would be"
            " deleted by a transaction that has changed others without recording it; begin with the deletion",
            feature="changeDataFeed",
        )


@dataclass(frozen=True)
class PlannedDeletion:
    """Which rows go: those of `plan` that meet the condition, found when they are first asked for."""

    transaction: OptimisticTransaction
    snapshot: Snapshot
    plan: scan.ScanPlan
    condition: Condition

    @cached_property
    def found(self) -> Sequence[scan.FileMatches]:
        """The matches by file."""
        return tuple(scan.find_matches(self.plan, self.condition))

    @cached_property
    def lost(self) -> LostRows:
        """The rows that go, by file."""
        gone = {each.place: each.positions for each in self.found}
        return LostRows(self.transaction, self.plan, gone)

    @cached_property
    def records_changes(self) -> bool:
        """Whether change data files tell what is deleted, and so all else that the commit changes."""
        if not properties.ENABLE_CHANGE_DATA_FEED.parse(self.transaction.configuration):
            return False
        return bool(self.lost.rewritten) or (bool(self.found) and records_changes(self.transaction))

    def stage(self, write_plan: WritePlan) -> Deletion:
        """Stage the deletion; `write_plan` says how rows that stay are written again, and those that go."""
        transaction, lost = self.transaction, self.lost
        write_plan = replace(write_plan, hidden_columns=lost.hidden)
        changes: Sequence[AddCDCFile] = ()
        if self.records_changes:
            rows = (with_change_type(batch, ChangeType.DELETE) for batch in lost.lost())
            changes = write_change_files(write_plan, rows, clock=transaction.clock)
            transaction.add_files(changes)
        rewritten = write_files(write_plan, lost.copied(), clock=transaction.clock)
        transaction.add_files(rewritten)
        lost.stage()
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
