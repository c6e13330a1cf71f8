"""Arrow datasets for DuckDB, with variants in DuckDB's own type."""

from typing import Any, Self

import pyarrow as pa

from deltaarrow.engines.change_dataset import ChangeDataset
from deltaarrow.engines.dataset import DeltaDataset
from deltaarrow.engines.scanner import Columns
from deltaarrow.scan import Explanation
from deltaarrow.schema import ArrayType, DataType, MapType, PrimitiveType, StructType

__all__ = ["ChangesForDuckDB", "DatasetForDuckDB", "annotated_schema"]


def _annotated(field: pa.Field, data_type: DataType) -> pa.Field:
    """The Arrow field with variants marked so that DuckDB reads them as its own type."""
    if data_type == PrimitiveType("variant"):
        return field.with_metadata({"ARROW:extension:name": "arrow.parquet.variant"})
    arrow_type = field.type
    if isinstance(data_type, StructType):
        members = zip(arrow_type, data_type.fields, strict=True)
        return field.with_type(pa.struct([_annotated(member, inner.type) for member, inner in members]))
    if isinstance(data_type, ArrayType):
        return field.with_type(pa.list_(_annotated(arrow_type.value_field, data_type.element_type)))
    if isinstance(data_type, MapType):
        key = _annotated(arrow_type.key_field, data_type.key_type)
        return field.with_type(pa.map_(key, _annotated(arrow_type.item_field, data_type.value_type)))
    return field


def annotated_schema(schema: pa.Schema, logical: StructType) -> pa.Schema:
    """The Arrow schema of columns of these types, with variants marked."""
    pairs = zip(schema, logical.fields, strict=True)
    return pa.schema([_annotated(field, column.type) for field, column in pairs])


class _AnnotatedScanner:
    def __init__(self, scanner: Any, schema: pa.Schema) -> None:
        self._scanner = scanner
        self._schema = schema

    def to_reader(self) -> pa.RecordBatchReader:
        reader = self._scanner.to_reader()
        schema = pa.schema([self._schema.field(name) for name in reader.schema.names])
        return pa.RecordBatchReader.from_batches(schema, (batch.cast(schema) for batch in reader))


class DatasetForDuckDB(DeltaDataset):
    """The Arrow dataset with variants marked for DuckDB; `scanned`, if a list, collects DuckDB's requests."""

    scanned: list[Explanation] | None = None

    @property
    def schema(self) -> pa.Schema:
        """The schema of the table, with variants marked."""
        return annotated_schema(super().schema, self._logical)

    def scanner(self, columns: Columns = None, filter: Any = None, **options: Any) -> Any:
        """Return a scan as `DeltaDataset.scanner` does."""
        if self.scanned is not None:
            self.scanned.append(self.explain(columns, filter))
        return _AnnotatedScanner(super().scanner(columns, filter, **options), self.schema)


class ChangesForDuckDB(ChangeDataset):
    """The change data feed with variants marked for DuckDB."""

    @classmethod
    def of(cls, feed: ChangeDataset) -> Self:
        """Return the feed for DuckDB."""
        return cls(feed._changes, feed._conditions)

    @property
    def schema(self) -> pa.Schema:
        """The schema of the feed, with variants marked."""
        return annotated_schema(super().schema, self.logical_schema)

    def scanner(self, *arguments: Any, **options: Any) -> Any:
        """Return a scan as `ChangeDataset.scanner` does."""
        return _AnnotatedScanner(super().scanner(*arguments, **options), self.schema)
