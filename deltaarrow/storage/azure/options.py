"""Options of Azure, in deltalake's spelling or adlfs's, as settings of Microsoft's client."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
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

__all__ = ["AZURE_OPTIONS", "AzureSettings", "azure_settings"]

_SUFFIX = ".dfs.core.windows.net"
_EMULATOR_ACCOUNT = "devstoreaccount1"
_EMULATOR_URL = f"http://127.0.0.1:10000/{_EMULATOR_ACCOUNT}"
# The key that Microsoft publishes for its emulator.
_EMULATOR_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

_OPTIONS = (
    Option(("account_name",), ("account_name",), as_text, "the account, where the URI does not name it"),
    Option(
        ("account_key", "access_key", "master_key"),
        ("account_key",),
        as_text,
        "credentials: a key of the account",
        True,
    ),
    Option(("sas_token", "sas_key"), ("sas_token",), as_text, "credentials: a shared access signature", True),
    Option(
        ("token", "bearer_token"),
        ("token",),
        as_text,
        "credentials: a token, which is not renewed",
        True,
    ),
    Option(("client_id",), ("client_id",), as_text, "credentials: the identity of an application", True),
    Option(("client_secret",), ("client_secret",), as_text, "credentials: the application's secret", True),
    Option(
        ("tenant_id", "authority_id"), ("tenant_id",), as_text, "credentials: the application's tenant", True
    ),
    Option(("authority_host",), ("authority",), as_text, "the server of identities"),
    Option(
        ("federated_token_file",),
        ("federated_token_file",),
        as_text,
        "credentials: the file of a workload's token",
        True,
    ),
    Option(("object_id",), ("object_id",), as_text, "credentials: the object of a managed identity", True),
    Option(
        ("msi_resource_id",),
        ("resource_id",),
        as_text,
        "credentials: the resource of a managed identity",
        True,
    ),
    Option(("use_azure_cli",), ("use_cli",), as_flag, "`true`: the credentials of the command `az`", True),
    Option(("skip_signature",), ("anon",), as_flag, "`true`: anonymous access", True),
    Option(
        ("endpoint",), ("endpoint",), as_text, "a server with Azure's interface; the URL may hold the account"
    ),
    Option(("use_emulator",), ("use_emulator",), as_flag, "`true`: Azurite on this machine"),
    Option(("use_fabric_endpoint",), ("use_fabric",), as_flag, "`true`: `onelake.dfs.fabric.microsoft.com`"),
)

_CLIENT_OPTIONS = (
    Option(
        ("connect_timeout",),
        ("client", "connection_timeout"),
        as_seconds,
        "the longest time to connect, such as `5s`",
    ),
    Option(
        ("timeout",),
        ("client", "read_timeout"),
        as_seconds,
        "the longest wait for an answer, such as `30s`",
    ),
    Option(("max_retries",), ("client", "retry_total"), as_count, "how often a failed request is repeated"),
    Option(("proxy_url",), ("client", "proxies"), as_proxies, "a proxy"),
    Option(("user_agent",), ("client", "user_agent"), as_text, "the header of this name"),
    Option(
        ("allow_invalid_certificates",),
        ("client", "connection_verify"),
        as_opposite,
        "`true`: certificates are not checked",
    ),
)

_WITHOUT_EFFECT = dict.fromkeys(
    ("http1_only", "disable_tagging", "conditional_put", "copy_if_not_exists"),
    ": commits are conditional puts over HTTP/1.1, without tags",
)

_HTTP2 = "Microsoft's client speaks HTTP/1.1 only"
_FABRIC = "the token of a notebook in Fabric is given as token"
_ENVIRONMENT = "set IDENTITY_ENDPOINT in the environment instead"
_REFUSED = {
    **dict.fromkeys(HTTP2, _HTTP2),
    **dict.fromkeys(BACKOFF, "give max_retries"),
    "container_name": "the URI names the container",
    "credential_type": "give the options of one kind of credentials",
    "default_content_type": "blobs are written as application/octet-stream",
    "encryption_key": "keys of customers are not supported",
    "fabric_token_service_url": _FABRIC,
    "fabric_workload_host": _FABRIC,
    "fabric_session_token": _FABRIC,
    "fabric_cluster_identifier": _FABRIC,
    "msi_endpoint": _ENVIRONMENT,
    "identity_endpoint": _ENVIRONMENT,
    "pool_idle_timeout": "the client keeps idle connections for 15 seconds",
    "pool_max_idle_per_host": "the client does not limit idle connections",
    "proxy_ca_certificate": "set the variable SSL_CERT_FILE in the environment instead",
    "proxy_excludes": "set the variable NO_PROXY in the environment instead",
    "randomize_addresses": "the client takes the addresses in the order of the resolver",
}

_RETRIES = {"initial_backoff": 0, "increment_base": 2, "random_jitter_range": 1, "retry_total": 5}
"""Waits of about 2, 4, 8, 16 and 32 seconds. Microsoft's client waits 18 seconds before its first retry."""

