"""Purging: what is deleted, and columns that were dropped, leave the data files.

As in Spark's ``REORG TABLE ... APPLY (PURGE)``, files with deleted rows are rewritten, and files that hold a
column which the table no longer has. The latter only their footers tell, which are read for it.
"""

from deltaarrow.operations.optimize.bins import has_too_many_deleted_rows
from deltaarrow.operations.optimize.compaction import target_size_of
from deltaarrow.operations.optimize.plan import OptimizePlan
from deltaarrow.operations.optimize.selection import Selection, plan_files
from deltaarrow.scan import FileTask, files_with_dropped_columns
from deltaarrow.snapshot import Snapshot

__all__ = ["plan_purge", "purge_parameters"]


def plan_purge(snapshot: Snapshot, selection: Selection, *, every_vector: bool = False) -> OptimizePlan:
    """Plan to purge the files of chosen partitions.

    With `every_vector`, files with a deletion vector that deletes no row are rewritten too.

    Raises `InvalidPredicateError` for a condition that is not on partition columns, and
    `CorruptDataFileError` for a file whose footer cannot be read.
    """
    planned = plan_files(snapshot, selection)

    def is_marked(task: FileTask) -> bool:
        has_vector = every_vector and task.deletion_vector is not None
        return has_vector or has_too_many_deleted_rows(task, 0)

    whole = [task for task in planned.tasks if not is_marked(task)]
    stale = {task.path for task in files_with_dropped_columns(planned.layout, whole)}
    size = target_size_of(snapshot, None)
    return OptimizePlan.of_stale(planned, size, lambda task: is_marked(task) or task.path in stale)


def purge_parameters(selection: Selection) -> dict[str, object]:
    """Return the parameters that history shows, as Spark has them."""
    return {"predicate": selection.text, "applyPurge": True}
