"""Descriptions of a table that need no data file: metadata, protocol, detail, add actions, partitions.

`Metadata`, `ProtocolVersions` and the add actions have the form of ``deltalake``; `describe_detail` has the
form of Spark's ``DESCRIBE DETAIL``.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson
import pyarrow as pa

import deltaarrow.operations as operations
import deltaarrow.statistics as file_statistics
from deltaarrow.display.redaction import redacted
from deltaarrow.features import supported_features
from deltaarrow.partitions import parse_partition_values
from deltaarrow.schema import PrimitiveType, Schema, StructType, physical_name
from deltaarrow.snapshot import Snapshot

if TYPE_CHECKING:
    from deltaarrow.expressions import Predicate

__all__ = [
    "DeltaTableConfig",
    "Metadata",
    "ProtocolVersions",
    "add_actions",
    "describe_commits",
    "describe_detail",
    "describe_metadata",
    "describe_protocol",
    "json_text",
    "list_partitions",
    "partition_texts",
]

_BOOLEAN = PrimitiveType("boolean")


@dataclass(frozen=True)
class Metadata:
    """The metadata of a table: `created_time` is in milliseconds since the epoch."""

    id: str
    name: str | None
    description: str | None
    partition_columns: list[str]
    created_time: int | None
    configuration: dict[str, str]


class DeltaTableConfig(NamedTuple):
    """The options of ``deltalake`` for opening a table, which have no effect."""

    without_files: bool = False
    log_buffer_size: int = 8
    skip_stats: bool = False


class ProtocolVersions(NamedTuple):
    """The protocol of a table; a feature list is None if the protocol version does not list features."""

    min_reader_version: int
    min_writer_version: int
    writer_features: list[str] | None
    reader_features: list[str] | None


def describe_metadata(snapshot: Snapshot) -> Metadata:
    """Return the `Metadata` of a snapshot."""
    metadata = snapshot.metadata
    return Metadata(
        id=metadata.id,
        name=metadata.name,
        description=metadata.description,
        partition_columns=list(metadata.partition_columns),
        created_time=metadata.created_time,
        configuration=dict(metadata.configuration),
    )


def describe_protocol(snapshot: Snapshot) -> ProtocolVersions:
    """Return the protocol versions and table features of a snapshot."""
    protocol = snapshot.protocol
    return ProtocolVersions(
        protocol.min_reader_version,
        protocol.min_writer_version,
        None if protocol.writer_features is None else list(protocol.writer_features),
        None if protocol.reader_features is None else list(protocol.reader_features),
    )


def json_text(value: object) -> str | None:
    """A string unchanged; any other value as JSON, as in the log."""
    return value if value is None or isinstance(value, str) else orjson.dumps(value).decode()


def describe_commits(infos: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return `commitInfo` objects with the values of `operationParameters` as strings, as in Spark."""
    for info in infos:
        if isinstance(parameters := info.get("operationParameters"), dict):
            info["operationParameters"] = {name: json_text(value) for name, value in parameters.items()}
    return infos


def describe_detail(snapshot: Snapshot) -> dict[str, Any]:
    """Return the columns of Spark's ``DESCRIBE DETAIL``; times are in milliseconds since the epoch.

    The location leaves out the password of a URI.
    """
    store, metadata, protocol = snapshot.store, snapshot.metadata, snapshot.protocol
    num_files, size_in_bytes = snapshot.totals()
    return {
        "format": "delta",
        "id": metadata.id,
        "name": metadata.name,
        "description": metadata.description,
        "location": store.uri if store.is_local else redacted(store.uri),
        "createdAt": metadata.created_time,
        "lastModified": snapshot.timestamp_ms,
        "version": snapshot.version,
        "partitionColumns": list(snapshot.partition_columns),
        "clusteringColumns": [".".join(path) for path in operations.clustering_columns(snapshot)],
        "numFiles": num_files,
        "sizeInBytes": size_in_bytes,
        "properties": dict(metadata.configuration),
        "minReaderVersion": protocol.min_reader_version,
        "minWriterVersion": protocol.min_writer_version,
        "tableFeatures": sorted(supported_features(protocol)),
    }


