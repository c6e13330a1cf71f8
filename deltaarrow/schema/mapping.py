"""Logical and physical column names (PROTOCOL.md, *Column Mapping*).

Data files, partition values and statistics of a table with column mapping use physical names;
everything else uses logical names. The mode is a table property, which applies only if the protocol
supports column mapping: reader version 2, or the table feature. Some tables list the feature for writers
only; the mode applies to them too.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias, cast

from deltaarrow.display.near_names import no_column
from deltaarrow.errors import CorruptLogError, SchemaMismatchError, UnsupportedFeatureError
from deltaarrow.schema.metadata_keys import FIELD_ID_KEY, MAPPING_MODE, NESTED_IDS_KEY, PHYSICAL_NAME_KEY
from deltaarrow.schema.schema import Schema
from deltaarrow.schema.types import ArrayType, DataType, Field, MapType, StructType

__all__ = [
    "ColumnMapping",
    "column_mapping_mode",
    "field_id",
    "nested_ids",
    "physical_name",
    "physical_path",
    "resolve_path",
    "to_physical_schema",
]

ColumnMapping: TypeAlias = Literal["none", "name", "id"]
"""How columns are found in data files: by logical name, physical name or field id."""

_FEATURE = "columnMapping"
_LEGACY_READER_VERSION = 2


def column_mapping_mode(
    protocol_reader_version: int,
    reader_features: Collection[str] | None,
    writer_features: Collection[str] | None,
    configuration: Mapping[str, str],
) -> ColumnMapping:
    """Return the column mapping mode of a protocol and a configuration.

    Args:
        protocol_reader_version: ``minReaderVersion`` of the protocol.
        reader_features: ``readerFeatures``; None or empty if there are none.
        writer_features: ``writerFeatures``; None or empty if there are none.
        configuration: the table properties.

    Raises:
        UnsupportedFeatureError: the protocol does not define the mode.

    >>> column_mapping_mode(2, None, None, {"delta.columnMapping.mode": "name"})
    'name'
    >>> column_mapping_mode(1, None, None, {"delta.columnMapping.mode": "name"})
    'none'
    """
    supported = (
        protocol_reader_version == _LEGACY_READER_VERSION
        or _FEATURE in (reader_features or ())
        or _FEATURE in (writer_features or ())
    )
    mode = configuration.get(MAPPING_MODE, "none") if supported else "none"
    if mode.lower() not in ("none", "name", "id"):
        raise UnsupportedFeatureError(
            f"the column mapping mode {mode!r} is not supported; the modes are none, name and id",
            feature=_FEATURE,
        )
    return cast(ColumnMapping, mode.lower())


def physical_name(field: Field, mode: str) -> str:
    """Return the name of a column in data files, partition values and statistics.

    Raises:
        CorruptLogError: the table has column mapping, but the column has no physical name.
        UnsupportedFeatureError: the name contains a NUL character.
    """
    if mode == "none":
        return field.name
    name = field.metadata.get(PHYSICAL_NAME_KEY)
    if not isinstance(name, str) or not name:
        raise CorruptLogError(
            f"the table has column mapping, but its column {field.name!r} has no {PHYSICAL_NAME_KEY}"
        )
    if "\0" in name:  # Arrow's C interface ends names at NUL
        raise UnsupportedFeatureError(
            f"the {PHYSICAL_NAME_KEY} of column {field.name!r} contains a NUL, which Arrow does not allow:"
            f" {name!r}",
            feature=_FEATURE,
        )
    return name


def field_id(field: Field) -> int | None:
    """Return the field id of a column in Parquet files; None if it has none.

    Raises:
        CorruptLogError: the id is not a whole number.
    """
    value = field.metadata.get(FIELD_ID_KEY)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
        raise CorruptLogError(f"column {field.name!r} has a {FIELD_ID_KEY} that is not a whole number")
    return value


def nested_ids(field: Field) -> Mapping[str, int]:
    """Return the Parquet field ids of the elements, keys and values within a column, by path.

    A path begins with the physical name of the column: ``{"col-1.element": 7, "col-1.element.key": 8}``.

    Raises:
        CorruptLogError: the metadata is not a mapping from paths to whole numbers.
    """
    value = field.metadata.get(NESTED_IDS_KEY, {})
    if not isinstance(value, Mapping) or any(
        not isinstance(number, int) or isinstance(number, bool) for number in value.values()
    ):
        raise CorruptLogError(
            f"column {field.name!r} has {NESTED_IDS_KEY} that do not map paths to whole numbers"
        )
    return value


def to_physical_schema(schema: Schema, mode: str) -> Schema:
    """Return the schema of data files: physical names at every level, metadata unchanged.

    Raises:
        CorruptLogError: a column has no physical name (or, in mode ``id``, no field id), or two columns of
            one struct share a name.
    """
    if mode == "none":
        return schema
    return Schema(_physical_fields(schema, mode), extra=schema.extra)


def resolve_path(schema: StructType, path: Sequence[str]) -> tuple[Field, ...]:
    """Return the fields along a path of logical names, from the top-level column down.

    Names match as in Spark: the exact name, else the only name that differs in case.

    Raises:
        SchemaMismatchError: the path does not exist, or passes through an array or a map.
    """
    found: list[Field] = []
    within: DataType = schema
    for name in path:
        if not isinstance(within, StructType):
            parent = ".".join(each.name for each in found)
            raise SchemaMismatchError(f"column {parent!r} is not a struct: it has no field {name!r}")
        field = within.find(name)
        if field is None:
            parent = ".".join(f"`{each.name}`" for each in found)
            raise SchemaMismatchError(no_column(name, within.names, parent))
        found.append(field)
        within = field.type
    return tuple(found)


def physical_path(schema: StructType, path: Sequence[str], mode: str) -> tuple[str, ...]:
    """Return the physical names along a path of logical names; see `resolve_path`."""
    return tuple(physical_name(each, mode) for each in resolve_path(schema, path))


def _physical_fields(struct: StructType, mode: str) -> list[Field]:
    owners: dict[str, str] = {}
    fields = []
    for each in struct.fields:
        if mode == "id" and field_id(each) is None:
            raise CorruptLogError(
                f"the table has column mapping by id, but its column {each.name!r} has no {FIELD_ID_KEY}"
            )
        name = physical_name(each, mode)
        if name in owners:
            raise CorruptLogError(
                f"columns {owners[name]!r} and {each.name!r} share the physical name {name!r}"
            )
        owners[name] = each.name
        fields.append(replace(each, name=name, type=_physical_type(each.type, mode)))
    return fields


def _physical_type(data_type: DataType, mode: str) -> DataType:
    if isinstance(data_type, StructType):
        return replace(data_type, fields=tuple(_physical_fields(data_type, mode)))
    if isinstance(data_type, ArrayType):
        return replace(data_type, element_type=_physical_type(data_type.element_type, mode))
    if isinstance(data_type, MapType):
        key = _physical_type(data_type.key_type, mode)
        return replace(data_type, key_type=key, value_type=_physical_type(data_type.value_type, mode))
    return data_type
