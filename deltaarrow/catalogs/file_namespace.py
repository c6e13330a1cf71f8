"""`FileNamespace`: the tables and views of one namespace of a file catalog.

A rename puts three states. The second one, that of the new name, is the rename; a reader of the old name
looks for it.

=====================  =========================================
state                  says
=====================  =========================================
``a.1.json``           the table moves to state 0 of ``b``
``b.json``             the table, from state 1 of ``a``
``a.2.json``           dropped
=====================  =========================================

Whoever changes ``a`` in between first puts another state 0 of ``b``, after which the table does not move.
"""

import contextlib
import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson

from deltaarrow.catalogs.file_entries import (
    DROPPED_SIZE,
    TableEntry,
    checked_name,
    dropped_location,
    is_dropped,
    is_name,
    parse_view,
    render_dropped,
    render_state,
    render_view,
)
from deltaarrow.catalogs.name_states import ListedState, NameState, NameStates
from deltaarrow.catalogs.namespace import TableLocation, View, fold, registered_uri
from deltaarrow.display.redaction import holds_secret, redacted
from deltaarrow.errors import DeltaError, TableNotFoundError
from deltaarrow.storage import Store

__all__ = ["DEFAULT", "FileNamespace", "Marks", "NewFolder"]

DEFAULT = "default"
"""The namespace that is always there."""

_TABLE_ENDING = ".json"
_VIEW_ENDING = ".view.json"
_MARK_ENDING = ".namespace.json"


class Marks:
    """The files that make namespaces."""

    def __init__(self, store: Store) -> None:
        self._states = NameStates(store, "", _MARK_ENDING)

    def names(self) -> set[str]:
        """Return the names of all namespaces but the one that is always there."""
        return {
            name for name, listed in self._states.listed().items() if _is_there(self._states, name, listed)
        }

    def is_there(self, folded: str) -> bool:
        """Whether there is a namespace."""
        return folded == DEFAULT or self.find(folded) is not None

    def find(self, folded: str) -> NameState | None:
        """Return the state of a namespace that is there."""
        state = self._states.newest(folded) if is_name(folded) else NameState()
        return None if state.number < 0 or is_dropped(state.data) else state

    def add(self, folded: str) -> None:
        """Make a namespace; `FileExistsError` if there is one."""
        state = self._states.newest(folded)
        if state.number >= 0 and not is_dropped(state.data):
            raise FileExistsError(f"there is a namespace {folded}")
        self._states.follow(folded, state, render_state({"namespace": folded, "kind": "namespace"}))

    def remove(self, folded: str, state: NameState) -> None:
        """Remove a namespace in a state; `FileExistsError` if another process was first."""
        self._states.follow(folded, state, render_dropped())


