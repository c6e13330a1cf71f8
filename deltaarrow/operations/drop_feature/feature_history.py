"""The log history of a feature: versions that need it, and their early deletion.

Chapter "Metadata Cleanup". A reader that does not know a feature must not meet it when it travels in time.
"""

from datetime import timedelta

from deltaarrow.features import properties
from deltaarrow.log import LogFileKind, clean_up_log, list_log, read_commits
from deltaarrow.log.checkpoints import read_sidecar_names
from deltaarrow.log.segment import complete_checkpoints
from deltaarrow.operations.drop_feature.cleaning import Cleaning
from deltaarrow.runtime.clock import Clock
from deltaarrow.snapshot import Snapshot

__all__ = ["expire_log", "history_needs", "oldest_version"]

_MINUTE_MS = 60_000
_WINDOW = 64
"""Commits read at a time."""

_OF_ACTIONS = (LogFileKind.COMMIT, LogFileKind.COMPACTION)


def expire_log(snapshot: Snapshot, clock: Clock) -> list[str]:
    """Delete log files that are older than the retention of TRUNCATE HISTORY; return their names.

    The cut-off is rounded down to a minute. If checkpoints are protected, either everything before the
    protected version is deleted at once or nothing is.
    """
    configuration = snapshot.configuration
    retention = properties.DROP_FEATURE_RETENTION.parse(configuration)
    return clean_up_log(
        snapshot.store,
        now_ms=clock(),
        retention_ms=retention // timedelta(milliseconds=1),
        protected_before=properties.REQUIRE_CHECKPOINT_PROTECTION_BEFORE_VERSION.parse(configuration),
        granularity_ms=_MINUTE_MS,
    )


def history_needs(cleaning: Cleaning, snapshot: Snapshot) -> bool:
    """Whether a version that the log still tells of needs a feature.

    Looked at are the table as the oldest checkpoint has it, and every commit. Tombstones of that checkpoint
    do not matter to readers. Raises `CorruptLogError` for a log that cannot be read.
    """
    store = snapshot.store
    files = [file for file in list_log(store) if file.version <= snapshot.version]
    if cleaning.writes_checkpoints_of_its_own and any(
        file.kind is LogFileKind.UUID_CHECKPOINT or (file.is_checkpoint and read_sidecar_names(store, file))
        for file in files
    ):
        return True
    checkpoints = complete_checkpoints(files)
    if checkpoints and _needs(cleaning, Snapshot.load(store, checkpoints[0].version, known=snapshot)):
        return True
    names = [file.name for file in files if file.kind in _OF_ACTIONS]
    for start in range(0, len(names), _WINDOW):
        for actions in read_commits(store, names[start : start + _WINDOW]):
            bodies = ((key, body) for action in actions for key, body in action.items() if body is not None)
            if any(cleaning.shows(key, body) for key, body in bodies):
                return True
    return False


def _needs(cleaning: Cleaning, snapshot: Snapshot) -> bool:
    metadata = snapshot.metadata
    body = {"configuration": metadata.configuration, "schemaString": metadata.schema_string}
    if cleaning.shows("metaData", body):
        return True
    vectors = snapshot.files(columns=["deletion_vector"]).column("deletion_vector")
    return len(vectors) > vectors.null_count and cleaning.shows("add", {"deletionVector": {}})


def oldest_version(snapshot: Snapshot) -> int:
    """Return the oldest version that the log has a commit or a checkpoint of."""
    files = list_log(snapshot.store)
    return min(file.start_version for file in files if file.kind in _OF_ACTIONS or file.is_checkpoint)
