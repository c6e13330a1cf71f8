"""The writer of a stream, with tasks on executors and one commit per batch on the driver: `StreamWriter`.

Spark plans each batch again and creates another writer for its commit, so tasks return the plan that they
followed. The commit records the number of the batch as the version of an application. So the table recognises
a batch that Spark repeats because it was stopped before it noted the commit.
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
    """The files that one task has written, and the plan that it followed."""

    rows: WrittenRows
    write: DistributedWrite


class StreamWriter(DataSourceStreamArrowWriter):
    """Carries out a planned write for one batch of a stream."""

    def __init__(self, write: DistributedWrite, columns: FrameColumns, application: str) -> None:
        self._write = write
        self._columns = columns
        self._application = application

    @classmethod
    def plan(cls, options: StreamSinkOptions, columns: FrameColumns) -> Self:
        """Plan writing rows of some columns; raises what `plan_write` raises."""
        return cls(plan_write(options.sink, columns), columns, options.application)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write the rows of one task as files; after an error none of them stays."""
        assert self._write.task is not None  # because the plan has no application
        return _WrittenPart(write_rows(self._write.task, self._columns, iterator), self._write)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Commit a batch, unless the table already has it."""
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
        """Delete the files of a failed job's tasks; after a failed commit, the commit has done so."""
        if any(message is None for message in messages):
            self._write.discard(part.rows for part in _parts(messages))


def _parts(messages: Sequence[WriterCommitMessage | None]) -> list[_WrittenPart]:
    return [message for message in messages if isinstance(message, _WrittenPart)]
