"""Identity columns: generated numbers for rows that lack them (PROTOCOL.md, *Identity Columns*).

A column counts from ``start`` in steps, which may be negative. Its *high water mark*, the last number that it
generated, is kept in the schema. Rows are numbered in stream order. Numbers in the data, if the column allows
them, leave the mark unchanged, as in delta-spark; `deltaarrow.operations.sync_identity` moves the mark past
them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from deltaarrow.errors import ConstraintViolationError, CorruptLogError, SchemaMismatchError
from deltaarrow.schema import Field, JsonObject, PrimitiveType, Schema, StructType, missing_columns
from deltaarrow.schema.keys import (
    DEFAULT_KEY,
    GENERATION_KEY,
    IDENTITY_EXPLICIT_KEY,
    IDENTITY_HIGH_WATER_MARK_KEY,
    IDENTITY_START_KEY,
    IDENTITY_STEP_KEY,
)

__all__ = [
    "IdentityColumn",
    "RowNumbering",
    "ensure_identity_columns_declarable",
    "identity_column",
    "with_marks",
]

_KEYS = (IDENTITY_START_KEY, IDENTITY_STEP_KEY, IDENTITY_EXPLICIT_KEY)
_OTHER_VALUES = (GENERATION_KEY, DEFAULT_KEY)
_LONG = PrimitiveType("long")
_LEAST, _GREATEST = -(2**63), 2**63 - 1


@dataclass(frozen=True)
class IdentityColumn:
    """How a column numbers its rows; `high_water_mark` is None until it has generated a number."""

    name: str
    start: int
    step: int
    allows_explicit: bool
    high_water_mark: int | None = None

    @property
    def next(self) -> int:
        """The next number to generate."""
        return self.start if self.high_water_mark is None else self.high_water_mark + self.step


def identity_column(field: Field) -> IdentityColumn | None:
    """Return how a column numbers its rows; None if it is no identity column.

    Raises `CorruptLogError` for incomplete or contradictory metadata.

    >>> metadata = {"delta.identity.start": 7, "delta.identity.step": -2}
    >>> metadata["delta.identity.allowExplicitInsert"] = False
    >>> identity_column(Field("id", "long", metadata=metadata)).next
    7
    """
    present = [key for key in _KEYS if key in field.metadata]
    if not present:
        return None
    start, step, explicit = (_value(field, key) for key in _KEYS)
    mark = _value(field, IDENTITY_HIGH_WATER_MARK_KEY)
    if not (
        field.type == _LONG
        and _is_long(start)
        and _is_long(step)
        and step != 0
        and isinstance(explicit, bool)
        and (mark is None or (_is_long(mark) and (mark - start) % step == 0))
    ):
        said = {
            key: field.metadata[key]
            for key in (*present, IDENTITY_HIGH_WATER_MARK_KEY)
            if key in field.metadata
        }
        raise CorruptLogError(
            f"column {field.name!r} of type {_type_name(field)} cannot be an identity column with {said};"
            " it needs type long, a start, a step other than 0 and a boolean allowExplicitInsert"
        )
    return IdentityColumn(field.name, start, step, explicit, mark)


def _type_name(field: Field) -> str:
    return field.type.type if isinstance(field.type, PrimitiveType) else type(field.type).__name__


def _value(field: Field, key: str) -> Any:
    return field.metadata.get(key)


def _is_long(value: Any) -> bool:
    return type(value) is int and _LEAST <= value <= _GREATEST


def ensure_identity_columns_declarable(schema: Schema, partition_columns: tuple[str, ...]) -> None:
    """Raise `SchemaMismatchError` for identity columns that a new table cannot have.

    An identity column must be a top-level column of type long, no partition column, with a step other than 0
    and no other source of values.
    """
    for each in schema.fields:
        _ensure_none_inside(each)
        try:
            column = identity_column(each)
        except CorruptLogError as error:
            raise SchemaMismatchError(str(error)) from error
        if column is None:
            continue
        if column.name in partition_columns:
            raise SchemaMismatchError(f"the identity column {column.name!r} cannot be a partition column")
        if others := [key for key in _OTHER_VALUES if key in each.metadata]:
            raise SchemaMismatchError(
                f"the identity column {column.name!r} cannot have {others[0]} as well; remove one of the two"
            )


def _ensure_none_inside(field: Field) -> None:
    pending = [field.type]
    while pending:
        inside = pending.pop()
        if isinstance(inside, StructType):
            for each in inside.fields:
                if any(key in each.metadata for key in _KEYS):
                    raise SchemaMismatchError(
                        f"{each.name!r} inside column {field.name!r} cannot be an identity column; only a"
                        " top-level column can"
                    )
        for name in ("fields", "element_type", "key_type", "value_type"):
            found = getattr(inside, name, ())
            pending += [each.type for each in found] if isinstance(found, tuple) else [found]


@dataclass
class RowNumbering:
    """Numbers the rows of one stream; `marks` are the new high water marks, by column."""

    columns: tuple[IdentityColumn, ...]
    marks: dict[str, int] = field(default_factory=dict, init=False)

    @classmethod
    def plan(cls, schema: Schema, data: pa.Schema) -> "RowNumbering":
        """Return the numbering for data with schema `data` that goes to a table with `schema`.

        Raises `SchemaMismatchError` if the data has values for a column that is GENERATED ALWAYS.
        """
        identities = [column for each in schema.fields if (column := identity_column(each)) is not None]
        if not identities:
            return cls(())
        target = pa.schema([(each.name, pa.int64()) for each in identities])
        missing = set(missing_columns(data, target))
        for column in identities:
            if not column.allows_explicit and column.name not in missing:
                raise SchemaMismatchError(
                    f"the identity column {column.name!r} is GENERATED ALWAYS: data cannot give its values;"
                    " leave the column out (Spark: DELTA_IDENTITY_COLUMNS_EXPLICIT_INSERT_NOT_SUPPORTED)"
                )
        return cls(tuple(column for column in identities if column.name in missing))

    def extended_schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the given schema with the number columns appended."""
        for column in self.columns:
            schema = schema.append(pa.field(column.name, pa.int64()))
        return schema

    def number(self, data: pa.RecordBatchReader) -> pa.RecordBatchReader:
        """Return the stream with each identity column that the data lacks.

        Reading it raises `ConstraintViolationError` if a column runs out of numbers.
        """
        if not self.columns:
            return data
        schema = self.extended_schema(data.schema)
        return pa.RecordBatchReader.from_batches(schema, self._numbered(data, schema))

    def _numbered(self, data: pa.RecordBatchReader, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        for batch in data:
            yield self.extend(batch).cast(schema)

    def extend(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return a batch with the number columns appended.

        Raises `ConstraintViolationError` if a column runs out of numbers.
        """
        for column in self.columns:
            batch = batch.append_column(column.name, self._take(column, batch.num_rows))
        return batch

    def _take(self, column: IdentityColumn, count: int) -> pa.Array:
        if not count:
            return pa.array(np.empty(0, np.int64))
        last = self.marks.get(column.name)
        first = column.next if last is None else last + column.step
        last = first + column.step * (count - 1)
        if not (_LEAST <= first <= _GREATEST and _LEAST <= last <= _GREATEST):
            raise ConstraintViolationError(
                f"the identity column {column.name!r} has no numbers left: the next {count} would leave the"
                " range of long"
            )
        self.marks[column.name] = last
        # An intermediate value beyond 64 bits wraps around and back.
        return pa.array(np.int64(first) + np.int64(column.step) * np.arange(count, dtype=np.int64))


def with_marks(schema: Schema, marks: Mapping[str, int]) -> Schema:
    """Return the schema with new high water marks, given by column name."""
    return Schema(
        [
            replace(
                each, metadata=JsonObject({**each.metadata, IDENTITY_HIGH_WATER_MARK_KEY: marks[each.name]})
            )
            if each.name in marks
            else each
            for each in schema.fields
        ]
    )
