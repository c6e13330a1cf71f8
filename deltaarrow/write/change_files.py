"""Change data files: the row-level changes of a commit (PROTOCOL.md, *Change Data Files*).

A change data file has the columns of the table and, last, ``_change_type``. If a version has such files,
readers of the change data feed read only them, so a commit puts either all of its changes there or none.
"""

from collections.abc import Iterable
from types import TracebackType
from typing import Self

import pyarrow as pa

from deltaarrow.actions import AddCDCFile, AddFile
from deltaarrow.columnar.numpy_arrays import repeated_text
from deltaarrow.runtime.clock import Clock, system_clock
from deltaarrow.schema import CHANGE_TYPE, ChangeType, Field
from deltaarrow.schema.metadata_keys import PHYSICAL_NAME_KEY
from deltaarrow.write.completion import complete_rows
from deltaarrow.write.file_layout import DATA_FILES, FileKind, FileLayout
from deltaarrow.write.file_writer import FileWriter, added_files
from deltaarrow.write.plan import WritePlan

__all__ = ["ChangeFileWriter", "with_change_type", "write_change_files", "write_inserts"]

# The name is the same in every column mapping mode, and the column has no id.
_COLUMN = Field(CHANGE_TYPE, "string", nullable=False, metadata={PHYSICAL_NAME_KEY: CHANGE_TYPE})
# The protocol requires this folder; delta-spark also uses it where file prefixes are random.
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
    """Write changed rows as change data files of a table; this commits nothing.

    Args:
        plan: describes the table. Its rules are not applied: the rows come from the table, or from data files
            of the same commit.
        stream: record batches with the columns of the table and ``_change_type``, one of `ChangeType`.
        clock: gives the modification time of files.
        threads: as in `write_files`.

    Returns:
        one action per file; none for a stream without rows.

    Raises the errors of `write_files`, and then leaves no file behind.
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
    """Write rows as data files, and again as change data files that mark them as inserted.

    Used for inserted rows if the commit also has other changes in change data files. The arguments and the
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
    """Writes change data files from batches of changed rows, inside a ``with`` block.

    For operations that meet changes as they go; `write_change_files` takes a whole stream and explains the
    arguments and the rows. The files are kept if `finish` was called and the block ends without an error;
    otherwise they are deleted.
    """

    def __init__(self, plan: WritePlan, *, clock: Clock = system_clock, threads: int | None = None) -> None:
        self._plan = plan
        self._clock = clock
        self._threads = threads
        # Most tables have no change data files, and the layout of many columns takes milliseconds.
        self._writer: FileWriter | None = None

    def __enter__(self) -> Self:
        """Begin; no file is opened before there are rows."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Delete the files unless `finish` was called and the block ended without an error."""
        if self._writer is not None:
            self._writer.__exit__(kind, error, trace)

    def write(self, batch: pa.RecordBatch) -> None:
        """Add the rows of a batch; columns are matched by name."""
        if self._writer is None:
            self._writer = FileWriter(FileLayout(self._plan, _CHANGE_FILES, self._clock), self._threads)
        self._writer.write(batch)

    def finish(self) -> list[AddCDCFile]:
        """Write the waiting rows, close all files and return the actions."""
        if self._writer is None:
            return []
        return [
            AddCDCFile(path=each.path, partition_values=each.partition_values, size=each.size)
            for each in self._writer.finish()
        ]


def with_change_type(batch: pa.RecordBatch, change_type: ChangeType) -> pa.RecordBatch:
    """Return the batch with a last column that gives all of its rows one change type.

    >>> with_change_type(pa.RecordBatch.from_pydict({"id": [1, 2]}), ChangeType.DELETE).to_pylist()
    [{'id': 1, '_change_type': 'delete'}, {'id': 2, '_change_type': 'delete'}]
    """
    column = repeated_text(change_type.value, batch.num_rows)
    return batch.append_column(pa.field(CHANGE_TYPE, pa.string()), column)
