"""The error for the name of a table that nothing has."""

from collections.abc import Sequence

from deltaarrow.display.near_names import did_you_mean
from deltaarrow.engines.duckdb_catalog import Catalog
from deltaarrow.errors import TableNotFoundError
from deltaarrow.spark_sql import TableName

__all__ = ["unknown_table"]

_MOST = 20


def unknown_table(catalog: Catalog, names: Sequence[str]) -> TableNotFoundError:
    """Return the error, with near names and those that there are."""
    inside = names[0] if len(names) > 1 else catalog.current
    namespace = None if inside is None else catalog.namespace(inside)
    if namespace is None:
        known = catalog.namespaces()
        near = did_you_mean(names[0], (*known, *catalog.pinned))
        there = f"namespaces: {_listed(known) or 'none'}; by place: delta.`/path`"
    else:
        tables = namespace.tables()
        near = did_you_mean(names[-1], tables)
        there = f"in {inside} are {_listed(tables) or 'no tables'}"
    error = TableNotFoundError(
        f"[TABLE_OR_VIEW_NOT_FOUND] {TableName(tuple(names)).text} is not the name of a table{near} ({there})"
    )
    error.names = tuple(names)
    return error


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + more
