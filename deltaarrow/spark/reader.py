"""The reader of a table's splits on executors: `SplitReader`."""

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from deltaarrow.spark.split_scan import SplitScan

__all__ = ["SplitReader"]


class SplitReader(DataSourceReader):
    """Passes its splits to Spark, which has executors read them; the pickled reader leaves the splits out.

    Spark's filters are not used. Spark 4.2 keeps one plan for all queries on a frame: the files that one
    query leaves out would be missing from the next one, also where every filter is given back to Spark.
    """

    def __init__(self, scan: SplitScan, splits: Sequence[InputPartition]) -> None:
        self._scan = scan
        self._splits = splits

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle only what executors need."""
        return SplitReader, (self._scan, ())

    def partitions(self) -> Sequence[InputPartition]:
        """The splits, each with the tasks of its files."""
        return list(self._splits)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a split; the split that Spark adds if there is none has no rows."""
        return self._scan.read(partition.value or ())
