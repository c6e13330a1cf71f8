"""What to begin with when a checkpoint cannot be opened, or is gone: another one, or the commits alone.

A checkpoint only repeats what commits have said, so any other way to the same version gives the same
table; delta-spark goes it as well. What is broken is logged as a warning, and `verify` reports it. Where
nothing else leads to the version, the error of the newest checkpoint is raised.
"""

from collections.abc import Sequence

from deltaarrow.compute import prepare_files
from deltaarrow.errors import CorruptLogError, StorageSystemError, TableNotFoundError, VersionNotFoundError
from deltaarrow.log.checkpoints import CheckpointHead, open_checkpoint
from deltaarrow.log.listing import list_log
from deltaarrow.log.names import LogFileKind
from deltaarrow.log.segment import LARGE_CHECKPOINT, Checkpoint, LogSegment, select_segment
from deltaarrow.storage import Store

__all__ = ["open_segment", "segment_listed_again"]


def open_segment(
    store: Store, segment: LogSegment, *, falls_back: bool = True
) -> tuple[LogSegment, CheckpointHead]:
    """Open the checkpoint of a segment, or that of another segment of its version if it is broken.

    Raises `CorruptLogError`, naming the file, when there is none that can be opened or, without
    `falls_back`, when the first one cannot.
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
            # One broken part is enough, and parts are of one checkpoint only.
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
    # Most of a V2 checkpoint is in sidecars, which are seldom written for few files.
    if checkpoint.kind is LogFileKind.UUID_CHECKPOINT:
        return True
    return sum(file.entry.size for file in checkpoint.files) > LARGE_CHECKPOINT


def _warn(segment: LogSegment, failures: Sequence[Exception]) -> None:
    import logging

    for failure in failures:
        base = "the first commit" if segment.checkpoint is None else segment.checkpoint.files[0].name
        logging.getLogger(__name__).warning(
            "version %d is read from %s on, since %s", segment.version, base, failure
        )


def _without(store: Store, version: int, broken: set[str]) -> LogSegment | None:
    try:
        return select_segment([file for file in list_log(store) if file.name not in broken], version)
    except (CorruptLogError, TableNotFoundError, VersionNotFoundError):
        return None


def segment_listed_again(
    store: Store, segment: LogSegment, head: CheckpointHead, error: CorruptLogError
) -> LogSegment:
    """Return what leads to the version of a segment now, once its checkpoint was cleaned up or written again.

    Raises `error`, by which the checkpoint could not be read, where it is the same as before or nothing leads
    to the version, and `VersionNotFoundError` where the log begins with a newer one.
    """
    is_there = all(store.exists(name) for files in head.files for name in files.names)
    try:
        found = select_segment(list_log(store), segment.version)
    except (CorruptLogError, TableNotFoundError):
        raise error from None
    if is_there and found.checkpoint == segment.checkpoint:
        raise error
    return found
