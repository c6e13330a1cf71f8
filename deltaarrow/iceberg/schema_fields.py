"""The columns and partitions of a table in Iceberg's terms.

Columns have the field ids of column mapping, which the data files have too. Types:

=======================  ===================
Delta                    Iceberg
=======================  ===================
byte, short, integer     int
timestamp                timestamptz
timestamp_ntz            timestamp
array, map, struct       list, map, struct
others                   of the same name
=======================  ===================

A partition column is an identity partition. A data file without field ids, from before column mapping, is
read by a name mapping of physical names. Chapter *Iceberg Compatibility V2* of the protocol.
"""

from typing import Any

from deltaarrow.errors import CorruptLogError, UnsupportedFeatureError
from deltaarrow.features import ROW_TRACKING_FIELD_IDS, properties
from deltaarrow.runtime.optional import require
from deltaarrow.schema import (
    ArrayType,
    DataType,
    Field,
    MapType,
    PrimitiveType,
    Schema,
    StructType,
    field_id,
    nested_ids,
    physical_name,
)
from deltaarrow.schema.metadata_keys import COMMENT_KEY
from deltaarrow.snapshot import Snapshot

_types = require("pyiceberg.types")
_partitioning = require("pyiceberg.partitioning")
_names = require("pyiceberg.table.name_mapping")
_Schema = require("pyiceberg.schema").Schema
_Identity = require("pyiceberg.transforms").IdentityTransform

__all__ = ["iceberg_schema", "iceberg_type", "id_of", "name_mapping", "partition_spec"]

_PRIMITIVES = {
    "string": _types.StringType,
    "long": _types.LongType,
    "integer": _types.IntegerType,
    "short": _types.IntegerType,
    "byte": _types.IntegerType,
    "float": _types.FloatType,
    "double": _types.DoubleType,
    "boolean": _types.BooleanType,
    "binary": _types.BinaryType,
    "date": _types.DateType,
    "timestamp": _types.TimestamptzType,
    "timestamp_ntz": _types.TimestampType,
}


_HIDDEN = (
    properties.MATERIALIZED_ROW_ID_COLUMN_NAME,
    properties.MATERIALIZED_ROW_COMMIT_VERSION_COLUMN_NAME,
)


def iceberg_schema(schema: Schema, schema_id: int = 0) -> Any:
    """Return the ``pyiceberg.schema.Schema`` of a table with column mapping.

    Raises `UnsupportedFeatureError` for a type that Iceberg does not have, and `CorruptLogError` for a column
    without a field id.
    """
    return _Schema(*map(_nested_field, schema.fields), schema_id=schema_id)


def partition_spec(snapshot: Snapshot, spec_id: int = 0) -> Any:
    """Return the ``PartitionSpec`` of a table; its fields have the names of the columns."""
    fields = [snapshot.schema.field(name) for name in snapshot.partition_columns]
    first = _partitioning.PARTITION_FIELD_ID_START
    return _partitioning.PartitionSpec(
        *(
            _partitioning.PartitionField(
                source_id=id_of(field), field_id=first + place, transform=_Identity(), name=field.name
            )
            for place, field in enumerate(fields)
        ),
        spec_id=spec_id,
    )


def name_mapping(snapshot: Snapshot, previous: str | None = None) -> str:
    """Return the JSON text that gives the columns of data files without field ids their ids.

    It has the materialized columns of row tracking too, and the dropped columns of a `previous` one: a reader
    may demand that it has all columns of a file.
    """
    fields = [_mapped(field, snapshot.mapping_mode) for field in snapshot.schema.fields]
    names = [record.parse(snapshot.configuration) for record in _HIDDEN]
    fields += [
        _names.MappedField(field_id=number, names=[name])
        for name, number in zip(names, ROW_TRACKING_FIELD_IDS, strict=True)
        if name
    ]
    if previous is not None:
        fields = _with_dropped(fields, _names.parse_mapping_from_json(previous).root)
    return str(_names.NameMapping(fields).model_dump_json())


def _with_dropped(fields: list[Any], previous: list[Any]) -> list[Any]:
    older = {field.field_id: field for field in previous}
    taken = {name for field in fields for name in field.names}
    found = []
    for field in fields:
        old = older.pop(field.field_id, None)
        inner = field.fields if old is None else _with_dropped(field.fields, old.fields)
        found.append(_names.MappedField(field_id=field.field_id, names=field.names, fields=inner))
    return found + [field for field in older.values() if taken.isdisjoint(field.names)]


def id_of(field: Field) -> int:
    """Return the field id of a column; raises `CorruptLogError` if it has none."""
    if (number := field_id(field)) is None:
        raise CorruptLogError(f"column {field.name!r} of a table with column mapping has no field id")
    return number


def iceberg_type(data_type: PrimitiveType) -> Any:
    """Return the Iceberg type of a primitive type."""
    if data_type.decimal is not None:
        return _types.DecimalType(*data_type.decimal)
    if (found := _PRIMITIVES.get(data_type.type)) is None:
        raise UnsupportedFeatureError(
            f"version 2 of Iceberg's format has no type for {data_type.type}", feature=data_type.type
        )
    return found()


def _nested_field(field: Field) -> Any:
    comment = field.metadata.get(COMMENT_KEY)
    return _types.NestedField(
        field_id=id_of(field),
        name=field.name,
        field_type=_type(field.type, field, ()),
        required=not field.nullable,
        doc=comment if isinstance(comment, str) else None,
    )


def _type(data_type: DataType, owner: Field, path: tuple[str, ...]) -> Any:
    match data_type:
        case StructType():
            return _types.StructType(*map(_nested_field, data_type.fields))
        case ArrayType():
            inner = (*path, "element")
            return _types.ListType(
                element_id=_nested_id(owner, inner),
                element_type=_type(data_type.element_type, owner, inner),
                element_required=not data_type.contains_null,
            )
        case MapType():
            key, value = (*path, "key"), (*path, "value")
            return _types.MapType(
                key_id=_nested_id(owner, key),
                key_type=_type(data_type.key_type, owner, key),
                value_id=_nested_id(owner, value),
                value_type=_type(data_type.value_type, owner, value),
                value_required=not data_type.value_contains_null,
            )
        case PrimitiveType():
            return iceberg_type(data_type)
    raise UnsupportedFeatureError(f"Iceberg has no type for {data_type!r}", feature=repr(data_type))


def _nested_id(owner: Field, path: tuple[str, ...]) -> int:
    name = ".".join((physical_name(owner, "name"), *path))
    if (number := nested_ids(owner).get(name)) is None:
        raise CorruptLogError(f"column {owner.name!r} has no field id for {'.'.join(path)}")
    return number


def _mapped(field: Field, mode: str) -> Any:
    inner = _mapped_parts(field.type, field, (), mode)
    return _names.MappedField(field_id=id_of(field), names=[physical_name(field, mode)], fields=inner)


def _mapped_parts(data_type: DataType, owner: Field, path: tuple[str, ...], mode: str) -> list[Any]:
    if isinstance(data_type, StructType):
        return [_mapped(field, mode) for field in data_type.fields]
    parts: list[tuple[str, DataType]] = []
    if isinstance(data_type, ArrayType):
        parts = [("element", data_type.element_type)]
    elif isinstance(data_type, MapType):
        parts = [("key", data_type.key_type), ("value", data_type.value_type)]
    return [
        _names.MappedField(
            field_id=_nested_id(owner, (*path, name)),
            names=[name],
            fields=_mapped_parts(part, owner, (*path, name), mode),
        )
        for name, part in parts
    ]
