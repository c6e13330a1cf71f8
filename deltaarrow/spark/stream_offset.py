"""The position of a stream in a table, as Spark stores it in a checkpoint: `StreamOffset`.

It is JSON; the last two keys are present where a stream begins and at the end of its first batch::

    {"tableId": "6f1c…", "version": 7, "index": 2, "isInitialSnapshot": false,
     "beganAt": 3, "beganWithSnapshot": true}

Files of a version are numbered from 0; `index` is the number of the last file taken, and -1 before the
first. What lies before an offset never changes, because commits and snapshots do not.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

__all__ = ["StreamOffset"]

_KEYS = {"tableId": str, "version": int, "index": int, "isInitialSnapshot": bool}
_BEGIN_KEYS = {"beganAt": int, "beganWithSnapshot": bool}


@dataclass(frozen=True)
class StreamOffset:
    """A position in a table: after a file of a version, or before all of them.

    With `is_initial_snapshot` the files are all files of the table at that version, otherwise those of the
    commit. `began` is the version at which the stream began, and whether it began with the snapshot. If a
    stream is stopped before its first batch is done, Spark asks again for the beginning; the end offset of
    that batch then has the start that it used.
    """

    table_id: str
    version: int
    index: int = -1
    is_initial_snapshot: bool = False
    began: tuple[int, bool] | None = None

    @classmethod
    def beginning(cls, table_id: str, version: int, *, with_snapshot: bool) -> Self:
        """The offset at which a stream begins."""
        return cls(table_id, version, -1, with_snapshot, (version, with_snapshot))

    @classmethod
    def parse(cls, offset: Mapping[str, Any]) -> Self:
        """Parse an offset from a checkpoint; raise `ValueError` if it is none of these."""
        keys = _KEYS | _BEGIN_KEYS if "beganAt" in offset else _KEYS
        if offset.keys() != keys.keys() or any(type(offset[key]) is not keys[key] for key in keys):
            raise ValueError(
                f'{dict(offset)} is not an offset of a format("deltaarrow") stream: a checkpoint belongs to'
                " one stream; use a checkpointLocation of its own"
            )
        began = (offset["beganAt"], offset["beganWithSnapshot"]) if "beganAt" in offset else None
        table_id, version, index, is_initial_snapshot = (offset[key] for key in _KEYS)
        return cls(table_id, version, index, is_initial_snapshot, began)

    def render(self) -> dict[str, Any]:
        """Return the offset in the form that Spark stores."""
        values = (self.table_id, self.version, self.index, self.is_initial_snapshot)
        rendered: dict[str, Any] = dict(zip(_KEYS, values, strict=True))
        return rendered if self.began is None else rendered | dict(zip(_BEGIN_KEYS, self.began, strict=True))

    @property
    def is_beginning(self) -> bool:
        """Whether nothing was taken since the stream began."""
        return self.index == -1 and self.began == (self.version, self.is_initial_snapshot)

    def began_as(self, end: "StreamOffset") -> "StreamOffset":
        """Return where a batch that ends at `end` began: where `end` says for the first batch, else here."""
        if not self.is_beginning or end.began is None:
            return self
        version, with_snapshot = end.began
        return self.beginning(self.table_id, version, with_snapshot=with_snapshot)

    def at(self, version: int, index: int = -1, *, is_initial_snapshot: bool = False) -> "StreamOffset":
        """Return the end of a batch that begins here: this offset itself if the position is the same."""
        place = (version, index, is_initial_snapshot)
        if place == (self.version, self.index, self.is_initial_snapshot):
            return self
        return replace(
            self,
            version=version,
            index=index,
            is_initial_snapshot=is_initial_snapshot,
            began=self.began if self.is_beginning else None,
        )
