"""`OpenFile`: an object of a store that stays open, for readers that would open it once each.

A reader opens an object by a request for its size and its last bytes. Where several readers share one, such
as Arrow and DuckDB a checkpoint, they read the open file instead: Arrow as a file, and DuckDB by its address,
which names this file of this process and nothing else. No text of a table can name it, because a store
refuses the schemes of others.
"""

import itertools
import weakref
from collections.abc import Hashable
from typing import TYPE_CHECKING

from deltaarrow.storage.object_bytes import ObjectBytes

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["OPEN_SCHEME", "OpenFile", "open_file_at"]

OPEN_SCHEME = "deltaarrow-open"
"""The scheme of the addresses of open files."""

_numbers = itertools.count()
_open: "weakref.WeakValueDictionary[str, OpenFile]" = weakref.WeakValueDictionary()


class OpenFile:
    """An object that stays open as long as somebody has this; works in threads and after a fork.

    Args:
        data: reads the object.
        identity: as `Store.identity`, at the time when it was opened. If the object is replaced, reads give
            bytes of both, so ask for the identity again after reading.

    Attributes:
        address: where DuckDB finds it.
        data: as given.
        identity: as given.
    """

    def __init__(self, data: ObjectBytes, identity: Hashable | None) -> None:
        self.data, self.identity = data, identity
        self.address = f"{OPEN_SCHEME}://{next(_numbers)}"
        _open[self.address] = self

    @property
    def nbytes(self) -> int:
        """The bytes in memory."""
        return self.data.nbytes

    def arrow_file(self) -> "pa.NativeFile":
        """Return it as a file of pyarrow, with a position of its own."""
        from pyarrow import PythonFile

        from deltaarrow.storage.arrow_files import RangeFile

        return PythonFile(RangeFile(self.data), mode="r")


def open_file_at(address: str) -> OpenFile | None:
    """Return the open file of an address; None for any other address, and for a file that is closed."""
    return _open.get(address)
