"""`PlainFile`: a small local data file, or some of its row groups, read without pyarrow's datasets.

A dataset reads many files in parallel, casts columns and filters rows. A scan that needs none of this reads a
small local file through `pyarrow.parquet` alone, because `import pyarrow.dataset` takes as long as
`import pyarrow`, and imports pandas if it is installed.
"""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from deltaarrow.scan.tasks import FileTask
from deltaarrow.storage import Store

if TYPE_CHECKING:
    import pyarrow.parquet as pq

__all__ = ["PlainFile", "Tagged", "are_plain"]

_MOST_FILES = 4
_MOST_BYTES = 4 << 20


class Tagged(NamedTuple):
    """A batch with its fragment, as `pyarrow.dataset.TaggedRecordBatch`."""

    record_batch: pa.RecordBatch
    fragment: Any


class _Group(NamedTuple):
    """A row group, as the row groups of pyarrow's fragments."""

    id: int
    num_rows: int


@dataclass(frozen=True)
class PlainFile:
    """A local Parquet file, or some of its row groups; it has the members of a fragment that scans use.

    Args:
        path: the absolute path.
        metadata: the `pyarrow.parquet.FileMetaData` of the whole file.
        physical_schema: the Arrow schema of the whole file.
        groups: the indexes of the row groups; None for all.
    """

    path: str
    metadata: Any
    physical_schema: pa.Schema
    groups: tuple[int, ...] | None = None

    @classmethod
    def open(cls, path: str) -> "PlainFile":
        """Read the footer of a file; raises the exceptions of `pyarrow.parquet.ParquetFile`."""
        with _open(path) as file:
            return cls(path, file.metadata, file.schema_arrow)

    @property
    def row_groups(self) -> list[_Group]:
        """The row groups that are read."""
        groups = range(self.metadata.num_row_groups) if self.groups is None else self.groups
        return [_Group(group, self.metadata.row_group(group).num_rows) for group in groups]

    def subset(self, row_group_ids: Sequence[int]) -> "PlainFile":
        """Return the same file with only these of its row groups."""
        return replace(self, groups=tuple(row_group_ids))

    def can_read(self, schema: pa.Schema) -> bool:
        """Whether the columns of a schema are columns of the file as they are: not nested, of equal types."""
        names = self.physical_schema.names
        own = dict(zip(names, self.physical_schema.types, strict=True))
        # `pyarrow.parquet` takes a dot in a name for the path of a nested column.
        if any("." in name for name in names) or len(own) < len(names):
            return False
        return all(
            name in own and own[name] == data_type and not _is_composed(data_type)
            for name, data_type in zip(schema.names, schema.types, strict=True)
        )

    def batches(self, schema: pa.Schema, rows: int) -> Iterator[pa.RecordBatch]:
        """Yield the columns of a schema that `can_read` accepts, in batches of at most `rows` rows.

        No batch has rows of two row groups.
        """
        with _open(self.path, self.metadata) as file:
            for group in self.row_groups:
                for batch in file.iter_batches(rows, [group.id], schema.names, use_threads=False):
                    yield pa.RecordBatch.from_arrays(
                        [batch.column(name) for name in schema.names], schema=schema
                    )


def are_plain(store: Store, tasks: Sequence[FileTask]) -> bool:
    """Whether files are few, small and local, so that a scan without a filter reads them one by one."""
    return (
        store.is_local
        and len(tasks) <= _MOST_FILES
        and sum(task.size for task in tasks) <= _MOST_BYTES
        and all(task.span is None for task in tasks)
    )


@contextlib.contextmanager
def _open(path: str, metadata: Any = None) -> "Iterator[pq.ParquetFile]":
    import pyarrow.parquet as pq

    with (
        pa.OSFile(path) as source,
        # INT96 exceeds the range of 64-bit nanoseconds; Delta timestamps are microseconds.
        pq.ParquetFile(source, metadata=metadata, coerce_int96_timestamp_unit="us") as file,
    ):
        yield file


def _is_composed(data_type: pa.DataType) -> bool:
    return bool(pa.types.is_nested(data_type) or pa.types.is_dictionary(data_type))