_OF_ADLFS = ("connection_string", "credential", "anon", "account_host")

AZURE_OPTIONS = OptionTable(
    prefixes=("azure_storage_", "azure_"),
    of_service=_OPTIONS,
    of_client=_CLIENT_OPTIONS,
    without_effect=_WITHOUT_EFFECT,
    refused=_REFUSED,
    of_library=_OF_ADLFS,
    endpoint=("endpoint",),
)


@dataclass(frozen=True)
class AzureSettings:
    """An account, and how its client is made."""

    host: str
    """The host in locations, such as ``account.dfs.core.windows.net``."""
    account: str
    url: str
    """The URL of the account's blobs."""
    options: tuple[tuple[str, Any], ...] = field(repr=False)
    """Credentials and options of the HTTP client; they hold secrets."""

    @property
    def retries(self) -> int:
        """How often a failed request is repeated."""
        return int({**_RETRIES, **dict(dict(self.options).get("client", ()))}["retry_total"])

    def client(self) -> Any:
        """Return Microsoft's client, whose methods are coroutines."""
        from azure.storage.blob.aio import BlobServiceClient

        options = dict(self.options)
        client = {**_RETRIES, **dict(options.pop("client", ()))}
        if "proxies" in client:
            client["proxies"] = dict(client["proxies"])
        return BlobServiceClient(self.url, credential=_credential(self.account, options), **client)


def azure_settings(storage_options: Mapping[str, Any], host: str | None) -> AzureSettings:
    """Return the settings for the given options and the environment's variables.

    deltalake's names (``AZURE_STORAGE_ACCOUNT_KEY``, ``azure_client_id``, ``sas_token``, ...; upper or lower
    case) are translated, and of adlfs's names ``connection_string``, ``credential``, ``anon`` and
    ``account_host`` work. Without credentials Microsoft's library looks for those of the environment, of the
    machine and of the command ``az``. `host` is that of the location, if it names one.

    Raises `StorageError` for an unknown name, for an option that cannot be followed, for a value without
    meaning, for two options that disagree, and where nothing names the account.

    >>> azure_settings({"account_name": "lake", "AZURE_STORAGE_SAS_TOKEN": "sig=x"}, None).host
    'lake.dfs.core.windows.net'
    """
    environment: Mapping[str, str] = os.environ
    if "connection_string" in storage_options:
        environment = {}  # it says all
    options = AZURE_OPTIONS.read(storage_options, environment)
    text = options.pop("connection_string", None)
    if text is None and not storage_options:
        text = os.environ.get("AZURE_STORAGE_CONNECTION_STRING")
    if text is not None:
        options = {**_of_connection_string(str(text)), **options}
    if options.pop("use_emulator", False):
        options = {
            "account_name": _EMULATOR_ACCOUNT,
            "account_key": _EMULATOR_KEY,
            "endpoint": os.environ.get("AZURITE_BLOB_STORAGE_URL", _EMULATOR_URL),
        } | options
    account, endpoint = options.pop("account_name", None), options.pop("endpoint", None)
    account_host = options.pop("account_host", None)
    if options.pop("use_fabric", False):
        account_host = account_host or "onelake.blob.fabric.microsoft.com"
        account = account or "onelake"
    if host is None:
        if account_host:
            host = str(account_host).replace(".blob.", ".dfs.", 1)
        elif account:
            host = f"{account}{_SUFFIX}"
        else:
            raise StorageError(
                "nothing names the account of Azure; give abfss://container@account.dfs.core.windows.net/path,"
                " or the storage option account_name"
            )
    named = host.partition(".")[0]
    if account is not None and not account_host and named != account:
        raise StorageError(f"the location is of the account {named!r}; the storage options name another")
    url = endpoint or f"https://{account_host or host.replace('.dfs.', '.blob.', 1)}"
    return AzureSettings(host, account or named, str(url).rstrip("/"), _frozen(options))


