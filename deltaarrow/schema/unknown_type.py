"""`UnknownType`, the type of a column that a table has and this release cannot read.

Such a table can be opened, and its other columns read. In an Arrow schema the type is null, which stands for
it; `ensure_known` refuses the column before a value of it is read.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.schema.json_objects import parse_json, render_json
from deltaarrow.schema.nesting import types_within
from deltaarrow.schema.schema import Schema
from deltaarrow.schema.types import ArrayType, DataType, Field, MapType, PrimitiveType, StructType

__all__ = ["UnknownType", "UnreadableColumnError", "ensure_known", "has_known_type", "schema_of_log"]

_VOID = "void"
_PARTS = {"array": ("elementType",), "map": ("keyType", "valueType")}


class UnreadableColumnError(UnsupportedFeatureError):
    """A column cannot be read; a query that leaves it out may read the others."""


@dataclass(frozen=True, repr=False)
class UnknownType(PrimitiveType):
    """A type by its name in the log, such as ``interval day to second`` or ``timestamp_nanos``."""

    def __post_init__(self) -> None:
        """Take any name."""

    @property
    def decimal(self) -> None:
        """No precision and scale, even if the name has them."""
        return None

    def __repr__(self) -> str:
        return f'UnknownType("{self.type}")'


def schema_of_log(text: str | bytes) -> Schema:
    """Parse the schema of a table, with `UnknownType` for types that this release does not know.

    Raises `CorruptLogError` if the text is no schema.

    >>> text = '{"type":"struct","fields":[{"name":"x","type":"time(6)","nullable":true,"metadata":{}}]}'
    >>> schema_of_log(text).field("x")
    Field(x, UnknownType("time(6)"), nullable=True)
    """
    try:
        return Schema.from_json(text)
    except UnsupportedFeatureError:
        value = parse_json(text)
        known = Schema.from_json(render_json(_with_voids(value)))
        return Schema(_restored(known, value).fields, extra=known.extra)


def ensure_known(fields: Iterable[Field]) -> None:
    """Raise `UnreadableColumnError` if a column is, or contains, values of a type that is not known."""
    for field in fields:
        if type(field.type) is PrimitiveType:  # most are, in a wide table
            continue
        unknown = _unknown_in(field.type)
        if unknown is not None:
            raise UnreadableColumnError(
                f"column {field.name!r} has values of type {unknown.type}, which this release cannot read:"
                " read the other columns by their names",
                feature=unknown.type,
            )


def has_known_type(data_type: DataType) -> bool:
    """Whether this release can read the values of a type."""
    return _unknown_in(data_type) is None


def _unknown_in(data_type: DataType) -> UnknownType | None:
    return next((each for each in types_within(data_type) if isinstance(each, UnknownType)), None)


def _is_known(name: str) -> bool:
    try:
        PrimitiveType._from_value(name, "")
    except UnsupportedFeatureError:
        return False
    return True


def _with_voids(value: Any) -> Any:
    """The JSON value of a type with ``void`` for names that are not known; what is no type stays."""
    if isinstance(value, str):
        return value if _is_known(value) else _VOID
    if not isinstance(value, dict):
        return value
    kind = value.get("type")
    if kind == "struct" and isinstance(value.get("fields"), list):
        fields = [
            {**each, "type": _with_voids(each["type"])} if isinstance(each, dict) and "type" in each else each
            for each in value["fields"]
        ]
        return {**value, "fields": fields}
    if kind in _PARTS:
        return {**value, **{key: _with_voids(value[key]) for key in _PARTS[kind] if key in value}}
    return value if kind == "struct" or not isinstance(kind, str) else _VOID


def _restored(data_type: Any, value: Any) -> Any:
    """A type that was read from `_with_voids`, with the types that are not known in their places."""
    if isinstance(data_type, StructType):
        pairs = zip(data_type.fields, value["fields"], strict=True)
        return replace(
            data_type,
            fields=tuple(replace(field, type=_restored(field.type, each["type"])) for field, each in pairs),
        )
    if isinstance(data_type, ArrayType):
        return replace(data_type, element_type=_restored(data_type.element_type, value["elementType"]))
    if isinstance(data_type, MapType):
        key, item = (value[each] for each in _PARTS["map"])
        return replace(
            data_type,
            key_type=_restored(data_type.key_type, key),
            value_type=_restored(data_type.value_type, item),
        )
    name = value if isinstance(value, str) else str(value.get("type"))
    return data_type if _is_known(name) else UnknownType(name)
