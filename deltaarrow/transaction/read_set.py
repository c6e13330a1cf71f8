"""The read set of a transaction: what other writers must not change before it commits."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pyarrow as pa
from pyroaring import BitMap64

from deltaarrow.columnar.kernels import pc
from deltaarrow.expressions import Predicate

__all__ = ["ReadSet", "RowMatcher", "Search"]

RowMatcher = Callable[[pa.Table], bool]
"""Reads files, given as rows of `Snapshot.files`, and says whether a live row of any was searched for."""

_MOST_BYTES_TO_MATCH = 64 * 1024 * 1024
"""Files that are larger in total are not read during a commit."""


@dataclass(frozen=True)
class Search:
    """A search for rows: the `predicate` chooses files, the `matcher` looks at rows.

    The `matcher` decides about files that the predicate cannot rule out. Without a matcher such files count
    as holding a matching row.
    """

    predicate: Predicate
    matcher: RowMatcher | None = None

    def may_match(self, files: pa.Table) -> bool:
        """Whether files that the predicate did not rule out may hold a row that was searched for."""
        if self.matcher is None or pc.sum(files.column("size")).as_py() > _MOST_BYTES_TO_MATCH:
            return True
        return self.matcher(files)


@dataclass
class ReadSet:
    """The reads of one transaction.

    - `searches`: the searches for files. If another writer adds a file that may hold a matching row, this
      transaction should have read it.
    - `files`: the canonical paths of files that were read whole.
    - `scanned`: the canonical paths of files that were read row by row.
    - `rows`: by path, the positions of rows in scanned files that the transaction relies on; see
      `deltaarrow.transaction.row_level`.
    - `applications`: the ids whose `txn` was read.
    - `whole_table`: stands for every file, present or future.
    - `whole_version`: stands for all of the version; the transaction must follow that very version.
    """

    searches: list[Search] = field(default_factory=list)
    files: set[str] = field(default_factory=set)
    scanned: set[str] = field(default_factory=set)
    rows: dict[str, BitMap64] = field(default_factory=dict)
    applications: set[str] = field(default_factory=set)
    whole_table: bool = False
    whole_version: bool = False

    def add_rows(self, path: str, positions: BitMap64) -> None:
        """Note rows that the transaction relies on, in addition to those already noted for the file."""
        if positions:
            self.rows[path] = self.rows.get(path, BitMap64()) | positions

    @property
    def has_files(self) -> bool:
        """Whether the transaction searched for any file, found or not."""
        return self.whole_table or bool(self.searches or self.files or self.rows)

    def is_by_row(self, path: str) -> bool:
        """Whether the transaction read a file only row by row."""
        return (path in self.scanned or path in self.rows) and not (self.whole_table or path in self.files)

    def relies_on(self, path: str) -> bool:
        """Whether the transaction relies on any row of a file."""
        return self.whole_table or path in self.files or path in self.rows
