"""`ParallelWriter`: one Parquet file whose row groups are encoded by several threads.

`pyarrow` encodes the columns of a row group one after the other, in one thread. Here each row group is
encoded as a file of its own, in memory, and their bytes are joined.
"""

from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from deltaarrow.columnar.parquet_joining import MAGIC, RowGroupFile, joined_footer

if TYPE_CHECKING:
    from deltaarrow.storage import Output

__all__ = ["ParallelWriter", "can_be_joined"]


def can_be_joined(options: Mapping[str, Any]) -> bool:
    """Whether row groups that are written with these options of `pyarrow` can be joined."""
    return not options.get("write_page_index")


class ParallelWriter:
    """Takes row groups as `pyarrow.parquet.ParquetWriter` does; not thread-safe.

    Args:
        output: where the file goes; it stays open.
        schema: the schema of the file.
        options: the arguments of `pyarrow.parquet.ParquetWriter`; `can_be_joined` tells which.
        threads: how many row groups are encoded at once.
    """

    def __init__(self, output: "Output", schema: pa.Schema, options: Mapping[str, Any], threads: int) -> None:
        self._output = output
        self._schema = schema
        self._options = options
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="deltaarrow-encode")
        self._encoded: deque[Future[RowGroupFile]] = deque()
        self._footers: list[bytes] = []
        self._offsets: list[int] = []

    def write_table(self, rows: pa.Table) -> None:
        """Append rows as one row group; wait while all threads are busy."""
        while len(self._encoded) > self._threads:
            self._append()
        self._encoded.append(self._pool.submit(self._encode, rows))

    def _encode(self, rows: pa.Table) -> RowGroupFile:
        sink = pa.BufferOutputStream()
        with pq.ParquetWriter(sink, self._schema, **self._options) as writer:
            writer.write_table(rows, row_group_size=rows.num_rows)
        return RowGroupFile(memoryview(sink.getvalue()))

    def _append(self) -> None:
        encoded = self._encoded.popleft().result()
        if not self._footers:
            self._output.write(MAGIC)
        self._offsets.append(self._output.tell() - len(MAGIC))
        self._output.write(encoded.body)
        self._footers.append(encoded.footer)

    def close(self) -> pq.FileMetaData:
        """Append what is encoded still, and the footer; return what the footer says."""
        try:
            while self._encoded:
                self._append()
            footer = joined_footer(self._footers, self._offsets)
            self._output.write(footer)
        finally:
            self.discard()
        return pq.read_metadata(pa.BufferReader(MAGIC + footer))

    def discard(self) -> None:
        """Stop the threads; what is not written is lost."""
        for each in self._encoded:
            each.cancel()
        self._encoded.clear()
        self._pool.shutdown()
