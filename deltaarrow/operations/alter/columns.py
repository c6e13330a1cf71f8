"""Columns added, renamed and dropped at any level of nesting. Data files stay unchanged.

Chapters *Change Metadata*, *Schema Serialization Format* and *Column Mapping* of the protocol. Renaming and
dropping need column mapping, because data files keep the physical names. The rules are those of ``ALTER
TABLE`` in delta-spark. Every function plans an `Alteration` and writes nothing.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import orjson

from deltaarrow.errors import SchemaMismatchError, UnsupportedFeatureError
from deltaarrow.features import properties
from deltaarrow.operations.alter.column_paths import (
    column_path,
    described_column,
    ensure_places_stay,
    has_required_parts,
    leads_to,
    parse_path,
    position_parameter,
    type_at,
)
from deltaarrow.operations.alter.metadata_changes import Alteration
from deltaarrow.operations.define.dependents import ensure_no_dependents
from deltaarrow.schema import (
    Field,
    Position,
    Schema,
    StructType,
    add_fields,
    edit_field,
    render_path,
    without_column_ids,
    without_table_metadata,
)
from deltaarrow.snapshot import Snapshot

__all__ = ["add_columns", "drop_columns", "rename_column", "with_statistics_columns"]

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def add_columns(
    snapshot: Snapshot, fields: Sequence[Field], positions: Mapping[str, str] | None = None
) -> Alteration:
    """Plan to add columns, at the end of the table or of their struct unless `positions` says where.

    A struct column that exists gains the fields that it lacks. Existing rows have NULL in the new columns.

    Raises `SchemaMismatchError` for a column that exists, is NOT NULL, or has metadata with a meaning for
    engines, such as a generation expression, and for a position of another column or after none.
    """
    given = Schema(tuple(fields))
    if without_table_metadata(without_column_ids(given)) != given:
        raise SchemaMismatchError(
            "a new column may have a comment and user metadata only, not metadata with a meaning for engines"
            " (such as a generation expression or an identity); remove that metadata (Spark:"
            " WRONG_COLUMN_DEFAULTS_FOR_DELTA_ALTER_TABLE_ADD_COLUMN_NOT_SUPPORTED for a default)"
        )
    places = {parse_path(column): Position.parse(text) for column, text in (positions or {}).items()}
    schema, added = add_fields(snapshot.schema, given.fields, places)
    if not added:
        raise SchemaMismatchError("no column to add: the table has all of the given fields, or none is given")
    for path, field in added:
        if not field.nullable or has_required_parts(field.type):
            raise SchemaMismatchError(
                f"column {render_path(path)!r} is NOT NULL, but existing rows would have NULL in it; make it"
                " nullable (Spark: DELTA_OPERATION_NOT_ALLOWED)"
            )
    columns = []
    for path, field in added:
        place = _taken(places, path)
        if place is not None:
            ensure_places_stay(snapshot.schema, path)
        described = {"column": described_column(path, field)}
        columns.append(described | position_parameter(schema, path, place))
    if places:
        unknown = ", ".join(map(repr, map(render_path, places)))
        raise SchemaMismatchError(f"a position is given for {unknown}, which is not among the new columns")
    return Alteration(
        operation="ADD COLUMNS",
        parameters={"columns": orjson.dumps(columns).decode()},
        metadata=replace(snapshot.metadata, schema_string=schema.to_json()),
    )


def _taken(places: dict[tuple[str, ...], Position], path: tuple[str, ...]) -> Position | None:
    found = next((each for each in places if leads_to(path, each) and len(each) == len(path)), None)
    return None if found is None else places.pop(found)


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
    path = column_path(snapshot.schema, column)
    if new_name.lower() == path[-1].lower():
        raise SchemaMismatchError(f"column {path[-1]!r} already has the name {new_name!r}")
    ensure_no_dependents(snapshot.schema, snapshot.configuration, [path[-1]], "be renamed")
    renamed = (*path[:-1], new_name)
    siblings = type_at(snapshot.schema, path[:-1])
    if isinstance(siblings, StructType) and new_name in siblings.names:
        raise SchemaMismatchError(
            f"column {render_path(renamed)!r} exists already; choose another name"
            " (Spark: FIELD_ALREADY_EXISTS)"
        )
    schema = edit_field(snapshot.schema, path, lambda field: replace(field, name=new_name))
    partitions = snapshot.metadata.partition_columns
    if len(path) == 1:
        partitions = tuple(new_name if name == path[0] else name for name in partitions)
    configuration = with_statistics_columns(
        snapshot, lambda each: renamed + each[len(path) :] if leads_to(path, each) else each
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
        UnsupportedFeatureError: the table has no column mapping, or limits the texts inside the column.
        SchemaMismatchError: the column does not exist, is a partition column, the only field of its struct
            or the only column, or an expression of the table refers to it. `commit_alteration` refuses
            clustering columns.
    """
    schema, dropped = snapshot.schema, []
    for column in columns:
        try:
            path = column_path(schema, column)
        except SchemaMismatchError:
            if raise_if_not_exists:
                raise
            continue
        _ensure_mapped(snapshot, "dropped")
        ensure_places_stay(snapshot.schema, path)
        _ensure_droppable(snapshot, path)
        schema = edit_field(schema, path, lambda field: None)
        ensure_no_dependents(schema, snapshot.configuration, [path[-1]], "be dropped")
        dropped.append(path)
    if not dropped:
        return None
    if not schema.fields:
        raise SchemaMismatchError("a table keeps at least one column; drop the table, or add a column first")
    configuration = with_statistics_columns(
        snapshot, lambda each: None if any(leads_to(path, each) for path in dropped) else each
    )
    return Alteration(
        operation="DROP COLUMNS",
        parameters={"columns": orjson.dumps([render_path(path) for path in dropped]).decode()},
        metadata=replace(snapshot.metadata, schema_string=schema.to_json(), configuration=configuration),
    )


_NEEDS_MAPPING = {"dropped": "DELTA_UNSUPPORTED_DROP_COLUMN", "renamed": "DELTA_UNSUPPORTED_RENAME_COLUMN"}
"""Spark's class for what a table without column mapping cannot do with a column."""


def _ensure_mapped(snapshot: Snapshot, change: str) -> None:
    if snapshot.mapping_mode == "none":
        raise UnsupportedFeatureError(
            f"columns can be {change} only in a table with column mapping; set"
            f" {properties.COLUMN_MAPPING_MODE.name} to 'name' first, with table.alter.set_table_properties"
            f" (Spark: {_NEEDS_MAPPING[change]})",
            feature="columnMapping",
        )


def _ensure_droppable(snapshot: Snapshot, path: tuple[str, ...]) -> None:
    if len(path) == 1 and path[0] in snapshot.partition_columns:
        raise SchemaMismatchError(
            f"{path[0]!r} is a partition column, which cannot be dropped (Spark:"
            " DELTA_UNSUPPORTED_DROP_PARTITION_COLUMN)"
        )


def with_statistics_columns(
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
