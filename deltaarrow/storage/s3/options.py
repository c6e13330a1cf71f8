"""Options of S3, in deltalake's spelling or s3fs's, as the arguments of ``s3fs.S3FileSystem``."""

import os
from collections.abc import Mapping
from typing import Any

from deltaarrow.errors import StorageError
from deltaarrow.storage.option_table import (
    BACKOFF,
    HTTP2,
    Option,
    OptionTable,
    as_count,
    as_flag,
    as_opposite,
    as_proxies,
    as_seconds,
    as_text,
)

__all__ = ["LOCK", "LOCK_VARIABLES", "S3_OPTIONS", "s3_arguments", "s3fs_options"]

LOCK = "lock"
"""The place of the options of commits under a lock; see `deltaarrow.storage.commit_lock.lock_settings`."""
LOCK_VARIABLES = {
    "provider": "AWS_S3_LOCKING_PROVIDER",
    "table": "DELTA_DYNAMO_TABLE_NAME",
    "endpoint": "AWS_ENDPOINT_URL_DYNAMODB",
    "region": "AWS_REGION_DYNAMODB",
    "key": "AWS_ACCESS_KEY_ID_DYNAMODB",
    "secret": "AWS_SECRET_ACCESS_KEY_DYNAMODB",
    "token": "AWS_SESSION_TOKEN_DYNAMODB",
}
"""Option of the lock -> the variable of the environment that has it where no option does."""

_SCHEMES = ("s3", "s3a", "s3n")
_ENCRYPTIONS = ("AES256", "aws:kms", "aws:kms:dsse")


def _encryption(key: str, value: Any) -> str:
    if value not in _ENCRYPTIONS:
        raise StorageError(
            f"the storage option {key!r} is one of {', '.join(_ENCRYPTIONS)}, not {value!r}; keys of"
            " customers are not supported"
        )
    return str(value)


def _addressing(key: str, value: Any) -> str:
    return "virtual" if as_flag(key, value) else "path"


def _payer(key: str, value: Any) -> bool:
    return str(value).lower() == "requester" or as_flag(key, value)


def _provider(key: str, value: Any) -> str:
    if str(value).lower() != "dynamodb":
        raise StorageError(
            f"the storage option {key!r} must be 'dynamodb', the only kind of lock, not {value!r}"
        )
    return "dynamodb"


def _scheme(key: str, value: Any) -> str:
    if value not in _SCHEMES:
        raise StorageError(f"the storage option {key!r} is one of {', '.join(_SCHEMES)}, not {value!r}")
    return str(value)


def _retries(key: str, value: Any) -> dict[str, Any]:
    return {"max_attempts": as_count(key, value)}


def _of_spark(name: str) -> tuple[str, ...]:
    """The names of a setting of Spark's log store, as its configuration spells them."""
    return tuple(f"{prefix}io.delta.storage.S3DynamoDBLogStore.{name}" for prefix in ("spark.", ""))


