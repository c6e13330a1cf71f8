"""The identity of a logical file: chapter "Action Reconciliation" of the protocol."""

from typing import Any, NamedTuple

from deltaarrow.storage import decode_path

__all__ = ["FileActionKey"]


class FileActionKey(NamedTuple):
    """The key shared by an `add` and the `remove` that cancels it.

    The path alone is not enough: the log may list one data file with one deletion vector as a tombstone and
    with another as a live file. The path is canonical, since one file may be spelled ``/p``, ``file:/p``,
    ``file:///p`` or percent-encoded.
    """

    path: str
    deletion_vector_id: str

    @classmethod
    def from_json(cls, action: dict[str, Any]) -> "FileActionKey":
        """Return the key for the body of an `add` or `remove` action.

        >>> FileActionKey.from_json({"path": "file:///a%20b"})
        FileActionKey(path='/a b', deletion_vector_id='')
        """
        dv = action.get("deletionVector")
        if dv is None:
            # Twice as fast as calling the class; a long log does this for every line.
            return tuple.__new__(cls, (decode_path(action["path"]), ""))
        offset = dv.get("offset")
        suffix = "" if offset is None else f"@{offset}"
        return cls(decode_path(action["path"]), f"{dv['storageType']}{dv['pathOrInlineDv']}{suffix}")
