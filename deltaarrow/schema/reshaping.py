"""Addition, removal, change and moving of single fields of a schema, at any level of nesting.

Chapter *Schema Serialization Format* of the protocol. A path is a tuple of names, as in Spark: ``("s", "x")``
is a field of a struct; ``("a", "element", "x")`` and ``("m", "value", "x")`` are fields of structs in arrays
and maps. Names match as in Spark: the exact name, else the only name that differs in case.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias, TypeVar

from deltaarrow.errors import SchemaMismatchError
from deltaarrow.schema.types import ArrayType, DataType, Field, MapType, StructType

__all__ = ["Position", "add_fields", "edit_field", "edit_type", "move_field", "render_path", "spelled_path"]

_Type = TypeVar("_Type", bound=DataType)
_Struct = TypeVar("_Struct", bound=StructType)
_Added: TypeAlias = list[tuple[tuple[str, ...], Field]]

Edit = Callable[[Field], Field | None]
"""Returns the changed field, or None to drop it."""


@dataclass(frozen=True)
class Position:
    """A place in a struct: after the field `after`, or before all fields if that is None."""

    after: str | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse the notation of Spark SQL.

        Raises `SchemaMismatchError` for any other text.

        >>> Position.parse("first"), Position.parse("AFTER `a b`")
        (Position(after=None), Position(after='a b'))
        """
        first, _, rest = text.strip().partition(" ")
        name = rest.strip()
        if first.upper() == "FIRST" and not name:
            return cls()
        if first.upper() == "AFTER" and name:
            is_quoted = len(name) > 1 and name.startswith("`") and name.endswith("`")
            return cls(name[1:-1].replace("``", "`") if is_quoted else name)
        raise SchemaMismatchError(f"{text!r} is not the position of a column; write 'FIRST' or 'AFTER name'")

    def __str__(self) -> str:
        return "FIRST" if self.after is None else f"AFTER {self.after}"

    def put(self, struct: _Struct, field: Field) -> _Struct:
        """Return the struct with another field at this position."""
        place = 0 if self.after is None else struct.names.index(struct.field(self.after).name) + 1
        return replace(struct, fields=(*struct.fields[:place], field, *struct.fields[place:]))


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

    def change(struct: DataType) -> DataType:
        if not isinstance(struct, StructType):
            _part(struct, path[-1:], path)
            raise SchemaMismatchError(
                f"{render_path(path)!r} is an array element or a map key or value, not a field; name a column"
                " or a field of a struct"
            )
        field = struct.field(path[-1])
        new = edit(field)
        fields = [new if each is field else each for each in struct.fields]
        return replace(struct, fields=tuple(each for each in fields if each is not None))

    return edit_type(schema, path[:-1], change)


def edit_type(schema: _Struct, path: Sequence[str], change: Callable[[DataType], DataType]) -> _Struct:
    """Return the schema with the type at `path` changed: of a field, an array element, a map key or value.

    Raises:
        SchemaMismatchError: the path does not exist.

    >>> from deltaarrow.schema import PrimitiveType, Schema
    >>> schema = Schema([Field("a", ArrayType("integer"))])
    >>> edit_type(schema, ("a", "element"), lambda old: PrimitiveType("long")).field("a").type.element_type
    PrimitiveType("long")
    """
    return _edited(schema, path, change, path)


def _edited(
    data_type: _Type, rest: Sequence[str], change: Callable[[Any], Any], path: Sequence[str]
) -> _Type:
    if not rest:
        changed: _Type = change(data_type)
        return changed
    if isinstance(data_type, StructType):
        field = data_type.field(rest[0])
        new = replace(field, type=_edited(field.type, rest[1:], change, path))
        return replace(data_type, fields=tuple(new if each is field else each for each in data_type.fields))
    part, inner = _part(data_type, rest, path)
    attribute = {"element": "element_type", "key": "key_type", "value": "value_type"}[part]
    changes: dict[str, Any] = {attribute: _edited(inner, rest[1:], change, path)}
    return replace(data_type, **changes)


