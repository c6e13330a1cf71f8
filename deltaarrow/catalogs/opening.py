"""`open_catalog`: opens a catalog from a string, such as the address of a server."""

import os
import urllib.parse
from collections.abc import Mapping
from typing import Any

from deltaarrow.catalogs.file_catalog import FileCatalog
from deltaarrow.catalogs.glue import GlueCatalog
from deltaarrow.catalogs.hive import HiveCatalog
from deltaarrow.catalogs.namespace import NamespaceCatalog
from deltaarrow.catalogs.sharing.catalog import DeltaSharingCatalog
from deltaarrow.catalogs.unity.catalog import UnityCatalog
from deltaarrow.display.redaction import redacted

__all__ = ["open_catalog"]

_GLUE, _HIVE, _SHARING = "glue://", "thrift://", "deltasharing://"


def open_catalog(
    place: str | os.PathLike[str], storage_options: Mapping[str, Any] | None = None
) -> NamespaceCatalog:
    """Return the catalog at an address: a folder is a `FileCatalog`, a web address a `UnityCatalog`.

    ``glue://eu-west-1`` is the `GlueCatalog` of a region, and ``glue://`` that of boto3's region.
    ``thrift://host:9083`` is the `HiveCatalog` of a metastore.

    ``deltasharing://PROFILE#SHARE`` is the `DeltaSharingCatalog` of a profile file, given by its path or URL,
    as ``deltasharing://config.share#sales``; without ``#SHARE`` the profile has just one share.

    A web address is that of a server, followed by the name of one of its catalogs:
    ``https://unity.example/main``. The token is in the environment variable ``UNITY_CATALOG_TOKEN``.

    Raises `ValueError` for an address without the name of a catalog.

    >>> open_catalog("https://unity.example/main")
    UnityCatalog('https://unity.example', 'main')
    """
    text = os.fspath(place)
    if text.startswith(_GLUE):
        return GlueCatalog(text.removeprefix(_GLUE) or None, storage_options=storage_options)
    if text.startswith(_HIVE):
        return HiveCatalog(text, storage_options=storage_options)
    if text.startswith(_SHARING):
        profile, _, share = text.removeprefix(_SHARING).partition("#")
        if not profile:
            raise ValueError(
                f"{text!r} names no profile: write deltasharing://PROFILE#SHARE, with the path or the URL"
                " of the profile file"
            )
        return DeltaSharingCatalog(profile, share or None, storage_options=storage_options)
    if not text.startswith(("http://", "https://")):
        return FileCatalog(place, storage_options)
    server, _, name = text.rstrip("/").rpartition("/")
    name = urllib.parse.unquote(name)
    if server.endswith((":", "/")) or name == "unity-catalog":
        raise ValueError(
            f"{redacted(text)!r} names no catalog: write the address of the server and the name of the"
            " catalog, as https://unity.example/main"
        )
    return UnityCatalog(server, name, storage_options=storage_options)
