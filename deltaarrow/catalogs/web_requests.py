"""The clients of catalogs: HTTP requests without redirections, limits of responses, checks of strings.

An answer that is longer than `MOST_BYTES` is refused. So is one that does not end: its headers and its body
have ten times the timeout of the request, and a second more for each 64 KiB that have come.
"""

import functools
import http.client
import io
import re
import socket
import time
import urllib.parse
import urllib.request
from collections.abc import Iterable
from typing import Any, TypeGuard

from deltaarrow.display.redaction import redacted
from deltaarrow.errors import StorageError

__all__ = [
    "MOST_BYTES",
    "TRANSIENT",
    "AnswerLimits",
    "bounded_handlers",
    "checked_server",
    "checked_token",
    "has_port",
    "is_whole",
    "one_line",
    "opener",
]

TRANSIENT = (0, 429, 502, 503, 504)
"""The statuses after which a question is asked again; 0 is a lost answer."""

MOST_BYTES = 512 << 20
"""The longest answer. The list of the files of a table with a million files may be so long."""

_TIMEOUTS = 10
_SLOWEST = 64 << 10
_TOKEN = re.compile(r"[\x21-\x7e]+")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f]+")
_LONGEST_MESSAGE = 300


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirection, which would carry the token to another server."""

    def redirect_request(self, *_: Any) -> None:
        return None


class AnswerLimits:
    """The limits of size and time of one answer, which begins now.

    The methods raise `StorageError`, which no client takes for a failure that passes.

    Args:
        host: the server, for errors.
        timeout: seconds to wait for the server.
        most: the maximum number of bytes; None for no limit but the timeout.
    """

    def __init__(self, host: str, timeout: float, most: int | None = MOST_BYTES) -> None:
        self._host, self._most, self._received = host, most, 0
        self._end = time.monotonic() + _TIMEOUTS * timeout

    def ensure_in_time(self) -> None:
        """Raise an error if more bytes had to come by now."""
        if time.monotonic() > self._end + self._received / _SLOWEST:
            raise StorageError(
                f"the answer of {self._host} does not end: {self._received} bytes have come, and then too"
                " few; try again later, or give a longer timeout"
            )

    def count(self, received: int) -> None:
        """Add bytes that have come. Raise an error if they are too many."""
        self._received += received
        if self._most is not None and self._received > self._most:
            raise StorageError(
                f"the answer of {self._host} is longer than {self._most} bytes, which no client reads; ask"
                " for less, as by a condition on partition columns"
            )


class _BoundedReader(io.RawIOBase):
    """What a socket receives, within limits of size and time."""

    def __init__(self, raw: io.RawIOBase, limits: AnswerLimits) -> None:
        self._raw, self._limits = raw, limits

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._limits.ensure_in_time()
        count: int | None = self._raw.readinto(buffer)
        self._limits.count(count or 0)
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


class _BoundedResponse(http.client.HTTPResponse):
    def __init__(
        self, sock: socket.socket, *arguments: Any, host: str, most: int | None, **named: Any
    ) -> None:
        super().__init__(sock, *arguments, **named)
        limits = AnswerLimits(host, sock.gettimeout() or 60.0, most)
        # Headers are read from it too, so that these end as well.
        self.fp = io.BufferedReader(_BoundedReader(self.fp.detach(), limits))


def _connection(kind: Any, most: int | None, *arguments: Any, **named: Any) -> Any:
    connection = kind(*arguments, **named)
    connection.response_class = functools.partial(_BoundedResponse, host=connection.host, most=most)
    return connection


class _BoundedHttp(urllib.request.HTTPHandler):
    def __init__(self, most: int | None) -> None:
        super().__init__()
        self._most = most

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(functools.partial(_connection, http.client.HTTPConnection, self._most), req)


class _BoundedHttps(urllib.request.HTTPSHandler):
    def __init__(self, most: int | None) -> None:
        super().__init__()
        self._most = most

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        made = functools.partial(_connection, http.client.HTTPSConnection, self._most)
        return self.do_open(made, req)


def bounded_handlers(most: int | None = MOST_BYTES) -> tuple[urllib.request.BaseHandler, ...]:
    """Return the handlers of HTTP and HTTPS whose answers have limits of size and time.

    `most` is the maximum size of a response with its headers; None for no limit but the timeout.
    """
    return _BoundedHttp(most), _BoundedHttps(most)


def opener() -> urllib.request.OpenerDirector:
    """Return an opener that follows no redirection, and reads answers within limits of size and time."""
    return urllib.request.build_opener(_NoRedirect, *bounded_handlers())


def checked_server(url: str) -> str:
    """Return the address of a server without a slash at its end; `ValueError` if it is malformed."""
    parts = urllib.parse.urlsplit(url)
    is_web = parts.scheme in ("http", "https") and bool(parts.hostname) and has_port(parts)
    if not is_web or parts.query or parts.fragment:
        raise ValueError(f"{redacted(url)!r} is not the address of a server; write https://host")
    if parts.username is not None or parts.password is not None:
        raise ValueError(f"the address {redacted(url)!r} has a user or a password; give a token instead")
    return url.rstrip("/")


def has_port(parts: urllib.parse.SplitResult) -> bool:
    """Whether the port of an address is a number or left out; Python's own error would show what it is."""
    try:
        return parts.port is None or parts.port >= 0
    except ValueError:
        return False


def checked_token(token: object) -> str:
    """Return a token; `ValueError` if it is malformed."""
    if not isinstance(token, str) or _TOKEN.fullmatch(token) is None:
        raise ValueError("the token of the catalog must consist of printable ASCII characters without blanks")
    return token


def one_line(text: str, secrets: Iterable[str] = ()) -> str:
    """Return a server's message shortened to one line, without secrets."""
    for secret in secrets:
        text = text.replace(secret, "***")
    text = _UNPRINTABLE.sub(" ", text).strip()
    return text if len(text) <= _LONGEST_MESSAGE else f"{text[:_LONGEST_MESSAGE]}..."


def is_whole(value: object) -> TypeGuard[int]:
    """Whether a value of JSON is a whole number."""
    return isinstance(value, int) and not isinstance(value, bool)
