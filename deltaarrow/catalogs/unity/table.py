"""One table of Unity Catalog: its location, its commits, its credentials, and commits to it.

1. Each listing of the log requests the table from the catalog: its location and id, its unpublished commits,
   and its latest version, beyond which nothing is read.
2. The catalog lends credentials for reading, and for writing from the first write on. They are renewed before
   they expire.
3. A commit is proposed together with its changes of the schema, the properties, the protocol and the domains,
   because the catalog stores these too.
"""

import logging
from collections.abc import Mapping
from typing import Any

from deltaarrow.actions import Metadata, Protocol
from deltaarrow.catalogs.lent_store import Lender, LentStore
from deltaarrow.catalogs.unity.api import EXTERNAL_OF_OLD, TABLE_ENDPOINT, UnityApi, ensure_location
from deltaarrow.catalogs.unity.commit_json import commit_report, table_updates
from deltaarrow.catalogs.web_requests import is_whole
from deltaarrow.errors import (
    CorruptLogError,
    DeltaError,
    StorageError,
    TableNotFoundError,
    UnsupportedFeatureError,
)
from deltaarrow.features import is_supported, properties
from deltaarrow.log import CatalogStore, ProposedCommit, RatifiedCommit, RatifiedCommits, Refusal
from deltaarrow.schema.metadata_keys import UNITY_TABLE_ID
from deltaarrow.storage import Store, open_store

__all__ = ["LOST", "UnityTable", "open_place"]

_LOGGER = logging.getLogger(__name__)
LOST = frozenset({0, *range(500, 600)})
"""The statuses of answers after which nobody knows what the server has done; 0 is no answer."""

_HELD_FEATURES = (
    "catalogManaged",
    "deletionVectors",
    "inCommitTimestamp",
    "v2Checkpoint",
    "vacuumProtocolCheck",
)
_HELD_PROPERTIES = (
    UNITY_TABLE_ID,
    properties.CHECKPOINT_POLICY.name,
    properties.CHECKPOINT_WRITE_STATS_AS_JSON.name,
    properties.CHECKPOINT_WRITE_STATS_AS_STRUCT.name,
    properties.ENABLE_DELETION_VECTORS.name,
    properties.ENABLE_IN_COMMIT_TIMESTAMPS.name,
)
"""What a managed table has from its creation on, and keeps."""


def open_place(uri: str, lender: Lender) -> Store:
    """Return the store of a location from a catalog; `lender` provides its credentials."""
    return open_store(uri) if uri.startswith("file:") else LentStore(uri, lender)


