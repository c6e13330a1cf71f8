"""Writing checkpoints: chapters "Checkpoints", "V2 Spec" and "Last Checkpoint File" of the protocol.

A checkpoint is the replayed state of a version: its protocol and metadata, the newest `txn` of every
application, the domains, the live files and the tombstones, without what has expired. A classic checkpoint
is one file. A V2 checkpoint is a file of unique name with all but the file actions, and sidecars with the
file actions; sidecars are written in parallel, and the file that names them is written last. The hint in
``_last_checkpoint`` follows once the checkpoint is complete. Multi-part checkpoints are never written,
because they are not atomic.
"""

import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

import pyarrow as pa

from deltaarrow.actions import (
    CHECKPOINT_SCHEMA,
    Action,
    AddFile,
    CheckpointMetadata,
    RemoveFile,
    Sidecar,
    render_json_lines,
)
from deltaarrow.columnar.arrays import numbers_of
from deltaarrow.errors import DeltaProtocolError
from deltaarrow.features import is_supported, properties
from deltaarrow.log.checkpoint_layout import CheckpointLayout
from deltaarrow.log.checkpoint_losses import ensure_nothing_is_lost
from deltaarrow.log.checkpoint_rows import CheckpointSizes, action_rows, add_rows, file_rows, remove_rows
from deltaarrow.log.checksums import ensure_counted
from deltaarrow.log.file_sources import FileSources
from deltaarrow.log.incremental_checkpoint import incremental_adds
from deltaarrow.log.last_checkpoint import Hint, HintedManifest, read_hint, schema_json, write_hint
from deltaarrow.log.names import SIDECAR_FOLDER, checkpoint_name, sidecar_name, unique_checkpoint_name
from deltaarrow.log.state import LogState
from deltaarrow.runtime.clock import Clock, system_clock
from deltaarrow.storage import Store

__all__ = ["ManifestFormat", "write_checkpoint"]

ManifestFormat = Literal["parquet", "json"]
"""The format of the V2 checkpoint file that names the sidecars."""

_USUAL_SIZES = CheckpointSizes()

_WRITERS = 2
"""Sidecars encoded at the same time; as many more wait in memory."""


def write_checkpoint(
    state: LogState,
    *,
    manifest_format: ManifestFormat = "parquet",
    clock: Clock = system_clock,
    sizes: CheckpointSizes = _USUAL_SIZES,
) -> str:
    """Write the checkpoint of a replayed segment and its hint; return the checkpoint's store name.

    The table properties decide its kind and content. A classic checkpoint that another writer has just
    written is replaced by one with the same content.

    Raises `UnsupportedFeatureError`, naming the fields, if actions have fields unknown to this release,
    `CorruptLogError` if the version checksum counts other files, and `DeltaProtocolError` if the table asks
    for V2 checkpoints without supporting their feature.
    """
    configuration = state.metadata.configuration
    now = clock()
    tombstones_since = now - _milliseconds(properties.DELETED_FILE_RETENTION.parse(configuration))
    head = _head(state, now)
    ensure_nothing_is_lost(state, head, tombstones_since)
    layout = CheckpointLayout.of(state.protocol, state.metadata)
    if properties.CHECKPOINT_POLICY.parse(configuration) == "classic":
        schema = layout.schema
        files = _counted(
            state, _files(state, layout, schema, sizes.group_rows, sizes.batch_rows, tombstones_since)
        )
        name, hint = _write_classic(state, head, schema, files)
    else:
        if not is_supported(state.protocol, "v2Checkpoint"):
            raise DeltaProtocolError(
                f"delta.checkpointPolicy of {state.store.uri} is v2, but its protocol does not list the"
                " table feature v2Checkpoint: add the feature, or set the property to classic"
            )
        schema = layout.sidecar_schema
        writer = _SidecarWriter(state.store, state.segment.version, schema, clock)
        files = _counted(
            state, _files(state, layout, schema, sizes.sidecar_rows, sizes.batch_rows, tombstones_since)
        )
        name, hint = _write_v2(state, head, writer, files, manifest_format)
    hinted = read_hint(state.store)
    if hinted is None or hinted <= state.segment.version:
        write_hint(state.store, hint)
    return name


def _milliseconds(duration: timedelta) -> int:
    return duration // timedelta(milliseconds=1)


def _head(state: LogState, now: int) -> list[Action]:
    """Return the actions that are not about files."""
    retention = properties.SET_TRANSACTION_RETENTION.parse(state.metadata.configuration)
    transactions = list(state.transactions.values())
    if retention is not None:
        since = now - _milliseconds(retention)
        # As in delta-spark: one without a time has expired.
        transactions = [t for t in transactions if t.last_updated is not None and t.last_updated > since]
    return [state.protocol, state.metadata, *transactions, *state.domains.values()]


def _files(
    state: LogState,
    layout: CheckpointLayout,
    schema: pa.Schema,
    at_once: int,
    batch_rows: int,
    tombstones_since: int,
) -> Iterator[tuple[str, pa.Table]]:
    """Yield tables of about `at_once` file action rows, each with its kind of action."""
    carried = incremental_adds(state, layout, schema.field(AddFile.KEY).type)
    if carried is not None:
        yield AddFile.KEY, file_rows(AddFile.KEY, carried, schema)
        return
    files = FileSources(state)
    for rows in add_rows(files, layout, schema, at_once, batch_rows):
        yield AddFile.KEY, rows
    for rows in remove_rows(files, layout, schema, at_once, batch_rows, tombstones_since=tombstones_since):
        yield RemoveFile.KEY, rows