class NewFolder:
    """The folder of a table that is being made, which no other table ever has.

    A file says that it belongs to one state of a name. Once another table has that state, the folder belongs
    to nobody. If its name is unique, whoever sees that deletes it; else it may be somebody else's by then.

    Attributes:
        location: the folder.
        is_unique: whether its name has a random number, so that nobody else writes there.
    """

    def __init__(self, namespace: "FileNamespace", name: str, state: NameState, folder: str) -> None:
        self._namespace, self._name, self._state, self._folder = namespace, name, state, folder
        self.location = namespace.location_of(folder)
        self.is_unique = folder != name

    def claim(self) -> bool:
        """Take the folder; False if somebody has taken it."""
        try:
            self._namespace.store.put_if_absent(self._file, render_state({"state": self._state.number + 1}))
        except FileExistsError:
            return False
        return True

    def add(self) -> None:
        """Give the name to the table in the folder; `FileExistsError` if the name has changed meanwhile."""
        self._namespace.follow(self._name, self._state, self.location)

    def release(self) -> None:
        """Forget about the folder: it has the name, it is empty, or it stays as it is."""
        self._namespace.store.delete(self._file)
        self._namespace.store.delete_folder(_claims(self._namespace.name, self._name))

    def is_void(self) -> bool:
        """Whether the name has changed since, so that no table here can get it any more."""
        return self._namespace.location_in(self._name, self._state.number + 1) not in (None, self.location)

    def void(self) -> "list[NewFolder]":
        """Return the other unique folders that were made for states of the name which other tables have."""
        store, found = self._namespace.store, []
        for entry in store.list_from(_claims(self._namespace.name, self._name)):
            folder = entry.name.rpartition("/")[2].removesuffix(_TABLE_ENDING)
            with contextlib.suppress(FileNotFoundError, ValueError, KeyError, TypeError):
                number = orjson.loads(store.read(entry.name))["state"]
                other = NewFolder(self._namespace, self._name, NameState(number - 1), folder)
                owner = self._namespace.location_in(self._name, number)
                if folder == self._folder or owner is None or not _is_folder_of(folder, self._name):
                    continue
                if owner == other.location or not other.is_unique:
                    other.release()  # its table has got the name, or somebody may have written there since
                elif owner == "" or (isinstance(owner, TableLocation) and owner.is_managed):
                    found.append(other)  # else it may be the owner, by another path to the catalog
        return found

    @property
    def _file(self) -> str:
        return f"{_claims(self._namespace.name, self._name)}/{self._folder}{_TABLE_ENDING}"


