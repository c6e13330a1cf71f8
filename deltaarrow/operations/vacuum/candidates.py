"""Candidates for deletion as a table, from any source, with the decision on each."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaarrow.actions.arrow_tables import build_array
from deltaarrow.columnar.numpy_arrays import booleans, integers, numbers_of, raw_numbers, scalar_of, truths
from deltaarrow.operations.vacuum.reasons import GOING, Reason

__all__ = ["CANDIDATES", "Candidates", "Decision", "candidate_table", "distinct", "whole"]

CANDIDATES = pa.schema([("path", pa.string()), ("size", pa.int64()), ("modified_ms", pa.int64())])
"""A file a row: its name in the store, and, where that is known, its bytes and when it was modified."""

_REASONS = (*Reason,)
_CODES = {reason: code for code, reason in enumerate(_REASONS)}
_IS_GOING = np.array([reason in GOING for reason in _REASONS])


def candidate_table(
    paths: Sequence[str], sizes: Sequence[int | None], modified: Sequence[int | None]
) -> pa.Table:
    """Return candidates as a table."""
    columns = zip((paths, sizes, modified), CANDIDATES, strict=True)
    return pa.Table.from_arrays([build_array(v, f.type) for v, f in columns], schema=CANDIDATES)


def distinct(files: pa.Table) -> pa.Table:
    """Return each path once, with one of its sizes; a deletion vector file is named by many actions."""
    # Sorted, because Arrow's hash tables take 60 MB for 100,000 paths, and its aggregation 100 MB.
    paths = whole(files.column("path"))
    order = raw_numbers(pc.array_sort_indices(paths)).astype(np.int64)
    in_order = paths.take(integers(order))
    begins = np.r_[True, truths(pc.not_equal(in_order[1:], in_order[:-1]))][: len(order)]
    if begins.all():
        return files
    # The sort is stable: a path begins with its first row.
    firsts = order[begins]
    first_of_row = np.empty_like(order)
    first_of_row[order] = firsts[np.cumsum(begins) - 1]
    columns = [_greatest(files.column(name), first_of_row) for name in CANDIDATES.names[1:]]
    greatest = pa.Table.from_arrays([paths, *columns], schema=CANDIDATES)
    return greatest.take(integers(np.sort(firsts)))


def _greatest(column: pa.ChunkedArray, places: np.ndarray) -> pa.Array:
    """The greatest number of the rows with one place, in the row of that place; NULL where there is none."""
    none = np.iinfo(np.int64).min
    found = np.full(len(places), none)
    np.maximum.at(found, places, numbers_of(pc.fill_null(column, scalar_of(none, pa.int64()))))
    return pc.if_else(booleans(found != none), integers(found), scalar_of(None, pa.int64()))


@dataclass(frozen=True)
class Decision:
    """Candidates, and the reason for what becomes of each.

    `codes` is a number a file, of the reason; it begins with `default` for all.
    """

    files: pa.Table
    codes: np.ndarray

    @classmethod
    def begin(cls, files: pa.Table, default: Reason) -> "Decision":
        """Return the decision that all files have one reason."""
        return cls(files, np.full(len(files), _CODES[default], np.int8))

    def mark(self, where: np.ndarray, reason: Reason) -> None:
        """Give a reason to the files of a mask, or of positions."""
        self.codes[where] = _CODES[reason]

    def mark_named(self, names: pa.Array, reason: Reason) -> None:
        """Give a reason to the files of these names."""
        if len(names):
            found = pc.is_in(self.files.column("path"), value_set=names)
            self.mark(truths(whole(found)), reason)

    @property
    def goes(self) -> np.ndarray:
        """A mask of the files that go."""
        goes: np.ndarray = _IS_GOING[self.codes]
        return goes

    def going(self) -> pa.Table:
        """Return the files that go."""
        return self.files.filter(booleans(self.goes))

    def paths(self) -> pa.Array:
        """Return the names of the files."""
        return whole(self.files.column("path"))

    def rows_of(self, where: np.ndarray) -> "Decision":
        """Return the files of a mask."""
        return Decision(self.files.filter(booleans(where)), self.codes[where])

    def reasons(self) -> pa.Array:
        """Return the reasons as texts."""
        return build_array(list(map(str, _REASONS)), pa.string()).take(integers(self.codes))


@dataclass(frozen=True)
class Candidates:
    """What was found.

    Attributes:
        files: what may go, unless it is needed; a table of `CANDIDATES`.
        default: why those go that nothing keeps.
        kept: files that stay whoever needs them, for a report; with their reasons.
        links: names of links among the files.
        empty_folders: folders without content, those in others first.
        num_folders: how many folders were listed.
        has_absolute: whether some names were given absolutely, as those of other tables are.
        is_listing: whether the files are all that the storage has, so that a needed one is among them.
        through: the newest version whose removed files are all among the files; None if none is known.
    """

    files: pa.Table
    default: Reason
    kept: list[Decision] = field(default_factory=list)
    links: frozenset[str] = frozenset()
    empty_folders: tuple[str, ...] = ()
    num_folders: int = 1
    has_absolute: bool = False
    is_listing: bool = False
    through: int | None = None


def whole(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return a column in one piece."""
    if isinstance(array, pa.Array):
        return array
    return array.combine_chunks() if len(array) else pa.nulls(1, array.type).slice(1)
