"""Scans of data files with Polars's own Parquet reader.

A scan gets the *physical* schema: the names in the data files with the types of the table, so that Polars
widens, reorders and fills in missing columns. A projection above it, through which Polars pushes filters,
gives columns their logical names and adds what only the log has:

=====================  ==============================================================================
partition values       one scan with a literal for every distinct tuple of values; if there are many
                       tuples, one scan joined by file number
physical names         an alias at the top level; nested fields are renamed in place
void columns           a literal NULL, whatever the files hold
deletion vectors       the hook of `deltaarrow.engines.polars.private_hooks`, else a row index and an anti
                       join per file; in plain scans `deltaarrow.engines.polars.live_rows`
=====================  ==============================================================================

`deltaarrow.engines.polars.reader_limits` decides which tables and files can be read like this.
"""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltaarrow.engines.polars.live_rows import LiveRows
from deltaarrow.engines.polars.object_stores import storage_arguments
from deltaarrow.engines.polars.private_hooks import deletion_arguments, is_hook_verified, read_deleted_rows
from deltaarrow.engines.polars.reader_limits import BoundFile
from deltaarrow.runtime.fork_safety import cached_property
from deltaarrow.runtime.optional import require
from deltaarrow.scan import FileTask, TableLayout
from deltaarrow.scan.damage import location_to_read
from deltaarrow.schema import ArrayType, DataType, Field, MapType, PrimitiveType, StructType, to_arrow_type

if TYPE_CHECKING:
    import polars as pl
else:
    pl = require("polars")

__all__ = ["USUAL_LIMITS", "NativeScan", "PolarsLimits", "polars_schema", "polars_type"]

_VOID = PrimitiveType("void")


@dataclass(frozen=True)
class PolarsLimits:
    """Numbers of files and scans at which another plan becomes the quicker one; the rows are the same."""

    most_files: int = 64
    """As many files Polars may open to find that no row of theirs matches."""

    most_scans: int = 64
    """With more distinct partition values than that one scan is joined with them, instead of a scan each."""

    most_runs: int = 8
    """So many scans are united, where files with deletion vectors and without stand in runs."""


USUAL_LIMITS = PolarsLimits()


def polars_type(data_type: DataType) -> pl.DataType:
    """Return the Polars type of a Delta type, which is the one Polars uses for its Arrow form.

    >>> from deltaarrow.schema import MapType, PrimitiveType
    >>> polars_type(MapType(PrimitiveType("string"), PrimitiveType("timestamp")))
    Map(String, Datetime(time_unit='us', time_zone='UTC'))
    """
    return pl.Schema(pa.schema([("column", to_arrow_type(data_type))]))["column"]


def polars_schema(fields: Iterable[Field]) -> pl.Schema:
    """Return the Polars schema of some columns of a table."""
    return pl.Schema(pa.schema([(field.name, to_arrow_type(field.type)) for field in fields]))


