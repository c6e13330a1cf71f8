"""Adding, renaming, dropping and describing columns, at any level of nesting, without touching data files.

Chapters *Change Metadata*, *Schema Serialization Format* and *Column Mapping* of the protocol: renaming and
dropping need column mapping, under which data files go on with the names that they have. The rules are those
of ``ALTER TABLE`` in delta-spark. Every function plans an `Alteration` and writes nothing.
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
    """Plan to add columns, last in the table or in the struct that they go into.

    A struct that is there takes in the members that the given one has more. Rows that are there have NULL.

    Raises `SchemaMismatchError` for a column that is there already, that is NOT NULL, or that comes with
    metadata that means something to an engine, such as a generation expression.
    """
    given = Schema(tuple(fields))
    if without_table_metadata(without_column_ids(given)) != given:
        raise SchemaMismatchError("a column is added with a comment and metadata of the user alone")
    schema, added = add_fields(snapshot.schema, given.fields)
    if not added:
        raise SchemaMismatchError("there is no column to add")
    for path, field in added:
        if not field.nullable:
            raise SchemaMismatchError(
                f"column {render_path(path)!r} is NOT NULL, and the rows that are there would have NULL in it"
            )
    columns = [{"column": _described(path, field)} for path, field in added]
    return Alteration(
        operation="ADD COLUMNS",
        parameters={"columns": orjson.dumps(columns).decode()},
        metadata=replace(snapshot.metadata, schema_string=schema.to_json()),
    )


def rename_column(snapshot: Snapshot, column: str, new_name: str) -> Alteration:
    """Plan to rename a column, or a member of a struct.

    Args:
        snapshot: the table.
        column: the path to it in Spark's spelling, such as ``s.x`` or ``a.element.`x y```.
        new_name: its name, not the path, taken as it is.

    Raises:
        UnsupportedFeatureError: the table has no column mapping.
        SchemaMismatchError: there is no such column, the name is taken, or an expression of the table
            speaks of the column.
    """
    _ensure_mapped(snapshot, "renamed")
    path = _path(snapshot.schema, column)
    if new_name.lower() == path[-1].lower():
        raise SchemaMismatchError(f"the column {path[-1]!r} has this name already")
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
    """Plan to drop columns, or members of structs; their values stay in data files, unseen.

    None where none of them is there, and that is no error.

    Args:
        snapshot: the table.
        columns: the paths to them in Spark's spelling.
        raise_if_not_exists: whether a column that is not there is an error.

    Raises:
        UnsupportedFeatureError: the table has no column mapping.
        SchemaMismatchError: there is no such column, it is a partition or clustering column or the only
            one of its struct, or an expression of the table speaks of it.
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
    """Plan to let a column, or a member of a struct, hold NULL.

    Raises `SchemaMismatchError` where there is no such column.
    """
    return _changed_column(snapshot, column, lambda field: replace(field, nullable=True))


def set_column_metadata(snapshot: Snapshot, column: str, metadata: Mapping[str, Any]) -> Alteration:
    """Plan to set keys of the metadata of a column, or of a member of a struct; None removes one.

    ``comment`` describes the column; ``CURRENT_DEFAULT``, in Spark SQL, is the value of rows that give none.

    Raises `SchemaMismatchError` where there is no such column, and `UnsupportedFeatureError` for any
    other key that means something to an engine.
    """
    probe = Field("probe", "string", metadata={key: "" for key in metadata if key != DEFAULT_KEY})
    kept = without_table_metadata(without_column_ids(Schema([probe]))).fields[0].metadata
    if reserved := sorted(probe.metadata.keys() - kept.keys()):
        raise UnsupportedFeatureError(
            f"the metadata {', '.join(reserved)} of a column is set by engines and not by users",
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
    """A column as Spark tells history of it: of a nested type, the kind alone."""
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
    """The path in a text; a name with a blank may stand there without backticks."""
    try:
        found = parse_column_names(column)
    except InvalidTablePropertyError:
        found = [(column,)]
    if len(found) != 1:
        raise SchemaMismatchError(f"{column!r} is not the name of one column")
    return spelled_path(schema, found[0])


def _leads_to(path: Sequence[str], other: Sequence[str]) -> bool:
    return len(path) <= len(other) and all(a.lower() == b.lower() for a, b in zip(path, other, strict=False))


def _ensure_mapped(snapshot: Snapshot, change: str) -> None:
    if snapshot.mapping_mode == "none":
        raise UnsupportedFeatureError(
            f"columns can be {change} only with column mapping: set"
            f" {properties.COLUMN_MAPPING_MODE.name} to 'name' first",
            feature="columnMapping",
        )


def _ensure_droppable(snapshot: Snapshot, path: tuple[str, ...]) -> None:
    if len(path) == 1 and path[0] in snapshot.partition_columns:
        raise SchemaMismatchError(f"{path[0]!r} is a partition column, which cannot be dropped")
    if any(_leads_to(_physical(snapshot, path), each) for each in physical_clustering_columns(snapshot)):
        raise SchemaMismatchError(f"{render_path(path)!r} is a clustering column, which cannot be dropped")


def _physical(snapshot: Snapshot, path: Sequence[str]) -> tuple[str, ...]:
    """The path with physical names, as far as it leads through structs alone: clustering columns do."""
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
    """The properties, with `delta.dataSkippingStatsColumns` following its columns."""
    record = properties.DATA_SKIPPING_STATS_COLUMNS
    present = record.parse(snapshot.configuration)
    if present is None:
        return dict(snapshot.configuration)
    kept = [new for each in present if (new := change(each)) is not None]
    text = ",".join(".".join(map(_quoted, path)) for path in kept)
    return {**snapshot.configuration, record.name: text}


def _quoted(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else f"`{name.replace('`', '``')}`"
