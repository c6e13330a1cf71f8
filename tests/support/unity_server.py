"""A Unity Catalog server on loopback: its API for managed tables, held to `tests.support.unity_contract`.

It serves tables that were written by hand (`ManagedTable`), and tables that its clients create and commit to
(`HostedTable`). What a client sends and what the server answers is checked by the contract.
"""

import json
import re
import urllib.parse
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from typing import Any

from tests.support.managed_table import ManagedTable
from tests.support.serving import serving
from tests.support.unity_contract import faults_of

__all__ = ["KEY", "TOKEN", "HostedTable", "UnityServer", "unity_server"]

TOKEN = "token-that-nobody-may-see"
KEY = "key-that-nobody-may-see"
ROOT = "/api/2.1/unity-catalog"
_TABLES = "/v1/catalogs/{catalog}/schemas/{schema}/tables"
ENDPOINTS = [
    "POST /v1/catalogs/{catalog}/schemas/{schema}/staging-tables",
    f"POST {_TABLES}",
    f"GET {_TABLES}/{{table}}",
    f"POST {_TABLES}/{{table}}",
    f"DELETE {_TABLES}/{{table}}",
    f"GET {_TABLES}/{{table}}/credentials",
    f"POST {_TABLES}/{{table}}/metrics",
    f"POST {_TABLES}/{{table}}/rename",
    "GET /v1/staging-tables/{table_id}/credentials",
]
READER_FEATURES = ["catalogManaged", "deletionVectors", "v2Checkpoint", "vacuumProtocolCheck"]
REQUIRED_PROPERTIES = {
    "delta.checkpointPolicy": "v2",
    "delta.enableDeletionVectors": "true",
    "delta.enableInCommitTimestamps": "true",
    "delta.checkpoint.writeStatsAsStruct": "true",
    "delta.checkpoint.writeStatsAsJson": "true",
}
SUGGESTED_PROPERTIES = {
    "delta.columnMapping.mode": "name",
    "delta.columnMapping.maxColumnId": None,
    "delta.enableRowTracking": "true",
    "delta.rowTracking.materializedRowIdColumnName": None,
    "delta.rowTracking.materializedRowCommitVersionColumnName": None,
}
NO_COLUMNS = {"type": "struct", "fields": []}
_TIMES = {"created-time": 1, "updated-time": 1}

Answer = tuple[int, Any]


@dataclass
class HostedTable:
    """A table whose clients commit through the server.

    Attributes:
        identity: its id.
        location: the URI of its place.
        kind: ``MANAGED`` or ``EXTERNAL``.
        state: what the catalog keeps of it: columns, properties, protocol and so on.
        commits: the ratified commits that are not known to be published, by version.
        latest: its newest version.
        reports: the figures that were sent.
    """

    identity: str
    location: str
    kind: str = "MANAGED"
    state: dict[str, Any] = field(default_factory=dict)
    commits: dict[int, dict[str, Any]] = field(default_factory=dict)
    latest: int = 0
    published: int = 0
    reports: list[dict[str, Any]] = field(default_factory=list)

    @property
    def path(self) -> Path:
        """The folder of the table, if it is on this machine."""
        return Path(urllib.parse.unquote(self.location.removeprefix("file://")))


