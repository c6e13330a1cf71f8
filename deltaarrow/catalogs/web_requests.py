"""HTTP for the clients of catalogs: requests without redirections, and checks of texts."""

import re
import urllib.parse
import urllib.request
from collections.abc import Iterable
from typing import Any, TypeGuard

from deltaarrow.display.redaction import redacted

__all__ = [
    "TRANSIENT",
    "checked_server",
    "checked_token",
    "is_whole",
    "one_line",
    "opener",
]

TRANSIENT = (0, 429, 502, 503, 504)
"""The statuses after which a question is asked again; 0 is a lost answer."""

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


def one_line(text: str, secrets: Iterable[str] = ()) -> str:
    """Return a short form of a server's text on one line, without secrets."""
    for secret in secrets:
        text = text.replace(secret, "***")
    text = _UNPRINTABLE.sub(" ", text).strip()
    return text if len(text) <= _LONGEST_MESSAGE else f"{text[:_LONGEST_MESSAGE]}..."


def is_whole(value: object) -> TypeGuard[int]:
    """Whether a value of JSON is a whole number."""
    return isinstance(value, int) and not isinstance(value, bool)
