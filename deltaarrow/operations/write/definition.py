"""CREATE and REPLACE of a table, with or without the rows of a query, in one commit.

A replaced table keeps its history, its protocol and its user domains. It gets another id, the new schema,
properties and description, and none of its old rows. Chapters *Change Metadata* and *Protocol Evolution* of
the protocol.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from deltaarrow.actions import DomainMetadata, Metadata
from deltaarrow.actions.domain_names import CLUSTERING_DOMAIN
from deltaarrow.display.redaction import redacted
from deltaarrow.errors import TableNotFoundError, VersionExistsError
from deltaarrow.features import (
    FEATURE_PREFIX,
    FEATURES,
    is_supported,
    properties,
    supported_features,
    upgraded_protocol,
)
from deltaarrow.operations.commit.hooks import commit_hooks
from deltaarrow.operations.define.clustering_domain import clustering_columns, render_clustering
from deltaarrow.operations.define.create import NewTable, create_table, creation_parameters
from deltaarrow.operations.define.write_options import WriteOptions
from deltaarrow.operations.write.planned_write import WriteResult
from deltaarrow.operations.write.replaced_rows import stage_removal_of_all
from deltaarrow.operations.write.write import begin_write, find_table, stage_write
from deltaarrow.runtime.clock import Clock, system_clock
from deltaarrow.schema import Schema, from_arrow_schema, render_path, without_table_metadata
from deltaarrow.schema.metadata_keys import UNITY_TABLE_ID
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import Store
from deltaarrow.transaction import CommitProperties, OptimisticTransaction, PostCommitHookProperties

__all__ = ["Definition", "define_table", "like_table", "make_table"]

_OF_THE_LOG = (
    properties.COLUMN_MAPPING_MAX_COLUMN_ID.name,
    properties.MATERIALIZED_ROW_ID_COLUMN_NAME.name,
    properties.MATERIALIZED_ROW_COMMIT_VERSION_COLUMN_NAME.name,
    properties.IN_COMMIT_TIMESTAMP_ENABLEMENT_VERSION.name,
    properties.IN_COMMIT_TIMESTAMP_ENABLEMENT_TIMESTAMP.name,
    properties.REQUIRE_CHECKPOINT_PROTECTION_BEFORE_VERSION.name,
    UNITY_TABLE_ID,
)
"""Properties that belong to one table and its log."""
_OF_THE_CATALOG = (
    UNITY_TABLE_ID,
    properties.CHECKPOINT_POLICY.name,
    properties.CHECKPOINT_WRITE_STATS_AS_JSON.name,
    properties.CHECKPOINT_WRITE_STATS_AS_STRUCT.name,
    properties.ENABLE_DELETION_VECTORS.name,
    properties.ENABLE_IN_COMMIT_TIMESTAMPS.name,
)
"""Properties that a table which a catalog manages keeps when it is replaced."""
_NOT_ASKED_FOR = ("catalogManaged", "catalogOwned-preview", "checkpointProtection", "clustering")


@dataclass(frozen=True, kw_only=True)
class Definition:
    """What a table is to be, and whether it may be there already.

    Args:
        table: its columns, layout and properties; rows that come with it decide on its columns.
        may_create: whether a table that is not there is created.
        may_replace: whether a table that is there is replaced.
        is_managed: whether a catalog owns the files, for history.
    """

    table: NewTable
    may_create: bool = True
    may_replace: bool = False
    is_managed: bool = False

    @property
    def operation(self) -> str:
        """The name of the operation in history, without rows."""
        if not self.may_replace:
            return "CREATE TABLE"
        return "CREATE OR REPLACE TABLE" if self.may_create else "REPLACE TABLE"


def define_table(
    store: Store,
    definition: Definition,
    rows: pa.RecordBatchReader | None = None,
    *,
    snapshot: Snapshot | None = None,
    commit_properties: CommitProperties | None = None,
    hook_properties: PostCommitHookProperties | None = None,
    clock: Clock = system_clock,
) -> WriteResult:
    """Create or replace the table in a store, and commit once.

    Args:
        store: the place of the table.
        definition: what the table is to be.
        rows: its rows, which decide on its columns.
        snapshot: the version that is replaced, if the rows come from it; the newest one if None.
        commit_properties: what else goes into the commit.
        hook_properties: what runs after the commit.
        clock: the time of the commit.

    Raises `VersionExistsError` for a table that may not be replaced, `TableNotFoundError` if there is none to
    replace, `UnsupportedFeatureError` for a table that this release cannot overwrite, and what
    `deltaarrow.write_deltalake` raises. Nothing is left then.
    """
    snapshot = find_table(store) if snapshot is None else snapshot
    if snapshot is None and not definition.may_create:
        raise TableNotFoundError(f"there is no table at {redacted(store.uri)} that could be replaced")
    if snapshot is not None and not definition.may_replace:
        raise VersionExistsError(
            f"{redacted(store.uri)} is a Delta table already (Spark: DELTA_TABLE_ALREADY_EXISTS)"
        )
    if snapshot is None:
        definition = replace(definition, table=definition.table.placed_in(store))
    options = WriteOptions(mode="append" if snapshot is None else "overwrite")
    result = WriteResult(None)
    with begin_write(store, snapshot, options, commit_properties, clock) as transaction:
        if snapshot is not None:
            schema = _columns(definition, rows)
            removed = _replace(transaction, snapshot, replace(definition.table, schema=schema))
        elif rows is None:
            protocol, metadata = definition.table.actions(clock)
            transaction.stage([metadata, protocol, *definition.table.domains(metadata)])
        if rows is not None:
            result = stage_write(transaction, rows, _options(definition.table, snapshot))
        transaction.operation = definition.operation + ("" if rows is None else " AS SELECT")
        staged = next(each for each in transaction.actions if isinstance(each, Metadata))
        transaction.parameters = creation_parameters(
            definition.table, staged, is_managed=definition.is_managed
        )
        if rows is not None and definition.may_replace:
            counts = removed if snapshot is not None else {"numRemovedFiles": "0", "numRemovedBytes": "0"}
            transaction.metrics.update(counts)
        if rows is not None and snapshot is None and definition.may_replace:
            transaction.read_whole_table()  # as delta-spark, which then records no blind append
        transaction.hooks = commit_hooks(transaction.configuration, hook_properties)
    return replace(result, version=transaction.version)


def make_table(
    store: Store,
    table: NewTable,
    *,
    mode: str = "error",
    commit_properties: CommitProperties | None = None,
    hook_properties: PostCommitHookProperties | None = None,
) -> bool:
    """Commit an empty table, and return whether that was done: `create_table`, or a table that is replaced.

    Raises `ValueError` for an unknown mode, and what `create_table` and `define_table` raise.
    """
    if mode != "overwrite":
        return create_table(
            store, table, mode=mode, commit_properties=commit_properties, hook_properties=hook_properties
        )
    definition = Definition(table=table, may_replace=True)
    define_table(store, definition, commit_properties=commit_properties, hook_properties=hook_properties)
    return True


def _columns(definition: Definition, rows: pa.RecordBatchReader | None) -> Schema:
    if rows is None:
        return definition.table.schema
    return without_table_metadata(from_arrow_schema(rows.schema))


def _options(table: NewTable, snapshot: Snapshot | None) -> WriteOptions:
    """How the rows are written: to a new table, or to the one that is staged already."""
    if snapshot is not None:
        return WriteOptions(mode="append")
    return WriteOptions(
        mode="append",
        partition_by=tuple(table.partition_by),
        cluster_by=tuple(table.cluster_by) or None,
        name=table.name,
        description=table.description,
        configuration=table.configuration,
    )


def _replace(transaction: OptimisticTransaction, snapshot: Snapshot, table: NewTable) -> Mapping[str, Any]:
    """Stage another table in the place of one; return how much of the old one goes."""
    if is_supported(snapshot.protocol, "catalogManaged"):
        held = {name: text for name, text in snapshot.configuration.items() if name in _OF_THE_CATALOG}
        table = replace(table, configuration={**table.configuration, **held})
    # Columns that are gone keep their ids to themselves.
    highest = properties.COLUMN_MAPPING_MAX_COLUMN_ID.parse(snapshot.configuration)
    table = replace(table, highest_id=max(table.highest_id, highest or 0), continued=snapshot)
    minimal, metadata = table.actions(transaction.clock)
    asked = [FEATURES[name] for name in supported_features(minimal) if name in FEATURES]
    schema = Schema.from_json(metadata.schema_string)
    protocol = upgraded_protocol(snapshot.protocol, schema, metadata.configuration, "overwrite", asked)
    removed = stage_removal_of_all(transaction)
    transaction.read_whole_table()
    transaction.set_metadata(metadata)
    if protocol != snapshot.protocol:
        transaction.set_protocol(protocol)
    domains = table.domains(metadata)
    if not domains and is_supported(protocol, "clustering"):
        mode = properties.COLUMN_MAPPING_MODE.parse(metadata.configuration)
        text = render_clustering(schema, [], mode)
        domains = [DomainMetadata(domain=CLUSTERING_DOMAIN, configuration=text, removed=False)]
    transaction.stage(domains)
    return {"numRemovedFiles": str(removed.removed_files), "numRemovedBytes": str(removed.removed_bytes)}


def like_table(source: Snapshot, given: Mapping[str, str]) -> NewTable:
    """Return what a table like another one is: without its rows, with its columns, layout and features.

    Its columns keep their ids and physical names, and an identity column goes on from the highest value that
    the source has assigned, as in delta-spark. `given` are further properties.
    """
    configuration = {name: text for name, text in source.configuration.items() if name not in _OF_THE_LOG}
    features = [name for name in supported_features(source.protocol) if name not in _NOT_ASKED_FOR]
    asked = {f"{FEATURE_PREFIX}{name}": "supported" for name in features}
    return NewTable(
        schema=source.schema,
        continued=source,
        highest_id=properties.COLUMN_MAPPING_MAX_COLUMN_ID.parse(source.configuration) or 0,
        partition_by=source.partition_columns,
        cluster_by=tuple(map(render_path, clustering_columns(source))),
        description=source.metadata.description,
        configuration={**configuration, **asked, **given},
    )