class UnityServer:
    """The catalog ``main`` with its tables.

    Attributes:
        tables: ``schema.table`` -> a table.
        staged: id -> (schema, name, location) of what was allocated.
        root: where new tables are, as a URI.
        most_unpublished: how many commits may wait to be published.
        extra: ``schema.table`` -> what replaces parts of the answer about it.
        old: ``schema.table`` -> type, format and location of a table that the older API knows alone.
        is_old: whether the server has no API for managed tables.
        credentials: the list of credentials of every table; if None, one of `KEY` for the place of the table.
        expires_ms: when that expires.
        operations: what credentials were asked for.
        config: the answer about the configuration.
        fault: an answer for a path instead of the true one, a text for a body, or None; asked per request.
        lost: whether the answer to a change is lost after the change was made; asked per request.
        paths: the paths that were asked for, without the root.
        after: runs after the answer about a table is made, before it is sent.
        violations: what clients or the server did against the contract.
    """

    def __init__(self) -> None:
        self.tables: dict[str, ManagedTable | HostedTable] = {}
        self.staged: dict[str, tuple[str, str, str]] = {}
        self.root = ""
        self.most_unpublished = 50
        self.extra: dict[str, dict[str, Any]] = {}
        self.old: dict[str, tuple[str, str, str]] = {}
        self.is_old = False
        self.credentials: list[dict[str, Any]] | None = []
        self.expires_ms = 1 << 60
        self.config: dict[str, Any] = {"endpoints": ENDPOINTS, "protocol-version": "1.0"}
        self.fault: Callable[[str], Answer | str | None] = lambda path: None
        self.lost: Callable[[str, Any], Answer | None] = lambda path, body: None
        self.after: Callable[[], None] = lambda: None
        self.paths: list[str] = []
        self.operations: list[str] = []
        self.violations: list[str] = []
        self._lock = Lock()
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                owner._handle(self, "GET")

            def do_POST(self) -> None:
                owner._handle(self, "POST")

            def do_DELETE(self) -> None:
                owner._handle(self, "DELETE")

            def log_message(self, *arguments: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def reset(self, root: Path) -> None:
        """Forget all tables and faults; new tables go below `root`."""
        self.tables, self.staged, self.extra, self.credentials = {}, {}, {}, []
        self.expires_ms = 1 << 60
        self.old, self.is_old = {}, False
        self.root, self.most_unpublished = f"file://{root}", 50
        self.config = {"endpoints": ENDPOINTS, "protocol-version": "1.0"}
        self.fault, self.lost, self.after = lambda path: None, lambda path, body: None, lambda: None
        self.paths.clear()
        self.operations.clear()
        self.violations.clear()

    def hosted(self, name: str) -> HostedTable:
        """A table that clients commit to."""
        found = self.tables[name]
        assert isinstance(found, HostedTable)
        return found

    def _handle(self, handler: BaseHTTPRequestHandler, method: str) -> None:
        url = urllib.parse.urlsplit(handler.path)
        path = url.path.removeprefix(ROOT)
        self.paths.append(path)
        length = int(handler.headers.get("Content-Length") or 0)
        asked = json.loads(handler.rfile.read(length)) if length else None
        fault = self.fault(path)
        if isinstance(fault, str):
            status, text = 200, fault
        elif fault is not None:
            status, text = fault[0], json.dumps(fault[1])
        else:
            status, found = self._true_answer(
                handler, method, path, dict(urllib.parse.parse_qsl(url.query)), asked
            )
            text = "" if found is None else json.dumps(found)
            if method != "GET" and (lost := self.lost(path, asked)) is not None:
                status, text = lost[0], json.dumps(lost[1])
        if status == 0:
            handler.close_connection = True
            return
        handler.send_response(status)
        if 300 <= status < 400:
            handler.send_header("Location", f"{self.url}/elsewhere")
        handler.send_header("Content-Length", str(len(text.encode())))
        handler.end_headers()
        handler.wfile.write(text.encode())

    def _true_answer(
        self, handler: BaseHTTPRequestHandler, method: str, path: str, query: dict[str, str], asked: Any
    ) -> Answer:
        if handler.headers.get("Authorization") != f"Bearer {TOKEN}":
            told = f"no such token: {handler.headers['Authorization']}"
            return _error(401, "UnauthenticatedException", told)
        with self._lock:
            status, found = self._answer(method, path, query, asked)
        parts = [urllib.parse.unquote(each) for each in path.strip("/").split("/")]
        if parts[:2] == ["delta", "v1"] and not self.extra:
            endpoint = _endpoint(parts[2:])
            self.violations += faults_of(method, endpoint, query, asked, status, found)
        return status, found

    def _answer(self, method: str, path: str, query: dict[str, str], asked: Any) -> Answer:
        match [urllib.parse.unquote(each) for each in path.strip("/").split("/")]:
            case ["delta", "v1", "config"] if self.is_old:
                return _error(404, "NotFoundException", path)
            case ["delta", "v1", "config"]:
                if query.get("catalog") != "main":
                    return _error(404, "NoSuchCatalogException", f"no catalog {query.get('catalog')}")
                return 200, self.config
            case ["delta", "v1", "catalogs", other, *_] if other != "main":
                return _error(404, "NoSuchCatalogException", f"no catalog {other}")
            case ["schemas" | "tables"] if query.get("catalog_name") != "main":
                told = f"no catalog {query.get('catalog_name')}"
                return 404, {"error_code": "CATALOG_NOT_FOUND", "message": told}
            case ["schemas"]:
                # A page for each schema.
                schemas = sorted({name.partition(".")[0] for name in self.tables} | {"shop"})
                place = int(query.get("page_token", "0"))
                more = {"next_page_token": str(place + 1)} if place + 1 < len(schemas) else {}
                return 200, {"schemas": [{"name": schemas[place]}], **more}
            case ["tables", full] if (name := full.removeprefix("main.")) in self.old:
                kind, form, location = self.old[name]
                told = {"table_type": kind, "data_source_format": form, "storage_location": location}
                return 200, {**told, "name": name.split(".")[1], "table_id": f"id of {name}"}
            case ["temporary-table-credentials"]:
                name = asked["table_id"].removeprefix("id of ")
                self.operations.append(asked["operation"])
                config = self._credentials(self.old[name][2], asked["operation"])[0]["config"]
                keys = {key.partition(".")[2].replace("-", "_"): text for key, text in config.items()}
                return 200, {"aws_temp_credentials": keys, "expiration_time": self.expires_ms}
            case ["tables"]:
                names = [name.split(".")[1] for name in self.tables if name.startswith(query["schema_name"])]
                listed = [{"name": name, "data_source_format": "DELTA"} for name in names]
                return 200, {"tables": [*listed, {"name": "csv", "data_source_format": "CSV"}]}
            case ["delta", "v1", "staging-tables", identity, "credentials"]:
                if identity not in self.staged:
                    return _error(404, "NoSuchTableException", f"no staging table {identity}")
                return 200, {"storage-credentials": self._credentials(self.staged[identity][2], "READ_WRITE")}
            case ["delta", "v1", "catalogs", "main", "schemas", schema, "staging-tables"]:
                return self._stage(schema, asked["name"])
            case ["delta", "v1", "catalogs", "main", "schemas", schema, "tables"]:
                return self._create(schema, asked)
            case ["delta", "v1", "catalogs", "main", "schemas", schema, "tables", table, *rest]:
                name = f"{schema}.{table}"
                if name not in self.tables:
                    return _error(404, "NoSuchTableException", f"no table {name}")
                if rest == ["credentials"]:
                    self.operations.append(query["operation"])
                    return 200, {
                        "storage-credentials": self._credentials(self._location(name), query["operation"])
                    }
                if rest == ["rename"]:
                    self.tables[f"{schema}.{asked['new-name']}"] = self.tables.pop(name)
                    return 204, None
                if rest == ["metrics"]:
                    return self._note(name, asked)
                if method == "DELETE":
                    del self.tables[name]
                    return 204, None
                if method == "POST":
                    return self._update(name, asked)
                answer = self._table(name)
                self.after()
                return 200, answer
        return _error(404, "NotFoundException", path)

    # --- creating ---

    def _stage(self, schema: str, name: str) -> Answer:
        if f"{schema}.{name}" in self.tables:
            return _error(409, "AlreadyExistsException", f"there is a table {name}")
        identity = str(uuid.uuid4())
        location = f"{self.root}/{identity}"
        self.staged[identity] = schema, name, location
        return 200, {
            "table-id": identity,
            "table-type": "MANAGED",
            "location": location,
            "storage-credentials": self._credentials(location, "READ_WRITE"),
            "required-protocol": {
                "min-reader-version": 3,
                "min-writer-version": 7,
                "reader-features": READER_FEATURES,
                "writer-features": [*READER_FEATURES, "inCommitTimestamp"],
            },
            "suggested-protocol": {
                "reader-features": ["columnMapping"],
                "writer-features": ["columnMapping", "domainMetadata", "rowTracking", "fromTheFuture"],
            },
            "required-properties": {**REQUIRED_PROPERTIES, "io.unitycatalog.tableId": identity},
            "suggested-properties": {**SUGGESTED_PROPERTIES, "delta.fromTheFuture": "1"},
        }

    def _create(self, schema: str, asked: dict[str, Any]) -> Answer:
        name = f"{schema}.{asked['name']}"
        if name in self.tables:
            return _error(409, "AlreadyExistsException", f"there is a table {name}")
        state = {key: asked[key] for key in asked.keys() - {"name", "table-type", "location"}}
        if asked["table-type"] == "EXTERNAL":
            self.tables[name] = HostedTable(str(uuid.uuid4()), asked["location"], "EXTERNAL", state)
            return 200, self._table(name)
        found = [
            key for key, each in self.staged.items() if each == (schema, asked["name"], asked["location"])
        ]
        if not found:
            return _error(404, "NoSuchTableException", "no such staging table")
        if fault := _unmanaged(found[0], asked["properties"], asked["protocol"]):
            return _error(400, "InvalidParameterValueException", fault)
        del self.staged[found[0]]
        self.tables[name] = HostedTable(found[0], asked["location"], "MANAGED", state)
        return 200, self._table(name)

    # --- committing ---

    def _update(self, name: str, asked: dict[str, Any]) -> Answer:
        table = self.hosted(name)
        required = {each["type"]: each for each in asked["requirements"]}
        if required["assert-table-uuid"]["uuid"] != table.identity:
            return _error(409, "UpdateRequirementConflictException", "another table")
        actions = {each["action"]: each for each in asked["updates"]}
        state = json.loads(json.dumps(table.state))
        for each in actions.values():
            _apply(each, state)
        if fault := _unmanaged(table.identity, state["properties"], state["protocol"]):
            return _error(400, "InvalidParameterValueException", fault)
        if (added := actions.get("add-commit")) is not None:
            commit = added["commit"]
            if commit["version"] != table.latest + 1:
                return _error(409, "CommitVersionConflictException", f"the table is at {table.latest}")
            if len(table.commits) >= self.most_unpublished:
                return _error(429, "ResourceExhaustedException", "publish first")
            table.commits[commit["version"]] = commit
            table.latest = commit["version"]
        table.state = state
        if (noted := actions.get("set-latest-backfilled-version")) is not None:
            version = noted["latest-published-version"]
            log = table.path / "_delta_log"
            for each in range(version + 1) if table.location.startswith("file:") else ():
                if not (log / f"{each:020d}.json").exists():
                    self.violations.append(f"version {each} is noted as published and is not")
            table.published = version
            table.commits = {key: each for key, each in table.commits.items() if key > version}
        return 200, self._table(name)

    def _note(self, name: str, asked: dict[str, Any]) -> Answer:
        if asked["table-id"] != self.hosted(name).identity:
            return _error(400, "InvalidParameterValueException", "another table")
        self.hosted(name).reports.append(asked["report"]["commit-report"])
        return 204, None

    # --- telling ---

    def _location(self, name: str) -> str:
        table = self.tables[name]
        told = self.extra.get(name, {}).get("metadata", {}).get("location")
        return told or (table.location if isinstance(table, HostedTable) else f"file://{table.path}")

    def _credentials(self, location: str, operation: str) -> list[dict[str, Any]]:
        if self.credentials is not None:
            return [{**each, "operation": operation} for each in self.credentials]
        config = {
            "s3.access-key-id": "id",
            "s3.secret-access-key": f"{KEY}-{operation}",
            "s3.session-token": f"{KEY}-session",
        }
        lent = {"prefix": location, "operation": operation, "expiration-time-ms": self.expires_ms}
        return [{**lent, "config": config}]

    def _table(self, name: str) -> dict[str, Any]:
        table = self.tables[name]
        if isinstance(table, HostedTable):
            commits = [table.commits[version] for version in sorted(table.commits, reverse=True)]
            latest, kind, identity = table.latest, table.kind, table.identity
            kept = {"columns": table.state["columns"], "properties": table.state["properties"]}
        else:
            commits = [
                {
                    "version": version,
                    "timestamp": 1,
                    "file-name": commit.staged_file,
                    "file-size": 1,
                    "file-modification-timestamp": 1,
                }
                for version, commit in sorted(table.ratified.items(), reverse=True)
            ]
            latest, kind, identity = table.version, "MANAGED", str(uuid.uuid5(uuid.NAMESPACE_URL, name))
            kept = {"columns": NO_COLUMNS, "properties": {"delta.feature.catalogManaged": "supported"}}
        metadata = {
            "etag": "e",
            "table-type": kind,
            "table-uuid": identity,
            "location": self._location(name),
            **_TIMES,
            **kept,
        }
        extra = self.extra.get(name, {})
        managed = {"commits": commits, "latest-table-version": latest} if kind == "MANAGED" else {}
        answer = {**managed, **extra}
        return {**answer, "metadata": {**metadata, **extra.get("metadata", {})}}


def _endpoint(parts: list[str]) -> str:
    """The path of a request without its names."""
    text = "/".join(parts)
    text = re.sub(r"^catalogs/[^/]+/schemas/[^/]+/", "", text)
    text = re.sub(r"^staging-tables/[^/]+/", "staging-tables/", text)
    return re.sub(r"^tables/[^/]+", "tables/{table}", text)


def _apply(update: dict[str, Any], state: dict[str, Any]) -> None:
    """What a change of metadata makes of what the catalog keeps."""
    match update:
        case {"action": "set-properties", "updates": updates}:
            state["properties"].update(updates)
        case {"action": "remove-properties", "removals": removals}:
            for name in removals:
                del state["properties"][name]
        case {"action": "set-protocol", "protocol": protocol}:
            state["protocol"] = protocol
        case {"action": "set-columns", "columns": columns}:
            state["columns"] = columns
        case {"action": "set-partition-columns", "partition-columns": names}:
            state["partition-columns"] = names
        case {"action": "set-table-comment", "comment": comment}:
            state["comment"] = comment
        case {"action": "set-domain-metadata", "updates": updates}:
            state.setdefault("domain-metadata", {}).update(updates)
        case {"action": "remove-domain-metadata", "domains": domains}:
            for name in domains:
                state.get("domain-metadata", {}).pop(name, None)


def _unmanaged(identity: str, properties: dict[str, str], protocol: dict[str, Any]) -> str | None:
    """What a managed table lacks of what the server requires of it."""
    required = {**REQUIRED_PROPERTIES, "io.unitycatalog.tableId": identity}
    for name, text in required.items():
        if properties.get(name) != text:
            return f"{name} must be {text}"
    lacking = {*READER_FEATURES, "inCommitTimestamp"} - set(protocol.get("writer-features", ()))
    lacking |= set(READER_FEATURES) - set(protocol.get("reader-features", ()))
    return f"the protocol lacks {lacking}" if lacking else None


def _error(status: int, kind: str, message: str) -> Answer:
    return status, {"error": {"type": kind, "code": status, "message": message}}


@contextmanager
def unity_server() -> Iterator[UnityServer]:
    """Serve while the block runs."""
    unity = UnityServer()
    with serving(unity.server):
        yield unity
