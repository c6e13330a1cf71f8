"""`BatchReader`: reads data files as Arrow batches in the logical schema of the table.

pyarrow's dataset scanner reads the files in parallel, under the physical names of a
`deltaarrow.scan.column_binding.Binding`. Then rows in deletion vectors are removed, partition values are
added from the log (they override a column of that name in the file), and physical names are replaced by
logical names without a copy. Files with a deletion vector, and all files if row ids are requested, are
scanned with one fragment per row group, because only then is the position of a batch in its file known.
"""

import collections
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from deltaarrow.columnar.numpy_arrays import ENCODED_TEXT, integers, scalar_of, truths
from deltaarrow.errors import CorruptDataFileError, DeltaError
from deltaarrow.expressions import Predicate
from deltaarrow.runtime.fork_safety import cached_property
from deltaarrow.scan.char_padding import padded_batch
from deltaarrow.scan.column_binding import Binding, bind_columns, schema_key
from deltaarrow.scan.damage import READ_ERRORS, reading, reading_failure
from deltaarrow.scan.data_files import DataFile, DataFiles, row_group_starts
from deltaarrow.scan.plain_files import PlainFile, Tagged, are_plain
from deltaarrow.scan.pushdown import PartitionFilter, Pushed, pushed_filter
from deltaarrow.scan.row_id_columns import ROW_ID, filled, may_hold
from deltaarrow.scan.row_selection import kept_rows
from deltaarrow.scan.tasks import FILE_COLUMN, ROW_COLUMN, FileTask, TableLayout
from deltaarrow.scan.threads import mapped_in_order
from deltaarrow.scan.variant_unshredding import unshredded
from deltaarrow.schema import Field, to_arrow_type

__all__ = ["DEFAULT_BATCH_SIZE", "BatchReader", "Scanned"]

DEFAULT_BATCH_SIZE = 131_072
# Footers of this many files are read ahead, in parallel, while earlier files are scanned.
_WINDOW = 64
# pyarrow reads ahead a number of batches of any size, so wide tables get batches with fewer rows.
_BATCH_BYTES = 8 << 20
_LEAST_ROWS = 1024
_LARGE_BYTES = 32 << 20
_PLACE_FIELDS = (pa.field(FILE_COLUMN, pa.int64()), pa.field(ROW_COLUMN, pa.int64()))


class Scanned(NamedTuple):
    """Live rows of one file."""

    batch: pa.RecordBatch

    decided: frozenset[Predicate]
    """The conjuncts of the reader's `pushdown` that all rows of the batch are known to satisfy."""


class _Located(NamedTuple):
    """A batch of consecutive rows of a file, from position `start`; its last column may be filter results."""

    file: DataFile
    batch: pa.RecordBatch
    start: int
    has_verdicts: bool


