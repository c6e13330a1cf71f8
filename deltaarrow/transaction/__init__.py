"""Transactions: what was read, what is staged, conflicts and the commit."""

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
