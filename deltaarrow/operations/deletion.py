"""Taking rows out of a table: staged as deletion vectors, as rewritten files or as removed ones.

A file all of whose live rows match is removed without being read again. Of any other the matching rows
are marked in a deletion vector where the table has these switched on; elsewhere the remaining rows are
written to new files. A change data feed derives what was deleted from vectors and from removed files; a
rewritten file does not tell it, so that all deleted rows go to change data files then. Chapters "Deletion
Vectors", "Add File and Remove File" and "Add CDC File" of the protocol.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import orjson
import pyarrow as pa

import deltaarrow.scan as scan
from deltaarrow.actions import AddCDCFile, AddFile, RemoveFile
from deltaarrow.deletion_vectors import inline_deletion_vector, read_deletion_vector
from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.expressions import Predicate, columns_of
from deltaarrow.features import is_row_tracking_enabled, properties
from deltaarrow.operations.row_tracking import hidden_columns
from deltaarrow.schema import ChangeType
from deltaarrow.snapshot import Snapshot
from deltaarrow.transaction import OptimisticTransaction
from deltaarrow.write import WritePlan, with_change_type, write_change_files, write_files

__all__ = ["Deletion", "PlannedDeletion", "plan_deletion", "records_changes", "stage_deletion"]


@dataclass(frozen=True)
class Deletion:
    """What a deletion does: files that go, files that take their place, and rows."""

    removed_files: int = 0
    removed_bytes: int = 0
    rewritten: Sequence[AddFile] = ()
    marked_files: int = 0
    deleted_rows: int = 0
    copied_rows: int = 0
    change_files: Sequence[AddCDCFile] = ()


def stage_deletion(
    transaction: OptimisticTransaction, snapshot: Snapshot, predicate: Predicate, write_plan: WritePlan
) -> Deletion:
    """Stage the deletion of every row for which `predicate` is true; NULL is not.

    `write_plan` says how rows that stay are written again. All else is as in `plan_deletion`.
    """
    return plan_deletion(transaction, snapshot, predicate).stage(write_plan)


def plan_deletion(
    transaction: OptimisticTransaction, snapshot: Snapshot, predicate: Predicate
) -> "PlannedDeletion":
    """Find the rows for which `predicate` is true, and note what was read for it; nothing is staged.

    `predicate` is bound to the schema of the snapshot that the transaction reads.

    Raises `InvalidPredicateError` for a predicate that is not understood wholly, and
    `UnsupportedFeatureError` where the change data feed could not tell what the transaction has done before.
    """
    files = transaction.read_files(predicate)
    columns = tuple(sorted({path[0] for path in columns_of(predicate)}))
    plan = scan.ScanPlan(scan.table_layout(snapshot), snapshot.version, columns, files)
    found = tuple(scan.find_matches(plan, predicate))
    live = scan.count_live_rows(plan, [each.place for each in found])
    planned = PlannedDeletion(transaction, snapshot, plan, found, tuple(live))
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
    """Which rows go: the matches by file, and the number of `live` rows of each of these files."""

    transaction: OptimisticTransaction
    snapshot: Snapshot
    plan: scan.ScanPlan
    found: Sequence[scan.FileMatches]
    live: Sequence[int]

    @cached_property
    def parts(self) -> Sequence[scan.FileMatches]:
        """The matches of files that keep rows."""
        return [each for each, live in zip(self.found, self.live, strict=True) if len(each) not in (0, live)]

    @cached_property
    def records_changes(self) -> bool:
        """Whether change data files tell what is deleted, and so all else that the commit changes."""
        if not properties.ENABLE_CHANGE_DATA_FEED.parse(self.transaction.configuration):
            return False
        is_rewritten = bool(self.parts) and not self.transaction.marks_deleted_rows
        return is_rewritten or (bool(self.found) and records_changes(self.transaction))

    def stage(self, write_plan: WritePlan) -> Deletion:
        """Stage the deletion; `write_plan` says how rows that stay are written again, and those that go."""
        transaction, files = self.transaction, self.plan.files
        live = dict(zip((each.place for each in self.found), self.live, strict=True))
        kept = sum(live[each.place] - len(each) for each in self.parts)
        removed = live.keys() - {each.place for each in self.parts}
        rewritten: Sequence[AddFile] = ()
        changes: Sequence[AddCDCFile] = ()
        if self.records_changes:
            changes = self._write_deleted(write_plan)
            transaction.add_files(changes)
        if transaction.marks_deleted_rows:
            for each in self.parts:
                transaction.remove_rows(self._counted_file(each.place, live[each.place]), each.found())
        elif self.parts:
            removed |= {each.place for each in self.parts}
            rewritten = self._rewrite(write_plan)
            transaction.add_files(rewritten)
        tombstones = transaction.remove_files(files.take(pa.array(sorted(removed), pa.int64())))
        return Deletion(
            removed_files=len(tombstones),
            removed_bytes=sum(each.size or 0 for each in tombstones),
            rewritten=rewritten,
            marked_files=0 if rewritten else len(self.parts),
            deleted_rows=sum(self.live) - kept,
            copied_rows=kept if rewritten else 0,
            change_files=changes,
        )

    def _counted_file(self, place: int, live: int) -> dict[str, Any]:
        """The row of a file, with the number of rows in its statistics: a deletion vector needs it there."""
        (row,) = self.plan.files.slice(place, 1).to_pylist(maps_as_pydicts="strict")
        task = self.plan.tasks[place]
        if task.num_records is None:
            deleted = 0 if task.deletion_vector is None else task.deletion_vector.cardinality
            row["stats"] = orjson.dumps({"numRecords": live + deleted}).decode()
        return dict(row)

    def _write_deleted(self, write_plan: WritePlan) -> list[AddCDCFile]:
        """Write the rows that go, as the change data feed tells of them."""
        tasks = {each.place: self.plan.tasks[each.place] for each in self.found}
        for each in self.parts:
            tasks[each.place] = replace(tasks[each.place], only_in=inline_deletion_vector(each.found()))
        write_plan, rows = self._read(write_plan, list(tasks.values()))
        changes = (with_change_type(batch, ChangeType.DELETE) for batch in rows)
        return write_change_files(write_plan, changes, clock=self.transaction.clock)

    def _rewrite(self, write_plan: WritePlan) -> list[AddFile]:
        """Write the live rows that do not match anew."""
        write_plan, rows = self._read(write_plan, [self._without(each) for each in self.parts])
        return write_files(write_plan, rows, clock=self.transaction.clock)

    def _read(
        self, write_plan: WritePlan, tasks: Sequence[scan.FileTask]
    ) -> tuple[WritePlan, Iterator[pa.RecordBatch]]:
        """Rows of the table, where row tracking is enabled with their ids, and how they are written again."""
        snapshot, names = self.snapshot, tuple(self.snapshot.schema.names)
        if not is_row_tracking_enabled(snapshot.protocol, snapshot.configuration):
            return write_plan, scan.BatchReader(self.plan.layout, names).read(tasks)
        scan.ensure_recorded(self.plan.files, scan.ROW_TRACKING_COLUMNS)
        tracking = scan.row_tracking_of(snapshot)
        hidden = hidden_columns(tracking, snapshot.configuration)
        reader = scan.BatchReader(scan.table_layout(snapshot, tracking), (*names, *scan.ROW_TRACKING_COLUMNS))
        in_files = [*names, *(field.name for field in hidden)]
        rows = (batch.rename_columns(in_files) for batch in reader.read(tasks))
        return replace(write_plan, hidden_columns=hidden), rows

    def _without(self, matches: scan.FileMatches) -> scan.FileTask:
        task, deleted = self.plan.tasks[matches.place], matches.found()
        if task.deletion_vector is not None:
            deleted |= read_deletion_vector(self.plan.store, task.deletion_vector).bitmap
        return replace(task, deletion_vector=inline_deletion_vector(deleted))