@dataclass(frozen=True)
class NativeScan:
    """Builds lazy frames with the columns `columns`, in that order, from files of one table.

    The partition columns in `unread` are filled with NULLs: nothing reads them.
    """

    layout: TableLayout
    columns: tuple[str, ...]
    unread: frozenset[str] = frozenset()
    limits: PolarsLimits = USUAL_LIMITS

    def in_order(self, tasks: Sequence[FileTask]) -> list[FileTask]:
        """Return the files in the order in which `frames` reads them; a limit takes the first ones."""
        groups: dict[tuple[str | None, ...], list[FileTask]] = {}
        for task in tasks:
            groups.setdefault(self._partition_key(task), []).append(task)
        return [task for group in groups.values() for task in group]

    def frames(self, files: Sequence[BoundFile]) -> list[pl.LazyFrame]:
        """Return lazy frames that together hold the live rows of `files`, in which each path occurs once."""
        hook = is_hook_verified()
        alone = [f for f in files if f.task.deletion_vector is not None and not hook]
        frames = [self._single(file) for file in alone]
        for is_complete in (True, False):
            groups: dict[tuple[str | None, ...], list[FileTask]] = {}
            for file in files:
                if file.is_complete == is_complete and (hook or file.task.deletion_vector is None):
                    groups.setdefault(self._partition_key(file.task), []).append(file.task)
            if len(groups) > self.limits.most_scans:
                frames.append(
                    self._joined([task for tasks in groups.values() for task in tasks], is_complete)
                )
            else:
                frames += [
                    self._project(self._scan(tasks, is_complete), tasks[0]) for tasks in groups.values()
                ]
        return frames

    def plain(self, files: Sequence[BoundFile], row_counts: Sequence[int]) -> pl.LazyFrame | None:
        """Return one lazy frame of files that are all similar; None unless they hold exactly the columns.

        `row_counts` are the rows of each file, deleted ones included.
        Polars reads the metadata of the files of such a scan while planning, and orders joins by it. It would
        not if it were told the schema.
        """
        tasks = [file.task for file in files]
        whole = [replace(task, deletion_vector=None) for task in tasks]
        scan = self._scan(whole, is_complete=True, schema=None)
        if dict(scan.collect_schema()) != dict(self._physical_schema):
            return None
        if any(task.deletion_vector is not None for task in tasks):
            scan = self._live(tasks, row_counts)
        return self._project(scan, tasks[0])

    def _live(self, tasks: Sequence[FileTask], row_counts: Sequence[int]) -> pl.LazyFrame:
        """The live rows of similar files; if deletion vectors come in few runs of files, run by run.

        With deleted rows in one of 15 files, queries 1, 3 and 6 of TPC-H take 1.08, 1.01 and 1.08 of the
        process time without deletions, and 1.12 each if the rows of all files are looked up.
        """
        counted = zip(tasks, row_counts, strict=True)
        runs = [[*run] for _, run in itertools.groupby(counted, lambda file: file[0].deletion_vector is None)]
        if 1 < len(runs) <= self.limits.most_runs:
            return pl.concat([self._live(*zip(*run, strict=True)) for run in runs])
        whole = [replace(task, deletion_vector=None) for task in tasks]
        if len(runs) == 1 and tasks[0].deletion_vector is None:
            return self._scan(whole, is_complete=True, schema=None)
        live = LiveRows(self.layout.store, tasks, row_counts)
        if not live.are_numbered:
            return self._scan(tasks, is_complete=True, schema=None)
        number, verdict = self._unused_names(2)
        scan = self._scan(whole, is_complete=True, schema=None, row_index_name=number)
        return live.of(scan, number, verdict)

    @cached_property
    def _physical_schema(self) -> pl.Schema:
        """The requested columns that are read from files, under their physical names."""
        return polars_schema(self._physical.values())

    @cached_property
    def _physical(self) -> dict[str, Field]:
        """The requested columns that are read from files: logical name -> field under its physical name."""
        pairs = zip(self.layout.schema.fields, self.layout.physical_schema.fields, strict=True)
        wanted = {field.name for field in self.layout.data_fields if field.type != _VOID} & {*self.columns}
        return {logical.name: physical for logical, physical in pairs if logical.name in wanted}

    @cached_property
    def _partitions(self) -> tuple[Field, ...]:
        wanted = {*self.columns} - self.unread
        return tuple(field for field in self.layout.partition_fields if field.name in wanted)

    def _partition_key(self, task: FileTask) -> tuple[str | None, ...]:
        return tuple(task.partition_values.get(self.layout.physical_name(f)) for f in self._partitions)

    def _project(self, scan: pl.LazyFrame, task: FileTask) -> pl.LazyFrame:
        """The requested columns of files that have the partition values of `task`."""
        return self._select(
            scan,
            {
                field.name: _literal(self.layout.partition_value(task, field), polars_type(field.type))
                for field in self._partitions
            },
        )

    def _joined(self, tasks: Sequence[FileTask], is_complete: bool) -> pl.LazyFrame:
        """The requested columns of files with any partition values, joined from a small table by file."""
        path, *names = self._unused_names(1 + len(self._partitions))
        locations = [self.layout.store.location(task.path) for task in tasks]
        # Fails on any other path; within a file it is one value, and so are values computed from it.
        number = pl.col(path).cast(pl.Enum(locations)).to_physical()
        values = [
            pl.Series(
                name, [self.layout.partition_value(task, field) for task in tasks], polars_type(field.type)
            )
            for name, field in zip(names, self._partitions, strict=True)
        ]
        by_number = pl.LazyFrame([pl.Series(path, locations, pl.Enum(locations)).to_physical(), *values])
        scan = self._scan(tasks, is_complete, include_file_paths=path).with_columns(number)
        joined = scan.join(by_number, on=path, how="left", maintain_order="left")
        partitions = zip(self._partitions, names, strict=True)
        return self._select(joined, {field.name: pl.col(name) for field, name in partitions})

    def _single(self, file: BoundFile) -> pl.LazyFrame:
        """The requested columns of the live rows of one file with a deletion vector, by public means."""
        (index,) = self._unused_names(1)
        (deleted,) = read_deleted_rows(self.layout.store, [file.task])
        positions = pl.from_arrow(deleted.positions())
        assert isinstance(positions, pl.Series)
        rows = pl.LazyFrame({index: positions.cast(pl.get_index_type())})
        clean = replace(file.task, deletion_vector=None)
        scan = self._scan([clean], file.is_complete, row_index_name=index)
        live = scan.join(rows, on=index, how="anti", maintain_order="left")
        return self._project(live.drop(index), file.task)

    def _scan(self, tasks: Sequence[FileTask], is_complete: bool, **arguments: Any) -> pl.LazyFrame:
        """The physical columns of files, without deleted rows."""
        by_location = {location_to_read(self.layout.store, task.path): task for task in tasks}
        absent: Any = "raise" if is_complete else "insert"
        arguments = {"schema": dict(self._physical_schema), **arguments}
        return pl.scan_parquet(
            list(by_location),
            # Paths are literal names, not patterns, and their folders are not partition values.
            glob=False,
            hive_partitioning=False,
            missing_columns=absent,
            extra_columns="ignore",
            cast_options=pl.ScanCastOptions(
                integer_cast="upcast",
                float_cast="upcast",
                # INT96 counts days and nanoseconds without zone; Delta's timestamps are microseconds in UTC.
                datetime_cast=("nanosecond-downcast", "millisecond-upcast", "convert-timezone"),
                missing_struct_fields=absent,
                extra_struct_fields="ignore",
            ),
            **storage_arguments(self.layout.store),
            **deletion_arguments(self.layout.store, by_location),
            **arguments,
        )

    def _unused_names(self, count: int) -> list[str]:
        taken = {field.name for field in self._physical.values()}
        free = (name for number in itertools.count() if (name := f"column {number}") not in taken)
        return list(itertools.islice(free, count))

    def _select(self, scan: pl.LazyFrame, partitions: Mapping[str, pl.Expr]) -> pl.LazyFrame:
        logical = {field.name: field for field in self.layout.schema.fields}
        expressions = []
        for name in self.columns:
            field = logical[name]
            if name in self._physical:
                source = self._physical[name]
                found = _renamed(pl.col(source.name), source.type, field.type)
            else:
                found = partitions.get(name, pl.lit(None, dtype=polars_type(field.type)))
            expressions.append(found.alias(name))
        if self._physical:
            return scan.select(expressions)
        # A select of only literals has one row, whatever the scan has, and an empty select has none.
        return scan.with_columns(expressions).select(self.columns) if self.columns else scan


