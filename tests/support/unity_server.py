"""A Unity Catalog server on loopback: the reading part of its API for managed tables, over tables by hand."""

import json
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from tests.support.managed_table import ManagedTable

__all__ = ["TOKEN", "UnityServer", "unity_server"]

TOKEN = "token-that-nobody-may-see"
ROOT = "/api/2.1/unity-catalog"
ENDPOINTS = [
    "GET /v1/catalogs/{catalog}/schemas/{schema}/tables/{table}",
    "GET /v1/catalogs/{catalog}/schemas/{schema}/tables/{table}/credentials",
]

Answer = tuple[int, Any]


class UnityServer:
    """The catalog ``main`` with its tables.

    Attributes:
        tables: ``schema.table`` -> a table.
        extra: ``schema.table`` -> what replaces parts of the answer about it.
        credentials: the list of credentials of every table.
        config: the answer about the configuration.
        fault: an answer for a path instead of the true one, a text for a body, or None; asked per request.
        paths: the paths that were asked for, without the root.
        after: runs after the answer about a table is made, before it is sent.
    """

    def __init__(self) -> None:
        self.tables: dict[str, ManagedTable] = {}
        self.extra: dict[str, dict[str, Any]] = {}
        self.credentials: list[dict[str, Any]] = []
        self.config: dict[str, Any] = {"endpoints": ENDPOINTS, "protocol-version": "1.0"}
        self.fault: Callable[[str], Answer | str | None] = lambda path: None
        self.after: Callable[[], None] = lambda: None
        self.paths: list[str] = []
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                owner._handle(self)

            def log_message(self, *arguments: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def _handle(self, handler: BaseHTTPRequestHandler) -> None:
        url = urllib.parse.urlsplit(handler.path)
        path = url.path.removeprefix(ROOT)
        self.paths.append(path)
        fault = self.fault(path)
        if isinstance(fault, str):
            status, body = 200, fault
        else:
            is_known = handler.headers.get("Authorization") == f"Bearer {TOKEN}"
            refused = _error(
                401, "UnauthenticatedException", f"no such token: {handler.headers['Authorization']}"
            )
            query = dict(urllib.parse.parse_qsl(url.query))
            status, found = fault or (self._answer(path, query) if is_known else refused)
            body = json.dumps(found)
        if status == 0:
            handler.close_connection = True
            return
        handler.send_response(status)
        if 300 <= status < 400:
            handler.send_header("Location", f"{self.url}/elsewhere")
        handler.send_header("Content-Length", str(len(body.encode())))
        handler.end_headers()
        handler.wfile.write(body.encode())

    def _answer(self, path: str, query: dict[str, str]) -> Answer:
        match [urllib.parse.unquote(each) for each in path.strip("/").split("/")]:
            case ["delta", "v1", "config"]:
                assert query == {"catalog": "main", "protocol-versions": "1.0"}
                return 200, self.config
            case ["schemas"]:
                # A page for each schema.
                schemas = sorted({name.partition(".")[0] for name in self.tables})
                place = int(query.get("page_token", "0"))
                more = {"next_page_token": str(place + 1)} if place + 1 < len(schemas) else {}
                return 200, {"schemas": [{"name": schemas[place]}], **more}
            case ["tables"]:
                names = [name.split(".")[1] for name in self.tables if name.startswith(query["schema_name"])]
                listed = [{"name": name, "data_source_format": "DELTA"} for name in names]
                return 200, {"tables": [*listed, {"name": "csv", "data_source_format": "CSV"}]}
            case ["delta", "v1", "catalogs", "main", "schemas", schema, "tables", table, *rest]:
                name = f"{schema}.{table}"
                if name not in self.tables:
                    return _error(404, "NoSuchTableException", f"no table {name}")
                if rest == ["credentials"]:
                    assert query == {"operation": "READ"}
                    return 200, {"storage-credentials": self.credentials}
                answer = self._table(name)
                self.after()
                return 200, answer
        return _error(404, "NotFound", path)

    def _table(self, name: str) -> dict[str, Any]:
        table = self.tables[name]
        commits = [
            {"version": version, "timestamp": 1, "file-name": commit.staged_file, "file-size": 1}
            for version, commit in sorted(table.ratified.items(), reverse=True)
        ]
        metadata = {
            "etag": "e",
            "table-type": "MANAGED",
            "table-uuid": f"id of {name}",
            "location": f"file://{table.path}",
            "properties": {"delta.feature.catalogManaged": "supported"},
        }
        extra = self.extra.get(name, {})
        answer = {"commits": commits, "latest-table-version": table.version, **extra}
        return {**answer, "metadata": {**metadata, **extra.get("metadata", {})}}


def _error(status: int, kind: str, message: str) -> Answer:
    return status, {"error": {"type": kind, "code": status, "message": message}}


@contextmanager
def unity_server() -> Iterator[UnityServer]:
    """Serve while the block runs."""
    unity = UnityServer()
    thread = Thread(target=unity.server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield unity
    finally:
        unity.server.shutdown()
        unity.server.server_close()
        thread.join()
