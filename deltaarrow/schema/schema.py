"""The schema of a table: its columns in order (PROTOCOL.md, *Schema Serialization Format*)."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Self

import pyarrow as pa

from deltaarrow.schema.arrow import from_arrow_field, to_arrow_schema
from deltaarrow.schema.json import JsonObject
from deltaarrow.schema.types import ArrayType, DataType, Field, MapType, StructType

__all__ = ["Schema", "from_arrow_schema", "leaf_paths", "without_table_metadata"]

# What these keys say holds in the one table that has set them up for it.
_TABLE_KEYS = ("delta.", "CURRENT_DEFAULT", "EXISTS_DEFAULT")


class Schema(StructType):
    """The columns of a table.

    >>> schema = Schema.from_arrow(pa.schema([("id", pa.uint32()), ("name", pa.large_string())]))
    >>> schema.field("ID")
    Field(id, PrimitiveType("integer"), nullable=True)
    >>> schema.to_arrow().field("name").type
    DataType(string)
    """

    def to_arrow(self) -> pa.Schema:
        """The Arrow schema in which the table is read and written, with column metadata."""
        return to_arrow_schema(self)

    @classmethod
    def from_arrow(cls, schema: pa.Schema) -> Self:
        """The table schema that holds data of an Arrow schema.

        Args:
            schema: a `pyarrow.Schema`, or an object with ``__arrow_c_schema__``.

        Raises:
            UnsupportedFeatureError: a column has a type that Delta does not have.
        """
        return cls(from_arrow_field(each) for each in pa.schema(schema))


def from_arrow_schema(schema: pa.Schema) -> Schema:
    """The table schema that holds data of an Arrow schema; see `Schema.from_arrow`."""
    return Schema.from_arrow(schema)


def without_table_metadata(schema: Schema) -> Schema:
    """The schema for a new table made of another table's data.

    Comments and the user's own metadata stay; physical names, field ids, generation expressions,
    identity, invariants, defaults and type changes do not, as when Spark writes such data.

    >>> metadata = {"comment": "key", "delta.columnMapping.id": 3}
    >>> without_table_metadata(Schema([Field("id", "long", metadata=metadata)]))
    Schema([Field(id, PrimitiveType("long"), nullable=True, metadata={'comment': 'key'})])
    """
    return replace(schema, fields=tuple(map(_without_table_metadata, schema.fields)))


def _without_table_metadata(field: Field) -> Field:
    metadata = {key: value for key, value in field.metadata.items() if not key.startswith(_TABLE_KEYS)}
    return replace(field, type=_stripped(field.type), metadata=JsonObject(metadata))


def _stripped(data_type: DataType) -> DataType:
    if isinstance(data_type, StructType):
        return replace(data_type, fields=tuple(map(_without_table_metadata, data_type.fields)))
    if isinstance(data_type, ArrayType):
        return replace(data_type, element_type=_stripped(data_type.element_type))
    if isinstance(data_type, MapType):
        key = _stripped(data_type.key_type)
        return replace(data_type, key_type=key, value_type=_stripped(data_type.value_type))
    return data_type


def leaf_paths(schema: StructType) -> list[tuple[str, ...]]:
    """The leaf columns in order, as paths of names; an array or a map is one leaf.

    >>> arrow = pa.schema([("a", pa.struct([("b", pa.int64())])), ("c", pa.list_(pa.int64()))])
    >>> leaf_paths(Schema.from_arrow(arrow))
    [('a', 'b'), ('c',)]
    """
    return list(_leaves(schema, ()))


def _leaves(struct: StructType, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for each in struct.fields:
        if isinstance(each.type, StructType):
            yield from _leaves(each.type, (*path, each.name))
        else:
            yield (*path, each.name)
