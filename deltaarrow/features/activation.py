"""Conditions on a table's metadata that make a table feature active.

Chapter "Table Features" of the protocol: *supported* means that the protocol action lists the feature (or a
legacy version implies it), *active* that the metadata uses it. Each class here is one kind of condition.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from deltaarrow.features.property import TableProperty
from deltaarrow.schema import PrimitiveType, StructType, fields_within, types_within

__all__ = ["Activation", "ColumnMetadata", "ColumnType", "PropertyPrefix", "PropertySet"]


class Activation(Protocol):
    """A condition on the metadata of a table."""

    def is_met(self, schema: StructType, configuration: Mapping[str, str]) -> bool:
        """Whether the metadata makes the feature active."""

    @property
    def wording(self) -> str:
        """The condition as a clause of an error message."""


class PropertySet(NamedTuple):
    """The table property differs from its default."""

    record: TableProperty[Any]

    def is_met(self, schema: StructType, configuration: Mapping[str, str]) -> bool:
        """Whether the property is set to something other than its default or false."""
        return self.record.parse(configuration) not in (self.record.default, False)

    @property
    def wording(self) -> str:
        """The condition as a clause."""
        return f"it sets {self.record.name}"


class PropertyPrefix(NamedTuple):
    """There is a property with this name prefix; each such property is independent of the others."""

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
    """A column, or a nested part of one, has this primitive type."""

    name: str

    def is_met(self, schema: StructType, configuration: Mapping[str, str]) -> bool:
        """Whether the schema contains the type."""
        return any(isinstance(t, PrimitiveType) and t.type == self.name for t in types_within(schema))

    @property
    def wording(self) -> str:
        """The condition as a clause."""
        return f"a column has the type {self.name}"
