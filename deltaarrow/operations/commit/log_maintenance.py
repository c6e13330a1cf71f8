"""Log maintenance: checkpoints, log compactions and metadata cleanup, on demand and after commits.

Chapters "Checkpoints", "Log Compaction Files" and "Metadata Cleanup" of the protocol, and its RFC "Checkpoint
Protection".
"""

from collections.abc import Mapping
from datetime import timedelta

import deltaarrow.log as log
from deltaarrow.actions import Metadata, Protocol
from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.features import find_feature, is_supported, properties, supported_features
from deltaarrow.features.registry import WRITER_FEATURES_VERSION
from deltaarrow.log import LogState, is_catalog_store, list_segment, replay
from deltaarrow.operations.commit.catalog_policy import ensure_maintenance_allowed, is_maintenance_allowed
from deltaarrow.runtime.clock import Clock, system_clock
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import Store
from deltaarrow.transaction import CommittedTransaction, PostCommitHook, PostCommitHookProperties

__all__ = ["cleanup_metadata", "compact_logs", "create_checkpoint", "maintenance_hook"]


def create_checkpoint(
    store: Store,
    version: int,
    *,
    known: Snapshot | None = None,
    manifest_format: "log.ManifestFormat" = "parquet",
    clock: Clock = system_clock,
) -> str:
    """Write a checkpoint of `version` and its ``_last_checkpoint`` hint; return the checkpoint's store name.

    Table properties select a classic or a V2 checkpoint and the statistics in it; `manifest_format` is the
    format of a V2 manifest. `known` is a snapshot of any version of the table, whose content is not read
    again.

    Raises `UnsupportedFeatureError` for a table whose log this release must not maintain, for a version whose
    checkpoint is protected, and for actions with fields unknown to this release, which would be lost.
    """
    state = newest = _newest(store, "checkpoint", known)
    if newest.segment.version != version:
        state = replay(store, list_segment(store, version), newest)
        _ensure_maintainable(store, state.protocol, "checkpoint")
        if version < (protected := _protected_before(newest.metadata)):
            raise UnsupportedFeatureError(
                f"no checkpoint of version {version} of {store.uri} can be written, because the property"
                f" {properties.REQUIRE_CHECKPOINT_PROTECTION_BEFORE_VERSION.name} is {protected};"
                f" choose version {protected} or later",
                feature="checkpointProtection",
            )
    return log.write_checkpoint(state, manifest_format=manifest_format, clock=clock)


def compact_logs(store: Store, first: int, last: int) -> str:
    """Write the log compaction of the versions `first` to `last`, both included; return its store name.

    Raises the exceptions of `deltaarrow.log.compact_logs`, and `UnsupportedFeatureError` for a table whose
    log this release must not maintain.
    """
    _newest(store, "compact the log of")
    return log.compact_logs(store, first, last)


def cleanup_metadata(store: Store, *, clock: Clock = system_clock) -> list[str]:
    """Delete log files older than `delta.logRetentionDuration`; return their names.

    The newest checkpoint older than the retention period and all later versions stay readable; without such a
    checkpoint, nothing is deleted. The cut-off is rounded to midnight UTC.

    Raises `UnsupportedFeatureError` for a table whose log this release must not maintain.
    """
    ensure_maintenance_allowed(store, "clean up the log of")
    metadata = _newest(store, "clean up the log of").metadata
    return log.clean_up_log(
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
    """Return the post-commit hook that maintains the log of a table with these properties.

    The hook writes a checkpoint every `delta.checkpointInterval` commits and then cleans up if
    `delta.enableExpiredLogCleanup` is on. `wanted` can turn off both, or request a cleanup after every
    commit.
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
        if cleans_up and (is_due or wanted.cleanup_expired_logs) and is_maintenance_allowed(done.store):
            cleanup_metadata(done.store, clock=clock)

    return maintain_log


def _newest(store: Store, doing: str, known: Snapshot | None = None) -> LogState:
    state = replay(store, list_segment(store), None if known is None else known.state)
    _ensure_maintainable(store, state.protocol, doing)
    if is_catalog_store(store) and store.committing_catalog is not None:
        store.publish()  # checkpoints and compactions are for published versions
    return state


def _ensure_maintainable(store: Store, protocol: Protocol, doing: str) -> None:
    """Raise for a table with unknown rules for the log, or whose catalog cannot be asked about it."""
    names = [name for name in supported_features(protocol) if find_feature(name) is None]
    catalog = store.committing_catalog if is_catalog_store(store) else None
    refused = ("coordinatedCommits-preview", *(() if catalog is not None else ("catalogManaged",)))
    names += [name for name in refused if is_supported(protocol, name)]
    if protocol.min_writer_version > WRITER_FEATURES_VERSION:
        names.append(f"minWriterVersion={protocol.min_writer_version}")
    if names:
        listed = ", ".join(names)
        raise UnsupportedFeatureError(
            f"cannot {doing} {store.uri}: its protocol requires {listed}, and this release does not maintain"
            " logs of such tables; use the engine that wrote the table",
            feature=listed,
        )


def _protected_before(metadata: Metadata) -> int:
    return properties.REQUIRE_CHECKPOINT_PROTECTION_BEFORE_VERSION.parse(metadata.configuration)
