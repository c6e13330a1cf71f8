"""The store of a table that is named by its place, by its location in a catalog, or by its name in one."""

import os
from collections.abc import Mapping
from typing import cast

import deltaarrow.spark_sql as spark_sql
from deltaarrow.catalogs import NamespaceCatalog, TableLocation, find_table_location
from deltaarrow.log import Catalog, CatalogStore
from deltaarrow.storage import Store, open_store

__all__ = ["open_table_store"]


def open_table_store(
    table: str | os.PathLike[str] | TableLocation,
    storage_options: Mapping[str, str] | None = None,
    catalog: Catalog | NamespaceCatalog | None = None,
) -> Store:
    """Return the store of a table.

    Args:
        table: its place, its location in a catalog, or its name in `catalog`.
        storage_options: for a place.
        catalog: holds the commits of the table at a place, or finds the name.

    Raises `TableNotFoundError` for an unknown name, `UnsupportedFeatureError` for a text that is no name, and
    `ValueError` for `storage_options` of what is not a place.

    >>> open_table_store(TableLocation("/data/orders")).uri
    '/data/orders'
    """
    if isinstance(table, TableLocation):
        if catalog is not None or storage_options is not None:
            raise ValueError("a TableLocation knows its catalog and its storage_options: leave them out")
        return table.open()
    if catalog is None or hasattr(catalog, "ratified_commits"):
        store = open_store(table, storage_options)
        return store if catalog is None else CatalogStore(store, cast("Catalog", catalog))
    if storage_options is not None:
        raise ValueError("give storage_options to the catalog, which knows where its tables are")
    words = spark_sql.Words(os.fspath(table))
    parts = words.table_name().parts
    words.expect_end()
    return find_table_location(catalog, parts).open()
