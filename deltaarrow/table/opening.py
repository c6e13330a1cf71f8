"""Opening of a table's store by path, by location in a catalog, or by name in a catalog."""

import os
from collections.abc import Callable, Mapping
from typing import cast

import deltaarrow.operations as operations
import deltaarrow.spark_sql as spark_sql
from deltaarrow.catalogs import NamespaceCatalog, TableLocation, find_table_location, without_catalog
from deltaarrow.errors import TableNotFoundError
from deltaarrow.log import Catalog, CatalogStore
from deltaarrow.storage import Store, open_store

__all__ = ["ensure_no_options", "make_named", "open_place", "open_table_store"]


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
    ensure_no_options(storage_options)
    words = spark_sql.Words(os.fspath(table))
    parts = words.table_name().parts
    words.expect_end()
    return find_table_location(catalog, parts).open()


def make_named(
    name: str | os.PathLike[str],
    catalog: NamespaceCatalog,
    storage_options: Mapping[str, str] | None,
    make: Callable[[Store], bool],
    *,
    mode: str,
) -> str | os.PathLike[str]:
    """Make an empty table, give it a name in a catalog and return that; `make` commits it in the same mode.

    Raises what `Place.make` and `open_place` raise, and `ValueError` for `storage_options`.
    """
    ensure_no_options(storage_options)
    open_place(name, catalog).make(
        lambda store, _: operations.WriteResult(0 if make(store) else None),
        may_replace=mode == "overwrite",
        if_not_exists=mode == "ignore",
    )
    return name


def ensure_no_options(storage_options: Mapping[str, str] | None) -> None:
    """Raise `ValueError` for options beside the name of a table in a catalog."""
    if storage_options is not None:
        raise ValueError("give storage_options to the catalog, which knows where its tables are")


def open_place(name: str | os.PathLike[str], catalog: NamespaceCatalog) -> "operations.Place":
    """Return the place of a table by its name in a catalog, whether it is there or not.

    Raises `TableNotFoundError` for a name whose namespace the catalog does not have.
    """
    words = spark_sql.Words(os.fspath(name))
    parts = words.table_name().parts
    words.expect_end()
    within = without_catalog(catalog, parts)
    namespace = catalog.namespace(within[0]) if len(within) == 2 else None
    if namespace is None:
        raise TableNotFoundError(
            f"the catalog has no namespace for the table {'.'.join(parts)}: write namespace.table, with a"
            f" namespace that the catalog lists ({', '.join(catalog.namespaces()) or 'none'})"
        )
    return operations.Place(within[-1], ".".join(parts), namespace, namespace.place_for(within[-1]))
