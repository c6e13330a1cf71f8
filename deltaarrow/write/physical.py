"""The schema of data files, and the renaming of rows to it (PROTOCOL.md, *Column Mapping*, *Data Files*).

A data file has the columns of the table in order, without partition columns, whose values are in the log, and
without void columns and struct fields, for which Parquet has no type. If the table materializes partition
columns, they come last. Names and field ids follow column mapping. Every column is optional, as Spark writes
it, so that dropping a NOT NULL changes no file.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

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
    nested_ids,
    physical_name,
    to_arrow_type,
)
from deltaarrow.schema.metadata_keys import PARQUET_FIELD_ID_KEY

__all__ = ["data_columns", "file_schema", "relabel", "without_voids"]

_VOID = PrimitiveType("void")


def data_columns(
    schema: StructType, partition_columns: Collection[str], *, with_partitions: bool = False
) -> StructType:
    """The columns in data files, under their logical names.

    Args:
        schema: the columns of the table.
        partition_columns: the partition columns, in order.
        with_partitions: whether to add the partition columns, last.

    Raises:
        SchemaMismatchError: no column is left.
    """
    columns = _stored([each for each in schema.fields if each.name not in partition_columns])
    if not columns:
        raise SchemaMismatchError(
            "a data file would have no column: all columns of the table are void or partition columns; give a"
            " column of NULLs a type, for example with a cast, or add a column that is no partition column"
            " (Spark: DELTA_CANNOT_WRITE_EMPTY_SCHEMA.TABLE_ALL_VOID_COLUMNS)"
        )
    if with_partitions:
        columns += [schema.field(name) for name in partition_columns]
    return StructType(columns)


def _stored(fields: Iterable[Field]) -> list[Field]:
    return [replace(each, type=_stored_type(each.type)) for each in fields if each.type != _VOID]


def _stored_type(data_type: DataType) -> DataType:
    if not isinstance(data_type, StructType):
        return data_type
    return replace(data_type, fields=tuple(_stored(data_type.fields)))


def without_voids(array: pa.Array, stored: pa.DataType) -> pa.Array:
    """A column without the struct fields that `stored`, the type of the column in data files, leaves out.

    >>> rows = pa.array([{"a": None, "b": 1}, None], pa.struct({"a": pa.null(), "b": pa.int32()}))
    >>> without_voids(rows, pa.struct({"b": pa.int32()})).to_pylist()
    [{'b': 1}, None]
    """
    if array.type == stored or not pa.types.is_struct(stored):
        return array
    members = [without_voids(array.field(each.name), each.type) for each in stored]
    return pa.StructArray.from_arrays(members, fields=list(stored), mask=array.is_null())


def file_schema(columns: StructType, mapping_mode: str) -> pa.Schema:
    """The Arrow schema that data files have for `columns`, the result of `data_columns`.

    Raises:
        UnsupportedFeatureError: a void inside an array or a map, or a struct of nothing else.

    >>> file_schema(StructType([Field("id", "long", nullable=False)]), "none")
    id: int64
    """
    return pa.schema([_file_field(each, mapping_mode) for each in columns.fields])


def relabel(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The same columns under other names, nested names included; nothing is copied."""
    _, columns = batch.__arrow_c_array__()
    return pa.RecordBatch._import_from_c_capsule(schema.__arrow_c_schema__(), columns)


def _file_field(field: Field, mode: str) -> pa.Field:
    identity = field_id(field) if mode != "none" else None
    metadata = None if identity is None else {PARQUET_FIELD_ID_KEY: str(identity)}
    name = physical_name(field, mode)
    ids = nested_ids(field) if mode != "none" else {}
    return pa.field(name, _file_type(field.type, mode, name, ids), metadata=metadata)


def _part(name: str, part: DataType, mode: str, path: str, ids: Mapping[str, int]) -> pa.Field:
    """The field of an array element, a map key or a map value; `path` leads to it from the column."""
    metadata = {PARQUET_FIELD_ID_KEY: str(ids[path])} if path in ids else None
    return pa.field(name, _file_type(part, mode, path, ids), nullable=name != "key", metadata=metadata)


def _file_type(data_type: DataType, mode: str, path: str, ids: Mapping[str, int]) -> pa.DataType:
    if isinstance(data_type, StructType):
        if not data_type.fields:
            raise UnsupportedFeatureError(
                f"column {path!r} is a struct without fields, or of voids alone, which Parquet cannot store;"
                " add a field, give one a type, or drop the column"
                " (Spark: DELTA_CANNOT_WRITE_EMPTY_SCHEMA.STRUCT_ALL_VOID_FIELDS)",
                feature="empty struct",
            )
        return pa.struct([_file_field(each, mode) for each in data_type.fields])
    if isinstance(data_type, ArrayType):
        return pa.list_(_part("element", data_type.element_type, mode, f"{path}.element", ids))
    if isinstance(data_type, MapType):
        key = _part("key", data_type.key_type, mode, f"{path}.key", ids)
        return pa.map_(key, _part("value", data_type.value_type, mode, f"{path}.value", ids))
    if data_type == _VOID:
        raise UnsupportedFeatureError(
            f"column {path!r} is a void inside an array or a map, which Parquet cannot store; give it a type",
            feature="void",
        )
    return to_arrow_type(data_type)
