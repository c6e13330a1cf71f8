"""Scans: planned from a snapshot, carried out file by file, by SQL or by Arrow batches."""

from typing import TYPE_CHECKING

from deltaarrow.runtime.lazy import lazy_package

if TYPE_CHECKING:
    from deltaarrow.scan.batches import BatchReader as BatchReader
    from deltaarrow.scan.change_feed.feed_tasks import (
        commit_tasks as commit_tasks,
        commit_timestamp as commit_timestamp,
        feed_layout as feed_layout,
        feed_values as feed_values,
        matching_tasks as matching_tasks,
    )
    from deltaarrow.scan.change_feed.plan import (
        ChangePlan as ChangePlan,
        plan_changes as plan_changes,
        resolve_versions as resolve_versions,
    )
    from deltaarrow.scan.change_feed.row_reader import ChangeReader as ChangeReader
    from deltaarrow.scan.compatibility import TableShape as TableShape, incompatibility as incompatibility
    from deltaarrow.scan.count import count_rows as count_rows
    from deltaarrow.scan.explanation import Explanation as Explanation, explain_scan as explain_scan
    from deltaarrow.scan.few_texts import columns_of_few_texts as columns_of_few_texts
    from deltaarrow.scan.file_schemas.dropped_columns import (
        files_with_dropped_columns as files_with_dropped_columns,
    )
    from deltaarrow.scan.file_schemas.widened_columns import (
        files_with_narrow_columns as files_with_narrow_columns,
    )
    from deltaarrow.scan.file_uris import list_file_uris as list_file_uris
    from deltaarrow.scan.metadata_column import METADATA as METADATA
    from deltaarrow.scan.plan import (
        PLAN_COLUMNS as PLAN_COLUMNS,
        ScanPlan as ScanPlan,
        ensure_distinct_files as ensure_distinct_files,
        metadata_of as metadata_of,
        plan_scan as plan_scan,
        row_tracking_of as row_tracking_of,
        scan_schema as scan_schema,
        table_layout as table_layout,
    )
    from deltaarrow.scan.recount_task import Recounted as Recounted, RecountTask as RecountTask
    from deltaarrow.scan.row_condition import (
        ArrowCondition as ArrowCondition,
        Given as Given,
        RowCondition as RowCondition,
        TreeCondition as TreeCondition,
        joined_predicate as joined_predicate,
        row_conditions as row_conditions,
        undecided_conditions as undecided_conditions,
    )
    from deltaarrow.scan.row_id_columns import (
        ROW_COMMIT_VERSION as ROW_COMMIT_VERSION,
        ROW_ID as ROW_ID,
        ROW_TRACKING_COLUMNS as ROW_TRACKING_COLUMNS,
        RowTracking as RowTracking,
        ensure_recorded as ensure_recorded,
        with_row_tracking as with_row_tracking,
    )
    from deltaarrow.scan.sql.located_rows import (
        located_rows as located_rows,
        located_type as located_type,
        naming_damaged_files as naming_damaged_files,
        reader_failure as reader_failure,
    )
    from deltaarrow.scan.sql.matches import (
        FileMatches as FileMatches,
        count_live_rows as count_live_rows,
        find_matches as find_matches,
        matching_files as matching_files,
    )
    from deltaarrow.scan.tasks import (
        FILE_COLUMN as FILE_COLUMN,
        ROW_COLUMN as ROW_COLUMN,
        FileTask as FileTask,
        TableLayout as TableLayout,
        credible_row_count as credible_row_count,
        file_tasks as file_tasks,
    )

__getattr__ = lazy_package(__name__)