_OPTIONS = (
    Option(("access_key_id",), ("key",), as_text, "credentials: the key", True),
    Option(("secret_access_key",), ("secret",), as_text, "credentials: the secret", True),
    Option(("session_token", "token"), ("token",), as_text, "credentials: the token of a session", True),
    Option(
        ("profile",),
        ("profile",),
        as_text,
        "a profile of `~/.aws`: its credentials, region and endpoint",
        True,
    ),
    Option(("skip_signature",), ("anon",), as_flag, "`true`: anonymous access", True),
    Option(("region", "default_region"), ("client_kwargs", "region_name"), as_text, "the region"),
    Option(("endpoint_url", "endpoint"), ("endpoint_url",), as_text, "a server with S3's interface"),
    Option(
        ("virtual_hosted_style_request",),
        ("config_kwargs", "s3", "addressing_style"),
        _addressing,
        "`true`: the bucket stands in the name of the host",
    ),
    Option(
        ("unsigned_payload",),
        ("config_kwargs", "s3", "payload_signing_enabled"),
        as_opposite,
        "`true`: uploads are sent without a signature of their content",
    ),
    Option(("request_payer",), ("requester_pays",), _payer, "`true` or `requester`: the requester pays"),
    Option(
        ("server_side_encryption",),
        ("s3_additional_kwargs", "ServerSideEncryption"),
        _encryption,
        "`AES256`, `aws:kms` or `aws:kms:dsse`",
    ),
    Option(("sse_kms_key_id",), ("s3_additional_kwargs", "SSEKMSKeyId"), as_text, "the key of `aws:kms`"),
    Option(
        ("sse_bucket_key_enabled",),
        ("s3_additional_kwargs", "BucketKeyEnabled"),
        as_flag,
        "`true`: the key of the bucket",
    ),
    Option(("s3_locking_provider",), (LOCK, "provider"), _provider, "`dynamodb`: commits under its lock"),
    Option(
        ("endpoint_url_dynamodb",),
        (LOCK, "endpoint"),
        as_text,
        "a server with DynamoDB's interface; by default that of S3",
    ),
    Option(
        ("region_dynamodb", *_of_spark("ddb.region")),
        (LOCK, "region"),
        as_text,
        "the region of DynamoDB; by default that of S3",
    ),
    Option(
        ("access_key_id_dynamodb",),
        (LOCK, "key"),
        as_text,
        "credentials for DynamoDB: the key; by default those of S3",
    ),
    Option(
        ("secret_access_key_dynamodb",), (LOCK, "secret"), as_text, "credentials for DynamoDB: the secret"
    ),
    Option(("session_token_dynamodb",), (LOCK, "token"), as_text, "credentials for DynamoDB: the token"),
)
_CLIENT_OPTIONS = (
    Option(
        ("delta_dynamo_table_name", *_of_spark("ddb.tableName")),
        (LOCK, "table"),
        as_text,
        "the table of the lock in DynamoDB; `delta_log` by default",
    ),
    Option(
        ("delta_dynamo_ttl_seconds", *_of_spark("ddb.ttl")),
        (LOCK, "ttl_seconds"),
        as_count,
        "how long DynamoDB keeps the entry of a commit, in seconds; a day by default",
    ),
    Option(
        ("delta_dynamo_scheme",),
        (LOCK, "scheme"),
        _scheme,
        "`s3` or `s3a`: the scheme by which all writers name the table; by default that of the location",
    ),
    Option(
        ("default_content_type",),
        ("s3_additional_kwargs", "ContentType"),
        as_text,
        "the content type of uploads",
    ),
    Option(
        ("allow_invalid_certificates",),
        ("client_kwargs", "verify"),
        as_opposite,
        "`true`: certificates are not checked",
    ),
    Option(
        ("connect_timeout",),
        ("config_kwargs", "connect_timeout"),
        as_seconds,
        "the longest time to connect, such as `5s`",
    ),
    Option(
        ("timeout",),
        ("config_kwargs", "read_timeout"),
        as_seconds,
        "the longest wait for an answer, such as `30s`",
    ),
    Option(
        ("max_retries",),
        ("config_kwargs", "retries"),
        _retries,
        "how often a failed request is repeated",
    ),
    Option(
        ("pool_idle_timeout",),
        ("config_kwargs", "connector_args", "keepalive_timeout"),
        as_seconds,
        "how long an idle connection is kept, such as `90s`",
    ),
    Option(("proxy_url",), ("config_kwargs", "proxies"), as_proxies, "a proxy"),
    Option(("user_agent",), ("config_kwargs", "user_agent"), as_text, "the header of this name"),
)
_WITHOUT_EFFECT = {
    **dict.fromkeys(
        (
            *("s3_allow_unsafe_rename", "conditional_put", "copy_if_not_exists"),
            *("http1_only", "disable_tagging"),
        ),
        ": commits are conditional puts over HTTP/1.1, without tags",
    ),
    **dict.fromkeys(
        ("delta_dynamo_billing_mode", "delta_dynamo_max_elapsed_request_time"),
        ": the lock table is not created here, and max_retries limits the attempts",
    ),
}
"""How deltalake commits, and what s3fs does anyway: HTTP/1.1, and no tags."""

