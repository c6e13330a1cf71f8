"""Options of S3, in deltalake's spelling or s3fs's, as the arguments of ``s3fs.S3FileSystem``.

deltalake's are those of the Rust library object_store: for the server and the credentials, and for the HTTP
client. An option works, is known to have no effect here, or is refused with the reason.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from deltaarrow.display.near_names import did_you_mean
from deltaarrow.errors import StorageError

__all__ = ["asks_for_lock", "render_s3_options", "s3fs_options"]


def _text(key: str, value: Any) -> Any:
    return value


def _flag(key: str, value: Any) -> bool:
    text = str(value).lower()
    if text in ("true", "1", "yes", "on", "y"):
        return True
    if text in ("false", "0", "no", "off", "n"):
        return False
    raise StorageError(f"the storage option {key!r} must be true or false, and has neither value")


def _opposite(key: str, value: Any) -> bool:
    return not _flag(key, value)


def _addressing(key: str, value: Any) -> str:
    return "virtual" if _flag(key, value) else "path"


def _count(key: str, value: Any) -> int:
    text = str(value)
    if isinstance(value, bool) or not (text.isascii() and text.isdecimal()):
        raise StorageError(f"the storage option {key!r} must be a number, 0 or more, not {text!r}")
    return int(text)


_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}
_DURATION = re.compile(
    r"\s*([0-9]+(?:\.[0-9]+)?)\s*(ms|millis(?:econds?)?|s|secs?|seconds?|m|mins?|minutes?|h|hours?)?(?![a-z])\s*"
)


def _seconds(key: str, value: Any) -> float:
    """Seconds, from a number or a text such as ``30s`` or ``1m 30s``; a number alone means seconds."""
    text, place, total = str(value), 0, 0.0
    while place < len(text):
        found = _DURATION.match(text, place)
        if found is None:
            break
        unit = found[2] or "s"
        total += float(found[1]) * _SECONDS["ms" if unit.startswith(("ms", "mil")) else unit[0]]
        place = found.end()
    if not text.strip() or place < len(text) or isinstance(value, bool):
        raise StorageError(
            f"the storage option {key!r} must be a time such as '30s' or '5 minutes', not {text!r}"
        )
    return total


_ENCRYPTIONS = ("AES256", "aws:kms", "aws:kms:dsse")


def _encryption(key: str, value: Any) -> str:
    if value not in _ENCRYPTIONS:
        raise StorageError(
            f"the storage option {key!r} is one of {', '.join(_ENCRYPTIONS)}, not {value!r}; keys of"
            " customers are not supported"
        )
    return str(value)


def _retries(key: str, value: Any) -> dict[str, Any]:
    return {"max_attempts": _count(key, value)}


def _proxies(key: str, value: Any) -> dict[str, str]:
    return {"http": str(value), "https": str(value)}


class _Option(NamedTuple):
    """An option of deltalake: its place in the arguments of s3fs, and how its value is read.

    `names` are in lower case and without ``aws_``; `meaning` is for the documentation.
    """

    names: tuple[str, ...]
    place: tuple[str, ...]
    read: Callable[[str, Any], Any]
    meaning: str


_OPTIONS = (
    _Option(("access_key_id",), ("key",), _text, "credentials: the key"),
    _Option(("secret_access_key",), ("secret",), _text, "credentials: the secret"),
    _Option(("session_token", "token"), ("token",), _text, "credentials: the token of a session"),
    _Option(("profile",), ("profile",), _text, "a profile of `~/.aws`: its credentials, region and endpoint"),
    _Option(("skip_signature",), ("anon",), _flag, "`true`: anonymous access"),
    _Option(("region", "default_region"), ("client_kwargs", "region_name"), _text, "the region"),
    _Option(("endpoint_url", "endpoint"), ("endpoint_url",), _text, "a server with S3's interface"),
    _Option(
        ("virtual_hosted_style_request",),
        ("config_kwargs", "s3", "addressing_style"),
        _addressing,
        "`true`: the bucket stands in the name of the host",
    ),
    _Option(
        ("unsigned_payload",),
        ("config_kwargs", "s3", "payload_signing_enabled"),
        _opposite,
        "`true`: uploads are sent without a signature of their content",
    ),
    _Option(("request_payer",), ("requester_pays",), _flag, "`true`: the requester pays"),
    _Option(
        ("server_side_encryption",),
        ("s3_additional_kwargs", "ServerSideEncryption"),
        _encryption,
        "`AES256`, `aws:kms` or `aws:kms:dsse`",
    ),
    _Option(("sse_kms_key_id",), ("s3_additional_kwargs", "SSEKMSKeyId"), _text, "the key of `aws:kms`"),
    _Option(
        ("sse_bucket_key_enabled",),
        ("s3_additional_kwargs", "BucketKeyEnabled"),
        _flag,
        "`true`: the key of the bucket",
    ),
    _Option(
        ("default_content_type",),
        ("s3_additional_kwargs", "ContentType"),
        _text,
        "the content type of uploads",
    ),
    _Option(
        ("allow_invalid_certificates",),
        ("client_kwargs", "verify"),
        _opposite,
        "`true`: certificates are not checked",
    ),
    _Option(
        ("connect_timeout",),
        ("config_kwargs", "connect_timeout"),
        _seconds,
        "the longest time to connect, such as `5s`",
    ),
    _Option(
        ("timeout",),
        ("config_kwargs", "read_timeout"),
        _seconds,
        "the longest wait for an answer, such as `30s`",
    ),
    _Option(
        ("max_retries",),
        ("config_kwargs", "retries"),
        _retries,
        "how often a failed request is repeated",
    ),
    _Option(
        ("pool_idle_timeout",),
        ("config_kwargs", "connector_args", "keepalive_timeout"),
        _seconds,
        "how long an idle connection is kept, such as `90s`",
    ),
    _Option(("proxy_url",), ("config_kwargs", "proxies"), _proxies, "a proxy"),
    _Option(("user_agent",), ("config_kwargs", "user_agent"), _text, "the header of this name"),
)
_BY_NAME = {name: option for option in _OPTIONS for name in option.names}

_ALLOW_HTTP = "allow_http"

_OF_LOCKS = ("s3_locking_provider", "delta_dynamo_table_name")
"""Options of writers that commit under a lock in DynamoDB: a writer is warned that there is none."""

_WITHOUT_EFFECT = (
    *("s3_allow_unsafe_rename", "conditional_put", "copy_if_not_exists"),
    *("http1_only", "disable_tagging"),
)
"""How deltalake commits, and what s3fs does anyway: HTTP/1.1, and no tags."""

_CREDENTIALS = (("secret", "key", "AWS_ACCESS_KEY_ID"), ("key", "secret", "AWS_SECRET_ACCESS_KEY"))
"""Half of a pair of credentials, the other half, and the variable that may have it, as in deltalake."""

_HTTP2 = "s3fs speaks HTTP/1.1 only"
_ENVIRONMENT = "set the variable of this name, in upper case and with AWS_, in the environment instead"
_REFUSED = {
    "http2_only": _HTTP2,
    "http2_keep_alive_interval": _HTTP2,
    "http2_keep_alive_timeout": _HTTP2,
    "http2_keep_alive_while_idle": _HTTP2,
    "http2_max_frame_size": _HTTP2,
    "pool_max_idle_per_host": "s3fs limits all connections: config_kwargs={'max_pool_connections': 10}",
    "proxy_ca_certificate": "name a file: client_kwargs={'verify': '/path/ca.pem'}",
    "proxy_excludes": "set the variable NO_PROXY in the environment instead",
    "randomize_addresses": "s3fs takes the addresses in the order of the resolver",
    "retry_timeout": "give max_retries",
    "backoff_config.init_backoff": "give max_retries",
    "backoff_config.max_backoff": "give max_retries",
    "backoff_config.base": "give max_retries",
    "bucket": "the URI names the bucket",
    "bucket_name": "the URI names the bucket",
    "checksum_algorithm": "config_kwargs={'request_checksum_calculation': ...} is s3fs's",
    "container_authorization_token_file": _ENVIRONMENT,
    "container_credentials_full_uri": _ENVIRONMENT,
    "container_credentials_relative_uri": _ENVIRONMENT,
    "ec2_metadata_disabled": _ENVIRONMENT,
    "endpoint_url_dynamodb": "no lock is needed here",
    "endpoint_url_s3": "give AWS_ENDPOINT_URL",
    "disable_bulk_delete": "objects are deleted in requests for many of them",
    "imdsv1_fallback": "set AWS_EC2_METADATA_V1_DISABLED in the environment instead",
    "metadata_endpoint": "set AWS_EC2_METADATA_SERVICE_ENDPOINT in the environment instead",
    "role_arn": _ENVIRONMENT,
    "role_session_name": _ENVIRONMENT,
    "s3_express": "directory buckets are not supported",
    "sse_customer_key_base64": "keys of customers are not supported",
    "sts_endpoint": "set AWS_ENDPOINT_URL_STS in the environment instead",
    "web_identity_token_file": _ENVIRONMENT,
}
"""Options of deltalake that cannot be followed here -> why, or what to do."""

_OF_S3FS = (
    *("anon", "endpoint_url", "key", "secret", "token", "use_ssl", "client_kwargs", "requester_pays"),
    *("default_block_size", "default_fill_cache", "default_cache_type", "version_aware", "config_kwargs"),
    *("s3_additional_kwargs", "session", "username", "password", "cache_regions", "asynchronous", "loop"),
    *("max_concurrency", "fixed_upload_size", "local_expiry_check", "profile"),
    *("batch_size", "use_listings_cache", "listings_expiry_time", "max_paths", "skip_instance_cache"),
)


def s3fs_options(storage_options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of ``s3fs.S3FileSystem`` for the given options.

    deltalake's names (``AWS_ACCESS_KEY_ID``, ``aws_region``, ``timeout``, ...; upper or lower case) are
    translated; names of s3fs stay. Raises `StorageError` for an unknown name, for an option that cannot be
    followed, for a value without meaning, and for two options that disagree.

    >>> s3fs_options({"AWS_REGION": "eu-west-1", "timeout": "1m 30s"})["config_kwargs"]
    {'read_timeout': 90.0}
    """
    options: dict[str, Any] = {}
    translated: dict[tuple[str, ...], Any] = {}
    allow_http = True
    for key, given in storage_options.items():
        name = key.lower().removeprefix("aws_")
        option = _BY_NAME.get(name)
        if name == _ALLOW_HTTP:
            allow_http = _flag(key, given)
        elif option is not None:
            value = option.read(key, given)
            if translated.setdefault(option.place, value) != value:
                raise StorageError(
                    f"the storage option {key!r} disagrees with another of the same meaning; remove one of"
                    " them"
                )
        elif key in _OF_S3FS:
            options[key] = given
        elif name not in _WITHOUT_EFFECT + _OF_LOCKS:
            raise _refusal(key, name)
    for path, value in translated.items():
        _put(options, path, value)
    for given, missing, variable in _CREDENTIALS:
        if options.get(given) and not options.get(missing) and variable in os.environ:
            options[missing] = os.environ[variable]
    if not allow_http and str(options.get("endpoint_url", "")).lower().startswith("http://"):
        raise StorageError("the endpoint is http://, which the storage option allow_http forbids")
    # Parquet readers request the ranges that they need. With s3fs's default, reading one of four columns of a
    # 71 MiB file in ten row groups fetched 355 MiB instead of 18.
    options.setdefault("default_cache_type", "none")
    return options


