"""`LockSettings`: the lock in DynamoDB for commits to S3, from options and the environment.

The names are those of deltalake and of Spark's S3DynamoDBLogStore.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from deltaarrow.errors import StorageError
from deltaarrow.storage.fsspec_options import without_cache
from deltaarrow.storage.s3.options import LOCK, LOCK_VARIABLES, s3_arguments

__all__ = ["LockSettings", "lock_settings"]

_CREDENTIALS = ("key", "secret", "token")
_OF_S3_ONLY = ("s3", "connector_args", "http_session_cls", "signature_version")


@dataclass(frozen=True)
class LockSettings:
    """The lock table, and the settings of the client for it."""

    table: str
    """The name of the table in DynamoDB."""
    scheme: str
    """The scheme of the locations in it, such as ``s3a``."""
    ttl_seconds: int
    """How long the entry of a commit is kept after the commit."""
    profile: str | None
    client: dict[str, Any] = field(repr=False)
    """Arguments of botocore's client, but for its configuration."""
    config: dict[str, Any] = field(repr=False)
    """Arguments of the configuration of botocore's client."""

    @property
    def options(self) -> dict[str, str]:
        """Return the storage options that choose this lock, without those that reach it."""
        return {
            "AWS_S3_LOCKING_PROVIDER": "dynamodb",
            "delta_dynamo_table_name": self.table,
            "delta_dynamo_scheme": self.scheme,
            "delta_dynamo_ttl_seconds": str(self.ttl_seconds),
        }


def lock_settings(storage_options: Mapping[str, Any], scheme: str = "s3") -> LockSettings | None:
    """Return the lock under which a table on S3 is written; None if its commits are conditional puts.

    `scheme` is that of the location. Options for the lock without a provider ask for the lock as well;
    variables of the environment do only with ``AWS_S3_LOCKING_PROVIDER``. Raises `StorageError` for options
    without meaning.

    >>> lock_settings({"AWS_S3_LOCKING_PROVIDER": "dynamodb"}).table
    'delta_log'
    >>> lock_settings({"AWS_REGION": "eu-west-1"}) is None
    True
    """
    arguments = s3_arguments(without_cache(storage_options))
    given: dict[str, Any] = {key: value for key, value in arguments.get(LOCK, {}).items() if value != ""}
    if not given and not os.environ.get(LOCK_VARIABLES["provider"]):
        return None
    has_credentials = any(key in given for key in _CREDENTIALS)
    for key, variable in LOCK_VARIABLES.items():
        if os.environ.get(variable) and not (key in _CREDENTIALS and has_credentials):
            given.setdefault(key, os.environ[variable])
    if str(given.get("provider", "dynamodb")).lower() != "dynamodb":
        raise StorageError(
            f"the variable {LOCK_VARIABLES['provider']} must be 'dynamodb', the only kind of lock, not"
            f" {given['provider']!r}"
        )
    if ("key" in given) != ("secret" in given):
        raise StorageError(
            "the credentials for DynamoDB are incomplete: give AWS_ACCESS_KEY_ID_DYNAMODB and"
            " AWS_SECRET_ACCESS_KEY_DYNAMODB"
        )
    own = given if "key" in given else arguments
    of_client = arguments.get("client_kwargs", {})
    client = {
        "aws_access_key_id": own.get("key"),
        "aws_secret_access_key": own.get("secret"),
        "aws_session_token": own.get("token"),
        "region_name": given.get("region") or of_client.get("region_name"),
        "endpoint_url": given.get("endpoint") or arguments.get("endpoint_url"),
        "use_ssl": arguments.get("use_ssl"),
        "verify": of_client.get("verify"),
    }
    config = {
        key: value for key, value in arguments.get("config_kwargs", {}).items() if key not in _OF_S3_ONLY
    }
    return LockSettings(
        given.get("table", "delta_log"),
        given.get("scheme", scheme),
        given.get("ttl_seconds", _DAY_SECONDS),
        arguments.get("profile"),
        {key: value for key, value in client.items() if value is not None},
        config,
    )


_DAY_SECONDS = 24 * 60 * 60
"""A writer that sleeps so long finds the commit file of its version, and needs no entry of it."""
