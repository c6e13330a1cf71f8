"""Creation of a table: its first protocol and metadata, chapter "Change Metadata" of the protocol."""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from deltaarrow.actions import DomainMetadata, Metadata, Protocol
from deltaarrow.actions.domain_names import CLUSTERING_DOMAIN
from deltaarrow.errors import (
    CorruptLogError,
    InvalidTablePropertyError,
    TableNotFoundError,
    VersionExistsError,
)
from deltaarrow.features import (
    FEATURE_PREFIX,
    FEATURES,
    Support,
    ensure_columns_fit_properties,
    ensure_iceberg_compatible,
    find_feature,
    has_nested_ids,
    minimal_protocol,
    new_table_configuration,
    properties,
    with_iceberg_properties,
    with_materialized_columns,
)
from deltaarrow.log import NewTableStore, list_segment
from deltaarrow.operations.commit.hooks import commit_hooks
from deltaarrow.operations.define.clustering_domain import (
    parse_clustering_columns,
    render_clustering,
    resolve_clustering_columns,
)
from deltaarrow.runtime.clock import Clock, system_clock
from deltaarrow.schema import (
    Schema,
    assign_column_ids,
    ensure_valid_for_write,
    needs_column_mapping,
    resolve_partition_columns,
    without_column_ids,
)
from deltaarrow.snapshot import Snapshot
from deltaarrow.spark_sql import declared_rules, ensure_columns_unquoted, ensure_rules_declarable
from deltaarrow.storage import Store
from deltaarrow.transaction import (
    DEFAULT_MAX_COMMIT_RETRIES,
    CommitProperties,
    OptimisticTransaction,
    PostCommitHookProperties,
    given_properties,
)
from deltaarrow.write import ensure_identity_columns_declarable

__all__ = ["NewTable", "create_table", "creation_parameters", "is_table"]


@dataclass(frozen=True, kw_only=True)
class NewTable:
    """The schema, layout and properties of a new table, for `create_table` and for a first write.

    With `has_files` the table is made of files that exist: its columns keep their ids, and column mapping
    finds them in the files by the names that they have; an id up to `highest_id` is taken. Columns with the
    path and type of a column of `continued` get its id and physical name, if that version maps columns in the
    same mode. With `maps_odd_names` a name with a space, or another character that Spark takes only with
    column mapping, turns on column mapping by name, unless `configuration` says something of it.
    `through_catalog` says that a catalog creates the table, and manages its commits.
    """

    schema: Schema
    partition_by: Sequence[str] = ()
    cluster_by: Sequence[str] = ()
    name: str | None = None
    description: str | None = None
    configuration: Mapping[str, str] = field(default_factory=dict)
    has_files: bool = False
    highest_id: int = 0
    continued: Snapshot | None = None
    maps_odd_names: bool = False
    through_catalog: bool = False

    def placed_in(self, store: Store) -> "NewTable":
        """Return the table with what the catalog of its place demands; the table itself for any other place.

        What a catalog suggests counts unless `configuration` says otherwise or this release does not know it.
        Raises `InvalidTablePropertyError` for a property that contradicts what the catalog requires.
        """
        if not isinstance(store, NewTableStore):
            return self
        required, given = store.demands.required, {str(key).lower(): key for key in self.configuration}
        for name, text in required.items():
            if (spelled := given.get(name.lower())) is not None and self.configuration[spelled] != text:
                raise InvalidTablePropertyError(
                    f"the catalog requires the property {name} to be {text!r} in a new table, not"
                    f" {self.configuration[spelled]!r}"
                )
        own = {key: self.configuration[key] for lower, key in given.items() if lower not in _lower(required)}
        suggested = {
            name: text
            for name, text in store.demands.suggested.items()
            if name.lower() not in given and _is_known(name)
        }
        return replace(self, configuration={**suggested, **own, **required}, through_catalog=True)

    @property
    def added_properties(self) -> Mapping[str, str]:
        """The properties that the names of the columns add to `configuration`."""
        record = properties.COLUMN_MAPPING_MODE
        about_mapping = {record.name.lower(), f"{FEATURE_PREFIX}columnMapping".lower()}
        is_said = any(str(key).lower() in about_mapping for key in self.configuration)
        if is_said or not self.maps_odd_names or not needs_column_mapping(self.schema):
            return {}
        return {record.name: "name"}

    def actions(self, clock: Clock) -> tuple[Protocol, Metadata]:
        """Return the protocol and the metadata of the first commit.

        Raises `SchemaMismatchError`, `InvalidTablePropertyError` or `UnsupportedFeatureError` for a table
        that cannot be created.
        """
        given = {**self.configuration, **self.added_properties}
        configuration = with_iceberg_properties(new_table_configuration(given))
        mapping_mode = properties.COLUMN_MAPPING_MODE.parse(configuration)
        ensure_valid_for_write(self.schema, self.partition_by, mapping_mode)
        # Column ids and physical names belong to the table that the schema was copied from.
        schema = self.schema if self.has_files else without_column_ids(self.schema)
        if mapping_mode != "none":
            old = self.continued
            if old is not None and old.mapping_mode != mapping_mode:
                old = None
            schema, highest = assign_column_ids(
                schema,
                self.highest_id,
                previous=None if old is None else old.schema,
                keep_names=self.has_files,
                nested=has_nested_ids(configuration),
            )
            configuration[properties.COLUMN_MAPPING_MAX_COLUMN_ID.name] = str(highest)
        partition_columns = resolve_partition_columns(schema, self.partition_by)
        ensure_columns_fit_properties(schema, partition_columns, configuration, mapping_mode)
        ensure_iceberg_compatible(schema, partition_columns, configuration)
        asked = [FEATURES["clustering"]] if self.cluster_by else []
        protocol = minimal_protocol(schema, given, asked, through_catalog=self.through_catalog)
        configuration = with_materialized_columns(protocol, configuration)
        for rule in declared_rules(schema, configuration).constraints:
            ensure_columns_unquoted(rule.expression.text, [schema])
        ensure_rules_declarable(schema, configuration)
        ensure_identity_columns_declarable(schema, partition_columns)
        metadata = Metadata(
            id=str(uuid.uuid4()),
            name=self.name,
            description=self.description,
            schema_string=schema.to_json(),
            partition_columns=partition_columns,
            configuration=configuration,
            created_time=clock(),
        )
        return protocol, metadata

    def domains(self, metadata: Metadata) -> list[DomainMetadata]:
        """Return the domain metadata of the first commit, given its metadata.

        Raises `SchemaMismatchError` for invalid clustering columns.
        """
        if not self.cluster_by:
            return []
        schema = Schema.from_json(metadata.schema_string)
        mode = properties.COLUMN_MAPPING_MODE.parse(metadata.configuration)
        columns = parse_clustering_columns(self.cluster_by)
        paths = resolve_clustering_columns(
            schema, columns, metadata.partition_columns, metadata.configuration, mode
        )
        text = render_clustering(schema, paths, mode)
        return [DomainMetadata(domain=CLUSTERING_DOMAIN, configuration=text, removed=False)]


