"""When a table feature is active: what in the metadata of a table makes use of it.

Chapter "Table Features" of the protocol: *supported* means that the protocol action lists the feature (or a
legacy version implies it), *active* that the metadata asks for it. Each class here is one way of asking.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from deltaarrow.features.property import TableProperty
from deltaarrow.schema import PrimitiveType, StructType, fields_within, types_within

__all__ = ["Activation", "ColumnMetadata", "ColumnType", "PropertyPrefix", "PropertySet"]


class Activation(Protocol):
    """A condition on the metadata of a table."""

    def is_met(self, schema: StructType, configuration: Mapping[str, str]) -> bool:
        """Whether the metadata asks for the feature."""

    @property
    def wording(self) -> str:
        """The condition as a clause of an error message."""


class PropertySet(NamedTuple):
    """The table property has another value than the one it has by default."""

    record: TableProperty[Any]

    def is_met(self, schema: StructType, configuration: Mapping[str, str]) -> bool:
        """Whether the property is set, other than to its default or to false."""
        return self.record.parse(configuration) not in (self.record.default, False)

    @property
    def wording(self) -> str:
        """The condition as a clause."""
        return f"it sets {self.record.name}"


class PropertyPrefix(NamedTuple):
    """There is a property whose name starts like this; every one stands for a thing of its own."""

    prefix: str

    def is_met(self, schema: StructType, configuration: Mapping[str, str]) -> bool:
        """Whether there is such a property."""
        return any(name.lower().startswith(self.prefix) for name in configuration)

    @property
    def wording(self) -> str:
        """The condition as a clause."""
        return f"it has a property {self.prefix}*"


class ColumnMetadata(NamedTuple):
    """A column, at any level of nesting, has this key in its metadata."""

    key: str

    def is_met(self, schema: StructType, configuration: Mapping[str, str]) -> bool:
        """Whether there is such a column."""
        return any(self.key in field.metadata for field in fields_within(schema))

    @property
    def wording(self) -> str:
        """The condition as a clause."""
        return f"a column has {self.key}"


class ColumnType(NamedTuple):
    """A column, or a part of one, has this primitive type."""

    name: str

    def is_met(self, schema: StructType, configuration: Mapping[str, str]) -> bool:
        """Whether the schema holds the type."""
        return any(isinstance(t, PrimitiveType) and t.type == self.name for t in types_within(schema))

    @property
    def wording(self) -> str:
        """The condition as a clause."""
        return f"a column has the type {self.name}"
