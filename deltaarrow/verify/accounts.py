"""Differences between two accounts of one version: replay, and a checkpoint or a version checksum."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from deltaarrow.actions import DomainMetadata, Metadata, Protocol, SetTransaction
from deltaarrow.features import properties

__all__ = ["domain_differences", "metadata_differences", "protocol_differences", "transaction_differences"]


def _names(values: object) -> str:
    text = repr(values)
    return text if len(text) <= 120 else text[:119] + "…"


def _differ(name: str, said: object, found: object) -> Iterator[str]:
    if said != found:
        yield f"{name} is {_names(said)}, but the commits say {_names(found)}"


def protocol_differences(said: Protocol, found: Protocol) -> Iterator[str]:
    """Yield how an account of the protocol differs from `found`."""
    yield from _differ("minReaderVersion", said.min_reader_version, found.min_reader_version)
    yield from _differ("minWriterVersion", said.min_writer_version, found.min_writer_version)
    for name, one, other in (
        ("readerFeatures", said.reader_features, found.reader_features),
        ("writerFeatures", said.writer_features, found.writer_features),
    ):
        yield from _differ(name, sorted(set(one or ())), sorted(set(other or ())))


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return text


def metadata_differences(said: Metadata, found: Metadata) -> Iterator[str]:
    """Yield how an account of the metadata differs from `found`."""
    yield from _differ("id", said.id, found.id)
    yield from _differ("name", said.name, found.name)
    yield from _differ("description", said.description, found.description)
    yield from _differ("format", said.format.provider, found.format.provider)
    if said.schema_string != found.schema_string:
        yield from _differ("the schema", _parsed(said.schema_string), _parsed(found.schema_string))
    yield from _differ("partitionColumns", list(said.partition_columns), list(found.partition_columns))
    yield from _differ("configuration", dict(said.configuration), dict(found.configuration))
    yield from _differ("createdTime", said.created_time, found.created_time)


def transaction_differences(
    said: Mapping[str, SetTransaction],
    found: Mapping[str, SetTransaction],
    configuration: Mapping[str, str],
) -> Iterator[str]:
    """Yield how the versions of applications differ; either account may omit expired transactions."""
    applications = {*said, *found}
    if properties.SET_TRANSACTION_RETENTION.name in configuration:
        applications = {*said} & {*found}
    for application in sorted(applications):
        one, other = said.get(application), found.get(application)
        yield from _differ(
            f"the transaction version of {application!r}", one and one.version, other and other.version
        )


def domain_differences(
    said: Mapping[str, DomainMetadata], found: Mapping[str, DomainMetadata]
) -> Iterator[str]:
    """Yield how the domain metadata differ."""
    for domain in sorted({*said, *found}):
        one, other = said.get(domain), found.get(domain)
        yield from _differ(f"the domain {domain!r}", one and one.configuration, other and other.configuration)
