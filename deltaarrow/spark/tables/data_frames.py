"""Data frames of Spark to and from Arrow: `arrow_frame`, `source_stream` and `table_frame`."""

import json
import weakref
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.types import StructType, TimestampType

from deltaarrow.catalogs import TableLocation
from deltaarrow.spark.registration import register
from deltaarrow.spark.type_conversion import FrameColumns
from deltaarrow.sql.rows.spark import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["arrow_frame", "empty_frame", "is_connect", "source_stream", "table_frame"]

_registered: "weakref.WeakSet[SparkSession]" = weakref.WeakSet()
"""The sessions that know the data source; to register it again would log a warning."""


def arrow_frame(spark: "SparkSession", rows: pa.Table) -> "DataFrame":
    """Return the rows as a data frame."""
    if not rows.num_columns:
        return spark.createDataFrame([], StructType([]))
    return spark.createDataFrame(rows.replace_schema_metadata())


def is_connect(spark: "SparkSession") -> bool:
    """Whether a session is one of Spark Connect."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def empty_frame(spark: "SparkSession", columns: FrameColumns) -> "DataFrame":
    """Return a frame of these columns without rows."""
    return spark.createDataFrame([], columns.spark_schema)


def table_frame(spark: "SparkSession", location: TableLocation) -> "DataFrame":
    """Return the newest version of a table as a frame, which executors read."""
    if spark not in _registered:
        register(spark)
        _registered.add(spark)
    reader = spark.read.format("deltaarrow")
    if location.storage_options:
        reader = reader.option("storageOptions", json.dumps(dict(location.storage_options)))
    return reader.load(location.uri)


def source_stream(frame: "DataFrame") -> pa.RecordBatchReader:
    """Return the rows of a frame as a stream, one partition after another.

    PySpark does not stream instants. Instants in columns travel as microseconds since the epoch. If they are
    inside of structs, lists or maps, or if this version of PySpark streams nothing, the rows are collected.

    Raises `UnsupportedFeatureError` for columns that Delta lacks, such as intervals.
    """
    columns = FrameColumns.of_frame(frame.schema)
    batches: Iterable[pa.RecordBatch]
    instants = [each.name for each in frame.schema.fields if isinstance(each.dataType, TimestampType)]
    try:
        batches = pa.RecordBatchReader.from_stream(_with_microseconds(frame, instants))
    except (AssertionError, AttributeError, TypeError):
        batches, instants = frame.toArrow().to_batches(), []
    return pa.RecordBatchReader.from_batches(columns.arrow_schema, _converted(batches, columns, instants))


def _with_microseconds(frame: "DataFrame", instants: list[str]) -> Any:
    if not instants:
        return frame
    names = {name: quoted(name) for name in frame.columns}
    return frame.selectExpr(
        *(f"unix_micros({each}) AS {each}" if name in instants else each for name, each in names.items())
    )


def _converted(
    batches: Iterable[pa.RecordBatch], columns: FrameColumns, instants: list[str]
) -> Iterator[pa.RecordBatch]:
    time = pa.timestamp("us", "UTC")
    for batch in batches:
        arrays = [
            array.cast(time) if name in instants else array
            for name, array in zip(batch.schema.names, batch.columns, strict=True)
        ]
        yield columns.from_spark(pa.RecordBatch.from_arrays(arrays, names=batch.schema.names))
