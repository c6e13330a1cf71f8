"""The schema of a table: its columns in order (PROTOCOL.md, *Schema Serialization Format*)."""

from collections.abc import Iterator
from typing import Self

import pyarrow as pa

from deltaarrow.schema.arrow import from_arrow_field, to_arrow_schema
from deltaarrow.schema.types import StructType

__all__ = ["Schema", "from_arrow_schema", "leaf_paths"]


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
