"""Reading data files as Arrow batches in the logical schema of the table.

Files go through pyarrow's own dataset scanner, in parallel, under the names that a
`deltaarrow.scan.binding.Binding` found. On the way out rows that a deletion vector removes are masked,
partition values are added from the log (they win over a column of that name in the file) and physical
names become logical ones without a copy. Files with a deletion vector, and all where row ids are wanted,
are scanned one row group a fragment, because only then is the position of a batch inside its file known.
"""

import collections
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from deltaarrow.arrays import booleans, integers
from deltaarrow.deletion_vectors import DeletedRows, DeletionVectorDescriptor, read_deletion_vectors
from deltaarrow.errors import CorruptDataFileError
from deltaarrow.expressions import Predicate
from deltaarrow.scan.binding import Binding, bind_columns
from deltaarrow.scan.damage import READ_ERRORS, ensure_rows, reading
from deltaarrow.scan.pushdown import pushed_filter
from deltaarrow.scan.row_tracking import ROW_ID, filled, may_hold
from deltaarrow.scan.tasks import FILE_COLUMN, ROW_COLUMN, FileTask, TableLayout
from deltaarrow.scan.variants import unshredded
from deltaarrow.schema import Field, to_arrow_type

__all__ = ["DEFAULT_BATCH_SIZE", "BatchReader"]

DEFAULT_BATCH_SIZE = 131_072
# Footers of this many files are read ahead, in parallel, while the files before them are scanned.
_WINDOW = 64
# pyarrow reads ahead by batches, of whatever size: those of wide tables have fewer rows.
_BATCH_BYTES = 8 << 20
_LEAST_ROWS = 1024
_LARGE_BYTES = 32 << 20
# Putting variants together takes a multiple of what was read.
_VARIANT_BYTES = 1 << 26
# Where more than so many rows of a batch are kept.
_MOSTLY = 0.8
_PLACE_FIELDS = (pa.field(FILE_COLUMN, pa.int64()), pa.field(ROW_COLUMN, pa.int64()))


@dataclass(frozen=True)
class _Opened:
    """A data file whose footer has been read."""

    task: FileTask
    fragment: Any
    binding: Binding
    deleted: DeletedRows | None

    def row_ranges(self) -> list[range]:
        """The positions of the rows that the task is for, deleted ones included."""
        metadata = self.fragment.metadata
        if self.task.span is None:
            return [range(metadata.num_rows)]
        starts = _row_group_starts(metadata)
        return [
            range(starts[group.id], starts[group.id] + group.num_rows) for group in self.fragment.row_groups
        ]

    def num_rows(self) -> int:
        """How many live rows the task has."""
        total = sum(map(len, self.row_ranges()))
        if self.deleted is None:
            return total
        if self.task.span is None:
            return total - self.deleted.cardinality
        return sum(int(self.deleted.mask(rows.start, len(rows)).sum()) for rows in self.row_ranges())


