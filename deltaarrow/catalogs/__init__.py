"""Catalogs: names of tables, and the location and storage options of each.

A `Namespace` knows the tables that a SQL statement names as ``namespace.table``. `FolderNamespace` is a
folder whose subfolders are the tables; `FileCatalog` keeps namespaces in one folder, a JSON file a table or
view; `GlueCatalog`, `HiveCatalog`, `UnityCatalog` and `DeltaSharingCatalog` ask servers.
"""

from typing import TYPE_CHECKING

from deltaarrow.catalogs.namespace import (
    Namespace,
    NamespaceCatalog,
    TableLocation,
    View,
    fold,
    name_of,
    without_catalog,
)
from deltaarrow.runtime.lazy import lazy_attributes

if TYPE_CHECKING:
    from deltaarrow.catalogs.file_catalog import FileCatalog
    from deltaarrow.catalogs.file_namespace import FileNamespace, NewFolder
    from deltaarrow.catalogs.finding import (
        find_namespace,
        find_table_location,
        given_catalog,
        named,
        names_given,
        open_table_store,
        parse_table_name,
        unknown_name,
    )
    from deltaarrow.catalogs.folder import FolderNamespace
    from deltaarrow.catalogs.glue import GlueCatalog
    from deltaarrow.catalogs.hive import HiveCatalog
    from deltaarrow.catalogs.opening import open_catalog
    from deltaarrow.catalogs.sharing.catalog import DeltaSharingCatalog
    from deltaarrow.catalogs.unity.catalog import UnityCatalog

__all__ = [
    "DeltaSharingCatalog",
    "FileCatalog",
    "FileNamespace",
    "FolderNamespace",
    "GlueCatalog",
    "HiveCatalog",
    "Namespace",
    "NamespaceCatalog",
    "NewFolder",
    "TableLocation",
    "UnityCatalog",
    "View",
    "find_namespace",
    "find_table_location",
    "fold",
    "given_catalog",
    "name_of",
    "named",
    "names_given",
    "open_catalog",
    "open_table_store",
    "parse_table_name",
    "unknown_name",
    "without_catalog",
]

__getattr__ = lazy_attributes(
    __name__,
    {
        "DeltaSharingCatalog": "deltaarrow.catalogs.sharing.catalog",
        "FileCatalog": "deltaarrow.catalogs.file_catalog",
        **dict.fromkeys(("FileNamespace", "NewFolder"), "deltaarrow.catalogs.file_namespace"),
        "FolderNamespace": "deltaarrow.catalogs.folder",
        **dict.fromkeys(
            (
                *("find_namespace", "find_table_location", "given_catalog", "named"),
                *("names_given", "open_table_store", "parse_table_name", "unknown_name"),
            ),
            "deltaarrow.catalogs.finding",
        ),
        "GlueCatalog": "deltaarrow.catalogs.glue",
        "HiveCatalog": "deltaarrow.catalogs.hive",
        "open_catalog": "deltaarrow.catalogs.opening",
        "UnityCatalog": "deltaarrow.catalogs.unity.catalog",
    },
)
