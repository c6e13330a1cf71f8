"""Delta Sharing as a read-only catalog: the schemas and tables of one share.

A provider gives a recipient a profile file, with which `DeltaSharingCatalog` asks the server by the Delta
Sharing protocol. `deltaarrow.catalogs.sharing.table` has the single table.
"""

import os
from collections.abc import Mapping
from typing import Any, Never

from deltaarrow.catalogs.namespace import TableLocation, WithoutViews, fold
from deltaarrow.catalogs.sharing.client import SharingClient
from deltaarrow.catalogs.sharing.profile import SharingProfile
from deltaarrow.catalogs.sharing.table import SharedTable
from deltaarrow.errors import TableNotFoundError, UnsupportedFeatureError
from deltaarrow.runtime.clock import Clock, system_clock

__all__ = ["DeltaSharingCatalog"]

_LISTED_FOR_MS = 10_000
"""How long a list is used again, since each name in a SQL statement is looked up in it."""


class DeltaSharingCatalog:
    """A read-only catalog: the tables of one share of a Delta Sharing server.

    Args:
        profile: the path or URL of the profile file, or its JSON object. Pickles contain no secrets: a
            process that unpickles a table reads the file again, and cannot read the table after an object.
        share: the name of the share; None if the profile may read only one.
        storage_options: options for the URL of the profile; see `DeltaTable`.
        timeout: seconds to wait for the server and for the stores of files.
        retry_delay: seconds before the second of five attempts (429, 502, 503, 504, lost connections).
        clock: the time, by which tokens and addresses of files expire.

    The schemas of the share are the namespaces. The constructor checks a profile that is given as an object,
    and makes no request. Raises `ValueError` for a profile that is incomplete, and
    `UnsupportedFeatureError` for its version or type. The methods raise `StorageError` if the server cannot
    be reached or refuses.

    >>> profile = {
    ...     "shareCredentialsVersion": 1,
    ...     "endpoint": "https://sharing.example/delta-sharing/",
    ...     "bearerToken": "abc",
    ... }
    >>> DeltaSharingCatalog(profile, "sales")
    DeltaSharingCatalog('https://sharing.example/delta-sharing', 'sales')
    """

    has_fixed_namespaces = True
    """Schemas are made and dropped elsewhere."""

    def __init__(
        self,
        profile: str | os.PathLike[str] | Mapping[str, Any],
        share: str | None = None,
        *,
        storage_options: Mapping[str, Any] | None = None,
        timeout: float = 60.0,
        retry_delay: float = 0.25,
        clock: Clock = system_clock,
    ) -> None:
        self._profile = SharingProfile(profile, storage_options, timeout, clock)
        self._client = SharingClient(self._profile, timeout, retry_delay)
        self._share, self._clock = share, clock
        self._lists: dict[tuple[str, ...], tuple[int, list[str]]] = {}
        self._tables: dict[tuple[str, str], SharedTable] = {}

    def __repr__(self) -> str:
        return f"DeltaSharingCatalog({self._profile.shown!r}, {self._share!r})"

    @property
    def name(self) -> str:
        """The name of the share; `TableNotFoundError` if none is given and there is not just one."""
        if self._share is None:
            found = self.shares()
            if len(found) != 1:
                raise TableNotFoundError(
                    f"the profile for {self._profile.endpoint} may read the shares"
                    f" {', '.join(found) or '(none)'}: give DeltaSharingCatalog the name of one"
                )
            self._share = found[0]
        return self._share

    def shares(self) -> list[str]:
        """Return the names of all shares that the profile may read, in order."""
        return self.listed(("shares",), "the shares")

    def namespaces(self) -> list[str]:
        """Return the names of all schemas of the share, in order; a list is used again for ten seconds."""
        return self.listed(("shares", self.name, "schemas"), f"the schemas of {self.name}")

    def namespace(self, name: str) -> "_SharedSchema | None":
        """Return a schema; None if there is none of that name."""
        known = {fold(each): each for each in self.namespaces()}
        return _SharedSchema(self, known[fold(name)]) if fold(name) in known else None

    def create_namespace(self, name: str) -> None:
        """Refuse with `UnsupportedFeatureError`."""
        _refuse(f"create the schema {name}")

    def drop_namespace(self, name: str) -> None:
        """Refuse with `UnsupportedFeatureError`."""
        _refuse(f"drop the schema {name}")

    def listed(self, path: tuple[str, ...], subject: str) -> list[str]:
        """Return the names of a list of the server, which is used again for ten seconds."""
        now = self._clock()
        known = self._lists.get(path)
        if known is None or not 0 <= now - known[0] < _LISTED_FOR_MS:
            known = self._lists[path] = now, self._client.names(path, subject)
        return list(known[1])

    def table(self, schema: str, name: str) -> SharedTable:
        """Return a table by the names that the server lists; the same object each time."""
        found = SharedTable(self._client, (self.name, schema, name), self._clock)
        return self._tables.setdefault((schema, name), found)


class _SharedSchema(WithoutViews):
    """A schema."""

    title = "a share"

    def __init__(self, catalog: DeltaSharingCatalog, name: str) -> None:
        self._catalog, self._name = catalog, name

    def find(self, name: str) -> TableLocation | None:
        """Return where a table is; None if there is none of that name."""
        known = {fold(each): each for each in self.tables()}
        if fold(name) not in known:
            return None
        table = self._catalog.table(self._name, known[fold(name)])
        return TableLocation(table.uri, opener=table.open)

    def tables(self) -> list[str]:
        share = self._catalog.name
        path = ("shares", share, "schemas", self._name, "tables")
        return self._catalog.listed(path, f"the tables of {share}.{self._name}")

    def place_for(self, name: str) -> Never:
        _refuse(f"create the table {name}")

    def add(self, name: str, location: TableLocation) -> None:
        _refuse(f"add the table {name}")

    def rename(self, name: str, new_name: str) -> None:
        """Refuse with `UnsupportedFeatureError`."""
        _refuse(f"rename the table {name}")

    def remove(self, name: str, location: TableLocation | None = None) -> None:
        _refuse(f"drop the table {name}")


def _refuse(what: str) -> Never:
    raise UnsupportedFeatureError(
        f"cannot {what}: a share is changed by its provider, and only read here", feature="Delta Sharing"
    )
