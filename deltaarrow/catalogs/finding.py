"""Tables by their names in a catalog: their stores, and the errors for names that there are not."""

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, cast

import deltaarrow.spark_sql as spark_sql
from deltaarrow.catalogs.namespace import Namespace, NamespaceCatalog, TableLocation, name_of, without_catalog
from deltaarrow.display.near_names import did_you_mean
from deltaarrow.errors import DeltaError, TableNotFoundError, UnsupportedFeatureError
from deltaarrow.log import Catalog, CatalogStore
from deltaarrow.runtime.lazy import lazy_attributes
from deltaarrow.storage import Store, open_store

__all__ = [
    "find_namespace",
    "find_table_location",
    "given_catalog",
    "named",
    "names_given",
    "open_table_store",
    "parse_table_name",
    "unknown_name",
]

_lazily = lazy_attributes(__name__, {"open_catalog": "deltaarrow.catalogs.opening"})
"""It loads all catalogs."""

_PLACES = "delta"
_MOST = 20
_FORM = "write namespace.table or catalog.namespace.table"


def open_table_store(
    table: str | os.PathLike[str] | TableLocation,
    storage_options: Mapping[str, Any] | None = None,
    catalog: str | os.PathLike[str] | Catalog | NamespaceCatalog | None = None,
) -> Store:
    """Return the store of a table.

    Args:
        table: its path or URI, its `TableLocation`, or its name in `catalog`.
        storage_options: for a path or URI, and for a catalog that is a string.
        catalog: the catalog of the table's commits, or of names: an object, or a string for
            `open_catalog`.

    Raises `TableNotFoundError` for an unknown or invalid name, `TypeError` for an object that is not a
    catalog, and `ValueError` for `storage_options` with a location or catalog that has its own.

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
    names = names_given(cast("NamespaceCatalog", catalog), storage_options)
    return find_table_location(names, parse_table_name(table)).open()


def given_catalog(
    catalog: str | os.PathLike[str] | NamespaceCatalog, storage_options: Mapping[str, Any] | None = None
) -> NamespaceCatalog:
    """Return a catalog from an object or from a string for `open_catalog`.

    `TypeError` for any other object.

    >>> given_catalog("glue://eu-west-1")
    GlueCatalog('eu-west-1')
    """
    if isinstance(catalog, str | os.PathLike):
        opened: NamespaceCatalog = _lazily("open_catalog")(catalog, storage_options)
        return opened
    if isinstance(catalog, type) or not callable(getattr(catalog, "namespace", None)):
        shown = f"the class {catalog.__name__}" if isinstance(catalog, type) else type(catalog).__name__
        raise TypeError(
            f"a catalog must be an object, such as UnityCatalog(...), or a text, such as"
            f" https://unity.example/main, glue://eu-west-1 or the folder of a FileCatalog, not {shown}"
        )
    return catalog


def names_given(
    catalog: str | os.PathLike[str] | NamespaceCatalog, storage_options: Mapping[str, Any] | None
) -> NamespaceCatalog:
    """Return a catalog of names from an object, or from a string and its storage options.

    Raises what `given_catalog` raises, and `ValueError` for options beside an object, which has its own.
    """
    if storage_options is not None and not isinstance(catalog, str | os.PathLike):
        raise ValueError("give storage_options to the catalog, which knows where its tables are")
    return given_catalog(catalog, storage_options)


def parse_table_name(name: str | os.PathLike[str]) -> tuple[str, ...]:
    """Return the parts of the name of a table in a catalog.

    Raises `TableNotFoundError` for a path and any other string that is not a name, and `TypeError` for any
    other type.

    >>> parse_table_name("shop.`orders of 2026`")
    ('shop', 'orders of 2026')
    >>> parse_table_name("/data/orders")
    Traceback (most recent call last):
    deltaarrow.errors.TableNotFoundError: '/data/orders' is a path, and a catalog knows tables by names: ...
    """
    if not isinstance(name, str | os.PathLike):
        raise TypeError(f"a catalog knows tables by names: {_FORM} as text, not a {type(name).__name__}")
    text = os.fspath(name)
    try:
        words = spark_sql.Words(text)
        parts = words.table_name().parts
        words.expect_end()
    except DeltaError as error:
        if "/" in text or "\\" in text or isinstance(name, os.PathLike):
            raise _is_path(text) from error
        raise TableNotFoundError(
            f"{text!r} is not the name of a table in a catalog: {_FORM}, with `backquotes` around parts that"
            " have blanks or signs"
        ) from error
    if parts[0].lower() == _PLACES and "/" in parts[-1]:
        raise _is_path(parts[-1])
    return parts


def _is_path(text: str) -> TableNotFoundError:
    return TableNotFoundError(
        f"{text!r} is a path, and a catalog knows tables by names: {_FORM}, or leave catalog out, as in"
        " DeltaTable(path)"
    )


class _Namespaces(Protocol):
    """The namespaces of a catalog, or of an engine that adds some."""

    def namespaces(self) -> list[str]: ...

    def namespace(self, name: str) -> Namespace | None: ...


def find_namespace(catalog: NamespaceCatalog, parts: Sequence[str]) -> tuple[Namespace, str]:
    """Return the namespace of a name of a table, and the last part of the name.

    The name is ``(namespace, table)``; before it that of the catalog may stand, if the catalog has one.
    `TableNotFoundError` if there is no such namespace.
    """
    within = without_catalog(catalog, parts)
    namespace = catalog.namespace(within[0]) if len(within) == 2 else None
    if namespace is None:
        raise _unknown(catalog, parts)
    return namespace, within[-1]


def find_table_location(catalog: NamespaceCatalog, parts: Sequence[str]) -> TableLocation:
    """Return where the table of a name is; `TableNotFoundError` with near names if there is none.

    The name is ``(namespace, table)``; before it that of the catalog may stand, if the catalog has one.
    """
    namespace, name = find_namespace(catalog, parts)
    found = namespace.find(name)
    if found is None:
        raise _unknown(catalog, parts)
    return found


def unknown_name(
    names: _Namespaces,
    parts: Sequence[str],
    within: Sequence[str],
    *,
    name: str | None,
    current: str | None = None,
    others: Iterable[str] = (),
    otherwise: str = "",
) -> str:
    """Return the message for the name of no table: its near names, and those that there are.

    Args:
        names: the namespaces.
        parts: the name.
        within: the name without that of the catalog.
        name: the name of the catalog; None if it has none.
        current: the namespace of a name that stands alone.
        others: further tables that are named alone.
        otherwise: how else a table can be named.
    """
    shown = f"{spark_sql.TableName(tuple(parts)).text} is not the name of a table"
    if len(within) > 2:
        near = did_you_mean(within[0], [] if name is None else [name])
        there = "the catalog has no name" if name is None else f"the name of the catalog is {name}"
        return f"{shown}{near} ({there}; write {spark_sql.TableName(tuple(within[-2:])).text})"
    inside = within[0] if len(within) == 2 else current
    namespace = None if inside is None else names.namespace(inside)
    if namespace is not None:
        tables = _known(namespace.tables)
        return f"{shown}{did_you_mean(within[-1], tables)} (in {inside} are {_listed(tables) or 'no tables'})"
    known = _known(names.namespaces)
    near = did_you_mean(within[0], (*known, *others))
    form = f": {_FORM}" if len(within) < 2 and not otherwise else ""
    more = f"; {otherwise}" if otherwise else ""
    return f"{shown}{near}{form} (namespaces: {_listed(known) or 'none'}{more})"


def _unknown(catalog: NamespaceCatalog, parts: Sequence[str]) -> TableNotFoundError:
    within = without_catalog(catalog, parts)
    return TableNotFoundError(unknown_name(catalog, parts, within, name=name_of(catalog)))


def _known(list_names: Callable[[], list[str]]) -> list[str]:
    """The names that there are; none if the user may not list them, which is no reason to hide the error."""
    try:
        return list_names()
    except DeltaError:
        return []


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + more


@contextlib.contextmanager
def named() -> Iterator[None]:
    """Raise `UnsupportedFeatureError` for what a catalog refuses as a name, with `ValueError`."""
    try:
        yield
    except DeltaError:
        raise
    except ValueError as error:
        raise UnsupportedFeatureError(f"[INVALID_SCHEMA_OR_RELATION_NAME] {error}", feature="names") from None
