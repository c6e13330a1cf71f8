"""A server of the requests of S3 that tables need, over folders, which waits before each answer and counts.

It runs in a process of its own: ``python -m benchmarks.object_server FOLDER MILLISECONDS`` prints its port.
The folders in FOLDER are the buckets. `serving` starts and stops it.
"""

import bisect
import contextlib
import email.utils
import hashlib
import json
import os
import re
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar
from urllib.parse import parse_qsl, unquote, urlsplit
from xml.sax.saxutils import escape

__all__ = ["ObjectServer", "Traffic", "serving"]

_TRAFFIC = "/-/traffic"
_PAGE = 1000


@dataclass(frozen=True)
class Traffic:
    """What a server was asked since it was asked for this before.

    Args:
        requests: their number.
        one_after_another: the longest row of requests of which each began after the one before had ended.
        sent_bytes: the bytes of the bodies of answers.
    """

    requests: int
    one_after_another: int
    sent_bytes: int


@dataclass(frozen=True)
class ObjectServer:
    """A running server."""

    port: int

    @property
    def storage_options(self) -> dict[str, str]:
        """The options with which deltaarrow and deltalake reach it."""
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
            "AWS_ACCESS_KEY_ID": "benchmark",
            "AWS_SECRET_ACCESS_KEY": "benchmark",
            "AWS_REGION": "us-east-1",
            "AWS_ALLOW_HTTP": "true",
        }

    def traffic(self) -> Traffic:
        """Return the traffic since the last call."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{_TRAFFIC}") as answer:
            return Traffic(**json.load(answer))


@contextlib.contextmanager
def serving(folder: Path, milliseconds: int) -> Iterator[ObjectServer]:
    """Serve the folders in `folder` as buckets; each answer waits so long."""
    command = [sys.executable, "-m", "benchmarks.object_server", str(folder), str(milliseconds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield ObjectServer(int(process.stdout.readline()))
        finally:
            process.terminate()


class _Log:
    """The times and sizes of requests."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._spans: list[tuple[float, float, int]] = []

    def add(self, begin: float, sent_bytes: int) -> None:
        with self._lock:
            self._spans.append((begin, time.monotonic(), sent_bytes))

    def taken(self) -> Traffic:
        with self._lock:
            spans, self._spans = self._spans, []
        after, row = 0.0, 0
        for begin, end, _ in sorted(spans, key=lambda span: span[1]):
            if begin >= after:
                after, row = end, row + 1
        return Traffic(len(spans), row, sum(sent for *_, sent in spans))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    root: Path
    seconds: float
    log: _Log
    puts = threading.Lock()
    listings: ClassVar[dict[tuple[str, str, str], list[tuple[str, os.stat_result]]]] = {}

    def log_message(self, *arguments: object) -> None:
        pass

    def _handle(self) -> None:
        begin = time.monotonic()
        url = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if url.path == _TRAFFIC:
            self._answer(200, json.dumps(self.log.taken().__dict__).encode())
            return
        time.sleep(self.seconds)
        asked = dict(parse_qsl(url.query, keep_blank_values=True))
        bucket, _, key = unquote(url.path).lstrip("/").partition("/")
        path = self.root / bucket / key
        if ".." in path.parts:
            sent = self._refuse(400, "InvalidURI")
        elif self.command == "GET" and "list-type" in asked:
            sent = self._list(bucket, asked)
        elif self.command == "POST" and "delete" in asked:
            sent = self._delete_all(bucket, body)
        elif self.command == "PUT":
            sent = self._put(path, body)
        elif self.command == "DELETE":
            path.unlink(missing_ok=True)
            sent = self._answer(204, b"")
        elif self.command in ("GET", "HEAD") and path.is_file():
            sent = self._get(path)
        else:
            sent = self._refuse(404, "NoSuchKey")
        self.log.add(begin, sent)

    def _answer(self, status: int, body: bytes, **headers: str) -> int:
        self.send_response_only(status)
        headers.setdefault("Content_Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command == "HEAD":
            return 0
        self.wfile.write(body)
        return len(body)

    def _refuse(self, status: int, code: str) -> int:
        return self._answer(
            status, f"<Error><Code>{code}</Code></Error>".encode(), Content_Type="application/xml"
        )

    def _get(self, path: Path) -> int:
        found = path.stat()
        headers = {"ETag": _tag(found), "Last_Modified": email.utils.formatdate(found.st_mtime, usegmt=True)}
        if self.command == "HEAD":
            return self._answer(200, b"", Content_Length=str(found.st_size), **headers)
        first, last, status = 0, found.st_size - 1, 200
        if asked := re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", "")):
            status = 206
            if asked[1]:
                first, last = int(asked[1]), min(int(asked[2] or last), last)
            else:
                first = max(0, found.st_size - int(asked[2]))
            if first > last:
                return self._refuse(416, "InvalidRange")
            headers["Content_Range"] = f"bytes {first}-{last}/{found.st_size}"
        with path.open("rb") as file:
            file.seek(first)
            return self._answer(status, file.read(last - first + 1), **headers)

    def _put(self, path: Path, body: bytes) -> int:
        with self.puts:
            if self.headers.get("If-None-Match") == "*" and path.exists():
                return self._refuse(412, "PreconditionFailed")
            path.parent.mkdir(parents=True, exist_ok=True)
            whole = path.with_name(f".{path.name}.new")
            whole.write_bytes(body)
            whole.replace(path)  # a link of a dataset stays as it is
            tag = _tag(path.stat())
        return self._answer(200, b"", ETag=tag)

    def _delete_all(self, bucket: str, body: bytes) -> int:
        keys = re.findall(r"<Key>(.*?)</Key>", body.decode())
        for key in keys:
            (self.root / bucket / key).unlink(missing_ok=True)
        told = "".join(f"<Deleted><Key>{key}</Key></Deleted>" for key in keys)
        text = f"<DeleteResult>{told}</DeleteResult>"
        return self._answer(200, text.encode(), Content_Type="application/xml")

    def _files(self, top: Path, prefix: str, *, in_folder_alone: bool) -> list[tuple[str, os.stat_result]]:
        folder = top / prefix.rpartition("/")[0]
        if in_folder_alone:
            found = [entry for entry in os.scandir(folder) if entry.is_file()] if folder.is_dir() else []
            files = [(os.path.relpath(entry.path, top), entry.stat()) for entry in found]
        else:
            paths = [Path(where) / name for where, _, names in os.walk(folder) for name in names]
            files = [(str(path.relative_to(top)), path.stat()) for path in paths]
        return sorted(each for each in files if each[0].startswith(prefix))

    def _folders(self, top: Path, prefix: str) -> list[str]:
        folder = top / prefix.rpartition("/")[0]
        found = [entry for entry in os.scandir(folder) if entry.is_dir()] if folder.is_dir() else []
        names = [f"{os.path.relpath(entry.path, top)}/" for entry in found]
        return sorted(each for each in names if each.startswith(prefix))

    def _list(self, bucket: str, asked: dict[str, str]) -> int:
        prefix, token = asked.get("prefix", ""), asked.get("continuation-token")
        listing = bucket, prefix, asked.get("delimiter", "")
        if token is None:
            files = self._files(self.root / bucket, prefix, in_folder_alone=bool(asked.get("delimiter")))
            self.listings[listing] = files
        # Later pages are those of the same listing, which takes long to make.
        after = token or asked.get("start-after") or ""
        files = self.listings[listing]
        wanted = files[bisect.bisect_right(files, after, key=lambda each: each[0]) :]
        page, rest = wanted[:_PAGE], wanted[_PAGE:]
        parts = [
            f"<Contents><Key>{escape(key)}</Key><Size>{found.st_size}</Size><ETag>{_tag(found)}</ETag>"
            f"<LastModified>{_moment(found.st_mtime)}</LastModified></Contents>"
            for key, found in page
        ]
        if token is None and asked.get("delimiter"):
            parts += [
                f"<CommonPrefixes><Prefix>{escape(each)}</Prefix></CommonPrefixes>"
                for each in self._folders(self.root / bucket, prefix)
            ]
        more = f"<NextContinuationToken>{escape(page[-1][0])}</NextContinuationToken>" if rest else ""
        text = (
            f"<ListBucketResult><Name>{bucket}</Name><Prefix>{escape(prefix)}</Prefix>{more}"
            f"<KeyCount>{len(page)}</KeyCount><MaxKeys>{_PAGE}</MaxKeys>"
            f"<IsTruncated>{'true' if rest else 'false'}</IsTruncated>{''.join(parts)}</ListBucketResult>"
        )
        return self._answer(200, text.encode(), Content_Type="application/xml")


for _method in ("GET", "HEAD", "PUT", "POST", "DELETE"):
    setattr(_Handler, f"do_{_method}", _Handler._handle)


def _tag(found: os.stat_result) -> str:
    text = f"{found.st_ino} {found.st_mtime_ns} {found.st_size}"
    return f'"{hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()}"'


def _moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(seconds))


def _serve(folder: Path, milliseconds: int) -> None:
    handler = type("Handler", (_Handler,), {"root": folder, "seconds": milliseconds / 1000, "log": _Log()})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    _serve(Path(sys.argv[1]), int(sys.argv[2]))
