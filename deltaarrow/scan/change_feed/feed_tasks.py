"""Tasks for the files that a commit changed, for a change data feed or for a stream of added rows.

A feed has the columns of the table and three more. Only `_change_type` may be stored in a file. Values of the
three columns that are constant in a file are partition values of its task.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa

from deltaarrow.actions.arrow_tables import build_array
from deltaarrow.errors import CorruptLogError, SchemaMismatchError
from deltaarrow.expressions import Predicate
from deltaarrow.log import CommitChanges, CommitTimes, FileChange
from deltaarrow.partitions import render_partition_value
from deltaarrow.scan.tasks import FileTask, TableLayout
from deltaarrow.schema import CHANGE_TYPE, COMMIT_TIMESTAMP, COMMIT_VERSION, Field, PrimitiveType, Schema
from deltaarrow.schema.metadata_keys import PHYSICAL_NAME_KEY
from deltaarrow.statistics import matching_rows

__all__ = [
    "commit_tasks",
    "commit_timestamp",
    "feed_layout",
    "feed_values",
    "matching_tasks",
    "render_instant",
]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TIMESTAMP = PrimitiveType("timestamp")
_FIELDS = (
    Field(CHANGE_TYPE, PrimitiveType("string")),
    Field(COMMIT_VERSION, PrimitiveType("long")),
    Field(COMMIT_TIMESTAMP, _TIMESTAMP),
)
_NAMES = frozenset(field.name for field in _FIELDS)


def feed_layout(table: TableLayout) -> TableLayout:
    """Return the layout of added and removed files in a feed.

    Raises `SchemaMismatchError` if the table has a column with a name of the feed's columns.
    """
    if clash := [f.name for f in table.schema.fields if f.name.casefold() in _NAMES]:
        raise SchemaMismatchError(
            f"the table has a column {clash[0]!r}, a name that the change data feed needs; rename the column"
        )
    # Files and partition values use these names in any mapping mode.
    mapped = table.mapping_mode != "none"
    fields = [Field(f.name, f.type, metadata={PHYSICAL_NAME_KEY: f.name}) if mapped else f for f in _FIELDS]
    constants = (*table.partition_columns, *(f.name for f in fields))
    return replace(table, schema=Schema([*table.schema.fields, *fields]), partition_columns=constants)


def feed_values(version: int, timestamp_ms: int, change_type: str | None = None) -> dict[str, str]:
    """Return the constant feed columns of a file as partition values."""
    values = {COMMIT_VERSION: str(version), COMMIT_TIMESTAMP: render_instant(timestamp_ms)}
    return values if change_type is None else values | {CHANGE_TYPE: change_type}


def render_instant(timestamp_ms: int) -> str:
    """Render the time of a commit, in milliseconds since the epoch, as timestamps in the log are spelled."""
    try:
        moment = _EPOCH + timedelta(milliseconds=timestamp_ms)
    except OverflowError as error:
        raise CorruptLogError(
            f"{timestamp_ms} ms since 1970 is not a valid time of a commit: it is out of range"
        ) from error
    return render_partition_value(moment, _TIMESTAMP) or ""


def commit_timestamp(times: CommitTimes, commit: CommitChanges) -> int:
    """Return the time of a commit that `times` lists, in milliseconds since the epoch."""
    if times.in_commit_since is None or commit.version < times.in_commit_since:
        return times.file_times[commit.version - times.commits[0].version]
    if commit.in_commit_timestamp is None:
        raise CorruptLogError(
            f"version {commit.version} has no inCommitTimestamp, although the table requires it"
        )
    return commit.in_commit_timestamp


def commit_tasks(
    commit: CommitChanges, layout: TableLayout, timestamp_ms: int | None = None
) -> list[FileTask]:
    """Return a task for every file that a commit changed, in order.

    With `timestamp_ms`, the time of the commit, the tasks are for a feed, and `layout` is a `feed_layout`.

    Raises `SchemaMismatchError` for a file with other partition columns than the table, and
    `CorruptLogError` for a file without partition values.
    """
    said: dict[str, str] = {}
    partitions = frozenset(layout.physical_name(field) for field in layout.partition_fields)
    if timestamp_ms is not None:
        said, partitions = feed_values(commit.version, timestamp_ms), partitions - _NAMES
    tasks = []
    for change in commit.files:
        values = _partition_values(change, commit.version, partitions) | said
        if timestamp_ms is not None and change.change_type is not None:
            values[CHANGE_TYPE] = change.change_type
        tasks.append(
            FileTask(
                path=change.path,
                size=change.size,
                partition_values=values,
                stats=change.stats,
                deletion_vector=change.deletion_vector,
                only_in=change.only_in,
            )
        )
    return tasks


def _partition_values(change: FileChange, version: int, partitions: frozenset[str]) -> dict[str, str | None]:
    values: Mapping[str, str | None] | None = change.partition_values
    if values is None and partitions:
        raise CorruptLogError(
            f"version {version} removes {change.path} without its partition values, so its rows cannot be"
            " shown as deletes; begin with a later version"
        )
    # Spark omits NULLs from the partition values of a removed file.
    values = dict(values or {})
    if not values.keys() <= partitions:
        raise SchemaMismatchError(
            f"version {version} changes {change.path}, which is partitioned by {sorted(values)}, but the"
            f" table is partitioned by {sorted(partitions)}"
        )
    return values


def matching_tasks(tasks: Sequence[FileTask], layout: TableLayout, predicate: Predicate) -> list[FileTask]:
    """Return the tasks whose files may hold a matching row, in order."""
    columns = {
        "stats": build_array([task.stats for task in tasks], pa.string()),
        "partition_values": build_array(
            [task.partition_values for task in tasks], pa.map_(pa.string(), pa.string())
        ),
    }
    mask = matching_rows(
        pa.table(columns), predicate, layout.schema, layout.mapping_mode, layout.partition_columns
    )
    return [tasks[place] for place in np.flatnonzero(mask).tolist()]
