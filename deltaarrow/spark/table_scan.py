"""The scan of a batch read, opened on the driver: `TableScan`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from deltaarrow.errors import SchemaMismatchError
from deltaarrow.expressions import Predicate
from deltaarrow.log.version_arguments import parse_moment
from deltaarrow.runtime.fork_safety import cached_property
from deltaarrow.scan import (
    ChangePlan,
    FileTask,
    RowCondition,
    ScanPlan,
    feed_layout,
    joined_predicate,
    plan_changes,
    plan_scan,
    resolve_versions,
    scan_schema,
    table_layout,
)
from deltaarrow.schema import Schema
from deltaarrow.snapshot import Snapshot
from deltaarrow.spark.options import ReadOptions
from deltaarrow.spark.split_scan import SplitScan, needed_columns, split_tasks
from deltaarrow.spark.type_conversion import FrameColumns
from deltaarrow.table import DeltaTable
from deltaarrow.table.filters import row_condition, table_conditions

__all__ = ["TableScan", "frame_columns"]


@dataclass(frozen=True)
class TableScan:
    """The scan of a batch read; `pinned` are the options that repeat it after the table has changed.

    `version` is the version whose columns it has. Files are listed only when the plan is asked for.
    """

    pinned: ReadOptions
    version: int
    conditions: tuple[RowCondition, ...]
    columns: FrameColumns
    open_plan: Callable[[Predicate | None, Sequence[str]], ScanPlan | ChangePlan]

    @classmethod
    def open(cls, options: ReadOptions) -> "TableScan":
        """Open the table, or its change feed.

        Raises the errors of `deltaarrow.DeltaTable`, its `to_pyarrow_table` and its `load_cdf`.
        """
        return _feed_scan(options) if options.is_feed else _table_scan(options)

    @cached_property
    def plan(self) -> ScanPlan | ChangePlan:
        """Return a plan of all files that may hold rows of the read.

        Raises the errors of `DeltaTable.change_data_feed` for versions that cannot be read together.
        """
        return self.open_plan(
            joined_predicate(self.conditions), needed_columns(self.columns, self.conditions)
        )

    @property
    def split_scan(self) -> SplitScan:
        """The part that executors do."""
        return SplitScan.of(self.plan, self.columns, self.conditions)

    def splits(self) -> list[tuple[FileTask, ...]]:
        """The files, grouped into parts of about the size in the options."""
        return split_tasks(self.plan.tasks, self.pinned.partition_bytes)


def _table_scan(options: ReadOptions) -> TableScan:
    table = DeltaTable(options.path, options.version, dict(options.storage_options))
    snapshot = table.snapshot
    conditions = table_conditions(snapshot, None, options.filter)
    pinned = replace(options, version=table.version())
    wanted = snapshot.schema.names if options.columns is None else options.columns
    columns = frame_columns(scan_schema(snapshot), wanted)
    return TableScan(pinned, table.version(), conditions, columns, partial(plan_scan, snapshot))


def _feed_scan(options: ReadOptions) -> TableScan:
    newest = DeltaTable(options.path, storage_options=dict(options.storage_options)).snapshot
    since, until = options.starting_timestamp, options.ending_timestamp
    versions = resolve_versions(
        newest,
        options.starting_version,
        options.ending_version,
        None if since is None else parse_moment(since, later=True),
        None if until is None else parse_moment(until),
    )
    pinned, last = options, newest
    if versions:
        pinned = replace(
            options,
            starting_version=versions[0],
            ending_version=versions[-1],
            starting_timestamp=None,
            ending_timestamp=None,
        )
        if versions[-1] < newest.version:
            last = Snapshot.load(newest.store, versions[-1])
    schema = feed_layout(table_layout(last)).schema
    conditions = () if options.filter is None else (row_condition(options.filter, schema),)
    wanted = schema.names if options.columns is None else options.columns
    return TableScan(
        pinned,
        last.version,
        conditions,
        frame_columns(schema, wanted),
        lambda predicate, names: plan_changes(newest, versions).narrow(predicate, names),
    )


def frame_columns(schema: Schema, wanted: Sequence[str]) -> FrameColumns:
    """Return the columns of a frame that shows the wanted columns of a schema.

    Raises `SchemaMismatchError` for a name that does not exist or comes twice.
    """
    if len(set(wanted)) < len(wanted):
        raise SchemaMismatchError(f"a column is asked for twice: {', '.join(wanted)}; name each column once")
    return FrameColumns.of_table(Schema([schema.field(name) for name in wanted]))
