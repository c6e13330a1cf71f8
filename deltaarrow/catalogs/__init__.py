"""Catalogs: names of tables, and the places and storage options that they stand for.

A `Namespace` knows the tables that a SQL statement names as ``namespace.table``. `FolderNamespace` is a
folder whose subfolders are the tables; `FileCatalog` keeps namespaces in one folder, a JSON file a table or
view.
"""

from deltaarrow.catalogs.file_catalog import FileCatalog
from deltaarrow.catalogs.folder import FolderNamespace
from deltaarrow.catalogs.namespace import Namespace, NamespaceCatalog, TableLocation, View, fold

__all__ = ["FileCatalog", "FolderNamespace", "Namespace", "NamespaceCatalog", "TableLocation", "View", "fold"]