class FileNamespace:
    """The tables and views of a namespace.

    Args:
        store: the folder of the catalog.
        name: the case-folded name of the namespace.
        storage_options: for its tables.
    """

    def __init__(self, store: Store, name: str, storage_options: Mapping[str, Any] | None) -> None:
        self.store = store
        self.name = name
        self._storage_options = storage_options
        self._tables = NameStates(store, name, _TABLE_ENDING)
        self._views = NameStates(store, name, _VIEW_ENDING)

    # --- tables ---

    def find(self, name: str) -> TableLocation | None:
        """Return where a table is; None if there is none of that name."""
        entry = self._look(fold(name))[1]
        return None if entry is None else self._located(entry)

    def place_for(self, name: str) -> TableLocation:
        """Return where a table goes that is the first one of its name."""
        return self.location_of(checked_name(name))

    def claim(self, name: str) -> NewFolder:
        """Return a folder for a new table; `FileExistsError` if there is a table of that name."""
        folded = checked_name(name)
        state, entry = self._look(folded)
        if entry is not None:
            raise FileExistsError(name)
        if state.number < 0:
            new = NewFolder(self, folded, state, folded)
            if new.claim():
                if self._is_missing(f"{self.name}/{folded}"):
                    return new
                new.release()
        new = NewFolder(self, folded, state, f"{folded}-{uuid.uuid4().hex[:12]}")
        new.claim()
        return new

    def dropped(self, name: str) -> TableLocation | None:
        """Return where the table was that has had a name; None if its files do not go with the name.

        Another table may be there by now.
        """
        state, entry = self._look(fold(name))
        if entry is not None or state.number < 0 or not is_dropped(state.data):
            return None
        location = dropped_location(state.data)
        found = None if location is None else self._located(TableEntry(location, is_managed=True))
        return found if found is not None and found.is_managed else None

    def tables(self) -> list[str]:
        """Return the names of all tables, in order."""
        return sorted(name for name, listed in self._tables.listed().items() if self._is_listed(name, listed))

    def add(self, name: str, location: TableLocation) -> None:
        """Register a table; `FileExistsError` if there is one of that name."""
        folded = checked_name(name)
        state, entry = self._look(folded)
        if entry is not None:
            raise FileExistsError(name)
        self.follow(folded, state, location)

    def follow(self, folded: str, state: NameState, location: TableLocation) -> None:
        """Register a table under a name that has no table in a state; `FileExistsError` if that is old."""
        is_own = self._is_own(location.uri)
        uri = _kept(location.uri) if is_own else registered_uri(location)
        self._tables.follow(folded, state, TableEntry(uri, location.is_managed).render())
        new = NameState(state.number + 1)
        if not Marks(self.store).is_there(self.name):
            self._undo(self._tables, folded, new)
            raise TableNotFoundError(f"[SCHEMA_NOT_FOUND] another process has just dropped {self.name}")
        if self.view(folded) is not None:
            self._undo(self._tables, folded, new)
            raise FileExistsError(f"another process has just created the view {folded}")

    def remove(self, name: str, location: TableLocation | None = None) -> None:
        """Forget a table; `KeyError` if there is none of that name, or none at `location`."""
        folded = fold(name)
        while True:
            state, entry = self._settled(folded)
            found = None if entry is None else self._located(entry)
            if entry is None or found is None or (location is not None and location.uri != found.uri):
                raise KeyError(name)
            try:
                kept = entry.location if found.is_managed else None
                return self._tables.follow(folded, state, render_dropped(kept))
            except FileExistsError:
                continue  # another process has changed the name

    def move(self, name: str, to: "FileNamespace", new_name: str) -> None:
        """Rename a table, whose files stay where they are.

        `KeyError` if there is none, and `FileExistsError` if there is a table or view of the new name.
        """
        folded, new = fold(name), checked_name(new_name)
        while True:
            state, entry = self._settled(folded)
            if entry is None:
                raise KeyError(name)
            target, there = to._look(new)
            if there is not None or to.view(new) is not None:
                raise FileExistsError(new_name)
            moving = replace(entry, moving=(to.name, new, target.number + 1), source=None)
            moved = replace(entry, moving=None, source=(self.name, folded, state.number + 1))
            try:
                self._tables.follow(folded, state, moving.render())
                to._tables.follow(new, target, moved.render())
            except FileExistsError:
                continue  # another process has changed one of the names
            self._undo(self._tables, folded, NameState(state.number + 1))
            if to.view(new) is not None or not Marks(to.store).is_there(to.name):
                to.move(new, self, name)
                raise FileExistsError(f"another process has just changed {to.name}.{new}")
            return

    def location_in(self, folded: str, number: int) -> TableLocation | str | None:
        """Return where the table of a state of a name is, "" if it has none; None for no such state."""
        data = self._tables.read(folded, number)
        if data is None or is_dropped(data):
            return None if data is None else ""
        return self._located(TableEntry.parse(f"{self.name}.{folded}", data))

    # --- views ---

    def view(self, name: str) -> View | None:
        """Return a view; None if there is none of that name."""
        state = self._viewed(fold(name))[1]
        return None if state is None else parse_view(f"{self.name}.{name}", fold(name), state.data)

    def views(self) -> list[str]:
        """Return the names of all views, in order."""
        listed = self._views.listed().items()
        return sorted(name for name, each in listed if _is_there(self._views, name, each))

    def add_view(self, view: View, *, may_replace: bool = False) -> None:
        """Keep a view; `FileExistsError` if there is one that may not be replaced, or a table of its name."""
        folded = checked_name(view.name)
        newest, there = self._viewed(folded)
        if there is not None and not may_replace:
            raise FileExistsError(view.name)
        if there is not None:
            self.store.write(self._views.file(folded, newest.number), render_view(view))
            return
        self._views.follow(folded, newest, render_view(view))
        if self.find(folded) is not None or not Marks(self.store).is_there(self.name):
            self._undo(self._views, folded, NameState(newest.number + 1))
            raise FileExistsError(f"another process has just changed {self.name}.{folded}")

    def remove_view(self, name: str) -> None:
        """Forget a view. `KeyError` if there is none of that name."""
        while True:
            state = self._viewed(fold(name))[1]
            if state is None:
                raise KeyError(name)
            try:
                return self._views.follow(fold(name), state, render_dropped())
            except FileExistsError:
                continue  # another process has changed the name

    # --- states ---

    def _viewed(self, folded: str) -> tuple[NameState, NameState | None]:
        """The newest state of a view, and the same if there is a view."""
        state = self._views.newest(folded) if is_name(folded) else NameState()
        return state, None if state.number < 0 or is_dropped(state.data) else state

    def _look(self, folded: str) -> tuple[NameState, TableEntry | None]:
        """The newest state of a name, and its table if it has one."""
        state = self._tables.newest(folded) if is_name(folded) else NameState()
        if state.number < 0 or is_dropped(state.data):
            return state, None
        entry = TableEntry.parse(f"{self.name}.{folded}", state.data)
        return state, None if self._has_moved(folded, state, entry) else entry

    def _has_moved(self, folded: str, state: NameState, entry: TableEntry) -> bool:
        if entry.moving is None:
            return False
        namespace, name, number = entry.moving
        data = NameStates(self.store, namespace, _TABLE_ENDING).read(name, number)
        if data is None or is_dropped(data):
            return False
        return TableEntry.parse(f"{namespace}.{name}", data).source == (self.name, folded, state.number)

    def _settled(self, folded: str) -> tuple[NameState, TableEntry | None]:
        """As `_look`, after which no rename that another process has begun takes the table away."""
        state, entry = self._look(folded)
        if entry is None or entry.moving is None:
            return state, entry
        namespace, name, number = entry.moving
        self._undo(NameStates(self.store, namespace, _TABLE_ENDING), name, NameState(number - 1))
        return state, None if self._has_moved(folded, state, entry) else entry

    def _undo(self, states: NameStates, folded: str, state: NameState) -> None:
        """Let a dropped name follow a state, unless something else has."""
        with contextlib.suppress(FileExistsError):
            states.follow(folded, state, render_dropped())

    def _is_listed(self, name: str, listed: ListedState) -> bool:
        if not is_name(name) or not _is_there(self._tables, name, listed):
            return False
        if listed.number == 0:
            return True
        try:
            return self._look(name)[1] is not None
        except DeltaError:
            return True  # its file is damaged, which whoever opens the table is told

    # --- locations ---

    def _is_missing(self, folder: str) -> bool:
        """Whether there is no such folder; an object store has no status of it, only files below."""
        return self.store.statuses([folder])[0] is None and not any(self.store.list_recursive(folder))

    def location_of(self, folder: str) -> TableLocation:
        """Return the location of a table in a folder of the namespace."""
        uri = f"{self.store.uri}/{self.name}/{folder}"
        return TableLocation(uri, self._storage_options, is_managed=True)

    def _located(self, entry: TableEntry) -> TableLocation:
        # A place that somebody wrote into the file never gets files deleted.
        root = f"{_kept(self.store.uri)}/"
        inside = entry.location.removeprefix(root)
        is_own = inside != entry.location and self._is_own(f"{self.store.uri}/{inside}")
        uri = f"{self.store.uri}/{inside}" if is_own else entry.location
        return TableLocation(uri, self._storage_options, is_managed=entry.is_managed and is_own)

    def _is_own(self, uri: str) -> bool:
        """Whether a location is a folder in one of the namespaces of the catalog."""
        inside = uri.removeprefix(f"{self.store.uri}/")
        namespace, _, folder = inside.partition("/")
        return inside != uri and is_name(namespace) and is_name(folder)


def _is_there(states: NameStates, name: str, listed: ListedState) -> bool:
    """Whether a name is not dropped; of first states only those are read that are small enough."""
    if listed.number == 0 and listed.size > DROPPED_SIZE:
        return True
    return not is_dropped(states.read(name, listed.number) or b"")


def _claims(namespace: str, name: str) -> str:
    """The folder of the files of `NewFolder`; no table has its name."""
    return f"{namespace}/{name}.new"


def _is_folder_of(folder: str, name: str) -> bool:
    return is_name(folder) and (folder == name or folder.startswith(f"{name}-"))


def _kept(own: str) -> str:
    """The stored form of a location below the catalog's own folder, whose password each reader has."""
    return redacted(own) if holds_secret(own) else own
