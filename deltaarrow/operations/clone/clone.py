"""CLONE from the plan to its commit.

The source is pinned: the version that is open when the clone begins. Chapters "Add File and Remove File" and
"Deletion Vectors" of the protocol. What a file of the source is called in the clone is told by
`deltaarrow.operations.clone.source_files` (shallow) and `deltaarrow.operations.clone.copying` (deep).
"""

from collections.abc import Iterable, Iterator

import pyarrow as pa

from deltaarrow.actions import FILE_SCHEMA, AddFile
from deltaarrow.columnar.numpy_arrays import empty_table
from deltaarrow.display.redaction import redacted
from deltaarrow.errors import StorageError, UnsupportedFeatureError, VersionExistsError
from deltaarrow.features import assigns_row_ids, is_supported
from deltaarrow.log import LogState, read_commit_infos
from deltaarrow.log.file_sources import stream_files
from deltaarrow.operations.clone.copying import Copies, is_noted, note_source
from deltaarrow.operations.clone.options import CloneOptions, ClonePlan, Progress
from deltaarrow.operations.clone.source_difference import CloneChanges, find_changes, total_size
from deltaarrow.operations.clone.source_files import absolute_files
from deltaarrow.operations.clone.table import clone_of
from deltaarrow.operations.commit.hooks import commit_hooks
from deltaarrow.operations.commit.transaction_start import begin_transaction
from deltaarrow.runtime.clock import Clock, system_clock
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import Store
from deltaarrow.transaction import (
    DEFAULT_MAX_COMMIT_RETRIES,
    BulkAdds,
    CommitProperties,
    OptimisticTransaction,
    PostCommitHookProperties,
    given_properties,
)

__all__ = ["clone_table", "plan_clone"]

_FILES_AT_ONCE = 1 << 17
"""Rendered at a time: so many that DuckDB has work for all its threads."""


def clone_table(
    source: Snapshot,
    store: Store,
    options: CloneOptions,
    *,
    commit_properties: CommitProperties | None = None,
    hook_properties: PostCommitHookProperties | None = None,
    progress: Progress | None = None,
    clock: Clock = system_clock,
) -> dict[str, int]:
    """Make a clone of a version in a store, and return Spark's metrics of it.

    Raises the exceptions of `plan_clone` and those of commits, and for a deep clone `MissingFilesError` if
    files of the source are gone.
    """
    plan = plan_clone(source, store, options)
    transaction = _begin(plan, store, commit_properties, hook_properties, clock)
    transaction.read_whole_table()
    transaction.set_metadata(plan.metadata)
    transaction.stage(plan.domains)
    transaction.set_protocol(plan.protocol)
    counts_rows = assigns_row_ids(plan.protocol, plan.metadata.configuration)
    copied = removed = empty_table(FILE_SCHEMA)
    bulk = BulkAdds(store, counts_rows)
    if options.shallow:
        bulk = _bulk(plan, bulk)
    else:
        changes = _copied(plan, store, options, progress)
        copied, removed = changes.new, changes.gone
        transaction.restore_files(changes.marked, instead_of=removed)
        bulk.add(changes.new)
    transaction.add_in_bulk(bulk)
    metrics = {
        "sourceTableSize": plan.num_bytes,
        "sourceNumOfFiles": plan.num_files,
        "numRemovedFiles": len(removed),
        "removedFilesSize": total_size(removed),
        "numCopiedFiles": len(copied),
        "copiedFilesSize": total_size(copied),
    }
    transaction.metrics = {name: str(number) for name, number in metrics.items()}
    transaction.commit()
    return metrics


def plan_clone(source: Snapshot, store: Store, options: CloneOptions) -> ClonePlan:
    """Return what a clone is going to be; only the two logs are read.

    Raises `VersionExistsError` if there is a table that may not become the clone, `StorageError` for a
    shallow clone on another file system and for a clone in the folder of the source, and the exceptions of
    `clone_of`.
    """
    is_same = store.filesystem_key == source.store.filesystem_key
    if options.shallow and not is_same:
        raise StorageError(
            f"a shallow clone of {redacted(source.store.uri)} cannot be in {redacted(store.uri)}: its files"
            " are on another file system; make a deep clone"
        )
    if is_same and store.uri == source.store.uri:
        # A shallow one would name the same files in two ways, which the change feed could not tell apart.
        raise StorageError(
            f"a clone of {redacted(store.uri)} needs another folder; for an older version of the table itself"
            " use table.restore"
        )
    target = _target(source, store, options)
    metadata, protocol, domains = clone_of(source, target, options.properties)
    num_files, num_bytes = source.totals()
    return ClonePlan(source, target, metadata, protocol, domains, num_files, num_bytes)


