"""Listing of ``_delta_log``, and selection of the segment of a version.

The hint in ``_last_checkpoint`` saves listing the files before the newest checkpoint. When the hint is
wrong, the whole folder is listed. Chapter "Last Checkpoint File" of the protocol.
"""

import contextlib
from collections.abc import Iterable

from deltaarrow.errors import TableNotFoundError, VersionNotFoundError
from deltaarrow.log.file_names import LOG_FOLDER, LogFile, LogFileKind, parse_log_file, version_prefix
from deltaarrow.log.last_checkpoint import read_hint
from deltaarrow.log.limits import DEFAULT_LIMITS, LogLimits
from deltaarrow.log.segment import LogSegment, complete_checkpoints, extend_segment, select_segment
from deltaarrow.storage import Store

__all__ = ["has_versions", "list_log", "list_newer", "list_segment"]


def list_log(store: Store, start_version: int = 0) -> list[LogFile]:
    """List the files of the log from `start_version` on, ascending by name."""
    start = version_prefix(start_version) if start_version else ""
    entries = store.list_from(LOG_FOLDER, start)
    return [file for entry in entries if (file := parse_log_file(entry)) is not None]


def has_versions(files: Iterable[LogFile]) -> bool:
    """Whether files of a log are those of a table.

    Version checksums alone are not: a writer may put one just after the table was dropped.
    """
    return any(file.kind is not LogFileKind.VERSION_CHECKSUM for file in files)


def list_segment(store: Store, version: int | None = None) -> LogSegment:
    """List the log and select the files that make `version` (None: the newest).

    Raises `TableNotFoundError`, `VersionNotFoundError` or `CorruptLogError`; see
    `deltaarrow.log.segment.select_segment`.
    """
    hint = read_hint(store)
    if hint is not None and (version is None or version >= hint):
        files = list_log(store, hint)
        usable = (version is None or c.version <= version for c in complete_checkpoints(files))
        if any(usable):
            # List the whole log only for the error message, which names all versions that exist.
            with contextlib.suppress(VersionNotFoundError):
                return select_segment(files, version)
    files = list_log(store)
    try:
        return select_segment(files, version)
    except TableNotFoundError:
        raise TableNotFoundError(f"{store.uri} is not a Delta table: {LOG_FOLDER} holds no commit") from None


def list_newer(store: Store, segment: LogSegment, limits: LogLimits = DEFAULT_LIMITS) -> LogSegment:
    """List the log from a segment's version on and return the segment of the newest version.

    Usually this is the same segment with new commits at its end. When there are many of them, the log is
    listed as in `list_segment`, to find a checkpoint written meanwhile.
    """
    longer = extend_segment(segment, list_log(store, segment.version))
    if longer is None or (longer is not segment and len(longer.deltas) > limits.longest_tail):
        return list_segment(store)
    return longer
