"""Compatibility check for reading files of one table version with the schema of a later version.

A scan needs no check, because all files of a snapshot fit its schema. A change data feed reads files of many
versions as one table, which is correct only if columns were added and nothing else changed. The rules are
delta-spark's.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Self

from deltaarrow.actions import Metadata, Protocol
from deltaarrow.schema import (
    ArrayType,
    DataType,
    MapType,
    Schema,
    StructType,
    column_mapping_mode,
    physical_name,
    schema_of_log,
)

__all__ = ["TableShape", "incompatibility"]


@dataclass(frozen=True)
class TableShape:
    """The metadata that determines how the files of a version are read."""

    schema: Schema
    partition_columns: tuple[str, ...]
    mapping_mode: str

    @classmethod
    def of(cls, protocol: Protocol, metadata: Metadata) -> Self:
        """Return the shape for a protocol and metadata."""
        mode = column_mapping_mode(
            protocol.min_reader_version,
            protocol.reader_features,
            protocol.writer_features,
            metadata.configuration,
        )
        return cls(schema_of_log(metadata.schema_string), tuple(metadata.partition_columns), mode)


def incompatibility(older: TableShape, newer: TableShape) -> str | None:
    """Return the first reason why files of `older` cannot be read as `newer`, or None.

    >>> from deltaarrow.schema import Field
    >>> before = TableShape(Schema([Field("id", "integer"), Field("a", "long")]), (), "none")
    >>> after = TableShape(Schema([Field("id", "long"), Field("b", "long"), Field("a", "long")]), (), "none")
    >>> incompatibility(before, after)
    "the type of the column 'id' was changed from integer to long"
    """
    if older == newer:
        return None
    if older.mapping_mode not in ("none", newer.mapping_mode):
        return f"the column mapping was changed from {older.mapping_mode} to {newer.mapping_mode}"
    differences = _Comparison(older.mapping_mode, newer.mapping_mode).structs(older.schema, newer.schema, "")
    partitioning = _repartitioned(older, newer)
    return next(chain(differences, partitioning), None)


def _repartitioned(older: TableShape, newer: TableShape) -> Iterator[str]:
    if older.partition_columns != newer.partition_columns:
        before, after = list(older.partition_columns), list(newer.partition_columns)
        yield f"the partition columns were changed from {before} to {after}"


@dataclass(frozen=True)
class _Comparison:
    """A comparison of schemas; yields the differences other than added columns."""

    older_mode: str
    newer_mode: str

    def structs(self, older: StructType, newer: StructType, path: str) -> Iterator[str]:
        # If column mapping was enabled later, the old names became physical names.
        found = {physical_name(field, self.newer_mode): field for field in newer.fields}
        for before in older.fields:
            name = f"{path}{before.name}"
            after = found.get(physical_name(before, self.older_mode))
            if after is None:
                yield f"the column {name!r} was dropped or renamed"
            elif after.name != before.name:
                yield f"the column {name!r} was renamed to {after.name!r}"
            elif before.nullable and not after.nullable:
                yield f"the column {name!r} was made NOT NULL"
            else:
                yield from self.types(before.type, after.type, name)

    def types(self, older: DataType, newer: DataType, name: str) -> Iterator[str]:
        if isinstance(older, StructType) and isinstance(newer, StructType):
            yield from self.structs(older, newer, f"{name}.")
        elif isinstance(older, ArrayType) and isinstance(newer, ArrayType):
            if older.contains_null and not newer.contains_null:
                yield f"the elements of {name!r} were made NOT NULL"
            yield from self.types(older.element_type, newer.element_type, f"{name}.element")
        elif isinstance(older, MapType) and isinstance(newer, MapType):
            if older.value_contains_null and not newer.value_contains_null:
                yield f"the values of {name!r} were made NOT NULL"
            yield from self.types(older.key_type, newer.key_type, f"{name}.key")
            yield from self.types(older.value_type, newer.value_type, f"{name}.value")
        elif older != newer:
            yield f"the type of the column {name!r} was changed from {_spelled(older)} to {_spelled(newer)}"


def _spelled(data_type: DataType) -> str:
    return str(getattr(data_type, "type", None) or repr(data_type))
