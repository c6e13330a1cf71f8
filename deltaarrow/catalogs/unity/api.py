"""Unity Catalog's API for Delta tables: the requests that the tables of one catalog share.

The configuration is requested once: the version of the protocol, and the endpoints that the server offers.
Every answer is checked before use.
"""

import re
from collections.abc import Collection, Mapping
from typing import Any

from deltaarrow.catalogs.unity.client import Answer, UnityClient
from deltaarrow.catalogs.web_requests import is_whole
from deltaarrow.display.redaction import redacted
from deltaarrow.errors import StorageError, TableNotFoundError, UnsupportedFeatureError
from deltaarrow.runtime.clock import Clock

__all__ = [
    "DELTA",
    "EXTERNAL_OF_OLD",
    "NAME",
    "TABLE_ENDPOINT",
    "UnityApi",
    "ensure_location",
    "store_credentials",
]

DELTA = ("delta", "v1")
_PROTOCOL_VERSIONS = "1.0"
TABLE_ENDPOINT = "/v1/catalogs/{catalog}/schemas/{schema}/tables/{table}"
_LOAD_TABLE = f"GET {TABLE_ENDPOINT}"
NAME = re.compile(r"[^\x00-\x20\x7f/.]{1,255}")
"""What can be the name of a catalog, a schema or a table."""
_LOCATION = re.compile(r"(?:(?:s3a?|gs|abfss?)://|file:/)[^\x00-\x1f\x7f]+")
_S3 = {
    "s3.access-key-id": "AWS_ACCESS_KEY_ID",
    "s3.secret-access-key": "AWS_SECRET_ACCESS_KEY",
    "s3.session-token": "AWS_SESSION_TOKEN",
}
EXTERNAL_OF_OLD = "EXTERNAL, of the older API"
"""The kind of a table that only the older API knows."""
_CREDENTIALS_OF_OLD = {
    "aws_temp_credentials": {
        "access_key_id": "s3.access-key-id",
        "secret_access_key": "s3.secret-access-key",
        "session_token": "s3.session-token",
    },
    "azure_user_delegation_sas": {"sas_token": "azure.sas-token"},
    "gcp_oauth_token": {"oauth_token": "gcs.oauth-token"},
}
_RENEWED_BEFORE_MS = 300_000
_MOST_PAGES = 1000


