"""Keeping the log small: checkpoints, log compactions and metadata cleanup, on demand and after commits.

Chapters "Checkpoints", "Log Compaction Files" and "Metadata Cleanup" of the protocol, and its RFC "Checkpoint
Protection".
"""

from collections.abc import Mapping
from datetime import timedelta

from deltaarrow.actions import Metadata, Protocol
from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.features import find_feature, is_supported, properties, supported_features
from deltaarrow.features.registry import WRITER_FEATURES_VERSION
from deltaarrow.log import (
    LogState,
    ManifestFormat,
    clean_up_log,
    compact_logs as write_compaction,
    list_segment,
    replay,
    write_checkpoint,
)
from deltaarrow.operations.commit_properties import PostCommitHookProperties
from deltaarrow.runtime.clock import Clock, system_clock
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import Store
from deltaarrow.transaction import CommittedTransaction, PostCommitHook

__all__ = ["cleanup_metadata", "compact_logs", "create_checkpoint", "maintenance_hook"]


def create_checkpoint(
    store: Store,
    version: int,
    *,
    known: Snapshot | None = None,
    manifest_format: ManifestFormat = "parquet",
    clock: Clock = system_clock,
) -> str:
    """Write a checkpoint of `version` and the hint to it; return its store name.

    The table's properties say whether it is a classic or a V2 one, whose manifest is in the given format,
    and which statistics it holds. What is `known` of the table, at whichever version, is not read again.

    Raises `UnsupportedFeatureError` for a table that this release must not maintain, for a version whose
    checkpoint is protected, and where fields of actions would be lost that this release does not know.
    """
    state = newest = _newest(store, "checkpoint", known)
    if newest.segment.version != version:
        state = replay(store, list_segment(store, version), newest)
        _ensure_maintainable(store, state.protocol, "checkpoint")
        if version < (protected := _protected_before(newest.metadata)):
            raise UnsupportedFeatureError(
                f"no checkpoint of version {version} of {store.uri} can be written:"
                f" {properties.REQUIRE_CHECKPOINT_PROTECTION_BEFORE_VERSION.name} is {protected}",
                feature="checkpointProtection",
            )
    return write_checkpoint(state, manifest_format=manifest_format, clock=clock)


def compact_logs(store: Store, first: int, last: int) -> str:
    """Write the log compaction of the versions `first` to `last`, both included; return its store name.

    Raises what `deltaarrow.log.compact_logs` raises, and `UnsupportedFeatureError` for a table that this
    release must not maintain.
    """
    _newest(store, "compact the log of")
    return write_compaction(store, first, last)


def cleanup_metadata(store: Store, *, clock: Clock = system_clock) -> list[str]:
    """Delete what the log holds beyond `delta.logRetentionDuration`; return the names of the files.

    Every version stays readable that is not older than the newest checkpoint from before the retention;
    without such a checkpoint nothing is deleted. The retention ends at a midnight, UTC.

    Raises `UnsupportedFeatureError` for a table that this release must not maintain.
    """
    metadata = _newest(store, "clean up the log of").metadata
    return clean_up_log(
        store,
        now_ms=clock(),
        retention_ms=properties.LOG_RETENTION.parse(metadata.configuration) // timedelta(milliseconds=1),
        protected_before=_protected_before(metadata),
    )


def maintenance_hook(
    configuration: Mapping[str, str],
    wanted: PostCommitHookProperties | None = None,
    *,
    clock: Clock = system_clock,
) -> PostCommitHook:
    """Return the hook that keeps the log of a table with these properties small.

    It writes a checkpoint every `delta.checkpointInterval` commits, and cleans up after it where
    `delta.enableExpiredLogCleanup` is on. `wanted` may turn off both, or have it clean up every time.
    """
    wanted = wanted or PostCommitHookProperties()
    interval = properties.CHECKPOINT_INTERVAL.parse(configuration)
    cleans_up = wanted.cleanup_expired_logs
    if cleans_up is None:
        cleans_up = wanted.create_checkpoint and properties.ENABLE_EXPIRED_LOG_CLEANUP.parse(configuration)

    def maintain_log(done: CommittedTransaction) -> None:
        is_due = done.version > 0 and done.version % interval == 0
        if is_due and wanted.create_checkpoint:
            create_checkpoint(done.store, done.version, known=done.previous, clock=clock)
        if cleans_up and (is_due or wanted.cleanup_expired_logs):
            cleanup_metadata(done.store, clock=clock)

    return maintain_log


def _newest(store: Store, doing: str, known: Snapshot | None = None) -> LogState:
    state = replay(store, list_segment(store), None if known is None else known.state)
    _ensure_maintainable(store, state.protocol, doing)
    return state


def _ensure_maintainable(store: Store, protocol: Protocol, doing: str) -> None:
    """Refuse tables whose rules for the log are not known, or that others maintain."""
    names = [name for name in supported_features(protocol) if find_feature(name) is None]
    names += [
        name for name in ("catalogManaged", "coordinatedCommits-preview") if is_supported(protocol, name)
    ]
    if protocol.min_writer_version > WRITER_FEATURES_VERSION:
        names.append(f"minWriterVersion={protocol.min_writer_version}")
    if names:
        listed = ", ".join(names)
        raise UnsupportedFeatureError(
            f"cannot {doing} {store.uri}: its protocol asks for {listed}, with which this release does not"
            " maintain a log",
            feature=listed,
        )


def _protected_before(metadata: Metadata) -> int:
    return properties.REQUIRE_CHECKPOINT_PROTECTION_BEFORE_VERSION.parse(metadata.configuration)
