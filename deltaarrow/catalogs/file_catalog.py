"""A file catalog: a folder per namespace and a JSON file per name, on a local disk or an object store.

The file ``shop.namespace.json`` makes the namespace ``shop``, ``shop/orders.json`` says where the table
``shop.orders`` is, and ``shop/recent.view.json`` holds the query of the view ``shop.recent``. A file appears
at once and whole, and of two that register one table at the same time one fails.
Tables without a location go into ``shop/orders``, and belong to the catalog: dropping such a name deletes the
files.
"""

import json
import os
import re
from collections.abc import Mapping
from typing import Any

from deltaarrow.catalogs.namespace import TableLocation, View, fold, registered_uri
from deltaarrow.display.redaction import holds_secret, redacted
from deltaarrow.errors import DeltaError
from deltaarrow.schema import Schema
from deltaarrow.storage import Store, open_store

__all__ = ["FileCatalog"]

_NAME = re.compile(r"[^\W\d_][\w -]*|\d[\w -]*", re.ASCII)
_ENDING = ".json"
_NAMESPACE_ENDING = ".namespace.json"
_VIEW_ENDING = ".view.json"
_LOCATION = "location"
_MANAGED = "managed"
_QUERY = "query"
_SCHEMA = "schema"
_NAMESPACE = "namespace"
_DEFAULT = "default"


class FileCatalog:
    """Namespaces and tables by name, kept in the files of a folder.

    Args:
        folder: a path or URI; it is made when a table is registered.
        storage_options: for the folder, and for the tables. Pickles contain them, secrets included.

    There is always a namespace ``default``. Names are kept in lower case, as Spark does. Local locations of
    tables are kept as absolute paths; a location with a password is refused with `ValueError`.

    >>> import tempfile
    >>> catalog = FileCatalog(tempfile.mkdtemp())
    >>> catalog.create_namespace("shop")
    >>> shop = catalog.namespace("shop")
    >>> shop.add("orders", TableLocation("/data/orders"))
    >>> shop.find("Orders").uri, shop.tables(), catalog.namespaces()
    ('/data/orders', ['orders'], ['default', 'shop'])
    """

    def __init__(
        self, folder: str | os.PathLike[str], storage_options: Mapping[str, Any] | None = None
    ) -> None:
        self._store = open_store(folder, storage_options)
        self._storage_options = storage_options

    @property
    def uri(self) -> str:
        """The folder."""
        return self._store.uri

    def namespaces(self) -> list[str]:
        """Return the names of all namespaces, in order."""
        files = [entry.name for entry in self._store.list_from("")]
        found = {each.removesuffix(_NAMESPACE_ENDING) for each in files if each.endswith(_NAMESPACE_ENDING)}
        return sorted(found | {_DEFAULT})

    def namespace(self, name: str) -> "_FileNamespace | None":
        """Return a namespace; None if there is none of that name."""
        folded = fold(name)
        if folded != _DEFAULT and not (_NAME.fullmatch(folded) and self._store.exists(_mark(folded))):
            return None
        return _FileNamespace(self._store, folded, self._storage_options)

    def create_namespace(self, name: str) -> None:
        """Create a namespace. `FileExistsError` if there is one, `ValueError` for what cannot be a name."""
        folded = _checked(name)
        if folded == _DEFAULT:
            raise FileExistsError(f"there is a namespace {folded}")
        self._store.put_if_absent(_mark(folded), b"{}")

    def drop_namespace(self, name: str) -> None:
        """Remove an empty namespace. `KeyError` if there is none, `ValueError` if it has tables or views."""
        found = self.namespace(name)
        if found is None or fold(name) == _DEFAULT:
            raise KeyError(name)
        if names := [*found.tables(), *found.views()]:
            raise ValueError(f"the namespace {fold(name)} is not empty: drop its tables and views, {names}")
        self._store.delete(_mark(fold(name)))


