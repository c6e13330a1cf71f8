"""Scans: planned from a snapshot, carried out file by file, by SQL or by Arrow batches."""

from typing import TYPE_CHECKING

from deltaarrow.runtime.lazy import lazy_attributes

if TYPE_CHECKING:
    from deltaarrow.scan.batches import BatchReader
    from deltaarrow.scan.change_reader import ChangeReader
    from deltaarrow.scan.changes import ChangePlan, plan_changes, resolve_versions
    from deltaarrow.scan.compatibility import TableShape, incompatibility
    from deltaarrow.scan.count import count_rows
    from deltaarrow.scan.explain import Explanation, explain_scan
    from deltaarrow.scan.feed_tasks import (
        commit_tasks,
        commit_timestamp,
        feed_layout,
        feed_values,
        matching_tasks,
    )
    from deltaarrow.scan.located import (
        located_rows,
        located_type,
        naming_damaged_files,
        reader_failure,
    )
    from deltaarrow.scan.matches import FileMatches, count_live_rows, find_matches, matching_files
    from deltaarrow.scan.plan import (
        PLAN_COLUMNS,
        ScanPlan,
        ensure_distinct_files,
        plan_scan,
        row_tracking_of,
        scan_schema,
        table_layout,
    )
    from deltaarrow.scan.row_condition import (
        ArrowCondition,
        Given,
        RowCondition,
        TreeCondition,
        joined_predicate,
        row_conditions,
        undecided_conditions,
    )
    from deltaarrow.scan.row_id_columns import (
        ROW_COMMIT_VERSION,
        ROW_ID,
        ROW_TRACKING_COLUMNS,
        RowTracking,
        ensure_recorded,
        with_row_tracking,
    )
    from deltaarrow.scan.tasks import FILE_COLUMN, ROW_COLUMN, FileTask, TableLayout, file_tasks

__all__ = [
    "FILE_COLUMN",
    "PLAN_COLUMNS",
    "ROW_COLUMN",
    "ROW_COMMIT_VERSION",
    "ROW_ID",
    "ROW_TRACKING_COLUMNS",
    "ArrowCondition",
    "BatchReader",
    "ChangePlan",
    "ChangeReader",
    "Explanation",
    "FileMatches",
    "FileTask",
    "Given",
    "RowCondition",
    "RowTracking",
    "ScanPlan",
    "TableLayout",
    "TableShape",
    "TreeCondition",
    "commit_tasks",
    "commit_timestamp",
    "count_live_rows",
    "count_rows",
    "ensure_distinct_files",
    "ensure_recorded",
    "explain_scan",
    "feed_layout",
    "feed_values",
    "file_tasks",
    "find_matches",
    "incompatibility",
    "joined_predicate",
    "located_rows",
    "located_type",
    "matching_files",
    "matching_tasks",
    "naming_damaged_files",
    "plan_changes",
    "plan_scan",
    "reader_failure",
    "resolve_versions",
    "row_conditions",
    "row_tracking_of",
    "scan_schema",
    "table_layout",
    "undecided_conditions",
    "with_row_tracking",
]

__getattr__ = lazy_attributes(
    __name__,
    {
        "FILE_COLUMN": "deltaarrow.scan.tasks",
        "PLAN_COLUMNS": "deltaarrow.scan.plan",
        "ROW_COLUMN": "deltaarrow.scan.tasks",
        "ROW_COMMIT_VERSION": "deltaarrow.scan.row_id_columns",
        "ROW_ID": "deltaarrow.scan.row_id_columns",
        "ROW_TRACKING_COLUMNS": "deltaarrow.scan.row_id_columns",
        "ArrowCondition": "deltaarrow.scan.row_condition",
        "BatchReader": "deltaarrow.scan.batches",
        "Given": "deltaarrow.scan.row_condition",
        "RowCondition": "deltaarrow.scan.row_condition",
        "TreeCondition": "deltaarrow.scan.row_condition",
        "joined_predicate": "deltaarrow.scan.row_condition",
        "row_conditions": "deltaarrow.scan.row_condition",
        "undecided_conditions": "deltaarrow.scan.row_condition",
        "ChangePlan": "deltaarrow.scan.changes",
        "ChangeReader": "deltaarrow.scan.change_reader",
        "Explanation": "deltaarrow.scan.explain",
        "FileMatches": "deltaarrow.scan.matches",
        "FileTask": "deltaarrow.scan.tasks",
        "RowTracking": "deltaarrow.scan.row_id_columns",
        "ScanPlan": "deltaarrow.scan.plan",
        "TableLayout": "deltaarrow.scan.tasks",
        "TableShape": "deltaarrow.scan.compatibility",
        "commit_tasks": "deltaarrow.scan.feed_tasks",
        "commit_timestamp": "deltaarrow.scan.feed_tasks",
        "count_live_rows": "deltaarrow.scan.matches",
        "count_rows": "deltaarrow.scan.count",
        "ensure_distinct_files": "deltaarrow.scan.plan",
        "ensure_recorded": "deltaarrow.scan.row_id_columns",
        "explain_scan": "deltaarrow.scan.explain",
        "feed_layout": "deltaarrow.scan.feed_tasks",
        "feed_values": "deltaarrow.scan.feed_tasks",
        "file_tasks": "deltaarrow.scan.tasks",
        "find_matches": "deltaarrow.scan.matches",
        "incompatibility": "deltaarrow.scan.compatibility",
        "located_rows": "deltaarrow.scan.located",
        "located_type": "deltaarrow.scan.located",
        "matching_files": "deltaarrow.scan.matches",
        "matching_tasks": "deltaarrow.scan.feed_tasks",
        "naming_damaged_files": "deltaarrow.scan.located",
        "reader_failure": "deltaarrow.scan.located",
        "plan_changes": "deltaarrow.scan.changes",
        "plan_scan": "deltaarrow.scan.plan",
        "resolve_versions": "deltaarrow.scan.changes",
        "row_tracking_of": "deltaarrow.scan.plan",
        "scan_schema": "deltaarrow.scan.plan",
        "table_layout": "deltaarrow.scan.plan",
        "with_row_tracking": "deltaarrow.scan.row_id_columns",
    },
)
