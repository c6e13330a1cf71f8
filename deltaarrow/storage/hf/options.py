"""Options of the Hugging Face Hub, as the arguments of the file system of huggingface_hub."""

import os
from collections.abc import Mapping
from typing import Any

from deltaarrow.storage.option_table import BACKOFF, HTTP2, Option, OptionTable, as_text

__all__ = ["HF_OPTIONS", "hf_options"]

_RETRIES = "huggingface_hub repeats a failed request five times"
_NAMED = "the URI names the dataset: hf://datasets/owner/name/path"
_REFUSED = {
    **dict.fromkeys(HTTP2, "huggingface_hub speaks HTTP/1.1 only"),
    "max_retries": _RETRIES,
    **dict.fromkeys(BACKOFF, _RETRIES),
    "timeout": "set the variable HF_HUB_DOWNLOAD_TIMEOUT in the environment instead",
    "connect_timeout": "set the variable HF_HUB_DOWNLOAD_TIMEOUT in the environment instead",
    "proxy_url": "set the variable HTTPS_PROXY in the environment instead",
    "proxy_excludes": "set the variable NO_PROXY in the environment instead",
    "proxy_ca_certificate": "set the variable SSL_CERT_FILE in the environment instead",
    "allow_invalid_certificates": "set the variable SSL_CERT_FILE to the server's certificate instead",
    "pool_idle_timeout": "huggingface_hub keeps idle connections for 5 seconds",
    "pool_max_idle_per_host": "huggingface_hub limits idle connections to 20",
    "user_agent": "huggingface_hub sends a header of its own",
    **dict.fromkeys(("repo_id", "repo_type", "root"), _NAMED),
}

HF_OPTIONS = OptionTable(
    prefixes=("hf_",),
    of_service=(
        Option(
            ("token",),
            ("token",),
            as_text,
            "credentials: a token; by default the one of the command `hf auth login`. `False`: none",
            True,
        ),
        Option(("endpoint",), ("endpoint",), as_text, "a server with the Hub's interface"),
    ),
    of_client=(
        Option(
            ("revision",),
            ("revision",),
            as_text,
            "a branch, a tag or a commit, for locations that name none; `main` if nothing is said",
        ),
    ),
    without_effect={"http1_only": ": requests go over HTTP/1.1"},
    refused=_REFUSED,
    of_library=("use_listings_cache", "listings_expiry_time", "skip_instance_cache"),
    endpoint=("endpoint",),
)


def hf_options(storage_options: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``endpoint``, ``token`` and ``revision`` for the given options and the environment's variables.

    What nobody says is left out; huggingface_hub then finds its own token. Raises `StorageError` for an
    unknown name, for an option that cannot be followed, and for two options that disagree.

    >>> hf_options({"HF_TOKEN": "hf_x", "revision": "v1.0", "HF_ENDPOINT": "http://127.0.0.1:8080/"})
    {'token': 'hf_x', 'endpoint': 'http://127.0.0.1:8080', 'revision': 'v1.0'}
    """
    options = HF_OPTIONS.read(storage_options, os.environ)
    if "endpoint" in options:
        options["endpoint"] = str(options["endpoint"]).rstrip("/")
    return {name: options[name] for name in ("token", "endpoint", "revision") if name in options}