def _target(source: Snapshot, store: Store, options: CloneOptions) -> Snapshot | None:
    """The table that becomes the clone; None if there is none."""
    target = Snapshot.find(store)
    if target is None:
        return None
    if is_supported(target.protocol, "catalogManaged"):
        raise UnsupportedFeatureError(
            f"{store.uri} cannot become a clone: a catalog manages it", feature="catalogManaged"
        )
    is_clone = not options.shallow and is_noted(store, source)
    if not options.replace and not (is_clone and _was_just_cloned(target, source)):
        raise VersionExistsError(
            f"{redacted(store.uri)} is a Delta table already; pass replace=True if it has no rows, or if it"
            " is a deep clone of the same source that has been written to, or choose another path"
            " (Spark: DELTA_TABLE_ALREADY_EXISTS)"
        )
    if not is_clone and target.totals()[0]:
        raise VersionExistsError(
            f"{redacted(store.uri)} has rows and cannot become a clone; delete them first, or choose another"
            " path (Spark: DELTA_UNSUPPORTED_NON_EMPTY_CLONE)"
        )
    return target


def _was_just_cloned(target: Snapshot, source: Snapshot) -> bool:
    """Whether nothing but clones of the source has been committed since the target was cloned."""
    (info,) = read_commit_infos(target.commit_times(), target.version, 1)
    parameters = info.get("operationParameters")
    named = parameters.get("source") if isinstance(parameters, dict) else None
    return info.get("operation") == "CLONE" and named == _source_name(source.store)


def _begin(
    plan: ClonePlan,
    store: Store,
    commit_properties: CommitProperties | None,
    hook_properties: PostCommitHookProperties | None,
    clock: Clock,
) -> OptimisticTransaction:
    if plan.target is not None:
        transaction = begin_transaction(plan.target, "CLONE", commit_properties, hook_properties, clock=clock)
    else:
        given = given_properties(commit_properties)
        transaction = OptimisticTransaction(
            store=store,
            snapshot=None,
            operation="CLONE",
            commit_metadata=given.custom_metadata or {},
            max_commit_retries=DEFAULT_MAX_COMMIT_RETRIES,
            hooks=commit_hooks(plan.metadata.configuration, hook_properties),
            clock=clock,
        )
    transaction.tags_row_tracking = False
    transaction.parameters = {"source": _source_name(plan.source.store), "sourceVersion": plan.source.version}
    return transaction


def _source_name(store: Store) -> str:
    """Return the name of a table in the history of its clones, as Spark spells it."""
    uri = redacted(store.uri)
    return f"delta.`file:{uri}`" if store.is_local else f"delta.`{uri}`"


def _bulk(plan: ClonePlan, bulk: BulkAdds) -> BulkAdds:
    """All files of the source, under their absolute names."""
    source = plan.source

    def read(state: LogState) -> BulkAdds:
        found = BulkAdds(bulk.store, bulk.counts_rows)
        for files in _grouped(stream_files(state, AddFile.KEY, FILE_SCHEMA.names)):
            found.add(absolute_files(source.store, files))
        return found

    found: BulkAdds = source.state.through_cleanup(read)
    return found


def _grouped(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Join tables to larger ones."""
    group: list[pa.Table] = []
    for table in tables:
        group.append(table)
        if sum(map(len, group)) >= _FILES_AT_ONCE:
            yield pa.concat_tables(group)
            group = []
    if group:
        yield pa.concat_tables(group)


def _copied(plan: ClonePlan, store: Store, options: CloneOptions, progress: Progress | None) -> CloneChanges:
    """Copy what the clone lacks of the files of the source; return what changes in its list of files."""
    copies = Copies(plan.source.store, store)
    files = copies.spelled(plan.source.files())
    live = empty_table(FILE_SCHEMA) if plan.target is None else plan.target.files()
    changes = find_changes(files, live)
    known = is_noted(store, plan.source)
    copies.carry_out(known, lambda: note_source(store, plan.source), options.parallelism, progress)
    return changes
