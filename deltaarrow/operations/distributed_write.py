"""A write whose rows are written elsewhere, by many at once, and committed here once: `DistributedWrite`.

The steps are those of `deltaarrow.operations.write`, but planning, the tasks and the commit may each be in a
process of their own: each begins with what the one before has pickled.
"""

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import pyarrow as pa

from deltaarrow.errors import MetadataChangedException, UnsupportedFeatureError
from deltaarrow.operations.checksum import write_checksum
from deltaarrow.operations.commit_properties import CommitProperties, Transaction
from deltaarrow.operations.log_maintenance import maintenance_hook
from deltaarrow.operations.planned_write import PlannedWrite, WriteResult, plan_write
from deltaarrow.operations.transaction import is_replay
from deltaarrow.operations.write import begin_write
from deltaarrow.operations.write_options import WriteOptions
from deltaarrow.operations.write_task import WriteTask, WrittenRows
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import Store, decode_path
from deltaarrow.transaction import OptimisticTransaction

__all__ = ["DistributedWrite"]


@dataclass(frozen=True)
class DistributedWrite:
    """A write to version `version` of a table, or to a new one where it is None; picklable.

    `data` is the schema of the rows, and `task` what executors do with them. It is None where the table has
    the write of this application already: then nothing is to be written, and nothing is committed.
    """

    store: Store
    version: int | None
    data: pa.Schema
    options: WriteOptions
    commit_properties: CommitProperties
    planned: PlannedWrite | None
    task: WriteTask | None

    @classmethod
    def plan(
        cls,
        store: Store,
        snapshot: Snapshot | None,
        data: pa.Schema,
        options: WriteOptions,
        commit_properties: CommitProperties | None = None,
    ) -> Self:
        """Plan a write of data of a schema; the table is left alone.

        Raises what `deltaarrow.write_deltalake` raises for such data and options, and
        `UnsupportedFeatureError` for a table with identity columns whose numbers the data does not give:
        executors cannot count together.
        """
        commit_properties = commit_properties or CommitProperties()
        version = None if snapshot is None else snapshot.version
        transaction = begin_write(store, snapshot, options, commit_properties)
        if is_replay(transaction, options.applications):
            return cls(store, version, data, options, commit_properties, None, None)
        planned = plan_write(transaction, data, options)
        if columns := [column.name for column in planned.numbering.columns]:
            raise UnsupportedFeatureError(
                f"the identity column {columns[0]!r} of {store.uri} numbers rows one after the other, which"
                " many executors cannot; write on one node with deltaarrow.write_deltalake",
                feature="identityColumns",
            )
        return cls(store, version, data, options, commit_properties, planned, planned.begin(transaction).task)

    def again(self, snapshot: Snapshot | None, applications: Sequence[Transaction]) -> Self:
        """Plan the same write for the table as it is now, and with the progress of applications.

        What tasks of this plan have written can be committed by the new one.

        Raises `MetadataChangedException` where they would write something else by now, because the schema,
        the partitioning, the rules or the properties of the table are others, and what `plan` raises.
        """
        options = replace(self.options, applications=applications)
        if self.planned is None or self.version == (None if snapshot is None else snapshot.version):
            planned = None if self.planned is None else replace(self.planned, options=options)
            return replace(self, options=options, planned=planned)
        other = type(self).plan(self.store, snapshot, self.data, options, self.commit_properties)
        if other.planned is not None and other.planned.plan != self.planned.plan:
            raise MetadataChangedException(
                f"{self.store.uri} has changed since this write was planned: its schema, partitioning, rules"
                " or properties are others; begin it anew"
            )
        return other

    def commit(self, parts: Iterable[WrittenRows]) -> WriteResult:
        """Commit what tasks have written, each part of the rows once.

        Where the table has this write already, nothing is: the files stay behind, since they might be those
        that the table has, and VACUUM tells.

        Raises the exceptions of commits; then the files are deleted, unless the commit may be made after all.
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
            transaction.hooks = [write_checksum, maintenance_hook(transaction.configuration, None)]
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
        """Delete what tasks have written, for a write that is not going to be committed."""
        for path in WrittenRows.joined(parts).paths:
            with contextlib.suppress(Exception):
                self.store.delete(decode_path(path))
