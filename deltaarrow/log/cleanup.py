"""Deletion of expired log files: chapter "Metadata Cleanup" of the protocol.

1. The newest commit not younger than the cut-off, a midnight, is the oldest commit that must be kept.
2. The newest readable checkpoint at or before that commit is kept, with its commit and everything newer:
   every version from there on stays readable. Without such a checkpoint nothing is deleted.
3. Commits, checkpoints and version checksums before that checkpoint are deleted, and log compactions that
   begin there.
4. Sidecars that no checkpoint names are deleted, except young ones: their checkpoint may still be in writing.

The time of a commit is that of its file, made to increase from version to version as delta-spark does:
a file older than that of the previous version counts as one millisecond younger than it.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from deltaarrow.errors import CorruptLogError
from deltaarrow.log.checkpoints import open_checkpoint, read_sidecar_names
from deltaarrow.log.file_names import SIDECAR_FOLDER, LogFile, LogFileKind
from deltaarrow.log.listing import list_log
from deltaarrow.log.segment import Checkpoint, complete_checkpoints
from deltaarrow.storage import Store

__all__ = ["DAY_MS", "ExpiredLog", "clean_up_log", "find_expired", "midnight"]

DAY_MS = 24 * 60 * 60 * 1000


def midnight(time_ms: int) -> int:
    """Return the start of the day, in UTC, of a time in milliseconds since the epoch.

    >>> midnight(DAY_MS + 1) == midnight(2 * DAY_MS - 1) == DAY_MS
    True
    """
    return time_ms - time_ms % DAY_MS


@dataclass(frozen=True)
class ExpiredLog:
    """The log files that may be deleted: `files`, oldest first, all before the `checkpoint` that is kept."""

    checkpoint: Checkpoint
    files: Sequence[LogFile]


def find_expired(
    files: Sequence[LogFile], cutoff_ms: int, broken: Collection[Checkpoint] = ()
) -> ExpiredLog | None:
    """Find the expired files in a listing of the whole log; None when there is no checkpoint to keep.

    `cutoff_ms` is in milliseconds since the epoch. Checkpoints in `broken` cannot be kept ones.
    """
    commits = {file.version for file in files if file.kind is LogFileKind.COMMIT}
    # A checkpoint before a gap cannot make newer versions; older files may lead around the gap.
    first = max(commits, default=-1)
    while first - 1 in commits:
        first -= 1
    until = _newest_expired_commit(files, cutoff_ms)
    usable = [c for c in complete_checkpoints(files) if first - 1 <= c.version <= until]
    usable = [checkpoint for checkpoint in usable if checkpoint not in broken]
    if not usable:
        return None
    kept = usable[-1]

    def has_expired(file: LogFile) -> bool:
        # A compaction that begins before the checkpoint is useless after it.
        is_compaction = file.kind is LogFileKind.COMPACTION
        return file.start_version <= kept.version if is_compaction else file.version < kept.version

    expired = [file for file in files if has_expired(file)]
    return ExpiredLog(kept, sorted(expired, key=lambda file: (file.version, file.name)))


def _newest_expired_commit(files: Sequence[LogFile], cutoff_ms: int) -> int:
    """Return the newest version committed at `cutoff_ms` or before; -1 if there is none."""
    version, time = -1, -1
    for commit in sorted((f for f in files if f.kind is LogFileKind.COMMIT), key=lambda file: file.version):
        time = max(commit.entry.modified_ms, time + 1)
        if time > cutoff_ms:
            break
        version = commit.version
    return version


def clean_up_log(
    store: Store,
    *,
    now_ms: int,
    retention_ms: int,
    protected_before: int = 0,
    granularity_ms: int = DAY_MS,
) -> list[str]:
    """Delete log files older than the retention, and unreferenced sidecars; return their names.

    The cut-off is `now_ms` minus `retention_ms`, rounded down to the midnight before, or to another multiple
    of `granularity_ms`. If checkpoints before `protected_before`
    are protected, either everything before that version is deleted at once or nothing is.
    """
    files = list_log(store)
    cutoff = now_ms - retention_ms
    expired = _find_readable(store, files, cutoff - cutoff % granularity_ms)
    deleted: list[str] = []
    if expired is not None and expired.checkpoint.version >= protected_before:
        # Oldest first: if this is interrupted, the newest of the older versions remain.
        deleted = [file.name for file in expired.files]
        for name in deleted:
            store.delete(name)
    return deleted + _clean_up_sidecars(store, midnight(now_ms) - DAY_MS)


def _find_readable(store: Store, files: Sequence[LogFile], cutoff_ms: int) -> ExpiredLog | None:
    """Find what has expired before a checkpoint, after checking that the checkpoint can be read."""
    broken: list[Checkpoint] = []
    while (expired := find_expired(files, cutoff_ms, broken)) is not None and expired.files:
        try:
            open_checkpoint(store, expired.checkpoint)
        except CorruptLogError:
            broken.append(expired.checkpoint)
        else:
            return expired
    return None


def _clean_up_sidecars(store: Store, older_than_ms: int) -> list[str]:
    # Listed before the checkpoints, so that a checkpoint written meanwhile is not missed.
    old = [entry.name for entry in store.list_from(SIDECAR_FOLDER) if entry.modified_ms < older_than_ms]
    if not old:
        return []
    named: set[str] = set()
    for file in list_log(store):
        if file.is_checkpoint:
            try:
                named.update(read_sidecar_names(store, file))
            except CorruptLogError:
                # It may name any of them.
                return []
    unnamed = [name for name in old if name.rpartition("/")[2] not in named]
    for name in unnamed:
        store.delete(name)
    return unnamed
