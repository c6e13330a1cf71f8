"""Reading a table as a stream: offsets on the driver, splits on executors: `StreamReader`.

Spark keeps one reader for offsets and partitions in a Python process of its own for as long as the stream
runs, and hands what another one pickles to all executors.
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
    """Tells Spark what is new in a table, and has executors read it; to them it travels without the table."""

    def __init__(self, split_scan: SplitScan, scan: StreamScan | None) -> None:
        self._split_scan = split_scan
        self._table = None if scan is None else TableStream(scan)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle what executors need."""
        return StreamReader, (self._split_scan, None)

    @property
    def _stream(self) -> TableStream:
        assert self._table is not None  # as offsets are asked for on the driver alone
        return self._table

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Return where a new stream begins."""
        return self._stream.beginning().render()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Return the limit of the options.

        Spark knows none of files and bytes at once; `latestOffset` takes both from the options, whichever
        of them comes.
        """
        options = self._stream.options
        if options.max_files is not None:
            return ReadMaxFiles(options.max_files)
        assert options.max_bytes is not None
        return ReadMaxBytes(options.max_bytes)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Let the stream end with the version that is the newest now."""
        self._stream.end_with_newest()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """Return where the next batch ends, as the text that `start` is if there is nothing new."""
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
