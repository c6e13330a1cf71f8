"""Scans: planned from a snapshot, carried out file by file, by SQL or by Arrow batches."""

from typing import TYPE_CHECKING

from deltaarrow.lazy import lazy_attributes
from deltaarrow.scan.plan import PLAN_COLUMNS, ScanPlan, plan_scan, table_layout
from deltaarrow.scan.tasks import FileTask, TableLayout, file_tasks

if TYPE_CHECKING:
    from deltaarrow.scan.batches import BatchReader
    from deltaarrow.scan.count import count_rows

__all__ = [
    "PLAN_COLUMNS",
    "BatchReader",
    "FileTask",
    "ScanPlan",
    "TableLayout",
    "count_rows",
    "file_tasks",
    "plan_scan",
    "table_layout",
]

__getattr__ = lazy_attributes(
    __name__, {"BatchReader": "deltaarrow.scan.batches", "count_rows": "deltaarrow.scan.count"}
)
