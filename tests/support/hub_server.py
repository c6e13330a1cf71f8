"""A server on this machine with as much of the Hugging Face Hub's interface as reading a dataset needs.

It answers as the Hub does to ``huggingface_hub``, whose own file system reads it in a test: trees in pages
with a ``Link`` header, ``paths-info``, ``X-Error-Code`` headers, and files that are kept apart behind a
redirect to a signed address, which takes ranges and no token.
"""

import hashlib
import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

from tests.support.serving import serving

__all__ = ["SIGNATURE", "HubServer", "hub_server"]

SIGNATURE = "s1gned"
"""What an address that the Hub has signed holds."""

_API = re.compile(r"/api/datasets/([^/]+/[^/]+)(?:/(tree|paths-info|revision)/([^/]+)(?:/(.*))?)?")
_FILE = re.compile(r"/datasets/([^/]+/[^/]+)/resolve/([^/]+)/(.*)")
_SIGNED = re.compile(r"/signed/([0-9a-f]{64})")
_RANGE = re.compile(r"bytes=(\d*)-(\d*)")
_MOST_PATHS = 1000
_EXPANDED_PAGE = 50


class _File(NamedTuple):
    data: bytes
    changed: float
    oid: str


class HubServer:
    """Files by dataset, revision and path; `token` is what a private dataset asks for."""

    def __init__(self) -> None:
        self.files: dict[tuple[str, str], dict[str, _File]] = {}
        self.requests: list[tuple[str, str]] = []
        self.token: str | None = None
        self.page = 1000
        self.kept_apart = 8000
        """The size from which a file is behind a redirect."""
        self.knows_ranges = True
        self.knows_last_bytes = True
        self.signed: dict[str, bytes] = {}
        self.signed_status = 200
        self.tokens_elsewhere: list[str] = []
        """The tokens that came with requests for signed addresses, to which none belongs."""
        self._lock = Lock()
        owner = self

        class Handler(_Handler):
            hub = owner

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def put(self, dataset: str, path: str, data: bytes, revision: str = "main") -> None:
        """Keep a file, as a commit to a branch does."""
        with self._lock:
            oid = hashlib.sha1(b"blob %d\0%s" % (len(data), data), usedforsecurity=False).hexdigest()
            self.files.setdefault((dataset, revision), {})[path] = _File(bytes(data), time.time(), oid)

    def taken(self) -> list[tuple[str, str]]:
        """Return the requests since the last call: their methods and paths."""
        with self._lock:
            found, self.requests = self.requests, []
        return found

    def note(self, method: str, path: str) -> None:
        with self._lock:
            self.requests.append((method, path))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # it holds a body back for 40 ms
    hub: HubServer

    def log_message(self, *arguments: object) -> None:
        pass

    def _handle(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.hub.note(self.command, self.path)
        url = urlsplit(self.path)
        given = parse_qs(url.query)
        if signed := _SIGNED.fullmatch(url.path):
            self._send_signed(signed[1], given)
        elif self.hub.token is not None and self.headers.get("Authorization") != f"Bearer {self.hub.token}":
            # The Hub does not tell a stranger whether a dataset exists.
            self._refuse(401, "RepoNotFound", "Repository not found")
        elif asked := _API.fullmatch(url.path):
            self._answer_about(
                asked[1], asked[2], unquote(asked[3] or "main"), unquote(asked[4] or ""), body, given
            )
        elif asked := _FILE.fullmatch(url.path):
            files = self._files(asked[1], unquote(asked[2]))
            if files is not None:
                self._send_file(files.get(unquote(asked[3])))
        else:
            self._refuse(404, "", "no such page")

    do_GET = do_HEAD = do_POST = _handle

    def _files(self, dataset: str, revision: str) -> dict[str, _File] | None:
        """The files of a revision; answers and returns None where there is none."""
        if not any(name == dataset for name, _ in self.hub.files):
            self._refuse(404, "RepoNotFound", "Repository not found")
        elif (dataset, revision) not in self.hub.files:
            self._refuse(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        else:
            return self.hub.files[dataset, revision]
        return None

    def _answer_about(
        self,
        dataset: str,
        what: str | None,
        revision: str,
        path: str,
        body: bytes,
        given: dict[str, list[str]],
    ) -> None:
        files = self._files(dataset, revision)
        if files is None:
            return
        if what in (None, "revision"):
            self._send_json({"id": dataset, "sha": hashlib.sha1(dataset.encode()).hexdigest(), "tags": []})
        elif what == "paths-info":
            form = parse_qs(body.decode())
            asked = form.get("paths", [])
            if len(asked) > _MOST_PATHS:
                self._refuse(413, "", "too many parameters")
                return
            with_commit = form.get("expand") == ["true"]
            known = {
                each["path"]: each for each in _tree(files, "", is_recursive=True, is_expanded=with_commit)
            }
            self._send_json([known[each] for each in asked if each in known])
        else:
            self._send_tree(files, path, given)

    def _send_tree(self, files: dict[str, _File], path: str, given: dict[str, list[str]]) -> None:
        is_expanded = given.get("expand") == ["true"]
        is_recursive = given.get("recursive") == ["true"]
        if path in files:
            self._send_json([_described(path, files[path], is_expanded=is_expanded)])
            return
        found = _tree(files, path, is_recursive=is_recursive, is_expanded=is_expanded)
        if path and not found:
            self._refuse(404, "EntryNotFound", f"{path} does not exist")
            return
        first, size = int(given.get("cursor", ["0"])[0]), _EXPANDED_PAGE if is_expanded else self.hub.page
        headers = {}
        if first + size < len(found):
            flags = f"recursive={str(is_recursive).lower()}&expand={str(is_expanded).lower()}"
            next_page = f"{self.hub.url}{urlsplit(self.path).path}?{flags}&cursor={first + size}"
            headers["Link"] = f'<{next_page}>; rel="next"'
        self._send_json(found[first : first + size], headers)

    def _send_file(self, file: _File | None) -> None:
        if file is None:
            self._refuse(404, "EntryNotFound", "Entry not found")
            return
        told = {"X-Repo-Commit": file.oid, "ETag": f'"{file.oid}"', "X-Linked-Size": str(len(file.data))}
        if len(file.data) < self.hub.kept_apart:
            self._send_bytes(file.data, told)
            return
        digest = hashlib.sha256(file.data).hexdigest()
        self.hub.signed[digest] = file.data
        # Another host, as the addresses of the Hub's storage are on another one.
        place = f"http://localhost:{self.hub.port}/signed/{digest}?Signature={SIGNATURE}&Key-Pair-Id=K1"
        self._send(302, b"", {**told, "Location": place})

    def _send_signed(self, digest: str, given: dict[str, list[str]]) -> None:
        if "Authorization" in self.headers:
            self.hub.tokens_elsewhere.append(self.headers["Authorization"])
        if given.get("Signature") != [SIGNATURE] or self.hub.signed_status != 200:
            self._send(403, b"<Error><Code>AccessDenied</Code></Error>", {})
            return
        self._send_bytes(self.hub.signed[digest], {"ETag": f'"{digest}"'})

    def _send_bytes(self, data: bytes, headers: dict[str, str]) -> None:
        asked = _RANGE.fullmatch(self.headers.get("Range", ""))
        if asked is None or not self.hub.knows_ranges or not (asked[1] or self.hub.knows_last_bytes):
            self._send(200, data, headers)
            return
        size = len(data)
        if asked[1]:
            first, last = int(asked[1]), min(int(asked[2] or size - 1), size - 1)
        else:
            first, last = max(0, size - int(asked[2])), size - 1
        if first > last:
            self._send(416, b"", {"Content-Range": f"bytes */{size}"})
            return
        told = {**headers, "Content-Range": f"bytes {first}-{last}/{size}"}
        self._send(206, data[first : last + 1], told)

    def _send_json(self, content: Any, headers: dict[str, str] | None = None) -> None:
        self._send(200, json.dumps(content).encode(), {"Content-Type": "application/json", **(headers or {})})

    def _refuse(self, status: int, code: str, said: str) -> None:
        headers = {"Content-Type": "application/json", "X-Error-Message": said}
        if code:
            headers["X-Error-Code"] = code
        self._send(status, json.dumps({"error": said}).encode(), headers)

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _described(path: str, file: _File, *, is_expanded: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "file", "oid": file.oid, "size": len(file.data), "path": path}
    if is_expanded:
        date = datetime.fromtimestamp(file.changed, UTC).isoformat(timespec="milliseconds")
        found["lastCommit"] = {"id": file.oid, "title": "Upload", "date": date.replace("+00:00", "Z")}
    return found


def _tree(
    files: dict[str, _File], path: str, *, is_recursive: bool, is_expanded: bool
) -> list[dict[str, Any]]:
    """The entries below a folder: files and the folders that hold them, in the order of paths."""
    prefix = f"{path}/" if path else ""
    found: dict[str, dict[str, Any]] = {}
    for name, file in list(files.items()):
        if not name.startswith(prefix):
            continue
        steps = name[len(prefix) :].split("/")
        for count in range(1, len(steps) if is_recursive else min(2, len(steps))):
            folder = prefix + "/".join(steps[:count])
            oid = hashlib.sha1(folder.encode()).hexdigest()
            found[folder] = {"type": "directory", "oid": oid, "size": 0, "path": folder}
        if is_recursive or len(steps) == 1:
            found[name] = _described(name, file, is_expanded=is_expanded)
    return [found[name] for name in sorted(found)]


@contextmanager
def hub_server() -> Iterator[HubServer]:
    """Serve an empty Hub, for the time of a block."""
    hub = HubServer()
    with serving(hub.server):
        yield hub
