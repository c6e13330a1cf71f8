"""The reasons in a vacuum report for which a file is deleted or kept."""

from enum import StrEnum

__all__ = ["GOING", "Reason"]


class Reason(StrEnum):
    """The reason for what becomes of a file; the first one that holds, in this order."""

    LIVE = "live"
    """A data file of the newest version, or the deletion vectors of one."""
    RETAINED = "tombstone within retention"
    """Removed from the table so lately that readers of an older version may need it."""
    COMMIT_RETAINED = "removing commit within retention"
    """The tombstone is past the retention, and the commit file with it is not: the table was copied."""
    KEPT_VERSION = "version kept"
    """Of a version that the caller keeps."""
    NAMED_SINCE = "named by a newer commit"
    """Another writer has committed it, or removed it, since the VACUUM began."""
    LOG = "log"
    OTHER_TABLE = "of another table"
    """In a folder that has a log of its own."""
    HIDDEN = "hidden"
    """Its name, or that of a folder, begins with ``_`` or ``.`` and is no partition."""
    LINK = "link"
    """A link to a folder, what is behind one, or no file at all."""
    ELSEWHERE = "outside the table"
    CHANGE_DATA_RETAINED = "change data within retention"
    YOUNG = "younger than retention"
    EXPIRED = "tombstone past retention"
    CHANGE_DATA = "change data past retention"
    UNREFERENCED = "not referenced"
    """No commit names it, or the log has forgotten those that did."""
    EMPTY_FOLDER = "empty folder"


GOING = frozenset({Reason.EXPIRED, Reason.CHANGE_DATA, Reason.UNREFERENCED, Reason.EMPTY_FOLDER})
"""The reasons to delete."""
