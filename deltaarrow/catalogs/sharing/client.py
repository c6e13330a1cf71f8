"""Requests to a Delta Sharing server; the answers are JSON, or one JSON object per line.

All requests only read, so each one is repeated after a transient failure.
`deltaarrow.catalogs.sharing.messages` checks the answers.
"""

import http.client
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import orjson

from deltaarrow.catalogs.sharing.profile import SharingProfile
from deltaarrow.catalogs.web_requests import TRANSIENT, one_line, opener
from deltaarrow.errors import DeltaError, StorageError, TableNotFoundError
from deltaarrow.features import FEATURES, FeatureKind, Support
from deltaarrow.runtime.waits import ATTEMPTS, wait_seconds

__all__ = ["CAPABILITIES", "SharingAnswer", "SharingClient"]

CAPABILITIES = "delta-sharing-capabilities"
"""The header in which client and server state formats and features."""

_FEATURES = [
    name.lower()
    for feature in FEATURES.values()
    if feature.kind is FeatureKind.READER_WRITER and feature.read is Support.YES
    for name in (feature.name, *feature.also_named)
]
_ASKED = f"responseformat=delta,parquet;readerfeatures={','.join(_FEATURES)};includeendstreamaction=true"
_MOST_LIST_BYTES = 64 << 20
_MOST_PAGES = 1000


class SharingAnswer(NamedTuple):
    """The answer of the server about a table."""

    status: int
    """The status of HTTP; 0 if the answer was lost."""
    told: str
    """The message of an error on one line, without secrets."""
    lines: list[dict[str, Any]]
    """The JSON objects of an answer that is no error."""
    version: int | None
    """The version in the header ``Delta-Table-Version``."""
    capabilities: Mapping[str, str]
    """The capabilities that the server used, in lower case."""


class SharingClient:
    """Asks the server of a profile.

    Args:
        profile: the address and the credentials.
        timeout: seconds to wait for the server.
        retry_delay: seconds before the second attempt; each further wait is twice as long.
    """

    def __init__(self, profile: SharingProfile, timeout: float, retry_delay: float) -> None:
        self.profile = profile
        self.timeout = timeout
        self.retry_delay = retry_delay

    def names(self, path: tuple[str, ...], subject: str) -> list[str]:
        """Return the names in all pages of a list, in order; raises as `ask` does."""
        found: set[str] = set()
        page = ""
        for _ in range(_MOST_PAGES):
            query = {"pageToken": page} if page else {}
            told = (self.ask(path, subject, query=query).lines or [{}])[0]
            items = told.get("items")
            for each in items if isinstance(items, list) else ():
                name = each.get("name") if isinstance(each, dict) else None
                if isinstance(name, str) and name:
                    found.add(name)
            page = told.get("nextPageToken") or ""
            if not page:
                return sorted(found)
            if not isinstance(page, str):
                break
        raise StorageError(f"the sharing server's list of {subject} has more than {_MOST_PAGES} pages")

    def ask(
        self,
        path: tuple[str, ...],
        subject: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        handled: Collection[int] = (),
    ) -> SharingAnswer:
        """Return an answer.

        Args:
            path: the names of the path below the address of the server, not encoded.
            subject: the requested object, for error messages.
            query: the parameters.
            body: the JSON object to send by POST; None for a GET.
            handled: the statuses of errors that are returned; all others raise.

        Raises:
            TableNotFoundError: the server has no such share, schema or table.
            StorageError: the server refuses, cannot be reached, or sends no JSON.
        """
        is_renewed = False
        for attempt in range(ATTEMPTS):
            answer, after = self._ask(path, subject, query or {}, body)
            if answer.status == 401 and not is_renewed and self.profile.forget_lent_token():
                is_renewed = True
                continue
            if answer.status not in TRANSIENT or attempt == ATTEMPTS - 1:
                break
            time.sleep(wait_seconds(attempt, after, self.retry_delay))
        if answer.status not in handled and not 200 <= answer.status < 300:
            raise self._refusal(answer, subject)
        return answer

    def _ask(
        self, path: tuple[str, ...], subject: str, query: Mapping[str, str], body: Mapping[str, Any] | None
    ) -> tuple[SharingAnswer, str | None]:
        """The answer to one request, and how long the server wants to be left alone."""
        profile = self.profile
        text = "/".join(urllib.parse.quote(each, safe="") for each in path)
        url = f"{profile.endpoint}/{text}" + (f"?{urllib.parse.urlencode(query)}" if query else "")
        headers = {"Authorization": profile.authorization(), CAPABILITIES: _ASKED}
        data = None if body is None else json.dumps(body).encode()
        if data is not None:
            headers["Content-Type"] = "application/json; charset=utf-8"
        request = urllib.request.Request(url, data=data, headers=headers)
        try:
            with opener().open(request, timeout=self.timeout) as answer:
                status, told = answer.status, answer.headers
                lines = [line for each in answer if (line := each.strip())]
        except urllib.error.HTTPError as error:
            with error:
                said = one_line(_told(error), profile.secrets)
                return SharingAnswer(error.code, said, [], None, {}), error.headers.get("Retry-After")
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            said = one_line(str(reason) or type(reason).__name__, profile.secrets)
            return SharingAnswer(0, said, [], None, {}), None
        version = told.get("Delta-Table-Version", "")
        return SharingAnswer(
            status,
            "",
            _objects(lines, subject),
            int(version) if version.isascii() and version.isdecimal() else None,
            _capabilities(told.get(CAPABILITIES, "")),
        ), None

    def _refusal(self, answer: SharingAnswer, subject: str) -> DeltaError:
        status = answer.status
        server = self.profile.endpoint
        if status == 0:
            return StorageError(f"cannot reach the sharing server at {server} for {subject}: {answer.told}")
        about = f"the sharing server at {server}, asked for {subject}, answers {status}" + (
            f" ({answer.told})" if answer.told else ""
        )
        if status == 401:
            return StorageError(
                f"{about}: it refuses the credentials of the profile; get a new profile from the provider"
            )
        if status == 403:
            return StorageError(f"{about}: the profile has no permission to read it; ask the provider")
        if status == 404:
            return TableNotFoundError(f"{about}: check the names of the share, the schema and the table")
        if 300 <= status < 400:
            return StorageError(
                f"{about}: redirections are not followed; ask the provider for a profile of the other server"
            )
        return StorageError(about)


def _objects(lines: list[bytes], subject: str) -> list[dict[str, Any]]:
    try:
        found = [orjson.loads(line) for line in lines]
    except orjson.JSONDecodeError:
        found = None
    if found is None and sum(map(len, lines)) <= _MOST_LIST_BYTES:
        try:  # a list may be spread over lines
            found = [orjson.loads(b"\n".join(lines))]
        except orjson.JSONDecodeError:
            found = None
    if found is None or not all(isinstance(each, dict) for each in found):
        raise StorageError(
            f"the sharing server's answer about {subject} is not JSON; check the endpoint of the profile"
        )
    return found


def _capabilities(text: str) -> dict[str, str]:
    parts = (each.partition("=") for each in text.lower().split(";"))
    return {name.strip(): value.strip() for name, _, value in parts if name.strip()}


def _told(error: urllib.error.HTTPError) -> str:
    """The code and the message in the body of an error; empty where it has none."""
    try:
        body = orjson.loads(error.read(1 << 20))
    except (ValueError, OSError, http.client.HTTPException):
        return ""
    if not isinstance(body, dict):
        return ""
    texts = [each for key in ("errorCode", "message") if isinstance(each := body.get(key), str)]
    return ": ".join(texts)
