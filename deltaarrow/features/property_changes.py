"""Setting and unsetting the table properties of an existing table.

Chapters "Table Features" and "Protocol Evolution". As in delta-spark's ``ALTER TABLE ... SET TBLPROPERTIES``,
``delta.feature.<name>`` and protocol versions are not stored: they request features. They never downgrade a
protocol.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from deltaarrow.actions import Protocol
from deltaarrow.errors import DeltaProtocolError, InvalidTablePropertyError, UnsupportedFeatureError
from deltaarrow.features.gates import implied_features
from deltaarrow.features.iceberg_compat import without_orphaned_format
from deltaarrow.features.properties import (
    COLUMN_MAPPING_MODE,
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
from deltaarrow.features.registry import (
    READER_FEATURES_VERSION,
    WRITER_FEATURES_VERSION,
    TableFeature,
    find_feature,
)
from deltaarrow.schema.metadata_keys import CONSTRAINT_PREFIX, TABLE_PREFIX

__all__ = ["ChangedProperties", "changed_properties", "removed_properties"]

_PROTOCOL_NAMES = (MIN_READER_VERSION.name, MIN_WRITER_VERSION.name, IGNORE_PROTOCOL_DEFAULTS.name)
_RESERVED = ("location", "provider")
"""Names that say of a table in Spark's catalog where it is and in which format."""

_BY_OTHER_MEANS = {
    "clustering": "choose clustering columns with cluster_by",
    "catalogManaged": "let a catalog create a new table",
}


@dataclass(frozen=True)
class ChangedProperties:
    """The properties of a table after a change.

    `given` are the user's properties in their proper spelling, for history; `configuration` is what the table
    stores afterwards; `asked` are the requested features.
    """

    given: Mapping[str, str]
    configuration: Mapping[str, str]
    asked: tuple[TableFeature, ...] = ()


def changed_properties(
    protocol: Protocol,
    configuration: Mapping[str, str],
    changes: Mapping[str, str],
    *,
    known_only: bool = True,
) -> ChangedProperties:
    """Apply a change of properties to a `configuration`.

    Args:
        protocol: the protocol of the table.
        configuration: the properties of the table.
        changes: the properties to set, names in any case.
        known_only: whether an unknown ``delta.`` name is refused.

    Raises:
        InvalidTablePropertyError: an unknown name, an impossible value, or a property that users may not
            set, or not in this way.
        UnsupportedFeatureError: an unknown feature, or one that cannot be added in this way.
        DeltaProtocolError: protocol versions that do not fit together.

    >>> table = Protocol(min_reader_version=1, min_writer_version=2)
    >>> changed = changed_properties(table, {}, {"delta.APPENDONLY": "true"})
    >>> changed.given, changed.configuration
    ({'delta.appendOnly': 'true'}, {'delta.appendOnly': 'true'})
    """
    given = proper_properties(changes, known_only=known_only)
    for name in given:
        if name.lower().startswith(CONSTRAINT_PREFIX):
            raise InvalidTablePropertyError(
                f"{name} cannot be set as a property; add the constraint instead (Spark:"
                " DELTA_ADD_CONSTRAINTS)"
            )
        if name.lower() in _RESERVED:
            raise InvalidTablePropertyError(
                f"the property {name!r} cannot be set: Spark keeps this name for what its catalog knows of a"
                " table; choose another name (Spark: UNSUPPORTED_FEATURE.SET_TABLE_PROPERTY)"
            )
    stored = {
        name: text
        for name, text in given.items()
        if name not in _PROTOCOL_NAMES and not name.startswith(FEATURE_PREFIX)
    }
    merged = without_orphaned_format(configuration, {**configuration, **stored})
    ensure_commits_outlive_files(merged)
    ensure_manifests_tell_rows(merged)
    _ensure_mapping_may_become(configuration, merged)
    asked = [*_named_features(given), *_features_of_versions(protocol, given)]
    return ChangedProperties(given, merged, tuple(dict.fromkeys(asked)))


def removed_properties(
    configuration: Mapping[str, str], names: Iterable[str], *, raise_if_not_exists: bool = True
) -> ChangedProperties:
    """Remove properties from a `configuration`; `given` has them with empty texts.

    Raises `InvalidTablePropertyError` for a property that the table does not have, unless
    `raise_if_not_exists` is false, and for one that cannot be unset: properties that only engines set, those
    that stand for the protocol, and column mapping, without which the columns of data files are not found.
    """
    present = {name.lower(): name for name in configuration}
    given: dict[str, str] = {}
    for name in names:
        lower = name.lower()
        record = PROPERTIES.get(lower)
        if lower.startswith(FEATURE_PREFIX) or (record is not None and record.name in _PROTOCOL_NAMES):
            raise InvalidTablePropertyError(
                f"{name} stands for the protocol; unsetting it would not change the protocol"
            )
        is_known = lower in present if lower.startswith(TABLE_PREFIX) else name in configuration
        if not is_known and raise_if_not_exists:
            raise InvalidTablePropertyError(f"the table has no property {name!r}")
        if is_known and record is not None and not record.editable:
            raise InvalidTablePropertyError(f"{record.name} is set by the engine; users cannot change it")
        spelled = present.get(lower, name) if lower.startswith(TABLE_PREFIX) else name
        given[spelled if record is None else record.name] = ""
    gone = {present.get(name.lower(), name) if name.startswith(TABLE_PREFIX) else name for name in given}
    left = {name: text for name, text in configuration.items() if name not in gone}
    left = without_orphaned_format(configuration, left)
    ensure_commits_outlive_files(left)
    ensure_manifests_tell_rows(left)
    _ensure_mapping_may_become(configuration, left)
    return ChangedProperties(given, left)


def _ensure_mapping_may_become(old: Mapping[str, str], new: Mapping[str, str]) -> None:
    before, after = COLUMN_MAPPING_MODE.parse(old), COLUMN_MAPPING_MODE.parse(new)
    if before != after and (before, after) != ("none", "name"):
        raise InvalidTablePropertyError(
            f"{COLUMN_MAPPING_MODE.name} cannot be changed from {before!r} to {after!r}: the data files would"
            " have to be rewritten (Spark: DELTA_UNSUPPORTED_COLUMN_MAPPING_MODE_CHANGE)"
        )


def _named_features(given: Mapping[str, str]) -> list[TableFeature]:
    features = []
    for name in given:
        feature = find_feature(name.removeprefix(FEATURE_PREFIX)) if name.startswith(FEATURE_PREFIX) else None
        if feature is not None:
            if (remedy := _BY_OTHER_MEANS.get(feature.name)) is not None:
                raise UnsupportedFeatureError(
                    f"the table feature {feature.name} cannot be added to a table; {remedy}",
                    feature=feature.name,
                )
            features.append(feature)
    return features


def _features_of_versions(protocol: Protocol, given: Mapping[str, str]) -> list[TableFeature]:
    """The features that the requested versions imply; versions that are not requested stay as they are."""
    if MIN_READER_VERSION.name not in given and MIN_WRITER_VERSION.name not in given:
        return []
    reader, writer = protocol.min_reader_version, protocol.min_writer_version
    if MIN_READER_VERSION.name in given:
        reader = MIN_READER_VERSION.parse(given)
    if MIN_WRITER_VERSION.name in given:
        writer = MIN_WRITER_VERSION.parse(given)
    if reader >= READER_FEATURES_VERSION and writer < WRITER_FEATURES_VERSION:
        raise DeltaProtocolError(
            f"reader version {reader} needs writer version {WRITER_FEATURES_VERSION}, not {writer}"
        )
    return implied_features(reader, writer)
