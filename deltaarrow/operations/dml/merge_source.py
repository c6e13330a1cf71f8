"""The source of a MERGE: loading its rows into DuckDB, and a file of them for tasks in other processes.

The file lies in the folder of the table, which executors reach, and is deleted when the merge ends. If the
driver dies before, no version names the file, and VACUUM deletes it.

Its rows are sorted by the values that columns of the table must equal, and the bounds of these values are
known for each batch. So a task reads only the batches that may have rows for its files.
"""

import contextlib
import itertools
import uuid
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyroaring import BitMap64

from deltaarrow.columnar.kernels import pc
from deltaarrow.columnar.numpy_arrays import booleans
from deltaarrow.errors import DeltaError
from deltaarrow.operations.dml.changed_rows import computing_rows
from deltaarrow.runtime.executors import Executor
from deltaarrow.schema import conform
from deltaarrow.spark_sql import provide_kernels
from deltaarrow.storage import Store
from deltaarrow.storage.failures import expecting_file

if TYPE_CHECKING:
    import duckdb

__all__ = ["SOURCE", "SourceFile", "SourceRows", "load_source"]

SOURCE = "deltaarrow_source"
"""The relation of the loaded source."""

_STREAM = "deltaarrow_source_stream"
_MOST_HELD = 64 << 20
"""A source of fewer bytes is joined in memory; a larger one is loaded into a DuckDB table that can spill."""
_BATCHES = 64
_LEAST_ROWS, _MOST_ROWS = 1 << 11, 1 << 17
"""A batch has at least and at most so many rows; between the two there are `_BATCHES` batches."""


def load_source(
    cursor: "duckdb.DuckDBPyConnection", batches: Iterator[pa.RecordBatch], schema: pa.Schema
) -> None:
    """Load rows as `SOURCE`. Raises the exceptions of the batches."""
    errors: list[Exception] = []
    batches = _noting(batches, errors)
    held = list(_first_batches(batches, _MOST_HELD))
    if sum(each.nbytes for each in held) < _MOST_HELD:
        cursor.register(SOURCE, pa.Table.from_batches(held, schema))
        return
    stream = pa.RecordBatchReader.from_batches(schema, itertools.chain(held, batches))
    del held
    cursor.register(_STREAM, stream)
    try:
        cursor.execute(f"CREATE TEMP TABLE {SOURCE} AS SELECT * FROM {_STREAM}")
    except Exception:
        if errors:
            raise errors[0] from None
        raise
    finally:
        cursor.unregister(_STREAM)


def _noting(batches: Iterator[pa.RecordBatch], errors: list[Exception]) -> Iterator[pa.RecordBatch]:
    """Yield batches; keep the error that ends them, because DuckDB keeps only its text."""
    try:
        yield from batches
    except Exception as error:
        errors.append(error)
        raise


def _first_batches(batches: Iterator[pa.RecordBatch], size: int) -> Iterator[pa.RecordBatch]:
    """Yield batches until their total size reaches `size` bytes."""
    for batch in batches:
        yield batch
        size -= batch.nbytes
        if size <= 0:
            return


def _sorted_source(
    cursor: "duckdb.DuckDBPyConnection", columns: int, values: Sequence[str], at_once: int
) -> Generator[pa.RecordBatch, None, None]:
    """Yield the rows of `SOURCE` with values after its columns, sorted by these."""
    order = ", ".join(str(columns + number) for number in range(1, len(values) + 1))
    sql = f"SELECT s.*{''.join(f', {value}' for value in values)} FROM {SOURCE} AS s"
    with contextlib.ExitStack() as stack:
        stack.enter_context(computing_rows())
        provide_kernels(cursor, sql)
        batches = cursor.sql(f"{sql} ORDER BY {order}" if order else sql).to_arrow_reader(at_once)
        # An open result would keep the cursor from running anything else.
        stack.callback(batches.close)
        yield from batches


