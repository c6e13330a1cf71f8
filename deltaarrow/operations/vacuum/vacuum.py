"""VACUUM: carries out the plan and commits its start and end.

1. The newest version is opened, and its whole protocol is checked before anything else.
2. Candidates are found, and what is needed of them is taken out. A dry run ends here.
3. ``VACUUM START`` is committed. Whoever is killed from here on leaves files that the next VACUUM finds.
4. The log is looked at again: what others have committed since the first step keeps its files.
5. Files are deleted, many at a time. One that cannot be deleted is reported, and the rest goes on.
6. ``VACUUM END`` is committed, and the log notes how far a VACUUM by the log has come.

Nothing is committed where there is nothing to delete. Chapter "VACUUM Protocol Check" of the protocol.
"""

import contextlib
import functools
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from deltaarrow.actions.arrow_tables import build_array
from deltaarrow.display.redaction import redacted
from deltaarrow.errors import DeltaError, VacuumError
from deltaarrow.features import ensure_writable
from deltaarrow.log import LogFileKind, list_log
from deltaarrow.log.last_vacuum import write_last_vacuum
from deltaarrow.log.removed_files import read_named_files
from deltaarrow.operations.commit.catalog_policy import ensure_maintenance_allowed
from deltaarrow.operations.commit.transaction_start import begin_transaction
from deltaarrow.operations.vacuum.candidates import Candidates
from deltaarrow.operations.vacuum.listing_names import file_names
from deltaarrow.operations.vacuum.options import Progress, VacuumOptions, default_retention_ms
from deltaarrow.operations.vacuum.plan import old_folders, plan_vacuum
from deltaarrow.operations.vacuum.reasons import Reason
from deltaarrow.operations.vacuum.result import VacuumOutcome
from deltaarrow.runtime.clock import Clock, system_clock
from deltaarrow.runtime.executors import TaskLimits, executor_in_use
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import Store
from deltaarrow.transaction import CommitProperties, PostCommitHookProperties

__all__ = ["vacuum_files"]

_LOGGER = logging.getLogger(__name__)
_FILES_AT_A_TIME = 1000
_COST, _COST_ON_DISK = 16 << 20, 1 << 20
"""What deleting so many costs, in bytes read: a disk takes less time for it than Spark for a task."""
_THREADS = 8
_TRIES = 3
_YOUNG_FOLDER_MS = 60 * 60 * 1000
"""A folder is empty before its first file comes; it is left alone for an hour, or for the retention."""


def vacuum_files(
    snapshot: Snapshot,
    options: VacuumOptions,
    *,
    with_kept: bool = False,
    commit_properties: CommitProperties | None = None,
    hook_properties: PostCommitHookProperties | None = None,
    progress: Progress | None = None,
    clock: Clock = system_clock,
) -> VacuumOutcome:
    """Delete files of a table that no version within the retention needs, or only say which.

    `snapshot` is any version; the newest one counts. `with_kept` asks for files that stay as well, for a
    report.

    Raises `VacuumError` for a retention that is too short and a log that does not tell enough,
    `UnsupportedFeatureError` for a table that this release cannot write or a catalog manages,
    `VersionNotFoundError` for a version to keep that is not there, and the exceptions of commits.
    """
    snapshot = snapshot.update()
    _ensure_vacuumable(snapshot)
    retention = options.retention_ms(snapshot.configuration)
    now = clock()
    kept = [
        Snapshot.load(snapshot.store, version, known=snapshot) for version in set(options.keep_versions or ())
    ]
    plan = plan_vacuum(snapshot, options, now - retention, kept, with_kept)
    folders = old_folders(snapshot.store, plan.candidates, now - min(retention, _YOUNG_FOLDER_MS))
    outcome = VacuumOutcome(plan.decision, plan.candidates.kept if with_kept else (), folders)
    if options.dry_run:
        return outcome
    if outcome.paths or folders:
        history = _History(snapshot, options, commit_properties, hook_properties, clock)
        outcome = _carry_out(snapshot, outcome, history, plan.candidates.num_folders, progress)
    if not outcome.failures:
        _note(snapshot.store, options, plan.candidates)
    return outcome


def _ensure_vacuumable(snapshot: Snapshot) -> None:
    ensure_maintenance_allowed(snapshot.store, "vacuum")
    ensure_writable(snapshot.protocol, snapshot.metadata, "append")


# --- the deletions ----------------------------------------------------------------------------------


def _carry_out(
    snapshot: Snapshot,
    outcome: VacuumOutcome,
    history: "_History",
    num_folders: int,
    progress: Progress | None,
) -> VacuumOutcome:
    going = outcome.decision.going()
    history.begin(len(going) + len(outcome.folders), _total(going.column("size")))
    try:
        outcome.decision.mark_named(_named_since(snapshot), Reason.NAMED_SINCE)
        paths = outcome.paths
        failures = _delete(snapshot.store, paths, history.options.parallelism or _THREADS, progress)
        folders = [folder for folder in outcome.folders if _delete_folder(snapshot.store, folder, failures)]
    except Exception:
        history.end(is_whole=False, deleted=0, folders=num_folders)
        raise
    deleted = len(paths) - len(failures) + len(folders)
    history.end(is_whole=not failures, deleted=deleted, folders=num_folders)
    told = tuple(folder for folder in outcome.folders if folder in folders or folder in failures)
    return replace(outcome, folders=told, failures=failures)


