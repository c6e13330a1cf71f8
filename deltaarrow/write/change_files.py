"""Change data files: what a commit changed, row by row, as *Change Data Files* of PROTOCOL.md has it.

They have the columns of the table and, last, ``_change_type``. Readers of a version that has such files
read them and nothing else of it, so a commit has all of its changes in them or none.
"""

from collections.abc import Iterable
from types import TracebackType
from typing import Self

import pyarrow as pa

from deltaarrow.actions import AddCDCFile, AddFile
from deltaarrow.columnar.arrays import repeated_text
from deltaarrow.runtime.clock import Clock, system_clock
from deltaarrow.schema import CHANGE_TYPE, ChangeType, Field
from deltaarrow.schema.keys import PHYSICAL_NAME_KEY
from deltaarrow.write.completion import complete_rows
from deltaarrow.write.files import FileWriter, added_files
from deltaarrow.write.layout import DATA_FILES, FileKind, FileLayout
from deltaarrow.write.plan import WritePlan

__all__ = ["ChangeFileWriter", "with_change_type", "write_change_files", "write_inserts"]

# The name is the same whatever the mapping, and there is no column id.
_COLUMN = Field(CHANGE_TYPE, "string", nullable=False, metadata={PHYSICAL_NAME_KEY: CHANGE_TYPE})
# The protocol knows no other folder; delta-spark leaves it where files have random prefixes.
_CHANGE_FILES = FileKind(
    "cdc", folder="_change_data/", columns=(_COLUMN,), has_statistics=False, is_dotted=True
)


def write_change_files(
    plan: WritePlan,
    stream: Iterable[pa.RecordBatch],
    *,
    clock: Clock = system_clock,
    threads: int | None = None,
) -> list[AddCDCFile]:
    """Write changed rows as change data files of a table; nothing is committed.

    Args:
        plan: what is known of the table. Its rules are not applied: the rows are of the table, or in the
            data files that the same commit adds.
        stream: record batches with the columns of the table, and ``_change_type``: one of `ChangeType`.
        clock: tells the modification time of files.
        threads: as in `write_files`.

    Returns:
        one action per file; none for a stream without rows.

    Raises what `write_files` raises, and leaves no file behind then.
    """
    with ChangeFileWriter(plan, clock=clock, threads=threads) as writer:
        for batch in stream:
            writer.write(batch)
        return writer.finish()


def write_inserts(
    plan: WritePlan,
    stream: Iterable[pa.RecordBatch],
    *,
    clock: Clock = system_clock,
    threads: int | None = None,
) -> tuple[list[AddFile], list[AddCDCFile]]:
    """Write rows as data files, and once more as change data files that say they were inserted.

    For the rows that a commit adds which has other changes in change data files. The arguments and the
    errors are those of `write_files`; the stream is read once.
    """
    with (
        FileWriter(FileLayout(plan, DATA_FILES, clock), threads) as data,
        ChangeFileWriter(plan, clock=clock, threads=threads) as changes,
    ):
        for batch in complete_rows(plan, stream, clock=clock):
            data.write(batch)
            changes.write(with_change_type(batch, ChangeType.INSERT))
        return added_files(plan, data.finish()), changes.finish()


class ChangeFileWriter:
    """Takes changed rows batch by batch and makes change data files of them, inside a ``with`` block.

    For an operation that meets changes on its way; `write_change_files` is for a stream of them, and says
    what the arguments and the rows are. The files stay if `finish` was called and the block is left
    without an error; else they are deleted.
    """

    def __init__(self, plan: WritePlan, *, clock: Clock = system_clock, threads: int | None = None) -> None:
        self._writer = FileWriter(FileLayout(plan, _CHANGE_FILES, clock), threads)

    def __enter__(self) -> Self:
        """Begin; nothing is opened before there are rows."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Delete what is not wanted."""
        self._writer.__exit__(kind, error, trace)

    def write(self, batch: pa.RecordBatch) -> None:
        """Take in the rows of a batch; columns are matched by name."""
        self._writer.write(batch)

    def finish(self) -> list[AddCDCFile]:
        """Write what waits and close all files; return the actions."""
        return [
            AddCDCFile(path=each.path, partition_values=each.partition_values, size=each.size)
            for each in self._writer.finish()
        ]


def with_change_type(batch: pa.RecordBatch, change_type: ChangeType) -> pa.RecordBatch:
    """The rows of a batch, with a last column that says for all of them what happened to them.

    >>> with_change_type(pa.RecordBatch.from_pydict({"id": [1, 2]}), ChangeType.DELETE).to_pylist()
    [{'id': 1, '_change_type': 'delete'}, {'id': 2, '_change_type': 'delete'}]
    """
    column = repeated_text(change_type.value, batch.num_rows)
    return batch.append_column(pa.field(CHANGE_TYPE, pa.string()), column)
