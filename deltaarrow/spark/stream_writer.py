"""The writer of a stream, with tasks on executors and one commit per batch on the driver: `StreamWriter`.

Spark plans each batch again and creates another writer for its commit, so tasks return the plan that they
followed, and the id of the query, which Spark passes only to tasks. The commit records the number of the
batch as the version of an application, so the table recognises a batch that Spark repeats because it was
stopped before it noted the commit.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.operations import DistributedWrite, StreamEpoch, Transaction, WrittenRows, find_table
from deltaarrow.spark.frame_writer import part_of_task, plan_write, write_rows
from deltaarrow.spark.stream_options import StreamSinkOptions
from deltaarrow.spark.type_conversion import FrameColumns

__all__ = ["StreamWriter"]

_QUERY = "sql.streaming.queryId"
"""The property of a task that holds the id of the query: the one in its checkpoint, the same for all runs."""


@dataclass
class _WrittenPart(WriterCommitMessage):
    """The files that one task has written, the plan that it followed, and the id of the query."""

    rows: WrittenRows
    write: DistributedWrite
    query: str


class StreamWriter(DataSourceStreamArrowWriter):
    """Carries out a planned write for one batch of a stream.

    `application` has the batches as its versions. If None, it is the query, as with delta-spark.
    """

    def __init__(self, write: DistributedWrite, columns: FrameColumns, application: str | None) -> None:
        self._write = write
        self._columns = columns
        self._application = application

    @classmethod
    def plan(cls, options: StreamSinkOptions, columns: FrameColumns) -> Self:
        """Plan writing rows of some columns; raises what `plan_write` raises."""
        return cls(plan_write(options.sink, columns), columns, options.application)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write the rows of one task as files; after an error none of them stays.

        Raises `UnsupportedFeatureError` if Spark does not pass the id of its query to the task.
        """
        query, task = _query_of_task(), part_of_task(self._write)
        assert task is not None  # because the plan has no application
        return _WrittenPart(write_rows(task, self._columns, iterator), self._write, query)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Commit a batch, unless the table already has it."""
        parts = _parts(messages)
        if not parts:
            return
        write, query = parts[0].write, parts[0].query
        application = Transaction(query if self._application is None else self._application, batchId)
        try:
            again = write.again(find_table(write.store), [application], StreamEpoch(query, batchId))
        except BaseException:
            write.discard(part.rows for part in parts)
            raise
        again.commit(part.rows for part in parts)

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Delete the files of a failed job's tasks; after a failed commit, the commit has done so."""
        if any(message is None for message in messages):
            self._write.discard(part.rows for part in _parts(messages))


def _query_of_task() -> str:
    context = TaskContext.get()
    query = None if context is None else context.getLocalProperty(_QUERY)
    if query is None:
        raise UnsupportedFeatureError(
            f"Spark does not tell this task the id of its streaming query, as {_QUERY}; without it the table"
            " could not know which batches it has",
            feature="streams without a query id",
        )
    return query


def _parts(messages: Sequence[WriterCommitMessage | None]) -> list[_WrittenPart]:
    return [message for message in messages if isinstance(message, _WrittenPart)]
