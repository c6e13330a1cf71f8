"""The profile file of a Delta Sharing recipient: chapter "Profile File Format" of the sharing protocol.

=============================  =======  ==========================================================
type                           version  the request has
=============================  =======  ==========================================================
``bearer_token``, or none      1, 2     the token of the profile, which may expire
``oauth_client_credentials``   2        a token that the token endpoint gives for the client secret
``basic``                      2        user and password
=============================  =======  ==========================================================

Other versions and types are refused by name. Neither `repr` nor pickles contain secrets. A process that
unpickles a profile reads its file again.
"""

import base64
import http.client
import json
import os
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from deltaarrow.catalogs.web_requests import checked_server, checked_token, one_line, opener
from deltaarrow.display.redaction import redacted
from deltaarrow.errors import StorageError, UnsupportedFeatureError
from deltaarrow.runtime.clock import Clock
from deltaarrow.runtime.fork_safety import Lock
from deltaarrow.storage import open_store

__all__ = ["SharingProfile"]

_MOST_BYTES = 1 << 20
_RENEWED_BEFORE_MS = 600_000
_KINDS = {1: ("bearer_token",), 2: ("bearer_token", "oauth_client_credentials", "basic")}


@dataclass(frozen=True)
class _Credentials:
    """The contents of a profile; strings that its kind does not have are empty."""

    endpoint: str
    kind: str
    token: str = ""
    expires_ms: int | None = None
    token_endpoint: str = ""
    user: str = ""
    password: str = ""
    scope: str = ""


