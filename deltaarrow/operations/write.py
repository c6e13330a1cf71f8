"""Appending to a table and overwriting one: data files first, then one commit of them."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
import pyarrow as pa

from deltaarrow.actions import Action, AddFile, Metadata, Protocol, RemoveFile
from deltaarrow.clock import Clock, system_clock
from deltaarrow.deletion_vectors import DeletionVectorDescriptor
from deltaarrow.errors import CommitFailedError, SchemaMismatchError, StorageError
from deltaarrow.features import Operation, ensure_writable, is_supported
from deltaarrow.log import LogFileKind, list_log
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
from deltaarrow.storage import Store, decode_path
from deltaarrow.transaction import DEFAULT_MAX_COMMIT_RETRIES, Transaction
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
    transaction = Transaction(
        store=store,
        snapshot=snapshot,
        operation="WRITE",
        parameters={
            "mode": _SPARK_MODES[mode],
            "partitionBy": orjson.dumps(list(partition_by or ())).decode(),
        },
        is_blind_append=mode != "overwrite",
        commit_metadata=commit_properties.custom_metadata or {},
        max_commit_retries=DEFAULT_MAX_COMMIT_RETRIES if retries is None else retries,
        hooks=[checkpoint_hook(target.metadata.configuration)] if hook_properties.create_checkpoint else [],
        clock=clock,
    )
    ensure_conformable(data.schema, to_arrow_schema(target.schema))
    files = write_files(target.plan(store, target_file_size, writer_properties), data)
    removed = _removes(snapshot, clock) if snapshot is not None and mode == "overwrite" else []
    transaction.stage([*actions, *files, *removed])
    transaction.metrics.update(_metrics(files, removed, mode))
    try:
        return transaction.commit()
    except CommitFailedError:
        _delete(store, files)
        raise
    except (OSError, StorageError):
        # The put failed, or else the look at what came of it, or a hook after it: the log tells. Where
        # that cannot be read, as after an interrupt, which may come at any point, the files stay: one
        # too many is waste, and one too few a table that is broken.
        with contextlib.suppress(OSError, StorageError):
            if files and not _is_committed(store, 0 if snapshot is None else snapshot.version + 1, files):
                _delete(store, files)
        raise


def _delete(store: Store, files: Sequence[AddFile]) -> None:
    # Nothing refers to these files and nothing ever will: their names are fresh.
    for file in files:
        with contextlib.suppress(OSError):
            store.delete(decode_path(file.path))


def _is_committed(store: Store, version: int, files: Sequence[AddFile]) -> bool:
    """Whether a commit from `version` on adds the files. They are committed at once, so one tells."""
    path = orjson.dumps(files[0].path)
    commits = (file for file in list_log(store, version) if file.kind is LogFileKind.COMMIT)
    return any(path in store.read(commit.name) for commit in commits)


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


def _removes(snapshot: Snapshot, clock: Clock) -> list[RemoveFile]:
    """Return a tombstone for every live file."""
    now = clock()
    return [_remove(row, now) for row in snapshot.files().to_pylist(maps_as_pydicts="strict")]


def _remove(file: dict[str, Any], now: int) -> RemoveFile:
    dv = file["deletion_vector"]
    return RemoveFile(
        path=file["log_path"],
        deletion_timestamp=now,
        data_change=True,
        extended_file_metadata=True,
        partition_values=file["partition_values"],
        size=file["size"],
        stats=file["stats"],
        tags=file["tags"],
        deletion_vector=None if dv is None else DeletionVectorDescriptor(**dv),
        base_row_id=file["base_row_id"],
        default_row_commit_version=file["default_row_commit_version"],
    )