@dataclass
class SourceFile:
    """The rows of a source as an Arrow file in the folder of a table; picklable.

    Args:
        store: the folder of the table.
        name: the name of the file.
        sizes: the bytes of its batches in memory, once it is written.
        rows: the number of rows of its batches, once it is written.
        bounds: by the SQL of a value, its least and its greatest value in each batch, once it is written;
            None for both if the value is NULL in all rows.
    """

    store: Store
    name: str = field(default_factory=lambda: f"deltaarrow-merge-{uuid.uuid4()}.arrow")
    sizes: list[int] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    bounds: dict[str, list[tuple[Any, Any]]] = field(default_factory=dict)

    def write(
        self, cursor: "duckdb.DuckDBPyConnection", schema: pa.Schema, rows: int, values: Sequence[str]
    ) -> None:
        """Write the rows of `SOURCE`, once.

        Args:
            cursor: has the source.
            schema: the columns of the source.
            rows: the number of its rows.
            values: the SQL of the values over ``s``, rows of the source, that order the rows.
        """
        if self.sizes:
            return
        try:
            self._write(cursor, schema, rows, values)
        except (DeltaError, ValueError, OverflowError):
            if not values:
                raise
            # The merge itself raises for a value that cannot be computed. Python lacks some times.
            self._write(cursor, schema, rows, ())

    def _write(
        self, cursor: "duckdb.DuckDBPyConnection", schema: pa.Schema, rows: int, values: Sequence[str]
    ) -> None:
        self.sizes, self.rows = [], []
        at_once = min(max(rows // _BATCHES, _LEAST_ROWS), _MOST_ROWS)
        self.bounds = {sql: [] for sql in values}
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        with (
            contextlib.closing(_sorted_source(cursor, len(schema), values, at_once)) as batches,
            self.store.open_output(self.name) as output,
            pa.ipc.new_file(output, schema, options=options) as writer,
        ):
            for batch in batches:
                part = conform(batch.select(range(len(schema))), schema)
                writer.write_batch(part)
                self.sizes.append(part.nbytes)
                self.rows.append(part.num_rows)
                for sql, column in zip(values, batch.columns[len(schema) :], strict=True):
                    least_and_greatest = pc.min_max(column)
                    self.bounds[sql].append(tuple(each.as_py() for each in least_and_greatest.values()))

    def shares(self, executor: Executor) -> list[list[int]]:
        """Return the places of the batches that one task of an executor reads, if no two read the same."""
        blocks: list[list[int]] = []
        room = 0
        for place, rows in enumerate(self.rows):
            if not blocks or rows > room:
                blocks.append([])
                room = _MOST_ROWS
            blocks[-1].append(place)
            room -= rows
        parts = executor.parts([sum(self.sizes[place] for place in block) for block in blocks])
        assert parts is not None  # as tasks are run elsewhere
        return [[place for number in part for place in blocks[number]] for part in parts]

    def delete(self) -> None:
        """Delete the file; if that fails, VACUUM will."""
        with contextlib.suppress(DeltaError, OSError):
            self.store.delete(self.name)


@dataclass(frozen=True)
class SourceRows:
    """Rows of a source that a task joins; picklable.

    Args:
        file: the rows; the last column is the number of each row, from 0.
        batches: the places of the batches to read; None for all.
        without: the numbers of rows to leave out.
    """

    file: SourceFile
    batches: Sequence[int] | None = None
    without: BitMap64 | None = None

    def load(self, cursor: "duckdb.DuckDBPyConnection") -> None:
        """Load the rows as `SOURCE`. Raises `StorageError` if the file is gone."""
        store = self.file.store
        path = store.arrow_path(self.file.name)
        with (
            expecting_file(self.file.name, store.uri),
            store.reaching(),
            store.arrow_filesystem().open_input_file(path) as source,
        ):
            reader = pa.ipc.open_file(source)
            load_source(cursor, self._read(reader), reader.schema)

    def _read(self, reader: pa.ipc.RecordBatchFileReader) -> Iterator[pa.RecordBatch]:
        for place in range(reader.num_record_batches) if self.batches is None else self.batches:
            batch = reader.get_batch(place)
            yield batch if self.without is None else self._others(batch, self.without)

    def _others(self, batch: pa.RecordBatch, without: BitMap64) -> pa.RecordBatch:
        numbers = np.from_dlpack(batch.column(batch.num_columns - 1)).astype(np.uint64)
        left_out = np.array((without & BitMap64(numbers)).to_array(), np.uint64)
        return batch.filter(booleans(~np.isin(numbers, left_out, assume_unique=True)))
