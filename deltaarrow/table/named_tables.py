"""Lookup and creation of tables by name in a catalog."""

import os
from collections.abc import Callable, Mapping
from typing import Any

import deltaarrow.operations as operations
import deltaarrow.spark_sql as spark_sql
from deltaarrow.catalogs import NamespaceCatalog, find_namespace, named, names_given, parse_table_name
from deltaarrow.storage import Store

__all__ = ["make_named", "open_place"]


def make_named(
    name: str | os.PathLike[str],
    catalog: str | os.PathLike[str] | NamespaceCatalog,
    storage_options: Mapping[str, Any] | None,
    make: Callable[[Store], bool],
    *,
    mode: str,
) -> NamespaceCatalog:
    """Make an empty table, give it a name in a catalog and return that; `make` commits it in the same mode.

    Raises what `names_given`, `Place.make` and `open_place` raise.
    """
    names = names_given(catalog, storage_options)
    open_place(name, names).make(
        lambda store, _: operations.WriteResult(0 if make(store) else None),
        may_replace=mode == "overwrite",
        if_not_exists=mode == "ignore",
    )
    return names


def open_place(name: str | os.PathLike[str], catalog: NamespaceCatalog) -> "operations.Place":
    """Return the location of a table by its name in a catalog, whether the table exists or not.

    Raises `TableNotFoundError` for a name whose namespace the catalog does not have, and for what is no name,
    and `UnsupportedFeatureError` for a name that the catalog cannot have.
    """
    parts = parse_table_name(name)
    namespace, last = find_namespace(catalog, parts)
    with named():
        new = namespace.place_for(last)
    return operations.Place(last, spark_sql.TableName(parts).text, namespace, new)
