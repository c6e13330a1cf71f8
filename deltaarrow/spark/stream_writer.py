"""Writing a stream: its batches on executors, and one commit a batch on the driver: `StreamWriter`.

Spark plans each batch anew, and makes another writer for its commit, so that what tasks return has the plan
that they followed. The commit has the number of the batch as the progress of an application: a batch that
Spark repeats, because it was stopped before it noted that the batch was committed, is in the table already.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from deltaarrow.operations import DistributedWrite, Transaction, WrittenRows, find_table
from deltaarrow.spark.stream_options import StreamSinkOptions
from deltaarrow.spark.types import FrameColumns
from deltaarrow.spark.writer import plan_write, write_rows

__all__ = ["StreamWriter"]


@dataclass
class _WrittenPart(WriterCommitMessage):
    """What one task has written, and the plan that it followed."""

    rows: WrittenRows
    write: DistributedWrite


class StreamWriter(DataSourceStreamArrowWriter):
    """Carries out a planned write for a batch of a stream."""

    def __init__(self, write: DistributedWrite, columns: FrameColumns, application: str) -> None:
        self._write = write
        self._columns = columns
        self._application = application

    @classmethod
    def plan(cls, options: StreamSinkOptions, columns: FrameColumns) -> Self:
        """Plan writing rows of some columns; raises what `plan_write` raises."""
        return cls(plan_write(options.sink, columns), columns, options.application)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write the rows of one task as files; on an error none of them stays."""
        assert self._write.task is not None  # as there is no application in the plan
        return _WrittenPart(write_rows(self._write.task, self._columns, iterator), self._write)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Commit a batch, unless the table has it already."""
        parts = _parts(messages)
        if not parts:
            return
        write = parts[0].write
        try:
            again = write.again(find_table(write.store), [Transaction(self._application, batchId)])
        except BaseException:
            write.discard(part.rows for part in parts)
            raise
        again.commit(part.rows for part in parts)

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Delete what tasks have written for a job that failed; after a commit, that has done so."""
        if any(message is None for message in messages):
            self._write.discard(part.rows for part in _parts(messages))


def _parts(messages: Sequence[WriterCommitMessage | None]) -> list[_WrittenPart]:
    return [message for message in messages if isinstance(message, _WrittenPart)]
