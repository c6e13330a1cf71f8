"""`AddAction` and `RemoveAction`: files that a caller adds to a table or removes, as in ``deltalake``.

`DeltaTable.create_write_transaction` commits them. The actions of the log are `AddFile` and `RemoveFile` of
`deltaarrow.actions`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields

__all__ = ["AddAction", "RemoveAction"]


@dataclass
class AddAction:
    """A data file that is in the folder of the table and becomes part of it.

    Args:
        path: its place in the folder of the table, not escaped.
        size: its bytes.
        partition_values: the text of each partition column as the log spells it; None is NULL.
        modification_time: when it was written, in milliseconds since 1970.
        data_change: whether its rows are new; False where the rows of other files were only moved.
        stats: its statistics as JSON, ``{}`` for none.
    """

    path: str
    size: int
    partition_values: Mapping[str, str | None]
    modification_time: int
    data_change: bool
    stats: str


@dataclass(repr=False)
class RemoveAction:
    """A file of the table that is removed from it.

    Args:
        path: its place in the folder of the table, as `DeltaTable.get_add_actions` tells it.
        data_change: whether its rows go; False where they were only moved to other files.
        deletion_timestamp: accepted for ``deltalake``; the log has the time of the commit, so that VACUUM
            deletes no file early.
        size: accepted for ``deltalake``; the log has what the table knows of the file.
        partition_values: accepted likewise.

    >>> RemoveAction("part-a.parquet", False, 123)
    RemoveAction(path=part-a.parquet, data_change=False, deletion_timestamp=123, size=None, ...)
    """

    path: str
    data_change: bool
    deletion_timestamp: int
    size: int | None = None
    partition_values: Mapping[str, str | None] | None = None

    def __repr__(self) -> str:
        values = ", ".join(f"{each.name}={getattr(self, each.name)}" for each in fields(self))
        return f"RemoveAction({values})"
