"""Schema merge for data that does not fit the table's schema, with the rules of Spark's ``mergeSchema``.

Chapters *Schema Serialization Format*, *Type Widening* and *Column Mapping* of PROTOCOL.md. Columns of the
table keep their order, spelling, nullability and metadata. New columns of the data come last in their struct
and are nullable, whatever the data says. Names match case-insensitively. A type changes only if the table
enables type widening and no value changes; the change is recorded in the column's metadata. If the data can
be stored in the present type (`conform` checks the values), the type stays, as in Spark's INSERT.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, TypeVar

from deltaarrow.errors import SchemaMismatchError
from deltaarrow.schema.arrow_cast import is_conformable
from deltaarrow.schema.arrow_types import to_arrow_type
from deltaarrow.schema.json_objects import JsonObject
from deltaarrow.schema.metadata_keys import TYPE_CHANGES_KEY
from deltaarrow.schema.schema import Schema, without_table_metadata
from deltaarrow.schema.types import ArrayType, DataType, Field, MapType, PrimitiveType, StructType

__all__ = ["as_nullable", "is_wider", "keeps_types", "merge_schemas"]

_Struct = TypeVar("_Struct", bound=StructType)

_WHOLE_NUMBERS = ("byte", "short", "integer", "long")


def merge_schemas(table: Schema, data: Schema, *, widen: bool, table_version: int | None = None) -> Schema:
    """Return the schema that holds the columns of the table and of the data.

    Args:
        table: the schema of the table.
        data: the schema of the data. Its nullability is ignored, and so is metadata that is meaningful only
            in the table it comes from.
        widen: whether columns may take the wider type of the data.
        table_version: the version to be committed, recorded in type changes of tables with the preview of
            type widening; None otherwise.

    Raises:
        SchemaMismatchError: two types are incompatible (the message has the path and both types), or names in
            the data differ only in case.

    >>> table = Schema([Field("id", "integer"), Field("at", StructType([Field("x", "long")]))])
    >>> data = Schema([Field("AT", StructType([Field("y", "long")])), Field("ID", "long")])
    >>> merged = merge_schemas(table, data, widen=False)
    >>> merged.names, merged.field("at").type.names, merged.field("id").type
    (['id', 'at'], ['x', 'y'], PrimitiveType("integer"))
    >>> merge_schemas(table, data, widen=True).field("id").metadata
    {'delta.typeChanges': [{'fromType': 'integer', 'toType': 'long'}]}
    """
    version = {} if table_version is None else {"tableVersion": table_version}
    return _Merge(widen, version).structs(table, as_nullable(without_table_metadata(data)), "")


def as_nullable(schema: Schema, *, keeps_elements: bool = False) -> Schema:
    """Return the schema, nullable at every level; with `keeps_elements`, except inside arrays and maps."""
    return replace(schema, fields=_nullable_fields(schema.fields, keeps_elements))


def keeps_types(old: DataType, new: DataType) -> bool:
    """Whether the new type has every part of the old type unchanged; it may have more struct fields."""
    match old, new:
        case StructType(), StructType():
            return all(
                (kept := new.find(field.name)) is not None and keeps_types(field.type, kept.type)
                for field in old.fields
            )
        case ArrayType(), ArrayType():
            return keeps_types(old.element_type, new.element_type)
        case MapType(), MapType():
            return keeps_types(old.key_type, new.key_type) and keeps_types(old.value_type, new.value_type)
    return old == new


class _Merge:
    def __init__(self, widen: bool, version: dict[str, int]) -> None:
        self._widen = widen
        self._version = version

    def structs(self, table: _Struct, data: StructType, path: str) -> _Struct:
        incoming: dict[str, Field] = {}
        for field in data.fields:
            other = incoming.setdefault(field.name.lower(), field)
            if other is not field:
                raise SchemaMismatchError(
                    f"the data has the columns {_join(path, other.name)!r} and {_join(path, field.name)!r},"
                    " which have the same name up to case; rename or drop one"
                )
        fields = []
        for field in table.fields:
            found = incoming.pop(field.name.lower(), None)
            fields.append(field if found is None else self._field(field, found.type, _join(path, field.name)))
        return replace(table, fields=(*fields, *incoming.values()))

    def _field(self, field: Field, data: DataType, path: str) -> Field:
        changes: list[dict[str, Any]] = []
        merged = self._types(field.type, data, path, (), changes)
        if not changes:
            return replace(field, type=merged)
        recorded = [*field.metadata.get(TYPE_CHANGES_KEY, ()), *changes]
        metadata = JsonObject({**field.metadata, TYPE_CHANGES_KEY: recorded})
        return replace(field, type=merged, metadata=metadata)

    def _types(
        self,
        table: DataType,
        data: DataType,
        path: str,
        inside: tuple[str, ...],
        changes: list[dict[str, Any]],
    ) -> DataType:
        """Return the merged type; `inside` is the path from the column into its arrays and maps."""

        def part(name: str, old: DataType, new: DataType) -> DataType:
            return self._types(old, new, f"{path}.{name}", (*inside, name), changes)

        match table, data:
            case StructType(), StructType():
                return self.structs(table, data, path)
            case ArrayType(), ArrayType():
                element = part("element", table.element_type, data.element_type)
                return replace(table, element_type=element)
            case MapType(), MapType():
                key = part("key", table.key_type, data.key_type)
                value = part("value", table.value_type, data.value_type)
                return replace(table, key_type=key, value_type=value)
            case PrimitiveType("void"), _:
                return data
            case PrimitiveType(), PrimitiveType() if self._widen and is_wider(table, data):
                change = {**self._version, "fromType": table.type, "toType": data.type}
                changes.append(change | ({"fieldPath": ".".join(inside)} if inside else {}))
                return data
        if not is_conformable(to_arrow_type(data), to_arrow_type(table)):
            raise SchemaMismatchError(
                f"column {path!r} is {_spell(table)} in the table, but incompatible {_spell(data)} in the"
                " data; cast it"
            )
        return table


def is_wider(old: PrimitiveType, new: PrimitiveType) -> bool:
    """Whether Spark widens a column automatically: to more digits, but never to another kind of number."""
    if old.type in _WHOLE_NUMBERS and new.type in _WHOLE_NUMBERS:
        return _WHOLE_NUMBERS.index(old.type) < _WHOLE_NUMBERS.index(new.type)
    if old.decimal is not None and new.decimal is not None:
        (old_precision, old_scale), (precision, scale) = old.decimal, new.decimal
        return old != new and scale >= old_scale and precision - scale >= old_precision - old_scale
    return (old.type, new.type) in (("float", "double"), ("date", "timestamp_ntz"))


def _nullable_fields(fields: Iterable[Field], keeps_elements: bool) -> tuple[Field, ...]:
    return tuple(replace(each, type=_nullable(each.type, keeps_elements), nullable=True) for each in fields)


def _nullable(data_type: DataType, keeps_elements: bool) -> DataType:
    match data_type:
        case StructType():
            return replace(data_type, fields=_nullable_fields(data_type.fields, keeps_elements))
        case ArrayType():
            element = _nullable(data_type.element_type, keeps_elements)
            may_be_null = data_type.contains_null or not keeps_elements
            return replace(data_type, element_type=element, contains_null=may_be_null)
        case MapType():
            key = _nullable(data_type.key_type, keeps_elements)
            value = _nullable(data_type.value_type, keeps_elements)
            may_be_null = data_type.value_contains_null or not keeps_elements
            return replace(data_type, key_type=key, value_type=value, value_contains_null=may_be_null)
    return data_type


def _spell(data_type: DataType) -> str:
    return data_type.type if isinstance(data_type, PrimitiveType) else repr(data_type)


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
