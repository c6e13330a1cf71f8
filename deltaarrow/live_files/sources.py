"""File actions in memory as rows of a list: those of commits and those of a table."""

from collections.abc import Sequence
from functools import partial
from typing import Protocol

import numpy as np
import pyarrow as pa

from deltaarrow.actions import AddFile, FileActionKey
from deltaarrow.columnar.numpy_arrays import integers
from deltaarrow.compute import files_cursor
from deltaarrow.log import LogState
from deltaarrow.runtime.fork_safety import cached_property
from deltaarrow.statistics import Asked, FileEvidence, ListedFiles

__all__ = ["CommitRows", "FileRows", "LoadedEvidence", "TableRows"]


class LoadedEvidence(FileEvidence, Protocol):
    """Evidence about files whose statistics are best read together."""

    def load(self, asked: Sequence[Asked]) -> None:
        """Read the requested statistics."""

    def holds(self, asked: Sequence[Asked]) -> bool:
        """Whether all requested statistics are in memory."""

    def at(self, rows: np.ndarray) -> "LoadedEvidence":
        """Return the evidence of some of the files, given by row number."""


class FileRows(Protocol):
    """File actions addressed by row; some rows may not be live files."""

    @property
    def evidence(self) -> LoadedEvidence:
        """The evidence of the files of all rows."""

    def __len__(self) -> int:
        """The number of rows."""

    def table(self, rows: np.ndarray | None, columns: Sequence[str]) -> pa.Table:
        """Return columns of `FILE_SCHEMA` for the live files among ascending `rows`; None means all."""


class CommitRows:
    """The live files that are in no Parquet checkpoint, in commit order."""

    def __init__(self, state: LogState) -> None:
        self._state = state
        self._keys: list[FileActionKey] = [*reversed(state.file_actions[0].adds)]

    def __len__(self) -> int:
        return len(self._keys)

    @cached_property
    def evidence(self) -> ListedFiles:
        """As `FileRows`."""
        # Not a bound method: a reference cycle would keep a long log in memory until garbage collection.
        column = partial(_column, self._state, self._keys)
        return ListedFiles(column, len(self), open_cursor=partial(files_cursor, self._state.store))

    def table(self, rows: np.ndarray | None, columns: Sequence[str]) -> pa.Table:
        """As `FileRows`."""
        keys = self._keys if rows is None else [self._keys[row] for row in rows.tolist()]
        return self._state.recent_table(AddFile.KEY, keys, columns)


def _column(state: LogState, keys: Sequence[FileActionKey], name: str) -> pa.ChunkedArray | None:
    return None if name == "stats_parsed" else state.recent_table(AddFile.KEY, keys, [name]).column(0)


class TableRows:
    """The live files of a table of `FILE_SCHEMA`."""

    def __init__(self, files: pa.Table) -> None:
        self._files = files
        self.evidence = ListedFiles.of(files)

    def __len__(self) -> int:
        return int(self._files.num_rows)

    @property
    def nbytes(self) -> int:
        """The approximate memory it takes, including what is derived from its columns."""
        return 2 * int(self._files.nbytes)

    def table(self, rows: np.ndarray | None, columns: Sequence[str]) -> pa.Table:
        """As `FileRows`."""
        files = self._files.select(columns)
        # A slice would keep all files in memory.
        return files if rows is None or len(rows) == len(self) else files.take(integers(rows))
