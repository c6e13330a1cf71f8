"""Planned writes: the decisions of a write that need no rows, made by `plan_write` and `PlannedWrite.begin`.

Planning checks the options and the schema of the data, on one machine. The `WriteTask` of the begun write
processes the rows and may run elsewhere; `BegunWrite.stage` stages its result.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import orjson
import pyarrow as pa

from deltaarrow.actions import Action, DomainMetadata, Metadata, Protocol
from deltaarrow.actions.domain_names import CLUSTERING_DOMAIN, IDENTITY_TAG
from deltaarrow.errors import SchemaMismatchError
from deltaarrow.features import ensure_writable, is_supported, properties
from deltaarrow.operations.define.clustering_domain import (
    clustering_columns,
    parse_clustering_columns,
    render_clustering,
)
from deltaarrow.operations.define.create import NewTable
from deltaarrow.operations.define.write_evolution import SchemaMode, evolve
from deltaarrow.operations.define.write_options import StreamEpoch, WriteOptions
from deltaarrow.operations.define.write_target import WriteTarget
from deltaarrow.operations.rows.high_water_marks import plan_numbering, stage_marks
from deltaarrow.operations.write.deletion import Deletion, PlannedDeletion, plan_deletion, records_changes
from deltaarrow.operations.write.replaced_rows import stage_partition_removal, stage_removal_of_all
from deltaarrow.operations.write.write_task import WriteTask, WrittenRows
from deltaarrow.runtime.clock import Clock
from deltaarrow.runtime.fork_safety import cached_property
from deltaarrow.schema import (
    JsonObject,
    Schema,
    from_arrow_schema,
    render_path,
    resolve_partition_columns,
    resolve_path,
    without_table_metadata,
)
from deltaarrow.schema.metadata_keys import GENERATION_KEY
from deltaarrow.snapshot import Snapshot
from deltaarrow.spark_sql import Condition, parse_condition, parse_expression
from deltaarrow.storage import Store
from deltaarrow.transaction import OptimisticTransaction
from deltaarrow.write import RowNumbering, WritePlan, ensure_completable, without_marks

__all__ = ["BegunWrite", "PlannedWrite", "WriteResult", "ensure_table_writable", "plan_write"]

_SPARK_MODES = {
    "append": "Append",
    "overwrite": "Overwrite",
    "error": "ErrorIfExists",
    "ignore": "Ignore",
}


@dataclass(frozen=True)
class WriteResult:
    """The result of a write.

    `version` is the committed version. It is None if nothing was committed: there was nothing to write, or
    the table already has this write of the application (`is_replay`). `num_files` and `num_rows` count what
    was written, `num_removed_files` and `num_deleted_rows` what was replaced; rows of files that were removed
    without being read are not counted.
    """

    version: int | None
    num_files: int = 0
    num_rows: int = 0
    num_removed_files: int = 0
    num_deleted_rows: int = 0
    is_replay: bool = False


def ensure_table_writable(snapshot: Snapshot, options: WriteOptions) -> None:
    """Raise `UnsupportedFeatureError` for a table that this release cannot append to or overwrite."""
    ensure_writable(snapshot.protocol, snapshot.metadata, "overwrite" if options.replaces_rows else "append")


def plan_write(transaction: OptimisticTransaction, data: pa.Schema, options: WriteOptions) -> "PlannedWrite":
    """Plan a write of data of a schema to the table that a transaction reads, or to a new table.

    Nothing is staged. The plan sees what the transaction has staged before, such as new columns. Variants
    must be binary and marked, as `deltaarrow.write.read_variants` returns them.

    Raises the exceptions of `deltaarrow.write_deltalake` for data that does not fit and for invalid options.
    """
    if not data.names:
        raise SchemaMismatchError("the data has no columns; a table needs at least one")
    snapshot = transaction.staged_snapshot
    target = (
        _new_table(transaction.store, data, options, transaction.clock)
        if snapshot is None
        else _target(snapshot, data, options)
    )
    plan = target.plan(
        transaction.store,
        options.target_file_size,
        options.writer_properties,
        fewest_files=options.optimize_write,
    )
    numbering = plan_numbering(transaction, target, data)
    ensure_completable(plan, numbering.extended_schema(data))
    condition = None
    if options.predicate is not None and options.checks_predicate:
        condition = _condition(options.predicate, target.schema, transaction)
    return PlannedWrite(options, target, plan, numbering, condition)


@dataclass(frozen=True)
class PlannedWrite:
    """A write without its rows; picklable.

    `condition`, over the schema of `target`, is that of an overwrite with a predicate, which every row has to
    fulfil.
    """

    options: WriteOptions
    target: WriteTarget
    plan: WritePlan
    numbering: RowNumbering
    condition: Condition | None

    def writes_as(self, other: "PlannedWrite") -> bool:
        """Whether tasks of both plans make the same files of the same rows.

        Where no row is numbered, the high water marks of identity columns make no difference.
        """
        return self.numbering == other.numbering and _without_marks(self.plan) == _without_marks(other.plan)

    def begin(self, transaction: OptimisticTransaction) -> "BegunWrite":
        """Stage the changes other than rows, and record what the write reads.

        The transaction is the one of `plan_write`, or another one that reads the same version.
        """
        for action in self.target.changes:
            match action:
                case Metadata():
                    transaction.set_metadata(action)
                    transaction.tags.pop(IDENTITY_TAG, None)
                case Protocol():
                    transaction.set_protocol(action)
                case _:
                    transaction.stage([action])
        deletion: PlannedDeletion | None = None
        snapshot = transaction.snapshot
        if self.options.predicate is not None and snapshot is not None:
            # Existing rows have the old schema, without columns that this write adds.
            there = _condition(self.options.predicate, snapshot.schema, transaction)
            deletion = plan_deletion(transaction, snapshot, there)
        return BegunWrite(transaction, self, deletion)


@dataclass(frozen=True)
class BegunWrite:
    """A planned write within a transaction, before its rows are written and staged."""

    transaction: OptimisticTransaction
    planned: PlannedWrite
    deletion: PlannedDeletion | None

    @cached_property
    def task(self) -> WriteTask:
        """The task that writes the rows, all at once or in parts."""
        records = records_changes(self.transaction) or (
            self.deletion is not None and self.deletion.records_changes
        )
        return WriteTask(
            plan=self.planned.plan,
            numbering=self.planned.numbering,
            moment_ms=self.transaction.clock(),
            condition=self.planned.condition,
            records_changes=records,
        )

    def stage(self, written: WrittenRows) -> WriteResult:
        """Stage the written files and the rows that they replace, and set the history entry."""
        transaction, options = self.transaction, self.planned.options
        transaction.add_files([*written.files, *written.changes])
        replaced = self._replace(written)
        stage_marks(transaction, self.planned.target, self.planned.numbering.marks(written.taken))
        return _describe(transaction, options, written, replaced)

    def _replace(self, written: WrittenRows) -> Deletion:
        transaction, options = self.transaction, self.planned.options
        snapshot = transaction.snapshot
        if self.deletion is not None:
            return self.deletion.stage(self.planned.plan.without_rules())
        if snapshot is None or not options.replaces_rows:
            return Deletion()
        if options.is_dynamic and snapshot.partition_columns:
            return stage_partition_removal(transaction, snapshot, written.files)
        return stage_removal_of_all(transaction)


def _without_marks(plan: WritePlan) -> WritePlan:
    schema = without_marks(plan.schema)
    rules = None if plan.rules is None else replace(plan.rules, schema=schema)
    return replace(plan, schema=schema, rules=rules)


def _condition(text: str, schema: Schema, transaction: OptimisticTransaction) -> Condition:
    if not isinstance(text, str):
        raise TypeError(f"predicate is SQL text, not {type(text).__qualname__}")
    condition = parse_condition(text, schema, clock=transaction.clock)
    _ = condition.arrow  # refuses parts of variants before anything is written
    return condition


def _new_table(store: Store, data: pa.Schema, options: WriteOptions, clock: Clock) -> WriteTarget:
    schema = from_arrow_schema(data)
    new = NewTable(
        schema=_with_generated(schema) if options.as_deltalake else without_table_metadata(schema),
        partition_by=tuple(options.partition_by or ()),
        cluster_by=tuple(options.cluster_by or ()),
        name=options.name,
        description=options.description,
        configuration=options.configuration,
        maps_odd_names=options.as_deltalake,
    ).placed_in(store)
    protocol, metadata = new.actions(clock)
    return WriteTarget(protocol, metadata, [metadata, protocol, *new.domains(metadata)])


def _with_generated(schema: Schema) -> Schema:
    """Return the schema for a new table, with the generation expressions of top-level columns.

    Left out is an expression over columns that the data lacks, as after a selection of columns.
    """
    plain = without_table_metadata(schema)
    fields = []
    for given, field in zip(schema.fields, plain.fields, strict=True):
        text = given.metadata.get(GENERATION_KEY)
        if isinstance(text, str) and _has_columns(text, plain):
            field = replace(field, metadata=JsonObject({**field.metadata, GENERATION_KEY: text}))
        fields.append(field)
    return Schema(fields)


def _has_columns(text: str, schema: Schema) -> bool:
    try:
        parse_expression(text, schema)
    except SchemaMismatchError:
        return False
    return True


def _target(snapshot: Snapshot, data: pa.Schema, options: WriteOptions) -> WriteTarget:
    ensure_table_writable(snapshot, options)
    if options.predicate is not None and options.schema_mode == "overwrite":
        _ensure_same_columns(snapshot, data)
        options = replace(options, schema_mode=None)
    if options.partition_by is not None and options.schema_mode != "overwrite":
        wanted = resolve_partition_columns(snapshot.schema, options.partition_by)
        if wanted != snapshot.partition_columns:
            raise SchemaMismatchError(
                f"the table is partitioned by {list(snapshot.partition_columns)}, not by {list(wanted)};"
                " to change its partition columns, use mode='overwrite' with schema_mode='overwrite'"
            )
    if options.cluster_by is not None:
        _ensure_same_clustering(snapshot, options.cluster_by)
    forgotten = _forgotten_clustering(snapshot, options)
    existing = replace(WriteTarget.existing(snapshot), changes=forgotten)
    if options.schema_mode is None:
        return existing
    if options.as_deltalake:
        _ensure_none_is_generated(snapshot, data)
    mode: SchemaMode = "merge" if options.schema_mode == "merge" else "overwrite"
    evolved = evolve(
        snapshot,
        data,
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


def _ensure_none_is_generated(snapshot: Snapshot, data: pa.Schema) -> None:
    """Raise if the Arrow metadata of a column that the table gains say that it is generated."""
    for field in data:
        is_new = snapshot.schema.find(field.name) is None
        if is_new and GENERATION_KEY.encode() in (field.metadata or {}):
            raise SchemaMismatchError(
                f"the new column {field.name!r} has {GENERATION_KEY} in its Arrow metadata, and only a new"
                " table can have generated columns; remove the metadata, or create the table anew"
            )


def _ensure_same_columns(snapshot: Snapshot, data: pa.Schema) -> None:
    """Raise if an overwrite of some rows would change the schema, which the other rows have as well."""
    present = {field.name: field.type for field in snapshot.schema.fields}
    if {field.name: field.type for field in from_arrow_schema(data).fields} != present:
        raise SchemaMismatchError(
            "the data has other columns or types than the table, and predicate keeps rows of the table; use"
            " schema_mode='merge', or overwrite all rows"
        )


def _forgotten_clustering(snapshot: Snapshot, options: WriteOptions) -> list[Action]:
    """Return the actions that drop the clustering columns; Spark too drops them if all rows are replaced."""
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
            f" {list(columns)}; change them with DeltaTable.alter.cluster_by"
        )


def _added_properties(transaction: OptimisticTransaction, options: WriteOptions) -> dict[str, str]:
    """Return the parameter that tells of column mapping which odd names have turned on in a new table."""
    name = properties.COLUMN_MAPPING_MODE.name
    mode = transaction.configuration.get(name)
    if transaction.snapshot is not None or not options.as_deltalake or mode is None:
        return {}
    given = {key.lower() for key in options.configuration}
    return {} if name.lower() in given else {"properties": orjson.dumps({name: mode}).decode()}


def _describe(
    transaction: OptimisticTransaction, options: WriteOptions, written: WrittenRows, replaced: Deletion
) -> WriteResult:
    """Set the history entry of the write, with delta-spark's parameters and metrics."""
    if options.epoch is not None:
        return _describe_epoch(transaction, options.epoch, written)
    rows = written.rows
    transaction.operation = "WRITE"
    transaction.parameters = {
        "mode": _SPARK_MODES[options.mode],
        "partitionBy": orjson.dumps(list(options.partition_by or ())).decode(),
        **({"clusterBy": orjson.dumps(list(options.cluster_by)).decode()} if options.cluster_by else {}),
        **({} if options.predicate is None else {"predicate": options.predicate}),
        **({"canMergeSchema": True} if options.schema_mode == "merge" else {}),
        **({"canOverwriteSchema": True} if options.schema_mode == "overwrite" else {}),
        **({"isDynamicPartitionOverwrite": True} if options.is_dynamic else {}),
        **_added_properties(transaction, options),
    }
    files = [*written.files, *replaced.rewritten]
    # delta-spark counts a file with a new deletion vector as written, and its live rows as copied.
    copied = replaced.copied_rows + replaced.marked_rows
    transaction.metrics.update(
        numFiles=str(len(files) + replaced.marked_files),
        numOutputRows=str(rows + copied),
        numOutputBytes=str(sum(file.size for file in files) + replaced.marked_bytes),
    )
    if options.replaces_rows:
        transaction.metrics.update(
            numRemovedFiles=str(replaced.removed_files), numRemovedBytes=str(replaced.removed_bytes)
        )
    if options.predicate is not None:
        transaction.metrics.update(
            numDeletedRows=str(replaced.deleted_rows),
            numCopiedRows=str(copied),
            numAddedChangeFiles=str(len(written.changes) + len(replaced.change_files)),
        )
    return WriteResult(
        None, len(files), rows, replaced.removed_files + replaced.marked_files, replaced.deleted_rows
    )


def _describe_epoch(
    transaction: OptimisticTransaction, epoch: StreamEpoch, written: WrittenRows
) -> WriteResult:
    """Set the history entry of a batch that a stream appends, as delta-spark's sink does."""
    transaction.operation = "STREAMING UPDATE"
    transaction.parameters = {
        "outputMode": "Append",
        "queryId": epoch.query,
        "epochId": str(epoch.number),
    }
    transaction.metrics.update(
        numAddedFiles=str(len(written.files)),
        numRemovedFiles="0",
        numOutputRows=str(written.rows),
        numOutputBytes=str(sum(file.size for file in written.files)),
    )
    return WriteResult(None, len(written.files), written.rows)
