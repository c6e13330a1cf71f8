"""What a read asks for, opened on the driver: `TableScan`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from deltaarrow.conditions import row_condition, row_predicate
from deltaarrow.engines import DeltaDataset
from deltaarrow.engines.dataset import LogDataset
from deltaarrow.engines.scanner import DeltaScanner
from deltaarrow.errors import SchemaMismatchError
from deltaarrow.expressions import to_arrow
from deltaarrow.scan import FileTask, scan_schema
from deltaarrow.schema import Schema
from deltaarrow.spark.options import ReadOptions
from deltaarrow.spark.types import FrameColumns
from deltaarrow.table import DeltaTable

__all__ = ["SplitScan", "TableScan"]

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

    No file is listed before the scanner is asked for.
    """

    pinned: ReadOptions
    dataset: LogDataset
    condition: pc.Expression | None
    columns: FrameColumns

    @classmethod
    def open(cls, options: ReadOptions) -> "TableScan":
        """Open the table, or what changed in it.

        Raises what `deltaarrow.DeltaTable`, its `to_pyarrow_table` and its `load_cdf` raise.
        """
        return _feed_scan(options) if options.is_feed else _table_scan(options)

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
        tasks = self.scanner.plan.tasks
        limit = self.pinned.partition_bytes
        if limit is None:
            total = sum(task.size + _OPEN_BYTES for task in tasks)
            limit = min(max(total // _WANTED_SPLITS, _LEAST_BYTES), _MOST_BYTES)
        splits: list[list[FileTask]] = []
        room = 0
        for task in (part for each in tasks for part in each.parts(max(limit, _LEAST_PART))):
            cost = task.span_size + _OPEN_BYTES
            if not splits or cost > room:
                splits.append([])
                room = limit
            splits[-1].append(task)
            room -= cost
        return [tuple(split) for split in splits]


def _table_scan(options: ReadOptions) -> TableScan:
    table = DeltaTable(options.path, options.version, dict(options.storage_options))
    snapshot = table.snapshot
    condition = row_condition(snapshot, None, options.filter)
    pinned = replace(options, version=table.version())
    wanted = snapshot.schema.names if options.columns is None else options.columns
    columns = _frame_columns(scan_schema(snapshot), wanted)
    return TableScan(pinned, DeltaDataset(snapshot), condition, columns)


def _feed_scan(options: ReadOptions) -> TableScan:
    table = DeltaTable(options.path, storage_options=dict(options.storage_options))
    feed = table.change_data_feed(
        options.starting_version,
        options.ending_version,
        options.starting_timestamp,
        options.ending_timestamp,
    )
    schema = feed.logical_schema
    condition = None if options.filter is None else to_arrow(row_predicate(options.filter, schema))
    pinned = options
    if versions := feed.versions:
        pinned = replace(
            options,
            starting_version=versions[0],
            ending_version=versions[-1],
            starting_timestamp=None,
            ending_timestamp=None,
        )
    wanted = schema.names if options.columns is None else options.columns
    return TableScan(pinned, feed, condition, _frame_columns(schema, wanted))


def _frame_columns(schema: Schema, wanted: Sequence[str]) -> FrameColumns:
    if len(set(wanted)) < len(wanted):
        raise SchemaMismatchError(f"a column is asked for twice: {', '.join(wanted)}")
    return FrameColumns.of_table(Schema([schema.field(name) for name in wanted]))
