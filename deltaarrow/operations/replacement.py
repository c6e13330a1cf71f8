"""The rows that an overwrite replaces: all rows, the rows of a condition, or those of written partitions."""

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

import deltaarrow.scan as scan
from deltaarrow.actions import AddFile
from deltaarrow.columnar.arrays import integers
from deltaarrow.errors import ConstraintViolationError
from deltaarrow.expressions import (
    And,
    Column,
    Constant,
    IsIn,
    IsNull,
    Literal,
    Or,
    Predicate,
    bind,
    in_total_order,
    ordered,
)
from deltaarrow.operations.deletion import Deletion
from deltaarrow.partitions import parse_partition_value
from deltaarrow.schema import PrimitiveType, Schema, physical_name
from deltaarrow.snapshot import Snapshot
from deltaarrow.spark_sql import Condition
from deltaarrow.transaction import OptimisticTransaction

__all__ = ["checked_rows", "partitions_predicate", "stage_partition_removal", "stage_removal_of_all"]


def stage_removal_of_all(transaction: OptimisticTransaction) -> Deletion:
    """Stage the removal of every live file."""
    return _removal(transaction, transaction.read_files())


def _removal(transaction: OptimisticTransaction, files: pa.Table) -> Deletion:
    removed = transaction.remove_files(files)
    return Deletion(removed_files=len(removed), removed_bytes=sum(each.size or 0 for each in removed))


def stage_partition_removal(
    transaction: OptimisticTransaction, snapshot: Snapshot, written: Sequence[AddFile]
) -> Deletion:
    """Stage the removal of every live file in the partitions of the `written` files."""
    predicate = partitions_predicate(snapshot, written)
    files = transaction.read_files(predicate)
    plan = scan.ScanPlan(scan.table_layout(snapshot), snapshot.version, (), files)
    return _removal(transaction, files.take(integers(scan.matching_files(plan, predicate))))


def partitions_predicate(snapshot: Snapshot, written: Iterable[AddFile]) -> Predicate:
    """Return the predicate that is TRUE exactly in the partitions of files."""
    fields = [snapshot.schema.field(name) for name in snapshot.partition_columns]
    names = [physical_name(field, snapshot.mapping_mode) for field in fields]
    keys = dict.fromkeys(tuple(file.partition_values.get(name) for name in names) for file in written)
    if not keys:
        return Constant(False)
    if len(fields) == 1:
        return _is_one_of(fields[0].name, fields[0].type, [text for (text,) in keys], snapshot.schema)
    return Or(
        tuple(
            And(
                tuple(
                    _is_one_of(field.name, field.type, [text], snapshot.schema)
                    for field, text in zip(fields, key, strict=True)
                )
            )
            for key in keys
        )
    )


def _is_one_of(name: str, data_type: object, texts: Sequence[str | None], schema: Schema) -> Predicate:
    if not isinstance(data_type, PrimitiveType):
        raise TypeError(f"the partition column {name!r} has type {data_type!r}, not a primitive type")
    column = Column((name,))
    parsed = [parse_partition_value(text, data_type, name) for text in texts]
    values = tuple(value for value in parsed if value is not None)
    parts: list[Predicate] = []
    if len(values) == 1:
        parts.append(ordered("=", column, Literal(values[0])))
    elif values:
        parts.append(in_total_order(IsIn(column, values), schema))
    if len(values) < len(parsed):
        parts.append(IsNull(column))
    return bind(parts[0] if len(parts) == 1 else Or(tuple(parts)), schema)


def checked_rows(batches: Iterable[pa.RecordBatch], condition: Condition) -> Iterator[pa.RecordBatch]:
    """Yield the batches of an overwrite unchanged, after checking that all rows satisfy its condition.

    Otherwise, repeating the write would change the table again. Raises `ConstraintViolationError` for a row
    for which the condition is FALSE or NULL.
    """
    for batch in batches:
        others = batch.num_rows - condition.select(batch).num_rows
        if others:
            raise ConstraintViolationError(
                f"{others} rows of the data do not fulfil the condition of the overwrite: {condition.text};"
                " every new row must fulfil it, so change the predicate or the data"
            )
        yield batch
