"""The error for a name without a table: an unknown name, or one whose table is gone."""

from collections.abc import Sequence

from deltaarrow.display.near_names import did_you_mean
from deltaarrow.display.redaction import redacted
from deltaarrow.engines.duckdb_catalog import Catalog
from deltaarrow.errors import TableNotFoundError
from deltaarrow.spark_sql import TableName

__all__ = ["unknown_table"]

_MOST = 20


def unknown_table(catalog: Catalog, names: Sequence[str]) -> TableNotFoundError:
    """Return the error, with near names and those that there are."""
    shown = TableName(tuple(names)).text
    error = TableNotFoundError(_gone(catalog, names, shown) or _unknown(catalog, names, shown))
    error.names = tuple(names)
    return error


def _gone(catalog: Catalog, names: Sequence[str], shown: str) -> str | None:
    """What is wrong with a name that is known, and has no table at its place; None for an unknown name."""
    location = catalog.locate(names)
    if location is None:
        return None
    return (
        f"[DELTA_TABLE_NOT_FOUND] {shown} names a table at {redacted(location.uri)}, and there is none:"
        " bring its files back, or forget the name with DROP TABLE"
    )


def _unknown(catalog: Catalog, names: Sequence[str], shown: str) -> str:
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
    return f"[TABLE_OR_VIEW_NOT_FOUND] {shown} is not the name of a table{near} ({there})"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + more