def asks_for_lock(storage_options: Mapping[str, Any]) -> bool:
    """Whether options are those of a writer that commits under a lock in DynamoDB.

    >>> asks_for_lock({"AWS_S3_LOCKING_PROVIDER": "dynamodb"})
    True
    """
    names = {key.lower().removeprefix("aws_") for key, given in storage_options.items() if given}
    return not names.isdisjoint(_OF_LOCKS)


def _refusal(key: str, name: str) -> StorageError:
    if name in _REFUSED:
        return StorageError(f"the storage option {key!r} cannot be followed: {_REFUSED[name]}")
    spelled = [f"aws_{each}" for each in _BY_NAME] if key.lower().startswith("aws_") else [*_BY_NAME]
    known = [each.upper() for each in spelled] if key.isupper() else [*spelled, *_OF_S3FS]
    return StorageError(f"unknown storage option {key!r}{did_you_mean(key, known)}")


def _put(options: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    *outer, last = path
    for key in outer:
        # Copy, because the mapping may belong to the caller.
        options[key] = dict(options.get(key) or {})
        options = options[key]
    if options.setdefault(last, value) != value:
        raise StorageError(
            f"the storage option {'.'.join(path)!r} is given twice, with different values; remove one of them"
        )


_FIRST_OF_CLIENT = "default_content_type"
"""The first of `_OPTIONS` that concerns the HTTP client, and so has no ``aws_`` before its name."""


def render_s3_options() -> str:
    """The options of deltalake, as a Markdown table for the documentation."""

    def rows() -> Iterator[str]:
        yield "| Option | Meaning |"
        yield "|---|---|"
        is_of_client = False
        for option in _OPTIONS:
            is_of_client = is_of_client or option.names[0] == _FIRST_OF_CLIENT
            names = (each if is_of_client else f"AWS_{each.upper()}" for each in option.names)
            yield f"| {', '.join(f'`{each}`' for each in names)} | {option.meaning} |"
        yield f"| `{_ALLOW_HTTP}` | `false` refuses an endpoint with `http://` |"
        without = ", ".join(f"`{each}`" for each in sorted(_WITHOUT_EFFECT))
        yield f"| {without} | no effect: commits are conditional puts over HTTP/1.1, without tags |"
        locks = ", ".join(f"`{each}`" for each in sorted(_OF_LOCKS))
        yield f"| {locks} | no effect, and a warning where the table is written: commits take no lock |"
        for why in dict.fromkeys(_REFUSED.values()):
            refused = (f"`{each}`" for each in sorted(_REFUSED) if _REFUSED[each] == why)
            yield f"| {', '.join(refused)} | refused: {why} |"

    return "\n".join(rows())
