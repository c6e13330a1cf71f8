"""TRUNCATE: removes all rows of a table without reading them."""

import time

from deltaarrow.features import ensure_writable
from deltaarrow.operations.commit.transaction_start import begin_transaction
from deltaarrow.operations.write.replaced_rows import stage_removal_of_all
from deltaarrow.runtime.clock import Clock, system_clock
from deltaarrow.snapshot import Snapshot
from deltaarrow.transaction import CommitProperties, PostCommitHookProperties

__all__ = ["truncate_table"]


def truncate_table(
    snapshot: Snapshot,
    *,
    commit_properties: CommitProperties | None = None,
    hook_properties: PostCommitHookProperties | None = None,
    clock: Clock = system_clock,
) -> int:
    """Remove all files of a table, commit, and return their number.

    Raises `UnsupportedFeatureError` for a table whose rows must stay or that this release cannot overwrite,
    and the exceptions of commits.
    """
    begun = time.perf_counter()
    ensure_writable(snapshot.protocol, snapshot.metadata, "overwrite")
    transaction = begin_transaction(snapshot, "TRUNCATE", commit_properties, hook_properties, clock=clock)
    with transaction:
        removed = stage_removal_of_all(transaction).removed_files
        transaction.metrics.update(
            numRemovedFiles=str(removed), executionTimeMs=str(round((time.perf_counter() - begun) * 1000))
        )
    return removed
