"""Conversion between a protocol and the set of features that it stands for.

Chapter "Protocol Evolution". Protocols that stand for the same features mean the same. The one that most
engines understand is written: only versions if they imply exactly these features, feature lists otherwise,
with no reader version higher than the features need. delta-spark calls such a protocol normalised.
"""

from collections.abc import Iterable, Mapping, Sequence

from deltaarrow.actions import Protocol
from deltaarrow.features.gates import implied_features
from deltaarrow.features.registry import (
    FEATURES,
    READER_FEATURES_VERSION,
    WRITER_FEATURES_VERSION,
    FeatureKind,
    TableFeature,
)

__all__ = ["weakest_protocol", "with_required"]


def with_required(features: Iterable[TableFeature]) -> list[TableFeature]:
    """Return the features and everything they require, each once.

    >>> [feature.name for feature in with_required([FEATURES["clustering"]])]
    ['clustering', 'domainMetadata']
    """
    found: dict[str, TableFeature] = {}
    pending = list(features)
    while pending:
        feature = pending.pop(0)
        if feature.name not in found:
            found[feature.name] = feature
            pending += [FEATURES[name] for name in feature.requires]
    return list(found.values())


def weakest_protocol(
    features: Sequence[TableFeature], spellings: Mapping[str, str] | None = None
) -> Protocol:
    """Return the weakest protocol that stands for exactly these features.

    `spellings` gives the names under which a table lists features, where these differ from the current names.

    >>> weakest_protocol([FEATURES["appendOnly"], FEATURES["invariants"]]).min_writer_version
    2
    """
    reader = max((feature.min_reader_version for feature in features), default=1)
    writer = max((feature.min_writer_version for feature in features), default=1)
    if set(implied_features(reader, writer)) == set(features):
        return Protocol(min_reader_version=reader, min_writer_version=writer)
    names = {feature.name: (spellings or {}).get(feature.name, feature.listed_name) for feature in features}
    reader_features = [names[f.name] for f in features if f.kind is FeatureKind.READER_WRITER]
    return Protocol(
        min_reader_version=reader,
        min_writer_version=WRITER_FEATURES_VERSION,
        reader_features=tuple(reader_features) if reader == READER_FEATURES_VERSION else None,
        writer_features=tuple(names[feature.name] for feature in features),
    )
