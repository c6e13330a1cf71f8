"""One file of a scan as a picklable task, and the table that it belongs to.

Executors run tasks, so nothing here knows a snapshot or a log.
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
from deltaarrow.scan.row_id_columns import ROW_TRACKING_COLUMNS, RowTracking
from deltaarrow.schema import Field, PrimitiveType, Schema, physical_name, to_arrow_schema, to_physical_schema
from deltaarrow.storage import Store

__all__ = ["FILE_COLUMN", "ROW_COLUMN", "FileTask", "TableLayout", "file_tasks"]

FILE_COLUMN = "__file"
"""The place of a row's file in a scan, where that is asked for."""

ROW_COLUMN = "__row"
"""The position of a row in its file, where that is asked for."""

_MOST_CREDIBLE_ROWS = 1 << 28


@dataclass(frozen=True)
class TableLayout:
    """How the rows of a table lie in its files: shared by all the tasks of a scan.

    With `row_tracking` the `schema` is the table's `with_row_tracking`.
    """

    store: Store
    schema: Schema
    partition_columns: tuple[str, ...]
    mapping_mode: str
    row_tracking: RowTracking | None = None

    @cached_property
    def data_fields(self) -> tuple[Field, ...]:
        """The columns whose values stand in data files, under their logical names."""
        return tuple(f for f in self.schema.fields if f.name not in self.partition_columns)

    @cached_property
    def partition_fields(self) -> tuple[Field, ...]:
        """The columns whose values stand in the log, in the order of the partitioning."""
        by_name = {f.name: f for f in self.schema.fields}
        return tuple(by_name[name] for name in self.partition_columns)

    @cached_property
    def table_schema(self) -> Schema:
        """The schema without the columns of row tracking."""
        if self.row_tracking is None:
            return self.schema
        return Schema([f for f in self.schema.fields if not self.is_row_tracking(f)])

    @cached_property
    def physical_schema(self) -> Schema:
        """The schema under the names that data files use."""
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
        """Tell whether a column is one of those that come from row tracking."""
        return self.row_tracking is not None and field.name in ROW_TRACKING_COLUMNS

    def partition_value(self, task: "FileTask", field: Field) -> Any:
        """Return the typed value of a partition column for one file."""
        if not isinstance(field.type, PrimitiveType):
            raise TypeError(f"the partition column {field.name} is of type {field.type}")
        text = task.partition_values.get(self.physical_name(field))
        try:
            return parse_partition_value(text, field.type, field.name)
        except CorruptLogError as error:
            raise CorruptLogError(f"the action on {task.path}: {error}") from error


@dataclass(frozen=True)
class FileTask:
    """One logical file: a data file and, perhaps, the deletion vector to apply to it.

    `path` is a store name, `size` in bytes, `partition_values` under physical names as in the log. With
    `only_in`, the rows are those alone that this deletion vector marks, less what `deletion_vector` does.
    What row tracking records is there in scans that want it. With `span`, the task is for those row groups
    alone that begin in a range of the file's bytes.
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
        """How many bytes of the file the task is for."""
        return self.size if self.span is None else min(self.span.stop, self.size) - self.span.start

    def parts(self, size: int) -> "list[FileTask]":
        """Return tasks for parts of the file of about `size` bytes: each of its rows is in one of them."""
        count = max(1, -(-self.size // size))
        if self.span is not None or count == 1:
            return [self]
        bounds = [self.size * place // count for place in range(count)]
        # The size in the log may be wrong, and no row group is to be lost by that.
        spans = map(range, bounds, [*bounds[1:], sys.maxsize])
        return [replace(self, span=span) for span in spans]

    @cached_property
    def num_records(self) -> int | None:
        """The rows of the data file, deleted ones included; None when the log does not tell credibly."""
        if self.stats is None:
            return None
        try:
            count = orjson.loads(self.stats).get("numRecords")
        except (orjson.JSONDecodeError, AttributeError):
            return None
        # Room is made by this number; a footer is asked before it is believed that there are more.
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
