"""`Schema`: the columns of a table in order (PROTOCOL.md, *Schema Serialization Format*)."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Self, TypeVar

import pyarrow as pa

from deltaarrow.schema.arrow_types import from_arrow_field, to_arrow_schema, with_large_types
from deltaarrow.schema.json_objects import JsonObject, parse_json
from deltaarrow.schema.metadata_keys import (
    COLUMN_MAPPING_PREFIX,
    DEFAULT_KEY,
    FIRST_DEFAULT_KEY,
    INVARIANTS_KEY,
    TABLE_PREFIX,
)
from deltaarrow.schema.types import ArrayType, DataType, Field, MapType, StructType

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

    def to_arrow(self, as_large_types: bool = False) -> pa.Schema:
        """Return the Arrow schema for reading and writing the table, with column metadata.

        Args:
            as_large_types: give texts, binaries and lists their Arrow types with 64-bit offsets.
        """
        fields = list(to_arrow_schema(self))
        if as_large_types:
            fields = [each.with_type(with_large_types(each.type)) for each in fields]
        # As in deltalake, a column without metadata has an empty dictionary.
        return pa.schema([each if each.metadata else each.with_metadata({}) for each in fields])

    @classmethod
    def from_arrow(cls, type: pa.Schema) -> Self:
        """Return the table schema for data of an Arrow schema.

        Args:
            type: a `pyarrow.Schema`, or an object with ``__arrow_c_schema__``.

        Raises:
            UnsupportedFeatureError: a column has a type that Delta does not have.
        """
        return cls(from_arrow_field(each) for each in pa.schema(type))

    def __arrow_c_schema__(self) -> object:
        """Export the Arrow schema, for libraries that take Arrow objects of any package."""
        return to_arrow_schema(self).__arrow_c_schema__()

    @property
    def invariants(self) -> list[tuple[str, str]]:
        """The SQL conditions in column metadata, each with the path of its column."""
        return [
            (path, parse_json(each.metadata[INVARIANTS_KEY])["expression"]["expression"])
            for path, each in _fields_with_paths(self, "")
            if INVARIANTS_KEY in each.metadata
        ]

    def json(self) -> dict[str, Any]:
        """Return the JSON object of the schema as Python values; `to_json` returns its text."""
        found: dict[str, Any] = parse_json(self.to_json())
        return found


def _fields_with_paths(struct: StructType, prefix: str) -> Iterator[tuple[str, Field]]:
    for each in struct.fields:
        yield prefix + each.name, each
        if isinstance(each.type, StructType):
            yield from _fields_with_paths(each.type, f"{prefix}{each.name}.")


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
