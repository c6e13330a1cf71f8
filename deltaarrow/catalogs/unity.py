"""Unity Catalog as a catalog of names, and of the commits of the tables that it manages; for reading.

The server is asked by its "Managed Tables Specification" 0.2: ``/delta/v1`` below the root of its API, and
the lists of schemas and tables beside it. The answers:

1. The configuration, once: whether the server speaks a version of the protocol that is known here.
2. A table: its place, its id, the commits that may be unpublished, and the latest version, beyond which
   nothing is read. It is asked for whenever the log is listed.
3. The credentials of a table for reading, which are renewed before they expire.

Whatever the server sends is checked before use: a place has the scheme of a known store, and a commit the
name of a staged file of its version.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Never, TypeGuard

from deltaarrow.catalogs.lent_store import LentStore
from deltaarrow.catalogs.namespace import TableLocation, View, fold
from deltaarrow.catalogs.unity_client import UnityClient
from deltaarrow.display.redaction import redacted
from deltaarrow.errors import CorruptLogError, StorageError, TableNotFoundError, UnsupportedFeatureError
from deltaarrow.log import CatalogStore, RatifiedCommit, RatifiedCommits
from deltaarrow.runtime.clock import Clock, system_clock
from deltaarrow.storage import Store, open_store

__all__ = ["UnityCatalog", "store_credentials"]

_DELTA = ("delta", "v1")
_PROTOCOL_VERSIONS = "1.0"
_LOAD_TABLE = "GET /v1/catalogs/{catalog}/schemas/{schema}/tables/{table}"
_NAME = re.compile(r"[^\x00-\x20\x7f/.]{1,255}")
_LOCATION = re.compile(r"(?:(?:s3a?|gs|abfss?)://|file:/)[^\x00-\x1f\x7f]+")
_S3 = {
    "s3.access-key-id": "AWS_ACCESS_KEY_ID",
    "s3.secret-access-key": "AWS_SECRET_ACCESS_KEY",
    "s3.session-token": "AWS_SESSION_TOKEN",
}
_RENEWED_BEFORE_MS = 300_000
_MOST_PAGES = 1000
_LISTED_FOR_MS = 10_000
"""How long a list of schemas is used again, since each name in a SQL statement is looked up in it."""


class UnityCatalog:
    """One catalog of a Unity Catalog server, whose managed tables are read; changes are refused by name.

    Args:
        url: the address of the server, such as ``https://host``.
        catalog: the name of the catalog.
        token: the token, or a function that returns one whenever it is needed; None for the text of the
            environment variable ``UNITY_CATALOG_TOKEN``, and for no token if there is none. A token that is
            given as text is left out of pickles.
        storage_options: further options of the store, such as its region or endpoint. The catalog lends the
            credentials.
        timeout: seconds to wait for the server.
        retry_delay: seconds before the second of five attempts, for 429, 502, 503, 504 and lost connections.
        clock: tells when credentials expire.

    Nothing is asked before a name is used. Raises `ValueError` for an address, a name or a token that cannot
    be one. The methods raise `StorageError` if the server cannot be reached or refuses.

    >>> catalog = UnityCatalog("https://unity.example", "main", token="abc")
    >>> catalog
    UnityCatalog('https://unity.example', 'main')
    """

    def __init__(
        self,
        url: str,
        catalog: str,
        token: str | Callable[[], str] | None = None,
        *,
        storage_options: Mapping[str, Any] | None = None,
        timeout: float = 30.0,
        retry_delay: float = 0.25,
        clock: Clock = system_clock,
    ) -> None:
        if _NAME.fullmatch(catalog) is None:
            raise ValueError(f"{catalog!r} is no name of a catalog")
        self.name = catalog
        self._server = _Server(UnityClient(url, token, timeout, retry_delay), catalog, storage_options, clock)
        self._listed: tuple[int, list[str]] | None = None

    def __repr__(self) -> str:
        return f"UnityCatalog({self._server.client.url!r}, {self.name!r})"

    def namespaces(self) -> list[str]:
        """Return the names of all schemas, in order; a list is used again for ten seconds."""
        now = self._server.clock()
        if self._listed is None or not 0 <= now - self._listed[0] < _LISTED_FOR_MS:
            found = self._server.names("schemas", {"catalog_name": self.name}, f"the schemas of {self.name}")
            self._listed = now, found
        return list(self._listed[1])

    def namespace(self, name: str) -> "_UnityNamespace | None":
        """Return a schema; None if there is none of that name."""
        known = {fold(each): each for each in self.namespaces()}
        return _UnityNamespace(self._server, known[fold(name)]) if fold(name) in known else None

    def create_namespace(self, name: str) -> None:
        """Refuse with `UnsupportedFeatureError`."""
        _refuse(f"create the schema {name}")

    def drop_namespace(self, name: str) -> None:
        """Refuse with `UnsupportedFeatureError`."""
        _refuse(f"drop the schema {name}")


class _Server:
    """What the tables of a catalog share: the client, the negotiated protocol, the options of the store."""

    def __init__(
        self, client: UnityClient, catalog: str, storage_options: Mapping[str, Any] | None, clock: Clock
    ) -> None:
        self.client = client
        self.catalog = catalog
        self.storage_options = dict(storage_options or {})
        self.clock = clock
        self._is_negotiated = False

    def names(self, kind: str, query: Mapping[str, str], subject: str) -> list[str]:
        """Return the names of all schemas, or of all Delta tables of one, in order."""
        found: set[str] = set()
        page: str | None = None
        for _ in range(_MOST_PAGES):
            more = {} if page is None else {"page_token": page}
            answer = self.client.get((kind,), {**query, **more}, subject)
            listed = answer.get(kind)
            for each in listed if isinstance(listed, list) else ():
                name = each.get("name") if isinstance(each, dict) else None
                is_delta = kind == "schemas" or each.get("data_source_format") in ("DELTA", None)
                if isinstance(name, str) and _NAME.fullmatch(name) and is_delta:
                    found.add(name)
            page = answer.get("next_page_token") or None
            if page is None:
                return sorted(found)
            if not isinstance(page, str):
                break
        raise StorageError(f"the catalog's list of {subject} does not end; it has over {_MOST_PAGES} pages")

    def table(self, path: tuple[str, ...], query: Mapping[str, str], subject: str) -> dict[str, Any]:
        """Return what the API for Delta says of a table: ``(schema, "tables", table, ...)``."""
        self._negotiate()
        schema, *rest = path
        place = (*_DELTA, "catalogs", self.catalog, "schemas", schema, *rest)
        return self.client.get(place, query, subject)

    def _negotiate(self) -> None:
        if self._is_negotiated:
            return
        query = {"catalog": self.catalog, "protocol-versions": _PROTOCOL_VERSIONS}
        try:
            answer = self.client.get((*_DELTA, "config"), query, f"the catalog {self.catalog}")
        except TableNotFoundError as error:
            raise StorageError(f"{error}; or the server is too old for the API of managed tables") from None
        version, endpoints = answer.get("protocol-version"), answer.get("endpoints")
        if not isinstance(version, str) or version.partition(".")[0] != "1":
            raise UnsupportedFeatureError(
                f"the catalog at {self.client.url} speaks version {version!r} of its protocol, and this"
                f" release knows {_PROTOCOL_VERSIONS}",
                feature="Unity Catalog",
            )
        if not isinstance(endpoints, list) or _LOAD_TABLE not in endpoints:
            raise UnsupportedFeatureError(
                f"the catalog at {self.client.url} does not offer {_LOAD_TABLE}", feature="Unity Catalog"
            )
        self._is_negotiated = True


class _UnityNamespace:
    """A schema."""

    def __init__(self, server: _Server, name: str) -> None:
        self._server = server
        self._name = name

    def find(self, name: str) -> TableLocation | None:
        """Return where a table is. `UnsupportedFeatureError` for one that the catalog does not manage."""
        if _NAME.fullmatch(name) is None:
            return None
        table = _UnityTable(self._server, self._name, name)
        try:
            table.load()
        except TableNotFoundError:
            return None
        return TableLocation(table.uri, opener=table.open)

    def place_for(self, name: str) -> TableLocation:
        _refuse(f"make the table {self._name}.{name}")

    def tables(self) -> list[str]:
        query = {"catalog_name": self._server.catalog, "schema_name": self._name}
        return self._server.names("tables", query, f"the tables of {self._server.catalog}.{self._name}")

    def add(self, name: str, location: TableLocation) -> None:
        _refuse(f"register the table {self._name}.{name}")

    def remove(self, name: str) -> None:
        _refuse(f"drop the table {self._name}.{name}")

    def view(self, name: str) -> None:
        return None

    def views(self) -> list[str]:
        return []

    def add_view(self, view: View, *, may_replace: bool = False) -> None:
        raise ValueError(f"views are not kept in Unity Catalog: make the view {view.name} in a file catalog")

    def remove_view(self, name: str) -> None:
        raise KeyError(name)


class _UnityTable:
    """A managed table: the catalog of its commits, and the lender of its credentials.

    It pickles without credentials. Two are equal if they are one table of one server.
    """

    def __init__(
        self, server: _Server, schema: str, name: str, identity: tuple[str, str] | None = None
    ) -> None:
        self._server = server
        self._path = (schema, "tables", name)
        self._subject = f"the table {server.catalog}.{schema}.{name}"
        self._identity = identity
        self._lent: tuple[Mapping[str, Any], int] | None = None

    def __repr__(self) -> str:
        return f"<{self._subject} of {self._server.client.url}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _UnityTable) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[object, ...]:
        return self._server.client.url, self._subject, self._identity

    def __reduce__(self) -> tuple[object, ...]:
        schema, _, name = self._path
        return _UnityTable, (self._server, schema, name, self._identity)

    @property
    def uri(self) -> str:
        """The place of the table; `load` has to be called before."""
        assert self._identity is not None
        return self._identity[1]

    def open(self) -> Store:
        """Return the store of the table, whose log is as the catalog says."""
        is_local = self.uri.startswith("file:")
        return CatalogStore(open_store(self.uri) if is_local else LentStore(self.uri, self), self)

    def load(self) -> dict[str, Any]:
        """Return what the catalog says of the table, which must be the one that it was before."""
        answer = self._server.table(self._path, {}, self._subject)
        identity = self._identified(answer)
        if self._identity is None:
            self._identity = identity
        elif self._identity != identity:
            raise TableNotFoundError(
                f"{self._subject} is another one than before: it was replaced; open it again"
            )
        return answer

    def _identified(self, answer: Mapping[str, Any]) -> tuple[str, str]:
        """The id and the place of the table, which must be a managed one in a store that is known."""
        metadata = answer.get("metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        identity, location = metadata.get("table-uuid"), metadata.get("location")
        if not isinstance(identity, str) or not identity or not isinstance(location, str):
            raise CorruptLogError(f"the catalog tells no id or no location of {self._subject}")
        if _LOCATION.fullmatch(location) is None or "::" in location:
            raise StorageError(
                f"{self._subject} has the location {redacted(location)!r}; only s3, gs, abfss and file are"
                " taken from a catalog"
            )
        if metadata.get("table-type") != "MANAGED":
            raise UnsupportedFeatureError(
                f"{self._subject} is not managed by the catalog; open it by its location:"
                f" DeltaTable({redacted(location)!r})",
                feature="Unity Catalog",
            )
        return identity, location

    # --- the catalog of its commits ---

    def ratified_commits(self, start_version: int = 0) -> RatifiedCommits:
        """Ask the catalog for its commits, and for the latest version."""
        answer = self.load()
        commits, latest = answer.get("commits"), answer.get("latest-table-version")
        if not _is_whole(latest) or not isinstance(commits, list):
            raise CorruptLogError(f"the catalog tells no commits or no latest version of {self._subject}")
        try:
            found = [
                RatifiedCommit(_version(each), staged_file=_text(each, "file-name"))
                for each in commits
                if _version(each) >= start_version
            ]
            return RatifiedCommits(found, latest)
        except ValueError as error:
            raise CorruptLogError(
                f"the catalog tells impossible commits of {self._subject}: {error}"
            ) from error

    # --- the lender of its credentials ---

    def storage_options(self) -> Mapping[str, Any]:
        """Return the options of the store, with credentials for reading that are renewed in time."""
        now = self._server.clock()
        lent = self._lent
        if lent is None or now >= lent[1]:
            lent = self._lent = self._lend(now)
        return lent[0]

    def _lend(self, now: int) -> tuple[Mapping[str, Any], int]:
        subject = f"the credentials of {self._subject}"
        answer = self._server.table((*self._path, "credentials"), {"operation": "READ"}, subject)
        listed = answer.get("storage-credentials")
        found = [
            each
            for each in (listed if isinstance(listed, list) else ())
            if isinstance(each, dict) and _covers(each.get("prefix"), self.uri)
        ]
        if not found:
            raise StorageError(f"the catalog lends no credentials for {redacted(self.uri)}, {self._subject}")
        best = max(found, key=lambda each: len(each["prefix"]))
        expires, config = best.get("expiration-time-ms"), best.get("config")
        if not _is_whole(expires) or expires <= now or not isinstance(config, dict):
            raise StorageError(
                f"the catalog lends credentials that have expired, or are none, for {self._subject};"
                " check the clock of this machine"
            )
        options = {**self._server.storage_options, **store_credentials(self.uri, config, self._subject)}
        return options, expires - min(_RENEWED_BEFORE_MS, (expires - now) // 2)


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _version(commit: object) -> int:
    version = commit.get("version") if isinstance(commit, dict) else None
    if not _is_whole(version):
        raise ValueError("a commit has no version")
    return version


def _text(commit: Mapping[str, Any], key: str) -> str:
    text = commit.get(key)
    if not isinstance(text, str):
        raise ValueError(f"a commit has no {key}")
    return text


def _covers(prefix: object, uri: str) -> bool:
    """Whether a place is the prefix, or below it."""
    return isinstance(prefix, str) and f"{uri.rstrip('/')}/".startswith(f"{prefix.rstrip('/')}/")


def store_credentials(uri: str, config: Mapping[str, object], subject: str) -> dict[str, Any]:
    """Return the storage options of credentials as the catalog spells them, for the store of a place.

    Raises `StorageError`, which names `subject`, for credentials of another store or of none that is known.
    """
    scheme = uri.partition("://")[0]
    texts = {name: text for name, text in config.items() if isinstance(text, str) and text}
    if scheme in ("s3", "s3a") and "s3.access-key-id" in texts and "s3.secret-access-key" in texts:
        return {option: texts[name] for name, option in _S3.items() if name in texts}
    if scheme in ("abfs", "abfss") and "azure.sas-token" in texts:
        return {"sas_token": texts["azure.sas-token"]}
    if scheme == "gs" and "gcs.oauth-token" in texts:
        return {"bearer_token": texts["gcs.oauth-token"]}
    raise StorageError(f"the catalog lends no credentials for {scheme}:// that are understood, for {subject}")


def _refuse(what: str) -> Never:
    raise UnsupportedFeatureError(
        f"cannot {what}: this release only reads from Unity Catalog; make the change through the catalog",
        feature="Unity Catalog",
    )
