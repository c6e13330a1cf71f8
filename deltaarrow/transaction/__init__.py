"""Transactions: what was read, what is staged, conflicts and the commit."""

from deltaarrow.transaction.committer import Committed, Conflict, FileSystemCommitter
from deltaarrow.transaction.isolation import IsolationLevel
from deltaarrow.transaction.read_set import ReadSet
from deltaarrow.transaction.transaction import (
    DEFAULT_MAX_COMMIT_RETRIES,
    CommittedTransaction,
    OptimisticTransaction,
    PostCommitHook,
)
from deltaarrow.transaction.validity import ensure_user_domain

__all__ = [
    "DEFAULT_MAX_COMMIT_RETRIES",
    "Committed",
    "CommittedTransaction",
    "Conflict",
    "FileSystemCommitter",
    "IsolationLevel",
    "OptimisticTransaction",
    "PostCommitHook",
    "ReadSet",
    "ensure_user_domain",
]