@dataclass(frozen=True)
class BatchReader:
    """Reader of the columns `columns` of any number of files of one table; picklable.

    Parts of the predicate `pushdown` are passed to pyarrow if that is safe. They skip row groups and rows;
    `Scanned.decided` says which conjuncts need not be evaluated again. `kept_files` shares opened files with
    other readers. Batches of files with variants have at most `variant_bytes`: unshredding needs a
    multiple of them. Of the columns `encoded`, which are texts, the batches have dictionary arrays of
    `deltaarrow.columnar.numpy_arrays.ENCODED_TEXT`.
    """

    layout: TableLayout
    columns: tuple[str, ...]
    pushdown: Predicate | None = None
    batch_size: int = DEFAULT_BATCH_SIZE
    use_threads: bool = True
    locate: bool = False
    variant_bytes: int = 1 << 26
    encoded: frozenset[str] = frozenset()
    kept_files: DataFiles | None = field(default=None, repr=False, compare=False)
    _bindings: dict[bytes, Binding] = field(default_factory=dict, repr=False, compare=False)
    _places: dict[str, int] = field(default_factory=dict, repr=False, compare=False)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle without caches."""
        given = (self.layout, self.columns, self.pushdown, self.batch_size, self.use_threads, self.locate)
        return BatchReader, (*given, self.variant_bytes, self.encoded)

    @cached_property
    def schema(self) -> pa.Schema:
        """The schema of the batches."""
        fields = [self.layout.arrow_schema.field(name) for name in self.columns]
        fields = [each.with_type(ENCODED_TEXT) if each.name in self.encoded else each for each in fields]
        return pa.schema([*fields, *_PLACE_FIELDS] if self.locate else fields)

    @cached_property
    def files(self) -> DataFiles:
        """The cache that opens the files."""
        if self.kept_files is not None:
            return self.kept_files
        encoded = [self.layout.physical_name(f) for f in self._data_fields if f.name in self.encoded]
        return DataFiles(self.layout.store, encoded)

    @cached_property
    def _data_fields(self) -> tuple[Field, ...]:
        wanted = set(self.columns)
        return tuple(f for f in self.layout.data_fields if f.name in wanted)

    @cached_property
    def _tracked(self) -> frozenset[str]:
        """The requested columns that come from row tracking."""
        return frozenset(f.name for f in self._data_fields if self.layout.is_row_tracking(f))

    @property
    def _wants_positions(self) -> bool:
        return self.locate or ROW_ID in self._tracked

    @cached_property
    def _partition_filter(self) -> PartitionFilter:
        return PartitionFilter(self.pushdown, self.layout)

    def read(self, tasks: Sequence[FileTask]) -> Iterator[pa.RecordBatch]:
        """Yield the live rows of the files; rows of one file stay in order."""
        return (scanned.batch for scanned in self.scan(tasks))

    def scan(self, tasks: Sequence[FileTask]) -> Iterator[Scanned]:
        """Yield the live rows of the files with the decided conjuncts; rows of one file stay in order."""
        windows = _windows(tasks)
        if not windows:
            return
        self._places.update((task.path, place) for place, task in enumerate(tasks))
        left = self._partition_filter.left
        with ThreadPoolExecutor(max_workers=max(4, os.cpu_count() or 1)) as pool:
            ahead = self._open_all(left(windows[0]), pool)
            for following in [*windows[1:], []]:
                opened = list(ahead)
                ahead = self._open_all(left(following), pool)
                yield from self._scan_window(opened)

    def count(self, tasks: Sequence[FileTask]) -> int:
        """Return the number of live rows in the files, from footers and deletion vectors."""
        counter = BatchReader(self.layout, (), kept_files=self.files)
        with ThreadPoolExecutor(max_workers=max(4, os.cpu_count() or 1)) as pool:
            return sum(
                opened.num_rows() for window in _windows(tasks) for opened in counter._open_all(window, pool)
            )

    def _open_all(self, tasks: Sequence[FileTask], pool: ThreadPoolExecutor) -> Iterator[DataFile]:
        vectors = self.files.vectors(tasks)
        mapped = map if len(tasks) == 1 or self.files.has(tasks) else pool.map
        plainly = self.pushdown is None and are_plain(self.layout.store, tasks)
        return iter(mapped(lambda task: self.files.open(task, vectors, self._bind, plainly=plainly), tasks))

    def _bind(self, file_schema: pa.Schema, path: str) -> Binding:
        key = schema_key(file_schema)
        binding = self._bindings.get(key)
        if binding is None:
            binding = bind_columns(self.layout, self._data_fields, file_schema, path, self.encoded)
            self._bindings[key] = binding
        return binding

    def _scan_window(self, opened: Sequence[DataFile]) -> Iterator[Scanned]:
        groups: dict[tuple[int, bool], list[DataFile]] = {}
        for file in opened:
            by_position = file.deleted is not None or self._wants_positions
            groups.setdefault((id(file.binding), by_position), []).append(file)
        for (_, by_position), files in groups.items():
            binding = files[0].binding
            if not len(binding.scan_schema):
                for batch in self._rows_without_data(files):
                    yield Scanned(batch, self._partition_filter.decided)
            elif by_position:
                yield from self._scan_by_position(binding, files)
            else:
                yield from self._scan_clean(binding, files)

    def _rows_without_data(self, files: Sequence[DataFile]) -> Iterator[pa.RecordBatch]:
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

    def _may_match(self, file: DataFile, positions: range) -> bool:
        """Whether rows at these positions may match by row id; True if their ids are materialized."""
        first = file.task.base_row_id
        if ROW_ID not in self._tracked or first is None:
            return True
        sources = dict(zip((f.name for f in self._data_fields), file.binding.sources, strict=True))
        if sources[ROW_ID] is not None:
            return True
        return may_hold(self.pushdown, range(first + positions.start, first + positions.stop))

    def _tagged(self, binding: Binding, fragments: Iterable[Any], **options: Any) -> Iterator[Any]:
        """Yield the batches of fragments, each with its fragment; `options` are for fragments of pyarrow."""
        schema = binding.scan_schema
        rows = min(self.batch_size, max(_LEAST_ROWS, _BATCH_BYTES // max(1, _row_bytes(schema))))
        others = []
        for fragment in fragments:
            if isinstance(fragment, PlainFile):
                for batch in fragment.batches(schema, rows):
                    yield Tagged(batch, fragment)
            else:
                others.append(fragment)
        if others:
            import pyarrow.dataset as pads

            filesystem = self.layout.store.arrow_filesystem()
            dataset = pads.FileSystemDataset(others, schema, self.files.format, filesystem)
            yield from dataset.scanner(
                batch_size=rows, use_threads=self.use_threads, **options
            ).scan_batches()

    def _scan(
        self, binding: Binding, files: Sequence[DataFile], fragments: Iterable[Any], **options: Any
    ) -> Iterator[Any]:
        """Yield the batches of fragments, each with its fragment."""
        try:
            yield from self._tagged(binding, fragments, **options)
        except pa.ArrowCancelled:
            raise
        except DeltaError:
            raise
        except READ_ERRORS as error:
            failure = reading_failure("one of the data files", error)
            if not isinstance(failure, CorruptDataFileError):
                raise failure from error
            # Many files are read at once, and the error does not name the broken one.
            for file in files:
                with reading(file.task.path):
                    collections.deque(self._tagged(binding, [file.fragment]), maxlen=0)
            names = ", ".join(file.task.path for file in files)
            raise CorruptDataFileError(f"one of the data files {names} cannot be read: {error}") from error

    def _pushed(self, binding: Binding) -> Pushed:
        expression, decided = pushed_filter(
            self._partition_filter.rest, self._data_fields, binding, self.layout.padded_columns
        )
        return Pushed(expression, decided | self._partition_filter.decided)

    def _scan_clean(self, binding: Binding, files: Sequence[DataFile]) -> Iterator[Scanned]:
        tasks = {file.fragment.path: file.task for file in files}
        condition, decided = self._pushed(binding)
        fragments = [file.fragment for file in files]
        for tagged in self._scan(binding, files, fragments, filter=condition):
            batch = tagged.record_batch
            if batch.num_rows:
                for part in self._logical_parts(tasks[tagged.fragment.path], binding, batch):
                    yield Scanned(part, decided)

    def _scan_by_position(self, binding: Binding, files: Sequence[DataFile]) -> Iterator[Scanned]:
        condition, decided = self._pushed(binding)
        by_path = {file.fragment.path: file for file in files}
        if len(by_path) < len(files):
            raise CorruptDataFileError(
                "a data file is in the table twice, with different deletion vectors; verify the table with"
                " DeltaTable.verify"
            )
        fragments = []
        position: dict[tuple[str, int], int] = {}
        for file in files:
            starts = row_group_starts(file.fragment.metadata)
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
        options: dict[str, Any] = _read_ahead(binding, fragments)
        if condition is not None:
            import pyarrow.compute as pc

            # Positions count rows that do not match too, so the filter becomes a column.
            options["columns"] = {name: pc.field(name) for name in binding.scan_schema.names}
            options["columns"][_free_name(binding.scan_schema)] = condition

        def located() -> Iterator[_Located]:
            for tagged in self._scan(binding, files, fragments, **options):
                batch, path = tagged.record_batch, tagged.fragment.path
                key = path, tagged.fragment.row_groups[0].id
                yield _Located(by_path[path], batch, position[key], condition is not None)
                position[key] += batch.num_rows

        # One thread selects rows as fast as two threads decode them.
        workers = max(0, (os.cpu_count() or 1) - 2) if self.use_threads else 0
        for parts in mapped_in_order(self._selected, located(), workers):
            for part in parts:
                yield Scanned(part, decided)

    def _selected(self, located: "_Located") -> list[pa.RecordBatch]:
        """Return the live logical rows of a batch that match the evaluated part of the filter."""
        file, batch, start, has_verdicts = located
        rows = batch.num_rows
        keep = np.ones(rows, bool) if file.deleted is None else file.deleted.mask(start, rows)
        if has_verdicts:
            keep &= truths(batch.column(batch.num_columns - 1))
            batch = batch.remove_column(batch.num_columns - 1)
        positions = np.arange(start, start + rows) if self._wants_positions else None
        if not keep.all():
            batch = kept_rows(batch, keep)
            positions = None if positions is None else positions[keep]
        return list(self._logical_parts(file.task, file.binding, batch, positions)) if batch.num_rows else []

    def _logical_parts(
        self, task: FileTask, binding: Binding, batch: pa.RecordBatch, positions: np.ndarray | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the logical rows of a batch, split if unshredded variants make it grow."""
        rows = batch.num_rows
        if binding.variants:
            rows = max(1, rows * self.variant_bytes // max(batch.nbytes, self.variant_bytes))
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
        """Build the batch in the logical schema; row ids need `positions`."""
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
            elif logical.type == ENCODED_TEXT:
                column = batch.column(source)
                arrays.append(column if pa.types.is_dictionary(column.type) else column.dictionary_encode())
            else:
                arrays.append(batch.column(source))
        if self.locate:
            assert positions is not None
            arrays += [integers(np.full(rows, self._places[task.path])), integers(positions)]
        if all(field.type == array.type for field, array in zip(self.schema, arrays, strict=True)):
            return self._padded(pa.RecordBatch.from_arrays(arrays, schema=self.schema))
        types = pa.schema([pa.field(f.name, a.type) for f, a in zip(self.schema, arrays, strict=True)])
        joined = pa.RecordBatch.from_arrays(arrays, schema=types)
        return self._padded(pa.record_batch(_Relabelled(joined, self.schema)))

    def _padded(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        names = self.layout.padded_columns.intersection(batch.schema.names)
        return padded_batch(batch, {name: self.layout.paddings(name) for name in names})

    def _variant_array(self, task: FileTask, name: str, array: pa.Array) -> pa.Array:
        try:
            return unshredded(array, self.layout.schema.field(name).type)
        except CorruptDataFileError as error:
            raise CorruptDataFileError(f"{task.path}, column {name}: {error}") from error

    def _partition_array(self, task: FileTask, name: str, rows: int) -> pa.Array:
        partition = self.layout.schema.field(name)
        arrow_type = to_arrow_type(partition.type)
        value = self.layout.partition_value(task, partition)
        return pa.nulls(rows, arrow_type) if value is None else pa.repeat(scalar_of(value, arrow_type), rows)


class _Relabelled:
    """The arrays of a batch under another schema of the same shape, without a copy."""

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
    assert default is not None  # `plan_scan` checked this
    return filled(materialized, default, positions if is_id else None, rows)


def _read_ahead(binding: Binding, fragments: Sequence[Any]) -> dict[str, int]:
    """Return how many row groups pyarrow reads ahead: one if they are large enough to keep threads busy."""
    rows = max((fragment.row_groups[0].num_rows for fragment in fragments), default=0)
    return {"fragment_readahead": 1} if rows * _row_bytes(binding.scan_schema) > _LARGE_BYTES else {}


def _row_bytes(fields: Iterable[pa.Field]) -> int:
    """Estimate the bytes of a row; each leaf of a text, list or map counts as 32."""
    total = 0
    for each in fields:
        if pa.types.is_struct(each.type):
            total += _row_bytes(each.type)
        else:
            total += each.type.bit_width // 8 if pa.types.is_primitive(each.type) else 32
    return total


def _free_name(schema: pa.Schema) -> str:
    """Return a name that no field has."""
    return max(schema.names, default="") + "_"


def _windows(tasks: Sequence[FileTask]) -> list[Sequence[FileTask]]:
    return [tasks[i : i + _WINDOW] for i in range(0, len(tasks), _WINDOW)]


def _empty_structs(rows: int) -> pa.StructArray:
    return pa.Array.from_buffers(pa.struct([]), rows, [None], 0)
