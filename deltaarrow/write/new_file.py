"""`NewFile`: a Parquet file while it is written, and the values for its `add` action."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from deltaarrow.runtime.clock import Clock
from deltaarrow.statistics import FileStatistics
from deltaarrow.storage import Store, encode_path
from deltaarrow.write.dictionaries import FEW_ROWS, columns_without_dictionary
from deltaarrow.write.parallel_encoding import ParallelWriter, can_be_joined
from deltaarrow.write.writer_properties import COLUMN_LISTS

if TYPE_CHECKING:
    from deltaarrow.storage import Output
    from deltaarrow.write.variant_columns import StoredForm, VariantColumns

__all__ = ["FileFormat", "NewFile", "WrittenFile", "sync_files"]

_BUFFER_BYTES = 64 << 10


@dataclass(frozen=True)
class FileFormat:
    """What all files of a write have in common.

    Args:
        store: receives the files.
        schema: the physical Arrow schema of the rows.
        variants: the columns that hold variants, if any do.
        options: further arguments of `pyarrow.parquet.ParquetWriter`; `COLUMN_LISTS` name columns.
        clock: gives the modification time.
        dictionaries_to_judge: columns that get a dictionary only if their values are worth it.
        threads: how many row groups of one file are encoded at once.
        leaves: how many leaf columns the schema has.
    """

    store: Store
    schema: pa.Schema
    variants: VariantColumns | None
    options: Mapping[str, Any]
    clock: Clock
    dictionaries_to_judge: Collection[str] = ()
    threads: int = 1
    leaves: int = -1

    def options_for(self, row_group: pa.Table, *, is_whole: bool) -> dict[str, Any]:
        """The writer options of a file that begins with these rows, or has only them if it `is_whole`."""
        options = dict(self.options)
        if is_whole and row_group.num_rows <= FEW_ROWS:
            without = set(self.dictionaries_to_judge)
        else:
            without = columns_without_dictionary(row_group, self.dictionaries_to_judge)
        if without:
            options["use_dictionary"] = [name for name in options["use_dictionary"] if name not in without]
        if self.variants is None:
            # One setting for the file takes less time than one for each of its columns.
            for key in COLUMN_LISTS:
                if len(options[key]) in (0, self.leaves):
                    options[key] = bool(options[key])
        return options


class WrittenFile(NamedTuple):
    """A file that is in the store, with its values as the log spells them."""

    path: str
    partition_values: Mapping[str, str | None]
    size: int
    modification_time: int
    stats: str | None


def sync_files(files: Sequence[NewFile]) -> None:
    """Make closed files survive a failure of the machine."""
    if files:
        files[0].store.sync([each.output for each in files if each.output is not None])


class _Sink:
    """Passes what the Parquet library writes to an output, until the file is given up.

    Destructors of the library write what is still buffered, and report on the terminal that they cannot.
    """

    closed = False

    def __init__(self, output: Output) -> None:
        self._output = output
        self.is_open = True

    def write(self, data: Any) -> None:
        """Append bytes."""
        if self.is_open:
            self._output.write(data)

    def tell(self) -> int:
        """Return the number of bytes passed on."""
        return self._output.tell()

    def flush(self) -> None:
        """Do nothing: the output is flushed at its end."""

    def close(self) -> None:
        """Do nothing: the file ends the output."""


class NewFile:
    """A file that takes row groups in turn and appears in the store when it is closed.

    Not thread-safe.
    """

    def __init__(
        self,
        file_format: FileFormat,
        name: str,
        partition_values: Mapping[str, str | None],
        statistics: FileStatistics | None,
    ) -> None:
        self.name = name
        self._format = file_format
        self._partition_values = partition_values
        self._statistics = statistics
        self._footers: list[pq.FileMetaData] = []
        self.output: Output | None = None
        self.store = file_format.store
        self._sink: _Sink | None = None
        self._stream: pa.BufferedOutputStream | None = None
        self._writer: pq.ParquetWriter | ParallelWriter | None = None
        self._schema = file_format.schema
        self._form: StoredForm | None = None

    def write(self, row_group: pa.Table, *, is_last: bool = False) -> int:
        """Append the rows as one row group (at most 1,048,576 rows); return the file's bytes so far."""
        if self.output is None:
            self.output = self._format.store.open_output(self.name, durable=False)
            self.output.__enter__()
            options = self._format.options_for(row_group, is_whole=is_last)
            if self._format.variants is not None:
                self._form = self._format.variants.form_for(row_group)
                self._schema = self._form.schema
                options = self._form.extended(options)
            # As Spark does: decimals of up to 18 digits are integers. The Arrow schema would add nothing.
            options |= {"store_decimal_as_integer": True, "store_schema": False}
            self._writer = self._writer_of(self.output, options)
        assert self._writer is not None
        if self._statistics is not None:
            self._statistics.observe(row_group)
        if self._form is not None:
            row_group = self._form.stored(row_group)
        # Where the dictionary changes within a row group, its values are written without one.
        row_group = row_group.unify_dictionaries()
        if isinstance(self._writer, ParallelWriter):
            self._writer.write_table(row_group)
        else:
            self._writer.write_table(row_group, row_group_size=row_group.num_rows)
        return self._size()

    def _writer_of(self, output: Output, options: Mapping[str, Any]) -> pq.ParquetWriter | ParallelWriter:
        threads = self._format.threads
        if threads > 1 and can_be_joined(options):
            return ParallelWriter(output, self._schema, options, threads)
        # The Parquet writer writes each page and its header alone: a small file is 60 writes.
        self._sink = _Sink(output)
        self._stream = pa.BufferedOutputStream(pa.PythonFile(self._sink, "w"), _BUFFER_BYTES)
        return pq.ParquetWriter(self._stream, self._schema, metadata_collector=self._footers, **options)

    def _size(self) -> int:
        assert self.output is not None
        return self.output.tell() if self._stream is None else self._stream.tell()

    def close(self) -> WrittenFile:
        """Publish the file; it is durable after `sync_files`."""
        assert self._writer is not None
        assert self.output is not None
        if isinstance(self._writer, ParallelWriter):
            self._footers.append(self._writer.close())
        else:
            self._writer.close()
        size = self._size()
        if self._stream is not None:
            self._stream.detach()
        self.output.__exit__(None, None, None)
        written = WrittenFile(
            path=encode_path(self.name),
            partition_values=self._partition_values,
            size=size,
            modification_time=self._format.clock(),
            stats=self._rendered_statistics(),
        )
        # The file is known until the write ends; what wrote it is not needed.
        self._writer = self._stream = self._statistics = None
        self._footers = []
        return written

    def _rendered_statistics(self) -> str | None:
        if self._statistics is None:
            return None
        (footer,) = self._footers
        self._statistics.add_footer(footer, self._schema)
        return self._statistics.render()

    def discard(self) -> None:
        """Give up the file in any state; a published file is deleted."""
        if isinstance(self._writer, ParallelWriter):
            self._writer.discard()
        elif self._writer is not None:
            # Otherwise its destructor would finish the file.
            self._writer.is_open = False
        self._writer = None
        if self._sink is not None:
            self._sink.is_open = False
        if self.output is not None:
            self.output.discard()
            self._format.store.delete(self.name)
