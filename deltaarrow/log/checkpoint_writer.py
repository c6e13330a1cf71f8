"""Writing checkpoints: chapters "Checkpoints", "V2 Spec" and "Last Checkpoint File" of the protocol.

A checkpoint is the replayed state of a version: its protocol and metadata, the newest `txn` of every
application, the domains, the live files and the tombstones, but for what has expired. A classic one is one
file. A V2 one is a file with all but the file actions, under a name of its own, and sidecars that hold
these; they are written side by side, and the file that names them comes after them. The hint in
``_last_checkpoint`` follows only once the checkpoint is in place. Multi-part checkpoints, which are not
atomic, are never written.
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
from deltaarrow.log.checkpoint_rows import action_rows, add_rows, file_rows, remove_rows
from deltaarrow.log.checksums import ensure_counted
from deltaarrow.log.file_sources import FileSources
from deltaarrow.log.incremental_checkpoint import incremental_adds
from deltaarrow.log.last_checkpoint import Hint, HintedManifest, read_hint, schema_json, write_hint
from deltaarrow.log.names import SIDECAR_FOLDER, checkpoint_name, sidecar_name, unique_checkpoint_name
from deltaarrow.log.replay import LogState
from deltaarrow.runtime.clock import Clock, system_clock
from deltaarrow.storage import Store

__all__ = ["ManifestFormat", "write_checkpoint"]

ManifestFormat = Literal["parquet", "json"]
"""What the file of a V2 checkpoint that names the sidecars is written as."""

_ROWS_A_GROUP = 16_000
"""Rows of a row group of a classic checkpoint; while it is written there are several copies of them."""

_ROWS_A_SIDECAR = 50_000
"""As many as in a sidecar of delta-spark's."""

_WRITERS = 2
"""Sidecars that are encoded at a time; as many more wait in memory."""


def write_checkpoint(
    state: LogState, *, manifest_format: ManifestFormat = "parquet", clock: Clock = system_clock
) -> str:
    """Write the checkpoint of a replayed segment and the hint to it; return its store name.

    The properties of the table say of which kind it is and what it holds. A classic checkpoint that
    another writer has put there first is as good, and is replaced by the same content.

    Raises `UnsupportedFeatureError`, naming them, when actions have fields that are not known here,
    `CorruptLogError` when the version checksum counts other files, and `DeltaProtocolError` when V2
    checkpoints are asked for by a table that does not have their feature.
    """
    configuration = state.metadata.configuration
    now = clock()
    tombstones_since = now - _milliseconds(properties.DELETED_FILE_RETENTION.parse(configuration))
    head = _head(state, now)
    ensure_nothing_is_lost(state, head, tombstones_since)
    layout = CheckpointLayout.of(state.protocol, state.metadata)
    if properties.CHECKPOINT_POLICY.parse(configuration) == "classic":
        schema = layout.schema
        files = _counted(state, _files(state, layout, schema, _ROWS_A_GROUP, tombstones_since))
        name, hint = _write_classic(state, head, schema, files)
    else:
        if not is_supported(state.protocol, "v2Checkpoint"):
            raise DeltaProtocolError(
                f"delta.checkpointPolicy of {state.store.uri} is v2, but its protocol does not list the"
                " table feature v2Checkpoint"
            )
        schema = layout.sidecar_schema
        writer = _SidecarWriter(state.store, state.segment.version, schema, clock)
        files = _counted(state, _files(state, layout, schema, _ROWS_A_SIDECAR, tombstones_since))
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
        # As delta-spark does: one without a time has expired.
        transactions = [t for t in transactions if t.last_updated is not None and t.last_updated > since]
    return [state.protocol, state.metadata, *transactions, *state.domains.values()]


def _files(
    state: LogState, layout: CheckpointLayout, schema: pa.Schema, at_once: int, tombstones_since: int
) -> Iterator[tuple[str, pa.Table]]:
    """Yield the rows of file actions, about so many `at_once`, with the kind of action."""
    carried = incremental_adds(state, layout, schema.field(AddFile.KEY).type)
    if carried is not None:
        yield AddFile.KEY, file_rows(AddFile.KEY, carried, schema)
        return
    files = FileSources(state)
    for rows in add_rows(files, layout, schema, at_once):
        yield AddFile.KEY, rows
    for rows in remove_rows(files, layout, schema, at_once, tombstones_since=tombstones_since):
        yield RemoveFile.KEY, rows


def _counted(state: LogState, files: Iterator[tuple[str, pa.Table]]) -> Iterator[tuple[str, pa.Table]]:
    """Yield what is given, and raise at the end where the version checksum counts other live files.

    Damage in an older checkpoint would otherwise become that of the table.
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

    # As Spark: decimals of up to 18 digits are integers; the Arrow schema adds nothing.
    return pq.ParquetWriter(
        sink, schema, compression="snappy", store_decimal_as_integer=True, store_schema=False
    )


def _write_classic(
    state: LogState, head: Sequence[Action], schema: pa.Schema, files: Iterator[tuple[str, pa.Table]]
) -> tuple[str, Hint]:
    version = state.segment.version
    name = checkpoint_name(version)
    counts = {AddFile.KEY: 0, RemoveFile.KEY: 0}
    # A file that replaces another one has to be there as a whole. Encoded, a million files are 40 MB.
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
    """Writes sidecars, several at a time."""

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
        """Write a sidecar for every part; return them, and how many actions of each kind they hold."""
        counts = {AddFile.KEY: 0, RemoveFile.KEY: 0}
        writing: list[Future[Sidecar]] = []
        try:
            with ThreadPoolExecutor(_WRITERS) as pool:
                for action, rows in parts:
                    if len(writing) >= 2 * _WRITERS:
                        # What is under way is in memory.
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
        # What delta-spark tells its readers here.
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
