"""Unity Catalog as a catalog of names and of the commits of managed tables.

The server is asked by its "Managed Tables Specification" 0.2: ``/delta/v1`` below the root of its API, and
the lists of schemas and tables beside it. `deltaarrow.catalogs.unity.table` is one table,
`deltaarrow.catalogs.unity.table_creation` a new one.
"""

from collections.abc import Callable, Mapping
from typing import Any, Never

from deltaarrow.catalogs.namespace import TableLocation, WithoutViews, fold
from deltaarrow.catalogs.unity.api import NAME, TABLE_ENDPOINT, UnityApi
from deltaarrow.catalogs.unity.client import UnityClient
from deltaarrow.catalogs.unity.table import UnityTable
from deltaarrow.catalogs.unity.table_creation import StagedTable, register_external
from deltaarrow.display.redaction import redacted
from deltaarrow.errors import TableNotFoundError, UnsupportedFeatureError, VersionExistsError
from deltaarrow.runtime.clock import Clock, system_clock

__all__ = ["UnityCatalog"]

_LISTED_FOR_MS = 10_000
"""How long a list of schemas is used again, since each name in a SQL statement is looked up in it."""


class UnityCatalog:
    """One catalog of a Unity Catalog server, whose tables are created, read, written and dropped.

    The catalog manages the commits of its managed tables. Tables at locations of the user, which it calls
    external, have their commits in their logs; the catalog returns their locations and lends credentials.

    Args:
        url: the address of the server, such as ``https://host``.
        catalog: the name of the catalog.
        token: the token, or a function that returns one whenever it is needed; None for the value of the
            environment variable ``UNITY_CATALOG_TOKEN``, or no token if it is not set. Pickles do not contain
            a token that is a string.
        storage_options: further options of the store, such as its region or endpoint. The catalog lends the
            credentials. Pickles contain these options, and no lent credentials.
        timeout: seconds to wait for the server.
        allows_maintenance: whether the operators of the catalog let clients compact (OPTIMIZE, REORG), vacuum
            and clean up the logs of managed tables. By its specification they leave this to the catalog.
        retry_delay: seconds before the second of five attempts, for 429, 502, 503, 504 and lost connections.
        clock: the clock for the expiry of credentials.

    Nothing is asked before a name is used. Raises `ValueError` for an address, a name or a token that cannot
    be one. The methods raise `StorageError` if the server cannot be reached or refuses.

    >>> catalog = UnityCatalog("https://unity.example", "main", token="abc")
    >>> catalog
    UnityCatalog('https://unity.example', 'main')
    """

    has_fixed_namespaces = True
    """Schemas are made and dropped elsewhere."""

    def __init__(
        self,
        url: str,
        catalog: str,
        token: str | Callable[[], str] | None = None,
        *,
        storage_options: Mapping[str, Any] | None = None,
        timeout: float = 30.0,
        retry_delay: float = 0.25,
        allows_maintenance: bool = False,
        clock: Clock = system_clock,
    ) -> None:
        if NAME.fullmatch(catalog) is None:
            raise ValueError(f"{catalog!r} is no name of a catalog")
        self.name = catalog
        client = UnityClient(url, token, timeout, retry_delay)
        self._api = UnityApi(client, catalog, storage_options, clock, allows_maintenance)
        self._listed: tuple[int, list[str]] | None = None

    def __repr__(self) -> str:
        return f"UnityCatalog({self._api.client.url!r}, {self.name!r})"

    def namespaces(self) -> list[str]:
        """Return the names of all schemas, in order; a list is used again for ten seconds."""
        now = self._api.clock()
        if self._listed is None or not 0 <= now - self._listed[0] < _LISTED_FOR_MS:
            found = self._api.names("schemas", {"catalog_name": self.name}, f"the schemas of {self.name}")
            self._listed = now, found
        return list(self._listed[1])

    def namespace(self, name: str) -> "_UnityNamespace | None":
        """Return a schema; None if there is none of that name."""
        known = {fold(each): each for each in self.namespaces()}
        return _UnityNamespace(self._api, known[fold(name)]) if fold(name) in known else None

    def create_namespace(self, name: str) -> None:
        """Refuse with `UnsupportedFeatureError`."""
        _refuse(f"create the schema {name}")

    def drop_namespace(self, name: str) -> None:
        """Refuse with `UnsupportedFeatureError`."""
        _refuse(f"drop the schema {name}")


class _UnityNamespace(WithoutViews):
    """A schema."""

    title = "Unity Catalog"

    def __init__(self, api: UnityApi, name: str) -> None:
        self._api = api
        self._name = name

    def find(self, name: str) -> TableLocation | None:
        """Return where a table is; None if there is none of that name."""
        if NAME.fullmatch(name) is None:
            return None
        table = UnityTable(self._api, self._name, name)
        try:
            table.load()
        except TableNotFoundError:
            return None
        return TableLocation(table.uri, opener=table.open)

    def place_for(self, name: str) -> TableLocation:
        """Return the location of a new managed table, which the catalog allocates when it is opened."""
        if NAME.fullmatch(name) is None:
            raise ValueError(f"{name!r} is no name of a table in Unity Catalog")
        staged = StagedTable(self._api, self._name, name)
        return TableLocation(
            f"{self._api.catalog}.{self._name}.{name}",
            self._api.storage_options or None,
            is_managed=True,
            opener=staged.open,
        )

    def tables(self) -> list[str]:
        query = {"catalog_name": self._api.catalog, "schema_name": self._name}
        return self._api.names("tables", query, f"the tables of {self._api.catalog}.{self._name}")

    def add(self, name: str, location: TableLocation) -> None:
        """Register a table: a table in its allocated location, or an external table.

        Raises `FileExistsError` if there is a table of that name.
        """
        staged = getattr(location.opener, "__self__", None)
        if isinstance(staged, StagedTable):
            staged.register()
            return
        if location.opener is not None:
            raise ValueError(
                f"the table of {redacted(location.uri)} has a name in a catalog already; rename it there"
            )
        try:
            register_external(self._api, self._name, name, location.open())
        except VersionExistsError as error:
            raise FileExistsError(str(error)) from error

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _UnityNamespace) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[str, ...]:
        return *self._api.key, self._name

    def rename(self, name: str, new_name: str) -> None:
        """Give a table another name in the schema. `FileExistsError` if there is a table of that name."""
        if NAME.fullmatch(new_name) is None:
            raise ValueError(f"{new_name!r} is no name of a table in Unity Catalog")
        self._api.ensure_offered(f"POST {TABLE_ENDPOINT}/rename")
        subject = f"the table {self._api.catalog}.{self._name}.{name}"
        try:
            self._api.change("POST", (self._name, "tables", name, "rename"), {"new-name": new_name}, subject)
        except VersionExistsError as error:
            raise FileExistsError(str(error)) from error

    def remove(self, name: str, location: TableLocation | None = None) -> None:
        """Drop a table; the catalog deletes the files of a managed table but not of an external one."""
        if self.find(name) is None:
            raise KeyError(name)
        self._api.ensure_offered(f"DELETE {TABLE_ENDPOINT}")
        subject = f"the table {self._api.catalog}.{self._name}.{name}"
        self._api.change("DELETE", (self._name, "tables", name), None, subject)


def _refuse(what: str) -> Never:
    raise UnsupportedFeatureError(
        f"cannot {what}: schemas of Unity Catalog are changed through the catalog itself",
        feature="Unity Catalog",
    )
