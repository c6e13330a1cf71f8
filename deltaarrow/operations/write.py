"""Writing rows to a table: what they replace goes, data files come, and one commit has it all.

The order is that of safety. Whatever speaks against a write is found before a file is written; what rows
it replaces is staged beside them; and when the commit is refused or fails, the files that were written
for it are deleted again.
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import orjson
import pyarrow as pa

from deltaarrow.actions import Action, AddCDCFile, AddFile, DomainMetadata
from deltaarrow.clock import Clock, system_clock
from deltaarrow.errors import CommitFailedError, SchemaMismatchError, UnsupportedFeatureError
from deltaarrow.expressions import Predicate, bind, from_sql, to_duckdb
from deltaarrow.features import ensure_writable, is_supported
from deltaarrow.operations.checksum import write_checksum
from deltaarrow.operations.clustering_columns import (
    CLUSTERING_DOMAIN,
    clustering_columns,
    parse_clustering_columns,
    render_clustering,
)
from deltaarrow.operations.commit_properties import CommitProperties, PostCommitHookProperties
from deltaarrow.operations.create import NewTable
from deltaarrow.operations.deletion import Deletion, PlannedDeletion, plan_deletion, records_changes
from deltaarrow.operations.evolution import SchemaMode, evolve
from deltaarrow.operations.identity import plan_numbering, stage_marks
from deltaarrow.operations.log_maintenance import maintenance_hook
from deltaarrow.operations.replacement import checked_rows, stage_partition_removal, stage_removal_of_all
from deltaarrow.operations.target import WriteTarget
from deltaarrow.operations.write_options import WriteOptions
from deltaarrow.schema import (
    Schema,
    from_arrow_schema,
    render_path,
    resolve_partition_columns,
    resolve_path,
    without_table_metadata,
)
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import Store
from deltaarrow.transaction import DEFAULT_MAX_COMMIT_RETRIES, OptimisticTransaction
from deltaarrow.write import (
    WritePlan,
    complete_rows,
    ensure_completable,
    read_variants,
    write_files,
    write_inserts,
)

__all__ = ["WriteResult", "stage_write", "write_table"]

_LOGGER = logging.getLogger(__name__)
_SPARK_MODES = {
    "append": "Append",
    "overwrite": "Overwrite",
    "error": "ErrorIfExists",
    "ignore": "Ignore",
}


@dataclass(frozen=True)
class WriteResult:
    """What a write has done.

    `version` is the one that was made, None where nothing was committed: there was nothing to write, or
    the table has the write of this application already, which `is_replay` says. `num_files` and
    `num_rows` are what was written, `num_removed_files` and `num_deleted_rows` what was replaced; the rows
    of files that were removed unread are not counted.
    """

    version: int | None
    num_files: int = 0
    num_rows: int = 0
    num_removed_files: int = 0
    num_deleted_rows: int = 0
    is_replay: bool = False


def write_table(
    store: Store,
    snapshot: Snapshot | None,
    data: pa.RecordBatchReader,
    options: WriteOptions,
    *,
    commit_properties: CommitProperties | None = None,
    hook_properties: PostCommitHookProperties | None = None,
    clock: Clock = system_clock,
) -> WriteResult:
    """Write a stream to the table of `snapshot`, or to a new one where it is None, and commit it."""
    commit_properties = commit_properties or CommitProperties()
    if snapshot is not None:
        _ensure_writable(snapshot, options)
    retries = commit_properties.max_commit_retries
    transaction = OptimisticTransaction(
        store=store,
        snapshot=snapshot,
        commit_metadata=commit_properties.custom_metadata or {},
        max_commit_retries=DEFAULT_MAX_COMMIT_RETRIES if retries is None else retries,
        clock=clock,
    )
    with transaction:
        result = stage_write(transaction, data, options)
        transaction.hooks = [
            write_checksum,
            maintenance_hook(transaction.configuration, hook_properties),
        ]
    # As in delta-spark, rows that are none make no version.
    return replace(result, version=transaction.version)


def stage_write(
    transaction: OptimisticTransaction, data: pa.RecordBatchReader, options: WriteOptions
) -> WriteResult:
    """Write a stream and stage what it does to the table; nothing is committed.

    Raises what `deltaarrow.write_deltalake` raises, and `UnsupportedFeatureError` for an overwrite by a
    transaction that has added files: whether it replaces them is not asked. Then nothing is staged.
    """
    if options.replaces_rows and any(isinstance(action, AddFile) for action in transaction.actions):
        raise UnsupportedFeatureError(
            "a transaction that has added rows cannot overwrite; begin with what is overwritten",
            feature="overwrite after a write in one transaction",
        )
    with transaction.all_or_nothing():
        return _stage_write(transaction, data, options)


def _stage_write(
    transaction: OptimisticTransaction, data: pa.RecordBatchReader, options: WriteOptions
) -> WriteResult:
    if _is_replay(transaction, options):
        _LOGGER.info("%s has this write already; nothing is written", transaction.store.uri)
        return WriteResult(None, is_replay=True)
    if not data.schema.names:
        raise SchemaMismatchError("the data has no columns")
    snapshot = transaction.snapshot
    data = read_variants(
        data, None if snapshot is None or options.schema_mode == "overwrite" else snapshot.schema
    )
    target = (
        _new_table(data, options, transaction.clock) if snapshot is None else _target(snapshot, data, options)
    )
    plan = target.plan(transaction.store, options.target_file_size, options.writer_properties)
    numbering = plan_numbering(transaction, target, data.schema)
    data = numbering.number(data)
    ensure_completable(plan, data.schema)
    for action in target.changes:
        transaction.stage([action])
    rows: Iterable[pa.RecordBatch] = data
    deletion: PlannedDeletion | None = None
    if options.predicate is not None:
        condition = _condition(options.predicate, target.schema)
        rows = complete_rows(plan, rows, clock=transaction.clock)
        rows = checked_rows(transaction.store, rows, condition, options.predicate)
        plan = plan.without_rules()
        if snapshot is not None:
            # Rows of the table as it is, which may lack columns that come with this write.
            there = _condition(options.predicate, snapshot.schema)
            deletion = plan_deletion(transaction, snapshot, there)
    files, changes = _write_rows(transaction, plan, rows, deletion)
    replaced = Deletion()
    if deletion is not None:
        replaced = deletion.stage(plan)
    elif snapshot is not None and options.replaces_rows:
        if options.is_dynamic and snapshot.partition_columns:
            replaced = stage_partition_removal(transaction, snapshot, files)
        else:
            replaced = stage_removal_of_all(transaction)
    stage_marks(transaction, target, numbering.marks)
    return _describe(transaction, options, files, [*changes, *replaced.change_files], replaced)


def _write_rows(
    transaction: OptimisticTransaction,
    plan: WritePlan,
    rows: Iterable[pa.RecordBatch],
    deletion: PlannedDeletion | None,
) -> tuple[list[AddFile], list[AddCDCFile]]:
    """Write rows, and as changes too where the commit tells what it changes by change data files."""
    changes: list[AddCDCFile] = []
    if records_changes(transaction) or (deletion is not None and deletion.records_changes):
        files, changes = write_inserts(plan, rows, clock=transaction.clock)
    else:
        files = write_files(plan, rows, clock=transaction.clock)
    transaction.add_files([*files, *changes])
    return files, changes


def _condition(text: str, schema: Schema) -> Predicate:
    predicate = bind(from_sql(text), schema)
    to_duckdb(predicate)  # raises for what is not understood before anything is written
    return predicate


def _is_replay(transaction: OptimisticTransaction, options: WriteOptions) -> bool:
    news = [
        transaction.set_application(each.app_id, each.version, each.last_updated)
        for each in options.applications
    ]
    if any(news) and not all(news):
        raise CommitFailedError(
            "some of the application transactions of this write are in the table already, and others are not"
        )
    return bool(news) and not any(news)


def _new_table(data: pa.RecordBatchReader, options: WriteOptions, clock: Clock) -> WriteTarget:
    new = NewTable(
        schema=without_table_metadata(from_arrow_schema(data.schema)),
        partition_by=tuple(options.partition_by or ()),
        cluster_by=tuple(options.cluster_by or ()),
        name=options.name,
        description=options.description,
        configuration=options.configuration,
    )
    protocol, metadata = new.actions(clock)
    return WriteTarget(protocol, metadata, [metadata, protocol, *new.domains(metadata)])


def _ensure_writable(snapshot: Snapshot, options: WriteOptions) -> None:
    ensure_writable(snapshot.protocol, snapshot.metadata, "overwrite" if options.replaces_rows else "append")


def _target(snapshot: Snapshot, data: pa.RecordBatchReader, options: WriteOptions) -> WriteTarget:
    _ensure_writable(snapshot, options)
    if options.partition_by is not None and options.schema_mode != "overwrite":
        wanted = resolve_partition_columns(snapshot.schema, options.partition_by)
        if wanted != snapshot.partition_columns:
            raise SchemaMismatchError(
                f"the table is partitioned by {list(snapshot.partition_columns)}, not by {list(wanted)};"
                " schema_mode='overwrite' with mode='overwrite' partitions it anew"
            )
    if options.cluster_by is not None:
        _ensure_same_clustering(snapshot, options.cluster_by)
    forgotten = _forgotten_clustering(snapshot, options)
    existing = replace(WriteTarget.existing(snapshot), changes=forgotten)
    if options.schema_mode is None:
        return existing
    mode: SchemaMode = "merge" if options.schema_mode == "merge" else "overwrite"
    evolved = evolve(
        snapshot,
        data.schema,
        schema_mode=mode,
        partition_by=options.partition_by,
        keeps_clustering=not forgotten,
    )
    if evolved is None:
        return existing
    metadata, protocol = evolved
    changes: list[Action] = [metadata, *forgotten]
    if protocol is not None:
        changes.append(protocol)
    return WriteTarget(protocol or snapshot.protocol, metadata, changes)


def _forgotten_clustering(snapshot: Snapshot, options: WriteOptions) -> list[Action]:
    """What becomes of clustering columns that an overwrite of all rows does not name: as in Spark they go."""
    is_replaced = options.replaces_rows and options.predicate is None and options.cluster_by is None
    if not is_replaced or not is_supported(snapshot.protocol, "clustering"):
        return []
    text = render_clustering(snapshot.schema, [], snapshot.mapping_mode)
    return [DomainMetadata(domain=CLUSTERING_DOMAIN, configuration=text, removed=False)]


def _ensure_same_clustering(snapshot: Snapshot, columns: Sequence[str]) -> None:
    wanted = [
        tuple(field.name for field in resolve_path(snapshot.schema, path))
        for path in parse_clustering_columns(columns)
    ]
    if wanted != clustering_columns(snapshot):
        raise SchemaMismatchError(
            f"the table is clustered by {list(map(render_path, clustering_columns(snapshot)))}, not by"
            f" {list(columns)}; DeltaTable.alter.cluster_by chooses others"
        )


def _describe(
    transaction: OptimisticTransaction,
    options: WriteOptions,
    files: Sequence[AddFile],
    changes: Sequence[AddCDCFile],
    replaced: Deletion,
) -> WriteResult:
    """Tell history what the write does, in the words of delta-spark."""
    rows = sum(orjson.loads(file.stats)["numRecords"] for file in files if file.stats is not None)
    transaction.operation = "WRITE"
    transaction.parameters = {
        "mode": _SPARK_MODES[options.mode],
        "partitionBy": orjson.dumps(list(options.partition_by or ())).decode(),
        **({"clusterBy": orjson.dumps(list(options.cluster_by)).decode()} if options.cluster_by else {}),
        **({} if options.predicate is None else {"predicate": options.predicate}),
        **({"canMergeSchema": True} if options.schema_mode == "merge" else {}),
        **({"canOverwriteSchema": True} if options.schema_mode == "overwrite" else {}),
        **({"isDynamicPartitionOverwrite": True} if options.is_dynamic else {}),
    }
    written = [*files, *replaced.rewritten]
    transaction.metrics.update(
        numFiles=str(len(written)),
        numOutputRows=str(rows + replaced.copied_rows),
        numOutputBytes=str(sum(file.size for file in written)),
    )
    if options.replaces_rows:
        transaction.metrics.update(
            numRemovedFiles=str(replaced.removed_files), numRemovedBytes=str(replaced.removed_bytes)
        )
    if options.predicate is not None:
        transaction.metrics.update(
            numDeletedRows=str(replaced.deleted_rows),
            numCopiedRows=str(replaced.copied_rows),
            numAddedChangeFiles=str(len(changes)),
        )
    return WriteResult(
        None, len(written), rows, replaced.removed_files + replaced.marked_files, replaced.deleted_rows
    )
