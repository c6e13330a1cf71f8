"""A Delta Sharing server on loopback, which shares Delta tables of this machine.

It reads the JSON commits of a table itself, signs addresses of its own that expire, and checks what clients
send and what it answers by `tests.support.sharing_contract`. It follows JSON hints to the letter: a file
whose partition values contradict a hint is left out.
"""

import base64
import datetime
import hashlib
import json
import re
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.support.serving import serving
from tests.support.sharing_contract import faults_of

__all__ = ["PASSWORD", "SIGNATURE", "TOKEN", "SharedFolder", "SharingServer", "holds", "sharing_server"]

TOKEN = "bearer-that-nobody-may-see"
PASSWORD = "password-that-nobody-may-see"
SIGNATURE = "signature-that-nobody-may-see"
_PREFIX = "/delta-sharing"
_Z85 = {
    letter: number
    for number, letter in enumerate(
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
    )
}

Answer = tuple[int, dict[str, str], bytes]


@dataclass
class SharedFolder:
    """A table of this machine that is shared.

    Attributes:
        path: its folder.
        formats: the formats in which it may be told, the preferred one first.
        has_history: whether versions before the newest are told.
    """

    path: Path
    formats: tuple[str, ...] = ("delta",)
    has_history: bool = True


@dataclass
class _Version:
    number: int
    time: int
    protocol: dict[str, Any]
    metadata: dict[str, Any]
    adds: list[dict[str, Any]]


