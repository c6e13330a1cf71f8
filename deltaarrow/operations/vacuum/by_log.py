"""Candidates by the log alone: files that commits older than the retention have removed.

Nothing is listed. The age of a commit is that of its file, as in delta-spark, or its in-commit timestamp. The
commits after the last VACUUM that went by the log are read, up to the newest one
that is older than the retention, for removed files, their deletion vectors and change data files. Where the
log was cleaned up and does not reach back to that VACUUM, `is_strict` refuses it as delta-spark's LITE does;
otherwise the tombstones that the newest version remembers stand in for the commits, and what both have
forgotten is found by a full VACUUM alone.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from deltaarrow.actions import REMOVE_SCHEMA
from deltaarrow.columnar.numpy_arrays import empty_table
from deltaarrow.errors import VacuumError, VersionNotFoundError
from deltaarrow.log import LogState
from deltaarrow.log.last_vacuum import read_last_vacuum
from deltaarrow.log.removed_files import expired_in, removed_before
from deltaarrow.operations.vacuum.candidates import CANDIDATES, Candidates, Decision, distinct, whole
from deltaarrow.operations.vacuum.listing_names import listed_names, vector_names
from deltaarrow.operations.vacuum.needed import OF_TOMBSTONES, expired_tombstones, retained_tombstones
from deltaarrow.operations.vacuum.reasons import Reason
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import Store

__all__ = ["candidates_of_log"]

_TOMBSTONES = pa.schema([REMOVE_SCHEMA.field(name) for name in OF_TOMBSTONES])


def candidates_of_log(snapshot: Snapshot, cutoff_ms: int, *, is_strict: bool, with_kept: bool) -> Candidates:
    """Return the files that left the table before the cut-off, in milliseconds since the epoch.

    Raises `VacuumError` where the log does not have all of them and `is_strict` asks for that.
    """
    store = snapshot.store
    times = snapshot.commit_times()
    first = times.commits[0].version if times.commits else snapshot.version + 1
    done = read_last_vacuum(store)
    # A table that was made anew has a log of its own.
    start = 0 if done is None or done > snapshot.version else done + 1
    if start < first and is_strict:
        raise VacuumError(
            f"the log of {store.uri} was cleaned up: it begins with version {first}, and files that were"
            f" removed from version {start} on have not been deleted by the log yet. Give full=True, which"
            " lists the storage (Spark: DELTA_CANNOT_VACUUM_LITE)"
        )
    try:
        until = times.version_at(cutoff_ms - 1) if times.commits else -1
    except VersionNotFoundError:
        until = -1
    commits = [each for each in times.commits if start <= each.version <= until]
    removed = removed_before(store, commits, cutoff_ms)
    tables = [] if removed is None else [removed.files]
    if start < first:
        tables.append(_tombstones(snapshot, expired_tombstones, cutoff_ms))
    named = _files_named(store, tables)
    kept = []
    if with_kept:
        retained = _files_named(store, [_tombstones(snapshot, retained_tombstones, cutoff_ms)])
        kept.append(Decision.begin(retained.inside, Reason.RETAINED))
        complete = start - 1 if removed is None else removed.version
        late = [each for each in times.commits if each.version > complete]
        waiting = _files_named(store, [expired_in(store, late, cutoff_ms)])
        is_new = pc.invert(
            pc.is_in(waiting.inside.column("path"), value_set=whole(named.inside.column("path")))
        )
        kept.append(Decision.begin(waiting.inside.filter(is_new), Reason.COMMIT_RETAINED))
        elsewhere = distinct(pa.concat_tables([named.elsewhere, retained.elsewhere, waiting.elsewhere]))
        kept.append(Decision.begin(elsewhere, Reason.ELSEWHERE))
    return Candidates(
        files=named.inside,
        default=Reason.EXPIRED,
        kept=kept,
        has_absolute=named.has_absolute,
        through=removed.version if removed is not None and start >= first else None,
    )


def _tombstones(
    snapshot: Snapshot, read: Callable[[LogState, int], Iterator[pa.Table]], cutoff_ms: int
) -> pa.Table:
    return snapshot.state.through_cleanup(
        lambda state: pa.concat_tables([empty_table(_TOMBSTONES), *read(state, cutoff_ms)])
    )


class _Named(NamedTuple):
    """Files that actions name, each once: in the folder of the table and elsewhere."""

    inside: pa.Table
    elsewhere: pa.Table
    has_absolute: bool


def _files_named(store: Store, actions: Sequence[pa.Table]) -> _Named:
    has_absolute = False
    inside, elsewhere = [empty_table(CANDIDATES)], [empty_table(CANDIDATES)]
    for batch in (batch for table in actions for batch in table.to_batches()):
        spelled = batch.column("path")
        names = listed_names(store, spelled)
        has_absolute |= not names.equals(spelled)
        sizes = batch.column("size")
        if names.null_count:
            is_outside = pc.is_null(names)
            elsewhere.append(_candidates(spelled.filter(is_outside), sizes.filter(is_outside)))
            is_inside = pc.is_valid(names)
            names, sizes = names.filter(is_inside), sizes.filter(is_inside)
        inside.append(_candidates(names, sizes))
        vectors = vector_names(batch.column("deletion_vector"))
        names = listed_names(store, vectors)
        inside.append(_candidates(names.drop_null(), None))
        elsewhere.append(_candidates(vectors.filter(pc.is_null(names)), None))
    named = _Named(distinct(pa.concat_tables(inside)), distinct(pa.concat_tables(elsewhere)), has_absolute)
    # What sorting took would lie idle while the list of live files is read.
    pa.default_memory_pool().release_unused()
    return named


def _candidates(names: pa.Array, sizes: pa.Array | None) -> pa.Table:
    unknown = pa.nulls(len(names), pa.int64())
    return pa.Table.from_arrays([names, unknown if sizes is None else sizes, unknown], schema=CANDIDATES)