class UnityApi:
    """What the tables of a catalog share: the client, the negotiated protocol, the options of the store."""

    def __init__(
        self,
        client: UnityClient,
        catalog: str,
        storage_options: Mapping[str, Any] | None,
        clock: Clock,
        allows_maintenance: bool,
    ) -> None:
        self.client = client
        self.catalog = catalog
        self.storage_options = dict(storage_options or {})
        self.clock = clock
        self.allows_maintenance = allows_maintenance
        self._endpoints: frozenset[str] | None = None

    @property
    def key(self) -> tuple[str, str]:
        """Equal for one catalog of one server."""
        return self.client.url, self.catalog

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
                if isinstance(name, str) and NAME.fullmatch(name) and is_delta:
                    found.add(name)
            page = answer.get("next_page_token") or None
            if page is None:
                return sorted(found)
            if not isinstance(page, str):
                break
        raise StorageError(f"the catalog's list of {subject} has more than {_MOST_PAGES} pages")

    def table(self, path: tuple[str, ...], query: Mapping[str, str], subject: str) -> dict[str, Any]:
        """Return what the API for Delta says of a table: ``(schema, "tables", table, ...)``."""
        return self.client.get(self._place(path), query, subject)

    def change(
        self,
        method: str,
        path: tuple[str, ...],
        body: Mapping[str, Any] | None,
        subject: str,
        handled: Collection[int] = (),
    ) -> Answer:
        """Send a change to what is at a path below the schemas of the catalog; see `UnityClient.send`."""
        return self.client.send(method, self._place(path), body, subject, handled=handled)

    def _place(self, path: tuple[str, ...]) -> tuple[str, ...]:
        if not self.endpoints():
            raise UnsupportedFeatureError(
                f"the catalog at {self.client.url} has no API for managed tables, or no catalog"
                f" {self.catalog}; check the name, or use a newer server",
                feature="Unity Catalog",
            )
        return (*DELTA, "catalogs", self.catalog, "schemas", *path)

    def ensure_offered(self, endpoint: str) -> None:
        """Raise `UnsupportedFeatureError` unless the server offers an endpoint."""
        if endpoint not in self.endpoints():
            raise UnsupportedFeatureError(
                f"the catalog at {self.client.url} does not offer {endpoint}", feature="Unity Catalog"
            )

    def endpoints(self) -> frozenset[str]:
        """Return what the server offers, as ``GET /v1/...``; it is asked once."""
        if self._endpoints is None:
            self._endpoints = self._negotiate()
        return self._endpoints

    def served_table(self, path: tuple[str, ...], subject: str) -> dict[str, Any] | None:
        """Return what the API for Delta says of a table; None if only an older API may know it."""
        return self.client.get_served(self._place(path), subject) if self.endpoints() else None

    def external_table(self, schema: str, name: str, subject: str) -> dict[str, Any]:
        """Return what the older API says of an external Delta table, in the words of the one for Delta.

        `UnsupportedFeatureError` for any other table.
        """
        found = self.client.get(("tables", f"{self.catalog}.{schema}.{name}"), {}, subject)
        kind, form = found.get("table_type"), found.get("data_source_format")
        if kind != "EXTERNAL" or form != "DELTA":
            raise UnsupportedFeatureError(
                f"{subject} is a table of the type {kind!r} and the format {form!r}; without the API for"
                " managed tables, which the server does not offer for it, external Delta tables are opened",
                feature="Unity Catalog",
            )
        metadata = {"table-uuid": found.get("table_id"), "location": found.get("storage_location")}
        return {"metadata": {**metadata, "table-type": EXTERNAL_OF_OLD}}

    def credentials_of_old(
        self, identity: str, uri: str, operation: str, subject: str
    ) -> list[dict[str, Any]]:
        """Return the credentials that the older API lends for a table, in the words of the one for Delta."""
        body = {"table_id": identity, "operation": operation}
        told = self.client.send("POST", ("temporary-table-credentials",), body, subject).body
        config: dict[str, Any] = {}
        for part, names in _CREDENTIALS_OF_OLD.items():
            found = told.get(part)
            if isinstance(found, dict):
                config |= {new: found.get(old) for old, new in names.items()}
        return [{"prefix": uri, "expiration-time-ms": told.get("expiration_time"), "config": config}]

    def _negotiate(self) -> frozenset[str]:
        query = {"catalog": self.catalog, "protocol-versions": _PROTOCOL_VERSIONS}
        try:
            answer = self.client.get((*DELTA, "config"), query, f"the catalog {self.catalog}")
        except TableNotFoundError:
            return frozenset()  # the server is older than this API
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
        return frozenset(each for each in endpoints if isinstance(each, str))

    def lent(self, listed: object, uri: str, subject: str) -> tuple[Mapping[str, Any], int]:
        """Return the options of the store for the best of the credentials that the server lends.

        Args:
            listed: the credentials, as the server sends them.
            uri: the location that they are for.
            subject: the table, for errors.

        Returns the options, and the time in milliseconds at which to ask for others. Raises `StorageError`
        for credentials that are for another location, that have expired, or that are not understood.
        """
        now = self.clock()
        found = [
            each
            for each in (listed if isinstance(listed, list) else ())
            if isinstance(each, dict) and _covers(each.get("prefix"), uri)
        ]
        if not found:
            raise StorageError(f"the catalog lends no credentials for {redacted(uri)}, {subject}")
        best = max(found, key=lambda each: len(each["prefix"]))
        expires, config = best.get("expiration-time-ms"), best.get("config")
        if not is_whole(expires) or expires <= now or not isinstance(config, dict):
            raise StorageError(
                f"the catalog lends credentials that have expired, or are none, for {subject};"
                " check the clock of this machine"
            )
        options = {**self.storage_options, **store_credentials(uri, config, subject)}
        return options, expires - min(_RENEWED_BEFORE_MS, (expires - now) // 2)


def ensure_location(location: str, subject: str) -> None:
    """Raise `StorageError` for a location in an unknown store."""
    if _LOCATION.fullmatch(location) is None or "::" in location:
        raise StorageError(
            f"{subject} has the location {redacted(location)!r}; only s3, gs, abfss and file are"
            " taken from a catalog"
        )


def _covers(prefix: object, uri: str) -> bool:
    """Whether a location is the prefix, or below it."""
    return isinstance(prefix, str) and f"{uri.rstrip('/')}/".startswith(f"{prefix.rstrip('/')}/")


def store_credentials(uri: str, config: Mapping[str, object], subject: str) -> dict[str, Any]:
    """Return the storage options of credentials as the catalog spells them, for the store of a location.

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
