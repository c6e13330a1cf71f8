"""Isolation levels: which concurrent commits a transaction conflicts with.

The levels are delta-spark's. *Serializable* is the default: the table is as if all transactions had run one
after another in the order of their versions. *WriteSerializable* lets a blind append slip in before a
transaction that did not read it. *Snapshot isolation* applies to commits that change no data, such as
compaction: concurrent appends do not affect them. It is never the value of the table property.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum

from deltaarrow.actions import Action, AddCDCFile, AddFile, DomainMetadata, RemoveFile
from deltaarrow.actions.domain_names import ROW_TRACKING_DOMAIN
from deltaarrow.features import properties

__all__ = ["IsolationLevel", "isolation_level"]


class IsolationLevel(StrEnum):
    """An isolation level, as `commitInfo` spells it."""

    SERIALIZABLE = "Serializable"
    WRITE_SERIALIZABLE = "WriteSerializable"
    SNAPSHOT_ISOLATION = "SnapshotIsolation"


_TABLE_LEVELS = {
    "serializable": IsolationLevel.SERIALIZABLE,
    "writeserializable": IsolationLevel.WRITE_SERIALIZABLE,
}


def isolation_level(
    configuration: Mapping[str, str], actions: Sequence[Action], *, changes_rows: bool = False
) -> IsolationLevel:
    """Return the level at which `actions` are committed to a table with this configuration.

    WriteSerializable is honoured where a table already has it, though delta-spark no longer lets users set
    it; any other value means Serializable. A commit with other than file actions never gets snapshot
    isolation: others could see its change, for example of the metadata. `changes_rows` says that the commit
    also changes rows in a way that `actions` do not show.
    """
    if not changes_rows and all(map(_only_moves_rows, actions)):
        return IsolationLevel.SNAPSHOT_ISOLATION
    text = configuration.get(properties.ISOLATION_LEVEL.name, "").lower()
    return _TABLE_LEVELS.get(text, IsolationLevel.SERIALIZABLE)


def _only_moves_rows(action: Action) -> bool:
    """Whether an action leaves the rows of the table, and all else that a query can see, unchanged."""
    if isinstance(action, AddFile | RemoveFile | AddCDCFile):
        return not action.data_change
    return isinstance(action, DomainMetadata) and action.domain == ROW_TRACKING_DOMAIN
