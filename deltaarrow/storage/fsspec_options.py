"""Checks of options and schemes of fsspec's file systems; unknown ones are refused."""

import inspect
from collections.abc import Mapping
from typing import Any

from deltaarrow.display.near_names import did_you_mean
from deltaarrow.errors import DeltaError, MissingDependencyError, StorageError

__all__ = [
    "CACHE_BYTES",
    "CACHE_FOLDER",
    "CACHE_OPTIONS",
    "ensure_options_known",
    "library_missing",
    "refused_store",
    "without_cache",
]

CACHE_FOLDER, CACHE_BYTES = "cache_folder", "cache_bytes"
CACHE_OPTIONS = (CACHE_FOLDER, CACHE_BYTES)
"""Options of the cache on disk, which every store but the local one takes."""


_OF_REQUESTS = (
    *("params", "headers", "cookies", "auth", "allow_redirects", "max_redirects", "timeout", "ssl"),
    *("server_hostname", "proxy", "proxy_auth", "proxy_headers", "raise_for_status"),
)
"""What aiohttp takes with each request, to which fsspec hands the options of web servers."""
_CHECKED = {"local": (), "http": _OF_REQUESTS, "https": _OF_REQUESTS}
"""Scheme -> options that its file system hands on; for schemes of which all options are known."""

_OF_ALL = ("use_listings_cache", "listings_expiry_time", "max_paths", "skip_instance_cache")


def without_cache(storage_options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of the store itself.

    >>> without_cache({"cache_folder": "/var/cache", "anon": True})
    {'anon': True}
    """
    return {name: value for name, value in storage_options.items() if name not in CACHE_OPTIONS}


def ensure_options_known(protocol: str, options: Mapping[str, Any]) -> None:
    """Raise `StorageError` for an option that the file system of a scheme does not take.

    Only for schemes of which this is known; a library that is missing is not an error here.
    """
    import fsspec

    if protocol not in _CHECKED or not options:
        return
    try:
        filesystem = fsspec.get_filesystem_class(protocol)
    except (ImportError, ValueError):
        return
    known = {*_OF_ALL, *_CHECKED[protocol]}
    for each in filesystem.__mro__:
        if "__init__" in vars(each):
            known |= {*inspect.signature(vars(each)["__init__"]).parameters} - {
                "self",
                "args",
                "kwargs",
                "storage_options",
            }
    unknown = next((name for name in options if name not in known), None)
    if unknown is not None:
        raise StorageError(
            f"unknown storage option {unknown!r} of {protocol}://{did_you_mean(unknown, sorted(known))}"
        )


_CATALOG = "; it names a catalog, which is given as catalog= beside the name of a table"
_MEANT = {
    **dict.fromkeys(("wasb", "wasbs"), "; give abfss://container@account.dfs.core.windows.net/path"),
    **dict.fromkeys(("glue", "thrift", "hive", "unity"), _CATALOG),
}
"""Scheme that no store has -> what to do."""


def library_missing(protocol: str, why: str) -> MissingDependencyError:
    """Return the error for a scheme whose library is not installed."""
    return MissingDependencyError(f"{protocol}:// needs a library that is not installed; {why}")


def refused_store(protocol: str, uri: str, error: ValueError) -> DeltaError:
    """Return the error for a URI that fsspec refuses: an unknown scheme, or another fault."""
    import fsspec

    if "not known" not in str(error):
        return StorageError(f"cannot open {uri!r}: {error}")
    # OpenDAL's schemes, which deltalake takes, are such as opendal+s3.
    meant = _MEANT.get(protocol) or did_you_mean(
        protocol.removeprefix("opendal+"), fsspec.available_protocols()
    )
    return StorageError(f"cannot open {uri!r}: no store has the scheme {protocol}://{meant}")
