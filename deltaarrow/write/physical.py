"""The schema of data files (PROTOCOL.md, *Column Mapping*, *Data Files*) and rows under it.

A data file has the columns of the table in order but for the partition columns, whose values stand
in the log, and for void columns, for which Parquet has no type. Names and field ids are those of
column mapping, and every column is optional, as Spark writes it: dropping a NOT NULL then changes
no file.
"""

from collections.abc import Collection

import pyarrow as pa

from deltaarrow.errors import SchemaMismatchError, UnsupportedFeatureError
from deltaarrow.schema import (
    ArrayType,
    DataType,
    Field,
    MapType,
    PrimitiveType,
    StructType,
    field_id,
    physical_name,
    to_arrow_type,
)

__all__ = ["data_columns", "file_schema", "relabel"]

_FIELD_ID = b"PARQUET:field_id"
_VOID = PrimitiveType("void")


def data_columns(schema: StructType, partition_columns: Collection[str]) -> StructType:
    """The columns that data files hold, under their logical names.

    Raises:
        SchemaMismatchError: there are none.
    """
    columns = [each for each in schema.fields if each.name not in partition_columns and each.type != _VOID]
    if not columns:
        raise SchemaMismatchError("a data file would have no column: all are void or partition columns")
    return StructType(columns)


def file_schema(columns: StructType, mapping_mode: str) -> pa.Schema:
    """The Arrow schema in which `data_columns` are written.

    Raises:
        UnsupportedFeatureError: a void inside another type, which a file cannot leave out.

    >>> file_schema(StructType([Field("id", "long", nullable=False)]), "none")
    id: int64
    """
    return pa.schema([_file_field(each, mapping_mode) for each in columns.fields])


def relabel(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The same columns under other names; nothing is copied, nested names change as well."""
    _, columns = batch.__arrow_c_array__()
    return pa.RecordBatch._import_from_c_capsule(schema.__arrow_c_schema__(), columns)


def _file_field(field: Field, mode: str) -> pa.Field:
    identity = field_id(field) if mode != "none" else None
    metadata = None if identity is None else {_FIELD_ID: str(identity)}
    return pa.field(physical_name(field, mode), _file_type(field.type, mode, field.name), metadata=metadata)


def _file_type(data_type: DataType, mode: str, path: str) -> pa.DataType:
    if isinstance(data_type, StructType):
        if not data_type.fields:
            raise UnsupportedFeatureError(
                f"column {path!r} is a struct without fields", feature="empty struct"
            )
        return pa.struct([_file_field(each, mode) for each in data_type.fields])
    if isinstance(data_type, ArrayType):
        return pa.list_(pa.field("element", _file_type(data_type.element_type, mode, f"{path}.element")))
    if isinstance(data_type, MapType):
        key = pa.field("key", _file_type(data_type.key_type, mode, f"{path}.key"), nullable=False)
        return pa.map_(key, pa.field("value", _file_type(data_type.value_type, mode, f"{path}.value")))
    if data_type == _VOID:
        raise UnsupportedFeatureError(f"column {path!r} is a void inside another type", feature="void")
    return to_arrow_type(data_type)
