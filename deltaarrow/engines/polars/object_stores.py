"""How Polars's own reader reaches the store of a table: S3, Google and Azure, with what its client knows.

Polars reads objects by the Rust library object_store, with fewer and wider requests and less work for each
than any reader in Python. It is told the server and the region of the store's own client, and asks for
credentials whenever it needs some: those in the options, of the environment, of a profile or of the machine,
or lent by a catalog that renews them. So the options in its plans hold no credentials. But the function that
is asked pickles as the store does: a serialized plan has the `storage_options` that the user gave, secrets
included, and neither lent credentials nor those of the environment.
`deltaarrow.engines.polars.google_and_azure` has what is Google's and Azure's.

Options that Polars would not follow as the store does, and the cache on disk, leave files to the batch
reader; so do other stores.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from urllib.parse import urlsplit

from deltaarrow.display.redaction import redacted
from deltaarrow.engines.polars.google_and_azure import (
    azure_keys,
    azure_options,
    azure_unfollowed,
    google_keys,
    google_options,
    google_unfollowed,
)
from deltaarrow.runtime.lazy import lazy_attributes
from deltaarrow.storage import Store

if TYPE_CHECKING:
    from s3fs import S3FileSystem

__all__ = ["storage_arguments", "store_obstacle"]

_lazily = lazy_attributes(
    __name__,
    {
        "CACHE_OPTIONS": "deltaarrow.storage.fsspec_options",
        "s3_arguments": "deltaarrow.storage.s3.options",
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
    reach = _REACHED.get(store.uri.partition("://")[0])
    if reach is None:
        return f"Polars has no reader for {redacted(store.uri)}"
    if not store.storage_options.keys().isdisjoint(_lazily("CACHE_OPTIONS")):
        return "Polars does not read through the cache on disk"
    other = reach.unfollowed(store)
    return None if other is None else f"Polars does not follow {other}"


def storage_arguments(store: Store) -> dict[str, Any]:
    """Return the arguments of `polars.scan_parquet` that reach a store without a `store_obstacle`."""
    if store.is_local:
        return {}
    reach = _REACHED[store.uri.partition("://")[0]]
    with store.reaching():
        options = reach.options(store)
    is_anonymous = any(name.endswith("skip_signature") for name in options)
    return {
        "storage_options": options,
        "credential_provider": None if is_anonymous else _Credentials(store),
    }


@dataclass(frozen=True)
class _Credentials:
    """Asks the store for credentials when Polars does; it is pickled as the store is."""

    store: Store
    kept_seconds: int = _ASKED_AGAIN_SECONDS

    def __call__(self) -> tuple[dict[str, str], int]:
        reach = _REACHED[self.store.uri.partition("://")[0]]
        with self.store.reaching():
            keys = reach.keys(self.store)
        return keys or {}, int(time.time()) + self.kept_seconds


class _Reach(NamedTuple):
    """How Polars reaches one kind of store."""

    unfollowed: Callable[[Store], str | None]
    """What Polars would not follow as the store does, for a message."""
    options: Callable[[Store], dict[str, str]]
    """Polars's options, without credentials."""
    keys: Callable[[Store], dict[str, str] | None]
    """Credentials that are still valid; None for anonymous access."""


# --- S3 --------------------------------------------------------------------------------------------


def _s3_unfollowed(store: Store) -> str | None:
    arguments = _arguments(_lazily("s3_arguments")(store.storage_options))
    is_followed = _FOLLOWED | _OF_WRITERS | _OF_OTHER_READS
    if arguments.get(_ADDRESSING) in ("path", "auto"):
        is_followed |= {_ADDRESSING}
    return next((f"the storage option {name}" for name in arguments if name not in is_followed), None)


def _arguments(given: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """All arguments, those within others with a dot in their names.

    >>> _arguments({"key": "k", "config_kwargs": {"s3": {"addressing_style": "path"}}})
    {'key': 'k', 'config_kwargs.s3.addressing_style': 'path'}
    """
    found: dict[str, Any] = {}
    for name, value in given.items():
        found |= _arguments(value, f"{above}{name}.") if isinstance(value, dict) else {above + name: value}
    return found


def _s3_options(store: Store) -> dict[str, str]:
    filesystem = cast("S3FileSystem", store.fsspec_filesystem())
    options = _options(*_lazily("sync")(filesystem.loop, _server_of, filesystem))
    if filesystem.req_kw:
        options["aws_request_payer"] = "true"
    return options | ({"aws_skip_signature": "true"} if filesystem.anon else {})


def _s3_keys(store: Store) -> dict[str, str]:
    filesystem = cast("S3FileSystem", store.fsspec_filesystem())
    keys: dict[str, str] = _lazily("sync")(filesystem.loop, _keys_of, filesystem)
    return keys


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


_REACHED = {
    "s3": _Reach(_s3_unfollowed, _s3_options, _s3_keys),
    "gs": _Reach(google_unfollowed, google_options, google_keys),
    "abfss": _Reach(azure_unfollowed, azure_options, azure_keys),
}
"""By the scheme of the store's URI."""
