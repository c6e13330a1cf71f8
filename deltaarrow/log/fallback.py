"""Fallback for a broken or missing checkpoint: another checkpoint, or the commits alone.

A checkpoint only repeats the commits, so any other way to the same version gives the same table; delta-spark
does the same. The broken file is logged as a warning, and `verify` reports it. If nothing else leads to the
version, the error of the newest checkpoint is raised.
"""

from collections.abc import Sequence

from deltaarrow.compute import prepare_files
from deltaarrow.errors import CorruptLogError, StorageSystemError, TableNotFoundError, VersionNotFoundError
from deltaarrow.log.checkpoints import CheckpointHead, open_checkpoint
from deltaarrow.log.file_names import LogFileKind
from deltaarrow.log.listing import list_log
from deltaarrow.log.segment import LARGE_CHECKPOINT, Checkpoint, LogSegment, select_segment
from deltaarrow.storage import Store

__all__ = ["open_segment", "segment_listed_again"]


def open_segment(
    store: Store, segment: LogSegment, *, falls_back: bool = True
) -> tuple[LogSegment, CheckpointHead]:
    """Open the checkpoint of a segment; if it is broken, that of another segment of the same version.

    Raises `CorruptLogError`, naming the file, if nothing that can be read makes the version or, without
    without `falls_back`, if the first checkpoint cannot be opened.
    """
    failures: list[CorruptLogError | StorageSystemError] = []
    broken: set[str] = set()
    while segment.checkpoint is not None:
        if _is_large(segment.checkpoint):
            prepare_files(store)
        try:
            head = open_checkpoint(store, segment.checkpoint)
        except (CorruptLogError, StorageSystemError) as error:
            failures.append(error)
            if not falls_back:
                raise
            # One broken part is enough: a part belongs to one checkpoint only.
            broken.add(segment.checkpoint.files[0].name)
            other = _without(store, segment.version, broken)
            if other is None:
                raise failures[0] from None
            segment = other
        else:
            break
    else:
        head = CheckpointHead()
    if failures:
        _warn(segment, failures)
    return segment, head


def _is_large(checkpoint: Checkpoint) -> bool:
    # Most of a V2 checkpoint is in sidecars, which writers seldom use for few files.
    if checkpoint.kind is LogFileKind.UUID_CHECKPOINT:
        return True
    return sum(file.entry.size for file in checkpoint.files) > LARGE_CHECKPOINT


def _warn(segment: LogSegment, failures: Sequence[Exception]) -> None:
    import logging

    for failure in failures:
        base = "the first commit" if segment.checkpoint is None else segment.checkpoint.files[0].name
        logging.getLogger(__name__).warning(
            "version %d is read from %s on, because %s", segment.version, base, failure
        )


def _without(store: Store, version: int, broken: set[str]) -> LogSegment | None:
    try:
        return select_segment([file for file in list_log(store) if file.name not in broken], version)
    except (CorruptLogError, TableNotFoundError, VersionNotFoundError):
        return None


def segment_listed_again(
    store: Store, segment: LogSegment, head: CheckpointHead, error: CorruptLogError
) -> LogSegment:
    """Return the current segment of a version after its checkpoint was deleted or rewritten.

    Raises `error`, the failure to read the checkpoint, if the checkpoint is unchanged or nothing leads to the
    version any more, and `VersionNotFoundError` if the log now begins with a newer version.
    """
    is_there = all(store.exists(name) for files in head.files for name in files.names)
    try:
        found = select_segment(list_log(store), segment.version)
    except (CorruptLogError, TableNotFoundError):
        raise error from None
    if is_there and found.checkpoint == segment.checkpoint:
        raise error
    return found
