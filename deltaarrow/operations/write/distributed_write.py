"""`DistributedWrite`: a write whose tasks run in parallel in other processes, with one commit.

The steps are those of `deltaarrow.operations.write.write`. Planning, tasks and commit may run in separate
processes; each step starts from the pickled result of the step before.
"""

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import pyarrow as pa

from deltaarrow.errors import MetadataChangedException
from deltaarrow.operations.auto_compaction import auto_compaction_hook
from deltaarrow.operations.commit.hooks import commit_hooks
from deltaarrow.operations.commit.transaction_start import is_replay
from deltaarrow.operations.define.write_options import StreamEpoch, WriteOptions
from deltaarrow.operations.write.planned_write import PlannedWrite, WriteResult, plan_write
from deltaarrow.operations.write.write import begin_write
from deltaarrow.operations.write.write_task import WriteTask, WrittenRows
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import Store, decode_path
from deltaarrow.transaction import (
    CommitProperties,
    OptimisticTransaction,
    PostCommitHookProperties,
    Transaction,
    given_properties,
)

__all__ = ["DistributedWrite"]


@dataclass(frozen=True)
class DistributedWrite:
    """A write to version `version` of a table, or to a new table if `version` is None; picklable.

    `data` is the schema of the rows, and `whole` is the task that would write all of them. It is None if the
    table already has this write of the application; then nothing is written or committed.
    """

    store: Store
    version: int | None
    data: pa.Schema
    options: WriteOptions
    commit_properties: CommitProperties
    planned: PlannedWrite | None
    whole: WriteTask | None
    hook_properties: PostCommitHookProperties | None = None

    @classmethod
    def plan(
        cls,
        store: Store,
        snapshot: Snapshot | None,
        data: pa.Schema,
        options: WriteOptions,
        commit_properties: CommitProperties | None = None,
        hook_properties: PostCommitHookProperties | None = None,
    ) -> Self:
        """Plan a write of data of a schema, without changing the table.

        Raises the exceptions of `deltaarrow.write_deltalake` for such data and options.
        """
        commit_properties = given_properties(commit_properties)
        version = None if snapshot is None else snapshot.version
        transaction = begin_write(store, snapshot, options, commit_properties)
        if is_replay(transaction, options.applications):
            return cls(store, version, data, options, commit_properties, None, None, hook_properties)
        planned = plan_write(transaction, data, options)
        task = planned.begin(transaction).task
        return cls(store, version, data, options, commit_properties, planned, task, hook_properties)

    def part(self, number: int) -> WriteTask | None:
        """Return the task of an executor, as `WriteTask.part`; None if there is nothing to write.

        No two parts of the rows may have one number. An attempt to write a part again has the same one.
        """
        return None if self.whole is None else self.whole.part(number)

    def again(
        self,
        snapshot: Snapshot | None,
        applications: Sequence[Transaction],
        epoch: StreamEpoch | None = None,
    ) -> Self:
        """Plan the same write for a newer snapshot of the table, as a batch of a stream.

        The commit records the progress of applications.

        The new plan can commit the files that tasks of this plan have written.

        Raises `MetadataChangedException` if tasks would now write different files, because the schema,
        partitioning, constraints or properties of the table have changed, or others have given numbers of
        its identity columns, and the exceptions of `plan`.
        """
        options = replace(self.options, applications=applications, epoch=epoch)
        if self.planned is None or self.version == (None if snapshot is None else snapshot.version):
            planned = None if self.planned is None else replace(self.planned, options=options)
            return replace(self, options=options, planned=planned)
        other = type(self).plan(
            self.store, snapshot, self.data, options, self.commit_properties, self.hook_properties
        )
        if other.planned is not None and not other.planned.writes_as(self.planned):
            raise MetadataChangedException(
                f"{self.store.uri} has changed since this write was planned (schema, partitioning,"
                " constraints, properties or high water marks of identity columns); begin it anew"
            )
        return other

    def commit(self, parts: Iterable[WrittenRows]) -> WriteResult:
        """Commit the files that tasks have written; `parts` holds every part of the rows once.

        If the table already has this write, nothing is committed. The files stay, because they may be the
        files of that earlier commit; a full VACUUM deletes them if they are not.

        Raises the exceptions of commits. The files are then deleted, unless the commit may have succeeded.
        """
        if self.planned is None:
            return WriteResult(None, is_replay=True)
        written = WrittenRows.joined(parts)
        try:
            transaction, result = self._staged(self.planned, written)
        except BaseException:
            self.discard([written])
            raise
        with transaction:
            transaction.hooks = [
                *commit_hooks(transaction.configuration, self.hook_properties),
                auto_compaction_hook(self.hook_properties),
            ]
        return replace(result, version=transaction.version)

    def _staged(
        self, planned: PlannedWrite, written: WrittenRows
    ) -> tuple[OptimisticTransaction, WriteResult]:
        snapshot = None if self.version is None else Snapshot.load(self.store, self.version)
        transaction = begin_write(self.store, snapshot, self.options, self.commit_properties)
        with transaction.all_or_nothing():
            if is_replay(transaction, self.options.applications):
                return transaction, WriteResult(None, is_replay=True)
            return transaction, planned.begin(transaction).stage(written)

    def discard(self, parts: Iterable[WrittenRows]) -> None:
        """Delete the files that tasks have written, for a write that will not be committed."""
        for path in WrittenRows.joined(parts).paths:
            with contextlib.suppress(Exception):
                self.store.delete(decode_path(path))
