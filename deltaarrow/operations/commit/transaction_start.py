"""Start of a transaction for staging actions that are committed at once, and check for replayed writes."""

from collections.abc import Sequence

from deltaarrow.errors import CommitFailedError
from deltaarrow.features import ensure_writable
from deltaarrow.operations.commit.hooks import commit_hooks
from deltaarrow.runtime.clock import Clock, system_clock
from deltaarrow.snapshot import Snapshot
from deltaarrow.transaction import (
    DEFAULT_MAX_COMMIT_RETRIES,
    CommitProperties,
    OptimisticTransaction,
    PostCommitHookProperties,
    Transaction,
    given_properties,
)

__all__ = ["begin_transaction", "is_replay"]


def begin_transaction(
    snapshot: Snapshot,
    operation: str,
    commit_properties: CommitProperties | None = None,
    hook_properties: PostCommitHookProperties | None = None,
    clock: Clock = system_clock,
) -> OptimisticTransaction:
    """Return a transaction that reads `snapshot`, with the hooks that every commit has.

    The application transactions of `commit_properties` are staged.

    Raises `CommitFailedError` if the table already has one of them, because this transaction may have been
    committed before, and `UnsupportedFeatureError` for a table that this release cannot write.
    """
    ensure_writable(snapshot.protocol, snapshot.metadata, "append")
    given = given_properties(commit_properties)
    retries = given.max_commit_retries
    transaction = OptimisticTransaction(
        store=snapshot.store,
        snapshot=snapshot,
        operation=operation,
        commit_metadata=given.custom_metadata or {},
        max_commit_retries=DEFAULT_MAX_COMMIT_RETRIES if retries is None else retries,
        clock=clock,
    )
    for application in given.app_transactions or ():
        if not transaction.set_application(application.app_id, application.version, application.last_updated):
            raise CommitFailedError(
                f"{snapshot.store.uri} has version {application.version} of the application"
                f" {application.app_id} already, so these changes may be committed; to check without an"
                " exception, use OptimisticTransaction.set_application"
            )
    transaction.hooks = commit_hooks(transaction.configuration, hook_properties)
    return transaction


def is_replay(transaction: OptimisticTransaction, applications: Sequence[Transaction]) -> bool:
    """Stage the application transactions of a write; return whether the table already has all of them.

    Raises `CommitFailedError` if the table has some of them but not others.
    """
    news = [
        transaction.set_application(each.app_id, each.version, each.last_updated) for each in applications
    ]
    if any(news) and not all(news):
        raise CommitFailedError(
            "some of the application transactions of this write are in the table already, and others are not;"
            " give each write its own transactions"
        )
    return bool(news) and not any(news)