class SharingProfile:
    """A profile, read on first use.

    Args:
        source: the path or URL of the profile file, or its JSON object.
        storage_options: options for the store of that URL.
        timeout: seconds to wait for a server.
        clock: the time, by which tokens expire.
    """

    def __init__(
        self,
        source: str | os.PathLike[str] | Mapping[str, Any],
        storage_options: Mapping[str, Any] | None,
        timeout: float,
        clock: Clock,
    ) -> None:
        self._place = None if isinstance(source, Mapping) else os.fspath(source)
        self._options = dict(storage_options or {})
        self._timeout, self._clock = timeout, clock
        self._known = _parsed(source) if isinstance(source, Mapping) else None
        self._endpoint = None if self._known is None else self._known.endpoint
        self._lent: tuple[str, int] | None = None
        self._lock = Lock()

    def __repr__(self) -> str:
        return f"SharingProfile({self.shown!r})"

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is secret; the options of its location stay, as for a table."""
        state = {**vars(self), "_known": None, "_lent": None}
        del state["_lock"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._lock = Lock()

    @property
    def shown(self) -> str:
        """The location of the profile, or the address of the server, without secrets."""
        return redacted(self._place or self._endpoint or "")

    @property
    def endpoint(self) -> str:
        """The address of the server, without a slash at the end."""
        if self._endpoint is None:
            self._endpoint = self._credentials.endpoint
        return self._endpoint

    @property
    def secrets(self) -> tuple[str, ...]:
        """The secret strings."""
        known = self._credentials
        found = [known.token, known.password]
        if known.kind == "basic":
            found.append(_basic(known))
        if self._lent is not None:
            found.append(self._lent[0])
        return tuple(each for each in found if each)

    def authorization(self) -> str:
        """Return the header ``Authorization`` of a request.

        Raises `StorageError` for a token that has expired, and if the token endpoint gives none.
        """
        known = self._credentials
        if known.kind == "basic":
            return f"Basic {_basic(known)}"
        if known.kind == "oauth_client_credentials":
            return f"Bearer {self._lent_token(known)}"
        if known.expires_ms is not None and known.expires_ms <= self._clock():
            when = datetime.fromtimestamp(known.expires_ms / 1000, UTC).isoformat(timespec="seconds")
            raise StorageError(
                f"the token of the sharing profile for {known.endpoint} expired at {when}; ask the provider"
                " for a new profile"
            )
        return f"Bearer {known.token}"

    def forget_lent_token(self) -> bool:
        """Forget the token from the token endpoint; return whether there was one."""
        with self._lock:
            had, self._lent = self._lent is not None, None
        return had

    @property
    def _credentials(self) -> _Credentials:
        with self._lock:
            if self._known is None:
                if self._place is None:
                    raise StorageError(
                        f"the secrets of the sharing profile for {self._endpoint} do not travel to other"
                        " processes: give DeltaSharingCatalog the path of a profile file, which is read there"
                    )
                self._known = _parsed(_loaded(self._place, self._options, self._timeout))
            return self._known

    def _lent_token(self, known: _Credentials) -> str:
        with self._lock:
            now = self._clock()
            if self._lent is None or now >= self._lent[1]:
                token, lifetime_ms = self._asked_token(known)
                self._lent = token, now + lifetime_ms - min(_RENEWED_BEFORE_MS, lifetime_ms // 2)
            return self._lent[0]

    def _asked_token(self, known: _Credentials) -> tuple[str, int]:
        """A token and its lifetime in milliseconds."""
        form = {"grant_type": "client_credentials", **({"scope": known.scope} if known.scope else {})}
        request = urllib.request.Request(
            known.token_endpoint,
            data=urllib.parse.urlencode(form).encode(),
            headers={
                "Accept": "application/json",
                "Authorization": f"Basic {_basic(known)}",
                "Content-Type": "application/x-www-form-urlencoded",
            },
        )
        try:
            with opener().open(request, timeout=self._timeout) as answer:
                told = json.loads(answer.read(_MOST_BYTES))
        except urllib.error.HTTPError as error:
            with error:
                raise self._no_token(
                    known, f"it answers {error.code}; check clientId and clientSecret"
                ) from None
        except (OSError, http.client.HTTPException, ValueError, RecursionError) as error:
            raise self._no_token(known, str(getattr(error, "reason", error))) from None
        token, lifetime = (
            (told.get("access_token"), told.get("expires_in")) if isinstance(told, dict) else (0, 0)
        )
        if isinstance(lifetime, str) and lifetime.isascii() and lifetime.isdecimal():
            lifetime = int(lifetime)
        if type(lifetime) is not int or lifetime <= 0 or not isinstance(token, str):
            raise self._no_token(known, "its answer has no access_token, or no expires_in")
        return checked_token(token), lifetime * 1000

    def _no_token(self, known: _Credentials, why: str) -> StorageError:
        said = one_line(why, (known.password, _basic(known)))
        return StorageError(
            f"the token endpoint {redacted(known.token_endpoint)} of the sharing profile gives no token:"
            f" {said}"
        )


def _basic(known: _Credentials) -> str:
    return base64.b64encode(f"{known.user}:{known.password}".encode()).decode()


def _loaded(place: str, options: Mapping[str, Any], timeout: float) -> object:
    """The JSON value of a profile file."""
    shown = redacted(place)
    try:
        data = _read(place, options, timeout)
    except FileNotFoundError:
        raise StorageError(f"there is no sharing profile at {shown}") from None
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise ValueError(f"the sharing profile at {shown} is no JSON object") from None


def _read(place: str, options: Mapping[str, Any], timeout: float) -> bytes:
    if place.startswith(("http://", "https://")):
        try:
            with opener().open(place, timeout=timeout) as answer:
                data: bytes = answer.read(_MOST_BYTES)
                return data
        except urllib.error.HTTPError as error:
            with error:
                why = f"the server answers {error.code}"
        except (OSError, http.client.HTTPException) as error:
            why = one_line(str(getattr(error, "reason", error)), (place,))
        raise StorageError(f"cannot read the sharing profile at {redacted(place)}: {why}")
    folder, slash, name = place.rpartition("/")
    root = folder if folder not in ("", "~") else folder + slash
    return open_store(root or ".", options).read(name)


def _parsed(told: object) -> _Credentials:
    """What a profile says; `ValueError` for one that is incomplete."""
    if not isinstance(told, Mapping):
        raise ValueError("a sharing profile is a JSON object")
    version = told.get("shareCredentialsVersion")
    if type(version) is not int or version not in _KINDS:
        raise UnsupportedFeatureError(
            f"the sharing profile has shareCredentialsVersion {version!r}; this release knows 1 and 2",
            feature="Delta Sharing",
        )
    kind = told.get("type", "bearer_token" if version == 1 else None)
    if kind not in _KINDS[version]:
        raise UnsupportedFeatureError(
            f"the sharing profile has the type {kind!r}; this release knows {', '.join(_KINDS[version])} in"
            f" version {version}",
            feature="Delta Sharing",
        )
    endpoint = checked_server(_text(told, "endpoint"))
    if kind == "basic":
        return _Credentials(endpoint, kind, user=_text(told, "username"), password=_text(told, "password"))
    if kind == "oauth_client_credentials":
        scope = told.get("scope")
        return _Credentials(
            endpoint,
            kind,
            token_endpoint=checked_server(_text(told, "tokenEndpoint")),
            user=_text(told, "clientId"),
            password=_text(told, "clientSecret"),
            scope=scope if isinstance(scope, str) else "",
        )
    token, expires = checked_token(_text(told, "bearerToken")), told.get("expirationTime")
    return _Credentials(endpoint, kind, token=token, expires_ms=None if expires is None else _moment(expires))


def _text(told: Mapping[str, Any], key: str) -> str:
    found = told.get(key)
    if not isinstance(found, str) or not found:
        raise ValueError(f"the sharing profile has no {key}")
    return found


def _moment(text: object) -> int:
    try:
        when = datetime.fromisoformat(str(text))
    except ValueError:
        raise ValueError(
            f"the expirationTime {text!r} of the sharing profile is no time of ISO 8601"
        ) from None
    when = when if when.tzinfo is not None else when.replace(tzinfo=UTC)
    return int(when.timestamp() * 1000)
