"""How Polars's own reader reaches the store of a table: S3, with what the store's client knows.

Polars reads objects by the Rust library object_store, with fewer and wider requests and less work for each
than any reader in Python. It is told the server and the region of the store's own client, and asks for
credentials whenever it needs some: those in the options, of the environment, of a profile or of the machine,
or lent by a catalog that renews them. So its plans hold no credentials.

Options that Polars would not follow as the store does, and the cache on disk, leave files to the batch
reader; so do other stores.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from deltaarrow.display.redaction import redacted
from deltaarrow.runtime.lazy import lazy_attributes
from deltaarrow.storage import Store

if TYPE_CHECKING:
    from s3fs import S3FileSystem

__all__ = ["storage_arguments", "store_obstacle"]

_lazily = lazy_attributes(
    __name__,
    {
        "CACHE_OPTIONS": "deltaarrow.storage.fsspec_options",
        "s3_arguments": "deltaarrow.storage.s3_options",
        "sync": "fsspec.asyn",
    },
)

_ASKED_AGAIN_SECONDS = 60
"""Polars keeps credentials for so long; the store renews its own before they expire."""

_FOLLOWED = {
    *("key", "secret", "token", "anon", "profile", "endpoint_url", "use_ssl", "requester_pays"),
    "client_kwargs.region_name",
}
"""Arguments of s3fs that Polars is told of by the client, or follows by an option of its own."""
_ADDRESSING = "config_kwargs.s3.addressing_style"
"""Followed if it names no bucket before the host: s3fs puts it there, object_store expects it there."""
_OF_WRITERS = {
    *("config_kwargs.s3.payload_signing_enabled", "fixed_upload_size"),
    *(f"s3_additional_kwargs.{name}" for name in ("ServerSideEncryption", "SSEKMSKeyId", "ContentType")),
    "s3_additional_kwargs.BucketKeyEnabled",
}
_OF_OTHER_READS = {
    *("default_block_size", "default_fill_cache", "default_cache_type", "max_concurrency", "batch_size"),
    *("use_listings_cache", "listings_expiry_time", "max_paths", "skip_instance_cache", "cache_regions"),
}
"""Arguments that say nothing about how Polars reads a file."""


def store_obstacle(store: Store) -> str | None:
    """Return why Polars's reader is not given the files of a store; None if it is."""
    if store.is_local:
        return None
    if not store.uri.startswith("s3://"):
        return f"Polars has no reader for {redacted(store.uri)}"
    options = store.storage_options
    if not options.keys().isdisjoint(_lazily("CACHE_OPTIONS")):
        return "Polars does not read through the cache on disk"
    arguments = _arguments(_lazily("s3_arguments")(options))
    is_followed = _FOLLOWED | _OF_WRITERS | _OF_OTHER_READS
    if arguments.get(_ADDRESSING) in ("path", "auto"):
        is_followed |= {_ADDRESSING}
    other = next((name for name in arguments if name not in is_followed), None)
    return None if other is None else f"Polars does not follow the storage option {other}"


def _arguments(given: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """All arguments, those within others with a dot in their names.

    >>> _arguments({"key": "k", "config_kwargs": {"s3": {"addressing_style": "path"}}})
    {'key': 'k', 'config_kwargs.s3.addressing_style': 'path'}
    """
    found: dict[str, Any] = {}
    for name, value in given.items():
        found |= _arguments(value, f"{above}{name}.") if isinstance(value, dict) else {above + name: value}
    return found


def storage_arguments(store: Store) -> dict[str, Any]:
    """Return the arguments of `polars.scan_parquet` that reach a store without a `store_obstacle`."""
    if store.is_local:
        return {}
    filesystem = cast("S3FileSystem", store.fsspec_filesystem())
    with store.reaching():
        endpoint, region = _lazily("sync")(filesystem.loop, _server_of, filesystem)
    options = _options(endpoint, region)
    if filesystem.req_kw:
        options["aws_request_payer"] = "true"
    if filesystem.anon:
        return {"storage_options": options | {"aws_skip_signature": "true"}, "credential_provider": None}
    return {"storage_options": options, "credential_provider": _Credentials(store)}


def _options(endpoint: str, region: str | None) -> dict[str, str]:
    """Polars's options for a server and its region; none where Polars has to find out the region.

    >>> _options("https://s3.eu-west-1.amazonaws.com", "eu-west-1")
    {'aws_endpoint_url': 'https://s3.eu-west-1.amazonaws.com', 'aws_region': 'eu-west-1'}
    >>> _options("https://s3.amazonaws.com", None)
    {}
    """
    parts = urlsplit(endpoint)
    if region is None and parts.hostname == "s3.amazonaws.com":
        return {}
    options = {"aws_endpoint_url": endpoint, "aws_region": region or "us-east-1"}
    return options | {"aws_allow_http": "true"} if parts.scheme == "http" else options


async def _server_of(filesystem: "S3FileSystem") -> tuple[str, str | None]:
    """The server of a client, and its region, None where it knows none."""
    client = await filesystem.set_session()
    region = client.meta.region_name
    return client.meta.endpoint_url.rstrip("/"), None if region == "aws-global" else region


async def _keys_of(filesystem: "S3FileSystem") -> dict[str, str]:
    """The credentials that a client signs its next request with."""
    await filesystem.set_session()
    keys = (filesystem.key, filesystem.secret, filesystem.token)
    if not (filesystem.key and filesystem.secret):
        found = await filesystem.session.get_credentials()
        if found is not None:
            frozen = await found.get_frozen_credentials()
            keys = (frozen.access_key, frozen.secret_key, frozen.token)
    names = ("aws_access_key_id", "aws_secret_access_key", "aws_session_token")
    return {name: key for name, key in zip(names, keys, strict=True) if key}


@dataclass(frozen=True)
class _Credentials:
    """Asks the store for credentials when Polars does; it is pickled as the store is."""

    store: Store

    def __call__(self) -> tuple[dict[str, str | None], int | None]:
        filesystem = cast("S3FileSystem", self.store.fsspec_filesystem())
        with self.store.reaching():
            keys = _lazily("sync")(filesystem.loop, _keys_of, filesystem)
        return keys, int(time.time()) + _ASKED_AGAIN_SECONDS
