"""Cache of opened data files: pyarrow fragments, footers and deletion vectors.

Data files are immutable, so a repeated scan of a dataset reads only rows from storage.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from deltaarrow.columnar.numpy_arrays import ENCODED_TEXT
from deltaarrow.deletion_vectors import DeletedRows, DeletionVectorDescriptor, read_deletion_vectors
from deltaarrow.runtime.cache import CacheSpace
from deltaarrow.runtime.fork_safety import cached_property
from deltaarrow.scan.column_binding import Binding
from deltaarrow.scan.damage import ensure_rows, ensure_sound_footer, reading
from deltaarrow.scan.plain_files import PlainFile
from deltaarrow.scan.tasks import FileTask
from deltaarrow.storage import Store

__all__ = ["DataFile", "DataFiles", "row_group_starts"]


@dataclass(frozen=True)
class DataFile:
    """A data file with its footer and its deleted rows; `fragment` is one of pyarrow's, or a `PlainFile`."""

    task: FileTask
    fragment: Any
    binding: Binding
    deleted: DeletedRows | None

    def row_ranges(self) -> list[range]:
        """The positions of the task's rows, including deleted rows."""
        metadata = self.fragment.metadata
        if self.task.span is None:
            return [range(metadata.num_rows)]
        starts = row_group_starts(metadata)
        return [
            range(starts[group.id], starts[group.id] + group.num_rows) for group in self.fragment.row_groups
        ]

    def num_rows(self) -> int:
        """The number of live rows of the task."""
        total = sum(map(len, self.row_ranges()))
        if self.deleted is None:
            return total
        if self.task.span is None:
            return total - self.deleted.cardinality
        return sum(int(self.deleted.mask(rows.start, len(rows)).sum()) for rows in self.row_ranges())


class DataFiles:
    """Opens the data files of a table; safe to share among threads.

    Footers and deletion vectors are kept in the cache of the process, weighed by their size in storage.

    Args:
        store: the folder of the table.
        encoded: names, in the files, of text columns that are read as dictionary arrays.
    """

    def __init__(self, store: Store, encoded: Collection[str] = ()) -> None:
        self._store = store
        self._encoded = sorted(encoded)
        self._cache = CacheSpace()

    @cached_property
    def format(self) -> Any:
        """The `pyarrow.dataset.ParquetFileFormat` of the files."""
        return self._format(self._encoded)

    def _format(self, encoded: Sequence[str]) -> Any:
        import pyarrow.dataset as pads

        return pads.ParquetFileFormat(
            read_options=pads.ParquetReadOptions(
                dictionary_columns=encoded,
                # INT96 exceeds the range of 64-bit nanoseconds; Delta timestamps are microseconds.
                coerce_int96_timestamp_unit="us",
            ),
            pre_buffer=not self._store.is_local,
        )

    def has(self, tasks: Sequence[FileTask]) -> bool:
        """Whether the footers of all these files are cached."""
        return all(self._cache.get(task.path) is not None for task in tasks)

    def vectors(self, tasks: Sequence[FileTask]) -> Mapping[DeletionVectorDescriptor, DeletedRows]:
        """Return the deletion vectors of tasks; vectors in one file are read together."""
        wanted = [dv for task in tasks for dv in (task.deletion_vector, task.only_in) if dv is not None]
        found = {dv: known for dv in wanted if (known := self._cache.get(dv)) is not None}
        missing = [dv for dv in dict.fromkeys(wanted) if dv not in found]
        for dv, rows in zip(missing, read_deletion_vectors(self._store, missing), strict=True):
            self._cache.put(dv, rows, dv.size_in_bytes)
            found[dv] = rows
        return found

    def open(
        self,
        task: FileTask,
        vectors: Mapping[DeletionVectorDescriptor, DeletedRows],
        bind: Callable[[Any, str], Binding],
        *,
        plainly: bool = False,
    ) -> DataFile:
        """Open the file of a task; `vectors` come from `vectors` for tasks that include this one.

        `bind` gets the Arrow schema of the file and its path. With `plainly`, the file is opened as a
        `PlainFile` if that reads the columns of the binding. Raises `CorruptDataFileError` for a file that is
        missing, cannot be read or contradicts the log.
        """
        with reading(task.path):
            fragment = self._cache.get(task.path)
            if fragment is None or (isinstance(fragment, PlainFile) and not plainly):
                fragment = self._opened(task.path, plainly=plainly)
            schema, metadata = fragment.physical_schema, fragment.metadata
            ensure_rows(task.path, metadata, task.num_records)
        binding = bind(schema, task.path)
        if isinstance(fragment, PlainFile) and not fragment.can_read(binding.scan_schema):
            with reading(task.path):
                fragment = self._opened(task.path)
        hidden = _hidden_rows(task, vectors, metadata.num_rows)
        if task.span is not None:
            # pyarrow aborts the process if a column chunk contradicts the schema.
            ensure_sound_footer(self._store, task.path)
            fragment = fragment.subset(row_group_ids=_row_groups_in(metadata, task.span))
        return DataFile(task, fragment, binding, hidden)

    def _opened(self, name: str, *, plainly: bool = False) -> Any:
        """Open a file, read its footer and keep that."""
        path = self._store.arrow_path(name)
        if plainly and not self._encoded:
            fragment: Any = PlainFile.open(path)
        else:
            fragment = self.format.make_fragment(path, self._store.arrow_filesystem())
            if any(map(_is_encoded_otherwise, fragment.physical_schema)):
                fragment = self._format(()).make_fragment(path, self._store.arrow_filesystem())
                _ = fragment.physical_schema
        self._cache.put(name, fragment, fragment.metadata.serialized_size)
        return fragment


def _is_encoded_otherwise(column: pa.Field) -> bool:
    """Whether a column that is read as a dictionary holds something else than texts in this file."""
    return bool(pa.types.is_dictionary(column.type) and column.type != ENCODED_TEXT)


def row_group_starts(metadata: Any) -> list[int]:
    """Return the position of the first row of each row group, from a `pyarrow.parquet.FileMetaData`."""
    starts, total = [], 0
    for i in range(metadata.num_row_groups):
        starts.append(total)
        total += metadata.row_group(i).num_rows
    return starts


def _hidden_rows(
    task: FileTask, vectors: Mapping[DeletionVectorDescriptor, DeletedRows], num_rows: int
) -> DeletedRows | None:
    deleted = None if task.deletion_vector is None else vectors[task.deletion_vector]
    if deleted is not None:
        deleted.ensure_within(num_rows)
    return deleted if task.only_in is None else vectors[task.only_in].inverted(num_rows, deleted)


def _row_groups_in(metadata: Any, span: range) -> list[int]:
    """Return the row groups that begin in a byte range of the file."""
    return [place for place in range(metadata.num_row_groups) if _begin(metadata.row_group(place)) in span]


def _begin(group: Any) -> int:
    if not group.num_columns:
        return 0
    column = group.column(0)
    return int(column.dictionary_page_offset if column.has_dictionary_page else column.data_page_offset)
