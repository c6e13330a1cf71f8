"""What the protocol of a table that exists becomes when its metadata asks for more.

Chapter "Protocol Evolution" of the protocol. A protocol only ever grows here, and only by what the new
metadata makes active. Like delta-spark, this leaves some features for a user to ask for: readers that do
not know them would be shut out by a write that meant no such thing.
"""

from collections.abc import Mapping

from deltaarrow.actions import Protocol
from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.features.gates import implied_features, is_supported
from deltaarrow.features.registry import (
    FEATURES,
    READER_FEATURES_VERSION,
    WRITER_FEATURES_VERSION,
    FeatureKind,
    Operation,
    Support,
    TableFeature,
)
from deltaarrow.schema import StructType

__all__ = ["upgraded_protocol"]

_TO_BE_ASKED_FOR = frozenset(("timestampNtz", "allowColumnDefaults"))


def upgraded_protocol(
    protocol: Protocol, schema: StructType, configuration: Mapping[str, str], operation: Operation
) -> Protocol:
    """Return the protocol with the features that a new schema and configuration make active, or as it is.

    Raises `UnsupportedFeatureError` naming the features that a user has to add first, or that
    this release does not write.
    """
    missing = [
        feature
        for feature in FEATURES.values()
        if feature.activation is not None
        and feature.activation.is_met(schema, configuration)
        and not is_supported(protocol, feature.name)
    ]
    if not missing:
        return protocol
    names = [feature.name for feature in missing if feature.name in _TO_BE_ASKED_FOR]
    if names:
        listed = ", ".join(f"'delta.feature.{name}' = 'supported'" for name in names)
        raise UnsupportedFeatureError(
            f"the table needs the table feature {', '.join(names)} for this; add it in Spark first: "
            f"ALTER TABLE ... SET TBLPROPERTIES ({listed})",
            feature=", ".join(names),
        )
    names = [feature.name for feature in missing if feature.supports(operation) is not Support.YES]
    if names:
        raise UnsupportedFeatureError(
            f"the table would need the table feature {', '.join(names)}, which this release does not write",
            feature=", ".join(names),
        )
    return _extended(protocol, missing)


def _extended(protocol: Protocol, added: list[TableFeature]) -> Protocol:
    # Spark's order: what is new first, then what the versions implied, the newest of it first.
    implied = implied_features(protocol.min_reader_version, protocol.min_writer_version)[::-1]
    features = [*added, *implied]
    reader_features = [feature.name for feature in features if feature.kind is FeatureKind.READER_WRITER]
    reader = max([protocol.min_reader_version, *(feature.min_reader_version for feature in added)])
    if protocol.min_writer_version < WRITER_FEATURES_VERSION:
        writer = max([protocol.min_writer_version, *(feature.min_writer_version for feature in added)])
        if set(implied_features(reader, writer)) == set(features):
            return Protocol(min_reader_version=reader, min_writer_version=writer, extra=protocol.extra)
    listed = [*(protocol.reader_features or ()), *reader_features]
    return Protocol(
        min_reader_version=reader,
        min_writer_version=WRITER_FEATURES_VERSION,
        reader_features=tuple(dict.fromkeys(listed)) if reader == READER_FEATURES_VERSION else None,
        writer_features=tuple(
            dict.fromkeys([*(protocol.writer_features or ()), *(feature.name for feature in features)])
        ),
        extra=protocol.extra,
    )
