"""DELETE: rows that meet a condition go, by metadata alone where it is about whole files."""

from typing import Any

import deltaarrow.scan as scan
from deltaarrow.expressions import is_exact
from deltaarrow.operations.dml.operation import (
    RowOperation,
    file_metrics,
    predicates_parameter,
    rows_sql,
    single_scope,
    times,
)
from deltaarrow.operations.dml.query import ChangeQuery, Clause, ClauseKind, exported_name
from deltaarrow.operations.dml.row_scope import ALWAYS, QueryCondition
from deltaarrow.operations.dml.staging import StagedRows
from deltaarrow.operations.mark_or_rewrite import LostRows

__all__ = ["delete_rows"]


def delete_rows(operation: RowOperation, predicate: str | None) -> dict[str, Any]:
    """Delete the rows for which a condition is TRUE, all of them if it is None, and commit.

    Returns the metrics by the names that ``deltalake`` has for them.

    Raises what `RowScope.condition` raises for the condition, and the exceptions of commits.
    """
    condition = ALWAYS if predicate is None else single_scope(operation).condition(predicate)
    names = {name for _, name in condition.columns}
    plan = operation.plan(
        None if predicate is None else condition.pruning, names, operation.matcher(condition)
    )
    whole = _whole_files(plan, condition)
    if operation.is_replay:
        staged = StagedRows()
    elif whole is not None:
        staged = _remove(operation, plan, whole)
    else:
        staged = _delete_found(operation, plan, condition)
    deleted = staged.rows([0])
    operation.commit(
        {"predicate": predicates_parameter(predicate)},
        staged,
        lambda: {"numDeletedRows": deleted, **file_metrics(staged)},
    )
    return {
        "num_added_files": len(staged.added),
        "num_removed_files": staged.losses.removed_files,
        "num_deleted_rows": deleted,
        "num_copied_rows": staged.copied_rows,
        **times(operation, staged),
    }


def _whole_files(plan: scan.ScanPlan, condition: QueryCondition) -> list[int] | None:
    """The places of the files whose rows all go, where that is so of every file that has such rows."""
    if condition is ALWAYS:
        return list(range(plan.files.num_rows))
    partitions = set(plan.layout.partition_columns)
    if {name for _, name in condition.columns} <= partitions and is_exact(condition.pruning):
        return scan.matching_files(plan, condition.pruning)
    return None


def _remove(operation: RowOperation, plan: scan.ScanPlan, places: list[int]) -> StagedRows:
    lost = LostRows(operation.transaction, plan, dict.fromkeys(places))
    lost.stage()
    return StagedRows(by_clause={0: lost.lost_rows})


def _delete_found(operation: RowOperation, plan: scan.ScanPlan, condition: QueryCondition) -> StagedRows:
    # A deletion by vectors is read from these; copies of the rows that stay would be taken for new ones.
    writes_changes = operation.has_change_feed and not operation.transaction.marks_deleted_rows
    ids = scan.ROW_TRACKING_COLUMNS if writes_changes and operation.tracking is not None else ()
    names = plan.layout.table_schema.names if writes_changes else []
    plan = operation.plan_of(plan.files, {*plan.columns, *names, *ids})

    def query(_: Any, rows: str) -> ChangeQuery:
        return ChangeQuery(
            rows_sql(rows, condition, ids, names),
            operation.schema,
            [Clause(ClauseKind.DELETE, condition)],
            has_row_ids=bool(ids),
            old={name: f"j.{exported_name('t', name)}" for name in names},
        )

    return operation.stage(plan, query, writes_changes=writes_changes)
