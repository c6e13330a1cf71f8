"""The columns that a change data feed has beside those of the table, and what the first of them says.

Chapter "Change Data Files" of the protocol. Change data files hold the type of each change; version and
time are those of the commit.
"""

from enum import StrEnum

__all__ = ["CHANGE_TYPE", "COMMIT_TIMESTAMP", "COMMIT_VERSION", "ChangeType"]

CHANGE_TYPE = "_change_type"
"""The column of change data files that says what kind of change a row is."""

COMMIT_VERSION = "_commit_version"
COMMIT_TIMESTAMP = "_commit_timestamp"


class ChangeType(StrEnum):
    """What happened to a row; an update shows it twice, as it was before and as it is afterwards.

    >>> str(ChangeType.UPDATE_PREIMAGE)
    'update_preimage'
    """

    INSERT = "insert"
    DELETE = "delete"
    UPDATE_PREIMAGE = "update_preimage"
    UPDATE_POSTIMAGE = "update_postimage"