def _frozen(options: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    pairs = (
        (name, _frozen(value) if isinstance(value, Mapping) else value) for name, value in options.items()
    )
    return tuple(sorted(pairs, key=lambda pair: pair[0]))


def _of_connection_string(text: str) -> dict[str, Any]:
    given = {}
    for part in filter(None, text.strip().split(";")):
        name, equals, value = part.partition("=")
        if not equals:
            # The text is a secret, so the error does not show it.
            raise StorageError("the storage option 'connection_string' must be names and values: A=b;C=d")
        given[name.strip().lower()] = value
    if as_flag("UseDevelopmentStorage", given.get("usedevelopmentstorage", "false")):
        return {"use_emulator": True}
    account = given.get("accountname")
    scheme = given.get("defaultendpointsprotocol", "https")
    suffix = given.get("endpointsuffix", "core.windows.net")
    options = {
        "account_name": account,
        "account_key": given.get("accountkey"),
        "sas_token": given.get("sharedaccesssignature"),
        "endpoint": given.get("blobendpoint") or (account and f"{scheme}://{account}.blob.{suffix}"),
    }
    return {name: value for name, value in options.items() if value is not None}


def _credential(account: str, given: dict[str, Any]) -> Any:
    """The credential for the client, of the first kind that the options have; None for anonymous access."""
    if given.get("anon"):
        return None
    if given.get("credential") is not None:
        return given["credential"]
    if "account_key" in given:
        return {"account_name": account, "account_key": given["account_key"]}
    if "sas_token" in given:
        from azure.core.credentials import AzureSasCredential

        return AzureSasCredential(str(given["sas_token"]).lstrip("?"))
    if "token" in given:
        return _StaticToken(given["token"])
    return _identity(given)


def _identity(given: dict[str, Any]) -> Any:
    from azure.identity import aio

    of_server = {"authority": given["authority"]} if "authority" in given else {}
    of_client = {name: given[name] for name in ("client_id", "tenant_id") if name in given}
    if "client_secret" in given:
        if len(of_client) < 2:
            raise StorageError("the storage option 'client_secret' needs 'client_id' and 'tenant_id'")
        return aio.ClientSecretCredential(client_secret=given["client_secret"], **of_client, **of_server)
    if "federated_token_file" in given:
        file = given["federated_token_file"]
        return aio.WorkloadIdentityCredential(token_file_path=file, **of_client, **of_server)
    if given.get("use_cli"):
        return aio.AzureCliCredential()
    managed = {"object_id": given["object_id"]} if "object_id" in given else {}
    if "resource_id" in given:
        managed[_resource_parameter()] = given["resource_id"]
    if managed:
        return aio.ManagedIdentityCredential(identity_config=managed)
    if "client_id" in given:
        of_server["managed_identity_client_id"] = given["client_id"]
    return aio.DefaultAzureCredential(**of_server)


def _resource_parameter() -> str:
    """The parameter by which the machine is asked for the identity of a resource.

    Microsoft's library passes it on as it is, and translates it on a machine of Arc only.
    """
    if "IDENTITY_HEADER" in os.environ:  # App Service
        return "mi_res_id"
    return "resource_id" if "IMDS_ENDPOINT" in os.environ else "msi_res_id"


class _StaticToken:
    """A token that was given, for as long as it lasts."""

    def __init__(self, token: str) -> None:
        self._token = token

    async def get_token(self, *scopes: str, **options: Any) -> Any:
        """Return the token; the service says when it has expired."""
        import time

        from azure.core.credentials import AccessToken

        return AccessToken(self._token, int(time.time()) + 3600)

    async def close(self) -> None:
        """Do nothing."""
