"""Transactions: staged actions, conflicts and the commit."""

from deltaarrow.transaction.committer import Committed, Conflict, FileSystemCommitter
from deltaarrow.transaction.transaction import DEFAULT_MAX_COMMIT_RETRIES, PostCommitHook, Transaction

__all__ = [
    "DEFAULT_MAX_COMMIT_RETRIES",
    "Committed",
    "Conflict",
    "FileSystemCommitter",
    "PostCommitHook",
    "Transaction",
]
