"""Purging: rewrites files so that deleted rows and dropped columns leave storage.

As in Spark's ``REORG TABLE ... APPLY (PURGE)``, files with deleted rows are rewritten, and files that hold a
column which the table no longer has. The latter only their footers tell, which are read for it.
"""

import numpy as np
import pyarrow.compute as pc

from deltaarrow.columnar.numpy_arrays import booleans, truths
from deltaarrow.operations.optimize.bins import FileFigures
from deltaarrow.operations.optimize.compaction import target_size_of
from deltaarrow.operations.optimize.partition_selection import Selection, plan_files
from deltaarrow.operations.optimize.plan import OptimizePlan
from deltaarrow.scan import file_tasks, files_with_dropped_columns
from deltaarrow.snapshot import Snapshot

__all__ = ["plan_purge", "purge_parameters"]


def plan_purge(snapshot: Snapshot, selection: Selection, *, every_vector: bool = False) -> OptimizePlan:
    """Plan to purge the files of chosen partitions.

    With `every_vector`, files with a deletion vector that deletes no row are rewritten too.

    Raises `InvalidPredicateError` for a condition that is not on partition columns, and
    `CorruptDataFileError` for a file whose footer cannot be read.
    """
    planned = plan_files(snapshot, selection)
    marked = FileFigures.of(planned).have_too_many_deleted_rows(0)
    if every_vector:
        marked |= truths(pc.is_valid(planned.files.column("deletion_vector")).combine_chunks())
    whole = file_tasks(planned.files.filter(booleans(~marked)))
    stale = {task.path for task in files_with_dropped_columns(planned.layout, whole)}
    has_dropped = [path in stale for path in planned.files.column("path").to_pylist()]
    size = target_size_of(snapshot, None)
    return OptimizePlan.of_stale(planned, size, marked | np.array(has_dropped, np.bool_))


def purge_parameters(selection: Selection) -> dict[str, object]:
    """Return the parameters that history shows, as Spark has them."""
    return {"predicate": selection.text, "applyPurge": True}
