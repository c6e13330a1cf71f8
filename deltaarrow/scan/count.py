"""Row count of a snapshot: from statistics in the log or, for files without them, from footers."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from deltaarrow.compute import files_cursor
from deltaarrow.runtime.lazy import lazy_attributes
from deltaarrow.scan.plan import PLAN_COLUMNS, ensure_distinct_files, table_layout
from deltaarrow.scan.tasks import FileTask, file_tasks
from deltaarrow.snapshot import Snapshot

if TYPE_CHECKING:
    from deltaarrow.scan.batches import BatchReader

__all__ = ["count_rows"]

_FEW = 1_000
"""Up to this many files, parsing their statistics in Python is faster than preparing a DuckDB query."""
# Lazy, because most counts need no data file.
_load = lazy_attributes(__name__, {"BatchReader": "deltaarrow.scan.batches"})

_COUNT_SQL = """
    SELECT coalesce(sum(records - coalesce(deletion_vector.cardinality, 0)), 0)
    FROM files WHERE records IS NOT NULL
"""
# An impossible numRecords counts as missing; the footer is read.
_COUNTED_SQL = """
    SELECT *, CASE WHEN number >= coalesce(deletion_vector.cardinality, 0) THEN number END AS records
    FROM (SELECT *, try_cast(try(stats ->> '$.numRecords') AS BIGINT) AS number FROM listed)
"""


def count_rows(snapshot: Snapshot) -> int:
    """Return the number of live rows of a snapshot."""
    files = snapshot.files(columns=PLAN_COLUMNS)
    if not files.num_rows:
        return 0
    ensure_distinct_files(snapshot.store, files)
    if files.num_rows <= _FEW:
        return _count_tasks(snapshot, file_tasks(files))
    with files_cursor(snapshot.store) as cursor:
        cursor.register("listed", files)
        (known,) = cursor.sql(f"WITH files AS ({_COUNTED_SQL}) {_COUNT_SQL}").fetchall()[0]
        names = ", ".join(PLAN_COLUMNS)
        unknown = cursor.sql(f"SELECT {names} FROM ({_COUNTED_SQL}) WHERE records IS NULL").to_arrow_table()
    return int(known) + _count_tasks(snapshot, file_tasks(unknown))


def _count_tasks(snapshot: Snapshot, tasks: Sequence[FileTask]) -> int:
    known, unknown = 0, []
    for task in tasks:
        deleted = 0 if task.deletion_vector is None else task.deletion_vector.cardinality
        if task.num_records is None or task.num_records < deleted:
            unknown.append(task)
        else:
            known += task.num_records - deleted
    if not unknown:
        return known
    reader: BatchReader = _load("BatchReader")(table_layout(snapshot), ())
    return known + reader.count(unknown)
