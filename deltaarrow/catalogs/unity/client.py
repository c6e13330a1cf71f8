"""Requests to a Unity Catalog server: JSON over HTTP, with retries, and errors that say what to do."""

import http.client
import json
import os
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from deltaarrow.catalogs.web_requests import TRANSIENT, checked_server, checked_token, one_line, opener
from deltaarrow.errors import DeltaError, StorageError, TableNotFoundError, VersionExistsError
from deltaarrow.runtime.waits import ATTEMPTS, wait_seconds

__all__ = ["TOKEN_VARIABLE", "Answer", "UnityClient"]

TOKEN_VARIABLE = "UNITY_CATALOG_TOKEN"
"""The environment variable of the token."""

_ROOT = "/api/2.1/unity-catalog"
_OF_COMMITS = ("ResourceExhaustedException",)
_RIGHTS = {
    "GET": "SELECT on the table",
    "POST": "SELECT and MODIFY on the table, or CREATE TABLE in its schema",
    "DELETE": "the ownership of the table",
}


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

    The client pickles without a token that is a string. Raises `ValueError` for an address or a token
    that cannot be one.
    """

    def __init__(
        self, url: str, token: str | Callable[[], str] | None, timeout: float, retry_delay: float
    ) -> None:
        self.url = checked_server(url).removesuffix(_ROOT)
        self.timeout = timeout
        self.retry_delay = retry_delay
        self._token = checked_token(token) if isinstance(token, str) else token
        self._is_token_lost = False

    def __repr__(self) -> str:
        return f"UnityClient({self.url!r})"

    def __getstate__(self) -> dict[str, Any]:
        """Omit the string of a token."""
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
        for attempt in range(ATTEMPTS):
            answer, after = self._ask("GET", path, query, None, subject)
            if answer.status not in TRANSIENT or attempt == ATTEMPTS - 1:
                break
            time.sleep(wait_seconds(attempt, after, self.retry_delay))
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
        for attempt in range(ATTEMPTS):
            answer, after = self._ask(method, path, {}, body, subject)
            # The server says that it is busy before it does anything.
            if answer.status != 429 or answer.kind in _OF_COMMITS or attempt == ATTEMPTS - 1:
                break
            time.sleep(wait_seconds(attempt, after, self.retry_delay))
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
        secrets = (token,) if token else ()
        headers = {"Accept": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
        data = None if body is None else json.dumps(body).encode()
        if data is not None:
            headers["Content-Type"] = "application/json"
        request = urllib.request.Request(url, data=data, headers=headers, method=method)
        try:
            with opener().open(request, timeout=self.timeout) as answer:
                found = answer.read()
                status = answer.status
        except urllib.error.HTTPError as error:
            with error:
                kind, message = _told(error)
                told = one_line(f"{kind}: {message}".strip(": "), secrets)
                return Answer(error.code, kind, told, {}), error.headers.get("Retry-After")
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            return Answer(0, "", one_line(str(reason) or type(reason).__name__, secrets), {}), None
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

    def _current_token(self, subject: str) -> str | None:
        if callable(self._token):
            return checked_token(self._token())
        token = self._token or os.environ.get(TOKEN_VARIABLE)
        if not token and self._is_token_lost:
            raise StorageError(
                f"the token of the catalog at {self.url} is needed for {subject}, and it does not travel to"
                f" other processes: set {TOKEN_VARIABLE} there, or give UnityCatalog a function for the token"
            )
        return checked_token(token) if token else None

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


def _parsed(data: bytes, subject: str) -> dict[str, Any]:
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
    body = body if isinstance(body, dict) else {}
    found = body.get("error")
    # The lists of schemas and tables have another form of errors than the API for Delta.
    found = found if isinstance(found, dict) else {**body, "type": body.get("error_code")}
    kind, message = found.get("type"), found.get("message")
    return kind if isinstance(kind, str) else "", message if isinstance(message, str) else ""
