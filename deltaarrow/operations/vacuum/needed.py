"""Files that a VACUUM keeps: of the newest version, of recent tombstones, and of versions to keep.

The log is read a part at a time and held against the candidates, so that a table of any number of files takes
little memory. The list of live files must be the whole list: it is held against the version checksum.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaarrow.actions import AddFile, RemoveFile
from deltaarrow.columnar.numpy_arrays import booleans, scalar_of, truths
from deltaarrow.log import LogState
from deltaarrow.log.file_sources import stream_files
from deltaarrow.log.removed_files import read_removed_files
from deltaarrow.operations.vacuum.listing_names import file_names
from deltaarrow.operations.vacuum.reasons import Reason
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import Store

__all__ = [
    "OF_TOMBSTONES",
    "Held",
    "Needed",
    "NeededSource",
    "expired_tombstones",
    "find_needed",
    "held_against",
    "needed_sources",
    "retained_tombstones",
]

_OF_ADDS = ("path", "size", "deletion_vector")
OF_TOMBSTONES = ("path", "size", "deletion_timestamp", "deletion_vector")
"""The columns of tombstones here."""


@dataclass(frozen=True)
class Needed:
    """What is needed of some candidates.

    Attributes:
        reasons: the candidates by reason; those of a reason that comes first stay for it.
        others: names of needed files that are no candidates.
    """

    reasons: list[tuple[Reason, pa.Array]] = field(default_factory=list)
    others: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class NeededSource:
    """Files that are needed for one reason, as a version of the log has them.

    Args:
        reason: why they are needed.
        state: the version.
        read: reads the actions that name them, a part at a time.
    """

    reason: Reason
    state: LogState
    read: Callable[[LogState], Iterable[pa.Table]]

    def through(self, take: Callable[[Iterator[pa.Array]], object]) -> Any:
        """Return what `take` makes of the names of the files, as a listing has them.

        NULL stands for a file outside the table. After a cleanup of the log `take` is called again, for all
        names.
        """
        return self.state.through_cleanup(lambda state: take(_names(state.store, self.read(state))))


def needed_sources(
    snapshot: Snapshot, cutoff_ms: int, kept: Sequence[Snapshot] = (), *, asks_commits: bool = False
) -> list[NeededSource]:
    """Return what the newest version, younger tombstones and the versions to keep need.

    `asks_commits` says that a checkpoint may have dropped tombstones which are not older than the cut-off, so
    that the commits are asked for them.

    Reading them raises `CorruptLogError` where the list of files of a version is not whole, and
    `CorruptDeletionVectorError` for a vector whose file has no name.
    """
    state = snapshot.state
    sources = [
        NeededSource(Reason.LIVE, state, _live_files),
        NeededSource(Reason.RETAINED, state, lambda state: retained_tombstones(state, cutoff_ms)),
    ]
    if asks_commits:
        sources.append(NeededSource(Reason.RETAINED, state, lambda _: _removed_since(snapshot, cutoff_ms)))
    return sources + [NeededSource(Reason.KEPT_VERSION, version.state, _live_files) for version in kept]


def find_needed(
    sources: Sequence[NeededSource], candidates: pa.Array, *, with_others: bool = False
) -> Needed:
    """Find which candidates are needed.

    `candidates` are names as a listing has them; `with_others` asks for the names of needed files too that
    are none of them.
    """
    found = Needed()
    for source in sources:
        held = source.through(lambda names: held_against(candidates, names, with_others=with_others))
        found.reasons.append((source.reason, candidates.filter(booleans(held.is_needed))))
        found.others.extend(held.others)
    return found


def _live_files(state: LogState) -> Iterator[pa.Table]:
    return stream_files(state, AddFile.KEY, _OF_ADDS)


def retained_tombstones(state: LogState, cutoff_ms: int) -> Iterator[pa.Table]:
    """Yield the tombstones that are not older than the cut-off, in milliseconds since the epoch."""
    for table in stream_files(state, RemoveFile.KEY, OF_TOMBSTONES):
        yield table.filter(pc.greater_equal(_times(table), scalar_of(cutoff_ms, pa.int64())))


def _removed_since(snapshot: Snapshot, cutoff_ms: int) -> Iterator[pa.Table]:
    """Yield what the commits after the cut-off have removed."""
    times = snapshot.commit_times()
    first = times.version_since(cutoff_ms)
    for commit in times.commits:
        if first is not None and commit.version >= first:
            yield read_removed_files(snapshot.store, commit.name)


def expired_tombstones(state: LogState, cutoff_ms: int) -> Iterator[pa.Table]:
    """Yield the others; a tombstone without a time is one of them."""
    for table in stream_files(state, RemoveFile.KEY, OF_TOMBSTONES):
        yield table.filter(pc.less(_times(table), scalar_of(cutoff_ms, pa.int64())))


def _times(tombstones: pa.Table) -> pa.ChunkedArray:
    return pc.fill_null(tombstones.column("deletion_timestamp"), scalar_of(0, pa.int64()))


def _names(store: Store, actions: Iterable[pa.Table]) -> Iterator[pa.Array]:
    for table in actions:
        yield from file_names(store, table)


class Held(NamedTuple):
    """Which of some candidates are needed, as a mask, and the needed names that are none of them."""

    is_needed: np.ndarray
    others: list[str]


def held_against(candidates: pa.Array, names: Iterable[pa.Array], *, with_others: bool) -> Held:
    """Return which candidates are needed; names outside the table do not count."""
    held = Held(np.zeros(len(candidates), bool), [])
    for array in names:
        inside = array.drop_null()
        # A hash table of one part of the names is small; one of all candidates would be built for each part.
        found = pc.is_in(candidates, value_set=inside)
        held.is_needed[truths(found)] = True
        if with_others:
            is_other = pc.invert(pc.is_in(inside, value_set=candidates.filter(found)))
            held.others.extend(inside.filter(is_other).to_pylist())
    return held
