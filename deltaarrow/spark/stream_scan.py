"""`StreamScan`: the columns and the filter of a stream, for the files of any batch.

The columns are those of the table when the stream was loaded. Files of other versions are read with them if
those versions had the same columns, or fewer.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from deltaarrow.actions import FILE_SCHEMA
from deltaarrow.runtime.fork_safety import cached_property
from deltaarrow.scan import (
    PLAN_COLUMNS,
    ChangePlan,
    FileTask,
    RowCondition,
    ScanPlan,
    TableLayout,
    feed_layout,
    joined_predicate,
    matching_tasks,
    table_layout,
)
from deltaarrow.snapshot import Snapshot
from deltaarrow.spark.split_scan import SplitScan, needed_columns, split_tasks
from deltaarrow.spark.stream_options import StreamOptions
from deltaarrow.spark.table_scan import frame_columns
from deltaarrow.spark.type_conversion import FrameColumns
from deltaarrow.storage import open_store
from deltaarrow.table.filters import row_condition

__all__ = ["StreamScan"]


@dataclass(frozen=True)
class StreamScan:
    """The columns and the filter of a stream, and the version whose schema it has."""

    options: StreamOptions
    snapshot: Snapshot
    layout: TableLayout
    conditions: tuple[RowCondition, ...]
    columns: FrameColumns

    @classmethod
    def open(cls, options: StreamOptions, version: int | None = None) -> "StreamScan":
        """Open the table at a version, or at its newest one.

        Raises the errors of `deltaarrow.DeltaTable`, `InvalidPredicateError` for a filter that is not
        understood, and `SchemaMismatchError` for an unknown column.
        """
        snapshot = Snapshot.load(open_store(options.path, dict(options.storage_options)), version)
        layout = table_layout(snapshot)
        if options.is_feed:
            layout = feed_layout(layout)
        conditions: tuple[RowCondition, ...] = ()
        if options.filter is not None:
            conditions = (row_condition(options.filter, layout.schema, snapshot.partition_columns),)
        wanted = layout.schema.names if options.columns is None else options.columns
        return cls(options, snapshot, layout, conditions, frame_columns(layout.schema, wanted))

    @property
    def version(self) -> int:
        """The version whose columns the stream has."""
        return self.snapshot.version

    @cached_property
    def split_scan(self) -> SplitScan:
        """The part that executors do."""
        needed = needed_columns(self.columns, self.conditions)
        plan: ScanPlan | ChangePlan
        if self.options.is_feed:
            plan = self._change_plan(()).narrow(columns=needed)
        else:
            files = pa.Table.from_batches([], FILE_SCHEMA).select(PLAN_COLUMNS)
            plan = ScanPlan(self.layout, self.version, needed, files)
        return SplitScan.of(plan, self.columns, self.conditions)

    def splits(self, tasks: Sequence[FileTask]) -> list[tuple[FileTask, ...]]:
        """Group the tasks whose files may hold rows of the stream into splits."""
        predicate = joined_predicate(self.conditions)
        if predicate is not None:
            if self.options.is_feed:
                tasks = self._change_plan(tasks).narrow(predicate).tasks
            else:
                tasks = matching_tasks(tasks, self.layout, predicate)
        return split_tasks(tasks, self.options.partition_bytes)

    def _change_plan(self, tasks: Sequence[FileTask]) -> ChangePlan:
        return ChangePlan(self.layout, range(0), tuple(self.layout.schema.names), tuple(tasks))
