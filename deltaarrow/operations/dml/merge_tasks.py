"""A MERGE in tasks, for an executor that runs them in other processes.

Each task joins some files of the table with the whole source, which it reads from a file. No two tasks share
a row of the table, so each task by itself finds rows that several source rows match. The tasks tell which
source rows match any row. Then further tasks insert the others, each those of a part of the source, by the
same query over no rows of the table. If all files fit into one task, it inserts rows as well.
"""

from collections.abc import Sequence
from dataclasses import replace

from deltaarrow.operations.dml.change_task import ChangedRows, ChangeTask, RowChanges
from deltaarrow.operations.dml.join_query import JoinQuery
from deltaarrow.operations.dml.merge_source import SourceFile, SourceRows
from deltaarrow.operations.dml.operation import RowOperation
from deltaarrow.operations.dml.staging import RowStage, StagedRows
from deltaarrow.runtime.executors import Executor, Threads, executor_in_use

__all__ = ["stage_in_tasks"]


def stage_in_tasks(
    operation: RowOperation, stage: RowStage, file: SourceFile, whole: JoinQuery, matches: JoinQuery | None
) -> StagedRows:
    """Stage the changes of a merge.

    Args:
        operation: the operation.
        stage: stages the changes of its plan.
        file: the source.
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

    every = SourceRows(file)
    # Identity columns are numbered in one sequence, so this process inserts their rows.
    is_numbered = bool(changes.numbering.columns)
    if matches is None:
        return stage.stage_tasks([task(changes.of(part), whole, every) for part in parts], parts)
    if len(parts) <= 1 and not is_numbered:
        return stage.stage_tasks([task(changes, whole, every)], [range(changes.plan.files.num_rows)])

    def inserts(changed: ChangedRows) -> tuple[Sequence[ChangeTask], Executor]:
        of = replace(changes.of(()), others_change=bool(changed.gone))
        shares = [None] if is_numbered else executor.parts(file.sizes)
        if len(changed.sources) == file.rows:
            shares = []
        tasks = [task(of, whole, SourceRows(file, share, changed.sources)) for share in shares or ()]
        return tasks, Threads() if is_numbered else executor

    tasks = [task(changes.of(part), matches, every) for part in parts]
    return stage.stage_tasks(tasks, parts, inserts)
