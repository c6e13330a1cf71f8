"""A MERGE in tasks, for an executor that runs them in other processes.

Each task joins some files of the table with the rows of the source that may match rows of these files. It
reads them from a file. No two tasks share a row of the table, so each task by itself finds rows that several
source rows match. The tasks tell which source rows match any row. Then further tasks insert the others, each
those of a part of the source, by the same query over no rows of the table. If all files fit into one task, it
inserts rows as well.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from deltaarrow.operations.dml.change_task import ChangedRows, ChangeTask, RowChanges
from deltaarrow.operations.dml.join_query import JoinQuery
from deltaarrow.operations.dml.merge_source import SourceFile, SourceRows
from deltaarrow.operations.dml.operation import RowOperation
from deltaarrow.operations.dml.staging import RowStage, StagedRows
from deltaarrow.runtime.executors import executor_in_use

__all__ = ["SourceMatches", "stage_in_tasks"]


@dataclass(frozen=True)
class SourceMatches:
    """A source, and what is known of its matches.

    Args:
        file: the source.
        files: for each batch of the source a mask of the files of the plan that may have matching rows; None
            if any file may match any batch.
    """

    file: SourceFile
    files: Sequence[np.ndarray] | None

    def of(self, places: Sequence[int]) -> SourceRows:
        """Return the rows that may match rows of some files of the plan."""
        if self.files is None:
            return SourceRows(self.file)
        return SourceRows(self.file, [batch for batch, mask in enumerate(self.files) if mask[places].any()])


def stage_in_tasks(
    operation: RowOperation,
    stage: RowStage,
    source: SourceMatches,
    whole: JoinQuery,
    matches: JoinQuery | None,
) -> StagedRows:
    """Stage the changes of a merge.

    Args:
        operation: the operation.
        stage: stages the changes of its plan.
        source: the source.
        whole: the query of the merge on one node.
        matches: the query of the same without inserted rows, which tells the numbers of source rows; None if
            the merge inserts nothing.

    Raises what a task raises; no new file is left then.
    """
    changes, executor = stage.changes, executor_in_use()
    parts = executor.parts([task.size for task in changes.plan.tasks])
    assert parts is not None

    def task(of: RowChanges, query: JoinQuery, rows: SourceRows) -> ChangeTask:
        of_task = replace(query, source=rows)
        return ChangeTask(of, of_task, operation.now_ms, operation.memory_limit, operation.spill_limit)

    file = source.file
    if matches is None:
        return stage.stage_tasks([task(changes.of(part), whole, source.of(part)) for part in parts], parts)
    if len(parts) <= 1:
        return stage.stage_tasks(
            [task(changes, whole, SourceRows(file))], [range(changes.plan.files.num_rows)]
        )

    def inserts(changed: ChangedRows) -> Sequence[ChangeTask]:
        if len(changed.sources) == sum(file.rows):
            return []
        of = replace(changes.of(()), others_change=bool(changed.gone))
        tasks, before = [], 0
        for share in file.shares(executor):
            # A row of the source is inserted at most once.
            numbering = changes.numbering.after(before)
            rows = SourceRows(file, share, changed.sources)
            tasks.append(task(replace(of, numbering=numbering), whole, rows))
            before += sum(file.rows[batch] for batch in share)
        return tasks

    tasks = [task(changes.of(part), matches, source.of(part)) for part in parts]
    return stage.stage_tasks(tasks, parts, inserts)
