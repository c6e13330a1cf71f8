"""The partitions that an OPTIMIZE is for: conditions decided on partition values, without opening a file."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from deltaarrow.columnar.arrays import booleans, integers, numbers_of
from deltaarrow.errors import InvalidPredicateError
from deltaarrow.expressions import And, columns_of
from deltaarrow.operations.history import predicates_parameter
from deltaarrow.operations.optimize.bins import by_partition
from deltaarrow.operations.row_id_assignment import tracking_of
from deltaarrow.scan import (
    FILE_COLUMN,
    ROW_TRACKING_COLUMNS,
    FileTask,
    RowCondition,
    ScanPlan,
    TableLayout,
    ensure_distinct_files,
    ensure_recorded,
    file_tasks,
    table_layout,
)
from deltaarrow.snapshot import Snapshot

__all__ = ["Selection", "plan_files"]


@dataclass(frozen=True)
class Selection:
    """Which partitions are meant: those that meet all `conditions`; `predicate` is their SQL text."""

    conditions: tuple[RowCondition, ...] = ()
    predicate: str | None = None

    @property
    def text(self) -> str:
        """The conditions as history spells them."""
        return predicates_parameter(self.predicate)


def plan_files(snapshot: Snapshot, selection: Selection) -> ScanPlan:
    """Plan to read all columns, row ids among them, of the files of chosen partitions.

    Raises `InvalidPredicateError` for a condition that is not on partition columns.
    """
    tracking = tracking_of(snapshot)
    layout = table_layout(snapshot, tracking)
    for condition in selection.conditions:
        _ensure_on_partitions(condition, snapshot.partition_columns)
    predicates = tuple(condition.predicate for condition in selection.conditions)
    files = snapshot.files(And(predicates) if predicates else None)
    files = _in_partitions(layout, files, selection.conditions)
    if tracking is not None:
        ensure_recorded(files, ROW_TRACKING_COLUMNS)
    ensure_distinct_files(snapshot.store, files)
    return ScanPlan(layout, snapshot.version, tuple(snapshot.schema.names), files)


def _ensure_on_partitions(condition: RowCondition, partition_columns: Sequence[str]) -> None:
    others = {path[0] for path in columns_of(condition.predicate)} - set(partition_columns)
    if others:
        raise InvalidPredicateError(
            f"the predicate names {', '.join(sorted(others))}; files can be chosen by partition columns"
            f" alone: {list(partition_columns)}"
        )


def _in_partitions(layout: TableLayout, files: pa.Table, conditions: Sequence[RowCondition]) -> pa.Table:
    """Return the files of partitions that meet all conditions, which name partition columns alone."""
    if not conditions or not files.num_rows:
        return files
    tasks = file_tasks(files)
    partitions = by_partition(tasks, range(len(tasks)))
    batch = _partition_rows(layout, [tasks[places[0]] for places in partitions])
    for condition in conditions:
        batch = condition.select(batch)
    is_chosen = np.zeros(len(tasks), np.bool_)
    for number in numbers_of(batch.column(FILE_COLUMN)).tolist():
        is_chosen[partitions[number]] = True
    return files.filter(booleans(is_chosen))


def _partition_rows(layout: TableLayout, tasks: Sequence[FileTask]) -> pa.RecordBatch:
    """One row for each partition: its values, and its number under `FILE_COLUMN`."""
    fields = layout.partition_fields
    types = [layout.arrow_schema.field(each.name).type for each in fields]
    arrays = [
        pa.array([layout.partition_value(task, each) for task in tasks], of_type)
        for each, of_type in zip(fields, types, strict=True)
    ]
    return pa.RecordBatch.from_arrays(
        [*arrays, integers(np.arange(len(tasks)))], names=[*(each.name for each in fields), FILE_COLUMN]
    )
