"""The changes of a commit as JSON for Unity Catalog, whose keys have hyphens.

The catalog keeps the schema, the properties, the protocol and two domains of a table beside the log, and
takes their changes in the request of the commit that makes them. Chapter "Write a Commit" of its Managed
Tables Specification.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from deltaarrow.actions import Action, AddFile, DomainMetadata, Metadata, Protocol, RemoveFile
from deltaarrow.actions.domain_names import CLUSTERING_DOMAIN, ROW_TRACKING_DOMAIN

__all__ = ["commit_report", "render_columns", "render_domains", "render_protocol", "table_updates"]

_DOMAINS = (CLUSTERING_DOMAIN, ROW_TRACKING_DOMAIN)
"""The domains that the catalog knows."""

_KEYS_OF_TYPES = {
    "elementType": "element-type",
    "containsNull": "contains-null",
    "keyType": "key-type",
    "valueType": "value-type",
    "valueContainsNull": "value-contains-null",
}


def render_columns(schema_string: str) -> dict[str, Any]:
    """Return the columns of a schema as the catalog spells them.

    >>> text = '{"type":"struct","fields":[{"name":"a","type":{"type":"array","elementType":"long",'
    >>> text += '"containsNull":true},"nullable":true,"metadata":{}}]}'
    >>> render_columns(text)["fields"][0]["type"]
    {'type': 'array', 'element-type': 'long', 'contains-null': True}
    """
    found: dict[str, Any] = _renamed(orjson.loads(schema_string))
    return found


def _renamed(data_type: Any) -> Any:
    """A type with the catalog's keys; the metadata of its fields stays as it is."""
    if not isinstance(data_type, dict):
        return data_type
    if "fields" in data_type:
        fields = [{**each, "type": _renamed(each["type"])} for each in data_type["fields"]]
        return {**data_type, "fields": fields}
    return {_KEYS_OF_TYPES.get(key, key): _renamed(value) for key, value in data_type.items()}


def render_protocol(protocol: Protocol) -> dict[str, Any]:
    """Return a protocol as the catalog spells it."""
    found: dict[str, Any] = {
        "min-reader-version": protocol.min_reader_version,
        "min-writer-version": protocol.min_writer_version,
    }
    if protocol.reader_features is not None:
        found["reader-features"] = list(protocol.reader_features)
    if protocol.writer_features is not None:
        found["writer-features"] = list(protocol.writer_features)
    return found


def render_domains(actions: Sequence[Action]) -> dict[str, Any]:
    """Return the domains that a commit sets, of those that the catalog knows: domain -> configuration."""
    return {
        each.domain: _known_part(each)
        for each in actions
        if isinstance(each, DomainMetadata) and not each.removed and each.domain in _DOMAINS
    }


def _known_part(domain: DomainMetadata) -> dict[str, Any]:
    found = orjson.loads(domain.configuration)
    kept = "clusteringColumns" if domain.domain == CLUSTERING_DOMAIN else "rowIdHighWaterMark"
    return {kept: found[kept]}


def table_updates(protocol: Protocol, metadata: Metadata, actions: Sequence[Action]) -> list[dict[str, Any]]:
    """Return the updates that a commit is to the catalog, besides the commit itself.

    Args:
        protocol: the protocol of the version before.
        metadata: the metadata of the version before.
        actions: the actions of the commit.
    """
    updates: list[dict[str, Any]] = []
    for action in actions:
        if isinstance(action, Metadata):
            updates += _metadata_updates(metadata, action)
        elif isinstance(action, Protocol) and action != protocol:
            updates.append({"action": "set-protocol", "protocol": render_protocol(action)})
    if domains := render_domains(actions):
        updates.append({"action": "set-domain-metadata", "updates": domains})
    removed = [
        each.domain
        for each in actions
        if isinstance(each, DomainMetadata) and each.removed and each.domain in _DOMAINS
    ]
    if removed:
        updates.append({"action": "remove-domain-metadata", "domains": removed})
    return updates


def _metadata_updates(before: Metadata, after: Metadata) -> list[dict[str, Any]]:
    updates: list[dict[str, Any]] = []
    old, new = before.configuration, after.configuration
    if changed := {name: text for name, text in new.items() if old.get(name) != text}:
        updates.append({"action": "set-properties", "updates": changed})
    if gone := sorted(old.keys() - new.keys()):
        updates.append({"action": "remove-properties", "removals": gone})
    if before.schema_string != after.schema_string:
        updates.append({"action": "set-columns", "columns": render_columns(after.schema_string)})
    if before.partition_columns != after.partition_columns:
        names = list(after.partition_columns)
        updates.append({"action": "set-partition-columns", "partition-columns": names})
    if before.description != after.description:
        updates.append({"action": "set-table-comment", "comment": after.description or ""})
    return updates


def commit_report(actions: Sequence[Action]) -> Mapping[str, int]:
    """Return the figures of a commit that the catalog plans maintenance by."""
    added = [each for each in actions if isinstance(each, AddFile)]
    removed = [each for each in actions if isinstance(each, RemoveFile)]
    return {
        "num-files-added": len(added),
        "num-bytes-added": sum(each.size for each in added),
        "num-files-removed": len(removed),
        "num-bytes-removed": sum(each.size or 0 for each in removed),
    }
