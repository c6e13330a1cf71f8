"""Protocol upgrade of an existing table when its metadata, or a user, needs more features.

Chapter "Protocol Evolution" of the protocol. A table loses no feature here. It gains only the features that
the new metadata makes active, that are requested by name or version, and those that these require. As in
delta-spark, some features must be requested by a user: otherwise a write could lock out readers that do not
know them without anyone meaning to.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from deltaarrow.actions import Protocol
from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.features.composition import weakest_protocol, with_required
from deltaarrow.features.gates import implied_features, is_supported, supported_features
from deltaarrow.features.registry import FEATURES, Operation, Support, TableFeature, find_feature
from deltaarrow.schema import StructType

__all__ = ["merged_protocol", "upgraded_protocol"]

_TO_BE_ASKED_FOR = frozenset(("timestampNtz", "allowColumnDefaults"))


def upgraded_protocol(
    protocol: Protocol,
    schema: StructType,
    configuration: Mapping[str, str],
    operation: Operation,
    asked: Iterable[TableFeature] = (),
) -> Protocol:
    """Return the protocol with the features that a new schema and configuration make active.

    Features in `asked` are added too, active or not. When a feature is added, the protocol becomes the
    weakest one with all features, so feature lists that only repeat what versions imply may disappear.

    Raises `UnsupportedFeatureError` naming the features that a user has to add first, or that this release
    does not write.
    """
    asked = [feature for feature in asked if not is_supported(protocol, feature.name)]
    active = [
        feature
        for feature in FEATURES.values()
        if feature.activation is not None
        and feature.activation.is_met(schema, configuration)
        and not is_supported(protocol, feature.name)
    ]
    if not asked and not active:
        return protocol
    names = [feature.name for feature in active if feature.name in _TO_BE_ASKED_FOR and feature not in asked]
    if names:
        listed = ", ".join(f"'delta.feature.{name}' = 'supported'" for name in names)
        raise UnsupportedFeatureError(
            f"this needs the table feature {', '.join(names)}, which the table lacks; add it first with"
            f" DeltaTable.alter.add_feature or, in Spark, ALTER TABLE ... SET TBLPROPERTIES ({listed})",
            feature=", ".join(names),
        )
    added = [each for each in with_required([*asked, *active]) if not is_supported(protocol, each.name)]
    names = [
        feature.name
        for feature in added
        if feature.supports(operation) is Support.NO
        or (feature in active and feature.supports(operation) is not Support.YES)
    ]
    if names:
        raise UnsupportedFeatureError(
            f"this needs the table feature {', '.join(names)}, which this release does not write",
            feature=", ".join(names),
        )
    return _extended(protocol, added)


def merged_protocol(protocol: Protocol, other: Protocol) -> Protocol:
    """Return the protocol with the features of another one as well; none is lost.

    >>> old = Protocol(min_reader_version=1, min_writer_version=2)
    >>> merged_protocol(old, Protocol(min_reader_version=1, min_writer_version=3)).min_writer_version
    3
    """
    names = [name for name in supported_features(other) if not is_supported(protocol, name)]
    lacking = [feature for name in names if (feature := find_feature(name)) is not None]
    return _extended(protocol, lacking) if lacking else protocol


def _extended(protocol: Protocol, added: list[TableFeature]) -> Protocol:
    # Listed features keep their place; then come the new ones, then those that the versions implied, the
    # newest of them first.
    listed = dict.fromkeys([*(protocol.writer_features or ()), *(protocol.reader_features or ())])
    present = {feature.name: name for name in listed if (feature := find_feature(name)) is not None}
    implied = implied_features(protocol.min_reader_version, protocol.min_writer_version)[::-1]
    features = dict.fromkeys([*(FEATURES[name] for name in present), *added, *implied])
    return replace(weakest_protocol(list(features), present), extra=protocol.extra)
