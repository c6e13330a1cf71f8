"""The schema of a table: its columns in order (PROTOCOL.md, *Schema Serialization Format*)."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Self, TypeVar

import pyarrow as pa

from deltaarrow.schema.arrow import from_arrow_field, to_arrow_schema
from deltaarrow.schema.json import JsonObject
from deltaarrow.schema.keys import COLUMN_MAPPING_PREFIX, DEFAULT_KEY, FIRST_DEFAULT_KEY, TABLE_PREFIX
from deltaarrow.schema.types import ArrayType, DataType, MapType, StructType

__all__ = ["Schema", "from_arrow_schema", "leaf_paths", "without_column_ids", "without_table_metadata"]

_Type = TypeVar("_Type", bound=DataType)

# What these keys say holds in the one table that has set them up for it.
_TABLE_KEYS = (TABLE_PREFIX, DEFAULT_KEY, FIRST_DEFAULT_KEY)


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

    >>> from deltaarrow.schema import Field
    >>> metadata = {"comment": "key", "delta.columnMapping.id": 3}
    >>> without_table_metadata(Schema([Field("id", "long", metadata=metadata)]))
    Schema([Field(id, PrimitiveType("long"), nullable=True, metadata={'comment': 'key'})])
    """
    return _stripped(schema, _TABLE_KEYS)


def without_column_ids(schema: Schema) -> Schema:
    """The schema without the ids and physical names that column mapping has given in some table."""
    return _stripped(schema, (COLUMN_MAPPING_PREFIX,))


def _stripped(data_type: _Type, keys: tuple[str, ...]) -> _Type:
    """The type without the column metadata, at any level, whose keys start with one of these."""
    if isinstance(data_type, StructType):
        fields = tuple(
            replace(
                each,
                type=_stripped(each.type, keys),
                metadata=JsonObject(
                    {key: value for key, value in each.metadata.items() if not key.startswith(keys)}
                ),
            )
            for each in data_type.fields
        )
        return replace(data_type, fields=fields)
    if isinstance(data_type, ArrayType):
        return replace(data_type, element_type=_stripped(data_type.element_type, keys))
    if isinstance(data_type, MapType):
        key = _stripped(data_type.key_type, keys)
        return replace(data_type, key_type=key, value_type=_stripped(data_type.value_type, keys))
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
