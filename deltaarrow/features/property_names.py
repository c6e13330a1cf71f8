"""Validation of table properties that users give: proper spelling of names, meaningful values.

Names in ``delta.`` belong to the engine: known names in any case, ``delta.feature.<name>`` for a table
feature, and two namespaces in which every name is allowed. All other names are the user's and kept unchanged.
"""

from collections.abc import Mapping

from deltaarrow.display.near_names import did_you_mean
from deltaarrow.errors import InvalidTablePropertyError, UnsupportedFeatureError
from deltaarrow.features.properties import (
    DELETED_FILE_RETENTION,
    ENABLE_DELETION_VECTORS,
    LOG_RETENTION,
    PROPERTIES,
    SYMLINK_FORMAT_MANIFEST_ENABLED,
)
from deltaarrow.features.registry import FEATURES, find_feature
from deltaarrow.schema.metadata_keys import CONSTRAINT_PREFIX

__all__ = [
    "FEATURE_PREFIX",
    "ensure_commits_outlive_files",
    "ensure_manifests_tell_rows",
    "proper_properties",
]

FEATURE_PREFIX = "delta.feature."
_FREE_PREFIXES = (CONSTRAINT_PREFIX, "delta.universalformat.config.")


def proper_properties(configuration: Mapping[str, str], *, known_only: bool = True) -> dict[str, str]:
    """Return the properties with properly spelled names.

    Raises `InvalidTablePropertyError` for an unknown ``delta.`` name unless `known_only` is false, an
    impossible value, or a property that users may not set, and `UnsupportedFeatureError` for an unknown
    ``delta.feature.``.

    >>> proper_properties({"delta.appendonly": "true", "owner": "me"})
    {'delta.appendOnly': 'true', 'owner': 'me'}
    """
    properties: dict[str, str] = {}
    for name, text in configuration.items():
        parts: tuple[object, ...] = (name, text)
        for part in parts:
            if not isinstance(part, str):
                way = f"; write {str(part).lower()!r}" if isinstance(part, bool | int) else ""
                raise InvalidTablePropertyError(f"{name} must be text, not {part!r}{way}")
        proper = _proper_name(name, text, known_only)
        if proper in properties:
            raise InvalidTablePropertyError(f"{proper} is given twice, in different spellings")
        properties[proper] = text
    return properties


def ensure_commits_outlive_files(configuration: Mapping[str, str]) -> None:
    """Raise `InvalidTablePropertyError` if removed files are kept for longer than the commits.

    As in delta-spark: the commits tell which files VACUUM must keep.
    """
    log, files = LOG_RETENTION, DELETED_FILE_RETENTION
    if log.parse(configuration) < files.parse(configuration):
        raise InvalidTablePropertyError(
            f"{log.name} ({configuration.get(log.name, 'the default, 30 days')}) must be at least"
            f" {files.name} ({configuration.get(files.name, 'the default, 7 days')})"
        )


def ensure_manifests_tell_rows(configuration: Mapping[str, str]) -> None:
    """Raise `InvalidTablePropertyError` if manifests would list files with deleted rows.

    As in delta-spark: who reads manifests knows no deletion vectors.
    """
    manifests, vectors = SYMLINK_FORMAT_MANIFEST_ENABLED, ENABLE_DELETION_VECTORS
    if manifests.parse(configuration) and vectors.parse(configuration):
        raise InvalidTablePropertyError(
            f"{manifests.name} and {vectors.name} cannot both be true, because readers of manifests would see"
            " deleted rows; set one of them to false (Spark: DELTA_VIOLATE_TABLE_PROPERTY_VALIDATION_FAILED)"
        )


def _proper_name(name: str, text: str, known_only: bool) -> str:
    lower = name.lower()
    if not lower.startswith("delta.") or lower.startswith(_FREE_PREFIXES):
        return name
    if lower.startswith(FEATURE_PREFIX):
        feature = lower.removeprefix(FEATURE_PREFIX)
        if find_feature(feature) is None:
            meant = did_you_mean(feature, FEATURES)
            raise UnsupportedFeatureError(
                f"{name}: there is no table feature {feature!r}{meant}", feature=feature
            )
        if text.lower() not in ("supported", "enabled"):
            raise InvalidTablePropertyError(f"{name} must be 'supported', not {text!r}")
        return lower
    record = PROPERTIES.get(lower)
    if record is None:
        if not known_only:
            return name
        known = [each.name for each in PROPERTIES.values()]
        raise InvalidTablePropertyError(
            f"there is no table property {name!r}{did_you_mean(name, known)}; names of your own must not"
            " begin with delta. (Spark: DELTA_UNKNOWN_CONFIGURATION)"
        )
    record.ensure_valid(text)
    return record.name
