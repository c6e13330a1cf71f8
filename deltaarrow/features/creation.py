"""The protocol and stored properties of a new table, as delta-spark decides them.

Chapters "Protocol Evolution" and "Table Features". Features come from the schema (a type), from properties
(``delta.enableDeletionVectors``), from ``delta.feature.<name>`` and from the requested versions. The result
is the weakest protocol that has them all.
"""

import warnings
from collections.abc import Iterable, Mapping

from deltaarrow.actions import Protocol
from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.features.composition import weakest_protocol, with_required
from deltaarrow.features.gates import ensure_honourable, implied_features
from deltaarrow.features.properties import (
    IGNORE_PROTOCOL_DEFAULTS,
    MIN_READER_VERSION,
    MIN_WRITER_VERSION,
    PROPERTIES,
)
from deltaarrow.features.property_names import (
    FEATURE_PREFIX,
    ensure_commits_outlive_files,
    ensure_manifests_tell_rows,
    proper_properties,
)
from deltaarrow.features.registry import FEATURES, Support, TableFeature, find_feature
from deltaarrow.schema import StructType

__all__ = ["minimal_protocol", "new_table_configuration"]

_NOT_BY_PROPERTY = "clustering"
_TO_BE_ASKED_FOR = "allowColumnDefaults"
"""As in delta-spark, the metadata alone does not add this feature."""

_PROTOCOL_NAMES = {
    record.name for record in (MIN_READER_VERSION, MIN_WRITER_VERSION, IGNORE_PROTOCOL_DEFAULTS)
}


def new_table_configuration(configuration: Mapping[str, str]) -> dict[str, str]:
    """Return the properties that a new table stores when a user gives these.

    Names get their proper spelling; properties that only choose the protocol are left out.
    Raises `InvalidTablePropertyError` for an unknown ``delta.`` name, an impossible value, or a property
    that users may not set, and `UnsupportedFeatureError` for an unknown ``delta.feature.``.
    Warns of properties that delta-spark does not know.

    >>> new_table_configuration({"delta.appendonly": "true", "delta.minWriterVersion": "2", "owner": "me"})
    {'delta.appendOnly': 'true', 'owner': 'me'}
    """
    validated = _validated(configuration)
    for name in validated:
        record = PROPERTIES.get(name.lower())
        if record is not None and not record.is_of_spark:
            warnings.warn(f"{name} has an effect here, but delta-spark does not know it", stacklevel=2)
    return {
        name: text
        for name, text in validated.items()
        if name not in _PROTOCOL_NAMES and not name.startswith(FEATURE_PREFIX)
    }


def minimal_protocol(
    schema: StructType,
    configuration: Mapping[str, str],
    asked: Iterable[TableFeature] = (),
    *,
    through_catalog: bool = False,
) -> Protocol:
    """Return the protocol of a new table with this schema and the properties a user gives.

    Features in `asked` are added too. `through_catalog` says whether a catalog creates the table.

    Raises `UnsupportedFeatureError` naming every feature that this release cannot create, or that must be
    requested explicitly, and the errors of `new_table_configuration`.

    >>> minimal_protocol(StructType([]), {}).min_writer_version
    2
    >>> minimal_protocol(StructType([]), {"delta.enableDeletionVectors": "true"}).writer_features
    ('deletionVectors', 'invariants', 'appendOnly')
    """
    properties = _validated(configuration)
    ensure_honourable(schema, properties, "create")
    wanted = [
        find_feature(name.removeprefix(FEATURE_PREFIX))
        for name in properties
        if name.startswith(FEATURE_PREFIX)
    ]
    active = [
        feature
        for feature in FEATURES.values()
        if feature.activation is not None and feature.activation.is_met(schema, properties)
    ]
    if FEATURES[_TO_BE_ASKED_FOR] in active and FEATURES[_TO_BE_ASKED_FOR] not in wanted:
        raise UnsupportedFeatureError(
            f"cannot create the table: a column has a default; set the table property"
            f" '{FEATURE_PREFIX}{_TO_BE_ASKED_FOR}' = 'supported' as well",
            feature=_TO_BE_ASKED_FOR,
        )
    if FEATURES[_NOT_BY_PROPERTY] in wanted:
        raise UnsupportedFeatureError(
            f"cannot create the table: request the table feature {_NOT_BY_PROPERTY} with cluster_by, not with"
            " a property",
            feature=_NOT_BY_PROPERTY,
        )
    features = with_required([*asked, *(feature for feature in wanted if feature is not None), *active])
    # Spark's order: requested features first, then those that the versions imply, the newest first.
    lowest = IGNORE_PROTOCOL_DEFAULTS.parse(properties)
    reader = (
        1 if lowest and MIN_READER_VERSION.name not in properties else MIN_READER_VERSION.parse(properties)
    )
    writer = (
        1 if lowest and MIN_WRITER_VERSION.name not in properties else MIN_WRITER_VERSION.parse(properties)
    )
    features = list(dict.fromkeys([*features, *reversed(implied_features(reader, writer))]))
    not_created = {Support.NO} if through_catalog else {Support.NO, Support.THROUGH_CATALOG}
    refused = [feature.name for feature in features if feature.create in not_created]
    if refused:
        raise UnsupportedFeatureError(
            "cannot create the table: it needs the table features "
            f"{', '.join(refused)}, which this release does not write here",
            feature=", ".join(refused),
        )
    return weakest_protocol(features)


def _validated(configuration: Mapping[str, str]) -> dict[str, str]:
    validated = proper_properties(configuration)
    ensure_commits_outlive_files(validated)
    ensure_manifests_tell_rows(validated)
    return validated
