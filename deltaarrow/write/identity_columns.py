"""Identity columns: generated numbers for rows that lack them (PROTOCOL.md, *Identity Columns*).

A column counts from ``start`` in steps, which may be negative. Its *high water mark*, the last number that it
generated, is kept in the schema. Rows are numbered in stream order. Numbers in the data, if the column allows
them, leave the mark unchanged, as in delta-spark; `deltaarrow.operations.sync_identity` moves the mark past
them.

Where many tasks write the rows, no two may give one number, and each has to know its numbers before it writes
the first row. They are places in the sequence, which is the same for all columns, so a task returns how far
it has taken the sequence, and the mark follows from the task that went furthest. Numbers of tasks or attempts
that are not committed beyond that are given again.

- If the number of rows is known, as in MERGE, each task leaves out as many numbers as the tasks before it may
  need (`RowNumbering.after`).
- A task of Spark's data source is only told its own place among the tasks. delta-spark deals numbers out in
  turn, which needs the number of tasks, and Spark does not tell that to Python. A fixed share for each task
  would either refuse large tasks, or use up the numbers of BIGINT in the small batches of a stream. So a task
  takes blocks that double (`RowNumbering.of_task`): of 1 number, of 2, of 4. The tasks are grouped likewise:
  task 0, tasks 1 and 2, tasks 3 to 6. The blocks of one size of one group are an area of the sequence. Areas
  follow each other by their size, and those of one size by the group::

      size 1   task 0: 0
      size 2   task 0: 1-2     task 1: 3          task 2: 4
      size 4   task 0: 5-8     task 1: 9-10       task 2: 11-12      task 3: 13   task 4: 14 ... task 6: 16
      size 8   task 0: 17-24   task 1: 25-28 ...

  Every number is in one block. So n tasks with r rows each take fewer than ``2 * n * r * (log2(n * r) + 1)``
  numbers, whatever n and r are. Those that no row gets stay gaps, which the protocol allows.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import pyarrow as pa

from deltaarrow.columnar.numpy_arrays import integers
from deltaarrow.errors import ConstraintViolationError, CorruptLogError, SchemaMismatchError
from deltaarrow.schema import Field, JsonObject, PrimitiveType, Schema, StructType, missing_columns
from deltaarrow.schema.metadata_keys import (
    DEFAULT_KEY,
    GENERATION_KEY,
    IDENTITY_EXPLICIT_KEY,
    IDENTITY_HIGH_WATER_MARK_KEY,
    IDENTITY_START_KEY,
    IDENTITY_STEP_KEY,
)

__all__ = [
    "IdentityColumn",
    "NumberedRows",
    "RowNumbering",
    "ensure_identity_columns_declarable",
    "identity_column",
    "with_marks",
    "without_marks",
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


@dataclass(frozen=True)
class RowNumbering:
    """How rows are numbered: with which numbers of the sequence of each column, counted from 0; picklable.

    Args:
        columns: the identity columns that the rows lack.
        skipped: how many numbers are left to other rows, before the first one.
        task: the place of the task that numbers the rows, among tasks of which nobody knows how many there
            are; None if nothing else numbers rows, or if the others leave enough numbers.
    """

    columns: tuple[IdentityColumn, ...] = ()
    skipped: int = 0
    task: int | None = None

    @classmethod
    def plan(cls, schema: Schema, data: pa.Schema) -> Self:
        """Return the numbering for data with schema `data` that goes to a table with `schema`.

        Raises `SchemaMismatchError` if the data has values for a column that is GENERATED ALWAYS.
        """
        identities = [column for each in schema.fields if (column := identity_column(each)) is not None]
        if not identities:
            return cls()
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

    def of_task(self, task: int) -> Self:
        """Return the numbering of one of many tasks, counted from 0; each attempt of it has the same."""
        return replace(self, task=task)

    def after(self, rows: int) -> Self:
        """Return the numbering of rows that follow so many others."""
        return replace(self, skipped=self.skipped + rows)

    def begin(self) -> "NumberedRows":
        """Begin to number rows."""
        return NumberedRows(self)

    def marks(self, taken: int) -> dict[str, int]:
        """Return the new high water marks by column, given `NumberedRows.taken`."""
        if not taken:
            return {}
        return {column.name: column.next + column.step * (taken - 1) for column in self.columns}


@dataclass
class NumberedRows:
    """Numbers the rows of one stream.

    `taken` is how far the numbers of the sequence are taken: one more than the place of the last one. It is 0
    as long as no row is numbered.
    """

    numbering: RowNumbering
    taken: int = field(default=0, init=False)
    _rows: int = field(default=0, init=False)

    def extend(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return a batch with the number columns appended.

        Raises `ConstraintViolationError` if a column runs out of numbers.
        """
        columns = self.numbering.columns
        if not columns:
            return batch
        runs = list(self._runs(batch.num_rows))
        for column in columns:
            batch = batch.append_column(column.name, _numbers(column, runs))
        self._rows += batch.num_rows
        if runs:
            self.taken = runs[-1].stop
        return batch

    def _runs(self, count: int) -> Iterator[range]:
        """Yield the places in the sequence of the numbers of the next rows."""
        if not count:
            return
        row, end = self._rows, self._rows + count
        skipped, task = self.numbering.skipped, self.numbering.task
        if task is None:
            yield range(skipped + row, skipped + end)
            return
        while row < end:
            block = (row + 1).bit_length() - 1
            first = (1 << block) - 1
            until = min(end, first + (1 << block))
            begin = skipped + _block(task, block) - first
            yield range(begin + row, begin + until)
            row = until


def _block(task: int, block: int) -> int:
    """Return the place of the first number of a block of a task; it has ``2 ** block`` numbers."""
    group = (task + 1).bit_length() - 1
    size = group + block
    smaller_areas = ((size - 1) << size) + 1
    return smaller_areas + (group << size) + ((task + 1 - (1 << group)) << block)


def _numbers(column: IdentityColumn, runs: Sequence[range]) -> pa.Array:
    """Return the numbers at places of the sequence of a column; the places rise."""
    count = sum(map(len, runs))
    if runs and not _LEAST <= column.next + column.step * (runs[-1].stop - 1) <= _GREATEST:
        raise ConstraintViolationError(
            f"the identity column {column.name!r} has no numbers left: the next {count} would leave the range"
            " of long"
        )
    numbers = np.empty(count, np.int64)
    done = 0
    for run in runs:
        # An intermediate value beyond 64 bits wraps around and back.
        steps = np.int64(column.step) * np.arange(len(run), dtype=np.int64)
        numbers[done : done + len(run)] = np.int64(column.next + column.step * run.start) + steps
        done += len(run)
    return integers(numbers)


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


def without_marks(schema: Schema) -> Schema:
    """Return the schema without high water marks."""
    return Schema([replace(each, metadata=_without_mark(each.metadata)) for each in schema.fields])


def _without_mark(metadata: JsonObject) -> JsonObject:
    return JsonObject({key: each for key, each in metadata.items() if key != IDENTITY_HIGH_WATER_MARK_KEY})
