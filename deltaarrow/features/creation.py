"""What a new table starts with: its protocol and its stored properties, as delta-spark decides them.

Chapters "Protocol Evolution" and "Table Features". Features come from the schema (a type), from properties
(``delta.enableDeletionVectors``), from ``delta.feature.<name>`` and from the versions asked for; what results
is the weakest protocol that has them all.
"""

import warnings
from collections.abc import Iterable, Mapping

from deltaarrow.actions import Protocol
from deltaarrow.errors import InvalidTablePropertyError, UnsupportedFeatureError
from deltaarrow.features.gates import ensure_honourable, implied_features
from deltaarrow.features.properties import (
    DELETED_FILE_RETENTION,
    IGNORE_PROTOCOL_DEFAULTS,
    LOG_RETENTION,
    MIN_READER_VERSION,
    MIN_WRITER_VERSION,
    PROPERTIES,
)
from deltaarrow.features.registry import (
    FEATURES,
    READER_FEATURES_VERSION,
    WRITER_FEATURES_VERSION,
    FeatureKind,
    Support,
    TableFeature,
    find_feature,
)
from deltaarrow.schema import StructType

__all__ = ["minimal_protocol", "new_table_configuration"]

_FEATURE_PREFIX = "delta.feature."
_FREE_PREFIXES = ("delta.constraints.", "delta.universalformat.config.")
_TO_BE_ASKED_FOR = "allowColumnDefaults"
"""As in delta-spark, metadata alone does not bring it."""

_PROTOCOL_NAMES = {
    record.name for record in (MIN_READER_VERSION, MIN_WRITER_VERSION, IGNORE_PROTOCOL_DEFAULTS)
}


def new_table_configuration(configuration: Mapping[str, str]) -> dict[str, str]:
    """Return the properties that a new table stores when a user asks for these.

    Names are brought to their proper spelling; those that only choose the protocol are left out.
    Raises `InvalidTablePropertyError` for an unknown name in ``delta.``, an impossible value, or a
    property that users may not set, and `UnsupportedFeatureError` for an unknown ``delta.feature.``.
    Warns of properties that delta-spark does not know.

    >>> new_table_configuration({"delta.appendonly": "true", "delta.minWriterVersion": "2", "owner": "me"})
    {'delta.appendOnly': 'true', 'owner': 'me'}
    """
    validated = _validated(configuration)
    for name in validated:
        record = PROPERTIES.get(name.lower())
        if record is not None and not record.is_of_spark:
            warnings.warn(f"{name} is honoured here; delta-spark does not know it", stacklevel=2)
    return {
        name: text
        for name, text in validated.items()
        if name not in _PROTOCOL_NAMES and not name.startswith(_FEATURE_PREFIX)
    }


def minimal_protocol(schema: StructType, configuration: Mapping[str, str]) -> Protocol:
    """Return the protocol of a new table with this schema and the properties a user asks for.

    Raises `UnsupportedFeatureError` naming every feature that this release cannot create, or that has to be
    asked for and is not, and as `new_table_configuration` does.

    >>> minimal_protocol(StructType([]), {}).min_writer_version
    2
    >>> minimal_protocol(StructType([]), {"delta.enableDeletionVectors": "true"}).writer_features
    ('deletionVectors', 'invariants', 'appendOnly')
    """
    properties = _validated(configuration)
    ensure_honourable(schema, properties, "create")
    wanted = [
        find_feature(name.removeprefix(_FEATURE_PREFIX))
        for name in properties
        if name.startswith(_FEATURE_PREFIX)
    ]
    active = [
        feature
        for feature in FEATURES.values()
        if feature.activation is not None and feature.activation.is_met(schema, properties)
    ]
    if FEATURES[_TO_BE_ASKED_FOR] in active and FEATURES[_TO_BE_ASKED_FOR] not in wanted:
        raise UnsupportedFeatureError(
            f"cannot create the table: a column has a default, which needs the property"
            f" '{_FEATURE_PREFIX}{_TO_BE_ASKED_FOR}' = 'supported'",
            feature=_TO_BE_ASKED_FOR,
        )
    features = _with_required([*(feature for feature in wanted if feature is not None), *active])
    # Spark's order: what is asked for first, then what the versions imply, the newest of them first.
    lowest = IGNORE_PROTOCOL_DEFAULTS.parse(properties)
    reader = (
        1 if lowest and MIN_READER_VERSION.name not in properties else MIN_READER_VERSION.parse(properties)
    )
    writer = (
        1 if lowest and MIN_WRITER_VERSION.name not in properties else MIN_WRITER_VERSION.parse(properties)
    )
    features = list(dict.fromkeys([*features, *reversed(implied_features(reader, writer))]))
    refused = [feature.name for feature in features if feature.create is Support.NO]
    if refused:
        raise UnsupportedFeatureError(
            "cannot create the table: it would need the table features "
            f"{', '.join(refused)}, which this release does not write",
            feature=", ".join(refused),
        )
    return _weakest(features)