class UnityTable:
    """A table: the catalog of its commits if it is a managed one, and the lender of its credentials.

    It pickles without credentials. Two are equal if they are one table of one server.
    """

    def __init__(
        self, api: UnityApi, schema: str, name: str, identity: tuple[str, str, str] | None = None
    ) -> None:
        self._api = api
        self._path = (schema, "tables", name)
        self._subject = f"the table {api.catalog}.{schema}.{name}"
        self._identity = identity
        self._lent: dict[bool, tuple[Mapping[str, Any], int]] = {}

    def __repr__(self) -> str:
        return f"<{self._subject} of {self._api.client.url}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnityTable) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[object, ...]:
        return *self._api.key, self._path, self._identity

    def __reduce__(self) -> tuple[object, ...]:
        schema, _, name = self._path
        return UnityTable, (self._api, schema, name, self._identity)

    @property
    def uri(self) -> str:
        """The location of the table; call `load` first."""
        assert self._identity is not None
        return self._identity[1]

    @property
    def identity(self) -> str:
        """The id of the table in its catalog; `load` has to be called before."""
        assert self._identity is not None
        return self._identity[0]

    @property
    def is_managed(self) -> bool:
        """Whether the catalog manages the table, and so its commits; `load` has to be called before."""
        assert self._identity is not None
        return self._identity[2] == "MANAGED"

    @property
    def allows_maintenance(self) -> bool:
        """Whether the operators of the catalog let clients compact, vacuum and clean up its tables."""
        return self._api.allows_maintenance

    def open(self) -> Store:
        """Return the store of the table; the log of a managed one is as the catalog says."""
        store = open_place(self.uri, self)
        return CatalogStore(store, self) if self.is_managed else store

    def load(self) -> dict[str, Any]:
        """Return what the catalog says of the table, which must be the one that it was before."""
        schema, _, name = self._path
        if self._identity is not None and self._identity[2] == EXTERNAL_OF_OLD:
            return self._noted(self._api.external_table(schema, name, self._subject))
        served = self._api.served_table(self._path, self._subject)
        return self._noted(served or self._api.external_table(schema, name, self._subject))

    def _noted(self, answer: dict[str, Any]) -> dict[str, Any]:
        """An answer about the table, which must be the one that it was before."""
        identity = self._identified(answer)
        if self._identity is None:
            self._identity = identity
        elif self._identity != identity:
            raise TableNotFoundError(
                f"{self._subject} was replaced by another table of the same name; open it again"
            )
        return answer

    def _identified(self, answer: Mapping[str, Any]) -> tuple[str, str, str]:
        """The id, the location (in a known store) and the kind of the table."""
        metadata = answer.get("metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        identity, location = metadata.get("table-uuid"), metadata.get("location")
        if not isinstance(identity, str) or not identity or not isinstance(location, str):
            raise CorruptLogError(f"the catalog tells no id or no location of {self._subject}")
        ensure_location(location, self._subject)
        kind = metadata.get("table-type")
        if kind not in ("MANAGED", "EXTERNAL", EXTERNAL_OF_OLD):
            raise UnsupportedFeatureError(
                f"{self._subject} is of the type {kind!r}, and MANAGED and EXTERNAL ones are known",
                feature="Unity Catalog",
            )
        return identity, location, kind

    # --- the catalog of its commits ---

    def ratified_commits(self, start_version: int = 0) -> RatifiedCommits:
        """Ask the catalog for its commits, and for the latest version."""
        return self._told(self.load(), start_version)

    def _told(self, answer: Mapping[str, Any], start_version: int = 0) -> RatifiedCommits:
        """The commits in a response."""
        commits, latest = answer.get("commits"), answer.get("latest-table-version")
        if not is_whole(latest) or not isinstance(commits, list):
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

    def ratify(self, proposal: ProposedCommit) -> RatifiedCommits | Refusal:
        """Propose a commit, with what it changes of what the catalog keeps beside the log.

        Raises `UnsupportedFeatureError` for a change that a managed table cannot take, `TableNotFoundError`
        if the name is that of another table by now, and the errors of the server.
        """
        self._ensure_stays_managed(proposal)
        commit = {
            "version": proposal.version,
            "timestamp": proposal.timestamp_ms,
            "file-name": proposal.file_name,
            "file-size": proposal.size,
            "file-modification-timestamp": proposal.modified_ms,
        }
        updates = table_updates(proposal.protocol, proposal.metadata, proposal.actions)
        subject = f"version {proposal.version} of {self._subject}"
        body = self._update([*updates, {"action": "add-commit", "commit": commit}])
        answer = self._api.change("POST", self._path, body, subject, handled={*LOST, 409, 429})
        if answer.status == 409 and answer.kind.startswith("UpdateRequirementConflict"):
            raise TableNotFoundError(
                f"{self._subject} was replaced by another table of the same name; open it again"
            )
        if answer.status == 409:
            return Refusal.TAKEN
        if answer.status == 429 and answer.kind.startswith("ResourceExhausted"):
            return Refusal.FULL
        if answer.status == 429:
            raise StorageError(f"the catalog is busy, asked for {subject}: {answer.told}; try again later")
        try:
            said = self._told(self._noted(answer.body))
        except DeltaError:
            return Refusal.UNKNOWN
        self._report(proposal)
        return said

    def _update(self, updates: list[dict[str, Any]]) -> dict[str, Any]:
        """The body of a request that changes the table, and no other of its name."""
        return {"requirements": [{"type": "assert-table-uuid", "uuid": self.identity}], "updates": updates}

    def note_published(self, version: int) -> None:
        """Report to the catalog that all commits up to a version are published."""
        update = {"action": "set-latest-backfilled-version", "latest-published-version": version}
        subject = f"what is published of {self._subject}"
        self._api.change("POST", self._path, self._update([update]), subject)

    def _report(self, proposal: ProposedCommit) -> None:
        """Send the figures of a commit, which nothing depends on."""
        try:
            if f"POST {TABLE_ENDPOINT}/metrics" in self._api.endpoints():
                body = {
                    "table-id": self.identity,
                    "report": {"commit-report": commit_report(proposal.actions)},
                }
                self._api.change("POST", (*self._path, "metrics"), body, f"the figures of {self._subject}")
        except DeltaError:
            _LOGGER.debug("the figures of version %d are not sent", proposal.version, exc_info=True)

    def _ensure_stays_managed(self, proposal: ProposedCommit) -> None:
        """Raise for a change of what the catalog requires of every version of the table."""
        protocol, metadata = proposal.protocol, proposal.metadata
        configuration = metadata.configuration
        for action in proposal.actions:
            if isinstance(action, Protocol):
                for name in _HELD_FEATURES:
                    if is_supported(protocol, name) and not is_supported(action, name):
                        self._refuse(f"lose the table feature {name}", name)
            elif isinstance(action, Metadata):
                configuration = action.configuration
                for name in _HELD_PROPERTIES:
                    held = metadata.configuration.get(name)
                    if held is not None and configuration.get(name) != held:
                        self._refuse(f"change the property {name}", name)
        if properties.UNIVERSAL_FORMAT_ENABLED_FORMATS.parse(configuration):
            self._refuse("be committed to while it has Iceberg metadata (UniForm)", "universalFormat")

    def _refuse(self, what: str, feature: str) -> None:
        raise UnsupportedFeatureError(
            f"{self._subject} cannot {what}: the catalog manages it and requires otherwise", feature=feature
        )

    # --- the lender of its credentials ---

    def storage_options(self, *, writes: bool = False) -> Mapping[str, Any]:
        """Return the options of the store, with credentials that are renewed in time."""
        lent = self._lent.get(writes)
        if lent is None or self._api.clock() >= lent[1]:
            subject = f"the credentials of {self._subject}"
            operation = "READ_WRITE" if writes else "READ"
            listed: object
            if self._identity is not None and self._identity[2] == EXTERNAL_OF_OLD:
                listed = self._api.credentials_of_old(self.identity, self.uri, operation, subject)
            else:
                answer = self._api.table((*self._path, "credentials"), {"operation": operation}, subject)
                listed = answer.get("storage-credentials")
            lent = self._lent[writes] = self._api.lent(listed, self.uri, self._subject)
        return lent[0]


def _version(commit: object) -> int:
    version = commit.get("version") if isinstance(commit, dict) else None
    if not is_whole(version):
        raise ValueError("a commit has no version")
    return version


def _text(commit: Mapping[str, Any], key: str) -> str:
    text = commit.get(key)
    if not isinstance(text, str):
        raise ValueError(f"a commit has no {key}")
    return text
