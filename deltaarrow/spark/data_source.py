"""The data source class that Spark creates for ``format("deltaarrow")``.

Spark calls each method in a separate Python process on the driver and pickles the source in between. The
first method that opens the table pins its version: the one that a read shows, or whose columns a stream has.
The writer modules are imported only when needed, because most of these processes plan a read.
"""

from collections.abc import MutableMapping

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
    DataSourceWriter,
    InputPartition,
)
from pyspark.sql.types import StructType

from deltaarrow.errors import SchemaMismatchError, UnsupportedFeatureError
from deltaarrow.runtime.lazy import lazy_attributes
from deltaarrow.spark.options import ReadOptions, SinkOptions
from deltaarrow.spark.reader import SplitReader
from deltaarrow.spark.stream_options import StreamOptions, StreamSinkOptions
from deltaarrow.spark.stream_reader import StreamReader
from deltaarrow.spark.stream_scan import StreamScan
from deltaarrow.spark.table_scan import TableScan
from deltaarrow.spark.type_conversion import FrameColumns

__all__ = ["DeltaSource"]

_load = lazy_attributes(
    "deltaarrow.spark",
    {
        "FrameWriter": "deltaarrow.spark.frame_writer",
        "StreamWriter": "deltaarrow.spark.stream_writer",
    },
)


class DeltaSource(DataSource):
    """Delta tables for Spark; `deltaarrow.spark.register` documents the options."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._pinned: ReadOptions | None = None
        self._version: int | None = None

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "deltaarrow"

    def schema(self) -> StructType:
        """The columns of a read, or a stream, with these options."""
        scan = self._open_stream() if StreamOptions.are_meant(self.options) else self._open()
        return scan.columns.spark_schema

    def reader(self, schema: StructType) -> DataSourceReader:
        """Plan reading the table.

        Raises `SchemaMismatchError` if the caller gives a schema that differs from the table's.
        """
        scan = self._open()
        _ensure_own_columns(scan.columns, schema)
        return SplitReader(scan.split_scan, [InputPartition(tasks) for tasks in scan.splits()])

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Plan writing rows of a schema to the table; the table is not changed yet."""
        options = SinkOptions.parse(self.options, "overwrite" if overwrite else "append")
        writer: DataSourceWriter = _load("FrameWriter").plan(options, FrameColumns.of_frame(schema))
        return writer

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        """Plan reading the table as a stream.

        Raises `SchemaMismatchError` as `reader` does.
        """
        scan = self._open_stream()
        _ensure_own_columns(scan.columns, schema)
        return StreamReader(scan.split_scan, scan)

    def streamWriter(  # noqa: N802
        self, schema: StructType, overwrite: bool
    ) -> DataSourceStreamArrowWriter:
        """Plan writing a batch of a stream to the table; the table is not changed yet.

        Raises `UnsupportedFeatureError` for the output mode ``complete``.
        """
        if overwrite:
            raise UnsupportedFeatureError(
                'format("deltaarrow") writes a stream in the output mode append, not complete',
                feature="output mode complete",
            )
        options = StreamSinkOptions.parse(self.options, "append")
        columns = FrameColumns.of_frame(schema)
        writer: DataSourceStreamArrowWriter = _load("StreamWriter").plan(options, columns)
        return writer

    def _open(self) -> TableScan:
        scan = TableScan.open(self._pinned or ReadOptions.parse(self.options))
        self._pinned, self._version = scan.pinned, scan.version
        return scan

    def _open_stream(self) -> StreamScan:
        scan = StreamScan.open(StreamOptions.parse(self.options), self._version)
        self._version = scan.version
        return scan


def _ensure_own_columns(columns: FrameColumns, schema: StructType) -> None:
    own, asked = columns.spark_schema.simpleString(), schema.simpleString()
    if asked != own:
        raise SchemaMismatchError(f"the columns of the table are {own}, not {asked}; leave out schema(...)")
