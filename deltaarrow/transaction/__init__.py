"""Transactions: their reads, their staged actions, conflicts and the commit."""

from typing import TYPE_CHECKING

from deltaarrow.runtime.lazy import lazy_package

if TYPE_CHECKING:
    from deltaarrow.transaction.bulk_adds import BulkAdds as BulkAdds
    from deltaarrow.transaction.commit_loop import (
        DEFAULT_MAX_COMMIT_RETRIES as DEFAULT_MAX_COMMIT_RETRIES,
        CommittedTransaction as CommittedTransaction,
    )
    from deltaarrow.transaction.commit_properties import (
        AutoCompaction as AutoCompaction,
        CommitProperties as CommitProperties,
        PostCommitHookProperties as PostCommitHookProperties,
        Transaction as Transaction,
        given_properties as given_properties,
    )
    from deltaarrow.transaction.commit_rules import (
        ensure_user_domain as ensure_user_domain,
        has_row_count as has_row_count,
    )
    from deltaarrow.transaction.committer import (
        Committed as Committed,
        Conflict as Conflict,
        FileSystemCommitter as FileSystemCommitter,
    )
    from deltaarrow.transaction.file_actions import AddAction as AddAction, RemoveAction as RemoveAction
    from deltaarrow.transaction.isolation import IsolationLevel as IsolationLevel
    from deltaarrow.transaction.read_set import ReadSet as ReadSet, RowMatcher as RowMatcher, Search as Search
    from deltaarrow.transaction.removal import add_again as add_again, descriptor_of as descriptor_of
    from deltaarrow.transaction.transaction import (
        OptimisticTransaction as OptimisticTransaction,
        PostCommitHook as PostCommitHook,
    )
    from deltaarrow.transaction.winning_commit import ROW_TRACKING_BACKFILL as ROW_TRACKING_BACKFILL

__getattr__ = lazy_package(__name__)
