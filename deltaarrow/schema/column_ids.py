"""Column ids and physical names for tables with column mapping (PROTOCOL.md, *Column Mapping*).

A column keeps its id and physical name for life. A new column gets the next id and an unused physical name,
so a column that is dropped and added again never shows its old data.
"""

import uuid
from dataclasses import replace

from deltaarrow.errors import CorruptLogError
from deltaarrow.schema.json_objects import JsonObject
from deltaarrow.schema.mapping import field_id, nested_ids, to_physical_schema
from deltaarrow.schema.metadata_keys import FIELD_ID_KEY, NESTED_IDS_KEY, PHYSICAL_NAME_KEY
from deltaarrow.schema.nesting import fields_within
from deltaarrow.schema.schema import Schema
from deltaarrow.schema.types import ArrayType, DataType, Field, MapType, StructType

__all__ = ["assign_column_ids", "ensure_distinct_columns"]


def assign_column_ids(
    schema: Schema,
    max_id: int = 0,
    *,
    previous: Schema | None = None,
    keep_names: bool = False,
    nested: bool = False,
) -> tuple[Schema, int]:
    """Return the schema with an id and a physical name for every field, and the highest id so far.

    Args:
        schema: the logical schema; fields keep an id or physical name that they have.
        max_id: ``delta.columnMapping.maxColumnId`` of the table; 0 for a new table.
        previous: the schema that this schema replaces, or None. A field with the path and type of a previous
            field continues that field.
        keep_names: whether logical names become physical names, for enabling column mapping in a table with
            files.
        nested: whether array elements, map keys and map values get ids too, as Iceberg requires.

    >>> schema, max_id = assign_column_ids(Schema([Field("a", StructType([Field("b", "long")]))]))
    >>> field_id(schema.field("a")), field_id(schema.field("a").type.field("b")), max_id
    (1, 2, 2)
    """
    given = [
        number for each in fields_within(schema) for number in (field_id(each), *nested_ids(each).values())
    ]
    ids = _Ids(max([max_id, *(number or 0 for number in given)]), keep_names)
    schema = replace(schema, fields=ids.fields(schema, previous))
    if nested:
        # As in Spark, nested ids follow the ids of all columns.
        schema = replace(schema, fields=ids.nested(schema))
    return schema, ids.highest


def ensure_distinct_columns(schema: Schema, mode: str) -> None:
    """Raise if readers of the data files could not tell two columns of the schema apart.

    Raises:
        CorruptLogError: two columns share an id, two columns of one struct share a physical name, or a column
            lacks the id or name that the mode needs.

    >>> ids = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "a"}
    >>> other = {**ids, "delta.columnMapping.physicalName": "b"}
    >>> schema = Schema([Field("a", "long", metadata=ids), Field("b", "long", metadata=other)])
    >>> ensure_distinct_columns(schema, "name")
    Traceback (most recent call last):
    ...
    deltaarrow.errors.CorruptLogError: columns 'a' and 'b' share the id 1
    """
    if mode == "none":
        return
    to_physical_schema(schema, mode)
    owners: dict[int, Field] = {}
    for each in fields_within(schema):
        if (number := field_id(each)) is not None and owners.setdefault(number, each) is not each:
            raise CorruptLogError(f"columns {owners[number].name!r} and {each.name!r} share the id {number}")


class _Ids:
    def __init__(self, highest: int, keep_names: bool) -> None:
        self.highest = highest
        self._keep_names = keep_names

    def fields(self, struct: StructType, previous: DataType | None) -> tuple[Field, ...]:
        old = previous if isinstance(previous, StructType) else StructType()
        return tuple(self._field(each, old.find(each.name)) for each in struct.fields)

    def _field(self, field: Field, old: Field | None) -> Field:
        # As in Spark, a field gets its id before the fields inside it.
        origin = old.metadata if old is not None and _goes_on(old.type, field.type) else JsonObject()
        metadata = dict(field.metadata)
        if FIELD_ID_KEY not in metadata:
            metadata[FIELD_ID_KEY] = origin.get(FIELD_ID_KEY) or self._next()
        if PHYSICAL_NAME_KEY not in metadata:
            new = field.name if self._keep_names else f"col-{uuid.uuid4()}"
            metadata[PHYSICAL_NAME_KEY] = origin.get(PHYSICAL_NAME_KEY) or new
            if NESTED_IDS_KEY in origin:
                metadata[NESTED_IDS_KEY] = origin[NESTED_IDS_KEY]
        inner = self._type(field.type, None if old is None else old.type)
        return replace(field, type=inner, metadata=JsonObject(metadata))

    def _type(self, data_type: DataType, old: DataType | None) -> DataType:
        if isinstance(data_type, StructType):
            return replace(data_type, fields=self.fields(data_type, old))
        if isinstance(data_type, ArrayType):
            element = old.element_type if isinstance(old, ArrayType) else None
            return replace(data_type, element_type=self._type(data_type.element_type, element))
        if isinstance(data_type, MapType):
            key, value = (old.key_type, old.value_type) if isinstance(old, MapType) else (None, None)
            new_key = self._type(data_type.key_type, key)
            return replace(data_type, key_type=new_key, value_type=self._type(data_type.value_type, value))
        return data_type

    def nested(self, struct: StructType) -> tuple[Field, ...]:
        """Return the fields with ids for elements, keys and values; existing ids are kept."""
        fields = []
        for each in struct.fields:
            ids = dict(nested_ids(each))
            data_type = self._parts(each.type, str(each.metadata[PHYSICAL_NAME_KEY]), ids)
            fields.append(
                replace(each, type=data_type, metadata=JsonObject({**each.metadata, NESTED_IDS_KEY: ids}))
            )
        return tuple(fields)

    def _parts(self, data_type: DataType, path: str, ids: dict[str, int]) -> DataType:
        def part(name: str, inner: DataType) -> DataType:
            inner_path = f"{path}.{name}"
            if inner_path not in ids:
                ids[inner_path] = self._next()
            return self._parts(inner, inner_path, ids)

        if isinstance(data_type, StructType):
            return replace(data_type, fields=self.nested(data_type))
        if isinstance(data_type, ArrayType):
            return replace(data_type, element_type=part("element", data_type.element_type))
        if isinstance(data_type, MapType):
            key = part("key", data_type.key_type)
            return replace(data_type, key_type=key, value_type=part("value", data_type.value_type))
        return data_type

    def _next(self) -> int:
        self.highest += 1
        return self.highest


def _goes_on(old: DataType, new: DataType) -> bool:
    """Whether a field with the new type continues the old field; struct fields may become nullable.

    The nullability of array elements and map values is ignored, because Spark's schema overwrite drops it.
    """
    match old, new:
        case StructType(), StructType():
            return len(old) == len(new) and all(
                one.name == two.name and (two.nullable or not one.nullable) and _goes_on(one.type, two.type)
                for one, two in zip(old, new, strict=True)
            )
        case ArrayType(), ArrayType():
            return _goes_on(old.element_type, new.element_type)
        case MapType(), MapType():
            return _goes_on(old.key_type, new.key_type) and _goes_on(old.value_type, new.value_type)
    return old == new
