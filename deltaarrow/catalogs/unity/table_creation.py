"""Creation of tables in Unity Catalog: chapters "Create a Staging Table" and "Create a Table".

1. The catalog allocates an id and a location, and returns which features and properties the table must have.
2. Version 0 is written there with all of them at once, by whatever creates the table.
3. The catalog registers the table under its name, and manages its commits from then on.

A table that is not registered is no table. Nobody reads it, and the catalog has no way to give it up.
"""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deltaarrow.catalogs.namespace import TableLocation, registered_uri
from deltaarrow.catalogs.unity.api import DELTA, TABLE_ENDPOINT, UnityApi, ensure_location
from deltaarrow.catalogs.unity.commit_json import render_columns, render_domains, render_protocol
from deltaarrow.catalogs.unity.table import LOST, UnityTable, open_place
from deltaarrow.errors import (
    CommitStateUnknownError,
    CorruptLogError,
    TableNotFoundError,
    UnsupportedFeatureError,
)
from deltaarrow.features import FEATURE_PREFIX, supported_features
from deltaarrow.log import CatalogStore, Demands, NewTableStore, RatifiedCommits
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import Store

__all__ = ["StagedTable", "register_external"]

_TABLES_ENDPOINT = TABLE_ENDPOINT.removesuffix("/{table}")
_STAGING_ENDPOINT = "POST /v1/catalogs/{catalog}/schemas/{schema}/staging-tables"
_ATTEMPTS = 3


class StagedTable:
    """A managed table that is about to be created; it provides the credentials for its location.

    Nothing is asked of the catalog before `open`. It pickles without credentials.
    """

    def __init__(
        self, api: UnityApi, schema: str, name: str, allocated: tuple[str, str] | None = None
    ) -> None:
        self._api, self._schema, self._name = api, schema, name
        self._subject = f"the new table {api.catalog}.{schema}.{name}"
        self._allocated = allocated
        self._demands = Demands()
        self._must_have: frozenset[str] = frozenset()
        self._lent: tuple[Mapping[str, Any], int] | None = None

    def __repr__(self) -> str:
        return f"<{self._subject} of {self._api.client.url}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StagedTable) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[object, ...]:
        return *self._api.key, self._schema, self._name, self._allocated

    def __reduce__(self) -> tuple[object, ...]:
        return StagedTable, (self._api, self._schema, self._name, self._allocated)

    @property
    def uri(self) -> str:
        """The location that the catalog has allocated; call `open` first."""
        assert self._allocated is not None
        return self._allocated[1]

    def open(self) -> Store:
        """Have the catalog allocate a location; return its store, which knows what the table must have."""
        if self._allocated is None:
            self._api.ensure_offered(_STAGING_ENDPOINT)
            self._api.ensure_offered(f"POST {_TABLES_ENDPOINT}")
            path = (self._schema, "staging-tables")
            answer = self._api.change("POST", path, {"name": self._name}, self._subject).body
            identity, location = answer.get("table-id"), answer.get("location")
            if not isinstance(identity, str) or not identity or not isinstance(location, str):
                raise CorruptLogError(f"the catalog tells no id or no location of {self._subject}")
            ensure_location(location, self._subject)
            self._demands, self._must_have = _demands(answer, self._subject)
            self._allocated = identity, location
            if not location.startswith("file:"):
                self._lent = self._api.lent(answer.get("storage-credentials"), location, self._subject)
        return NewTableStore(open_place(self.uri, self), self._demands)

    def storage_options(self, *, writes: bool = True) -> Mapping[str, Any]:
        """Return the options of the store, with credentials that are renewed in time; they allow writing."""
        assert self._allocated is not None
        if self._lent is None or self._api.clock() >= self._lent[1]:
            path = (*DELTA, "staging-tables", self._allocated[0], "credentials")
            answer = self._api.client.get(path, {}, f"the credentials of {self._subject}")
            self._lent = self._api.lent(answer.get("storage-credentials"), self.uri, self._subject)
        return self._lent[0]

    def register(self) -> None:
        """Register version 0, which is there, as the table.

        Raises `FileExistsError` if there is a table of that name, `UnsupportedFeatureError` if version 0
        lacks what the catalog requires, and `CommitStateUnknownError` if it is unknown whether the table is
        registered.
        """
        assert self._allocated is not None
        identity, location = self._allocated
        snapshot = Snapshot.load(CatalogStore(open_place(location, self), RatifiedCommits([], 0)))
        has = {*snapshot.configuration, *map(_feature_property, supported_features(snapshot.protocol))}
        if lacking := sorted(self._must_have - has):
            raise UnsupportedFeatureError(
                f"{self._subject} lacks what the catalog requires: {', '.join(lacking)}",
                feature=", ".join(lacking),
            )
        body = _registration(self._name, "MANAGED", location, snapshot)
        for attempt in range(_ATTEMPTS):
            if attempt:
                time.sleep(self._api.client.retry_delay * 2**attempt)
            answer = self._api.change(
                "POST", (self._schema, "tables"), body, self._subject, handled={*LOST, 409}
            )
            if answer.status not in LOST and answer.status != 409:
                return
            # The answer may speak of this very registration, if it was sent before.
            table = UnityTable(self._api, self._schema, self._name)
            try:
                table.load()
            except TableNotFoundError:
                continue
            if table.identity == identity:
                return
            raise FileExistsError(f"{self._api.catalog}.{self._schema}.{self._name}")
        raise CommitStateUnknownError(
            f"it is not known whether {self._subject} is registered: {answer.told or answer.status}; look for"
            " it in the catalog before you create it again",
            version=0,
            transaction_id="",
        )


