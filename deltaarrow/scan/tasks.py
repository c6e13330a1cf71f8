"""`FileTask`, one file of a scan, and `TableLayout`, its table; both picklable.

Executors run tasks, so this module depends on neither snapshot nor log.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import orjson
import pyarrow as pa

from deltaarrow.deletion_vectors import DeletionVectorDescriptor
from deltaarrow.errors import CorruptLogError
from deltaarrow.partitions import parse_partition_value
from deltaarrow.runtime.fork_safety import cached_property
from deltaarrow.scan.char_padding import Paddings, padded_value, paddings_of
from deltaarrow.scan.row_id_columns import ROW_TRACKING_COLUMNS, RowTracking
from deltaarrow.schema import (
    Field,
    PrimitiveType,
    Schema,
    holds_char,
    physical_name,
    to_arrow_schema,
    to_physical_schema,
)
from deltaarrow.storage import Store

__all__ = ["FILE_COLUMN", "ROW_COLUMN", "FileTask", "TableLayout", "credible_row_count", "file_tasks"]

FILE_COLUMN = "__file"
"""The column with the index of a row's file in a scan, on request."""

ROW_COLUMN = "__row"
"""The column with the position of a row in its file, on request."""

_MOST_CREDIBLE_ROWS = 1 << 28


@dataclass(frozen=True)
class TableLayout:
    """The layout of a table's rows in its files, shared by all tasks of a scan.

    If `row_tracking` is set, `schema` includes the row tracking columns (`with_row_tracking`). Strings of
    CHAR(n) are padded, unless `pads` is false.
    """

    store: Store
    schema: Schema
    partition_columns: tuple[str, ...]
    mapping_mode: str
    row_tracking: RowTracking | None = None
    pads: bool = True

    @cached_property
    def padded_columns(self) -> frozenset[str]:
        """The columns with strings to pad."""
        return frozenset(field.name for field in self.schema.fields if self.pads and holds_char(field))

    @cached_property
    def _paddings(self) -> dict[str, Paddings]:
        return {}

    def paddings(self, name: str) -> Paddings:
        """Return the strings to pad in a column.

        Raises `UnsupportedFeatureError` if the type that it is declared as does not fit its own.
        """
        if name not in self.padded_columns:
            return {}
        if name not in self._paddings:
            self._paddings[name] = paddings_of(self.schema.field(name))
        return self._paddings[name]

    @property
    def as_stored(self) -> "TableLayout":
        """The same layout with the strings of CHAR(n) as the files hold them."""
        return replace(self, pads=False)

    @cached_property
    def data_fields(self) -> tuple[Field, ...]:
        """The columns that are stored in data files, under their logical names."""
        return tuple(f for f in self.schema.fields if f.name not in self.partition_columns)

    @cached_property
    def partition_fields(self) -> tuple[Field, ...]:
        """The columns that are stored in the log, in the order of the partition columns."""
        by_name = {f.name: f for f in self.schema.fields}
        return tuple(by_name[name] for name in self.partition_columns)

    @cached_property
    def table_schema(self) -> Schema:
        """The schema without the row tracking columns."""
        if self.row_tracking is None:
            return self.schema
        return Schema([f for f in self.schema.fields if not self.is_row_tracking(f)])

    @cached_property
    def physical_schema(self) -> Schema:
        """The schema with the physical names of data files."""
        own = to_physical_schema(self.table_schema, self.mapping_mode)
        if self.row_tracking is None:
            return own
        hidden = self.schema.fields[len(own.fields) :]
        return Schema([*own.fields, *(replace(f, name=self.physical_name(f)) for f in hidden)])

    @cached_property
    def arrow_schema(self) -> pa.Schema:
        """The logical Arrow schema of the table."""
        return to_arrow_schema(self.schema)

    def physical_name(self, field: Field) -> str:
        """Return the name of a top-level column in files, statistics and partition values."""
        if self.row_tracking is not None and self.is_row_tracking(field):
            return self.row_tracking.materialized(field.name)
        return physical_name(field, self.mapping_mode)

    def is_row_tracking(self, field: Field) -> bool:
        """Tell whether a column is a row tracking column."""
        return self.row_tracking is not None and field.name in ROW_TRACKING_COLUMNS

    def partition_value(self, task: "FileTask", field: Field) -> Any:
        """Return the typed value of a partition column for one file."""
        if not isinstance(field.type, PrimitiveType):
            raise TypeError(f"the partition column {field.name} has type {field.type}, not a primitive type")
        text = task.partition_values.get(self.physical_name(field))
        try:
            value = parse_partition_value(text, field.type, field.name)
        except CorruptLogError as error:
            raise CorruptLogError(f"the action on {task.path}: {error}") from error
        return padded_value(value, self.paddings(field.name))


