"""`NameStates`: what each name of a folder means, as numbered files that nobody changes.

==========================  ==========================================
file                        state of the name ``orders``
==========================  ==========================================
``orders.json``             the first one
``orders.1.json``           the one after it
``orders.2.json``           the newest, if there is no ``orders.3.json``
==========================  ==========================================

A change puts the file of the next state if it is absent, as a commit of the Delta log does. So of several
that change one state one succeeds, on every store that keeps tables, and a process that is killed leaves the
old state or the new one. Files of old states stay: without them a state that was read long ago could be
followed twice.
"""

from dataclasses import dataclass
from typing import NamedTuple

from deltaarrow.storage import Store

__all__ = ["ListedState", "NameState", "NameStates"]


@dataclass(frozen=True)
class NameState:
    """A state of a name.

    Attributes:
        number: counts the states of the name; -1 for a name that never had one.
        data: the content of its file; empty for a name that never had one.
    """

    number: int = -1
    data: bytes = b""


class ListedState(NamedTuple):
    """The number of a state, and the size of its file in bytes."""

    number: int
    size: int


class NameStates:
    """The states of the names in a folder.

    Args:
        store: holds the folder.
        folder: its name; empty for the root.
        ending: of the files, such as ``.json``.

    >>> from deltaarrow.storage import open_store
    >>> states = NameStates(open_store("memory://doctest-name-states"), "shop", ".json")
    >>> states.follow("orders", states.newest("orders"), b"{}")
    >>> states.newest("orders"), states.listed()
    (NameState(number=0, data=b'{}'), {'orders': ListedState(number=0, size=2)})
    """

    def __init__(self, store: Store, folder: str, ending: str) -> None:
        self._store, self._folder, self._ending = store, folder, ending

    def newest(self, name: str) -> NameState:
        """Return the newest state of a name."""
        data = self.read(name, 0)
        if data is None:
            return NameState()
        last, missing = 0, 1
        while self._store.exists(self.file(name, missing)):
            last, missing = missing, 2 * missing
        while missing - last > 1:
            middle = (last + missing) // 2
            if self._store.exists(self.file(name, middle)):
                last = middle
            else:
                missing = middle
        return NameState(last, data if last == 0 else self._store.read(self.file(name, last)))

    def read(self, name: str, number: int) -> bytes | None:
        """Return the content of a state; None if the name has no such state yet."""
        try:
            return self._store.read(self.file(name, number))
        except FileNotFoundError:
            return None

    def follow(self, name: str, state: NameState, data: bytes) -> None:
        """Put the state after one.

        No two callers put the same data. Raises `FileExistsError` if another one came first. Other errors do
        not say whether it was put.
        """
        try:
            self._store.put_if_absent(self.file(name, state.number + 1), data)
        except FileExistsError:
            # A store may repeat a request whose answer was lost, and then find the file of the first one.
            if self.read(name, state.number + 1) != data:
                raise

    def listed(self) -> dict[str, ListedState]:
        """Return the newest state of each name, without reading it."""
        found: dict[str, ListedState] = {}
        for entry in self._store.list_from(self._folder):
            base = entry.name.rpartition("/")[2]
            if not base.endswith(self._ending):
                continue
            name, _, text = base.removesuffix(self._ending).partition(".")
            if text and not (text.isascii() and text.isdigit()):
                continue
            state = ListedState(int(text or 0), entry.size)
            found[name] = max(found.get(name, state), state)
        return found

    def file(self, name: str, number: int) -> str:
        """Return the name of the file of a state."""
        base = f"{name}{self._ending}" if number == 0 else f"{name}.{number}{self._ending}"
        return f"{self._folder}/{base}" if self._folder else base
