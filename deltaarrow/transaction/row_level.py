"""Row-level concurrency: transactions that change different rows of one file do not conflict.

A transaction that reads row by row decides on every row by that row alone. It names the rows that its commit
depends on: those that it searched for and found, changed or not. To be as if it had begun after another
commit, it must have found the same rows. That takes two conditions:

- *No row that it depends on is gone.* Another commit may have deleted rows by deletion vectors, which leaves
  the file and the positions in it as they were. If none of the deleted rows was searched for, the transaction
  would have decided the same without them. The rules in this module check this.
- *No row was added that it would have found.* Rows arrive in added files, updated rows too;
  `ensure_no_added_file_should_have_been_read` checks whether one matches. A file that is added again with a
  larger deletion vector brings no row.

The later transaction then deletes its rows from the file as the earlier commit left it: see
`deltaarrow.transaction.staged`. Rows that it only relocates are deleted from their new file: see
`deltaarrow.transaction.relocation`. Other files that a transaction reads whole, removes whole or rewrites are
not handled by row: they conflict with every commit that deletes a row from them.
"""

from collections.abc import Mapping

from pyroaring import BitMap64

from deltaarrow.deletion_vectors import DeletionVectorDescriptor
from deltaarrow.errors import ConcurrentDeleteDeleteException, ConcurrentDeleteReadException
from deltaarrow.transaction.commit_intent import CommitIntent
from deltaarrow.transaction.winning_commit import WinningCommit

__all__ = ["ensure_no_row_is_deleted_twice", "ensure_no_row_relied_on_was_deleted", "lost_rows"]


def lost_rows(intent: CommitIntent, winner: WinningCommit) -> dict[str, BitMap64]:
    """Return by path which rows a commit deleted from files that were read row by row, or are relocated.

    Only for files that the commit removed and added again with a deletion vector that contains the one
    before, so no row came back. The rules for files decide about all others.
    """
    own = intent.removed_paths | intent.added_paths
    replaced = {
        path: vectors
        for path, vectors in winner.replaced_vectors.items()
        if path not in own and (intent.read.is_by_row(path) or path in intent.relocated)
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
    """If two transactions delete one row, the second counts a gone row as its own or replaces it again."""
    if both := _common(lost, intent.removed_rows):
        raise ConcurrentDeleteDeleteException(
            f"rows that this transaction deletes were deleted by {winner}: {_said(both)}; repeat the"
            " operation"
        )


def ensure_no_row_relied_on_was_deleted(
    intent: CommitIntent, winner: WinningCommit, lost: Mapping[str, BitMap64]
) -> None:
    """Without a row that it searched for and found, this transaction would have done something else."""
    if both := _common(lost, intent.read.rows):
        raise ConcurrentDeleteReadException(
            f"rows that this transaction read were deleted by {winner}: {_said(both)}; repeat the operation"
        )


def _common(lost: Mapping[str, BitMap64], rows: Mapping[str, BitMap64]) -> dict[str, int]:
    """Return how many rows of each file are in both."""
    counts = {path: lost[path].intersection_cardinality(rows[path]) for path in lost.keys() & rows.keys()}
    return {path: count for path, count in counts.items() if count}


def _said(counts: Mapping[str, int]) -> str:
    path = min(counts)
    others = f" and {sum(counts.values()) - counts[path]} of other files" if len(counts) > 1 else ""
    return f"{counts[path]} of {path}{others}"
