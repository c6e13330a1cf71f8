"""What a transaction has read: that which others may not change under it."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap64

from deltaarrow.expressions import Predicate

__all__ = ["ReadSet", "RowMatcher", "Search"]

RowMatcher = Callable[[pa.Table], bool]
"""Reads files, given as `Snapshot.files` has them, and tells whether a live row of any was looked for."""

_MOST_BYTES_TO_MATCH = 64 * 1024 * 1024
"""Files that are larger together are not read in the midst of a commit."""


@dataclass(frozen=True)
class Search:
    """A look for rows: for the files that may hold one of `predicate`, and for the rows themselves.

    The `matcher` decides of files of which the predicate cannot tell; without one they count as if they
    held such a row.
    """

    predicate: Predicate
    matcher: RowMatcher | None = None

    def may_match(self, files: pa.Table) -> bool:
        """Whether a row of files that the predicate did not rule out may be one that was looked for."""
        if self.matcher is None or pc.sum(files.column("size")).as_py() > _MOST_BYTES_TO_MATCH:
            return True
        return self.matcher(files)


@dataclass
class ReadSet:
    """The reads of one transaction.

    `searches` are those by which files were looked for: a file that another adds and that may hold a
    matching row should have been read. `files` are the canonical paths of the files that were read whole,
    every row of them; `scanned` of those that were read row by row, and of these `rows` are the positions
    of the rows that the transaction relies on, as `deltaarrow.transaction.row_level` explains.
    `applications` are the ids whose `txn` was asked for; `whole_table` stands for every file there is and
    may be.
    """

    searches: list[Search] = field(default_factory=list)
    files: set[str] = field(default_factory=set)
    scanned: set[str] = field(default_factory=set)
    rows: dict[str, BitMap64] = field(default_factory=dict)
    applications: set[str] = field(default_factory=set)
    whole_table: bool = False

    def add_rows(self, path: str, positions: BitMap64) -> None:
        """Note rows that the transaction relies on, besides those of the file that it relies on already."""
        if positions:
            self.rows[path] = self.rows.get(path, BitMap64()) | positions

    @property
    def has_files(self) -> bool:
        """Whether any file was looked for, be it found or not."""
        return self.whole_table or bool(self.searches or self.files or self.rows)

    def is_by_row(self, path: str) -> bool:
        """Whether of a file no more was read than rows, each for itself."""
        return (path in self.scanned or path in self.rows) and not (self.whole_table or path in self.files)

    def relies_on(self, path: str) -> bool:
        """Whether a file holds a row that the transaction relies on, or all its rows are such."""
        return self.whole_table or path in self.files or path in self.rows