class _FileNamespace:
    def __init__(self, store: Store, name: str, storage_options: Mapping[str, Any] | None) -> None:
        self._store = store
        self._name = name
        self._storage_options = storage_options

    def find(self, name: str) -> TableLocation | None:
        if not _NAME.fullmatch(fold(name)):
            return None
        try:
            text = self._store.read(self._file(fold(name)))
        except FileNotFoundError:
            return None
        return self._read(name, text)

    def place_for(self, name: str) -> TableLocation:
        uri = f"{self._store.uri}/{self._name}/{_checked(name)}"
        return TableLocation(uri, self._storage_options, is_managed=True)

    def tables(self) -> list[str]:
        files = [each for each in self._files(_ENDING) if not each.endswith(_VIEW_ENDING)]
        return sorted(each.removesuffix(_ENDING) for each in files)

    def add(self, name: str, location: TableLocation) -> None:
        own = self.place_for(name).uri
        uri = _kept(own) if location.uri == own else registered_uri(location)
        text = json.dumps({_LOCATION: uri, _MANAGED: location.is_managed})
        self._store.put_if_absent(self._file(_checked(name)), text.encode())

    def remove(self, name: str) -> None:
        if self.find(name) is None:
            raise KeyError(name)
        self._store.delete(self._file(fold(name)))

    def view(self, name: str) -> View | None:
        if not _NAME.fullmatch(fold(name)):
            return None
        try:
            text = self._store.read(self._file(fold(name), _VIEW_ENDING))
        except FileNotFoundError:
            return None
        try:
            found = json.loads(text)
            schema = Schema.from_json(found[_SCHEMA])
            return View(fold(name), str(found[_QUERY]), schema, found.get(_NAMESPACE))
        except (ValueError, TypeError, KeyError, DeltaError) as error:
            raise DeltaError(f"the file of the view {self._name}.{name} is damaged: {error}") from error

    def views(self) -> list[str]:
        return sorted(each.removesuffix(_VIEW_ENDING) for each in self._files(_VIEW_ENDING))

    def add_view(self, view: View, *, may_replace: bool = False) -> None:
        found = {_QUERY: view.query, _SCHEMA: view.schema.to_json(), _NAMESPACE: view.namespace}
        text = json.dumps(found).encode()
        file = self._file(_checked(view.name), _VIEW_ENDING)
        if may_replace:
            self._store.write(file, text)
        else:
            self._store.put_if_absent(file, text)

    def remove_view(self, name: str) -> None:
        if self.view(name) is None:
            raise KeyError(name)
        self._store.delete(self._file(fold(name), _VIEW_ENDING))

    def _files(self, ending: str) -> list[str]:
        names = [entry.name.rpartition("/")[2] for entry in self._store.list_from(self._name)]
        return [each for each in names if each.endswith(ending)]

    def _file(self, folded: str, ending: str = _ENDING) -> str:
        return f"{self._name}/{folded}{ending}"

    def _read(self, name: str, text: bytes) -> TableLocation:
        try:
            found = json.loads(text)
            uri, is_managed = found[_LOCATION], found[_MANAGED]
        except (ValueError, TypeError, KeyError) as error:
            raise DeltaError(f"the catalog's file of {self._name}.{name} is damaged: {error}") from error
        if not isinstance(uri, str) or not isinstance(is_managed, bool):
            raise DeltaError(f"the catalog's file of {self._name}.{name} is damaged: {found}")
        # A place that somebody wrote into the file never gets files deleted.
        own = self.place_for(name).uri
        is_own = uri == _kept(own)
        return TableLocation(own if is_own else uri, self._storage_options, is_managed=is_managed and is_own)


def _mark(folded: str) -> str:
    return f"{folded}{_NAMESPACE_ENDING}"


def _kept(own: str) -> str:
    """What a file says of a place below the catalog's own folder, whose password each reader has."""
    return redacted(own) if holds_secret(own) else own


def _checked(name: str) -> str:
    folded = fold(name)
    if not _NAME.fullmatch(folded):
        raise ValueError(f"{name!r} is no name, which has letters, digits, _, - and blanks")
    return folded
