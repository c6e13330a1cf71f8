"""Checks of what the log says about each file: partition values, row ids and record counts."""

from collections.abc import Mapping, Sequence

import numpy as np
import orjson

from deltaarrow.actions.domain_names import ROW_TRACKING_DOMAIN
from deltaarrow.errors import DeltaError
from deltaarrow.features import is_supported, properties
from deltaarrow.log import commit_name
from deltaarrow.partitions import parse_partition_value
from deltaarrow.scan import FileTask, TableLayout
from deltaarrow.schema import PrimitiveType
from deltaarrow.snapshot import Snapshot
from deltaarrow.verify.report import Check, Examination

__all__ = ["examine_num_records", "examine_partition_values", "examine_row_ids"]

_HIGH_WATER_MARK = "rowIdHighWaterMark"


def examine_partition_values(found: Examination, layout: TableLayout, tasks: Sequence[FileTask]) -> None:
    """Check that every partition column has a value, and that it is valid for the column's type."""
    columns = layout.partition_fields
    if not columns:
        return
    verdicts: dict[tuple[str, str | None], str | None] = {}
    for task in tasks:
        found.checked[Check.PARTITION_VALUES] += 1
        for column in columns:
            name = layout.physical_name(column)
            if name not in task.partition_values:
                what = f"there is no value for the partition column {column.name!r}"
                found.error(Check.PARTITION_VALUES, what, task.path)
                continue
            key = (name, task.partition_values[name])
            if key not in verdicts:
                verdicts[key] = _fault(key[1], column.type, column.name)
            if (fault := verdicts[key]) is not None:
                found.error(Check.PARTITION_VALUES, fault, task.path)


def _fault(text: str | None, data_type: object, column: str) -> str | None:
    """Why a text is not a valid partition value; None if it is one."""
    if not isinstance(data_type, PrimitiveType):
        return f"the partition column {column!r} is of type {data_type!r}"
    try:
        parse_partition_value(text, data_type, column)
    except DeltaError as error:
        return str(error)
    return None


def examine_num_records(found: Examination, tasks: Sequence[FileTask], rows: Mapping[str, int]) -> None:
    """Check that statistics can be parsed and count as many rows as the footers do."""
    for task in tasks:
        if task.stats is None:
            continue
        found.checked[Check.STATISTICS] += 1
        if task.num_records is None:
            if not _is_object(task.stats):
                found.warning(Check.STATISTICS, "the statistics are not a JSON object", task.path)
        elif task.path in rows and task.num_records != rows[task.path]:
            what = f"numRecords is {task.num_records}, but the file has {rows[task.path]} rows"
            found.error(Check.STATISTICS, what, task.path)


def _is_object(text: str) -> bool:
    try:
        return isinstance(orjson.loads(text), dict)
    except orjson.JSONDecodeError:
        return False


def examine_row_ids(
    found: Examination,
    snapshot: Snapshot,
    tasks: Sequence[FileTask],
    bases: Sequence[int | None],
    rows: Mapping[str, int],
) -> None:
    """Check that row ids exist, lie below the high-water mark and are assigned once.

    `bases` are the base row ids of `tasks`, `rows` the row counts by path, where known.
    """
    if not is_supported(snapshot.protocol, "rowTracking"):
        return
    found.checked[Check.ROW_IDS] += len(tasks)
    if properties.ENABLE_ROW_TRACKING.parse(snapshot.configuration):
        for task, base in zip(tasks, bases, strict=True):
            if base is None:
                found.error(
                    Check.ROW_IDS, "the file has no base row id, but row tracking is enabled", task.path
                )
    numbered = [
        (base, count, task.path)
        for task, base in zip(tasks, bases, strict=True)
        if base is not None and (count := rows.get(task.path, task.num_records)) is not None
    ]
    if not numbered:
        return
    first = np.array([base for base, _, _ in numbered], np.int64)
    end = first + np.array([count for _, count, _ in numbered], np.int64)
    mark = _high_water_mark(found, snapshot)
    if mark is not None:
        for i in np.flatnonzero(end - 1 > mark):
            what = f"its last row id is {end[i] - 1}, above the high-water mark of the table, {mark}"
            found.error(Check.ROW_IDS, what, numbered[i][2])
    order = np.lexsort((end, first))
    order = order[end[order] > first[order]]
    # The greatest end of all files that begin earlier, and the file that has it.
    reached = np.maximum.accumulate(end[order])
    for i in np.flatnonzero(first[order][1:] < reached[:-1]) + 1:
        other = order[np.argmax(end[order][:i] == reached[i - 1])]
        what = f"its row ids from {first[order[i]]} on are also those of {numbered[other][2]!r}"
        found.error(Check.ROW_IDS, what, numbered[order[i]][2])


def _high_water_mark(found: Examination, snapshot: Snapshot) -> int | None:
    domain = snapshot.domains.get(ROW_TRACKING_DOMAIN)
    if domain is None:
        return None
    try:
        return int(orjson.loads(domain.configuration)[_HIGH_WATER_MARK])
    except (ValueError, TypeError, KeyError):
        what = f"the domain {ROW_TRACKING_DOMAIN!r} holds no {_HIGH_WATER_MARK}"
        found.error(Check.ROW_IDS, what, commit_name(snapshot.version))
        return None
