"""How far a transaction is kept apart from those that commit beside it.

The levels are delta-spark's. *Serializable* is the default: the table is as if all transactions had run one
after another in the order of their versions. *WriteSerializable* lets a blind append slip in before a
transaction that did not read it. *Snapshot isolation* is what a commit that changes no data runs at, such as
compaction: rows that others append do not touch it. It is never the value of the table property.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum

from deltaarrow.actions import Action, AddFile, RemoveFile
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


def isolation_level(configuration: Mapping[str, str], actions: Iterable[Action]) -> IsolationLevel:
    """Return the level at which `actions` are committed to a table of this configuration.

    A table that already has WriteSerializable is taken at its word, though delta-spark no longer lets
    anybody set it; the stricter level stands for whatever else it has.
    """
    files = [action for action in actions if isinstance(action, AddFile | RemoveFile)]
    if files and not any(file.data_change for file in files):
        return IsolationLevel.SNAPSHOT_ISOLATION
    text = configuration.get(properties.ISOLATION_LEVEL.name, "").lower()
    return _TABLE_LEVELS.get(text, IsolationLevel.SERIALIZABLE)
