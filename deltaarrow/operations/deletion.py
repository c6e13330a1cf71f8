"""Taking rows out of a table: staged as deletion vectors, as rewritten files or as removed ones.

A file all of whose live rows match is removed without being read again. Of any other the matching rows
are marked in a deletion vector where the table has these switched on; elsewhere the remaining rows are
written to new files. Chapters "Deletion Vectors" and "Add File and Remove File" of the protocol.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

import deltaarrow.scan as scan
from deltaarrow.actions import AddFile
from deltaarrow.clock import Clock
from deltaarrow.deletion_vectors import inline_deletion_vector, read_deletion_vector
from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.expressions import Predicate, columns_of
from deltaarrow.features import is_row_tracking_enabled, properties
from deltaarrow.operations.row_tracking import hidden_columns
from deltaarrow.snapshot import Snapshot
from deltaarrow.transaction import OptimisticTransaction
from deltaarrow.write import WritePlan, write_files

__all__ = ["Deletion", "stage_deletion"]


@dataclass(frozen=True)
class Deletion:
    """What a deletion does: files that go, files that take their place, and rows."""

    removed_files: int = 0
    removed_bytes: int = 0
    rewritten: Sequence[AddFile] = ()
    marked_files: int = 0
    deleted_rows: int = 0
    copied_rows: int = 0


def stage_deletion(
    transaction: OptimisticTransaction, snapshot: Snapshot, predicate: Predicate, write_plan: WritePlan
) -> Deletion:
    """Stage the deletion of every row for which `predicate` is true; NULL is not.

    `predicate` is bound to the schema of the snapshot that the transaction reads, and `write_plan`
    says how rows that stay are written again.

    Raises `InvalidPredicateError` for a predicate that is not understood wholly, and
    `UnsupportedFeatureError` where rows of a file would change in a table with a change data feed.
    """
    files = transaction.read_files(predicate)
    columns = tuple(sorted({path[0] for path in columns_of(predicate)}))
    plan = scan.ScanPlan(scan.table_layout(snapshot), snapshot.version, columns, files)
    found = list(scan.find_matches(plan, predicate))
    live = dict(
        zip([each.place for each in found], scan.count_live_rows(plan, [m.place for m in found]), strict=True)
    )
    parts = [each for each in found if len(each) not in (0, live[each.place])]
    if parts and properties.ENABLE_CHANGE_DATA_FEED.parse(snapshot.configuration):
        raise UnsupportedFeatureError(
            f"{snapshot.store.uri} has a change data feed, and parts of its files would be deleted, which"
            " is not supported yet; a predicate on partition columns deletes whole files",
            feature="changeDataFeed",
        )
    kept = sum(live[each.place] - len(each) for each in parts)
    removed = {each.place for each in found} - {each.place for each in parts}
    rewritten: Sequence[AddFile] = ()
    if transaction.marks_deleted_rows:
        for each in parts:
            transaction.remove_rows(_row(files, each.place), each.found())
    elif parts:
        removed |= {each.place for each in parts}
        rewritten = _rewrite(snapshot, plan, parts, write_plan, transaction.clock)
        transaction.add_files(rewritten)
    tombstones = transaction.remove_files(files.take(pa.array(sorted(removed), pa.int64())))
    return Deletion(
        removed_files=len(tombstones),
        removed_bytes=sum(each.size or 0 for each in tombstones),
        rewritten=rewritten,
        marked_files=0 if rewritten else len(parts),
        deleted_rows=sum(live.values()) - kept,
        copied_rows=kept if rewritten else 0,
    )


def _row(files: pa.Table, place: int) -> dict[str, object]:
    (row,) = files.slice(place, 1).to_pylist(maps_as_pydicts="strict")
    return dict(row)


def _rewrite(
    snapshot: Snapshot,
    plan: scan.ScanPlan,
    matches: Sequence[scan.FileMatches],
    write_plan: WritePlan,
    clock: Clock,
) -> list[AddFile]:
    """Write the live rows of files that do not match anew; where row tracking is enabled, under their ids."""
    tasks = [_without(plan, each) for each in matches]
    names = tuple(snapshot.schema.names)
    if not is_row_tracking_enabled(snapshot.protocol, snapshot.configuration):
        return write_files(write_plan, scan.BatchReader(plan.layout, names).read(tasks), clock=clock)
    scan.ensure_recorded(plan.files, scan.ROW_TRACKING_COLUMNS)
    tracking = scan.row_tracking_of(snapshot)
    hidden = hidden_columns(tracking, snapshot.configuration)
    reader = scan.BatchReader(scan.table_layout(snapshot, tracking), (*names, *scan.ROW_TRACKING_COLUMNS))
    in_files = [*names, *(field.name for field in hidden)]
    rows = (batch.rename_columns(in_files) for batch in reader.read(tasks))
    return write_files(replace(write_plan, hidden_columns=hidden), rows, clock=clock)


def _without(plan: scan.ScanPlan, matches: scan.FileMatches) -> scan.FileTask:
    task, deleted = plan.tasks[matches.place], matches.found()
    if task.deletion_vector is not None:
        deleted |= read_deletion_vector(plan.store, task.deletion_vector).bitmap
    return replace(task, deletion_vector=inline_deletion_vector(deleted))
