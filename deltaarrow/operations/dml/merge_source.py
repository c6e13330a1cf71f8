"""The source of a MERGE: loading its rows into DuckDB, and a file of them for tasks in other processes.

The file lies in the folder of the table, which executors reach, and is deleted when the merge ends. If the
driver dies before, no version names the file, and VACUUM deletes it.
"""

import contextlib
import itertools
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyroaring import BitMap64

from deltaarrow.columnar.arrays import booleans
from deltaarrow.errors import DeltaError
from deltaarrow.storage import Store

if TYPE_CHECKING:
    import duckdb

__all__ = ["SOURCE", "SourceFile", "SourceRows", "load_source"]

SOURCE = "deltaarrow_source"
"""The relation of the loaded source."""

_STREAM = "deltaarrow_source_stream"
_MOST_HELD = 64 << 20
"""A source of fewer bytes is joined in memory; a larger one is loaded into a DuckDB table that can spill."""
_BATCH_ROWS = 1 << 17


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


@dataclass
class SourceFile:
    """The rows of a source as an Arrow file in the folder of a table; picklable.

    Args:
        store: the folder of the table.
        name: the name of the file.
        sizes: the bytes of its batches in memory, once it is written.
        rows: the number of its rows, once it is written.
    """

    store: Store
    name: str = field(default_factory=lambda: f"deltaarrow-merge-{uuid.uuid4()}.arrow")
    sizes: list[int] = field(default_factory=list)
    rows: int = 0

    def copied(self, batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Yield batches, and write them to the file, which is complete after the last one."""
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        with (
            self.store.open_output(self.name) as output,
            pa.ipc.new_file(output, schema, options=options) as writer,
        ):
            for batch in batches:
                for start in range(0, batch.num_rows, _BATCH_ROWS):
                    part = batch.slice(start, _BATCH_ROWS)
                    writer.write_batch(part)
                    self.sizes.append(part.nbytes)
                    self.rows += part.num_rows
                yield batch

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
        """Load the rows as `SOURCE`. Raises `FileNotFoundError` if the file is gone."""
        store = self.file.store
        path = store.arrow_path(self.file.name)
        with store.reaching(), store.arrow_filesystem().open_input_file(path) as source:
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