def move_field(schema: _Struct, path: Sequence[str], position: Position) -> _Struct:
    """Return the schema with the field at `path` at another position of its struct.

    Raises:
        SchemaMismatchError: the path does not exist or is not a field, or the position names no field.

    >>> from deltaarrow.schema import Schema
    >>> schema = Schema([Field("x", "long"), Field("y", "long"), Field("z", "long")])
    >>> move_field(schema, ("z",), Position("x")).names
    ['x', 'z', 'y']
    """
    moved: list[Field] = []

    def take(field: Field) -> None:
        moved.append(field)

    rest = edit_field(schema, path, take)
    (field,) = moved
    if position.after is not None and position.after.lower() == field.name.lower():
        return schema
    return edit_type(rest, path[:-1], lambda struct: position.put(struct, field))  # type: ignore[type-var]


def _part(data_type: DataType, rest: Sequence[str], path: Sequence[str]) -> tuple[str, DataType]:
    name = rest[0].lower()
    if isinstance(data_type, ArrayType) and name == "element":
        return name, data_type.element_type
    if isinstance(data_type, MapType) and name in ("key", "value"):
        return name, data_type.key_type if name == "key" else data_type.value_type
    owner = render_path(path[: len(path) - len(rest)])
    raise SchemaMismatchError(f"column {owner!r} is not a struct: it has no field {rest[0]!r}")


def add_fields(
    schema: _Struct, fields: Iterable[Field], positions: Mapping[tuple[str, ...], Position] | None = None
) -> tuple[_Struct, _Added]:
    """Return the schema with more fields, and the added fields with their paths.

    A struct that exists gains the fields that it lacks, also within arrays and maps. A field is added last in
    its struct, unless `positions` has another place for its path.

    Raises:
        SchemaMismatchError: a field exists already, its parent is not a struct, or a position names no field.

    >>> from deltaarrow.schema import Schema
    >>> schema = Schema([Field("s", StructType([Field("x", "long")]))])
    >>> schema, added = add_fields(schema, [Field("s", StructType([Field("y", "long")]))])
    >>> schema.field("s").type.names, [path for path, field in added]
    (['x', 'y'], [('s', 'y')])
    """
    addition = _Addition(positions or {})
    return addition.fields(schema, fields, ()), addition.added


class _Addition:
    def __init__(self, positions: Mapping[tuple[str, ...], Position]) -> None:
        self.added: _Added = []
        self._positions = {_lower(path): position for path, position in positions.items()}

    def fields(self, struct: _Struct, fields: Iterable[Field], path: tuple[str, ...]) -> _Struct:
        for field in fields:
            present = struct.find(field.name)
            if present is None:
                inner = (*path, field.name)
                self.added.append((inner, field))
                position = self._positions.get(_lower(inner))
                if position is None:
                    struct = replace(struct, fields=(*struct.fields, field))
                else:
                    struct = position.put(struct, field)
            else:
                merged = self._merged(present.type, field.type, (*path, present.name))
                new = replace(present, type=merged)
                kept = tuple(new if each is present else each for each in struct.fields)
                struct = replace(struct, fields=kept)
        return struct

    def _merged(self, old: DataType, new: DataType, path: tuple[str, ...]) -> DataType:
        match old, new:
            case StructType(), StructType():
                return self.fields(old, new.fields, path)
            case ArrayType(), ArrayType():
                element = self._merged(old.element_type, new.element_type, (*path, "element"))
                return replace(old, element_type=element)
            case MapType(), MapType() if old.key_type == new.key_type:
                value = self._merged(old.value_type, new.value_type, (*path, "value"))
                return replace(old, value_type=value)
        raise SchemaMismatchError(
            f"the column {render_path(path)!r} exists already; choose another name"
            " (Spark: FIELD_ALREADY_EXISTS)"
        )


def _lower(path: Iterable[str]) -> tuple[str, ...]:
    return tuple(name.lower() for name in path)
