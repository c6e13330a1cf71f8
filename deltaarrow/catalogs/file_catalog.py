"""A file catalog: a folder per namespace and JSON files per name, on a local disk or an object store.

The file ``shop.namespace.json`` makes the namespace ``shop``, ``shop/orders.json`` says where the table
``shop.orders`` is, and ``shop/recent.view.json`` holds the query of the view ``shop.recent``. Each change of
a name puts one further file (`deltaarrow.catalogs.name_states`): a process that is killed leaves the old
state of the name or the new one, and of two that change a name at the same time one fails.

Tables without a location belong to the catalog: dropping such a name deletes the files. The first table of a
name goes into ``shop/orders``, a later one into ``shop/orders-`` and a random number, so that a process that
still works on a table which is dropped cannot touch the next one. A table that is renamed keeps its folder.
"""

import os
from collections.abc import Mapping
from typing import Any

from deltaarrow.catalogs.file_entries import checked_name
from deltaarrow.catalogs.file_namespace import DEFAULT, FileNamespace, Marks
from deltaarrow.catalogs.namespace import fold
from deltaarrow.storage import open_store

__all__ = ["FileCatalog"]


class FileCatalog:
    """Namespaces and tables by name, kept in the files of a folder.

    Args:
        folder: a path or URI; it is made when a table is registered.
        storage_options: for the folder, and for the tables. Pickles contain them, secrets included.

    There is always a namespace ``default``. Names are kept in lower case, as Spark does. Local locations of
    tables are kept as absolute paths; a location with a password is refused with `ValueError`.

    >>> import tempfile
    >>> from deltaarrow.catalogs import TableLocation
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
        self._marks = Marks(self._store)
        self._storage_options = storage_options

    @property
    def uri(self) -> str:
        """The folder."""
        return self._store.uri

    def namespaces(self) -> list[str]:
        """Return the names of all namespaces, in order."""
        return sorted({*self._marks.names(), DEFAULT})

    def namespace(self, name: str) -> FileNamespace | None:
        """Return a namespace; None if there is none of that name."""
        folded = fold(name)
        return (
            FileNamespace(self._store, folded, self._storage_options)
            if self._marks.is_there(folded)
            else None
        )

    def create_namespace(self, name: str) -> None:
        """Create a namespace. `FileExistsError` if there is one, `ValueError` for what cannot be a name."""
        folded = checked_name(name)
        if folded == DEFAULT:
            raise FileExistsError(f"there is a namespace {folded}")
        self._marks.add(folded)

    def drop_namespace(self, name: str) -> None:
        """Remove an empty namespace. `KeyError` if there is none, `ValueError` if it has tables or views."""
        folded = fold(name)
        found, state = self.namespace(name), self._marks.find(folded)
        if found is None or state is None:
            raise KeyError(name)
        _ensure_empty(found)
        try:
            self._marks.remove(folded, state)
        except FileExistsError:
            raise KeyError(name) from None  # another process has dropped it
        try:
            _ensure_empty(found)  # what came meanwhile did not see that the namespace goes
        except ValueError:
            self.create_namespace(folded)
            raise


def _ensure_empty(namespace: FileNamespace) -> None:
    if names := [*namespace.tables(), *namespace.views()]:
        raise ValueError(f"the namespace {namespace.name} is not empty: drop its tables and views, {names}")
