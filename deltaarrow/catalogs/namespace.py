"""The interface of a catalog to SQL: namespaces, locations of tables, and views."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Never, Protocol

from deltaarrow.display.redaction import holds_secret, redacted
from deltaarrow.schema import StructType
from deltaarrow.storage import Store, open_store

__all__ = [
    "Namespace",
    "NamespaceCatalog",
    "TableLocation",
    "View",
    "WithoutViews",
    "fold",
    "name_of",
    "registered_uri",
    "without_catalog",
]

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LOWER = str.maketrans(_ALPHABET, _ALPHABET.lower())


def fold(name: str) -> str:
    """Fold a name as SQL does for comparison: ASCII letters become lower case.

    >>> fold("Größe"), fold("ÄRA")
    ('größe', 'Ära')
    """
    return name.translate(_LOWER)


@dataclass(frozen=True)
class TableLocation:
    """The location of a table.

    `repr` shows no secrets.

    Attributes:
        uri: its path or URI.
        storage_options: how to reach it; may hold credentials.
        is_managed: whether the table's files belong to the catalog, so that dropping the name deletes them.
        opener: opens the store of a table that `uri` and `storage_options` alone do not reach: its catalog
            lends the credentials, or holds commits of it.
    """

    uri: str
    storage_options: Mapping[str, Any] | None = field(default=None, repr=False)
    is_managed: bool = False
    opener: Callable[[], Store] | None = field(default=None, repr=False, compare=False)

    def __repr__(self) -> str:
        return f"TableLocation({redacted(self.uri)!r}, is_managed={self.is_managed})"

    def open(self) -> Store:
        """Return the store of the table, with its catalog if one manages the table."""
        return open_store(self.uri, self.storage_options) if self.opener is None else self.opener()


@dataclass(frozen=True)
class View:
    """A query under a name.

    Attributes:
        name: the name.
        query: the query as DuckDB's SQL over the names of a catalog.
        schema: its columns in Delta's types, as they were when the view was made.
        namespace: that of tables which the query names alone; None for names of DuckDB.
        table: the name of the table whose rows and columns it shows, all of them; None for any other query.
    """

    name: str
    query: str
    schema: StructType
    namespace: str | None = None
    table: tuple[str, ...] | None = None


class Namespace(Protocol):
    """Tables and views by name, without regard to case. Several processes may use one at a time."""

    def find(self, name: str) -> TableLocation | None:
        """Return where a table is; None if the namespace has no such table."""

    def place_for(self, name: str) -> TableLocation:
        """Return where a new table without a location goes. `ValueError` for a name that cannot be one."""

    def tables(self) -> list[str]:
        """Return the names of all tables, in order."""

    def add(self, name: str, location: TableLocation) -> None:
        """Register a table that exists at a location.

        Raises `FileExistsError` if there is a table of that name, and `ValueError` for a name or a location
        that this namespace cannot have.
        """

    def remove(self, name: str, location: TableLocation | None = None) -> None:
        """Forget a table, whose files stay.

        `KeyError` if there is none of that name, or if it is known that there is none at `location`.
        """

    def view(self, name: str) -> View | None:
        """Return a view; None if there is none of that name."""

    def views(self) -> list[str]:
        """Return the names of all views, in order."""

    def add_view(self, view: View, *, may_replace: bool = False) -> None:
        """Keep a view.

        Raises `FileExistsError` if there is one of its name that may not be replaced, and `ValueError` for
        what cannot be a name, or if this namespace keeps no views.
        """

    def remove_view(self, name: str) -> None:
        """Forget a view. `KeyError` if there is none of that name."""


class WithoutViews:
    """The part about views of a namespace that keeps none; a base class.

    `title` says in the error where no views are kept.
    """

    title: str

    def view(self, name: str) -> None:
        """Return None."""

    def views(self) -> list[str]:
        """Return an empty list."""
        return []

    def add_view(self, view: View, *, may_replace: bool = False) -> Never:
        """Raise `ValueError`."""
        raise ValueError(f"views are not kept in {self.title}: create the view {view.name} in a file catalog")

    def remove_view(self, name: str) -> Never:
        """Raise `KeyError`."""
        raise KeyError(name)


class NamespaceCatalog(Protocol):
    """Namespaces by name."""

    def namespaces(self) -> list[str]:
        """Return the names of all namespaces, in order."""

    def namespace(self, name: str) -> Namespace | None:
        """Return a namespace; None if there is none of that name."""

    def create_namespace(self, name: str) -> None:
        """Create a namespace. `FileExistsError` if there is one, `ValueError` for what cannot be a name."""

    def drop_namespace(self, name: str) -> None:
        """Remove an empty namespace. `KeyError` if there is none, `ValueError` if it has tables or views."""


def registered_uri(location: TableLocation) -> str:
    """Return the URI that a catalog keeps of a table; a local path is absolute.

    Everybody who may read the catalog sees it: `ValueError` for a URI with a password or a secret parameter.

    >>> registered_uri(TableLocation("s3://bucket/orders"))
    's3://bucket/orders'
    """
    uri = location.uri
    if holds_secret(uri):
        raise ValueError(
            f"the location {redacted(uri)!r} has a secret, and the catalog would show it to all its readers:"
            " leave it out of the location, and give it as storage_options to the catalog"
        )
    return uri if "://" in uri else open_store(uri).uri


def name_of(catalog: object) -> str | None:
    """Return the name of a catalog; None for one without a name.

    >>> name_of(object()) is None
    True
    """
    name = getattr(catalog, "name", None)
    return name if isinstance(name, str) else None


def without_catalog(catalog: object, parts: Sequence[str]) -> Sequence[str]:
    """Return the parts of a table's name without that of its catalog, if they begin with it.

    >>> class Main:
    ...     name = "main"
    >>> without_catalog(Main(), ("MAIN", "shop", "orders")), without_catalog(None, ("shop", "orders"))
    (('shop', 'orders'), ('shop', 'orders'))
    """
    name = name_of(catalog)
    is_of_it = len(parts) == 3 and name is not None and fold(parts[0]) == fold(name)
    return parts[1:] if is_of_it else parts
