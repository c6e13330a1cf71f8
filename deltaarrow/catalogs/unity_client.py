"""Requests to a Unity Catalog server: JSON by HTTP, with retries, and errors that say what to do."""

import http.client
import json
import os
import random
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from deltaarrow.display.redaction import redacted
from deltaarrow.errors import DeltaError, StorageError, TableNotFoundError, VersionExistsError

__all__ = ["TOKEN_VARIABLE", "Answer", "UnityClient"]

TOKEN_VARIABLE = "UNITY_CATALOG_TOKEN"
"""The environment variable of the token."""

_ROOT = "/api/2.1/unity-catalog"
_ATTEMPTS = 5
_LONGEST_WAIT_S = 10.0
_MOST_BYTES = 256 << 20
_TRANSIENT = (0, 429, 502, 503, 504)
_OF_COMMITS = ("ResourceExhaustedException",)
_RIGHTS = {
    "GET": "SELECT on the table",
    "POST": "SELECT and MODIFY on the table, or CREATE TABLE in its schema",
    "DELETE": "the ownership of the table",
}
_TOKEN = re.compile(r"[\x21-\x7e]+")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f]+")
_LONGEST_MESSAGE = 300


class Answer(NamedTuple):
    """What a server answered, or that it did not."""

    status: int
    """The status of HTTP; 0 if the answer was lost."""
    kind: str
    """The type of an error, such as ``ResourceExhaustedException``; empty if there is none."""
    told: str
    """What an error says, or why there is no answer; in one line, without the token."""
    body: dict[str, Any]
    """The JSON object of an answer that is no error."""


