"""The metadata of a table whose schema changes with a write: Spark's ``mergeSchema``, ``overwriteSchema``.

Chapters *Change Metadata*, *Protocol Evolution*, *Column Mapping* and *Type Widening* of the protocol. The
new schema is held to the rules for a new table and to what the table itself relies on: its properties,
constraints and generated columns. Nothing is read or written here.
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
from deltaarrow.operations.clustering_domain import ensure_clustering_kept
from deltaarrow.operations.dependents import ensure_no_dependents
from deltaarrow.schema import (
    Schema,
    as_nullable,
    assign_column_ids,
    ensure_valid_for_write,
    from_arrow_schema,
    keeps_types,
    merge_schemas,
    resolve_partition_columns,
    without_table_metadata,
)
from deltaarrow.snapshot import Snapshot

__all__ = ["SchemaMode", "evolve"]

SchemaMode: TypeAlias = Literal["merge", "overwrite"]
"""Whether the schema takes in what the data has more, or becomes that of the data."""

_WIDENING_PREVIEW = "typeWidening-preview"


def evolve(
    snapshot: Snapshot,
    data: pa.Schema,
    *,
    schema_mode: SchemaMode,
    partition_by: Sequence[str] | None = None,
    keeps_clustering: bool = True,
) -> tuple[Metadata, Protocol | None] | None:
    """Return the metadata with which a table can hold the data, None where it has it already.

    Beside it stands the protocol, where that must grow as well. With ``merge``, columns and members of
    structs are added, and types widened where the table enables that; see `merge_schemas`. With
    ``overwrite``, which goes with replacing all rows, the schema becomes that of the data, every column
    nullable (but not what is in an array or a map that is without NULL), and `partition_by` the
    partitioning, which stays where it is None. Properties stay in either case; so do ids and physical names
    of columns that do, and the clustering columns, unless the write says that it does not keep them.

    Raises `SchemaMismatchError` for a schema that the table cannot have, and `UnsupportedFeatureError`
    for one that needs a table feature which is not added by itself, or not written by this release.
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


def _merged(snapshot: Snapshot, data: pa.Schema) -> Schema:
    in_preview = _WIDENING_PREVIEW in supported_features(snapshot.protocol)
    return merge_schemas(
        snapshot.schema,
        from_arrow_schema(data),
        widen=properties.ENABLE_TYPE_WIDENING.parse(snapshot.configuration),
        table_version=snapshot.version + 1 if in_preview else None,
    )


def _replaced(
    snapshot: Snapshot, data: pa.Schema, partition_by: Sequence[str] | None
) -> tuple[Schema, tuple[str, ...]]:
    schema = as_nullable(without_table_metadata(from_arrow_schema(data)), keeps_elements=True)
    if partition_by is None:
        lost = [name for name in snapshot.partition_columns if schema.find(name) is None]
        if lost:
            raise SchemaMismatchError(
                f"the data has no partition column {', '.join(map(repr, lost))};"
                " give partition_by to partition the table in another way, or [] for not at all"
            )
        partition_by = snapshot.partition_columns
    return schema, resolve_partition_columns(schema, partition_by)


def _ensure_expressions_hold(old: Schema, new: Schema, configuration: Mapping[str, str]) -> None:
    """Refuse to drop a column, or change its type, under an expression of the table that speaks of it."""
    changed = [
        field.name
        for field in old.fields
        if (kept := new.find(field.name)) is None or not keeps_types(field.type, kept.type)
    ]
    ensure_no_dependents(new, configuration, changed, "be dropped or change its type")