def _lower(names: Iterable[str]) -> set[str]:
    return {name.lower() for name in names}


def _is_known(name: str) -> bool:
    """Whether this release makes something of a property that a catalog suggests."""
    if not name.startswith(FEATURE_PREFIX):
        record = properties.PROPERTIES.get(name.lower())
        return record is not None and record.editable and record.is_of_spark
    feature = find_feature(name.removeprefix(FEATURE_PREFIX))
    return feature is not None and feature.create is Support.YES


def is_table(store: Store) -> bool:
    """Whether a store has a Delta log, valid or not."""
    try:
        list_segment(store)
    except TableNotFoundError:
        return False
    except CorruptLogError:
        return True
    return True


def creation_parameters(table: NewTable, metadata: Metadata, *, is_managed: bool = False) -> dict[str, Any]:
    """Return delta-spark's parameters of the operations that make a table, given its metadata."""
    return {
        "partitionBy": orjson.dumps(list(table.partition_by)).decode(),
        "clusterBy": orjson.dumps(list(table.cluster_by)).decode(),
        "description": table.description,
        "isManaged": str(is_managed).lower(),
        "properties": orjson.dumps(dict(metadata.configuration)).decode(),
    }


def create_table(
    store: Store,
    table: NewTable,
    *,
    mode: str = "error",
    commit_properties: CommitProperties | None = None,
    hook_properties: PostCommitHookProperties | None = None,
    clock: Clock = system_clock,
) -> bool:
    """Commit version 0 of an empty table; return whether the table was created.

    If the table exists, ``error`` and ``append`` raise `VersionExistsError`, and ``ignore`` leaves the table
    unchanged. `define_table` replaces one.
    """
    if mode not in ("error", "ignore", "append"):
        raise ValueError(f"mode is error, append, overwrite or ignore, not {mode!r}")
    if is_table(store):
        if mode == "error":
            raise VersionExistsError(
                f"{store.uri} is a Delta table already; mode='ignore' returns it unchanged"
            )
        if mode == "append":
            raise VersionExistsError(
                f"{store.uri} is a Delta table already, and creating a table writes no rows; append with"
                " write_deltalake, or open it with mode='ignore'"
            )
        return False
    commit_properties = given_properties(commit_properties)
    table = table.placed_in(store)
    protocol, metadata = table.actions(clock)
    transaction = OptimisticTransaction(
        store=store,
        snapshot=None,
        operation="CREATE TABLE",
        parameters=creation_parameters(table, metadata),
        commit_metadata=commit_properties.custom_metadata or {},
        max_commit_retries=DEFAULT_MAX_COMMIT_RETRIES,
        hooks=commit_hooks(metadata.configuration, hook_properties),
        clock=clock,
    )
    transaction.stage([metadata, protocol, *table.domains(metadata)])
    transaction.commit()
    return True