class SharingServer:
    """The shares with their tables.

    Attributes:
        tables: ``share.schema.table`` -> what is shared.
        page: how many names a list has on a page.
        files_of_page: how many files an answer has; None for all.
        is_modern: whether the server knows capabilities.
        lifetime_ms: how long an address is valid.
        now_ms: the time of the server.
        gives_refresh_tokens: whether answers have one.
        fault: an answer for a path and a query number instead of the true one, or None; asked per request.
        refused_downloads: how many downloads are refused as if expired, however new the address is.
        accepts: the headers ``Authorization`` that are taken.
        paths: the paths that were asked for, without the prefix, with their queries.
        bodies: the bodies of the queries.
        capabilities: the capabilities that clients sent.
        downloads: (path, range) of the files that were read.
        violations: what clients or the server did against the contract.
    """

    def __init__(self) -> None:
        self.tables: dict[str, SharedFolder] = {}
        self.url = ""
        self.page = 2
        self.files_of_page: int | None = None
        self.is_modern = True
        self.lifetime_ms = 3_600_000
        self.now_ms = 1_700_000_000_000
        self.gives_refresh_tokens = False
        self.fault: Callable[[str], Answer | None] = lambda path: None
        self.refused_downloads = 0
        self.accepts = {f"Bearer {TOKEN}"}
        self.tokens_given = 0
        self.paths: list[str] = []
        self.bodies: list[dict[str, Any]] = []
        self.capabilities: list[str] = []
        self.downloads: list[tuple[str, str]] = []
        self.violations: list[str] = []

    # --- what is asked for ------------------------------------------------------------------------

    def profile(self, **more: Any) -> dict[str, Any]:
        """Return the profile of a recipient."""
        return {
            "shareCredentialsVersion": 1,
            "endpoint": f"{self.url}{_PREFIX}/",
            "bearerToken": TOKEN,
            **more,
        }

    def answer(self, method: str, target: str, headers: Any, body: bytes) -> Answer:
        parts = urllib.parse.urlsplit(target)
        query = dict(urllib.parse.parse_qsl(parts.query))
        if parts.path == "/token":
            return self._token(headers, dict(urllib.parse.parse_qsl(body.decode())))
        if parts.path.startswith("/data/"):
            return self._data(parts.path.removeprefix("/data/"), query, headers.get("Range", ""))
        path = parts.path.removeprefix(_PREFIX)
        self.paths.append(path + (f"?{parts.query}" if parts.query else ""))
        fault = self.fault(path)
        if fault is not None:
            return fault
        if headers.get("Authorization") not in self.accepts:
            return self._error(401, "UNAUTHENTICATED", "who are you?")
        return self._asked(
            method, [urllib.parse.unquote(each) for each in path.split("/")[1:]], query, headers, body
        )

    def _asked(
        self, method: str, path: list[str], query: dict[str, str], headers: Any, body: bytes
    ) -> Answer:
        names = [name.split(".") for name in self.tables]
        match path:
            case ["shares"]:
                return self._list("shares", [{"name": each} for each in {name[0] for name in names}], query)
            case ["shares", share, "schemas"]:
                found = {name[1] for name in names if name[0] == share}
                return self._list("schemas", [{"name": each, "share": share} for each in found], query)
            case ["shares", share, "schemas", schema, "tables"]:
                found = {name[2] for name in names if name[:2] == [share, schema]}
                items = [{"name": each, "schema": schema, "share": share} for each in found]
                return self._list("tables", items, query)
            case ["shares", share, "schemas", schema, "tables", table, what]:
                shared = self.tables.get(f"{share}.{schema}.{table}")
                if shared is None:
                    return self._error(404, "RESOURCE_DOES_NOT_EXIST", f"no {table}")
                return self._of_table(method, shared, what, headers, body)
        return self._error(404, "RESOURCE_DOES_NOT_EXIST", "no such thing")

    def _of_table(self, method: str, shared: SharedFolder, what: str, headers: Any, body: bytes) -> Answer:
        versions = _versions(shared.path)
        newest = versions[-1]
        if (method, what) == ("GET", "version"):
            return 200, {"Delta-Table-Version": str(newest.number)}, b""
        asked = headers.get("delta-sharing-capabilities", "") if self.is_modern else ""
        self.capabilities.append(asked)
        wanted = dict(each.partition("=")[::2] for each in asked.split(";"))
        accepted = wanted.get("responseformat", "parquet").split(",")
        form = next((each for each in shared.formats if each in accepted), None)
        unknown = {each.lower() for each in newest.protocol.get("readerFeatures", [])} - {
            *wanted.get("readerfeatures", "").split(",")
        }
        if form is None or (form == "delta" and unknown):
            return self._error(400, "INVALID_PARAMETER_VALUE", f"the client cannot read {sorted(unknown)}")
        found, request = newest, {}
        if (method, what) == ("POST", "query"):
            request = json.loads(body)
            self.bodies.append(request)
            self._check("query", request)
            if "refreshToken" in request:
                if not self.gives_refresh_tokens:
                    return self._error(400, "INVALID_PARAMETER_VALUE", "no refresh tokens here")
                request = json.loads(base64.b64decode(request["refreshToken"]))
                found = versions[request["pinned"]]
            elif "version" in request or "timestamp" in request:
                if not shared.has_history:
                    return self._error(400, "INVALID_PARAMETER_VALUE", "history is not shared")
                chosen = [
                    each
                    for each in versions
                    if each.number == request.get("version") or each.time <= _time(request.get("timestamp"))
                ]
                if not chosen:
                    return self._error(400, "INVALID_PARAMETER_VALUE", "no such version")
                found = chosen[-1]
        elif (method, what) != ("GET", "metadata"):
            return self._error(404, "RESOURCE_DOES_NOT_EXIST", what)
        lines = self._lines(shared, found, form, request, has_files=what == "query")
        has_end = wanted.get("includeendstreamaction") == "true"
        lines = lines if has_end else lines[:-1]
        self._check(form, lines)
        told = {
            "Delta-Table-Version": str(found.number),
            "Content-Type": "application/x-ndjson; charset=utf-8",
        }
        if self.is_modern:
            told["delta-sharing-capabilities"] = f"responseformat={form}" + (
                ";includeendstreamaction=true" if has_end else ""
            )
        return 200, told, b"\n".join(json.dumps(line).encode() for line in lines) + b"\n"

    def _lines(
        self, shared: SharedFolder, found: _Version, form: str, request: dict[str, Any], *, has_files: bool
    ) -> list[dict[str, Any]]:
        expires = self.now_ms + self.lifetime_ms
        metadata = {key: value for key, value in found.metadata.items() if key != "createdTime"}
        if form == "delta":
            lines = [
                {"protocol": {"deltaProtocol": found.protocol}},
                {"metaData": {"deltaMetadata": metadata}},
            ]
        else:
            lines = [{"protocol": {"minReaderVersion": 1}}, {"metaData": metadata}]
        end: dict[str, Any] = {"minUrlExpirationTimestamp": expires}
        if has_files:
            hint = json.loads(request.get("jsonPredicateHints", "null"))
            if hint is not None:
                self._check("hint", hint)
            adds = [each for each in found.adds if hint is None or holds(hint, each["partitionValues"])]
            if "limitHint" in request:
                adds = _first(adds, request["limitHint"])
            first = int(request.get("pageToken", 0))
            last = len(adds) if self.files_of_page is None else first + self.files_of_page
            lines += [{"file": self._file(shared, add, form, expires)} for add in adds[first:last]]
            if last < len(adds):
                end["nextPageToken"] = str(last)
            if self.gives_refresh_tokens and request.get("includeRefreshToken"):
                kept = {**request, "pinned": found.number}
                end["refreshToken"] = base64.b64encode(json.dumps(kept).encode()).decode()
        return [*lines, {"endStreamAction": end}]

    def _file(self, shared: SharedFolder, add: dict[str, Any], form: str, expires: int) -> dict[str, Any]:
        path = urllib.parse.unquote(add["path"])
        url, identity = self._signed(shared.path / path, expires), _identity(path)
        if form == "parquet":
            kept = {key: add[key] for key in ("partitionValues", "size", "stats") if add.get(key) is not None}
            return {"url": url, "id": identity, **kept, "expirationTimestamp": expires}
        action = {key: value for key, value in add.items() if value is not None} | {"path": url}
        more = {}
        vector = add.get("deletionVector")
        if vector is not None and vector["storageType"] == "u":
            name = _vector_name(vector["pathOrInlineDv"])
            signed = self._signed(shared.path / name, expires)
            action["deletionVector"] = {**vector, "storageType": "p", "pathOrInlineDv": signed}
            more["deletionVectorFileId"] = _identity(name)
        return {"id": identity, **more, "expirationTimestamp": expires, "deltaSingleAction": {"add": action}}

    def _signed(self, path: Path, expires: int) -> str:
        number = hashlib.sha256(f"{path}{expires}".encode()).hexdigest()[:8]
        query = urllib.parse.urlencode({"expires": expires, "X-Amz-Signature": f"{SIGNATURE}-{number}"})
        return f"{self.url}/data/{urllib.parse.quote(str(path).lstrip('/'))}?{query}"

    def _data(self, path: str, query: dict[str, str], span: str) -> Answer:
        path = "/" + urllib.parse.unquote(path)
        expires = int(query.get("expires", 0))
        if (
            self._signed(Path(path), expires).rpartition("=")[2] != query.get("X-Amz-Signature")
            or expires <= self.now_ms
        ):
            return 403, {}, b"expired"
        if self.refused_downloads:
            self.refused_downloads -= 1
            return 403, {}, b"refused"
        self.downloads.append((path, span))
        data = Path(path).read_bytes()
        found = re.fullmatch(r"bytes=(\d+)-(\d*)", span)
        if found is None:
            return 200, {}, data
        begin, end = int(found[1]), int(found[2] or len(data) - 1) + 1
        return (206, {}, data[begin:end]) if begin < len(data) else (416, {}, b"")

    def _token(self, headers: Any, form: dict[str, str]) -> Answer:
        user = base64.b64decode(headers.get("Authorization", "").removeprefix("Basic ")).decode()
        if user != f"me:{PASSWORD}" or form.get("grant_type") != "client_credentials":
            return 401, {}, b"{}"
        self.tokens_given += 1
        token = f"{TOKEN}-{self.tokens_given}"
        self.accepts = {f"Bearer {token}"}
        return 200, {}, json.dumps({"access_token": token, "expires_in": 3600}).encode()

    # --- answers ----------------------------------------------------------------------------------

    def _list(self, kind: str, items: list[dict[str, Any]], query: dict[str, str]) -> Answer:
        items = sorted(items, key=lambda each: each["name"])
        first = int(query.get("pageToken", 0))
        page: dict[str, Any] = {"items": items[first : first + self.page]}
        if first + self.page < len(items):
            page["nextPageToken"] = str(first + self.page)
        if not page["items"]:
            page = {}
        self._check(kind, page)
        return 200, {"Content-Type": "application/json; charset=utf-8"}, json.dumps(page).encode()

    def _error(self, status: int, code: str, message: str) -> Answer:
        return status, {}, json.dumps({"errorCode": code, "message": message}).encode()

    def _check(self, kind: str, message: Any) -> None:
        self.violations += [f"{kind}: {fault}" for fault in faults_of(kind, message)]


