"""How Polars's own reader reaches Google and Azure: the server, and the keys of the store's client."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from deltaarrow.runtime.lazy import lazy_attributes
from deltaarrow.storage import Store

if TYPE_CHECKING:
    from deltaarrow.storage.azure.options import AzureSettings

__all__ = [
    "azure_keys",
    "azure_options",
    "azure_unfollowed",
    "google_keys",
    "google_options",
    "google_unfollowed",
]

_lazily = lazy_attributes(
    __name__,
    {
        "azure_settings": "deltaarrow.storage.azure.options",
        "gcsfs_options": "deltaarrow.storage.gcs.options",
        "sync": "fsspec.asyn",
    },
)

# --- Google ----------------------------------------------------------------------------------------

_GOOGLE = "https://storage.googleapis.com"
_FOLLOWED_OF_GOOGLE = {"token", "project", "access", "consistency", "endpoint_url"}


def google_unfollowed(store: Store) -> str | None:
    """Return what Polars would not follow as gcsfs does."""
    arguments = _lazily("gcsfs_options")(store.storage_options)
    others = (f"the storage option {name}" for name in arguments if name not in _FOLLOWED_OF_GOOGLE)
    return next(others, None)


def google_options(store: Store) -> dict[str, str]:
    """Return Polars's options for the server, and for anonymous access."""
    filesystem: Any = store.fsspec_filesystem()
    server = filesystem.base.removesuffix("/storage/v1/")
    options = {} if server == _GOOGLE else {"google_base_url": server, **_allowing(server)}
    return options if filesystem.credentials.credentials else options | {"google_skip_signature": "true"}


def google_keys(store: Store) -> dict[str, str] | None:
    """Return a token that is still valid; None for anonymous access."""
    credentials: Any = store.fsspec_filesystem()
    credentials = credentials.credentials
    credentials.maybe_refresh()
    return {"bearer_token": credentials.credentials.token} if credentials.credentials else None


# --- Azure -----------------------------------------------------------------------------------------

_SUFFIX = ".dfs.core.windows.net"
_SCOPE = "https://storage.azure.com/.default"
_CREDENTIALS_OF_AZURE = {
    *("anon", "account_key", "sas_token", "token", "authority", "client_id", "client_secret", "tenant_id"),
    *("federated_token_file", "object_id", "resource_id", "use_cli"),
}


def _settings(store: Store) -> "AzureSettings":
    host = store.uri.partition("@")[2].partition("/")[0]
    settings: AzureSettings = _lazily("azure_settings")(store.storage_options, host)
    return settings


def azure_unfollowed(store: Store) -> str | None:
    """Return what Polars would not follow as Microsoft's client does."""
    settings = _settings(store)
    if not settings.host.endswith(_SUFFIX):
        return f"a location of {settings.host}"
    others = (name for name, _ in settings.options if name not in _CREDENTIALS_OF_AZURE)
    other = next(others, None)
    if other == "client":
        other = ", ".join(name for name, _ in dict(settings.options)[other])
    return None if other is None else f"the storage option {other}"


def azure_options(store: Store) -> dict[str, str]:
    """Return Polars's options for the account and its server, and for anonymous access."""
    settings = _settings(store)
    options = {"azure_storage_account_name": settings.account}
    if settings.url != f"https://{settings.host.replace('.dfs.', '.blob.', 1)}":
        options |= {"azure_storage_endpoint": settings.url, **_allowing(settings.url)}
    return options | ({"azure_skip_signature": "true"} if dict(settings.options).get("anon") else {})


def azure_keys(store: Store) -> dict[str, str] | None:
    """Return the key, the signature or a token that is still valid; None for anonymous access."""
    given: Mapping[str, Any] = dict(_settings(store).options)
    if given.get("anon"):
        return None
    if "account_key" in given:
        return {"account_key": given["account_key"]}
    if "sas_token" in given:
        return {"sas_token": str(given["sas_token"]).lstrip("?")}
    filesystem: Any = store.fsspec_filesystem()
    token = _lazily("sync")(filesystem.loop, filesystem.service_client.credential.get_token, _SCOPE)
    return {"bearer_token": token.token}


def _allowing(server: str) -> dict[str, str]:
    return {"allow_http": "true"} if urlsplit(server).scheme == "http" else {}
