"""Schema evolution by a write: the new metadata for Spark's ``mergeSchema`` and ``overwriteSchema``.

Chapters *Change Metadata*, *Protocol Evolution*, *Column Mapping* and *Type Widening* of the protocol. The
new schema must satisfy the rules for new tables and fit the table's properties, constraints and generated
columns. This module neither reads nor writes storage.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

import pyarrow as pa

from deltaarrow.actions import Metadata, Protocol
from deltaarrow.errors import SchemaMismatchError
from deltaarrow.features import (
    ensure_columns_fit_properties,
    ensure_iceberg_compatible,
    has_nested_ids,
    properties,
    supported_features,
    upgraded_protocol,
)
from deltaarrow.operations.define.clustering_domain import ensure_clustering_kept
from deltaarrow.operations.define.dependents import ensure_no_dependents
from deltaarrow.schema import (
    ArrayType,
    DataType,
    Field,
    MapType,
    PrimitiveType,
    Schema,
    StructType,
    as_nullable,
    assign_column_ids,
    ensure_valid_for_write,
    from_arrow_schema,
    is_wider,
    keeps_types,
    merge_schemas,
    resolve_partition_columns,
    to_arrow_schema,
    without_table_metadata,
)
from deltaarrow.snapshot import Snapshot

__all__ = ["SchemaMode", "evolve", "evolve_for_values"]

SchemaMode: TypeAlias = Literal["merge", "overwrite"]
"""Whether new columns of the data are added to the schema, or the schema of the data replaces it."""

_WIDENING_PREVIEW = "typeWidening-preview"
_VOID = PrimitiveType("void")


def evolve(
    snapshot: Snapshot,
    data: pa.Schema,
    *,
    schema_mode: SchemaMode,
    partition_by: Sequence[str] | None = None,
    keeps_clustering: bool = True,
) -> tuple[Metadata, Protocol | None] | None:
    """Return the metadata that the data needs, and the protocol if it must change; None if nothing changes.

    With ``merge``, columns and struct fields are added, and types are widened if the table enables type
    widening; see `merge_schemas`. With ``overwrite``, which requires that all rows are replaced, the schema
    of the data becomes the schema: every column is nullable, but array elements and map values keep their
    nullability; `partition_by` becomes the partitioning unless it is None. In both modes, the table keeps its
    properties, the ids and physical names of columns that stay and, with `keeps_clustering`, the clustering
    columns.

    Raises `SchemaMismatchError` for a schema that the table cannot have, and `UnsupportedFeatureError` for a
    schema whose table feature is not added automatically or not written by this release.
    """
    if schema_mode == "merge":
        schema, partitions = _merged(snapshot, data), snapshot.partition_columns
    else:
        schema, partitions = _replaced(snapshot, data, partition_by)
    configuration = dict(snapshot.configuration)
    if snapshot.mapping_mode != "none":
        record = properties.COLUMN_MAPPING_MAX_COLUMN_ID
        previous = snapshot.schema if schema_mode == "overwrite" else None
        nested = has_nested_ids(configuration)
        schema, highest = assign_column_ids(
            schema, record.parse(configuration), previous=previous, nested=nested
        )
        configuration[record.name] = str(highest)
    if schema == snapshot.schema and partitions == snapshot.partition_columns:
        return None
    ensure_valid_for_write(schema, partitions, snapshot.mapping_mode)
    ensure_columns_fit_properties(schema, partitions, configuration, snapshot.mapping_mode)
    ensure_iceberg_compatible(schema, partitions, configuration, snapshot.partition_columns)
    if keeps_clustering:
        ensure_clustering_kept(snapshot, schema, partitions, configuration, snapshot.mapping_mode)
    _ensure_expressions_hold(snapshot.schema, schema, configuration)
    operation: Literal["append", "overwrite"] = "append" if schema_mode == "merge" else "overwrite"
    protocol = upgraded_protocol(snapshot.protocol, schema, configuration, operation)
    metadata = replace(
        snapshot.metadata,
        schema_string=schema.to_json(),
        partition_columns=partitions,
        configuration=configuration,
    )
    return metadata, None if protocol == snapshot.protocol else protocol


def evolve_for_values(snapshot: Snapshot, given: Schema) -> tuple[Metadata, Protocol | None] | None:
    """Return what `evolve` returns with ``merge``, for values that are then cast to the columns.

    So a column keeps its type if it cannot be widened to that of the values.
    """
    fitting = [
        each if (column := snapshot.schema.find(each.name)) is None else _fitting(each, column)
        for each in given.fields
    ]
    return evolve(snapshot, to_arrow_schema(Schema(fitting)), schema_mode="merge")


def _merged(snapshot: Snapshot, data: pa.Schema) -> Schema:
    in_preview = _WIDENING_PREVIEW in supported_features(snapshot.protocol)
    return merge_schemas(
        snapshot.schema,
        from_arrow_schema(data),
        widen=properties.ENABLE_TYPE_WIDENING.parse(snapshot.configuration),
        table_version=snapshot.version + 1 if in_preview else None,
    )


def _fitting(given: Field, column: Field) -> Field:
    """A column of the values, with the table's type unless it can become that of the values."""
    return Field(given.name, _fitting_type(given.type, column.type), given.nullable)


def _fitting_type(given: DataType, own: DataType) -> DataType:
    if isinstance(given, StructType) and isinstance(own, StructType):
        pairs = [(each, own.find(each.name)) for each in given.fields]
        return StructType([each if column is None else _fitting(each, column) for each, column in pairs])
    if isinstance(given, ArrayType) and isinstance(own, ArrayType):
        return ArrayType(_fitting_type(given.element_type, own.element_type))
    if isinstance(given, MapType) and isinstance(own, MapType):
        key = _fitting_type(given.key_type, own.key_type)
        return MapType(key, _fitting_type(given.value_type, own.value_type))
    if isinstance(given, PrimitiveType) and isinstance(own, PrimitiveType) and own != _VOID:
        return given if is_wider(own, given) else own
    return given


def _replaced(
    snapshot: Snapshot, data: pa.Schema, partition_by: Sequence[str] | None
) -> tuple[Schema, tuple[str, ...]]:
    schema = as_nullable(without_table_metadata(from_arrow_schema(data)), keeps_elements=True)
    if partition_by is None:
        lost = [name for name in snapshot.partition_columns if schema.find(name) is None]
        if lost:
            raise SchemaMismatchError(
                f"the data has no partition column {', '.join(map(repr, lost))};"
                " pass partition_by to change the partition columns, or partition_by=[] for none"
            )
        partition_by = snapshot.partition_columns
    return schema, resolve_partition_columns(schema, partition_by)


def _ensure_expressions_hold(old: Schema, new: Schema, configuration: Mapping[str, str]) -> None:
    """Raise if an expression of the table refers to a column that is dropped or changes its type."""
    changed = [
        field.name
        for field in old.fields
        if (kept := new.find(field.name)) is None or not keeps_types(field.type, kept.type)
    ]
    ensure_no_dependents(new, configuration, changed, "be dropped or change its type")
