"""The gates: conditions on a table's protocol and metadata for an operation to begin.

Chapter "Protocol Evolution" of the protocol. Every refusal names the version, feature or property that causes
it. Gates read and write nothing.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Literal

from deltaarrow.actions import Format, Metadata, Protocol
from deltaarrow.errors import AppendOnlyError, DeltaProtocolError, UnsupportedFeatureError
from deltaarrow.features.iceberg_compat import ensure_universal_format
from deltaarrow.features.properties import ENABLE_IN_COMMIT_TIMESTAMPS
from deltaarrow.features.registry import (
    FEATURES,
    READER_FEATURES_VERSION,
    WRITER_FEATURES_VERSION,
    FeatureKind,
    Operation,
    Support,
    TableFeature,
    find_feature,
)
from deltaarrow.features.type_changes import find_refused_change
from deltaarrow.schema import Schema, StructType, schema_of_log
from deltaarrow.schema.metadata_keys import TYPE_CHANGES_KEY

__all__ = [
    "ensure_honourable",
    "ensure_readable",
    "ensure_writable",
    "implied_features",
    "is_supported",
    "supported_features",
]

_DOING = {
    "read": "read the table",
    "create": "create the table",
    "append": "append to the table",
    "overwrite": "overwrite the table",
    "change": "change rows of the table",
}


def implied_features(reader_version: int, writer_version: int) -> list[TableFeature]:
    """Return the legacy features that protocol versions without feature lists imply.

    >>> [feature.name for feature in implied_features(1, 3)]
    ['appendOnly', 'invariants', 'checkConstraints']
    """
    if writer_version >= WRITER_FEATURES_VERSION:
        return []
    return [
        feature
        for feature in FEATURES.values()
        if feature.is_legacy
        and feature.min_writer_version <= writer_version
        and feature.min_reader_version <= reader_version
    ]


def supported_features(protocol: Protocol) -> list[str]:
    """Return the names of the features that a protocol lists or implies, as the protocol spells them."""
    implied = implied_features(protocol.min_reader_version, protocol.min_writer_version)
    listed = (*(protocol.writer_features or ()), *(protocol.reader_features or ()))
    return list(dict.fromkeys([*listed, *(feature.name for feature in implied)]))


def is_supported(protocol: Protocol, name: str) -> bool:
    """Whether a protocol lists or implies a feature, under any of its names.

    >>> is_supported(Protocol(min_reader_version=2, min_writer_version=5), "columnMapping")
    True
    """
    return name in _supported_names(
        protocol.min_reader_version,
        protocol.min_writer_version,
        tuple(protocol.reader_features or ()),
        tuple(protocol.writer_features or ()),
    )


@lru_cache(maxsize=128)
def _supported_names(
    reader: int, writer: int, listed: tuple[str, ...], more: tuple[str, ...]
) -> frozenset[str]:
    """The features by their current names; cached, since every commit asks for several."""
    implied = (feature.name for feature in implied_features(reader, writer))
    found = (feature.name for name in (*listed, *more) if (feature := find_feature(name)) is not None)
    return frozenset((*implied, *found))


def ensure_readable(protocol: Protocol, metadata: Metadata, *, through_catalog: bool = False) -> None:
    """Raise unless this release can read a table of this protocol and metadata.

    `through_catalog` says whether the commits come from the table's catalog.

    `UnsupportedFeatureError` names the refused version, feature or format; `DeltaProtocolError` says how a
    protocol contradicts itself. Features for writers only never prevent reading, known or not.
    """
    _ensure_consistent(protocol)
    if (provider := metadata.format.provider).lower() != "parquet":
        raise _refusal("read", f"its data files have the format {provider!r}, not parquet", [provider])
    in_the_way = []
    for name in supported_features(protocol):
        feature = find_feature(name)
        if feature is None:
            if name in (protocol.reader_features or ()):
                in_the_way.append(name)
        elif feature.kind is FeatureKind.READER_WRITER and feature.read is Support.NO:
            in_the_way.append(name)
        elif feature.read is Support.THROUGH_CATALOG:
            _ensure_managed(name, feature, metadata, through_catalog)
        elif feature.read is Support.UNLESS_ACTIVE:
            _ensure_inactive(feature, "read", schema_of_log(metadata.schema_string), metadata.configuration)
    _ensure_none(in_the_way, protocol, "read")
    if TYPE_CHANGES_KEY in metadata.schema_string and is_supported(protocol, "typeWidening"):
        _ensure_widened(schema_of_log(metadata.schema_string), protocol)


def ensure_writable(protocol: Protocol, metadata: Metadata, operation: Operation) -> None:
    """Raise unless this release can do `operation` to a table of this protocol and metadata.

    Checked are all features that the protocol lists or its versions imply, and also those that only the
    metadata uses: a table may have a constraint without its feature. Call it before the first file is
    written. Raises the errors of `ensure_readable`, and `InvalidTablePropertyError` for a property whose
    text has no meaning.
    """
    _ensure_writable(
        operation,
        protocol.min_reader_version,
        protocol.min_writer_version,
        None if protocol.reader_features is None else tuple(protocol.reader_features),
        None if protocol.writer_features is None else tuple(protocol.writer_features),
        metadata.format.provider,
        metadata.schema_string,
        frozenset(metadata.configuration.items()),
    )


@lru_cache(maxsize=128)
def _ensure_writable(
    operation: Operation,
    reader_version: int,
    writer_version: int,
    reader_features: tuple[str, ...] | None,
    writer_features: tuple[str, ...] | None,
    provider: str,
    schema_string: str,
    configuration: frozenset[tuple[str, str]],
) -> None:
    """Cached when it passes: every write of a process asks the same about its table."""
    protocol = Protocol(
        min_reader_version=reader_version,
        min_writer_version=writer_version,
        reader_features=reader_features,
        writer_features=writer_features,
    )
    metadata = Metadata(
        id="",
        format=Format(provider=provider),
        schema_string=schema_string,
        configuration=dict(configuration),
    )
    _ensure_consistent(protocol)
    if protocol.min_writer_version > WRITER_FEATURES_VERSION:
        version = protocol.min_writer_version
        raise _refusal(
            operation,
            f"it needs writer version {version}, and this release writes up to {WRITER_FEATURES_VERSION}",
            [f"minWriterVersion={version}"],
        )
    in_the_way = [
        name
        for name in supported_features(protocol)
        if (feature := find_feature(name)) is None or feature.supports(operation) is Support.NO
    ]
    _ensure_none(in_the_way, protocol, operation)
    # A table that only its catalog lets commit is open through its catalog, and the committer asks it.
    ensure_readable(protocol, metadata, through_catalog=True)
    schema = Schema.from_json(metadata.schema_string)
    ensure_honourable(schema, metadata.configuration, operation)
    for feature in FEATURES.values():
        activation = feature.activation
        if (
            activation is not None
            and not (feature.is_legacy and feature.kind is FeatureKind.WRITER)
            and activation.is_met(schema, metadata.configuration)
            and not is_supported(protocol, feature.name)
        ):
            raise DeltaProtocolError(
                f"cannot {_DOING[operation]}: {activation.wording}, "
                f"but its protocol does not list the table feature {feature.name}; add the feature"
            )


def ensure_honourable(schema: StructType, configuration: Mapping[str, str], operation: Operation) -> None:
    """Raise unless this release can do everything that a schema and a configuration require of a writer.

    Raises `UnsupportedFeatureError` naming the column metadata, type or property, and its feature.
    """
    for feature in FEATURES.values():
        if feature.supports(operation) is not Support.YES:
            _ensure_inactive(feature, operation, schema, configuration)
    ensure_universal_format(schema, configuration)


def _ensure_consistent(protocol: Protocol) -> None:
    reader, writer = protocol.min_reader_version, protocol.min_writer_version
    if reader > READER_FEATURES_VERSION:
        raise _refusal(
            "read",
            f"it needs reader version {reader}, and this release reads up to {READER_FEATURES_VERSION}",
            [f"minReaderVersion={reader}"],
        )
    lists_reader, lists_writer = reader == READER_FEATURES_VERSION, writer >= WRITER_FEATURES_VERSION
    # An empty list on an old version is harmless; checkpoints of some writers have one.
    for contradiction, what in (
        (reader < 1 or writer < 1, "versions start at 1"),
        (lists_reader and not lists_writer, f"reader version {reader} needs writer version 7"),
        (lists_reader and protocol.reader_features is None, f"reader version {reader} needs readerFeatures"),
        (lists_writer and protocol.writer_features is None, f"writer version {writer} needs writerFeatures"),
        (not lists_reader and protocol.reader_features, f"reader version {reader} has no readerFeatures"),
        (not lists_writer and protocol.writer_features, f"writer version {writer} has no writerFeatures"),
    ):
        if contradiction:
            raise DeltaProtocolError(
                f"the protocol (reader version {reader}, writer version {writer}) contradicts itself: {what}"
            )


def _ensure_managed(name: str, feature: TableFeature, metadata: Metadata, through_catalog: bool) -> None:
    if not through_catalog:
        reason = f"its protocol has the table feature {name}, and no catalog is given"
        raise _refusal("read", reason, [name], feature.remedy)
    # File times mean nothing: commits are published late.
    if not ENABLE_IN_COMMIT_TIMESTAMPS.parse(metadata.configuration):
        raise DeltaProtocolError(
            f"the protocol has the table feature {name}, but the table lacks"
            " delta.enableInCommitTimestamps=true, which the feature requires"
        )


def _ensure_widened(schema: StructType, protocol: Protocol) -> None:
    in_preview = "typeWidening-preview" in (protocol.reader_features or ())
    if what := find_refused_change(schema, in_preview=in_preview):
        reason = f"{what}, which the table feature typeWidening does not allow"
        raise _refusal("read", reason, ["typeWidening"])


def _ensure_none(names: Sequence[str], protocol: Protocol, operation: Operation | Literal["read"]) -> None:
    if not names:
        return
    remedies = [f.remedy for name in names if (f := find_feature(name)) is not None and f.remedy]
    has = "has" if protocol.min_writer_version >= WRITER_FEATURES_VERSION else "implies"
    plural = "s" if len(names) > 1 else ""
    verb = "read" if operation == "read" else "write"
    raise _refusal(
        operation,
        f"its protocol {has} the table feature{plural} {', '.join(names)}, "
        f"which this release does not {verb}",
        names,
        remedies[0] if remedies else f"use an engine that does, or let it drop the feature{plural}",
    )


def _ensure_inactive(
    feature: TableFeature,
    operation: Operation | Literal["read"],
    schema: StructType,
    configuration: Mapping[str, str],
) -> None:
    activation = feature.activation
    if activation is not None and activation.is_met(schema, configuration):
        reason = f"{activation.wording} (table feature {feature.name})"
        raise _refusal(operation, reason, [feature.name], feature.remedy)


def _refusal(
    operation: Operation | Literal["read"], reason: str, features: Sequence[str], remedy: str = ""
) -> UnsupportedFeatureError:
    message = f"cannot {_DOING[operation]}: {reason}" + (f"; {remedy}" if remedy else "")
    if list(features) == ["appendOnly"]:
        return AppendOnlyError(message)
    return UnsupportedFeatureError(message, feature=", ".join(features))