@dataclass(frozen=True)
class BatchReader:
    """Reads the columns `columns` of any number of files of one table; picklable.

    `pushdown` is a predicate whose parts are handed to pyarrow where that is safe; it makes the scan
    skip row groups and rows, and the caller applies the predicate to what comes out all the same.
    """

    layout: TableLayout
    columns: tuple[str, ...]
    pushdown: Predicate | None = None
    batch_size: int = DEFAULT_BATCH_SIZE
    use_threads: bool = True
    locate: bool = False
    _bindings: dict[pa.Schema, Binding] = field(default_factory=dict, repr=False, compare=False)
    _places: dict[str, int] = field(default_factory=dict, repr=False, compare=False)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle without the bindings that were found."""
        given = (self.layout, self.columns, self.pushdown, self.batch_size, self.use_threads, self.locate)
        return BatchReader, given

    @cached_property
    def schema(self) -> pa.Schema:
        """The schema of the batches."""
        fields = [self.layout.arrow_schema.field(name) for name in self.columns]
        return pa.schema([*fields, *_PLACE_FIELDS] if self.locate else fields)

    @cached_property
    def _data_fields(self) -> tuple[Field, ...]:
        wanted = set(self.columns)
        return tuple(f for f in self.layout.data_fields if f.name in wanted)

    @cached_property
    def _tracked(self) -> frozenset[str]:
        """The wanted columns that come from row tracking."""
        return frozenset(f.name for f in self._data_fields if self.layout.is_row_tracking(f))

    @property
    def _wants_positions(self) -> bool:
        return self.locate or ROW_ID in self._tracked

    @cached_property
    def _format(self) -> Any:
        import pyarrow.dataset as pads

        return pads.ParquetFileFormat(
            # INT96 reaches beyond what 64 bits of nanoseconds hold; Delta counts microseconds.
            read_options=pads.ParquetReadOptions(coerce_int96_timestamp_unit="us"),
            pre_buffer=not self.layout.store.is_local,
        )

    def read(self, tasks: Sequence[FileTask]) -> Iterator[pa.RecordBatch]:
        """Yield the live rows of the files; within a file in their order."""
        windows = _windows(tasks)
        if not windows:
            return
        self._places.update((task.path, place) for place, task in enumerate(tasks))
        with ThreadPoolExecutor(max_workers=max(4, os.cpu_count() or 1)) as pool:
            ahead = self._open_all(windows[0], pool)
            for following in [*windows[1:], []]:
                opened = list(ahead)
                ahead = self._open_all(following, pool)
                yield from self._scan_window(opened)

    def count(self, tasks: Sequence[FileTask]) -> int:
        """Return the number of live rows in the files, from footers and deletion vectors."""
        counter = BatchReader(self.layout, ())
        with ThreadPoolExecutor(max_workers=max(4, os.cpu_count() or 1)) as pool:
            return sum(
                opened.num_rows() for window in _windows(tasks) for opened in counter._open_all(window, pool)
            )

    def _open_all(self, tasks: Sequence[FileTask], pool: ThreadPoolExecutor) -> Iterator[_Opened]:
        store = self.layout.store
        wanted = [dv for task in tasks for dv in (task.deletion_vector, task.only_in) if dv is not None]
        vectors = dict(zip(wanted, read_deletion_vectors(store, wanted), strict=True))
        return pool.map(lambda task: self._open(task, vectors), tasks)

    def _open(self, task: FileTask, vectors: Mapping[DeletionVectorDescriptor, DeletedRows]) -> _Opened:
        store = self.layout.store
        with reading(task.path):
            fragment = self._format.make_fragment(store.arrow_path(task.path), store.arrow_filesystem())
            file_schema = fragment.physical_schema
            ensure_rows(task.path, fragment.metadata, task.num_records)
        binding = self._bindings.get(file_schema)
        if binding is None:
            binding = bind_columns(self.layout, self._data_fields, file_schema, task.path)
            self._bindings[file_schema] = binding
        hidden = _hidden_rows(task, vectors, fragment.metadata.num_rows)
        if task.span is not None:
            fragment = fragment.subset(row_group_ids=_row_groups_in(fragment.metadata, task.span))
        return _Opened(task, fragment, binding, hidden)

    def _scan_window(self, opened: Sequence[_Opened]) -> Iterator[pa.RecordBatch]:
        groups: dict[tuple[int, bool], list[_Opened]] = {}
        for file in opened:
            by_position = file.deleted is not None or self._wants_positions
            groups.setdefault((id(file.binding), by_position), []).append(file)
        for (_, by_position), files in groups.items():
            binding = files[0].binding
            if not len(binding.scan_schema):
                yield from self._rows_without_data(files)
            elif by_position:
                yield from self._scan_by_position(binding, files)
            else:
                yield from self._scan_clean(binding, files)

    def _rows_without_data(self, files: Sequence[_Opened]) -> Iterator[pa.RecordBatch]:
        for file in files:
            if not self._wants_positions:
                rows = file.num_rows()
                for start in range(0, rows, self.batch_size):
                    yield self._logical(file.task, file.binding, None, min(self.batch_size, rows - start))
                continue
            for part in file.row_ranges():
                if not self._may_match(file, part):
                    continue
                for start in range(part.start, part.stop, self.batch_size):
                    positions = np.arange(start, min(start + self.batch_size, part.stop))
                    if file.deleted is not None:
                        positions = positions[file.deleted.mask(start, len(positions))]
                    if len(positions):
                        yield self._logical(file.task, file.binding, None, len(positions), positions)

    def _may_match(self, file: _Opened, positions: range) -> bool:
        """Whether the row ids of rows, where they follow from the positions, may be among those wanted."""
        first = file.task.base_row_id
        if ROW_ID not in self._tracked or first is None:
            return True
        sources = dict(zip((f.name for f in self._data_fields), file.binding.sources, strict=True))
        if sources[ROW_ID] is not None:
            return True
        return may_hold(self.pushdown, range(first + positions.start, first + positions.stop))

    def _scanner(self, binding: Binding, fragments: Iterable[Any], **options: Any) -> Any:
        import pyarrow.dataset as pads

        store = self.layout.store
        dataset = pads.FileSystemDataset(
            list(fragments), binding.scan_schema, self._format, store.arrow_filesystem()
        )
        rows = min(self.batch_size, max(_LEAST_ROWS, _BATCH_BYTES // max(1, _row_bytes(binding.scan_schema))))
        return dataset.scanner(batch_size=rows, use_threads=self.use_threads, **options)

    def _scan(
        self, binding: Binding, files: Sequence[_Opened], fragments: Iterable[Any], **options: Any
    ) -> Iterator[Any]:
        """Yield the batches of fragments, each with the fragment that it is from."""
        try:
            yield from self._scanner(binding, fragments, **options).scan_batches()
        except pa.ArrowCancelled:
            raise
        except READ_ERRORS as error:
            # Many files are read at a time, and the error does not say which of them is to blame.
            for file in files:
                with reading(file.task.path):
                    collections.deque(self._scanner(binding, [file.fragment]).scan_batches(), maxlen=0)
            names = ", ".join(file.task.path for file in files)
            raise CorruptDataFileError(f"one of the data files {names} cannot be read: {error}") from error

    def _scan_clean(self, binding: Binding, files: Sequence[_Opened]) -> Iterator[pa.RecordBatch]:
        tasks = {file.fragment.path: file.task for file in files}
        condition = pushed_filter(self.pushdown, self._data_fields, binding)
        fragments = [file.fragment for file in files]
        for tagged in self._scan(binding, files, fragments, filter=condition):
            batch = tagged.record_batch
            if batch.num_rows:
                yield from self._logical_parts(tasks[tagged.fragment.path], binding, batch)

    def _scan_by_position(self, binding: Binding, files: Sequence[_Opened]) -> Iterator[pa.RecordBatch]:
        condition = pushed_filter(self.pushdown, self._data_fields, binding)
        by_path = {file.fragment.path: file for file in files}
        if len(by_path) < len(files):
            raise CorruptDataFileError("one data file is in the table twice, with different deletion vectors")
        fragments = []
        position: dict[tuple[str, int], int] = {}
        for file in files:
            starts = _row_group_starts(file.fragment.metadata)
            wanted = file.fragment
            if condition is not None:
                wanted = wanted.subset(filter=condition, schema=binding.scan_schema)
            for group in wanted.row_groups:
                if not self._may_match(file, range(starts[group.id], starts[group.id] + group.num_rows)):
                    continue
                if file.deleted is not None and file.deleted.covers(starts[group.id], group.num_rows):
                    continue
                fragments.append(file.fragment.subset(row_group_ids=[group.id]))
                position[file.fragment.path, group.id] = starts[group.id]
        for tagged in self._scan(binding, files, fragments, **_read_ahead(binding, fragments)):
            batch, path = tagged.record_batch, tagged.fragment.path
            key = (path, tagged.fragment.row_groups[0].id)
            start = position[key]
            position[key] = start + batch.num_rows
            file = by_path[path]
            positions = np.arange(start, start + batch.num_rows) if self._wants_positions else None
            if file.deleted is not None:
                keep = file.deleted.mask(start, batch.num_rows)
                if not keep.all():
                    batch = _kept(batch, keep)
                    positions = None if positions is None else positions[keep]
            if batch.num_rows:
                yield from self._logical_parts(file.task, binding, batch, positions)

    def _logical_parts(
        self, task: FileTask, binding: Binding, batch: pa.RecordBatch, positions: np.ndarray | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The logical rows of a batch; in parts where variants make them grow."""
        rows = batch.num_rows
        if binding.variants:
            rows = max(1, rows * _VARIANT_BYTES // max(batch.nbytes, _VARIANT_BYTES))
        for start in range(0, batch.num_rows, rows):
            part = batch.slice(start, rows)
            there = None if positions is None else positions[start : start + rows]
            yield self._logical(task, binding, part, part.num_rows, there)

    def _logical(
        self,
        task: FileTask,
        binding: Binding,
        batch: pa.RecordBatch | None,
        rows: int,
        positions: np.ndarray | None = None,
    ) -> pa.RecordBatch:
        """Put the wanted columns together in the logical schema; `positions` where row ids are wanted."""
        if not len(self.schema):
            return pa.RecordBatch.from_struct_array(_empty_structs(rows))
        data = dict(zip((f.name for f in self._data_fields), binding.sources, strict=True))
        arrays = []
        for name, logical in zip(self.columns, self.schema, strict=False):
            if name not in data:
                arrays.append(self._partition_array(task, name, rows))
            elif name in self._tracked:
                found = None if batch is None or data[name] is None else batch.column(data[name])
                arrays.append(_tracked_array(task, name, found, rows, positions))
            elif (source := data[name]) is None or batch is None:
                arrays.append(pa.nulls(rows, logical.type))
            elif name in binding.variants:
                arrays.append(self._variant_array(task, name, batch.column(source)))
            else:
                arrays.append(batch.column(source))
        if self.locate:
            assert positions is not None
            arrays += [integers(np.full(rows, self._places[task.path])), integers(positions)]
        types = pa.schema([pa.field(f.name, a.type) for f, a in zip(self.schema, arrays, strict=True)])
        joined = pa.RecordBatch.from_arrays(arrays, schema=types)
        return pa.record_batch(_Relabelled(joined, self.schema))

    def _variant_array(self, task: FileTask, name: str, array: pa.Array) -> pa.Array:
        data_type = next(f.type for f in self._data_fields if f.name == name)
        try:
            return unshredded(array, data_type)
        except CorruptDataFileError as error:
            raise CorruptDataFileError(f"{task.path}, column {name}: {error}") from error

    def _partition_array(self, task: FileTask, name: str, rows: int) -> pa.Array:
        partition = next(f for f in self.layout.partition_fields if f.name == name)
        arrow_type = to_arrow_type(partition.type)
        value = self.layout.partition_value(task, partition)
        return pa.nulls(rows, arrow_type) if value is None else pa.repeat(pa.scalar(value, arrow_type), rows)


class _Relabelled:
    """The arrays of a batch under another schema of the same shape; nothing is copied."""

    def __init__(self, batch: pa.RecordBatch, schema: pa.Schema) -> None:
        self._batch = batch
        self._schema = schema

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        return self._schema.__arrow_c_schema__(), self._batch.__arrow_c_array__()[1]


def _tracked_array(
    task: FileTask, name: str, materialized: pa.Array | None, rows: int, positions: np.ndarray | None
) -> pa.Array:
    is_id = name == ROW_ID
    default = task.base_row_id if is_id else task.default_row_commit_version
    assert default is not None  # as the plan has made sure
    return filled(materialized, default, positions if is_id else None, rows)


def _hidden_rows(
    task: FileTask, vectors: Mapping[DeletionVectorDescriptor, DeletedRows], num_rows: int
) -> DeletedRows | None:
    deleted = None if task.deletion_vector is None else vectors[task.deletion_vector]
    if deleted is not None:
        deleted.ensure_within(num_rows)
    return deleted if task.only_in is None else vectors[task.only_in].inverted(num_rows, deleted)


def _read_ahead(binding: Binding, fragments: Sequence[Any]) -> dict[str, int]:
    """How many row groups pyarrow decodes ahead: one if they are large, whose columns keep threads busy."""
    rows = max((fragment.row_groups[0].num_rows for fragment in fragments), default=0)
    return {"fragment_readahead": 1} if rows * _row_bytes(binding.scan_schema) > _LARGE_BYTES else {}


def _row_bytes(fields: Iterable[pa.Field]) -> int:
    """Return about how many bytes a row takes; texts, lists and maps count as 32 a leaf."""
    total = 0
    for each in fields:
        if pa.types.is_struct(each.type):
            total += _row_bytes(each.type)
        else:
            total += each.type.bit_width // 8 if pa.types.is_primitive(each.type) else 32
    return total


def _windows(tasks: Sequence[FileTask]) -> list[Sequence[FileTask]]:
    return [tasks[i : i + _WINDOW] for i in range(0, len(tasks), _WINDOW)]


def _row_groups_in(metadata: Any, span: range) -> list[int]:
    """The row groups of a file that begin in a range of its bytes."""
    return [place for place in range(metadata.num_row_groups) if _begin(metadata.row_group(place)) in span]


def _begin(group: Any) -> int:
    if not group.num_columns:
        return 0
    column = group.column(0)
    return int(column.dictionary_page_offset if column.has_dictionary_page else column.data_page_offset)


def _kept(batch: pa.RecordBatch, keep: np.ndarray) -> pa.RecordBatch:
    """The rows of a batch for which `keep` is true."""
    mask = booleans(keep)
    # A batch filters by positions, which takes twice as long as runs of rows where few are left out.
    if np.count_nonzero(keep) < len(keep) * _MOSTLY:
        return batch.filter(mask)
    return pa.RecordBatch.from_arrays([column.filter(mask) for column in batch.columns], schema=batch.schema)


def _row_group_starts(metadata: Any) -> list[int]:
    starts, total = [], 0
    for i in range(metadata.num_row_groups):
        starts.append(total)
        total += metadata.row_group(i).num_rows
    return starts


def _empty_structs(rows: int) -> pa.StructArray:
    return pa.Array.from_buffers(pa.struct([]), rows, [None], 0)
