"""Options of Google Cloud Storage, in deltalake's spelling or gcsfs's, as the arguments of gcsfs."""

import json
import os
from collections.abc import Mapping
from typing import Any

from deltaarrow.errors import StorageError
from deltaarrow.storage.option_table import BACKOFF, HTTP2, Option, OptionTable, as_flag, as_seconds, as_text

__all__ = ["GCS_OPTIONS", "gcsfs_options"]

_SERVICE_ACCOUNT, _SERVICE_ACCOUNT_KEY, _BEARER_TOKEN, _ANONYMOUS = "file", "key", "bearer", "anonymous"

_PARTS_OF_KEY = ("client_email", "private_key", "token_uri")
"""What google-auth needs of the key of a service account."""

_PARTS_OF_USER = ("client_id", "client_secret", "refresh_token")
"""What it needs of the credentials that `gcloud` stores for a user."""


def _key(key: str, value: Any) -> dict[str, Any]:
    try:
        found = json.loads(value) if isinstance(value, str) else dict(value)
    except (TypeError, ValueError):
        found = None
    if not isinstance(found, dict):
        # The value is a secret, so the error neither shows it nor has a cause that does.
        raise StorageError(f"the storage option {key!r} must be the JSON text of a service account") from None
    missing = [name for name in _PARTS_OF_KEY if not found.get(name)]
    is_of_user = all(found.get(name) for name in _PARTS_OF_USER)
    if missing and not is_of_user and not found.get("disable_oauth"):
        raise StorageError(
            f"the credentials in {key!r} lack {' and '.join(missing)}; take the whole JSON text of the key"
            " file that Google gives for a service account"
        )
    return found


_OPTIONS = (
    Option(
        ("service_account", "service_account_path"),
        (_SERVICE_ACCOUNT,),
        as_text,
        "credentials: the file of a service account",
        True,
    ),
    Option(
        ("service_account_key",),
        (_SERVICE_ACCOUNT_KEY,),
        _key,
        "credentials: the JSON text of a service account",
        True,
    ),
    Option(
        ("application_credentials",),
        (_SERVICE_ACCOUNT,),
        as_text,
        "credentials: a file of the command `gcloud`, or of a service account",
        True,
    ),
    Option(("bearer_token",), (_BEARER_TOKEN,), as_text, "credentials: a token, which is not renewed", True),
    Option(("skip_signature",), (_ANONYMOUS,), as_flag, "`true`: anonymous access", True),
    Option(("base_url",), ("endpoint_url",), as_text, "a server with Google's interface"),
)

_CLIENT_OPTIONS = (
    Option(("timeout",), ("timeout",), as_seconds, "the longest time that a request may take, such as `30s`"),
    Option(
        ("connect_timeout",), ("connect_timeout",), as_seconds, "the longest time to connect, such as `5s`"
    ),
    Option(("proxy_url",), ("session_kwargs", "proxy"), as_text, "a proxy"),
)

_WITHOUT_EFFECT = dict.fromkeys(
    ("http1_only", "conditional_put", "copy_if_not_exists"),
    ": commits are puts on the condition of generation 0, over HTTP/1.1",
)

_HTTP2 = "gcsfs speaks HTTP/1.1 only"
_RETRIES = "gcsfs repeats a failed request five times"
_REFUSED = {
    "allow_invalid_certificates": "set the variable SSL_CERT_FILE to the server's certificate instead",
    **dict.fromkeys(HTTP2, _HTTP2),
    "max_retries": _RETRIES,
    **dict.fromkeys(BACKOFF, _RETRIES),
    "bucket": "the URI names the bucket",
    "bucket_name": "the URI names the bucket",
    "default_content_type": "objects are written as application/octet-stream",
    "pool_idle_timeout": "gcsfs keeps idle connections for 15 seconds",
    "pool_max_idle_per_host": "gcsfs does not limit idle connections",
    "proxy_ca_certificate": "set the variable SSL_CERT_FILE in the environment instead",
    "proxy_excludes": "give proxy_url for the tables that need it only",
    "randomize_addresses": "gcsfs takes the addresses in the order of the resolver",
    "user_agent": "gcsfs sends a header of its own",
}

_OF_GCSFS = (
    *("project", "access", "token", "consistency", "requests_timeout", "requester_pays", "session_kwargs"),
    *("endpoint_url", "cache_timeout", "use_listings_cache", "listings_expiry_time", "skip_instance_cache"),
)

GCS_OPTIONS = OptionTable(
    prefixes=("google_",),
    of_service=_OPTIONS,
    of_client=_CLIENT_OPTIONS,
    without_effect=_WITHOUT_EFFECT,
    refused=_REFUSED,
    of_library=_OF_GCSFS,
    endpoint=("endpoint_url",),
)


def gcsfs_options(storage_options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of gcsfs's file system for the given options and the environment's variables.

    deltalake's names (``GOOGLE_SERVICE_ACCOUNT``, ``service_account_key``, ...; upper or lower case) are
    translated; names of gcsfs stay. Without credentials gcsfs looks for those of the command ``gcloud`` and
    of the machine. Raises `StorageError` for an unknown name, for an option that cannot be followed, for a
    value without meaning, and for two options that disagree.

    >>> gcsfs_options({"GOOGLE_SKIP_SIGNATURE": "true", "base_url": "http://127.0.0.1:4443"})["token"]
    'anon'
    """
    options = GCS_OPTIONS.read(storage_options, os.environ)
    token = _token(options)
    if token is not None and options.setdefault("token", token) != token:
        raise StorageError("the storage option 'token' is one of several credentials; give one of them")
    session = dict(options.pop("session_kwargs", None) or {})
    timeouts = {"total": options.pop("timeout", None), "sock_connect": options.pop("connect_timeout", None)}
    given = {name: seconds for name, seconds in timeouts.items() if seconds is not None}
    if given:
        import aiohttp

        session["timeout"] = aiohttp.ClientTimeout(**given)
    if session:
        options["session_kwargs"] = session
    for name in ("cache_timeout", "use_listings_cache", "listings_expiry_time"):
        options.pop(name, None)  # a cached listing would hide the commits of other writers
    return options


def _token(options: dict[str, Any]) -> Any:
    """The credentials as gcsfs takes them: a file, a mapping or ``anon``; None without any.

    As in deltalake, a service account may say where a server for tests is, which needs no credentials.
    """
    file, found = options.pop(_SERVICE_ACCOUNT, None), options.pop(_SERVICE_ACCOUNT_KEY, None)
    bearer, is_anonymous = options.pop(_BEARER_TOKEN, None), options.pop(_ANONYMOUS, False)
    if sum(each is not None for each in (file, found, bearer)) + bool(is_anonymous) > 1:
        raise StorageError("several credentials of Google Cloud Storage are given; give one of them")
    if is_anonymous:
        return "anon"
    if bearer is not None:
        from google.oauth2.credentials import Credentials

        return Credentials(bearer)
    if file is not None:
        found = _read(str(file))
    if found is None:
        return None
    if found.get("disable_oauth"):
        options.setdefault("endpoint_url", found.get("gcs_base_url"))
        return "anon"
    return str(file) if file is not None else found


def _read(file: str) -> dict[str, Any]:
    try:
        with open(file, encoding="utf-8") as opened:  # noqa: PTH123  pathlib takes long to load
            text = opened.read()
    except OSError as error:
        raise StorageError(f"cannot read the credentials in {file!r}: {error.strerror}") from error
    return _key(file, text)
