"""Row tracking in protocol and properties: supported, suspended, enabled, and its hidden columns.

Chapter "Row Tracking" of the protocol. *Supported* tables assign ids to the rows of every file. *Enabled*
ones also keep the ids when rows are moved, in hidden columns of the data files.
"""

import uuid
from collections.abc import Mapping

from deltaarrow.actions import Protocol
from deltaarrow.errors import InvalidTablePropertyError
from deltaarrow.features.gates import is_supported
from deltaarrow.features.properties import (
    ENABLE_ROW_TRACKING,
    MATERIALIZED_ROW_COMMIT_VERSION_COLUMN_NAME,
    MATERIALIZED_ROW_ID_COLUMN_NAME,
    ROW_TRACKING_SUSPENDED,
)

__all__ = ["assigns_row_ids", "is_row_tracking_enabled", "with_materialized_columns"]

_PREFIXES = {
    MATERIALIZED_ROW_ID_COLUMN_NAME.name: "_row-id-col-",
    MATERIALIZED_ROW_COMMIT_VERSION_COLUMN_NAME.name: "_row-commit-version-col-",
}


def is_row_tracking_enabled(protocol: Protocol, configuration: Mapping[str, str]) -> bool:
    """Whether rows keep their ids.

    >>> is_row_tracking_enabled(Protocol(min_reader_version=1, min_writer_version=2), {})
    False
    """
    return ENABLE_ROW_TRACKING.parse(configuration) and is_supported(protocol, "rowTracking")


def assigns_row_ids(protocol: Protocol, configuration: Mapping[str, str]) -> bool:
    """Whether committed files get row ids.

    Raises `InvalidTablePropertyError`, like delta-spark, if row tracking is both enabled and suspended: rows
    could not have the ids that the table promises.
    """
    if not is_supported(protocol, "rowTracking"):
        return False
    is_suspended = ROW_TRACKING_SUSPENDED.parse(configuration)
    if is_suspended and ENABLE_ROW_TRACKING.parse(configuration):
        raise InvalidTablePropertyError(
            f"{ENABLE_ROW_TRACKING.name} and {ROW_TRACKING_SUSPENDED.name} contradict each other:"
            " set one of them to false"
        )
    return not is_suspended


def with_materialized_columns(protocol: Protocol, configuration: Mapping[str, str]) -> dict[str, str]:
    """Return the properties with names for the hidden columns, if the protocol supports row tracking.

    Like delta-spark, this names them once row tracking is supported, enabled or not. Existing names stay; new
    names contain a UUID, so that no other column ever has them.

    >>> protocol = Protocol(min_reader_version=1, min_writer_version=7, writer_features=("rowTracking",))
    >>> [text[:9] for text in with_materialized_columns(protocol, {}).values()]
    ['_row-id-c', '_row-comm']
    """
    if not is_supported(protocol, "rowTracking"):
        return dict(configuration)
    names = {
        name: f"{prefix}{uuid.uuid4()}" for name, prefix in _PREFIXES.items() if name not in configuration
    }
    return {**configuration, **names}
