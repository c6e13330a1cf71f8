"""`Schema`: the columns of a table in order (PROTOCOL.md, *Schema Serialization Format*)."""

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

# Keys whose values are valid only in the table that set them.
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
        """Return the Arrow schema for reading and writing the table, with column metadata."""
        return to_arrow_schema(self)

    @classmethod
    def from_arrow(cls, schema: pa.Schema) -> Self:
        """Return the table schema for data of an Arrow schema.

        Args:
            schema: a `pyarrow.Schema`, or an object with ``__arrow_c_schema__``.

        Raises:
            UnsupportedFeatureError: a column has a type that Delta does not have.
        """
        return cls(from_arrow_field(each) for each in pa.schema(schema))


def from_arrow_schema(schema: pa.Schema) -> Schema:
    """Return the table schema for data of an Arrow schema; see `Schema.from_arrow`."""
    return Schema.from_arrow(schema)


def without_table_metadata(schema: Schema) -> Schema:
    """Return the schema for a new table with another table's data.

    Comments and user metadata stay. As in Spark, physical names, field ids, generation expressions,
    identities, invariants, defaults and type changes are removed.

    >>> from deltaarrow.schema import Field
    >>> metadata = {"comment": "key", "delta.columnMapping.id": 3}
    >>> without_table_metadata(Schema([Field("id", "long", metadata=metadata)]))
    Schema([Field(id, PrimitiveType("long"), nullable=True, metadata={'comment': 'key'})])
    """
    return _stripped(schema, _TABLE_KEYS)


def without_column_ids(schema: Schema) -> Schema:
    """Return the schema without the column ids and physical names of column mapping."""
    return _stripped(schema, (COLUMN_MAPPING_PREFIX,))


def _stripped(data_type: _Type, keys: tuple[str, ...]) -> _Type:
    """Return the type without column metadata, at any level, whose key starts with one of `keys`."""
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
    """Return the paths of the leaf columns in order; an array or a map is one leaf.

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