@dataclass(frozen=True)
class FileTask:
    """One logical file: a data file and its deletion vector, if any.

    `path` is a store name, `size` is in bytes, and `partition_values` are under physical names, as in the
    log. If `only_in` is set, the rows are those that this deletion vector marks and `deletion_vector` does
    not. `base_row_id` and `default_row_commit_version` are set in scans that request them. If `span` is set,
    the task covers only the row groups that begin in this byte range of the file.
    """

    path: str
    size: int
    partition_values: Mapping[str, str | None]
    stats: str | None = None
    deletion_vector: DeletionVectorDescriptor | None = None
    only_in: DeletionVectorDescriptor | None = None
    base_row_id: int | None = None
    default_row_commit_version: int | None = None
    span: range | None = None

    @property
    def span_size(self) -> int:
        """The number of bytes of the file that the task covers."""
        return self.size if self.span is None else min(self.span.stop, self.size) - self.span.start

    def parts(self, size: int) -> "list[FileTask]":
        """Split the task into parts of about `size` bytes; each row is in exactly one part."""
        count = max(1, -(-self.size // size))
        if self.span is not None or count == 1:
            return [self]
        bounds = [self.size * place // count for place in range(count)]
        # The last part is open-ended, because the size in the log may be too small.
        spans = map(range, bounds, [*bounds[1:], sys.maxsize])
        return [replace(self, span=span) for span in spans]

    @cached_property
    def num_records(self) -> int | None:
        """The number of rows of the data file, including deleted rows; None without a credible number."""
        return credible_row_count(self.stats)


def credible_row_count(stats: str | None) -> int | None:
    """Return the number of rows that the statistics of a file tell; None if it is missing or incredible.

    >>> credible_row_count('{"numRecords":3}')
    3
    """
    if stats is None:
        return None
    try:
        count = orjson.loads(stats).get("numRecords")
    except (orjson.JSONDecodeError, AttributeError):
        return None
    # Memory is allocated by this number, so larger numbers are taken from the footer instead.
    return count if type(count) is int and 0 <= count <= _MOST_CREDIBLE_ROWS else None


def _descriptor(value: dict[str, Any] | None) -> DeletionVectorDescriptor | None:
    return None if value is None else DeletionVectorDescriptor(**value)


def file_tasks(files: pa.Table) -> list[FileTask]:
    """Return a task for every row of a table of files, in order."""
    columns = [
        files.column("path").to_pylist(),
        files.column("size").to_pylist(),
        files.column("partition_values").to_pylist(maps_as_pydicts="strict"),
        files.column("stats").to_pylist(),
        files.column("deletion_vector").to_pylist(),
        *(
            files.column(name).to_pylist() if name in files.column_names else [None] * files.num_rows
            for name in ("base_row_id", "default_row_commit_version")
        ),
    ]
    return [
        FileTask(path, size, values, stats, _descriptor(dv), None, row_id, commit_version)
        for path, size, values, stats, dv, row_id, commit_version in zip(*columns, strict=True)
    ]
