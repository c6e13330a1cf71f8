"""Names of columns: resolution of users' spellings, and the spelling in history."""

from collections.abc import Sequence
from typing import Any

from deltaarrow.errors import InvalidTablePropertyError, SchemaMismatchError, UnsupportedFeatureError
from deltaarrow.schema import (
    ArrayType,
    DataType,
    Field,
    MapType,
    Position,
    PrimitiveType,
    Schema,
    StructType,
    edit_type,
    fields_within,
    render_path,
    spelled_path,
)
from deltaarrow.schema.metadata_keys import CHAR_TYPE_KEY
from deltaarrow.statistics import parse_column_names

__all__ = [
    "column_path",
    "described_column",
    "ensure_places_stay",
    "has_required_parts",
    "leads_to",
    "parse_path",
    "position_parameter",
    "type_at",
]


def parse_path(column: str) -> tuple[str, ...]:
    """Parse the path of one column; a name with a space needs no backticks.

    Raises `SchemaMismatchError` for a text that names several columns, or none.
    """
    try:
        found = parse_column_names(column)
    except InvalidTablePropertyError:
        found = [(column,)]
    if len(found) != 1:
        raise SchemaMismatchError(
            f"{column!r} is not the name of one column; write a path such as s.x, with backticks around names"
            " that have a dot or a comma"
        )
    return tuple(found[0])


def column_path(schema: Schema, column: str) -> tuple[str, ...]:
    """Parse the path of a column that exists, in the schema's spelling.

    Raises `SchemaMismatchError` as `parse_path`, and for a column that does not exist.
    """
    return spelled_path(schema, parse_path(column))


def type_at(schema: Schema, path: Sequence[str]) -> DataType:
    """Return the type of a column, or of a part of one: an array element, or a map key or value.

    Raises `SchemaMismatchError` if the path does not exist.
    """
    found: list[DataType] = []

    def look(data_type: DataType) -> DataType:
        found.append(data_type)
        return data_type

    edit_type(schema, path, look)
    return found[0]


def leads_to(path: Sequence[str], other: Sequence[str]) -> bool:
    """Whether a path is the other one or leads to it, ignoring case."""
    return len(path) <= len(other) and all(a.lower() == b.lower() for a, b in zip(path, other, strict=False))


def has_required_parts(data_type: DataType) -> bool:
    """Whether a field within a type is NOT NULL."""
    return any(not field.nullable for field in fields_within(data_type))


def described_column(path: Sequence[str], field: Field) -> dict[str, Any]:
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


def position_parameter(schema: Schema, path: tuple[str, ...], position: Position | None) -> dict[str, str]:
    """Return a position as Spark records it in history; `schema` is the one after the change."""
    if position is None:
        return {}
    if position.after is None:
        return {"position": str(position)}
    return {"position": str(Position(spelled_path(schema, (*path[:-1], position.after))[-1]))}


def ensure_places_stay(schema: Schema, path: Sequence[str]) -> None:
    """Raise `UnsupportedFeatureError` if `path` is inside a column whose text lengths are limited.

    The limits are told by the places of struct fields, so no field may be moved or dropped there.
    """
    field = schema.find(path[0])
    if len(path) > 1 and field is not None and CHAR_TYPE_KEY in field.metadata:
        raise UnsupportedFeatureError(
            f"the fields inside {field.name!r} cannot be moved or dropped, because the column is declared as"
            f" {field.metadata[CHAR_TYPE_KEY]}, in which fields count by their place",
            feature="CHAR and VARCHAR",
        )
