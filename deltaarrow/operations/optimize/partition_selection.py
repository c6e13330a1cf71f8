"""Selection of partitions for an OPTIMIZE, by conditions on partition values alone."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from deltaarrow.columnar.numpy_arrays import booleans, integers, numbers_of
from deltaarrow.errors import InvalidPredicateError
from deltaarrow.expressions import And, columns_of
from deltaarrow.operations.commit.operation_parameters import predicates_parameter
from deltaarrow.operations.optimize.bins import partition_numbers
from deltaarrow.operations.rows.row_id_assignment import tracking_of
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
    planned = ScanPlan(layout, snapshot.version, tuple(snapshot.schema.names), files)
    planned = _in_partitions(planned, selection.conditions)
    if tracking is not None:
        ensure_recorded(planned.files, ROW_TRACKING_COLUMNS)
    ensure_distinct_files(snapshot.store, planned.files)
    return planned


def _ensure_on_partitions(condition: RowCondition, partition_columns: Sequence[str]) -> None:
    others = {path[0] for path in columns_of(condition.predicate)} - set(partition_columns)
    if others:
        raise InvalidPredicateError(
            f"the predicate names {', '.join(sorted(others))}; files can be chosen by partition columns"
            f" alone: {list(partition_columns)} (Spark: DELTA_NON_PARTITION_COLUMN_REFERENCE)"
        )


def _in_partitions(plan: ScanPlan, conditions: Sequence[RowCondition]) -> ScanPlan:
    """Return the files of partitions that meet all conditions, which name partition columns alone."""
    if not conditions or not plan.files.num_rows:
        return plan
    partitions = partition_numbers(plan)
    firsts = np.unique(partitions, return_index=True)[1]
    batch = _partition_rows(plan.layout, file_tasks(plan.files.take(integers(firsts))))
    for condition in conditions:
        batch = condition.select(batch)
    is_chosen = np.isin(partitions, numbers_of(batch.column(FILE_COLUMN)))
    return replace(plan, files=plan.files.filter(booleans(is_chosen)))


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
