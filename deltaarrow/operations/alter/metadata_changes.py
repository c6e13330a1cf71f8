"""Metadata changes of a table: properties, features, name, description and user domains.

Chapters *Change Metadata*, *Protocol Evolution*, *Column Mapping* and *Domain Metadata* of the protocol.
The functions here plan an `Alteration` and write nothing. `commit_alteration` checks the result against the
rules for new tables, adds the table features that it needs and commits under Spark's operation name.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from deltaarrow.actions import DomainMetadata, Metadata, Protocol
from deltaarrow.errors import DeltaProtocolError, InvalidTablePropertyError, UnsupportedFeatureError
from deltaarrow.features import (
    FEATURE_PREFIX,
    TableFeature,
    assigns_row_ids,
    changed_properties,
    ensure_columns_fit_properties,
    ensure_iceberg_compatible,
    ensure_iceberg_version_may_become,
    ensure_writable,
    has_nested_ids,
    iceberg_compat_version,
    is_supported,
    properties,
    removed_properties,
    upgraded_protocol,
    with_materialized_columns,
)
from deltaarrow.operations.alter.not_null import ensure_filled
from deltaarrow.operations.commit.transaction_start import begin_transaction
from deltaarrow.operations.define.clustering_domain import ensure_clustering_kept
from deltaarrow.operations.rows.row_id_assignment import (
    backfill_row_ids,
    enablement_tags,
    enables_row_tracking,
)
from deltaarrow.runtime.clock import Clock, system_clock
from deltaarrow.schema import Schema, assign_column_ids, ensure_valid_for_write
from deltaarrow.schema.metadata_keys import COMMENT_KEY
from deltaarrow.snapshot import Snapshot
from deltaarrow.spark_sql import ensure_rules_declarable
from deltaarrow.transaction import (
    CommitProperties,
    OptimisticTransaction,
    PostCommitHookProperties,
    ensure_user_domain,
    has_row_count,
)

__all__ = [
    "Alteration",
    "add_features",
    "commit_alteration",
    "ensure_alterable",
    "set_description",
    "set_domain",
    "set_name",
    "set_properties",
    "unset_properties",
]


@dataclass(frozen=True, kw_only=True)
class Alteration:
    """A planned change: the new `metadata`, and `asked`, the table features to add.

    `operation` and `parameters` go to history. `domains` maps user domains to their new text, or to None to
    remove them; `engine_domains` are committed unchanged. Without `may_raise_versions`, features are added
    only if the protocol version has feature lists. With `rewrites_files`, a commit that follows rewrites the
    files that cannot be read as Iceberg, so that they do not prevent the change. The columns in `filled`, by
    their paths, must hold no NULL.
    """

    operation: str
    parameters: Mapping[str, Any]
    metadata: Metadata | None = None
    asked: Sequence[TableFeature] = ()
    domains: Mapping[str, str | None] = field(default_factory=dict)
    engine_domains: Sequence[DomainMetadata] = ()
    may_raise_versions: bool = True
    rewrites_files: bool = False
    filled: Sequence[tuple[str, ...]] = ()


def ensure_alterable(snapshot: Snapshot, alteration: Alteration) -> None:
    """Raise what `commit_alteration` raises for the columns, properties and features of the table."""
    if alteration.metadata is not None:
        _ensure_iceberg_version(snapshot, alteration, alteration.metadata)
        _held_to_the_rules(snapshot, alteration.metadata, alteration.asked)


def commit_alteration(
    snapshot: Snapshot,
    alteration: Alteration,
    *,
    commit_properties: CommitProperties | None = None,
    hook_properties: PostCommitHookProperties | None = None,
    clock: Clock = system_clock,
) -> int:
    """Commit an alteration of the table of `snapshot` and return the committed version.

    If the alteration enables row tracking, existing rows get row ids first, in separate commits; see
    `backfill_row_ids`.

    Raises `SchemaMismatchError` for invalid columns and for columns that contradict the properties,
    `UnsupportedFeatureError` for a feature that this release does not write, `ConstraintViolationError` for a
    NULL in a column that is to hold none, and the exceptions of commits.
    """
    tags: Mapping[str, str] = {}
    if alteration.metadata is not None and enables_row_tracking(snapshot, alteration.metadata):
        _held_to_the_rules(snapshot, alteration.metadata, alteration.asked)  # refuses before any commit
        tags = enablement_tags(snapshot, alteration.metadata)
        snapshot = backfill_row_ids(
            snapshot, commit_properties=commit_properties, hook_properties=hook_properties, clock=clock
        )
    transaction = begin_transaction(
        snapshot, alteration.operation, commit_properties, hook_properties, clock=clock
    )
    transaction.tags.update(tags)
    transaction.parameters = alteration.parameters
    if alteration.metadata is not None:
        _ensure_iceberg_version(snapshot, alteration, alteration.metadata)
        if not alteration.rewrites_files:
            _ensure_files_may_be_read_as_iceberg(transaction, snapshot, alteration.metadata)
    if alteration.metadata is not None:
        metadata, protocol = _held_to_the_rules(snapshot, alteration.metadata, alteration.asked)
        if not alteration.may_raise_versions:
            _ensure_same_versions(snapshot.protocol, protocol)
        transaction.set_metadata(metadata)
        if protocol != snapshot.protocol:
            transaction.set_protocol(protocol)
    for path in alteration.filled:
        ensure_filled(transaction, snapshot, path)
    transaction.stage(alteration.engine_domains)
    for domain, configuration in alteration.domains.items():
        if configuration is None:
            transaction.remove_domain(domain)
        else:
            transaction.set_domain(domain, configuration)
    return transaction.commit()


def _held_to_the_rules(
    snapshot: Snapshot, metadata: Metadata, asked: Sequence[TableFeature]
) -> tuple[Metadata, Protocol]:
    """Return the metadata and the protocol to commit, after checking the rules for new tables."""
    mode = properties.COLUMN_MAPPING_MODE.parse(metadata.configuration)
    schema = Schema.from_json(metadata.schema_string)
    if mode != "none":
        # When column mapping is enabled, existing columns keep their names as physical names.
        record = properties.COLUMN_MAPPING_MAX_COLUMN_ID
        schema, highest = assign_column_ids(
            schema,
            record.parse(metadata.configuration),
            keep_names=snapshot.mapping_mode == "none",
            nested=has_nested_ids(metadata.configuration),
        )
        configuration = {**metadata.configuration, record.name: str(highest)}
        metadata = replace(metadata, schema_string=schema.to_json(), configuration=configuration)
    if schema != snapshot.schema:
        ensure_valid_for_write(schema, metadata.partition_columns, mode)
        ensure_rules_declarable(schema, metadata.configuration)
    ensure_columns_fit_properties(schema, metadata.partition_columns, metadata.configuration, mode)
    ensure_iceberg_compatible(schema, metadata.partition_columns, metadata.configuration)
    ensure_clustering_kept(snapshot, schema, metadata.partition_columns, metadata.configuration, mode)
    protocol = upgraded_protocol(snapshot.protocol, schema, metadata.configuration, "append", asked)
    configuration = with_materialized_columns(protocol, metadata.configuration)
    metadata = replace(metadata, configuration=configuration)
    ensure_writable(protocol, metadata, "append")
    assigns_row_ids(protocol, configuration)
    return metadata, protocol


def _ensure_iceberg_version(snapshot: Snapshot, alteration: Alteration, metadata: Metadata) -> None:
    ensure_iceberg_version_may_become(
        snapshot.configuration, metadata.configuration, rewrites_files=alteration.rewrites_files
    )


def _ensure_files_may_be_read_as_iceberg(
    transaction: OptimisticTransaction, snapshot: Snapshot, metadata: Metadata
) -> None:
    """Check the existing files if the change enables the rules of Iceberg compatibility."""
    old, new = snapshot.configuration, metadata.configuration
    version = iceberg_compat_version(new)
    if version is None or version == iceberg_compat_version(old):
        return
    files = transaction.read_files(columns=["deletion_vector", "stats"])
    if version < 3 and files.column("deletion_vector").null_count < len(files):
        raise DeltaProtocolError(
            f"icebergCompatV{version} does not allow deletion vectors, but files of the table have some;"
            " rewrite these files with table.optimize.purge, or let table.optimize.upgrade_uniform do both"
        )
    if not all(has_row_count(text) for text in files.column("stats").to_pylist()):
        raise DeltaProtocolError(
            f"icebergCompatV{version} needs numRecords in the statistics of every file, but some files of the"
            " table lack it; rewrite these files"
        )


def _ensure_same_versions(old: Protocol, new: Protocol) -> None:
    before = (old.min_reader_version, old.min_writer_version)
    after = (new.min_reader_version, new.min_writer_version)
    if after > before:
        raise DeltaProtocolError(
            f"the feature needs reader version {after[0]} and writer version {after[1]}, which older readers"
            " and writers do not support; pass allow_protocol_versions_increase=True to allow it"
        )


# --- properties and features --------------------------------------------------------------------------


def set_properties(snapshot: Snapshot, changes: Mapping[str, str], *, known_only: bool = True) -> Alteration:
    """Plan to set table properties, like ``ALTER TABLE ... SET TBLPROPERTIES``.

    ``comment`` is the description of the table. ``delta.feature.<name>`` set to ``supported`` adds a feature;
    ``delta.minReaderVersion`` and ``delta.minWriterVersion`` add the features that these versions imply.
    Column mapping can be switched on, in mode ``name``. To switch it off rewrites files: see
    `deltaarrow.operations.optimize.unmapping`.

    Raises the exceptions of `deltaarrow.features.changed_properties`.
    """
    comment = changes.get(COMMENT_KEY)
    rest = {name: text for name, text in changes.items() if name != COMMENT_KEY}
    changed = changed_properties(snapshot.protocol, snapshot.configuration, rest, known_only=known_only)
    given = dict(changed.given) if comment is None else {**changed.given, COMMENT_KEY: comment}
    metadata = replace(snapshot.metadata, configuration=changed.configuration)
    return Alteration(
        operation="SET TBLPROPERTIES",
        parameters={"properties": orjson.dumps(given).decode()},
        metadata=metadata if comment is None else replace(metadata, description=comment),
        asked=changed.asked,
    )


def unset_properties(
    snapshot: Snapshot, names: Iterable[str], *, raise_if_not_exists: bool = True
) -> Alteration:
    """Plan to unset table properties, like ``ALTER TABLE ... UNSET TBLPROPERTIES``.

    Raises the exceptions of `deltaarrow.features.removed_properties`.
    """
    names = list(dict.fromkeys(names))
    rest = [name for name in names if name != COMMENT_KEY]
    changed = removed_properties(snapshot.configuration, rest, raise_if_not_exists=raise_if_not_exists)
    given = [*changed.given, *(name for name in names if name == COMMENT_KEY)]
    metadata = replace(snapshot.metadata, configuration=changed.configuration)
    return Alteration(
        operation="UNSET TBLPROPERTIES",
        # Spark records `ifExists: true` with and without IF EXISTS.
        parameters={"properties": orjson.dumps(given).decode(), "ifExists": True},
        metadata=replace(metadata, description=None) if COMMENT_KEY in names else metadata,
    )


def add_features(snapshot: Snapshot, names: Iterable[str], *, may_raise_versions: bool = True) -> Alteration:
    """Plan to add table features by name, and the features that they require.

    Raises `UnsupportedFeatureError` for a feature that does not exist. If the protocol versions must rise and
    `may_raise_versions` is False, `commit_alteration` raises `DeltaProtocolError`.
    """
    given = {f"{FEATURE_PREFIX}{name}": "supported" for name in names}
    alteration = set_properties(snapshot, given)
    return replace(alteration, operation="ADD FEATURE", may_raise_versions=may_raise_versions)


# --- name, description, domains -----------------------------------------------------------------------


def set_name(snapshot: Snapshot, name: str) -> Alteration:
    """Plan to set the display name of the table. Raises `InvalidTablePropertyError` for an empty text."""
    if not name:
        raise InvalidTablePropertyError("the name of a table is a text of at least one character")
    return Alteration(
        operation="UPDATE TABLE METADATA",
        parameters={"metadata_update": orjson.dumps({"name": name}).decode()},
        metadata=replace(snapshot.metadata, name=name),
    )


def set_description(snapshot: Snapshot, description: str) -> Alteration:
    """Plan to set the description of the table, like ``COMMENT ON TABLE``."""
    return set_properties(snapshot, {COMMENT_KEY: description})


def set_domain(snapshot: Snapshot, domain: str, configuration: str | None) -> Alteration:
    """Plan to set the metadata of a user domain, or to remove it if `configuration` is None.

    Raises `InvalidTablePropertyError` for a domain that is reserved for engines, or that does not exist and
    is to be removed, and `UnsupportedFeatureError` if the table lacks the feature.
    """
    ensure_user_domain(domain)
    if not is_supported(snapshot.protocol, "domainMetadata"):
        raise UnsupportedFeatureError(
            "the table has no domain metadata; add the table feature domainMetadata first, with"
            " table.alter.add_feature",
            feature="domainMetadata",
        )
    if configuration is None and domain not in snapshot.domains:
        raise InvalidTablePropertyError(
            f"cannot remove the domain {domain!r}: version {snapshot.version} of the table has no such domain"
        )
    operation = "REMOVE DOMAIN METADATA" if configuration is None else "SET DOMAIN METADATA"
    return Alteration(operation=operation, parameters={"domain": domain}, domains={domain: configuration})