def _identity(path: str) -> str:
    return hashlib.sha256(path.encode()).hexdigest()[:32]


def _vector_name(text: str) -> str:
    """The file of a deletion vector of storage type u."""
    number = 0
    data = b""
    for place, letter in enumerate(text[-20:]):
        number = number * 85 + _Z85[letter]
        if place % 5 == 4:
            data, number = data + number.to_bytes(4, "big"), 0
    uuid = data.hex()
    uuid = "-".join((uuid[:8], uuid[8:12], uuid[12:16], uuid[16:20], uuid[20:]))
    folder = f"{text[:-20]}/" if len(text) > 20 else ""
    return f"{folder}deletion_vector_{uuid}.bin"


def _versions(path: Path) -> list[_Version]:
    """All versions of a table that has commits from version 0 on."""
    versions: list[_Version] = []
    protocol: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    live: dict[tuple[str, str], dict[str, Any]] = {}
    for commit in sorted((path / "_delta_log").glob("*.json")):
        time = int(commit.stat().st_mtime * 1000)
        for line in commit.read_text().splitlines():
            action = json.loads(line)
            protocol = action.get("protocol", protocol)
            metadata = action.get("metaData", metadata)
            for kind in ("remove", "add"):
                body = action.get(kind)
                if body is not None:
                    vector = body.get("deletionVector") or {}
                    key = body["path"], f"{vector.get('pathOrInlineDv')}@{vector.get('offset')}"
                    live.pop(key, None)
                    if kind == "add":
                        live[key] = body
        versions.append(_Version(len(versions), time, protocol, metadata, list(live.values())))
    return versions