def _literal(value: Any, data_type: pl.DataType) -> pl.Expr:
    if isinstance(value, float) and value == 0 and math.copysign(1, value) < 0:
        # Polars considers zero literals of either sign equal, and merges scans that differ only in them.
        return pl.lit(pl.Series([value], dtype=data_type)).first()
    return pl.lit(value, dtype=data_type)


def _renamed(expression: pl.Expr, source: DataType, target: DataType) -> pl.Expr:
    """Give nested fields their logical names; NULL structs stay NULL."""
    if source == target:
        return expression
    match source, target:
        case StructType(), StructType():
            pairs = [(s, t) for s, t in zip(source.fields, target.fields, strict=True) if s.type != t.type]
            if pairs:
                # Not pl.field: inside another struct, Polars looks for it in the wrong one.
                inner = [_renamed(expression.struct.field(s.name), s.type, t.type) for s, t in pairs]
                expression = expression.struct.with_fields(inner)
            return expression.struct.rename_fields([field.name for field in target.fields])
        case ArrayType(), ArrayType():
            return expression.list.eval(_renamed(pl.element(), source.element_type, target.element_type))
        case MapType(), MapType():
            entries = ArrayType(_entry(source)), ArrayType(_entry(target))
            listed = _renamed(expression.cast(polars_type(entries[0])), *entries)
            return listed.cast(polars_type(target))
    return expression


def _entry(data_type: MapType) -> StructType:
    return StructType([Field("key", data_type.key_type), Field("value", data_type.value_type)])
