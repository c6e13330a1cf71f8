"""DELETE: removes the rows that satisfy a condition, without reading files that it covers entirely."""

from dataclasses import replace
from typing import Any

import deltaarrow.scan as scan
from deltaarrow.expressions import Predicate, is_exact
from deltaarrow.operations.commit.operation_parameters import predicates_parameter
from deltaarrow.operations.dml.changed_rows import Clause, ClauseKind, exported_name
from deltaarrow.operations.dml.clause_query import ClauseQuery
from deltaarrow.operations.dml.operation import TARGET, RowOperation, file_metrics, single_scope, times
from deltaarrow.operations.dml.row_scope import ALWAYS, QueryCondition
from deltaarrow.operations.dml.staging import StagedRows
from deltaarrow.operations.rows.mark_or_rewrite import LostRows

__all__ = ["delete_rows", "explain_delete"]


def delete_rows(operation: RowOperation, predicate: str | None, target_alias: str = TARGET) -> dict[str, Any]:
    """Delete the rows for which a condition is TRUE, or all rows if it is None, and commit.

    Returns the metrics under the names of ``deltalake``.

    Raises the exceptions of `RowScope.condition` for the condition, and the exceptions of commits.
    """
    condition = _condition(operation, predicate, target_alias)
    plan = _plan(operation, condition)
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


def explain_delete(
    operation: RowOperation, predicate: str | None, target_alias: str = TARGET
) -> "scan.Explanation":
    """Return which files `delete_rows` reads; nothing is committed."""
    condition = _condition(operation, predicate, target_alias)
    plan = _plan(operation, condition)
    is_whole = _whole_files(plan, condition) is not None
    rewrites = not is_whole and not operation.transaction.marks_deleted_rows
    columns = None if rewrites else plan.columns
    found = scan.explain_scan(operation.snapshot, _pruning(condition), columns)
    return replace(found, notes=("the files are removed without being read",)) if is_whole else found


def _condition(operation: RowOperation, predicate: str | None, target_alias: str) -> QueryCondition:
    return ALWAYS if predicate is None else single_scope(operation, target_alias).condition(predicate)


def _pruning(condition: QueryCondition) -> Predicate | None:
    return None if condition is ALWAYS else condition.pruning


def _plan(operation: RowOperation, condition: QueryCondition) -> scan.ScanPlan:
    names = {name for _, name in condition.columns}
    return operation.plan(_pruning(condition), names, operation.matcher(condition))


def _whole_files(plan: scan.ScanPlan, condition: QueryCondition) -> list[int] | None:
    """Return the indexes of the files to delete, if the condition covers each of them entirely; else None."""
    if condition is ALWAYS:
        return list(range(plan.files.num_rows))
    partitions = set(plan.layout.partition_columns)
    if {name for _, name in condition.columns} <= partitions and is_exact(condition.pruning):
        return scan.matching_files(plan, condition.pruning)
    return None


def _remove(operation: RowOperation, plan: scan.ScanPlan, places: list[int]) -> StagedRows:
    lost = LostRows.of(operation.transaction, plan, dict.fromkeys(places))
    lost.stage(operation.transaction)
    return StagedRows(by_clause={0: lost.lost_rows})


def _delete_found(operation: RowOperation, plan: scan.ScanPlan, condition: QueryCondition) -> StagedRows:
    # The feed derives deleted rows from deletion vectors; it would take copied rows for inserted ones.
    writes_changes = operation.has_change_feed and not operation.transaction.marks_deleted_rows
    ids = scan.ROW_TRACKING_COLUMNS if writes_changes and operation.tracking is not None else ()
    names = plan.layout.table_schema.names if writes_changes else []
    plan = operation.plan_of(plan.files, {*plan.columns, *names, *ids})

    old = {name: f"j.{exported_name('t', name)}" for name in names}
    query = ClauseQuery(operation.schema, Clause(ClauseKind.DELETE, condition), tuple(ids), tuple(names), old)
    return operation.stage(plan, query, writes_changes=writes_changes)
