"""Writing checkpoints: chapters "Checkpoints", "V2 Spec" and "Last Checkpoint File" of the protocol.

A checkpoint is the replayed state of a version: its protocol and metadata, the newest `txn` of every
application, the domains, the live files and the tombstones, without what has expired. A classic checkpoint
is one file. A V2 checkpoint is a file of unique name with all but the file actions, and sidecars with the
file actions; sidecars are written in parallel (`deltaarrow.log.checkpoint_writing.sidecars`), and the file
that names them is written last. The hint in ``_last_checkpoint`` follows once the checkpoint is complete.
Multi-part checkpoints are never written, because they are not atomic.
"""

import uuid
from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

import pyarrow as pa

from deltaarrow.actions import CHECKPOINT_SCHEMA, Action, AddFile, CheckpointMetadata, render_json_lines
from deltaarrow.errors import DeltaProtocolError
from deltaarrow.features import is_supported, properties
from deltaarrow.log.checkpoint_writing.content import CheckpointContent, Totals, parquet_writer
from deltaarrow.log.checkpoint_writing.layout import CheckpointLayout
from deltaarrow.log.checkpoint_writing.losses import ensure_nothing_is_lost
from deltaarrow.log.checkpoint_writing.row_stream import CheckpointSizes, action_rows
from deltaarrow.log.checkpoint_writing.sidecars import SidecarWriter
from deltaarrow.log.file_names import checkpoint_name, unique_checkpoint_name
from deltaarrow.log.last_checkpoint import Hint, HintedManifest, read_hint, schema_json, write_hint
from deltaarrow.log.state import LogState
from deltaarrow.runtime.clock import Clock, system_clock

__all__ = ["ManifestFormat", "write_checkpoint"]

ManifestFormat = Literal["parquet", "json"]
"""The format of the V2 checkpoint file that names the sidecars."""

_USUAL_SIZES = CheckpointSizes()


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
    content = CheckpointContent(layout, sizes, tombstones_since)
    if properties.CHECKPOINT_POLICY.parse(configuration) == "classic":
        name, hint = _write_classic(state, head, content)
    else:
        if not is_supported(state.protocol, "v2Checkpoint"):
            raise DeltaProtocolError(
                f"delta.checkpointPolicy of {state.store.uri} is v2, but its protocol does not list the"
                " table feature v2Checkpoint: add the feature, or set the property to classic"
            )
        name, hint = _write_v2(state, head, SidecarWriter(content, clock), manifest_format)
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


def _write_classic(state: LogState, head: Sequence[Action], content: CheckpointContent) -> tuple[str, Hint]:
    version, schema, totals = state.segment.version, content.layout.schema, Totals()
    name = checkpoint_name(version)
    # A file that replaces another must be written as a whole. Encoded, a million files take 40 MB.
    sink = pa.BufferOutputStream()
    with parquet_writer(sink, schema) as writer:
        pending = action_rows(head, schema)
        for _, rows in totals.counting(content.tables(state, schema, content.sizes.group_rows)):
            writer.write_table(pa.concat_tables([pending, rows]) if pending is not None else rows)
            pending = None
        if pending is not None:
            writer.write_table(pending)
    totals.ensure_agree(state)
    data = sink.getvalue()
    state.store.write(name, data.to_pybytes())
    hint = Hint(
        version=version,
        size=len(head) + sum(totals.rows.values()),
        size_in_bytes=data.size,
        num_of_add_files=totals.rows[AddFile.KEY],
        checkpoint_schema=schema,
    )
    return name, hint


def _write_v2(
    state: LogState,
    head: Sequence[Action],
    writer: SidecarWriter,
    manifest_format: ManifestFormat,
) -> tuple[str, Hint]:
    version = state.segment.version
    written = writer.write(state)
    sidecars, totals = written.sidecars, written.totals
    sidecar_bytes = sum(sidecar.size_in_bytes for sidecar in sidecars)
    metadata = CheckpointMetadata(
        version=version,
        # delta-spark writes this tag for its readers.
        tags={
            "sidecarNumActions": str(sum(totals.rows.values())),
            "sidecarSizeInBytes": str(sidecar_bytes),
            "numOfAddFiles": str(totals.rows[AddFile.KEY]),
        }
        | ({} if (text := schema_json(writer.schema)) is None else {"sidecarFileSchema": text}),
    )
    actions = [metadata, *sidecars, *head]
    name = unique_checkpoint_name(version, str(uuid.uuid4()), manifest_format)
    data = render_json_lines(actions) if manifest_format == "json" else _encoded(actions)
    state.store.write(name, data)
    hint = Hint(
        version=version,
        size=len(actions) + sum(totals.rows.values()),
        size_in_bytes=len(data) + sidecar_bytes,
        num_of_add_files=totals.rows[AddFile.KEY],
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
    with parquet_writer(sink, CHECKPOINT_SCHEMA) as writer:
        writer.write_table(action_rows(actions, CHECKPOINT_SCHEMA))
    data: bytes = sink.getvalue().to_pybytes()
    return data
