"""A server on this machine with as much of the interfaces of Google and Azure as tables need.

It keeps objects in memory and follows the conditions of puts. The servers of others in
`tests.support.object_servers` show that it does so as they do.
"""

import base64
import hashlib
import itertools
import json
import re
import time
import urllib.parse
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any, Literal, NamedTuple
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from tests.support.faulty_server import STATUSES, Fault, reset, shortened
from tests.support.serving import serving

__all__ = ["ACCOUNT", "CloudServer", "Request", "cloud_server"]

ACCOUNT = "devstoreaccount1"


class Request(NamedTuple):
    """A request, by its method, its path with the parameters, and the object that it is about."""

    method: str
    url: str
    name: str | None


class _Object(NamedTuple):
    data: bytes
    modified: float
    generation: int
    md5: str


class CloudServer:
    """Objects by ``bucket/key``; what goes wrong with a request is what `fault` says of it.

    `start_from` is what it makes of the name from which a listing of Azure is to begin. `refusals` are the
    codes with which it answers deletions in a batch of Google.
    """

    def __init__(self) -> None:
        self.objects: dict[str, _Object] = {}
        self.buckets: set[str] = set()
        self.requests: list[Request] = []
        self.fault: Callable[[Request], Fault] = lambda request: None
        self.ignores_conditions = False
        self.page = 1000
        self.knows_batches = True
        self.refusals: dict[str, int] = {}
        self.start_from: Literal["honoured", "unknown", "refused", "elsewhere"] = "honoured"
        self._parts: dict[str, list[bytes] | dict[str, bytes]] = {}
        self._generations = itertools.count(1)
        self._lock = Lock()
        owner = self

        class Handler(_Handler):
            server_objects = owner

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    @property
    def options_of_google(self) -> dict[str, str]:
        """The storage options for the server as Google."""
        return {"GOOGLE_BASE_URL": self.url, "GOOGLE_SKIP_SIGNATURE": "true"}

    @property
    def options_of_azure(self) -> dict[str, str]:
        """The storage options for the server as Azure."""
        key = base64.b64encode(b"a secret of an account").decode()
        return {
            "AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT,
            "AZURE_STORAGE_ACCOUNT_KEY": key,
            "AZURE_STORAGE_ENDPOINT": f"{self.url}/{ACCOUNT}",
            "max_retries": "2",
        }

    def put(self, name: str, data: bytes, *, if_absent: bool = False) -> bool:
        """Keep an object; tell whether the condition let it."""
        with self._lock:
            if if_absent and not self.ignores_conditions and name in self.objects:
                return False
            md5 = base64.b64encode(hashlib.md5(data).digest()).decode()
            self.objects[name] = _Object(bytes(data), time.time(), next(self._generations), md5)
            return True

    def listed(self, bucket: str, given: dict[str, str], start: str) -> tuple[list[str], list[str], str]:
        """The keys of a page, the folders of a page, and where the next one begins."""
        prefix, delimiter = given.get("prefix", ""), given.get("delimiter", "")
        keys, folders = [], []
        for name in sorted(self.objects):
            found, _, key = name.partition("/")
            if found != bucket or not key.startswith(prefix) or key < start:
                continue
            folder, is_below, _ = key[len(prefix) :].partition(delimiter) if delimiter else ("", "", "")
            if is_below:
                folders.append(f"{prefix}{folder}{delimiter}")
            elif len(keys) == self.page:
                return keys, sorted({*folders}), key
            else:
                keys.append(key)
        return keys, sorted({*folders}), ""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # it holds a body back for 40 ms
    server_objects: CloudServer

    def log_message(self, *arguments: object) -> None:
        pass

    def _handle(self) -> None:
        url = urllib.parse.urlsplit(self.path)
        self.given = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        self.body = self._read()
        owner, steps = self.server_objects, url.path.split("/")
        self.steps = [urllib.parse.unquote(step) for step in steps]
        is_azure = self.steps[1] == ACCOUNT
        name = self._name_of_azure() if is_azure else self._name_of_google()
        request = Request(self.command, self.path, name)
        owner.requests.append(request)
        fault = owner.fault(request)
        if fault == "lost request":
            self.close_connection = True
        elif fault == "reset":
            reset(self)
        elif fault in STATUSES:
            self.fault = None
            self._answer(STATUSES[fault], b"{}")
        else:
            self.fault = fault
            (self._azure if is_azure else self._google)(name)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _handle
    fault: Fault = None

    def _read(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        if self.fault == "lost answer":
            self.close_connection = True
            return
        self.send_response_only(status)
        headers.setdefault("Content_Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(shortened(self, body) if self.fault == "cut off" else body)

    def _answer_data(self, found: _Object, **headers: str) -> None:
        told = self.headers.get("x-ms-range") or self.headers.get("Range") or ""
        asked, last_bytes = re.fullmatch(r"bytes=(\d+)-(\d*)", told), re.fullmatch(r"bytes=-(\d+)", told)
        size = len(found.data)
        first = int(asked[1]) if asked else max(0, size - int(last_bytes[1])) if last_bytes else 0
        if not (asked or last_bytes):
            self._answer(200, found.data, **headers)
        elif first >= size:
            self._fail(416, "InvalidRange")
        else:
            last = min(int(asked[2] or size - 1), size - 1) if asked else size - 1
            headers["Content_Range"] = f"bytes {first}-{last}/{size}"
            self._answer(206, found.data[first : last + 1], **headers)

    def _fail(self, status: int, code: str) -> None:
        if self.steps[1] == ACCOUNT:
            body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{code} told</Message></Error>"
            self._answer(status, body.encode(), x_ms_error_code=code, Content_Type="application/xml")
        else:
            self._answer(status, json.dumps({"error": {"code": status, "message": code}}).encode())

    # --- Google -------------------------------------------------------------------------------------

    @property
    def _is_xml(self) -> bool:
        """Whether a request is of Google's older interface, ``/bucket/key``, by which Polars reads."""
        return self.steps[1] in self.server_objects.buckets

    def _name_of_google(self) -> str | None:
        if self._is_xml:
            return "/".join(self.steps[1:])
        if "name" in self.given:
            return f"{self.steps[self.steps.index('b') + 1]}/{self.given['name']}"
        place = self.steps.index("b") + 1 if "b" in self.steps else 0
        bucket, key = self.steps[place], self.steps[place + 2 :]
        return f"{bucket}/{'/'.join(key)}" if place and key else bucket if place else None

    def _google(self, name: str | None) -> None:
        owner, bucket = self.server_objects, (name or "").partition("/")[0]
        if "upload_id" in self.given:
            self._google_part(self.given["upload_id"], name or "")
        elif self.steps[1] == "batch":
            self._google_batch()
        elif bucket not in owner.buckets:
            self._fail(404, "The specified bucket does not exist.")
        elif self.command == "POST":
            self._google_put(name or "")
        elif name == bucket:
            self._google_list(bucket)
        elif name not in owner.objects:
            self._fail(404, "No such object")
        elif self.command == "DELETE":
            del owner.objects[name]
            self._answer(204)
        elif self.given.get("alt") == "media" or self._is_xml:
            found = owner.objects[name]
            told = {"Last_Modified": formatdate(found.modified, usegmt=True), "ETag": f'"{found.md5}"'}
            self._answer_data(found, **told, X_Goog_Generation=str(found.generation))
        else:
            self._answer(200, json.dumps(_described(name, owner.objects[name])).encode())

    def _google_list(self, bucket: str) -> None:
        owner = self.server_objects
        start = max(self.given.get("startOffset", ""), self.given.get("pageToken", ""))
        keys, folders, following = owner.listed(bucket, self.given, start)
        names = [f"{bucket}/{key}" for key in keys]
        page: dict[str, Any] = {"items": [_described(name, owner.objects[name]) for name in names]}
        page |= {"prefixes": folders, "kind": "storage#objects"} | (
            {"nextPageToken": following} if following else {}
        )
        self._answer(200, json.dumps(page).encode())

    def _google_put(self, name: str) -> None:
        owner, if_absent = self.server_objects, self.given.get("ifGenerationMatch") == "0"
        if self.given["uploadType"] == "resumable":
            session = f"{uuid.uuid4()}-{if_absent}"
            owner._parts[session] = []
            name = urllib.parse.quote(self.given["name"], safe="")
            bucket = self.path.partition("?")[0]
            self._answer(200, Location=f"{owner.url}{bucket}?name={name}&upload_id={session}")
        elif owner.put(name, self.body, if_absent=if_absent):
            self._answer(200, json.dumps(_described(name, owner.objects[name])).encode())
        else:
            self._fail(412, "At least one of the pre-conditions you specified did not hold.")

    def _google_part(self, session: str, name: str) -> None:
        owner = self.server_objects
        parts = owner._parts.get(session)
        if not isinstance(parts, list) or self.command == "DELETE":
            owner._parts.pop(session, None)
            self._answer(499 if self.command == "DELETE" else 404, b"{}")
            return
        data, told = b"".join(parts), self.headers["Content-Range"]
        found = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+|\*)", told)
        assert found is not None, told
        data = data[: int(found[1])] + self.body
        parts[:] = [data]
        if found[3] == "*":
            assert len(self.body) % (256 << 10) == 0, "a part that is not the last"
            self._answer(308, Range=f"bytes=0-{len(data) - 1}")
        elif len(data) != int(found[3]):
            self._fail(400, "wrong size")
        elif owner.put(name, data, if_absent=session.endswith("True")):
            self._answer(200, json.dumps(_described(name, owner.objects[name])).encode())
        else:
            self._fail(412, "At least one of the pre-conditions you specified did not hold.")

    def _google_batch(self) -> None:
        owner, answers = self.server_objects, []
        if not owner.knows_batches:
            self._fail(404, "Not Found")
            return
        asked = [*re.finditer(rb"Content-ID: <([^>]+)>\r\n\r\nDELETE (\S+) HTTP", self.body)]
        assert 0 < len(asked) <= 100
        for found in reversed(asked):
            steps = urllib.parse.urlsplit(found[2].decode()).path.split("/")
            assert steps[:4] == ["", "storage", "v1", "b"], steps
            assert steps[5] == "o", steps
            assert len(steps) == 7, steps
            name = f"{steps[4]}/{urllib.parse.unquote(steps[6])}"
            status = owner.refusals.get(name) or (204 if owner.objects.pop(name, None) else 404)
            head = f"--b\r\nContent-Type: application/http\r\nContent-ID: <response-{found[1].decode()}>"
            answers.append(f"{head}\r\n\r\nHTTP/1.1 {status} told\r\nContent-Length: 0\r\n\r\n\r\n")
        body = "".join(answers) + "--b--"
        self._answer(200, body.encode(), Content_Type="multipart/mixed; boundary=b")

    # --- Azure --------------------------------------------------------------------------------------

    def _name_of_azure(self) -> str:
        return "/".join(self.steps[2:])

    def _azure(self, name: str | None) -> None:
        owner = self.server_objects
        name = name or ""
        bucket, what = name.partition("/")[0], self.given.get("comp", "")
        if bucket not in owner.buckets:
            self._fail(404, "ContainerNotFound")
        elif what == "list":
            self._azure_list(bucket)
        elif what == "batch":
            self._azure_batch()
        elif self.command == "PUT":
            self._azure_put(name, what)
        elif name not in owner.objects:
            self._fail(404, "BlobNotFound")
        elif self.command == "DELETE":
            del owner.objects[name]
            self._answer(202)
        else:
            found = owner.objects[name]
            headers = {
                "Last_Modified": formatdate(found.modified, usegmt=True),
                "ETag": f'"{found.generation}"',
                "x_ms_blob_type": "BlockBlob",
                "x_ms_blob_content_md5": found.md5,
                "Content_MD5": found.md5,
            }
            if self.command == "HEAD":
                self._answer(200, b"", Content_Length=str(len(found.data)), **headers)
            else:
                self._answer_data(found, **headers)

    def _azure_list(self, bucket: str) -> None:
        owner = self.server_objects
        if (start := self.given.get("startFrom")) is not None and owner.start_from == "refused":
            self._fail(400, "InvalidQueryParameterValue")
            return
        meant = {"honoured": start, "elsewhere": start and "~"}.get(owner.start_from)
        begin = max(self.given.get("marker", ""), meant or "")
        keys, folders, following = owner.listed(bucket, self.given, begin)
        blobs = "".join(_described_blob(key, owner.objects[f"{bucket}/{key}"]) for key in keys)
        blobs += "".join(f"<BlobPrefix><Name>{escape(each)}</Name></BlobPrefix>" for each in folders)
        body = (
            f'<?xml version="1.0" encoding="utf-8"?><EnumerationResults ContainerName="{bucket}">'
            f"<Prefix>{escape(self.given.get('prefix', ''))}</Prefix><Blobs>{blobs}</Blobs>"
            f"<NextMarker>{escape(following)}</NextMarker></EnumerationResults>"
        )
        self._answer(200, body.encode(), Content_Type="application/xml")

    def _azure_put(self, name: str, what: str) -> None:
        owner, if_absent = self.server_objects, self.headers.get("If-None-Match") == "*"
        if what == "block":
            blocks = owner._parts.setdefault(name, {})
            assert isinstance(blocks, dict)
            blocks[self.given["blockid"]] = self.body
            self._answer(201)
            return
        data = self.body
        if what == "blocklist":
            blocks = owner._parts[name]
            assert isinstance(blocks, dict)
            data = b"".join(blocks[each.text or ""] for each in ElementTree.fromstring(data))
        if owner.put(name, data, if_absent=if_absent):
            found = owner.objects[name]
            modified = formatdate(found.modified, usegmt=True)
            self._answer(201, ETag=f'"{found.generation}"', Last_Modified=modified)
        else:
            self._fail(409, "BlobAlreadyExists")

    def _azure_batch(self) -> None:
        owner, answers = self.server_objects, []
        for number, found in enumerate(re.finditer(rb"DELETE (\S+) HTTP", self.body)):
            path = urllib.parse.urlsplit(found[1].decode()).path
            name = urllib.parse.unquote(path).lstrip("/").removeprefix(f"{ACCOUNT}/")
            status = "404 Not Found" if owner.objects.pop(name, None) is None else "202 Accepted"
            head = f"--batch\r\nContent-Type: application/http\r\nContent-ID: {number}"
            answers.append(f"{head}\r\n\r\nHTTP/1.1 {status}\r\n\r\n")
        body = "".join(answers) + "--batch--"
        self._answer(202, body.encode(), Content_Type="multipart/mixed; boundary=batch")


def _described(name: str, found: _Object) -> dict[str, Any]:
    bucket, _, key = name.partition("/")
    moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(found.modified))
    return {
        "bucket": bucket,
        "name": key,
        "size": str(len(found.data)),
        "updated": f"{moment}.{int(found.modified * 1000) % 1000:03}Z",
        "generation": str(found.generation),
        "md5Hash": found.md5,
    }


def _described_blob(key: str, found: _Object) -> str:
    return (
        f"<Blob><Name>{escape(key)}</Name><Properties>"
        f"<Last-Modified>{formatdate(found.modified, usegmt=True)}</Last-Modified>"
        f"<Etag>{found.generation}</Etag><Content-Length>{len(found.data)}</Content-Length>"
        f"<BlobType>BlockBlob</BlobType></Properties></Blob>"
    )


@contextmanager
def cloud_server(*buckets: str) -> Iterator[CloudServer]:
    """Serve with the given buckets."""
    served = CloudServer()
    served.buckets.update(buckets)
    with serving(served.server):
        yield served
