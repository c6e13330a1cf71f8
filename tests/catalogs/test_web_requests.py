"""Answers of servers that are too long or do not end: no client waits for them or keeps them in memory."""

import contextlib
import socketserver
import struct
import time
import urllib.request
from types import SimpleNamespace

import pytest

from deltaarrow.catalogs import DeltaSharingCatalog, HiveCatalog, UnityCatalog
from deltaarrow.catalogs.hive import BoundedSocket
from deltaarrow.catalogs.sharing.download import download
from deltaarrow.catalogs.web_requests import AnswerLimits, bounded_handlers, opener
from deltaarrow.errors import StorageError
from tests.support.serving import serving

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
STREAMS = {
    "body": (HEAD + b"\r\n", b" "),
    "body with a length": (HEAD + b"Content-Length: 1000000\r\n\r\n", b" "),
    "chunks": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
    "headers": (HEAD, b"X: y\r\n"),
    "one header": (HEAD + b"X: ", b"y"),
    "error": (b"HTTP/1.1 400 Bad Request\r\n\r\n", b" "),
    "status": (b"", b"H"),
    # A reply by Thrift: a list of names, which has a million of them.
    "thrift": (
        struct.pack(">II17sI", 0x8001_0002, 17, b"get_all_databases", 0)
        + struct.pack(">BHBI", 15, 0, 11, 1_000_000),
        struct.pack(">I", 1) + b"a",
    ),
}


class Server(socketserver.ThreadingTCPServer):
    """Answers each request with a beginning, and then with one piece after the other until it is closed."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, begin, piece, pause):
        self.begin, self.piece, self.pause, self.requests = begin, piece, pause, 0
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.recv(1 << 16)
        self.server.requests += 1
        with contextlib.suppress(OSError):
            self.request.sendall(self.server.begin)
            while True:
                self.request.sendall(self.server.piece)
                time.sleep(self.server.pause)


def clients(url):
    """Questions that each client asks a server, with short timeouts."""
    profile = {"shareCredentialsVersion": 1, "endpoint": f"{url}/sharing", "bearerToken": "t"}
    oauth = {
        "shareCredentialsVersion": 2,
        "type": "oauth_client_credentials",
        "endpoint": f"{url}/sharing",
        "tokenEndpoint": f"{url}/token",
        "clientId": "a",
        "clientSecret": "b",
    }
    times = {"timeout": 0.1, "retry_delay": 0.0}
    return {
        "unity": lambda: UnityCatalog(url, "main", token="t", **times).namespaces(),
        "sharing": lambda: DeltaSharingCatalog(profile, "s", **times).namespaces(),
        "token": lambda: DeltaSharingCatalog(oauth, "s", **times).namespaces(),
        "profile": lambda: DeltaSharingCatalog(f"{url}/profile", "s", **times).namespaces(),
        "download": lambda: download(f"{url}/file", 0, 1000, "a file", 0.1, 0.0),
        "hive": lambda: HiveCatalog(url.replace("http", "thrift"), timeout=0.1).namespaces(),
    }


CASES = [
    *((stream, client) for stream in STREAMS if stream != "thrift" for client in ("unity", "sharing")),
    *(("body", client) for client in ("token", "profile", "download")),
    *(("headers", client) for client in ("token", "profile", "download")),
    ("thrift", "hive"),
]


@pytest.mark.parametrize(("stream", "client"), CASES)
def test_answer_that_does_not_end_is_given_up(stream, client):
    given_up = r"does not end|gives no token|cannot read the sharing profile"
    with Server(*STREAMS[stream], 0.02) as server, serving(server):
        ask = clients(server.url)[client]
        with pytest.raises(StorageError, match=given_up):
            ask()


@pytest.mark.parametrize("stream", ["body", "chunks"])
def test_answer_that_is_too_long_is_not_read_to_its_end(stream):
    begin, piece = STREAMS[stream]
    asked = urllib.request.build_opener(*bounded_handlers(100_000))
    with Server(begin, piece * 1000, 0) as server, serving(server):
        answer = asked.open(server.url, timeout=5)
        with pytest.raises(StorageError, match=r"127\.0\.0\.1.* is longer than 100000 bytes"):
            answer.read()


def test_metastore_sends_no_more_than_a_limit():
    socket = SimpleNamespace(read=lambda size: b"x" * size)
    bounded = BoundedSocket(socket, AnswerLimits("host", 5.0, most=100))
    assert len(bounded.read(100)) == 100
    with pytest.raises(StorageError, match="longer than 100 bytes"):
        bounded.read(1)


def test_slow_answer_that_goes_on_is_read():
    size = 3_000_000
    begin = HEAD + b"Content-Length: %d\r\n\r\n" % size
    with Server(begin, b" " * 100_000, 0.03) as server, serving(server):
        assert len(opener().open(server.url, timeout=1).read()) == size


@pytest.mark.slow
@pytest.mark.parametrize("client", ["unity", "sharing"])
def test_no_client_keeps_an_answer_without_an_end(client):
    with Server(STREAMS["body"][0], b'{"items": []}\n' * 100_000, 0) as server, serving(server):
        ask = clients(server.url)[client]
        with pytest.raises(StorageError, match="is longer than"):
            ask()
