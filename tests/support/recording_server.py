"""A server that records requests and answers each as if S3, Google, Azure or a server of identities did."""

import contextlib
import datetime
import ipaddress
import json
import re
import ssl
import time
import urllib.parse
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

from tests.support.serving import serving

__all__ = ["BODY", "TOKEN", "Recorded", "RecordingServer", "certificate", "recording_server"]

BODY = b"found"
"""The content of every object."""
TOKEN = "token-of-the-server"
"""What a server of identities gives."""


class Recorded(NamedTuple):
    """A request, with the names of its headers in lower case, and the port of its connection."""

    method: str
    url: str
    headers: dict[str, str]
    body: bytes
    port: int

    @property
    def form(self) -> dict[str, str]:
        """The fields of a form in the body."""
        return dict(urllib.parse.parse_qsl(self.body.decode()))


class RecordingServer:
    """The requests so far, and the address."""

    def __init__(self, folder: Path | None) -> None:
        self.requests: list[Recorded] = []
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # it holds a body back for 40 ms

            def _handle(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                headers = {name.lower(): text for name, text in self.headers.items()}
                request = Recorded(self.command, self.path, headers, body, self.client_address[1])
                owner.requests.append(request)
                status, told, content = _answer(request)
                self.send_response(status)
                for name, text in {**told, "Content-Length": str(len(content))}.items():
                    self.send_header(name, text)
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(content)

            do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _handle

            def log_message(self, *arguments: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        if folder is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate(folder))
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        scheme = "http" if folder is None else "https"
        self.url = f"{scheme}://127.0.0.1:{self.server.server_address[1]}"


def _answer(request: Recorded) -> tuple[int, dict[str, str], bytes]:
    """The status, the headers and the body of an answer."""
    if "x-amz-target" in request.headers:
        return 200, {}, b'{"Items": [], "Count": 0}'
    if "/oauth2/" in request.url or "api-version=2019-08-01" in request.url:
        expires = int(time.time()) + 3600
        token = {"access_token": TOKEN, "token_type": "Bearer", "expires_in": 3600, "expires_on": expires}
        token["resource"] = "https://storage.azure.com"
        return 200, {"Content-Type": "application/json"}, json.dumps(token).encode()
    if "list-type=2" in request.url:
        return 200, {}, b"<ListBucketResult></ListBucketResult>"
    told = {"ETag": '"e"', "Last-Modified": "Tue, 24 Nov 2026 00:00:00 GMT", "x-ms-blob-type": "BlockBlob"}
    if request.method != "GET":
        return 201 if "x-ms-version" in request.headers else 200, told, b""
    if re.match("bytes=0-", request.headers.get("x-ms-range", "")):
        return 206, {**told, "Content-Range": f"bytes 0-{len(BODY) - 1}/{len(BODY)}"}, BODY
    return 200, told, BODY


def certificate(folder: Path) -> Path:
    """Return a file with a certificate for 127.0.0.1, signed by itself, and its key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(address, critical=False)
        .sign(key, hashes.SHA256())
    )
    encoding = serialization.Encoding.PEM
    form = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    file = folder / "certificate.pem"
    file.write_bytes(signed.public_bytes(encoding) + key.private_bytes(encoding, *form))
    return file


@contextlib.contextmanager
def recording_server(folder: Path | None = None) -> Iterator[RecordingServer]:
    """Serve while the block runs; with a folder by HTTPS, whose certificate is put there."""
    served = RecordingServer(folder)
    with serving(served.server):
        yield served
