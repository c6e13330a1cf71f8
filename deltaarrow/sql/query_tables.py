"""The tables of a query in Spark's dialect: their columns, and their names in DuckDB's dialect."""

from typing import TYPE_CHECKING, Any

from deltaarrow.compute import quote_identifier, quote_literal
from deltaarrow.engines import DeltaConnection, unknown_table
from deltaarrow.errors import SchemaMismatchError, UnsupportedFeatureError
from deltaarrow.scan import metadata_of
from deltaarrow.schema import Schema
from deltaarrow.spark_sql import TableName
from deltaarrow.spark_sql.queries import Relation, Travel
from deltaarrow.sql.following import Following, followed
from deltaarrow.sql.timestamps import ensure_points_in_time, moment

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["NamedRelations"]

_FEEDS = ("table_changes", "table_changes_by_path")


class NamedRelations:
    """The tables that a connection knows by name: Delta tables first, then DuckDB's own tables and views.

    Args:
        connection: knows the names.
        following: the changes that the MERGE takes in whose query this is.
    """

    def __init__(self, connection: DeltaConnection, following: Following | None = None) -> None:
        self._connection = connection
        self._following = following

    def table(self, names: tuple[str, ...], travel: Travel | None) -> Relation:
        """Return the relation of a name, at a version if one is given.

        Raises `TableNotFoundError` if there is none, and `UnsupportedFeatureError` for a version of a table
        that is no Delta table.
        """
        written = ".".join(map(quote_identifier, names))
        at = None if travel is None else travel.version if travel.version is not None else travel.timestamp
        view = self._connection.catalog.view(names)
        if view is not None and travel is None:
            return Relation(written, view.schema)
        snapshot = self._connection.catalog.find(names, at)
        if snapshot is not None:
            ensure_points_in_time(snapshot)
            if not snapshot.schema.fields:
                raise SchemaMismatchError(
                    f"[DELTA_READ_TABLE_WITHOUT_COLUMNS] {written} has no columns yet: add columns, or write"
                    " rows with mergeSchema or spark.databricks.delta.schema.autoMerge.enabled"
                )
            return Relation(f"{written}{_at(travel)}", snapshot.schema, metadata_of(snapshot))
        if travel is not None:
            raise UnsupportedFeatureError(
                f"{TableName(names).text} is no Delta table, which alone has versions", feature="time travel"
            )
        if not self._connection.has_own(names):
            raise unknown_table(self._connection.catalog, names)
        columns = self._arrow_columns(written)
        return Relation(_in_microseconds(written, columns), Schema.from_arrow(columns))

    def function(self, name: str, arguments: tuple[object, ...]) -> Relation | None:
        """Return the relation of a feed of changes; None for another function."""
        if name.lower() not in _FEEDS:
            return None
        written = followed(self._following, name, arguments)
        if written is None:
            place, *bounds = arguments or ("",)
            listed = [place, *(moment(each) if isinstance(each, str) else each for each in bounds)]
            written = f"{name.lower()}({', '.join(map(_literal, listed))})"
        return Relation(written, Schema.from_arrow(self._arrow_columns(written)))

    def _arrow_columns(self, source: str) -> "pa.Schema":
        rows: Any = self._connection.sql(f"SELECT * FROM {source} LIMIT 0", dialect="duckdb")
        schema: pa.Schema = rows.to_arrow_table().schema
        return schema


def _in_microseconds(source: str, columns: "pa.Schema") -> str:
    """Return a table expression whose timestamps are in microseconds, as those of Delta and Spark are.

    A value with further digits is an error; DuckDB would round it.
    """
    import pyarrow as pa  # lazy: queries of Delta tables alone do not ask

    cast = []
    for each in columns:
        if pa.types.is_timestamp(each.type) and each.type.unit != "us":
            name = quote_identifier(each.name)
            kind = "TIMESTAMP" if each.type.tz is None else "TIMESTAMPTZ"
            sql = f"CAST({name} AS {kind})"
            if each.type.unit == "ns":
                message = quote_literal(
                    f"a time in column {each.name!r} of {source} has digits below microseconds, which Spark"
                    " lacks; cut them off where the column comes from"
                )
                sql = f"IF(CAST({sql} AS {kind}_NS) <> {name}, error({message}), {sql})"
            cast.append(f"{sql} AS {name}")
    return f"(SELECT * REPLACE ({', '.join(cast)}) FROM {source})" if cast else source


def _at(travel: Travel | None) -> str:
    if travel is None:
        return ""
    if travel.version is not None:
        return f" AT (VERSION => {travel.version})"
    assert travel.timestamp is not None
    return f" AT (TIMESTAMP => {quote_literal(travel.timestamp.isoformat(' '))})"


def _literal(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, str):
        return quote_literal(value)
    raise UnsupportedFeatureError(
        f"a feed of changes takes texts and whole numbers, not {value!r}", feature="table_changes"
    )
