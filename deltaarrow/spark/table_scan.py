"""What a read asks for, opened on the driver: `TableScan`."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from deltaarrow.conditions import parse_moment, row_condition, row_predicate
from deltaarrow.engines import ChangeDataset, DeltaDataset
from deltaarrow.engines.dataset import LogDataset
from deltaarrow.engines.scanner import DeltaScanner
from deltaarrow.errors import SchemaMismatchError
from deltaarrow.expressions import to_arrow
from deltaarrow.scan import (
    FileTask,
    feed_layout,
    plan_changes,
    resolve_versions,
    scan_schema,
    table_layout,
)
from deltaarrow.schema import Schema
from deltaarrow.snapshot import Snapshot
from deltaarrow.spark.options import ReadOptions
from deltaarrow.spark.types import FrameColumns
from deltaarrow.table import DeltaTable

__all__ = ["SplitScan", "TableScan", "frame_columns", "split_tasks"]

_OPEN_BYTES = 4 << 20
"""What opening a file counts for, as ``spark.sql.files.openCostInBytes`` has it."""

_LEAST_BYTES, _MOST_BYTES = 16 << 20, 128 << 20
_WANTED_SPLITS = 16
_LEAST_PART = 1 << 20
"""No smaller part of a file is worth opening it once more."""


@dataclass(frozen=True)
class SplitScan:
    """Reads the rows of some files as Spark takes them; small and picklable."""

    scanner: DeltaScanner
    columns: FrameColumns

    def read(self, tasks: Sequence[FileTask]) -> Iterator[pa.RecordBatch]:
        """Yield the rows that the read asks for."""
        return map(self.columns.to_spark, self.scanner.read(tasks))


@dataclass(frozen=True)
class TableScan:
    """What a read shows; `pinned` are the options that repeat it when the table has changed.

    `version` is the one whose columns it has. No file is listed before the dataset is asked for.
    """

    pinned: ReadOptions
    version: int
    condition: pc.Expression | None
    columns: FrameColumns
    open_dataset: Callable[[], LogDataset]

    @classmethod
    def open(cls, options: ReadOptions) -> "TableScan":
        """Open the table, or what changed in it.

        Raises what `deltaarrow.DeltaTable`, its `to_pyarrow_table` and its `load_cdf` raise.
        """
        return _feed_scan(options) if options.is_feed else _table_scan(options)

    @cached_property
    def dataset(self) -> LogDataset:
        """The rows of the read and more: neither its condition nor its columns are applied.

        Raises what `DeltaTable.change_data_feed` raises for versions that cannot be read together.
        """
        return self.open_dataset()

    @cached_property
    def scanner(self) -> DeltaScanner:
        """The scan of all files that may hold rows of the read."""
        scanner = self.dataset.scanner(self.columns.schema.names, self.condition)
        _ = scanner.projected_schema  # raises for a condition that cannot be evaluated
        return scanner

    @property
    def split_scan(self) -> SplitScan:
        """What executors do."""
        return SplitScan(self.scanner.without_tasks(), self.columns)

    def splits(self) -> list[tuple[FileTask, ...]]:
        """The files in parts of about as many bytes as the options say, but of a row group at least.

        Without a word of the options there are 16 parts, as long as each is of 16 to 128 MiB.
        """
        return split_tasks(self.scanner.plan.tasks, self.pinned.partition_bytes)


def split_tasks(tasks: Sequence[FileTask], partition_bytes: int | None) -> list[tuple[FileTask, ...]]:
    """Put tasks into splits of about so many bytes, or of as many as `TableScan.splits` says.

    No split holds a file twice: a reader takes the deletion vectors of its files by their paths.
    """
    limit = partition_bytes
    if limit is None:
        total = sum(task.size + _OPEN_BYTES for task in tasks)
        limit = min(max(total // _WANTED_SPLITS, _LEAST_BYTES), _MOST_BYTES)
    splits: list[list[FileTask]] = []
    room, paths = 0, set[str]()
    for task in _parts(tasks, max(limit, _LEAST_PART)):
        cost = task.span_size + _OPEN_BYTES
        if not splits or cost > room or task.path in paths:
            splits.append([])
            room, paths = limit, set()
        splits[-1].append(task)
        room -= cost
        paths.add(task.path)
    return [tuple(split) for split in splits]


def _parts(tasks: Sequence[FileTask], size: int) -> Iterable[FileTask]:
    return (part for task in tasks for part in task.parts(size))


def _table_scan(options: ReadOptions) -> TableScan:
    table = DeltaTable(options.path, options.version, dict(options.storage_options))
    snapshot = table.snapshot
    condition = row_condition(snapshot, None, options.filter)
    pinned = replace(options, version=table.version())
    wanted = snapshot.schema.names if options.columns is None else options.columns
    columns = frame_columns(scan_schema(snapshot), wanted)
    return TableScan(pinned, table.version(), condition, columns, lambda: DeltaDataset(snapshot))


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
    condition = None if options.filter is None else to_arrow(row_predicate(options.filter, schema))
    wanted = schema.names if options.columns is None else options.columns
    return TableScan(
        pinned,
        last.version,
        condition,
        frame_columns(schema, wanted),
        lambda: ChangeDataset(plan_changes(newest, versions)),
    )


def frame_columns(schema: Schema, wanted: Sequence[str]) -> FrameColumns:
    """Return the columns of a frame that shows those of a schema by the wanted names.

    Raises `SchemaMismatchError` for a name that is not there or comes twice.
    """
    if len(set(wanted)) < len(wanted):
        raise SchemaMismatchError(f"a column is asked for twice: {', '.join(wanted)}")
    return FrameColumns.of_table(Schema([schema.field(name) for name in wanted]))
