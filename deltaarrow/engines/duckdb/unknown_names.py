"""The error for a name without a table: an unknown name, or one whose table is gone."""

from collections.abc import Sequence

from deltaarrow.catalogs import name_of, unknown_name
from deltaarrow.display.redaction import redacted
from deltaarrow.engines.duckdb.table_names import Catalog
from deltaarrow.errors import TableNotFoundError
from deltaarrow.spark_sql import TableName

__all__ = ["unknown_table"]


def unknown_table(catalog: Catalog, names: Sequence[str]) -> TableNotFoundError:
    """Return the error, with near names and those that there are."""
    shown = TableName(tuple(names)).text
    error = TableNotFoundError(_gone(catalog, names, shown) or _unknown(catalog, names))
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


def _unknown(catalog: Catalog, names: Sequence[str]) -> str:
    message = unknown_name(
        catalog,
        names,
        catalog.without_catalog(names),
        name=name_of(catalog.names),
        current=catalog.current,
        others=catalog.pinned,
        otherwise="by place: delta.`/path`",
    )
    return f"[TABLE_OR_VIEW_NOT_FOUND] {message}"
