"""HTTP for the clients of catalogs: requests without redirections, waits, and checks of texts."""

import random
import re
import urllib.parse
import urllib.request
from collections.abc import Iterable
from typing import Any, TypeGuard

from deltaarrow.display.redaction import redacted

__all__ = [
    "ATTEMPTS",
    "TRANSIENT",
    "checked_server",
    "checked_token",
    "is_whole",
    "one_line",
    "opener",
    "wait_seconds",
]

ATTEMPTS = 5
"""How often a question is asked."""
TRANSIENT = (0, 429, 502, 503, 504)
"""The statuses after which a question is asked again; 0 is a lost answer."""

_LONGEST_WAIT_S = 10.0
_TOKEN = re.compile(r"[\x21-\x7e]+")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f]+")
_LONGEST_MESSAGE = 300


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirection, which would carry the token to another server."""

    def redirect_request(self, *_: Any) -> None:
        return None


def opener() -> urllib.request.OpenerDirector:
    """Return an opener that follows no redirection."""
    return urllib.request.build_opener(_NoRedirect)


def checked_server(url: str) -> str:
    """Return the address of a server without a slash at its end; `ValueError` if it is malformed."""
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ValueError(f"{redacted(url)!r} is not the address of a server; write https://host")
    if parts.username is not None or parts.password is not None:
        raise ValueError(f"the address {redacted(url)!r} has a user or a password; give a token instead")
    return url.rstrip("/")


def checked_token(token: object) -> str:
    """Return a token; `ValueError` if it is malformed."""
    if not isinstance(token, str) or _TOKEN.fullmatch(token) is None:
        raise ValueError("the token of the catalog must consist of printable ASCII characters without blanks")
    return token


def wait_seconds(attempt: int, after: str | None, retry_delay: float) -> float:
    """Return the seconds before the next attempt.

    Args:
        attempt: the number of the last one, from 0.
        after: the server's ``Retry-After``, which is used if it is a number of seconds.
        retry_delay: seconds before the second attempt; each further wait is twice as long.
    """
    if after is not None and after.isascii() and after.isdecimal():
        return min(float(after), _LONGEST_WAIT_S)
    delay: float = min(retry_delay * 2**attempt, _LONGEST_WAIT_S)
    return delay * random.uniform(0.5, 1.0)


def one_line(text: str, secrets: Iterable[str] = ()) -> str:
    """Return a short form of a server's text on one line, without secrets."""
    for secret in secrets:
        text = text.replace(secret, "***")
    text = _UNPRINTABLE.sub(" ", text).strip()
    return text if len(text) <= _LONGEST_MESSAGE else f"{text[:_LONGEST_MESSAGE]}..."


def is_whole(value: object) -> TypeGuard[int]:
    """Whether a value of JSON is a whole number."""
    return isinstance(value, int) and not isinstance(value, bool)
