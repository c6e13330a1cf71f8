"""Column changes at any level of nesting: add, rename, drop, describe. Data files stay unchanged.

Chapters *Change Metadata*, *Schema Serialization Format* and *Column Mapping* of the protocol. Renaming and
dropping need column mapping, because data files keep the physical names. The rules are those of ``ALTER
TABLE`` in delta-spark. Every function plans an `Alteration` and writes nothing.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from deltaarrow.errors import InvalidTablePropertyError, SchemaMismatchError, UnsupportedFeatureError
from deltaarrow.features import properties
from deltaarrow.operations.alteration import Alteration
from deltaarrow.operations.clustering_domain import physical_clustering_columns
from deltaarrow.operations.dependents import ensure_no_dependents
from deltaarrow.schema import (
    ArrayType,
    DataType,
    Field,
    JsonObject,
    MapType,
    PrimitiveType,
    Schema,
    StructType,
    add_fields,
    edit_field,
    physical_name,
    render_path,
    spelled_path,
    without_column_ids,
    without_table_metadata,
)
from deltaarrow.schema.keys import DEFAULT_KEY
from deltaarrow.snapshot import Snapshot
from deltaarrow.statistics import parse_column_names

__all__ = ["add_columns", "drop_columns", "drop_not_null", "rename_column", "set_column_metadata"]

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def add_columns(snapshot: Snapshot, fields: Sequence[Field]) -> Alteration:
    """Plan to add columns at the end of the table or of their struct.

    A struct column that exists gains the fields that it lacks. Existing rows have NULL in the new columns.

    Raises `SchemaMismatchError` for a column that exists, is NOT NULL, or has metadata with a meaning for
    engines, such as a generation expression.
    """
    given = Schema(tuple(fields))
    if without_table_metadata(without_column_ids(given)) != given:
        raise SchemaMismatchError(
            "a new column may have a comment and user metadata only, not metadata with a meaning for engines"
            " (such as a generation expression or an identity); remove that metadata"
        )
    schema, added = add_fields(snapshot.schema, given.fields)
    if not added:
        raise SchemaMismatchError("no column to add: the table has all of the given fields, or none is given")
    for path, field in added:
        if not field.nullable:
            raise SchemaMismatchError(
                f"column {render_path(path)!r} is NOT NULL, but existing rows would have NULL in it; make it"
                " nullable"
            )
    columns = [{"column": _described(path, field)} for path, field in added]
    return Alteration(
        operation="ADD COLUMNS",
        parameters={"columns": orjson.dumps(columns).decode()},
        metadata=replace(snapshot.metadata, schema_string=schema.to_json()),
    )


def rename_column(snapshot: Snapshot, column: str, new_name: str) -> Alteration:
    """Plan to rename a column, or a field of a struct.

    Args:
        snapshot: the table.
        column: the path of the column in Spark's notation, such as ``s.x`` or ``a.element.`x y```.
        new_name: the new name, not a path, without quoting.

    Raises:
        UnsupportedFeatureError: the table has no column mapping.
        SchemaMismatchError: the column does not exist, the new name is taken, or an expression of the table
            refers to the column.
    """
    _ensure_mapped(snapshot, "renamed")
    path = _path(snapshot.schema, column)
    if new_name.lower() == path[-1].lower():
        raise SchemaMismatchError(f"column {path[-1]!r} already has the name {new_name!r}")
    ensure_no_dependents(snapshot.schema, snapshot.configuration, [path[-1]], "be renamed")
    schema = edit_field(snapshot.schema, path, lambda field: replace(field, name=new_name))
    renamed = (*path[:-1], new_name)
    partitions = snapshot.metadata.partition_columns
    if len(path) == 1:
        partitions = tuple(new_name if name == path[0] else name for name in partitions)
    configuration = _with_statistics_columns(
        snapshot, lambda each: renamed + each[len(path) :] if _leads_to(path, each) else each
    )
    return Alteration(
        operation="RENAME COLUMN",
        parameters={"oldColumnPath": render_path(path), "newColumnPath": render_path(renamed)},
        metadata=replace(
            snapshot.metadata,
            schema_string=schema.to_json(),
            partition_columns=partitions,
            configuration=configuration,
        ),
    )


def drop_columns(
    snapshot: Snapshot, columns: Iterable[str], *, raise_if_not_exists: bool = True
) -> Alteration | None:
    """Plan to drop columns, or fields of structs. Their values stay in data files, unread.

    Returns None if none of the columns exists and `raise_if_not_exists` is False.

    Args:
        snapshot: the table.
        columns: the paths of the columns in Spark's notation.
        raise_if_not_exists: whether a column that does not exist is an error.

    Raises:
        UnsupportedFeatureError: the table has no column mapping.
        SchemaMismatchError: the column does not exist, is a partition or clustering column or the only
            field of its struct, or an expression of the table refers to it.
    """
    _ensure_mapped(snapshot, "dropped")
    schema, dropped = snapshot.schema, []
    for column in columns:
        try:
            path = _path(schema, column)
        except SchemaMismatchError:
            if raise_if_not_exists:
                raise
            continue
        _ensure_droppable(snapshot, path)
        schema = edit_field(schema, path, lambda field: None)
        ensure_no_dependents(schema, snapshot.configuration, [path[-1]], "be dropped")
        dropped.append(path)
    if not dropped:
        return None
    configuration = _with_statistics_columns(
        snapshot, lambda each: None if any(_leads_to(path, each) for path in dropped) else each
    )
    return Alteration(
        operation="DROP COLUMNS",
        parameters={"columns": orjson.dumps([render_path(path) for path in dropped]).decode()},
        metadata=replace(snapshot.metadata, schema_string=schema.to_json(), configuration=configuration),
    )


def drop_not_null(snapshot: Snapshot, column: str) -> Alteration:
    """Plan to make a column, or a field of a struct, nullable.

    Raises `SchemaMismatchError` for a column that does not exist.
    """
    return _changed_column(snapshot, column, lambda field: replace(field, nullable=True))


def set_column_metadata(snapshot: Snapshot, column: str, metadata: Mapping[str, Any]) -> Alteration:
    """Plan to set metadata keys of a column, or of a field of a struct; None removes a key.

    ``comment`` is the description of the column; ``CURRENT_DEFAULT`` is its default value in Spark SQL.

    Raises `SchemaMismatchError` for a column that does not exist, and `UnsupportedFeatureError` for any
    other key with a meaning for engines.
    """
    probe = Field("probe", "string", metadata={key: "" for key in metadata if key != DEFAULT_KEY})
    kept = without_table_metadata(without_column_ids(Schema([probe]))).fields[0].metadata
    if reserved := sorted(probe.metadata.keys() - kept.keys()):
        raise UnsupportedFeatureError(
            f"column {column!r}: only engines may set the metadata {', '.join(reserved)}; use another key",
            feature=", ".join(reserved),
        )

    def changed(field: Field) -> Field:
        merged = {**field.metadata, **metadata}
        return replace(
            field, metadata=JsonObject({key: value for key, value in merged.items() if value is not None})
        )

    return _changed_column(snapshot, column, changed)


def _changed_column(snapshot: Snapshot, column: str, change: Callable[[Field], Field]) -> Alteration:
    path = _path(snapshot.schema, column)
    described: dict[str, Any] = {}

    def edit(field: Field) -> Field:
        new = change(field)
        described.update(_described(path, new))
        return new

    schema = edit_field(snapshot.schema, path, edit)
    return Alteration(
        operation="CHANGE COLUMN",
        parameters={"column": orjson.dumps(described).decode()},
        metadata=replace(snapshot.metadata, schema_string=schema.to_json()),
    )


def _described(path: Sequence[str], field: Field) -> dict[str, Any]:
    """Return a column as Spark records it in history: a nested type is given by its kind only."""
    match field.type:
        case PrimitiveType(name):
            kind = name
        case StructType():
            kind = "struct"
        case ArrayType():
            kind = "array"
        case MapType():
            kind = "map"
    return {
        "name": render_path(path),
        "type": kind,
        "nullable": field.nullable,
        "metadata": dict(field.metadata),
    }


def _path(schema: Schema, column: str) -> tuple[str, ...]:
    """Parse the path of one column; a name with a space needs no backticks."""
    try:
        found = parse_column_names(column)
    except InvalidTablePropertyError:
        found = [(column,)]
    if len(found) != 1:
        raise SchemaMismatchError(
            f"{column!r} is not the name of one column; write a path such as s.x, with backticks around names"
            " that have a dot or a comma"
        )
    return spelled_path(schema, found[0])


def _leads_to(path: Sequence[str], other: Sequence[str]) -> bool:
    return len(path) <= len(other) and all(a.lower() == b.lower() for a, b in zip(path, other, strict=False))


def _ensure_mapped(snapshot: Snapshot, change: str) -> None:
    if snapshot.mapping_mode == "none":
        raise UnsupportedFeatureError(
            f"columns can be {change} only in a table with column mapping; set"
            f" {properties.COLUMN_MAPPING_MODE.name} to 'name' first, with table.alter.set_table_properties",
            feature="columnMapping",
        )


def _ensure_droppable(snapshot: Snapshot, path: tuple[str, ...]) -> None:
    if len(path) == 1 and path[0] in snapshot.partition_columns:
        raise SchemaMismatchError(f"{path[0]!r} is a partition column, which cannot be dropped")
    if any(_leads_to(_physical(snapshot, path), each) for each in physical_clustering_columns(snapshot)):
        raise SchemaMismatchError(
            f"{render_path(path)!r} is a clustering column, which cannot be dropped; choose other clustering"
            " columns first, with table.alter.cluster_by"
        )


def _physical(snapshot: Snapshot, path: Sequence[str]) -> tuple[str, ...]:
    """Return the physical path, up to the first array or map; clustering columns are in structs only."""
    names: list[str] = []
    within: DataType = snapshot.schema
    for name in path:
        if not isinstance(within, StructType):
            return (*names, name)
        field = within.field(name)
        names.append(physical_name(field, snapshot.mapping_mode))
        within = field.type
    return tuple(names)


def _with_statistics_columns(
    snapshot: Snapshot, change: Callable[[tuple[str, ...]], tuple[str, ...] | None]
) -> dict[str, str]:
    """Return the properties, with the column change applied to `delta.dataSkippingStatsColumns`."""
    record = properties.DATA_SKIPPING_STATS_COLUMNS
    present = record.parse(snapshot.configuration)
    if present is None:
        return dict(snapshot.configuration)
    kept = [new for each in present if (new := change(each)) is not None]
    text = ",".join(".".join(map(_quoted, path)) for path in kept)
    return {**snapshot.configuration, record.name: text}


def _quoted(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else f"`{name.replace('`', '``')}`"