def _named_since(snapshot: Snapshot) -> pa.Array:
    """The names of all files in commits after a version; ``VACUUM START`` is one of these commits."""
    store, first = snapshot.store, snapshot.version + 1
    commits = [file for file in list_log(store, first) if file.kind is LogFileKind.COMMIT]
    versions = [commit.version for commit in commits]
    if not versions or versions != [*range(first, versions[-1] + 1)]:
        raise VacuumError(
            f"commits of {store.uri} from version {first} on are gone, and nobody can tell which files they"
            " name; nothing was deleted, begin again"
        )
    named = read_named_files(store, [commit.name for commit in commits])
    names = [each.drop_null() for each in file_names(store, named)]
    return pa.concat_arrays([build_array([], pa.string()), *names])


def _delete(store: Store, paths: Sequence[str], threads: int, progress: Progress | None) -> dict[str, str]:
    """Delete files; return why some could not be."""
    parts = [paths[start : start + _FILES_AT_A_TIME] for start in range(0, len(paths), _FILES_AT_A_TIME)]
    failures: dict[str, str] = {}
    done = 0
    calls = [functools.partial(_delete_some, store, part) for part in parts]
    sizes = [_COST_ON_DISK if store.is_local else _COST] * len(parts)
    limits = TaskLimits(threads, "deltaarrow-vacuum", sizes)
    with contextlib.closing(executor_in_use().run(calls, limits)) as results:
        for place, failed in results:
            failures |= failed
            done += len(parts[place])
            if progress is not None:
                progress(done, len(paths))
    for path, why in failures.items():
        _LOGGER.warning("%s of %s could not be deleted: %s", path, redacted(store.uri), why)
    return failures


def _delete_some(store: Store, paths: Sequence[str]) -> dict[str, str]:
    try:
        return {path: redacted(str(error)) for path, error in store.delete_all(paths).items()}
    except (DeltaError, OSError) as error:
        return dict.fromkeys(paths, redacted(str(error)))


def _delete_folder(store: Store, folder: str, failures: dict[str, str]) -> bool:
    try:
        return store.delete_folder(folder)
    except (DeltaError, OSError) as error:
        _LOGGER.warning("the empty folder %s could not be deleted: %s", folder, redacted(str(error)))
        failures[folder] = redacted(str(error))
        return False


# --- what is told of it -----------------------------------------------------------------------------


@dataclass
class _History:
    """The two commits of a VACUUM."""

    snapshot: Snapshot
    options: VacuumOptions
    commit_properties: CommitProperties | None
    hook_properties: PostCommitHookProperties | None
    clock: Clock

    def begin(self, files: int, size: int) -> None:
        """Commit ``VACUUM START``."""
        options = self.options
        parameters: dict[str, object] = {
            "retentionCheckEnabled": options.enforce_retention_duration,
            "defaultRetentionMillis": default_retention_ms(self.snapshot.configuration),
        }
        if options.retention_hours is not None:
            parameters["specifiedRetentionMillis"] = options.retention_ms(self.snapshot.configuration)
        metrics = {"numFilesToDelete": files, "sizeOfDataToDelete": size}
        self._commit(self.snapshot, "VACUUM START", parameters, metrics, self.commit_properties)

    def end(self, *, is_whole: bool, deleted: int, folders: int) -> None:
        """Commit ``VACUUM END``; what has been deleted is deleted, so nothing is raised."""
        metrics = {"numDeletedFiles": deleted, "numVacuumedDirectories": folders}
        status = {"status": "COMPLETED" if is_whole else "FAILED"}
        # An application is recorded once, with the beginning.
        given = self.commit_properties and replace(self.commit_properties, app_transactions=None)
        for attempt in range(_TRIES):
            try:
                self._commit(self.snapshot.update(), "VACUUM END", status, metrics, given)
            except (DeltaError, OSError):
                if attempt == _TRIES - 1:
                    uri = redacted(self.snapshot.store.uri)
                    _LOGGER.warning(
                        "files of %s are deleted, and VACUUM END is not committed", uri, exc_info=True
                    )
            else:
                return

    def _commit(
        self,
        snapshot: Snapshot,
        operation: str,
        parameters: Mapping[str, object],
        metrics: Mapping[str, int],
        commit_properties: CommitProperties | None,
    ) -> None:
        transaction = begin_transaction(
            snapshot, operation, commit_properties, self.hook_properties, clock=self.clock
        )
        transaction.parameters = parameters
        transaction.metrics = {name: str(number) for name, number in metrics.items()}
        transaction.commit()


def _note(store: Store, options: VacuumOptions, candidates: Candidates) -> None:
    """Note how far a VACUUM by the log has come; one that keeps versions has not deleted all up to there."""
    if not options.by_storage and (candidates.through is None or options.keep_versions):
        return
    try:
        write_last_vacuum(store, candidates.through)
    except (DeltaError, OSError):
        # The next VACUUM by the log begins where the last one did.
        _LOGGER.warning("_last_vacuum_info of %s is not written", redacted(store.uri), exc_info=True)


def _total(sizes: pa.ChunkedArray) -> int:
    return int(pc.sum(sizes).as_py() or 0)
