"""Appending to a table and overwriting one: data files first, then one commit of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import orjson
import pyarrow as pa

from deltaarrow.actions import Action, AddFile, Metadata, Protocol, RemoveFile
from deltaarrow.clock import Clock, system_clock
from deltaarrow.errors import SchemaMismatchError
from deltaarrow.features import Operation, ensure_writable, is_supported
from deltaarrow.operations.checkpoint import checkpoint_hook
from deltaarrow.operations.commit_properties import CommitProperties, PostCommitHookProperties
from deltaarrow.operations.create import NewTable
from deltaarrow.schema import (
    Schema,
    column_mapping_mode,
    ensure_conformable,
    from_arrow_schema,
    resolve_partition_columns,
    to_arrow_schema,
)
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import Store
from deltaarrow.transaction import DEFAULT_MAX_COMMIT_RETRIES, OptimisticTransaction, PostCommitHook
from deltaarrow.write import DEFAULT_TARGET_FILE_SIZE, WritePlan, WriterProperties, write_files

__all__ = ["write_table"]


@dataclass(frozen=True)
class _Target:
    """The table as it is written to: one that exists, or the one that the write makes."""

    protocol: Protocol
    metadata: Metadata
    schema: Schema
    snapshot: Snapshot | None

    def plan(
        self, store: Store, target_file_size: int | None, properties: WriterProperties | None
    ) -> WritePlan:
        return WritePlan(
            store=store,
            schema=self.schema,
            partition_columns=tuple(self.metadata.partition_columns),
            mapping_mode=column_mapping_mode(
                self.protocol.min_reader_version,
                self.protocol.reader_features,
                self.protocol.writer_features,
                self.metadata.configuration,
            ),
            configuration=self.metadata.configuration,
            tight_bounds=is_supported(self.protocol, "deletionVectors"),
            target_file_size=DEFAULT_TARGET_FILE_SIZE if target_file_size is None else target_file_size,
            properties=WriterProperties() if properties is None else properties,
        )


def _existing_target(snapshot: Snapshot, partition_by: Sequence[str] | None, operation: Operation) -> _Target:
    ensure_writable(snapshot.protocol, snapshot.metadata, operation)
    if partition_by is not None:
        wanted = resolve_partition_columns(snapshot.schema, partition_by)
        if wanted != snapshot.partition_columns:
            raise SchemaMismatchError(
                f"the table is partitioned by {list(snapshot.partition_columns)}, not by {list(wanted)}"
            )
    return _Target(snapshot.protocol, snapshot.metadata, snapshot.schema, snapshot)


def write_table(
    store: Store,
    snapshot: Snapshot | None,
    data: pa.RecordBatchReader,
    *,
    mode: str,
    partition_by: Sequence[str] | None = None,
    name: str | None = None,
    description: str | None = None,
    configuration: Mapping[str, str] | None = None,
    target_file_size: int | None = None,
    writer_properties: WriterProperties | None = None,
    commit_properties: CommitProperties | None = None,
    hook_properties: PostCommitHookProperties | None = None,
    clock: Clock = system_clock,
) -> int:
    """Write a stream to the table of `snapshot`, or to a new one where it is None; return the version.

    `mode` is ``append`` or ``overwrite`` for a table that exists and only shows in history for a new
    one. Whatever speaks against the write is found before a file is written; when the commit is
    refused or fails, the files that were written for it are deleted again.
    """
    commit_properties = commit_properties or CommitProperties()
    hook_properties = hook_properties or PostCommitHookProperties()
    actions: list[Action] = []
    if snapshot is None:
        new = NewTable(
            schema=from_arrow_schema(data.schema),
            partition_by=tuple(partition_by or ()),
            name=name,
            description=description,
            configuration=configuration or {},
        )
        protocol, metadata = new.actions(clock)
        target = _Target(protocol, metadata, new.schema, None)
        actions += [metadata, protocol]
    else:
        target = _existing_target(snapshot, partition_by, "overwrite" if mode == "overwrite" else "append")
    retries = commit_properties.max_commit_retries
    transaction = OptimisticTransaction(
        store=store,
        snapshot=snapshot,
        operation="WRITE",
        parameters={
            "mode": _SPARK_MODES[mode],
            "partitionBy": orjson.dumps(list(partition_by or ())).decode(),
        },
        commit_metadata=commit_properties.custom_metadata or {},
        max_commit_retries=DEFAULT_MAX_COMMIT_RETRIES if retries is None else retries,
        hooks=_hooks(target, hook_properties),
        clock=clock,
    )
    ensure_conformable(data.schema, to_arrow_schema(target.schema))
    with transaction:
        transaction.stage(actions)
        removed: list[RemoveFile] = []
        if snapshot is not None and mode == "overwrite":
            removed = transaction.remove_files(transaction.read_files())
        files = write_files(target.plan(store, target_file_size, writer_properties), data)
        transaction.add_files(files)
        transaction.metrics.update(_metrics(files, removed, mode))
        return transaction.commit()


def _hooks(target: _Target, properties: PostCommitHookProperties) -> list[PostCommitHook]:
    if not properties.create_checkpoint:
        return []
    write_due_checkpoint = checkpoint_hook(target.metadata.configuration)
    return [lambda done: write_due_checkpoint(done.store, done.version)]


_SPARK_MODES = {
    "append": "Append",
    "overwrite": "Overwrite",
    "error": "ErrorIfExists",
    "ignore": "Ignore",
}


def _metrics(files: Sequence[AddFile], removed: Sequence[RemoveFile], mode: str) -> dict[str, str]:
    rows = sum(orjson.loads(file.stats)["numRecords"] for file in files if file.stats is not None)
    metrics = {
        "numFiles": str(len(files)),
        "numOutputRows": str(rows),
        "numOutputBytes": str(sum(file.size for file in files)),
    }
    if mode == "overwrite":
        metrics["numRemovedFiles"] = str(len(removed))
        metrics["numRemovedBytes"] = str(sum(file.size or 0 for file in removed))
    return metrics
