"""Additional columns of the change data feed, and the values of ``_change_type``.

Chapter "Change Data Files" of the protocol. Change data files store the change type; version and timestamp
come from the commit.
"""

from enum import StrEnum

__all__ = ["CHANGE_TYPE", "COMMIT_TIMESTAMP", "COMMIT_VERSION", "ChangeType"]

CHANGE_TYPE = "_change_type"
"""The column of change data files with the change type of a row."""

COMMIT_VERSION = "_commit_version"
COMMIT_TIMESTAMP = "_commit_timestamp"


class ChangeType(StrEnum):
    """The change of a row; an update gives two rows, before (preimage) and after (postimage).

    >>> str(ChangeType.UPDATE_PREIMAGE)
    'update_preimage'
    """

    INSERT = "insert"
    DELETE = "delete"
    UPDATE_PREIMAGE = "update_preimage"
    UPDATE_POSTIMAGE = "update_postimage"
