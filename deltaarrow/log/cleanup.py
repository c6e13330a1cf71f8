"""Deleting the log files that have expired: chapter "Metadata Cleanup" of the protocol.

1. The newest commit that is not younger than the cut-off, a midnight, is the oldest one to be kept.
2. The newest checkpoint at or before it that can be read is kept, with its commit and all that is newer: each
   version from there on can be read as before. Without such a checkpoint nothing is deleted.
3. Before it go commits, checkpoints and version checksums, and the log compactions that begin there.
4. Of the sidecars go those that no checkpoint names, but for young ones: their checkpoint may be on its way.

The time of a commit is that of its file, made to increase from version to version as delta-spark does it:
a file that is older than that of the version before counts as a millisecond younger than that.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from deltaarrow.errors import CorruptLogError
from deltaarrow.log.checkpoints import open_checkpoint, read_sidecar_names
from deltaarrow.log.listing import list_log
from deltaarrow.log.names import SIDECAR_FOLDER, LogFile, LogFileKind
from deltaarrow.log.segment import Checkpoint, complete_checkpoints
from deltaarrow.storage import Store

__all__ = ["DAY_MS", "ExpiredLog", "clean_up_log", "find_expired", "midnight"]

DAY_MS = 24 * 60 * 60 * 1000


def midnight(time_ms: int) -> int:
    """Return the beginning of the day, in UTC, of a time in milliseconds since the epoch.

    >>> midnight(DAY_MS + 1) == midnight(2 * DAY_MS - 1) == DAY_MS
    True
    """
    return time_ms - time_ms % DAY_MS


@dataclass(frozen=True)
class ExpiredLog:
    """What may be deleted of a log: `files`, oldest first, all before the `checkpoint` that is kept."""

    checkpoint: Checkpoint
    files: Sequence[LogFile]


def find_expired(
    files: Sequence[LogFile], cutoff_ms: int, broken: Collection[Checkpoint] = ()
) -> ExpiredLog | None:
    """Find what has expired in a listing of the whole log; None when there is no checkpoint to keep.

    `cutoff_ms` is in milliseconds since the epoch. Checkpoints that are `broken` are none to rely on.
    """
    commits = {file.version for file in files if file.kind is LogFileKind.COMMIT}
    # With a gap after it, a checkpoint leads nowhere; what is older may lead around the gap.
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
        # A compaction that begins before the checkpoint is of no use after it.
        is_compaction = file.kind is LogFileKind.COMPACTION
        return file.start_version <= kept.version if is_compaction else file.version < kept.version

    expired = [file for file in files if has_expired(file)]
    return ExpiredLog(kept, sorted(expired, key=lambda file: (file.version, file.name)))


def _newest_expired_commit(files: Sequence[LogFile], cutoff_ms: int) -> int:
    """Return the newest version that was committed at `cutoff_ms` or before; -1 when none was."""
    version, time = -1, -1
    for commit in sorted((f for f in files if f.kind is LogFileKind.COMMIT), key=lambda file: file.version):
        time = max(commit.entry.modified_ms, time + 1)
        if time > cutoff_ms:
            break
        version = commit.version
    return version


def clean_up_log(store: Store, *, now_ms: int, retention_ms: int, protected_before: int = 0) -> list[str]:
    """Delete what is older than the retention, and sidecars that nothing refers to; return their names.

    The cut-off is the midnight before `now_ms` less `retention_ms`. Where checkpoints before a version are
    protected, all before that version is deleted at once or nothing is.
    """
    files = list_log(store)
    expired = _find_readable(store, files, midnight(now_ms - retention_ms))
    deleted: list[str] = []
    if expired is not None and expired.checkpoint.version >= protected_before:
        # The oldest first: whenever this ends, what is left of the older versions is the newest of them.
        deleted = [file.name for file in expired.files]
        for name in deleted:
            store.delete(name)
    return deleted + _clean_up_sidecars(store, midnight(now_ms) - DAY_MS)


def _find_readable(store: Store, files: Sequence[LogFile], cutoff_ms: int) -> ExpiredLog | None:
    """Find what has expired before a checkpoint that is proven to be readable."""
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
    # Listed before the checkpoints are, so that none is missed that is written meanwhile.
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