_CREDENTIALS = (("secret", "key", "AWS_ACCESS_KEY_ID"), ("key", "secret", "AWS_SECRET_ACCESS_KEY"))
"""Half of a pair of credentials, the other half, and the variable that may have it, as in deltalake."""

_HTTP2 = "s3fs speaks HTTP/1.1 only"
_ENVIRONMENT = "set the variable of this name, in upper case and with AWS_, in the environment instead"
_REFUSED = {
    **dict.fromkeys(HTTP2, _HTTP2),
    "pool_max_idle_per_host": "s3fs limits all connections: config_kwargs={'max_pool_connections': 10}",
    "proxy_ca_certificate": "name a file: client_kwargs={'verify': '/path/ca.pem'}",
    "proxy_excludes": "set the variable NO_PROXY in the environment instead",
    "randomize_addresses": "s3fs takes the addresses in the order of the resolver",
    **dict.fromkeys(BACKOFF, "give max_retries"),
    "bucket": "the URI names the bucket",
    "bucket_name": "the URI names the bucket",
    "checksum_algorithm": "config_kwargs={'request_checksum_calculation': ...} is s3fs's",
    "container_authorization_token_file": _ENVIRONMENT,
    "container_credentials_full_uri": _ENVIRONMENT,
    "container_credentials_relative_uri": _ENVIRONMENT,
    "ec2_metadata_disabled": _ENVIRONMENT,
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


_OF_BOTOCORE = (
    *("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_TOKEN", "AWS_PROFILE"),
    *("AWS_ENDPOINT_URL", "AWS_DEFAULT_REGION"),
)
"""Variables that botocore reads itself, or reads instead, together with files and its own rules."""


def _environment() -> dict[str, str]:
    """The variables that give options of S3, but for those of botocore and of the lock."""
    found = {name: value for name, value in os.environ.items() if name.upper().startswith("AWS_")}
    has_endpoint = any(found.get(name) for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"))
    others = {*_OF_BOTOCORE, *LOCK_VARIABLES.values(), *(("AWS_ENDPOINT",) if has_endpoint else ())}
    return {name: value for name, value in found.items() if name not in others}


S3_OPTIONS = OptionTable(
    prefixes=("aws_",),
    of_service=_OPTIONS,
    of_client=_CLIENT_OPTIONS,
    without_effect=_WITHOUT_EFFECT,
    refused=_REFUSED,
    of_library=_OF_S3FS,
    endpoint=("endpoint_url",),
)


def s3fs_options(storage_options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of ``s3fs.S3FileSystem`` for the given options.

    deltalake's names (``AWS_ACCESS_KEY_ID``, ``aws_region``, ``timeout``, ...; upper or lower case) are
    translated; names of s3fs stay. Raises `StorageError` for an unknown name, for an option that cannot be
    followed, for a value without meaning, and for two options that disagree.

    >>> s3fs_options({"AWS_REGION": "eu-west-1", "timeout": "1m 30s"})["config_kwargs"]
    {'read_timeout': 90.0}
    """
    options = s3_arguments(storage_options)
    options.pop(LOCK, None)
    return options


def s3_arguments(storage_options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the same, and at `LOCK` the options of commits under a lock, if there are any."""
    options = S3_OPTIONS.read(storage_options, _environment())
    for given, missing, variable in _CREDENTIALS:
        if options.get(given) and not options.get(missing) and variable in os.environ:
            options[missing] = os.environ[variable]
    # Parquet readers request the ranges that they need. With s3fs's default, reading one of four columns of a
    # 71 MiB file in ten row groups fetched 355 MiB instead of 18.
    options.setdefault("default_cache_type", "none")
    return options
