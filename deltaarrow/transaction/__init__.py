"""Transactions: what was read, what is staged, conflicts and the commit."""

from typing import TYPE_CHECKING

from deltaarrow.runtime.lazy import lazy_attributes

if TYPE_CHECKING:
    from deltaarrow.transaction.commit_loop import DEFAULT_MAX_COMMIT_RETRIES, CommittedTransaction
    from deltaarrow.transaction.committer import Committed, Conflict, FileSystemCommitter
    from deltaarrow.transaction.isolation import IsolationLevel
    from deltaarrow.transaction.read_set import ReadSet, RowMatcher, Search
    from deltaarrow.transaction.removal import add_again
    from deltaarrow.transaction.transaction import OptimisticTransaction, PostCommitHook
    from deltaarrow.transaction.validity import ensure_user_domain, has_row_count
    from deltaarrow.transaction.winning_commit import ROW_TRACKING_BACKFILL

__all__ = [
    "DEFAULT_MAX_COMMIT_RETRIES",
    "ROW_TRACKING_BACKFILL",
    "Committed",
    "CommittedTransaction",
    "Conflict",
    "FileSystemCommitter",
    "IsolationLevel",
    "OptimisticTransaction",
    "PostCommitHook",
    "ReadSet",
    "RowMatcher",
    "Search",
    "add_again",
    "ensure_user_domain",
    "has_row_count",
]

__getattr__ = lazy_attributes(
    __name__,
    {
        "Committed": "deltaarrow.transaction.committer",
        "CommittedTransaction": "deltaarrow.transaction.commit_loop",
        "Conflict": "deltaarrow.transaction.committer",
        "DEFAULT_MAX_COMMIT_RETRIES": "deltaarrow.transaction.commit_loop",
        "FileSystemCommitter": "deltaarrow.transaction.committer",
        "IsolationLevel": "deltaarrow.transaction.isolation",
        "OptimisticTransaction": "deltaarrow.transaction.transaction",
        "PostCommitHook": "deltaarrow.transaction.transaction",
        "ROW_TRACKING_BACKFILL": "deltaarrow.transaction.winning_commit",
        "ReadSet": "deltaarrow.transaction.read_set",
        "RowMatcher": "deltaarrow.transaction.read_set",
        "Search": "deltaarrow.transaction.read_set",
        "add_again": "deltaarrow.transaction.removal",
        "ensure_user_domain": "deltaarrow.transaction.validity",
        "has_row_count": "deltaarrow.transaction.validity",
    },
)
