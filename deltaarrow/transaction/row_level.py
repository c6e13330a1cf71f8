"""Row-level concurrency: transactions that change different rows of one file do not conflict.

A transaction that reads row by row decides on every row by that row alone, and names the rows that its
commit depends on: those that it looked for, be they changed or not. To be as if it had begun after another
commit it must have found the same rows, and that follows from two things.

- *None of the rows that it depends on is gone.* Another commit may have deleted rows by deletion vectors: the
  file, and the positions in it, are as they were. Of the rows that are gone none was looked for, so there is
  no place where finding them missing would have led elsewhere. This is what the rules here ask.
- *No row has come that it would have looked for.* Rows come by added files, also those that an update
  changes: whether one of these matches is what `ensure_no_added_file_should_have_been_read` asks. A file that
  is added again with a larger deletion vector brings none.

The rows that the later transaction deletes are then deleted in the file as the earlier commit has left it:
see `deltaarrow.transaction.staged`. A file that it reads whole, removes whole or writes anew is no matter of
rows, and conflicts with whatever takes one out of it.
"""

from collections.abc import Mapping

from pyroaring import BitMap64

from deltaarrow.deletion_vectors import DeletionVectorDescriptor
from deltaarrow.errors import ConcurrentDeleteDeleteException, ConcurrentDeleteReadException
from deltaarrow.transaction.commit_intent import CommitIntent
from deltaarrow.transaction.winning_commit import WinningCommit

__all__ = ["ensure_no_row_is_deleted_twice", "ensure_no_row_relied_on_was_deleted", "lost_rows"]


def lost_rows(intent: CommitIntent, winner: WinningCommit) -> dict[str, BitMap64]:
    """Return by path which rows a commit deleted of files that the transaction read row by row.

    Only of files to which it did nothing else: they were removed and added again with a deletion vector
    that has all rows of the one before, so none came back. All others are left to the rules for files.
    """
    own = intent.removed_paths | intent.added_paths
    replaced = {
        path: vectors
        for path, vectors in winner.replaced_vectors.items()
        if path not in own and intent.read.is_by_row(path)
    }
    wanted = [vector for vectors in replaced.values() for vector in vectors if vector is not None]
    bitmaps = intent.vectors.read(intent.snapshot.store, wanted)
    return {
        path: bitmaps[after] - _deleted(before, bitmaps)
        for path, (before, after) in replaced.items()
        if after is not None and _deleted(before, bitmaps) <= bitmaps[after]
    }


def _deleted(
    vector: DeletionVectorDescriptor | None, bitmaps: Mapping[DeletionVectorDescriptor, BitMap64]
) -> BitMap64:
    return BitMap64() if vector is None else bitmaps[vector]


def ensure_no_row_is_deleted_twice(
    intent: CommitIntent, winner: WinningCommit, lost: Mapping[str, BitMap64]
) -> None:
    """Of two that delete one row, the second has counted it as its own, or puts another in its place."""
    if both := _common(lost, intent.removed_rows):
        raise ConcurrentDeleteDeleteException(
            f"rows that this transaction deletes were deleted by {winner}: {_said(both)}"
        )


def ensure_no_row_relied_on_was_deleted(
    intent: CommitIntent, winner: WinningCommit, lost: Mapping[str, BitMap64]
) -> None:
    """A row that was looked for and found, and is gone, would have made this transaction another one."""
    if both := _common(lost, intent.read.rows):
        raise ConcurrentDeleteReadException(
            f"rows that this transaction read were deleted by {winner}: {_said(both)}"
        )


def _common(lost: Mapping[str, BitMap64], rows: Mapping[str, BitMap64]) -> dict[str, int]:
    """Return how many rows of each file are in both."""
    counts = {path: lost[path].intersection_cardinality(rows[path]) for path in lost.keys() & rows.keys()}
    return {path: count for path, count in counts.items() if count}


def _said(counts: Mapping[str, int]) -> str:
    path = min(counts)
    others = f" and {sum(counts.values()) - counts[path]} of other files" if len(counts) > 1 else ""
    return f"{counts[path]} of {path}{others}"
