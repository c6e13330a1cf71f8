"""`OpenObject`: an object of a store that stays open, for readers that would open it once each.

A reader opens an object by a request for its size and its last bytes. Where several readers share one, such
as Arrow and DuckDB a checkpoint, they read the open file instead: Arrow as a file, and DuckDB by its address,
which names this file of this process and nothing else. No text of a table can name it, because it is made
with a key that the process draws by lot.

The scheme of an address is that of the store: DuckDB caches what it reads of the stores that it knows.
"""

import hashlib
import os
import weakref
from collections.abc import Hashable
from typing import TYPE_CHECKING

from deltaarrow.runtime.lazy import lazy_attributes
from deltaarrow.storage.object_bytes import ObjectBytes

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["OpenObject", "open_object_at", "shared_object"]

_lazily = lazy_attributes(__name__, {"RangeFile": "deltaarrow.storage.arrow_files"})

_key = os.urandom(32)
"""Addresses are made of options of stores, which they must not tell."""

_open: "weakref.WeakValueDictionary[str, OpenObject]" = weakref.WeakValueDictionary()


class OpenObject:
    """An object that stays open as long as somebody has this; works in threads and after a fork.

    Made by `shared_object`.

    Attributes:
        address: where DuckDB finds it.
        data: reads the object.
        identity: as `Store.identity`, at the time when it was opened. If the object is replaced, reads give
            bytes of both, so ask for the identity again after reading.
    """

    def __init__(self, data: ObjectBytes, identity: Hashable | None, address: str) -> None:
        self.data, self.identity, self.address = data, identity, address

    @property
    def nbytes(self) -> int:
        """The bytes in memory."""
        return self.data.nbytes

    def arrow_file(self) -> "pa.NativeFile":
        """Return it as a file of pyarrow, with a position of its own."""
        from pyarrow import PythonFile

        return PythonFile(_lazily("RangeFile")(self.data), mode="r")


def shared_object(data: ObjectBytes, identity: Hashable | None, scheme: str, place: Hashable) -> OpenObject:
    """Return an object that was opened, or the same one that is open already.

    Args:
        data: reads the object.
        identity: as `Store.identity`.
        scheme: of the address, which the file system has in DuckDB.
        place: the file system and the path. With the identity it gives the address, so that what DuckDB has
            cached of a file serves again when the file is opened anew, and never for its replacement.
    """
    what = os.urandom(16) if identity is None else (place, identity)
    digest = hashlib.blake2b(repr(what).encode(), key=_key, digest_size=16).hexdigest()
    address = f"{scheme}://deltaarrow-open-file/{digest}"
    return _open.setdefault(address, OpenObject(data, identity, address))


def open_object_at(address: str) -> OpenObject | None:
    """Return the open file of an address; None for any other address, and for a file that is closed."""
    return _open.get(address)