class UnityClient:
    """Asks one server.

    Args:
        url: the address of the server, without a path of its API.
        token: a token, a function that returns one, or None for that of the environment, if any.
        timeout: seconds to wait for the server.
        retry_delay: seconds before the second attempt; each further wait is twice as long.

    The client pickles without a token that was given as text. Raises `ValueError` for an address or a token
    that cannot be one.
    """

    def __init__(
        self, url: str, token: str | Callable[[], str] | None, timeout: float, retry_delay: float
    ) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ValueError(f"{redacted(url)!r} is no address of a server; write https://host")
        if parts.username is not None or parts.password is not None:
            raise ValueError(f"the address {redacted(url)!r} has a user or a password; give a token instead")
        self.url = url.rstrip("/").removesuffix(_ROOT)
        self.timeout = timeout
        self.retry_delay = retry_delay
        self._token = _checked(token) if isinstance(token, str) else token
        self._is_token_lost = False

    def __repr__(self) -> str:
        return f"UnityClient({self.url!r})"

    def __getstate__(self) -> dict[str, Any]:
        """Leave the text of a token out."""
        is_lost = self._is_token_lost or isinstance(self._token, str)
        return {
            **vars(self),
            "_token": None if isinstance(self._token, str) else self._token,
            "_is_token_lost": is_lost,
        }

    def get(self, path: tuple[str, ...], query: Mapping[str, str], subject: str) -> dict[str, Any]:
        """Return the JSON object at a path.

        Args:
            path: the names of the path below the root of the API, not encoded.
            query: the parameters.
            subject: what is asked for, for errors.

        Raises:
            TableNotFoundError: the server has no such table, schema or catalog.
            StorageError: the server refuses, cannot be reached, or sends no JSON object.
        """
        return self._taken(self._answer(path, query, subject), "GET", subject)

    def get_served(self, path: tuple[str, ...], subject: str) -> dict[str, Any] | None:
        """Return the JSON object at a path as `get` does; None for a table that the path does not serve."""
        answer = self._answer(path, {}, subject)
        return (
            None if answer.kind.startswith("UnsupportedTableFormat") else self._taken(answer, "GET", subject)
        )

    def _answer(self, path: tuple[str, ...], query: Mapping[str, str], subject: str) -> Answer:
        """Return the answer to a question, which is asked again after a transient failure."""
        for attempt in range(_ATTEMPTS):
            answer, after = self._ask("GET", path, query, None, subject)
            if answer.status not in _TRANSIENT or attempt == _ATTEMPTS - 1:
                break
            time.sleep(self._wait(attempt, after))
        return answer

    def send(
        self,
        method: str,
        path: tuple[str, ...],
        body: Mapping[str, Any] | None,
        subject: str,
        *,
        handled: Collection[int] = (),
    ) -> Answer:
        """Send a change, which is never repeated by itself, and return the answer.

        Args:
            method: ``POST`` or ``DELETE``.
            path: as for `get`.
            body: the JSON object to send; None for none.
            subject: what is changed, for errors.
            handled: the statuses that are returned; 0 stands for an answer that was lost. All others that
                say of an error raise.

        Raises the errors of `get`.
        """
        for attempt in range(_ATTEMPTS):
            answer, after = self._ask(method, path, {}, body, subject)
            # The server says that it is busy before it does anything.
            if answer.status != 429 or answer.kind in _OF_COMMITS or attempt == _ATTEMPTS - 1:
                break
            time.sleep(self._wait(attempt, after))
        if answer.status not in handled:
            self._taken(answer, method, subject)
        return answer

    def _ask(
        self,
        method: str,
        path: tuple[str, ...],
        query: Mapping[str, str],
        body: Mapping[str, Any] | None,
        subject: str,
    ) -> tuple[Answer, str | None]:
        """Return the answer to one request, and how long the server wants to be left alone."""
        text = "/".join(urllib.parse.quote(each, safe="") for each in path)
        url = f"{self.url}{_ROOT}/{text}" + (f"?{urllib.parse.urlencode(query)}" if query else "")
        token = self._current_token(subject)
        headers = {"Accept": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
        data = None if body is None else json.dumps(body).encode()
        if data is not None:
            headers["Content-Type"] = "application/json"
        request = urllib.request.Request(url, data=data, headers=headers, method=method)
        try:
            with _opener().open(request, timeout=self.timeout) as answer:
                found = answer.read(_MOST_BYTES + 1)
                status = answer.status
        except urllib.error.HTTPError as error:
            with error:
                kind, message = _told(error)
                told = _clean(f"{kind}: {message}".strip(": "), token)
                return Answer(error.code, kind, told, {}), error.headers.get("Retry-After")
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            return Answer(0, "", _clean(str(reason) or type(reason).__name__, token), {}), None
        try:
            # A deletion is answered by nothing at all.
            body = _parsed(found, subject) if found or method == "GET" else {}
        except StorageError as error:
            if method == "GET":
                raise
            return Answer(0, "", str(error), {}), None  # the change may have been made
        return Answer(status, "", "", body), None

    def _taken(self, answer: Answer, method: str, subject: str) -> dict[str, Any]:
        """Return the object of an answer; raise what an error means."""
        if 200 <= answer.status < 300:
            return answer.body
        if answer.status == 0:
            raise StorageError(f"cannot reach the catalog at {self.url} for {subject}: {answer.told}")
        raise self._refusal(answer, method, subject)

    def _wait(self, attempt: int, after: str | None) -> float:
        """Seconds before the next attempt; the server's own wish counts if it is a number of seconds."""
        if after is not None and after.isascii() and after.isdecimal():
            return min(float(after), _LONGEST_WAIT_S)
        delay: float = min(self.retry_delay * 2**attempt, _LONGEST_WAIT_S)
        return delay * random.uniform(0.5, 1.0)

    def _current_token(self, subject: str) -> str | None:
        if callable(self._token):
            return _checked(self._token())
        token = self._token or os.environ.get(TOKEN_VARIABLE)
        if not token and self._is_token_lost:
            raise StorageError(
                f"the token of the catalog at {self.url} is needed for {subject}, and it does not travel to"
                f" other processes: set {TOKEN_VARIABLE} there, or give UnityCatalog a function for the token"
            )
        return _checked(token) if token else None

    def _refusal(self, answer: Answer, method: str, subject: str) -> DeltaError:
        """Return the error that an answer of the server means."""
        status, kind = answer.status, answer.kind
        about = f"the catalog at {self.url}, asked for {subject}, answers {status}" + (
            f" ({answer.told})" if answer.told else ""
        )
        found: DeltaError
        if status == 401:
            found = StorageError(
                f"{about}: give UnityCatalog a token that is valid there, or set {TOKEN_VARIABLE}"
            )
        elif status == 403:
            found = StorageError(
                f"{about}: the token may not do that; ask for {_RIGHTS[method]}, and USE of its schema and"
                " catalog"
            )
        elif status == 409 and kind.startswith("AlreadyExists"):
            found = VersionExistsError(f"{about}: there is a table of that name already; choose another name")
        elif status == 404:
            found = TableNotFoundError(f"{about}: check the names of the catalog, the schema and the table")
        elif 300 <= status < 400:
            found = StorageError(f"{about}: redirections are not followed; give the address that it leads to")
        else:
            found = StorageError(about)
        return found


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirection, which would carry the token to another server."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _opener() -> urllib.request.OpenerDirector:
    return urllib.request.build_opener(_NoRedirect)


def _checked(token: object) -> str:
    if not isinstance(token, str) or _TOKEN.fullmatch(token) is None:
        raise ValueError("the token of the catalog must be a text of printable ASCII characters, no blanks")
    return token


def _parsed(data: bytes, subject: str) -> dict[str, Any]:
    if len(data) > _MOST_BYTES:
        raise StorageError(f"the catalog's answer about {subject} is longer than {_MOST_BYTES} bytes")
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise StorageError(f"the catalog's answer about {subject} is no JSON object; check its address")
    return found


def _told(error: urllib.error.HTTPError) -> tuple[str, str]:
    """The type and the message in the body of an error; empty where it has none."""
    try:
        body = json.loads(error.read(1 << 20))
    except (ValueError, RecursionError, OSError, http.client.HTTPException):
        return "", ""
    found = body.get("error") if isinstance(body, dict) else None
    if not isinstance(found, dict):
        return "", ""
    kind, message = found.get("type"), found.get("message")
    return kind if isinstance(kind, str) else "", message if isinstance(message, str) else ""


def _clean(text: str, token: str | None) -> str:
    """A text of the server on one line, short, and without the token."""
    if token:
        text = text.replace(token, "***")
    text = _UNPRINTABLE.sub(" ", text).strip()
    return text if len(text) <= _LONGEST_MESSAGE else f"{text[:_LONGEST_MESSAGE]}..."
