"""A proxy in front of an S3 server that loses requests or their answers and records the requests.

`FAULTS` are what can go wrong here and in `tests.support.cloud_server`.
"""

import http.client
import socket
import struct
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, NamedTuple

from tests.support.serving import serving

__all__ = ["FAULTS", "STATUSES", "Fault", "FaultyServer", "Request", "faulty_server", "reset", "shortened"]

Fault = (
    Literal["lost request", "lost answer", "refused", "busy", "throttled", "broken", "reset", "cut off"]
    | None
)

STATUSES = {"refused": 403, "busy": 503, "throttled": 429, "broken": 500}
"""A fault -> the status of the answer that the server gives instead of its own."""
FAULTS = ("lost request", "lost answer", "busy", "throttled", "broken", "reset", "cut off")
"""Those that pass."""
_CODES = {503: "SlowDown", 429: "TooManyRequests", 500: "InternalError"}


def reset(handler: BaseHTTPRequestHandler) -> None:
    """End the connection by a reset."""
    handler.close_connection = True
    # The time to linger is 0 seconds.
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()


def shortened(handler: BaseHTTPRequestHandler, body: bytes) -> bytes:
    """Return the first half of a body that is cut off; the connection ends after it."""
    handler.close_connection = True
    return body[: len(body) // 2]


class Request(NamedTuple):
    """A request, by its method, the key of the object, and whether it lists objects."""

    method: str
    key: str
    is_listing: bool

    @property
    def version(self) -> int | None:
        """The version of the commit file that it is about; None if it is about another object."""
        name = self.key.rpartition("/_delta_log/")[2]
        return int(name[:20]) if name[20:] == ".json" and name[:20].isdigit() else None

    def is_commit(self) -> bool:
        """Whether it puts a commit file."""
        return self.method == "PUT" and self.version is not None


class FaultyServer:
    """What goes wrong is what `fault` says of a request; None lets it pass.

    With `ignores_conditions` it is a server that puts objects whatever their condition is.
    """

    def __init__(self, options: dict[str, Any]) -> None:
        self.requests: list[Request] = []
        self.signers: list[tuple[str, str]] = []
        """The clients of the requests, and the keys that they signed them with."""
        self.fault: Callable[[Request], Fault] = lambda request: None
        self.ignores_conditions = False
        self._target = urllib.parse.urlsplit(options["AWS_ENDPOINT_URL"]).netloc
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # it holds a body back for 40 ms

            def _pass_on(self) -> None:
                owner._handle(self)

            do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _pass_on

            def log_message(self, *arguments: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        # The client's own retries would take seconds, and the store's are the same to it.
        self.options = {
            **options,
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.server.server_address[1]}",
            "config_kwargs": {"retries": {"mode": "standard", "total_max_attempts": 1}},
        }

    def _handle(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        url = urllib.parse.urlsplit(handler.path)
        key = urllib.parse.unquote(url.path).lstrip("/").partition("/")[2]
        request = Request(handler.command, key, "list-type=2" in url.query)
        self.requests.append(request)
        signed = handler.headers.get("Authorization", "").partition("Credential=")[2].partition("/")[0]
        self.signers.append((handler.headers.get("User-Agent", "").partition("/")[0], signed))
        fault = self.fault(request)
        if fault == "lost request":
            handler.close_connection = True
            return
        if fault == "reset":
            reset(handler)
            return
        if fault in STATUSES:
            status = STATUSES[fault]
            code = _CODES.get(status, "")
            body = f"<Error><Code>{code}</Code><Message>{fault}</Message></Error>".encode() if code else b""
            handler.send_response(status)
            handler.send_header("Content-Length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body if handler.command != "HEAD" else b"")
            return
        headers = dict(handler.headers)
        if self.ignores_conditions:
            headers.pop("If-None-Match", None)
        connection = http.client.HTTPConnection(self._target)
        connection.request(handler.command, handler.path, body, headers)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        if fault == "lost answer":
            handler.close_connection = True
            return
        handler.send_response_only(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("connection", "transfer-encoding", "content-length"):
                handler.send_header(name, value)
        length = answer.getheader("Content-Length") if handler.command == "HEAD" else str(len(content))
        handler.send_header("Content-Length", length or "0")
        handler.end_headers()
        handler.wfile.write(shortened(handler, content) if fault == "cut off" else content)


@contextmanager
def faulty_server(options: dict[str, Any]) -> Iterator[FaultyServer]:
    """Serve in front of the server that deltalake's `options` lead to; `FaultyServer.options` lead here."""
    proxy = FaultyServer(options)
    with serving(proxy.server):
        yield proxy
