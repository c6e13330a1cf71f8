"""Rewriting of the files that hold widened columns in their old types: a part of dropping type widening.

Spark's ``REORG`` without a name of its own. A partition column is in no data file, so nothing tells the type
that a file was written with; as in Spark, all files are rewritten if a partition column was widened.
"""

from deltaarrow.operations.optimize.compaction import target_size_of
from deltaarrow.operations.optimize.partition_selection import Selection, plan_files
from deltaarrow.operations.optimize.plan import OptimizePlan
from deltaarrow.scan import files_with_narrow_columns
from deltaarrow.schema.metadata_keys import TYPE_CHANGES_KEY
from deltaarrow.snapshot import Snapshot

__all__ = ["plan_type_rewriting"]


def plan_type_rewriting(snapshot: Snapshot) -> OptimizePlan:
    """Plan to rewrite the files of a table whose columns have other types than the table.

    Raises `CorruptDataFileError` for a file whose footer cannot be read.
    """
    planned = plan_files(snapshot, Selection())
    partitions = [snapshot.schema.field(name) for name in snapshot.partition_columns]
    if any(TYPE_CHANGES_KEY in field.metadata for field in partitions):
        are_stale = [True] * len(planned.tasks)
    else:
        narrow = {task.path for task in files_with_narrow_columns(planned.layout, planned.tasks)}
        are_stale = [task.path in narrow for task in planned.tasks]
    return OptimizePlan.of_stale(planned, target_size_of(snapshot, None), are_stale)
