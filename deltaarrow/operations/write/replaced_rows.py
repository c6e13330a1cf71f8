"""The rows that an overwrite replaces: all, those that meet a condition, or those of written partitions."""

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

import deltaarrow.scan as scan
from deltaarrow.actions import AddFile
from deltaarrow.columnar.numpy_arrays import integers
from deltaarrow.errors import ConstraintViolationError
from deltaarrow.expressions import Predicate
from deltaarrow.operations.commit.partition_predicate import partitions_predicate
from deltaarrow.operations.write.deletion import Deletion
from deltaarrow.scan.char_padding import padded_batch, paddings_of
from deltaarrow.schema import Schema, holds_char
from deltaarrow.snapshot import Snapshot
from deltaarrow.spark_sql import Condition
from deltaarrow.transaction import OptimisticTransaction

__all__ = ["checked_rows", "stage_partition_removal", "stage_removal", "stage_removal_of_all"]


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
    return stage_removal(
        transaction, snapshot, partitions_predicate(snapshot, [file.partition_values for file in written])
    )


def stage_removal(transaction: OptimisticTransaction, snapshot: Snapshot, predicate: Predicate) -> Deletion:
    """Stage the removal of every live file in the partitions that a predicate on them chooses."""
    files = transaction.read_files(predicate)
    plan = scan.ScanPlan(scan.table_layout(snapshot), snapshot.version, (), files)
    return _removal(transaction, files.take(integers(scan.matching_files(plan, predicate))))


def checked_rows(
    batches: Iterable[pa.RecordBatch], condition: Condition, schema: Schema
) -> Iterator[pa.RecordBatch]:
    """Yield the batches of an overwrite unchanged, after checking that all rows satisfy its condition.

    The condition is on rows as the table shows them, with the strings of CHAR(n) padded.
    Otherwise, repeating the write would change the table again. Raises `ConstraintViolationError` for a row
    for which the condition is FALSE or NULL.
    """
    columns = {field.name: paddings_of(field) for field in schema.fields if holds_char(field)}
    for batch in batches:
        others = batch.num_rows - condition.select(padded_batch(batch, columns)).num_rows
        if others:
            raise ConstraintViolationError(
                f"{others} rows of the data do not fulfil the condition of the overwrite: {condition.text};"
                " every new row must fulfil it, so change the predicate or the data"
                " (Spark: DELTA_REPLACE_WHERE_MISMATCH)"
            )
        yield batch
