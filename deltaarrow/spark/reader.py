"""Reading splits of a table on executors: `SplitReader`."""

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from deltaarrow.spark.split_scan import SplitScan

__all__ = ["SplitReader"]


class SplitReader(DataSourceReader):
    """Hands its splits to Spark, which has executors read them; to them it travels without the splits.

    Filters are not taken over from Spark: it keeps those of one query for others on the same frame.
    """

    def __init__(self, scan: SplitScan, splits: Sequence[InputPartition]) -> None:
        self._scan = scan
        self._splits = splits

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle what executors need."""
        return SplitReader, (self._scan, ())

    def partitions(self) -> Sequence[InputPartition]:
        """The splits, each with the tasks of its files."""
        return list(self._splits)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a split; what Spark makes up where there is none has no rows."""
        return self._scan.read(partition.value or ())
