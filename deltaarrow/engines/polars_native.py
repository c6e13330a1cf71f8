"""Data files as scans of Polars's own Parquet reader.

A scan is given the *physical* schema: the names that data files use, with the types of the table, so
that Polars widens, reorders and fills what is absent. A projection above it, through which Polars
pushes filters, gives columns their logical names and adds what stands in the log alone:

=====================  ==============================================================================
partition values       a literal for every distinct tuple of values, a scan each
physical names         an alias at the top level; nested ones are renamed with the shape kept
void columns           a literal NULL, whatever the files hold
deletion vectors       the hook of `deltaarrow.engines.polars_hooks`, else a row index and an anti
                       join, file by file
=====================  ==============================================================================

Which tables and files can be read like this is decided by `deltaarrow.engines.polars_limits`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltaarrow.engines.polars_hooks import deletion_arguments, is_hook_verified, read_deleted_rows
from deltaarrow.engines.polars_limits import BoundFile, storage_arguments
from deltaarrow.optional import require
from deltaarrow.scan import FileTask, TableLayout
from deltaarrow.schema import ArrayType, DataType, Field, MapType, PrimitiveType, StructType, to_arrow_type

if TYPE_CHECKING:
    import polars as pl
else:
    pl = require("polars")

__all__ = ["NativeScan", "polars_schema", "polars_type"]

_VOID = PrimitiveType("void")


def polars_type(data_type: DataType) -> pl.DataType:
    """Return the Polars type of a Delta type: the one that Polars gives to its Arrow form.

    >>> from deltaarrow.schema import MapType, PrimitiveType
    >>> polars_type(MapType(PrimitiveType("string"), PrimitiveType("timestamp")))
    Map(String, Datetime(time_unit='us', time_zone='UTC'))
    """
    return pl.Schema(pa.schema([("column", to_arrow_type(data_type))]))["column"]


def polars_schema(fields: Iterable[Field]) -> pl.Schema:
    """Return the Polars schema of some columns of a table."""
    return pl.Schema({field.name: polars_type(field.type) for field in fields})


@dataclass(frozen=True)
class NativeScan:
    """Builds lazy frames of the columns `columns`, in that order, of files of one table.

    The partition columns in `unread` are there as NULLs: nobody will look at them.
    """

    layout: TableLayout
    columns: tuple[str, ...]
    unread: frozenset[str] = frozenset()

    def frames(self, files: Sequence[BoundFile]) -> list[pl.LazyFrame]:
        """Return lazy frames that hold the live rows of `files` together; each path is there once."""
        groups: dict[tuple[object, ...], list[FileTask]] = {}
        hook = is_hook_verified()
        for file in files:
            alone = file.task.path if file.task.deletion_vector is not None and not hook else None
            groups.setdefault((file.is_complete, alone, *self._partition_key(file.task)), []).append(
                file.task
            )
        return [self._frame(tasks, is_complete=key[0] is True, hook=hook) for key, tasks in groups.items()]

    @cached_property
    def _physical(self) -> dict[str, Field]:
        """The wanted columns that are read from files: logical name -> field under its physical name."""
        pairs = zip(self.layout.schema.fields, self.layout.physical_schema.fields, strict=True)
        wanted = {field.name for field in self.layout.data_fields if field.type != _VOID} & {*self.columns}
        return {logical.name: physical for logical, physical in pairs if logical.name in wanted}

    @cached_property
    def _partitions(self) -> tuple[Field, ...]:
        wanted = {*self.columns} - self.unread
        return tuple(field for field in self.layout.partition_fields if field.name in wanted)

    def _partition_key(self, task: FileTask) -> tuple[str | None, ...]:
        return tuple(task.partition_values.get(self.layout.physical_name(f)) for f in self._partitions)

    def _frame(self, tasks: Sequence[FileTask], *, is_complete: bool, hook: bool) -> pl.LazyFrame:
        by_location = {self.layout.store.location(task.path): task for task in tasks}
        if hook:
            arguments = deletion_arguments(self.layout.store, by_location)
            scan = self._scan(list(by_location), is_complete, arguments)
        else:
            scan = self._scan(list(by_location), is_complete, {})
            if tasks[0].deletion_vector is not None:
                scan = self._without_deleted(list(by_location), is_complete, tasks[0])
        expressions = self._expressions(tasks[0])
        if self._physical:
            return scan.select(expressions)
        # A selection of nothing but literals has one row, whatever the scan has.
        return scan.with_columns(expressions)

    def _scan(self, locations: list[str], is_complete: bool, arguments: dict[str, Any]) -> pl.LazyFrame:
        absent: Any = "raise" if is_complete else "insert"
        return pl.scan_parquet(
            locations,
            schema=dict(polars_schema(self._physical.values())),
            # Paths and their folders are names, not patterns or values.
            glob=False,
            hive_partitioning=False,
            missing_columns=absent,
            extra_columns="ignore",
            cast_options=pl.ScanCastOptions(
                integer_cast="upcast",
                float_cast="upcast",
                # INT96 counts nanoseconds and days, and knows no time zone; Delta's are microseconds in UTC.
                datetime_cast=("nanosecond-downcast", "millisecond-upcast", "convert-timezone"),
                missing_struct_fields=absent,
                extra_struct_fields="ignore",
            ),
            **storage_arguments(self.layout.store),
            **arguments,
        )

    def _without_deleted(self, locations: list[str], is_complete: bool, task: FileTask) -> pl.LazyFrame:
        index = "row"
        while index in {field.name for field in self._physical.values()}:
            index += "_"
        (deleted,) = read_deleted_rows(self.layout.store, [task])
        positions = pl.from_arrow(deleted.positions())
        assert isinstance(positions, pl.Series)
        rows = pl.LazyFrame({index: positions.cast(pl.get_index_type())})
        scan = self._scan(locations, is_complete, {"row_index_name": index})
        return scan.join(rows, on=index, how="anti", maintain_order="left").drop(index)

    def _expressions(self, task: FileTask) -> list[pl.Expr]:
        logical = {field.name: field for field in self.layout.schema.fields}
        expressions = []
        for name in self.columns:
            field = logical[name]
            if name in self._physical:
                source = self._physical[name]
                found = _renamed(pl.col(source.name), source.type, field.type)
            else:
                value = self.layout.partition_value(task, field) if field in self._partitions else None
                found = pl.lit(value, dtype=polars_type(field.type))
            expressions.append(found.alias(name))
        return expressions


def _renamed(expression: pl.Expr, source: DataType, target: DataType) -> pl.Expr:
    """Give nested fields their logical names; NULL structs stay NULL."""
    if source == target:
        return expression
    match source, target:
        case StructType(), StructType():
            pairs = [(s, t) for s, t in zip(source.fields, target.fields, strict=True) if s.type != t.type]
            if pairs:
                inner = [_renamed(pl.field(s.name), s.type, t.type) for s, t in pairs]
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
