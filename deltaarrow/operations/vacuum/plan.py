"""The plan of a VACUUM: candidates without needed, young and guarded files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaarrow.actions.arrow_tables import build_array
from deltaarrow.columnar.numpy_arrays import scalar_of, truths
from deltaarrow.log import LogState
from deltaarrow.operations.vacuum.by_log import candidates_of_log
from deltaarrow.operations.vacuum.candidates import Candidates, Decision, whole
from deltaarrow.operations.vacuum.folder_listing import list_candidates
from deltaarrow.operations.vacuum.guards import mark_guarded
from deltaarrow.operations.vacuum.inventory import candidates_of_inventory
from deltaarrow.operations.vacuum.listing_names import file_names
from deltaarrow.operations.vacuum.listing_tasks import list_unneeded
from deltaarrow.operations.vacuum.needed import Needed, expired_tombstones, find_needed, needed_sources
from deltaarrow.operations.vacuum.options import VacuumOptions, default_retention_ms
from deltaarrow.operations.vacuum.reasons import Reason
from deltaarrow.operations.vacuum.statuses import with_statuses
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import Store

__all__ = ["VacuumPlan", "old_folders", "plan_vacuum"]

_SECOND_MS = 1000
_CHANGE_DATA = "_change_data/"


@dataclass(frozen=True)
class VacuumPlan:
    """Candidates, and what is decided of them."""

    candidates: Candidates
    decision: Decision


def plan_vacuum(
    snapshot: Snapshot, options: VacuumOptions, cutoff_ms: int, kept: Sequence[Snapshot], with_kept: bool
) -> VacuumPlan:
    """Plan which files go; the cut-off is in milliseconds since the epoch.

    `kept` are versions whose files stay, `with_kept` asks for all files that stay as well. Raises what
    `candidates_of_log`, `candidates_of_inventory` and `needed_sources` raise.
    """
    # Checkpoints keep tombstones as long as the property says.
    asks_commits = options.retention_ms(snapshot.configuration) > default_retention_ms(snapshot.configuration)
    sources = needed_sources(snapshot, cutoff_ms, kept, asks_commits=asks_commits)
    needed: Needed | None = None
    if options.full and not with_kept:
        candidates, needed = list_unneeded(snapshot, sources, options.listed_here)
    elif options.full:
        candidates = list_candidates(snapshot, with_kept=True)
    elif options.inventory is not None:
        candidates = candidates_of_inventory(snapshot, options.inventory, with_kept=with_kept)
    else:
        candidates = candidates_of_log(snapshot, cutoff_ms, is_strict=options.lite, with_kept=with_kept)
    store, paths = snapshot.store, whole(candidates.files.column("path"))
    decision = Decision.begin(candidates.files, candidates.default)
    if options.by_storage:
        decision.mark(truths(pc.starts_with(paths, _CHANGE_DATA)), Reason.CHANGE_DATA)
        if with_kept:
            _mark_expired(snapshot, decision, paths, cutoff_ms)
    if not candidates.is_listing:
        mark_guarded(store, decision, has_absolute=candidates.has_absolute)
    if needed is None:
        needed = find_needed(sources, paths, with_others=candidates.is_listing)
    for reason, names in reversed(needed.reasons):
        decision.mark_named(names, reason)
    if options.by_storage:
        decision = _with_times(store, decision, candidates, needed, cutoff_ms, with_kept)
    if with_kept and options.full:
        candidates = replace(candidates, kept=[with_statuses(store, part)[0] for part in candidates.kept])
    return VacuumPlan(candidates, decision)


def _mark_expired(snapshot: Snapshot, decision: Decision, paths: pa.Array, cutoff_ms: int) -> None:
    names = snapshot.state.through_cleanup(
        lambda state: pa.table(
            [pa.chunked_array(_expired_names(snapshot, state, paths, cutoff_ms), pa.string())], ["name"]
        )
    )
    decision.mark_named(whole(names.column("name")), Reason.EXPIRED)


def _expired_names(snapshot: Snapshot, state: LogState, paths: pa.Array, cutoff_ms: int) -> list[pa.Array]:
    return [
        names.filter(pc.is_in(names, value_set=paths))
        for table in expired_tombstones(state, cutoff_ms)
        for names in file_names(snapshot.store, table)
    ]


def _with_times(
    store: Store,
    decision: Decision,
    candidates: Candidates,
    needed: Needed,
    cutoff_ms: int,
    with_kept: bool,
) -> Decision:
    """Keep young files, and those that a needed name leads to by another way."""
    is_asked = np.ones(len(decision.codes), bool) if with_kept else decision.goes
    decision, identities = with_statuses(store, decision, is_asked)
    times = decision.files.column("modified_ms")
    if not store.is_local:
        # S3 tells whole seconds: a file may be younger than it says by almost one.
        times = _latest(times)
    is_young = truths(whole(_is_young(times, cutoff_ms))) & decision.goes
    is_change = truths(whole(pc.starts_with(decision.files.column("path"), _CHANGE_DATA)))
    decision.mark(is_young & is_change, Reason.CHANGE_DATA_RETAINED)
    decision.mark(is_young & ~is_change, Reason.YOUNG)
    if candidates.is_listing and store.is_local:
        _keep_aliases(store, decision, candidates, needed, identities)
    return decision


def _is_young(times: pa.ChunkedArray, cutoff_ms: int) -> pa.ChunkedArray:
    """Whether files are not older than the cut-off; without a time they count as young."""
    is_young = pc.greater_equal(times, scalar_of(cutoff_ms, pa.int64()))
    return pc.fill_null(is_young, scalar_of(True, pa.bool_()))


def _latest(times: pa.ChunkedArray) -> pa.ChunkedArray:
    """The last moment at which files may have been modified whose times are whole seconds."""
    second = scalar_of(_SECOND_MS, pa.int64())
    is_whole = pc.equal(times, pc.multiply(pc.divide(times, second), second))
    return pc.if_else(is_whole, pc.add(times, scalar_of(_SECOND_MS - 1, pa.int64())), times)


def _keep_aliases(
    store: Store,
    decision: Decision,
    candidates: Candidates,
    needed: Needed,
    identities: Mapping[str, object],
) -> None:
    """Keep what a needed file is by another name: a link leads to it, or a file system folds its names."""
    links = build_array(sorted(candidates.links), pa.string())
    kept = decision.rows_of(~decision.goes).paths()
    names = links.filter(pc.is_in(links, value_set=kept)).to_pylist()
    wanted = {status.identity for status in store.statuses([*names, *needed.others]) if status is not None}
    if wanted:
        # Numbers of devices differ between hosts: this process asks for those of files that others listed.
        unasked = [name for name in decision.going().column("path").to_pylist() if name not in identities]
        found = zip(unasked, store.statuses(unasked), strict=True)
        known = {**identities, **{name: status.identity for name, status in found if status is not None}}
        same = [name for name, identity in known.items() if identity in wanted]
        decision.mark_named(build_array(same, pa.string()), Reason.LIVE)


def old_folders(store: Store, candidates: Candidates, cutoff_ms: int) -> tuple[str, ...]:
    """Return the empty folders that have not been touched since the cut-off, those in others first."""
    statuses = store.statuses(candidates.empty_folders)
    return tuple(
        folder
        for folder, status in zip(candidates.empty_folders, statuses, strict=True)
        if status is not None and status.modified_ms < cutoff_ms
    )