def _demands(answer: Mapping[str, Any], subject: str) -> tuple[Demands, frozenset[str]]:
    """What an allocated table must have and should have; and the names of all that it must have."""
    features = _features(answer.get("required-protocol"))
    listed = answer.get("required-properties")
    if features is None or not isinstance(listed, dict):
        raise CorruptLogError(f"the catalog does not tell what it requires of {subject}")
    required = {name: text for name, text in listed.items() if isinstance(text, str)}
    must_have = frozenset({*listed, *map(_feature_property, features)})
    suggested = answer.get("suggested-properties")
    should = {
        name: text
        for name, text in (suggested if isinstance(suggested, dict) else {}).items()
        if isinstance(text, str)  # others are generated with the feature that they belong to
    }
    return (
        Demands(
            {**dict.fromkeys(map(_feature_property, features), "supported"), **required},
            {
                **dict.fromkeys(
                    map(_feature_property, _features(answer.get("suggested-protocol")) or ()), "supported"
                ),
                **should,
            },
        ),
        must_have,
    )


def _features(protocol: object) -> list[str] | None:
    """The features of a protocol in an answer; None if it is none."""
    if not isinstance(protocol, dict):
        return None
    listed = [*(protocol.get("reader-features") or ()), *(protocol.get("writer-features") or ())]
    return list(dict.fromkeys(each for each in listed if isinstance(each, str)))


def _feature_property(feature: str) -> str:
    return f"{FEATURE_PREFIX}{feature}"


def register_external(api: UnityApi, schema: str, name: str, store: Store) -> None:
    """Register a table at a location of the user.

    Raises `VersionExistsError` if there is a table of that name, and the errors of opening the table.
    """
    subject = f"the table {api.catalog}.{schema}.{name}"
    api.ensure_offered(f"POST {_TABLES_ENDPOINT}")
    snapshot = Snapshot.load(store)
    location = Path(store.uri).as_uri() if store.is_local else registered_uri(TableLocation(store.uri))
    ensure_location(location, subject)
    api.change("POST", (schema, "tables"), _registration(name, "EXTERNAL", location, snapshot), subject)


def _registration(name: str, kind: str, location: str, snapshot: Snapshot) -> dict[str, Any]:
    metadata = snapshot.metadata
    body = {
        "name": name,
        "table-type": kind,
        "location": location,
        "columns": render_columns(metadata.schema_string),
        "partition-columns": list(metadata.partition_columns),
        "properties": dict(metadata.configuration),
        "protocol": render_protocol(snapshot.protocol),
        "last-commit-timestamp-ms": snapshot.timestamp_ms,
    }
    if metadata.description is not None:
        body["comment"] = metadata.description
    if domains := render_domains(list(snapshot.domains.values())):
        body["domain-metadata"] = domains
    return body