def _time(text: str | None) -> int:
    if text is None:
        return -1
    return int(datetime.datetime.fromisoformat(text).timestamp() * 1000)


def holds(node: dict[str, Any], values: dict[str, str | None]) -> bool | None:
    """Return the value of a hint for the partition values of a file; None for NULL."""
    children = node["children"]
    match node["op"]:
        case "and":
            found = [holds(each, values) for each in children]
            return False if False in found else None if None in found else True
        case "or":
            found = [holds(each, values) for each in children]
            return True if True in found else None if None in found else False
        case "not":
            inner = holds(children[0], values)
            return None if inner is None else not inner
        case "isNull":
            return _leaf(children[0], values) is None
    left, right = (_leaf(each, values) for each in children)
    if left is None or right is None:
        return None
    return {
        "equal": left == right,
        "lessThan": left < right,
        "lessThanOrEqual": left <= right,
        "greaterThan": left > right,
        "greaterThanOrEqual": left >= right,
    }[node["op"]]


def _leaf(node: dict[str, Any], values: dict[str, str | None]) -> Any:
    text = values[node["name"]] if node["op"] == "column" else node["value"]
    if not text:
        return None
    kind = node["valueType"]
    if kind in ("int", "long"):
        return int(text)
    # As Java compares texts: by UTF-16 unit.
    return text.encode("utf-16-be") if kind == "string" else text


@contextmanager
def sharing_server() -> Iterator[SharingServer]:
    """Start a server on loopback; stop it at the end of the block."""
    owner = SharingServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.respond()

        def do_POST(self) -> None:
            self.respond()

        def respond(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, headers, data = owner.answer(self.command, self.path, self.headers, body)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    owner.url = f"http://127.0.0.1:{server.server_port}"
    with serving(server):
        yield owner


def _first(adds: list[dict[str, Any]], num_rows: int) -> list[dict[str, Any]]:
    """The first files with so many rows by their statistics, without regard to deleted rows."""
    found, rows = [], 0
    for add in adds:
        if rows >= num_rows:
            break
        found.append(add)
        rows += json.loads(add["stats"])["numRecords"]
    return found
