"""Conversion between Delta's and Spark's schemas, and between the Arrow batches of both sides.

Both spell schemas in the same JSON. Every column is nullable for Spark, as in its own file sources: otherwise
it would take a NULL that a file holds against the schema for a value. Batches differ in one thing: Spark
orders the parts of a variant ``value, metadata``, this package ``metadata, value``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import orjson
import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from deltaarrow.runtime.fork_safety import cached_property
from deltaarrow.schema import Schema, as_nullable, without_table_metadata
from deltaarrow.variant import convert_variants
from deltaarrow.write.physical import relabel

__all__ = ["FrameColumns"]

_SPARK_ORDER = ("value", "metadata")
_DELTA_ORDER = ("metadata", "value")


@dataclass(frozen=True)
class FrameColumns:
    """The columns of a data frame, as Delta types; picklable."""

    schema: Schema

    @classmethod
    def of_table(cls, schema: Schema) -> Self:
        """The columns of a frame that shows a table of this schema."""
        return cls(as_nullable(without_table_metadata(schema)))

    @classmethod
    def of_frame(cls, schema: StructType) -> Self:
        """The columns of a frame with this Spark schema.

        Raises `UnsupportedFeatureError` for types that Delta lacks, such as intervals.
        """
        return cls.of_table(Schema.from_json(schema.json()))

    @cached_property
    def spark_schema(self) -> StructType:
        """The schema in Spark's types."""
        return StructType.fromJson(orjson.loads(self.schema.to_json()))

    @cached_property
    def arrow_schema(self) -> pa.Schema:
        """The schema of the batches that `from_spark` returns: the table's, with all columns nullable."""
        return self.schema.to_arrow()

    @cached_property
    def _spark_arrow_schema(self) -> pa.Schema:
        return to_arrow_schema(self.spark_schema, timezone="UTC")

    def to_spark(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Convert rows of the table to the form that Spark takes from a source."""
        return relabel(self._reordered(batch, _SPARK_ORDER), self._spark_arrow_schema)

    def from_spark(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Convert rows that Spark passes to a sink; variants are marked but not yet validated."""
        return self._reordered(batch, _DELTA_ORDER).cast(self.arrow_schema)

    def _reordered(self, batch: pa.RecordBatch, order: Sequence[str]) -> pa.RecordBatch:
        """The batch with the parts of all variants in the given order."""
        arrays = [
            convert_variants(array, field.type, lambda variants: _variants(variants, order))
            for array, field in zip(batch.columns, self.schema.fields, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, names=self.schema.names)


def _variants(array: pa.Array, order: Sequence[str]) -> pa.StructArray:
    parts = [array.field(name) for name in order]
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays(
        parts, fields=[pa.field(name, pa.binary()) for name in order], mask=mask
    )
