"""Append and overwrite: data files are written, replaced rows are removed, and one commit does both.

The order makes writes safe. All checks that need no rows come before any file is written. Removals are staged
with the new files. If the commit is refused or fails, the files written for it are deleted.
"""

import logging
from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa

from deltaarrow.actions import AddFile
from deltaarrow.display.redaction import redacted
from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.operations.auto_compaction import auto_compaction_hook
from deltaarrow.operations.commit.hooks import commit_hooks
from deltaarrow.operations.commit.transaction_start import is_replay
from deltaarrow.operations.define.write_options import WriteOptions
from deltaarrow.operations.write.planned_write import WriteResult, ensure_table_writable, plan_write
from deltaarrow.runtime.clock import Clock, system_clock
from deltaarrow.schema import cast_columns
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import Store
from deltaarrow.transaction import (
    DEFAULT_MAX_COMMIT_RETRIES,
    CommitProperties,
    OptimisticTransaction,
    PostCommitHookProperties,
    given_properties,
)
from deltaarrow.write import complete_rows, read_variants

__all__ = ["begin_write", "completed_rows", "find_table", "stage_write", "write_table"]

_LOGGER = logging.getLogger(__name__)


def find_table(store: Store) -> Snapshot | None:
    """Return the newest version of the table in a store, to write to it; None if there is no table."""
    return Snapshot.find(store, for_write=True)


def write_table(
    store: Store,
    snapshot: Snapshot | None,
    data: pa.RecordBatchReader,
    options: WriteOptions,
    *,
    commit_properties: CommitProperties | None = None,
    hook_properties: PostCommitHookProperties | None = None,
    clock: Clock = system_clock,
) -> WriteResult:
    """Write a stream to the table of `snapshot`, or to a new table if `snapshot` is None, and commit."""
    with begin_write(store, snapshot, options, commit_properties, clock) as transaction:
        result = stage_write(transaction, data, options)
        transaction.hooks = [
            *commit_hooks(transaction.configuration, hook_properties),
            auto_compaction_hook(hook_properties),
        ]
    # Like delta-spark, a write without rows makes no version.
    return replace(result, version=transaction.version)


def begin_write(
    store: Store,
    snapshot: Snapshot | None,
    options: WriteOptions,
    commit_properties: CommitProperties | None = None,
    clock: Clock = system_clock,
) -> OptimisticTransaction:
    """Return the transaction of a write to the table of `snapshot`, or to a new table if that is None.

    Raises `UnsupportedFeatureError` for a table that cannot be written, and `StorageError` for such a store.
    """
    commit_properties = given_properties(commit_properties)
    if snapshot is not None:
        ensure_table_writable(snapshot, options)
    retries = commit_properties.max_commit_retries
    return OptimisticTransaction(
        store=store,
        snapshot=snapshot,
        commit_metadata=commit_properties.custom_metadata or {},
        max_commit_retries=DEFAULT_MAX_COMMIT_RETRIES if retries is None else retries,
        clock=clock,
    )


def stage_write(
    transaction: OptimisticTransaction, data: pa.RecordBatchReader, options: WriteOptions
) -> WriteResult:
    """Write a stream to files and stage the changes; nothing is committed.

    Raises the exceptions of `deltaarrow.write_deltalake`, and `UnsupportedFeatureError` for an overwrite in a
    transaction that has added files, because the overwrite would not replace them. Nothing is staged then.
    """
    if options.replaces_rows and any(isinstance(action, AddFile) for action in transaction.actions):
        raise UnsupportedFeatureError(
            "a transaction that has added rows cannot overwrite; stage the overwrite before other writes",
            feature="overwrite after a write in one transaction",
        )
    with transaction.all_or_nothing():
        return _stage_write(transaction, data, options)


def completed_rows(
    snapshot: Snapshot, data: pa.RecordBatchReader, options: WriteOptions, *, clock: Clock = system_clock
) -> Iterator[pa.RecordBatch]:
    """Return rows as a write would write them, checked against the rules of the table; nothing is written.

    Raises the exceptions of `stage_write`, those of rows while they are read.
    """
    transaction = begin_write(snapshot.store, snapshot, options, clock=clock)
    planned = plan_write(transaction, (data := read_variants(data, snapshot.schema)).schema, options)
    return complete_rows(planned.plan, map(planned.numbering.begin().extend, data), clock=clock)


def _stage_write(
    transaction: OptimisticTransaction, data: pa.RecordBatchReader, options: WriteOptions
) -> WriteResult:
    if is_replay(transaction, options.applications):
        _LOGGER.info("%s already has this write; nothing is written", redacted(transaction.store.uri))
        return WriteResult(None, is_replay=True)
    snapshot = transaction.staged_snapshot
    schema = None if snapshot is None or options.schema_mode == "overwrite" else snapshot.schema
    data = read_variants(data, schema)
    if options.cast and schema is not None:
        data = cast_columns(data, schema.to_arrow())
    planned = plan_write(transaction, data.schema, options)
    begun = planned.begin(transaction)
    return begun.stage(begun.task.write(data, clock=transaction.clock))
