"""Metadata, protocol and domains of a clone.

They are those of the source, but for what belongs to its log: the id of the table, the names of the hidden
columns of row ids, which the clone assigns anew, and since when timestamps are in its commits. As in Spark,
the clone has no description.
"""

import uuid
from collections.abc import Mapping
from dataclasses import replace

from deltaarrow.actions import DomainMetadata, Metadata, Protocol
from deltaarrow.actions.domain_names import CLUSTERING_DOMAIN
from deltaarrow.errors import InvalidTablePropertyError
from deltaarrow.features import (
    changed_properties,
    ensure_columns_fit_properties,
    ensure_iceberg_compatible,
    ensure_writable,
    iceberg_compat_version,
    is_supported,
    merged_protocol,
    properties,
    upgraded_protocol,
    with_materialized_columns,
)
from deltaarrow.operations.define.clustering_domain import render_clustering
from deltaarrow.schema.metadata_keys import UNITY_TABLE_ID
from deltaarrow.snapshot import Snapshot

__all__ = ["clone_of"]

_HIDDEN_COLUMNS = (
    properties.MATERIALIZED_ROW_ID_COLUMN_NAME.name,
    properties.MATERIALIZED_ROW_COMMIT_VERSION_COLUMN_NAME.name,
)
_OF_THE_LOG = (
    *_HIDDEN_COLUMNS,
    properties.IN_COMMIT_TIMESTAMP_ENABLEMENT_VERSION.name,
    properties.IN_COMMIT_TIMESTAMP_ENABLEMENT_TIMESTAMP.name,
    properties.REQUIRE_CHECKPOINT_PROTECTION_BEFORE_VERSION.name,
    UNITY_TABLE_ID,
)
_MANAGED = ("catalogManaged", "catalogOwned-preview")


def clone_of(
    source: Snapshot, target: Snapshot | None, given: Mapping[str, str]
) -> tuple[Metadata, Protocol, tuple[DomainMetadata, ...]]:
    """Return the metadata, the protocol and the domains of a clone; `given` are properties that it gets.

    Raises `InvalidTablePropertyError` for properties that a clone cannot get, and `UnsupportedFeatureError`
    for a table that this release cannot write.
    """
    protocol = _without_catalog(source.protocol)
    if target is not None:
        protocol = merged_protocol(protocol, target.protocol)
    own = {} if target is None else target.configuration
    configuration = {name: text for name, text in source.configuration.items() if name not in _OF_THE_LOG}
    configuration |= {name: own[name] for name in _OF_THE_LOG if name in own}
    changed = changed_properties(protocol, configuration, given)
    _ensure_mapping_stays(source, target, changed.configuration)
    _ensure_iceberg_stays(source, changed.configuration)
    schema, mode = source.schema, source.mapping_mode
    protocol = upgraded_protocol(protocol, schema, changed.configuration, "append", changed.asked)
    configuration = with_materialized_columns(protocol, changed.configuration)
    ensure_columns_fit_properties(schema, source.metadata.partition_columns, configuration, mode)
    ensure_iceberg_compatible(schema, source.metadata.partition_columns, configuration)
    table_id = str(uuid.uuid4()) if target is None else target.metadata.id
    metadata = replace(source.metadata, id=table_id, description=None, configuration=configuration)
    ensure_writable(protocol, metadata, "append")
    return metadata, protocol, _domains(source, target, protocol)


def _without_catalog(protocol: Protocol) -> Protocol:
    """The protocol of the source; no catalog manages the clone."""
    reader, writer = (
        None if names is None else tuple(name for name in names if name not in _MANAGED)
        for names in (protocol.reader_features, protocol.writer_features)
    )
    return replace(protocol, reader_features=reader, writer_features=writer)


def _ensure_mapping_stays(
    source: Snapshot, target: Snapshot | None, configuration: Mapping[str, str]
) -> None:
    modes = [properties.COLUMN_MAPPING_MODE.parse(configuration)]
    if target is not None:
        modes.append(target.mapping_mode)
    for mode in modes:
        if mode != source.mapping_mode:
            raise InvalidTablePropertyError(
                f"the column mapping mode of a clone is that of its source, {source.mapping_mode!r}, and not"
                f" {mode!r} (Spark: DELTA_UNSUPPORTED_COLUMN_MAPPING_MODE_CHANGE)"
            )


def _ensure_iceberg_stays(source: Snapshot, configuration: Mapping[str, str]) -> None:
    version = iceberg_compat_version(configuration)
    if version is not None and version != iceberg_compat_version(source.configuration):
        raise InvalidTablePropertyError(
            f"a clone cannot get icebergCompatV{version}, because the files of the source may not fit it;"
            " clone the table first, and call optimize.upgrade_uniform of the clone then"
        )


def _domains(source: Snapshot, target: Snapshot | None, protocol: Protocol) -> tuple[DomainMetadata, ...]:
    """The clustering columns of the source."""
    if not is_supported(protocol, "domainMetadata"):
        return ()
    found = source.domains.get(CLUSTERING_DOMAIN)
    if found is None and target is not None and CLUSTERING_DOMAIN in target.domains:
        text = render_clustering(source.schema, [], source.mapping_mode)
        found = DomainMetadata(domain=CLUSTERING_DOMAIN, configuration=text, removed=False)
    return () if found is None else (found,)