def add_actions(snapshot: Snapshot, *, flatten: bool = False) -> pa.Table:
    """Return the live files with their statistics and partition values, under the names of ``deltalake``.

    Columns: `path`, `size_bytes`, `modification_time` (milliseconds since the epoch), `num_records`, then the
    structs `null_count`, `min`, `max` and `partition` (values of the types of the columns), or with `flatten`
    columns such as `min.id`. A column
    for which the table collects no statistics, and no file has any, is not in the structs.
    """
    files = snapshot.files(columns=["path", "size", "modification_time", "stats", "partition_values"])
    data = Schema([f for f in snapshot.schema.fields if f.name not in snapshot.partition_columns])
    statistics = file_statistics.parse_statistics(files.column("stats"), data, snapshot.mapping_mode)
    columns: dict[str, Any] = {
        "path": files.column("path"),
        "size_bytes": files.column("size"),
        "modification_time": files.column("modification_time"),
        "num_records": statistics.column("numRecords"),
    }
    mode = snapshot.mapping_mode
    groups = {
        "null_count": _members(statistics, "nullCount", data, mode),
        "min": _members(statistics, "minValues", data, mode),
        "max": _members(statistics, "maxValues", data, mode),
    }
    collected = _collected(snapshot, data)
    groups = {
        group: {name: values for name, values in members.items() if name in collected or _has_values(values)}
        for group, members in groups.items()
    }
    groups["partition"] = {
        name: _partition_values(snapshot, name, texts)
        for name, texts in partition_texts(snapshot, files).items()
    }
    for group, members in groups.items():
        if flatten:
            for name, values in members.items():
                columns |= _flattened(f"{group}.{name}", values)
        elif members:
            arrays = [values.combine_chunks() for values in members.values()]
            columns[group] = pa.StructArray.from_arrays(arrays, names=list(members))
    return pa.table(columns)


def _collected(snapshot: Snapshot, data: StructType) -> set[str]:
    """The names of the data columns for which, or for parts of which, the table collects statistics."""
    leaves = file_statistics.statistics_columns(
        snapshot.schema, snapshot.partition_columns, snapshot.metadata.configuration, snapshot.mapping_mode
    )
    first = {leaf.path[0] for leaf in leaves}
    return {field.name for field in data.fields if physical_name(field, snapshot.mapping_mode) in first}


def _has_values(values: pa.ChunkedArray) -> bool:
    return any(leaf.null_count < len(leaf) for leaf in _flattened("", values).values())


def _members(statistics: pa.Table, name: str, schema: StructType, mode: str) -> dict[str, pa.ChunkedArray]:
    if name not in statistics.column_names:
        return {}
    struct = _logical(statistics.column(name).combine_chunks(), schema, mode, has_bounds=name != "nullCount")
    return {
        f.name: pa.chunked_array([values]) for f, values in zip(struct.type, struct.flatten(), strict=True)
    }


def _logical(struct: pa.StructArray, schema: StructType, mode: str, *, has_bounds: bool) -> pa.StructArray:
    """Rename the physical names of statistics to logical names, in the order of the schema.

    With `has_bounds`, a boolean column has NULL bounds: ``deltalake`` lists it, and Spark writes none.
    """
    names, children = [], []
    for field in schema.fields:
        place = struct.type.get_field_index(physical_name(field, mode))
        if place >= 0:
            child = struct.field(place)
            if isinstance(field.type, StructType) and pa.types.is_struct(child.type):
                child = _logical(child, field.type, mode, has_bounds=has_bounds)
        elif has_bounds and field.type == _BOOLEAN:
            child = pa.nulls(len(struct), pa.bool_())
        else:
            continue
        names.append(field.name)
        children.append(child)
    return pa.StructArray.from_arrays(children, names=names, mask=struct.is_null())


def _flattened(prefix: str, values: pa.ChunkedArray) -> dict[str, pa.ChunkedArray]:
    """Return the leaves of a column of structs by their dotted names."""
    if not pa.types.is_struct(values.type):
        return {prefix: values}
    found: dict[str, pa.ChunkedArray] = {}
    for field, inner in zip(values.type, values.flatten(), strict=True):
        found |= _flattened(f"{prefix}.{field.name}", inner)
    return found


def partition_texts(snapshot: Snapshot, files: pa.Table) -> dict[str, pa.ChunkedArray]:
    """Return the values of each partition column for files, as strings of the log."""
    import pyarrow.compute as pc

    values = files.column("partition_values")
    physical = {field.name: physical_name(field, snapshot.mapping_mode) for field in snapshot.schema.fields}
    return {column: pc.map_lookup(values, physical[column], "first") for column in snapshot.partition_columns}


def _partition_values(snapshot: Snapshot, column: str, texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the values of a partition column, given their strings in the log."""
    kind = snapshot.schema.field(column).type
    assert isinstance(kind, PrimitiveType)  # so says the protocol, and so does `Snapshot`
    return pa.chunked_array([parse_partition_values(texts, kind, column)])


def list_partitions(snapshot: Snapshot, predicate: "Predicate | None" = None) -> list[dict[str, str | None]]:
    """Return the distinct partition values of files that may match, spelled as in the log."""
    files = snapshot.files(predicate, ["partition_values"])
    columns = partition_texts(snapshot, files)
    rows = zip(*(values.to_pylist() for values in columns.values()), strict=True)
    return [dict(zip(columns, values, strict=True)) for values in dict.fromkeys(rows)]
