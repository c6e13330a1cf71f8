"""Addition, removal and change of single fields of a schema, at any level of nesting.

Chapter *Schema Serialization Format* of the protocol. A path is a tuple of names, as in Spark: ``("s", "x")``
is a field of a struct; ``("a", "element", "x")`` and ``("m", "value", "x")`` are fields of structs in arrays
and maps. Names match as in Spark: the exact name, else the only name that differs in case.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

from deltaarrow.errors import SchemaMismatchError
from deltaarrow.schema.types import ArrayType, DataType, Field, MapType, StructType

__all__ = ["add_fields", "edit_field", "render_path", "spelled_path"]

_Type = TypeVar("_Type", bound=DataType)
_Struct = TypeVar("_Struct", bound=StructType)
_Added: TypeAlias = list[tuple[tuple[str, ...], Field]]

Edit = Callable[[Field], Field | None]
"""Returns the changed field, or None to drop it."""


def render_path(path: Iterable[str]) -> str:
    """Return the path as text, with backticks around names that have a dot.

    >>> render_path(("s", "a.b"))
    's.`a.b`'
    """
    return ".".join(f"`{name.replace('`', '``')}`" if "." in name else name for name in path)


def spelled_path(schema: StructType, path: Sequence[str]) -> tuple[str, ...]:
    """Return the path in the schema's spelling.

    Raises:
        SchemaMismatchError: the path does not exist.
    """
    found: list[str] = []

    def walk(data_type: DataType, rest: Sequence[str]) -> None:
        if not rest:
            return
        if isinstance(data_type, StructType):
            field = data_type.field(rest[0])
            found.append(field.name)
            walk(field.type, rest[1:])
        else:
            part, inner = _part(data_type, rest, path)
            found.append(part)
            walk(inner, rest[1:])

    walk(schema, path)
    return tuple(found)


def edit_field(schema: _Struct, path: Sequence[str], edit: Edit) -> _Struct:
    """Return the schema with the field at `path` replaced by the result of `edit`; None drops the field.

    Raises:
        SchemaMismatchError: the path does not exist, or is not a field.

    >>> from deltaarrow.schema import Schema
    >>> schema = Schema([Field("s", StructType([Field("x", "long"), Field("y", "long")]))])
    >>> edit_field(schema, ("s", "x"), lambda field: None).field("s").type.names
    ['y']
    """
    return _edited(schema, path, edit, path)


def _edited(data_type: _Type, rest: Sequence[str], edit: Edit, path: Sequence[str]) -> _Type:
    if isinstance(data_type, StructType):
        field = data_type.field(rest[0])
        if len(rest) > 1:
            new: Field | None = replace(field, type=_edited(field.type, rest[1:], edit, path))
        else:
            new = edit(field)
        fields = [new if each is field else each for each in data_type.fields]
        return replace(data_type, fields=tuple(each for each in fields if each is not None))
    part, inner = _part(data_type, rest, path)
    if len(rest) == 1:
        raise SchemaMismatchError(
            f"{render_path(path)!r} is an array element or a map key or value, not a field; name a column or"
            " a field of a struct"
        )
    changed = _edited(inner, rest[1:], edit, path)
    attribute = {"element": "element_type", "key": "key_type", "value": "value_type"}[part]
    changes: dict[str, Any] = {attribute: changed}
    return replace(data_type, **changes)


def _part(data_type: DataType, rest: Sequence[str], path: Sequence[str]) -> tuple[str, DataType]:
    name = rest[0].lower()
    if isinstance(data_type, ArrayType) and name == "element":
        return name, data_type.element_type
    if isinstance(data_type, MapType) and name in ("key", "value"):
        return name, data_type.key_type if name == "key" else data_type.value_type
    owner = render_path(path[: len(path) - len(rest)])
    raise SchemaMismatchError(f"column {owner!r} is not a struct: it has no field {rest[0]!r}")


def add_fields(schema: _Struct, fields: Iterable[Field]) -> tuple[_Struct, _Added]:
    """Return the schema with more fields, each last in its struct, and the added fields with their paths.

    A struct that exists gains the fields that it lacks, also within arrays and maps.

    Raises:
        SchemaMismatchError: a field exists already, or its parent is not a struct.

    >>> from deltaarrow.schema import Schema
    >>> schema = Schema([Field("s", StructType([Field("x", "long")]))])
    >>> schema, added = add_fields(schema, [Field("s", StructType([Field("y", "long")]))])
    >>> schema.field("s").type.names, [path for path, field in added]
    (['x', 'y'], [('s', 'y')])
    """
    added: _Added = []
    return _with_fields(schema, fields, (), added), added


def _with_fields(
    struct: _Struct,
    fields: Iterable[Field],
    path: tuple[str, ...],
    added: _Added,
) -> _Struct:
    for field in fields:
        present = struct.find(field.name)
        if present is None:
            added.append(((*path, field.name), field))
            struct = replace(struct, fields=(*struct.fields, field))
        else:
            merged = _merged(present.type, field.type, (*path, present.name), added)
            new = replace(present, type=merged)
            kept = tuple(new if each is present else each for each in struct.fields)
            struct = replace(struct, fields=kept)
    return struct


def _merged(old: DataType, new: DataType, path: tuple[str, ...], added: _Added) -> DataType:
    match old, new:
        case StructType(), StructType():
            return _with_fields(old, new.fields, path, added)
        case ArrayType(), ArrayType():
            element = _merged(old.element_type, new.element_type, (*path, "element"), added)
            return replace(old, element_type=element)
        case MapType(), MapType() if old.key_type == new.key_type:
            return replace(old, value_type=_merged(old.value_type, new.value_type, (*path, "value"), added))
    raise SchemaMismatchError(f"the column {render_path(path)!r} exists already; choose another name")