def _counted(state: LogState, files: Iterator[tuple[str, pa.Table]]) -> Iterator[tuple[str, pa.Table]]:
    """Yield `files` unchanged; raise at the end if the version checksum counts other live files.

    This keeps damage in an older checkpoint out of the new one.
    """
    count = size = 0
    for action, rows in files:
        if action == AddFile.KEY:
            count += rows.num_rows
            size += int(numbers_of(rows.column(action).combine_chunks().field("size")).sum())
        yield action, rows
    if (said := state.held_checksum) is not None:
        ensure_counted(said, state.segment, count, size)


def _parquet_writer(sink: Any, schema: pa.Schema) -> Any:
    import pyarrow.parquet as pq

    # As in Spark: decimals of up to 18 digits are integers; the Arrow schema adds nothing.
    return pq.ParquetWriter(
        sink, schema, compression="snappy", store_decimal_as_integer=True, store_schema=False
    )


def _write_classic(
    state: LogState, head: Sequence[Action], schema: pa.Schema, files: Iterator[tuple[str, pa.Table]]
) -> tuple[str, Hint]:
    version = state.segment.version
    name = checkpoint_name(version)
    counts = {AddFile.KEY: 0, RemoveFile.KEY: 0}
    # A file that replaces another must be written as a whole. Encoded, a million files take 40 MB.
    sink = pa.BufferOutputStream()
    with _parquet_writer(sink, schema) as writer:
        pending = action_rows(head, schema)
        for action, rows in files:
            counts[action] += rows.num_rows
            writer.write_table(pa.concat_tables([pending, rows]) if pending is not None else rows)
            pending = None
        if pending is not None:
            writer.write_table(pending)
    data = sink.getvalue()
    state.store.write(name, data.to_pybytes())
    hint = Hint(
        version=version,
        size=len(head) + sum(counts.values()),
        size_in_bytes=data.size,
        num_of_add_files=counts[AddFile.KEY],
        checkpoint_schema=schema,
    )
    return name, hint


@dataclass
class _SidecarWriter:
    """Writes sidecars, several at the same time."""

    store: Store
    version: int
    schema: pa.Schema
    clock: Clock

    def write(self, rows: pa.Table) -> Sidecar:
        name = sidecar_name(self.version, str(uuid.uuid4()))
        with self.store.open_output(f"{SIDECAR_FOLDER}/{name}") as output:
            with _parquet_writer(output, self.schema) as writer:
                writer.write_table(rows)
            size = output.tell()
        return Sidecar(path=name, size_in_bytes=size, modification_time=self.clock())

    def write_all(self, parts: Iterator[tuple[str, pa.Table]]) -> tuple[list[Sidecar], dict[str, int]]:
        """Write a sidecar for every part; return them and the number of actions of each kind."""
        counts = {AddFile.KEY: 0, RemoveFile.KEY: 0}
        writing: list[Future[Sidecar]] = []
        try:
            with ThreadPoolExecutor(_WRITERS) as pool:
                for action, rows in parts:
                    if len(writing) >= 2 * _WRITERS:
                        # Sidecars being written are in memory.
                        writing[-2 * _WRITERS].result()
                    counts[action] += rows.num_rows
                    writing.append(pool.submit(self.write, rows))
                return [each.result() for each in writing], counts
        except BaseException:
            for each in writing:
                if each.exception() is None:
                    self.store.delete(f"{SIDECAR_FOLDER}/{each.result().path}")
            raise


def _write_v2(
    state: LogState,
    head: Sequence[Action],
    writer: _SidecarWriter,
    files: Iterator[tuple[str, pa.Table]],
    manifest_format: ManifestFormat,
) -> tuple[str, Hint]:
    version = state.segment.version
    sidecars, counts = writer.write_all(files)
    sidecar_bytes = sum(sidecar.size_in_bytes for sidecar in sidecars)
    metadata = CheckpointMetadata(
        version=version,
        # delta-spark writes this tag for its readers.
        tags={
            "sidecarNumActions": str(sum(counts.values())),
            "sidecarSizeInBytes": str(sidecar_bytes),
            "numOfAddFiles": str(counts[AddFile.KEY]),
        }
        | ({} if (text := schema_json(writer.schema)) is None else {"sidecarFileSchema": text}),
    )
    actions = [metadata, *sidecars, *head]
    name = unique_checkpoint_name(version, str(uuid.uuid4()), manifest_format)
    data = render_json_lines(actions) if manifest_format == "json" else _encoded(actions)
    writer.store.write(name, data)
    hint = Hint(
        version=version,
        size=len(actions) + sum(counts.values()),
        size_in_bytes=len(data) + sidecar_bytes,
        num_of_add_files=counts[AddFile.KEY],
        checkpoint_schema=CHECKPOINT_SCHEMA if manifest_format == "parquet" else None,
        manifest=HintedManifest(
            path=name.rpartition("/")[2],
            size_in_bytes=len(data),
            modification_time=writer.clock(),
            actions=(*head, metadata),
            sidecars=tuple(sidecars),
        ),
    )
    return name, hint


def _encoded(actions: Sequence[Action]) -> bytes:
    sink = pa.BufferOutputStream()
    with _parquet_writer(sink, CHECKPOINT_SCHEMA) as writer:
        writer.write_table(action_rows(actions, CHECKPOINT_SCHEMA))
    data: bytes = sink.getvalue().to_pybytes()
    return data
