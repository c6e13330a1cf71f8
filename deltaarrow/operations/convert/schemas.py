"""The schema of a converted table: that of every file, merged.

Types of Parquet become those of Spark: an unsigned number gets the next larger type, an INT96 is a timestamp.
Columns are the same if their names differ in case alone; the first spelling stays. Of byte, short and integer
in different files the largest wins, as in Spark; any other difference is refused with the column and the
file. All columns are nullable.
"""

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from deltaarrow.columnar.parquet_footers import Leaf
from deltaarrow.errors import SchemaMismatchError, UnsupportedFeatureError
from deltaarrow.schema import (
    ArrayType,
    DataType,
    Field,
    MapType,
    PrimitiveType,
    Schema,
    StructType,
    from_arrow_type,
)
from deltaarrow.schema.metadata_keys import PARQUET_FIELD_ID_KEY

__all__ = ["field_ids", "file_schema", "merged_schema", "spelled_paths"]

_INT96 = 3
_UNSIGNED = {pa.uint8(): "short", pa.uint16(): "integer", pa.uint32(): "long"}
_WIDENING = ("byte", "short", "integer")


def file_schema(schema: pa.Schema, leaves: Sequence[Leaf], file: str) -> StructType:
    """Return the columns of a Parquet file.

    Raises `UnsupportedFeatureError` for a type that Delta has not, or Spark does not read.
    """
    rest = iter(leaves)
    return StructType(_field(each, rest, "", file) for each in schema)


def _field(field: pa.Field, leaves: Iterator[Leaf], path: str, file: str) -> Field:
    here = f"{path}.{field.name}" if path else field.name
    return Field(field.name, _type(field.type, leaves, here, file))


def _type(found: pa.DataType, leaves: Iterator[Leaf], path: str, file: str) -> DataType:
    types = pa.types
    if isinstance(found, pa.BaseExtensionType):
        raise _refused(path, file, found)
    if types.is_struct(found):
        return StructType(_field(each, leaves, path, file) for each in found.fields)
    if types.is_map(found):
        key = _type(found.key_type, leaves, f"{path}.key", file)
        return MapType(key, _type(found.item_type, leaves, f"{path}.value", file))
    if types.is_list(found):
        return ArrayType(_type(found.value_type, leaves, f"{path}.element", file))
    if next(leaves).physical_type == _INT96:
        return PrimitiveType("timestamp")
    if found in _UNSIGNED:
        return PrimitiveType(_UNSIGNED[found])
    is_nanoseconds = types.is_timestamp(found) and found.unit == "ns"
    if is_nanoseconds or types.is_float16(found) or found == pa.uint64():
        raise _refused(path, file, found)
    return from_arrow_type(found, path)


def _refused(path: str, file: str, found: pa.DataType) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"{file} has the column {path} of the type {found}, which Delta tables do not read from Parquet;"
        " write"
        " these files again with another type",
        feature=str(found),
    )


def merged_schema(schemas: Mapping[str, StructType]) -> Schema:
    """Return the columns of all files; `schemas` has those of each kind of file, by the name of one of them.

    Raises `SchemaMismatchError` for two types of a column that do not go together.
    """
    merged = StructType(())
    for file, schema in schemas.items():
        merged = _merged_struct(merged, schema, "", file)
    return Schema(merged.fields)


def _merged_struct(one: StructType, other: StructType, path: str, file: str) -> StructType:
    known = {field.name.lower(): number for number, field in enumerate(one.fields)}
    fields = list(one.fields)
    for field in other.fields:
        number = known.get(field.name.lower())
        if number is None:
            known[field.name.lower()] = len(fields)
            fields.append(field)
            continue
        present = fields[number]
        here = f"{path}.{present.name}" if path else present.name
        fields[number] = Field(present.name, _merged(present.type, field.type, here, file))
    return StructType(fields)


def _merged(one: DataType, other: DataType, path: str, file: str) -> DataType:
    if one == other:
        return one
    match one, other:
        case StructType(), StructType():
            return _merged_struct(one, other, path, file)
        case ArrayType(), ArrayType():
            return ArrayType(_merged(one.element_type, other.element_type, f"{path}.element", file))
        case MapType(), MapType():
            key = _merged(one.key_type, other.key_type, f"{path}.key", file)
            return MapType(key, _merged(one.value_type, other.value_type, f"{path}.value", file))
        case PrimitiveType(), PrimitiveType():
            if one.type in _WIDENING and other.type in _WIDENING:
                return max(one, other, key=lambda each: _WIDENING.index(each.type))
    raise SchemaMismatchError(
        f"the column {path} has the type {other!r} in {file}, and {one!r} in another file; write one of them"
        " again with the same type (Spark: DELTA_FAILED_MERGE_SCHEMA_FILE)"
    )


def spelled_paths(table: StructType, file: StructType) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Return the paths of a table that a file spells in another case, with that spelling."""
    return dict(_spelled(table, file, (), ()))


def _spelled(
    table: StructType, file: StructType, path: tuple[str, ...], spelled: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    names = {field.name.lower(): field for field in file.fields}
    for field in table.fields:
        found = names.get(field.name.lower())
        if found is None:
            continue
        here, there = (*path, field.name), (*spelled, found.name)
        if here != there:
            yield here, there
        if isinstance(field.type, StructType) and isinstance(found.type, StructType):
            yield from _spelled(field.type, found.type, here, there)


def field_ids(schema: pa.Schema) -> dict[tuple[str, ...], int]:
    """Return the field id of each column and field of a struct that has one, by its path."""
    return dict(_ids(schema, ()))


def _ids(fields: Sequence[pa.Field], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], int]]:
    for field in fields:
        here = (*path, field.name)
        text = (field.metadata or {}).get(PARQUET_FIELD_ID_KEY)
        if text is not None:
            yield here, int(text)
        found = field.type
        if pa.types.is_struct(found):
            yield from _ids(found.fields, here)
        elif pa.types.is_list(found):
            yield from _ids([found.value_field.with_name("element")], here)
        elif pa.types.is_map(found):
            yield from _ids([found.key_field.with_name("key"), found.item_field.with_name("value")], here)
