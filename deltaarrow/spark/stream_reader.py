"""The reader of a table as a stream, with offsets on the driver and splits on executors: `StreamReader`.

While a stream runs, Spark keeps one reader in a separate Python process for offsets and partitions. It sends
the pickled form of another reader to all executors.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxFiles,
    SupportsTriggerAvailableNow,
)

from deltaarrow.spark.split_scan import SplitScan
from deltaarrow.spark.stream_offset import StreamOffset
from deltaarrow.spark.stream_scan import StreamScan
from deltaarrow.spark.table_stream import TableStream

__all__ = ["StreamReader"]


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reports new data of a table to Spark, and has executors read it; pickling omits the table."""

    def __init__(self, split_scan: SplitScan, scan: StreamScan | None) -> None:
        self._split_scan = split_scan
        self._table = None if scan is None else TableStream(scan)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle only what executors need."""
        return StreamReader, (self._split_scan, None)

    @property
    def _stream(self) -> TableStream:
        assert self._table is not None  # offsets are only asked for on the driver
        return self._table

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Return where a new stream begins."""
        return self._stream.beginning().render()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Return the limit given by the options.

        Spark has no limit for both files and bytes; `latestOffset` takes both from the options, whichever
        limit Spark passes.
        """
        options = self._stream.options
        if options.max_files is not None:
            return ReadMaxFiles(options.max_files)
        assert options.max_bytes is not None
        return ReadMaxBytes(options.max_bytes)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Let the stream end with the version that is newest now."""
        self._stream.end_with_newest()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """Return where the next batch ends; exactly `start` if there is nothing new."""
        begin = StreamOffset.parse(start)
        end = self._stream.next_offset(begin, is_limited=not isinstance(limit, ReadAllAvailable))
        return start if end == begin else end.render()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Return the splits of a batch, each with the tasks of its files."""
        splits = self._stream.splits(StreamOffset.parse(start), StreamOffset.parse(end))
        return [InputPartition(tasks) for tasks in splits]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a split."""
        return self._split_scan.read(partition.value)
