"""How far a transaction is kept apart from those that commit beside it.

The levels are delta-spark's. *Serializable* is the default: the table is as if all transactions had run one
after another in the order of their versions. *WriteSerializable* lets a blind append slip in before a
transaction that did not read it. *Snapshot isolation* is what a commit that changes no data runs at, such as
compaction: rows that others append do not touch it. It is never the value of the table property.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum

from deltaarrow.actions import Action, AddCDCFile, AddFile, DomainMetadata, RemoveFile
from deltaarrow.actions.names import ROW_TRACKING_DOMAIN
from deltaarrow.features import properties

__all__ = ["IsolationLevel", "isolation_level"]


class IsolationLevel(StrEnum):
    """A level, as `commitInfo` spells it."""

    SERIALIZABLE = "Serializable"
    WRITE_SERIALIZABLE = "WriteSerializable"
    SNAPSHOT_ISOLATION = "SnapshotIsolation"


_TABLE_LEVELS = {
    "serializable": IsolationLevel.SERIALIZABLE,
    "writeserializable": IsolationLevel.WRITE_SERIALIZABLE,
}


def isolation_level(
    configuration: Mapping[str, str], actions: Sequence[Action], *, removes_rows: bool = False
) -> IsolationLevel:
    """Return the level at which `actions` are committed to a table of this configuration.

    A table that already has WriteSerializable is taken at its word, though delta-spark no longer lets
    anybody set it; the stricter level stands for whatever else it has. A commit with anything but file
    actions is never at snapshot isolation: others would have seen, for one, its change of the metadata.
    `removes_rows` says that rows of files go as well, of which the actions do not tell.
    """
    if not removes_rows and all(map(_only_moves_rows, actions)):
        return IsolationLevel.SNAPSHOT_ISOLATION
    text = configuration.get(properties.ISOLATION_LEVEL.name, "").lower()
    return _TABLE_LEVELS.get(text, IsolationLevel.SERIALIZABLE)


def _only_moves_rows(action: Action) -> bool:
    """Whether an action leaves the rows of the table as they are, and all else that a query may see."""
    if isinstance(action, AddFile | RemoveFile | AddCDCFile):
        return not action.data_change
    return isinstance(action, DomainMetadata) and action.domain == ROW_TRACKING_DOMAIN