def _validated(configuration: Mapping[str, str]) -> dict[str, str]:
    validated: dict[str, str] = {}
    for name, text in configuration.items():
        for part in (name, text):
            if not isinstance(part, str):
                raise InvalidTablePropertyError(f"{name} needs to be text, not {part!r}")
        proper = _proper_name(name, text)
        if proper in validated:
            raise InvalidTablePropertyError(f"{proper} is given twice, in different spellings")
        validated[proper] = text
    _ensure_commits_outlive_files(validated)
    return validated


def _ensure_commits_outlive_files(configuration: Mapping[str, str]) -> None:
    """As in delta-spark: what VACUUM must keep is known from the commits."""
    log, files = LOG_RETENTION, DELETED_FILE_RETENTION
    if log.parse(configuration) < files.parse(configuration):
        raise InvalidTablePropertyError(
            f"{log.name} ({configuration.get(log.name, 'the default, 30 days')}) needs to be at least"
            f" {files.name} ({configuration.get(files.name, 'the default, 7 days')})"
        )


def _proper_name(name: str, text: str) -> str:
    lower = name.lower()
    if not lower.startswith("delta.") or lower.startswith(_FREE_PREFIXES):
        return name
    if lower.startswith(_FEATURE_PREFIX):
        feature = lower.removeprefix(_FEATURE_PREFIX)
        if find_feature(feature) is None:
            raise UnsupportedFeatureError(f"{name}: there is no table feature {feature!r}", feature=feature)
        if text.lower() not in ("supported", "enabled"):
            raise InvalidTablePropertyError(f"{name} needs to be 'supported', not {text!r}")
        return lower
    record = PROPERTIES.get(lower)
    if record is None:
        raise InvalidTablePropertyError(f"there is no table property {name!r}")
    record.ensure_valid(text)
    return record.name


def _with_required(features: Iterable[TableFeature]) -> list[TableFeature]:
    found: dict[str, TableFeature] = {}
    pending = list(features)
    while pending:
        feature = pending.pop(0)
        if feature.name not in found:
            found[feature.name] = feature
            pending += [FEATURES[name] for name in feature.requires]
    return list(found.values())


def _weakest(features: list[TableFeature]) -> Protocol:
    """Return versions alone where they imply just these features, and feature lists otherwise."""
    reader = max((feature.min_reader_version for feature in features), default=1)
    writer = max((feature.min_writer_version for feature in features), default=1)
    if set(implied_features(reader, writer)) == set(features):
        return Protocol(min_reader_version=reader, min_writer_version=writer)
    reader_features = [f.name for f in features if f.kind is FeatureKind.READER_WRITER]
    return Protocol(
        min_reader_version=reader,
        min_writer_version=WRITER_FEATURES_VERSION,
        reader_features=tuple(reader_features) if reader == READER_FEATURES_VERSION else None,
        writer_features=tuple(feature.name for feature in features),
    )
