"""The protocol of a table after a feature is dropped: chapter "Protocol Evolution" of the protocol.

The result is the weakest protocol with the features that stay, so it may fall back to versions without
feature lists.
"""

from collections.abc import Iterable
from dataclasses import replace

from deltaarrow.actions import Protocol
from deltaarrow.features.composition import weakest_protocol
from deltaarrow.features.gates import supported_features
from deltaarrow.features.registry import TableFeature, find_feature

__all__ = ["downgraded_protocol"]


def downgraded_protocol(
    protocol: Protocol, dropped: TableFeature, added: Iterable[TableFeature] = ()
) -> Protocol:
    """Return the protocol without a feature, and with the ones that dropping it adds.

    Every feature of the protocol must be one that this release knows.

    >>> from deltaarrow.features.registry import FEATURES
    >>> protocol = Protocol(min_reader_version=1, min_writer_version=3)
    >>> downgraded_protocol(protocol, FEATURES["checkConstraints"]).min_writer_version
    2
    """
    spellings = {
        feature.name: name
        for name in supported_features(protocol)
        if (feature := find_feature(name)) is not None
    }
    kept = [feature for name in spellings if (feature := find_feature(name)) not in (None, dropped)]
    features = dict.fromkeys([*(each for each in kept if each is not None), *added])
    return replace(weakest_protocol(list(features), spellings), extra=protocol.extra)
