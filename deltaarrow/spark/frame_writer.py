"""The writer of a data frame, with tasks on executors and one commit on the driver: `FrameWriter`.

Only files of tasks that Spark counts are committed. Files of other tasks, such as speculative ones or those
of dead executors, never become part of the table. A full VACUUM deletes them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from deltaarrow.operations import DistributedWrite, WriteTask, WrittenRows, find_table
from deltaarrow.spark.options import SinkOptions
from deltaarrow.spark.type_conversion import FrameColumns
from deltaarrow.storage import open_store
from deltaarrow.write import read_variants

__all__ = ["FrameWriter", "part_of_task", "plan_write", "write_rows"]


@dataclass
class _WrittenPart(WriterCommitMessage):
    """The files that one task has written."""

    rows: WrittenRows


class FrameWriter(DataSourceArrowWriter):
    """Carries out a planned write; Spark pickles it for executors, for the commit and for an abort."""

    def __init__(self, write: DistributedWrite, columns: FrameColumns) -> None:
        self._write = write
        self._columns = columns

    @classmethod
    def plan(cls, options: SinkOptions, columns: FrameColumns) -> Self:
        """Plan writing rows of some columns; raises what `plan_write` raises."""
        return cls(plan_write(options, columns), columns)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write the rows of one task as files; after an error none of them stays."""
        task = part_of_task(self._write)
        if task is None:
            return _WrittenPart(WrittenRows())
        return _WrittenPart(write_rows(task, self._columns, iterator))

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Commit the files of the tasks; if that fails, the files are deleted."""
        self._write.commit(_parts(messages))

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Delete the files of a failed job's tasks.

        Spark also calls this after a failed commit, with the messages of all tasks. Then the commit has
        already dealt with the files, and only the commit knows whether it may yet become part of the table.
        """
        if any(message is None for message in messages):
            self._write.discard(_parts(messages))


def plan_write(options: SinkOptions, columns: FrameColumns) -> DistributedWrite:
    """Plan writing rows of some columns to a table; the table is not changed yet.

    Raises the errors that `deltaarrow.write_deltalake` raises before it looks at rows.
    """
    store = open_store(options.path, dict(options.storage_options))
    return DistributedWrite.plan(
        store, find_table(store), columns.arrow_schema, options.write, options.commit, options.hooks
    )


def part_of_task(write: DistributedWrite) -> WriteTask | None:
    """Return the part of a write that the running task of Spark has, in each of its attempts."""
    context = TaskContext.get()
    assert context is not None  # because Spark calls writers only in tasks
    return write.part(context.partitionId())


def write_rows(task: WriteTask, columns: FrameColumns, batches: Iterator[pa.RecordBatch]) -> WrittenRows:
    """Write the batches that Spark passes."""
    data = pa.RecordBatchReader.from_batches(columns.arrow_schema, map(columns.from_spark, batches))
    return task.write(read_variants(data, None))


def _parts(messages: Sequence[WriterCommitMessage | None]) -> list[WrittenRows]:
    return [message.rows for message in messages if isinstance(message, _WrittenPart)]
