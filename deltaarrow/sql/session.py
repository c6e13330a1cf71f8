"""`Session`: what the statements of one connection share: its names, and what they are told."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from deltaarrow.catalogs import TableLocation
from deltaarrow.engines import DeltaConnection, Dialect, Parameters
from deltaarrow.errors import TableNotFoundError
from deltaarrow.spark_sql import TableName
from deltaarrow.spark_sql.queries import CompiledQuery, compile_query
from deltaarrow.sql.relations import NamedRelations
from deltaarrow.sql.settings import Settings
from deltaarrow.table import DeltaTable

__all__ = ["Session"]


class Session:
    """The statements of one connection or cursor.

    Attributes:
        connection: runs queries, and knows the names of tables.
        parameters: those of the statement that is run.
        dialect: that of the statement that is run.
        settings: what SET has set.
    """

    def __init__(self, connection: DeltaConnection) -> None:
        self.connection = connection
        self.parameters: Parameters = ()
        self.dialect: Dialect = "duckdb"
        self.settings = Settings()
        self._held: DeltaTable | None = None

    def query(self, text: str) -> str:
        """Return a query as DuckDB is to run it, with Delta tables by the names that the connection knows.

        Raises `UnsupportedFeatureError` for what has no certain meaning in DuckDB.
        """
        return text if self.dialect == "duckdb" else self.compiled(text).sql

    def compiled(self, text: str) -> CompiledQuery:
        """Return a query in Spark's dialect with its columns, as DuckDB's SQL with the parameters in it.

        Raises `UnsupportedFeatureError` for what has no certain meaning in DuckDB.
        """
        return compile_query(text, NamedRelations(self.connection), self.parameters)

    # --- tables ---

    def table(self, name: TableName) -> DeltaTable:
        """Open the table of a name at its newest version. `TableNotFoundError` if there is none."""
        location = self.location(name)
        opened = DeltaTable(location.uri, storage_options=_options(location))
        held = self._held
        return held if held is not None and held.table_uri == opened.table_uri else opened

    @contextlib.contextmanager
    def at(self, table: DeltaTable) -> Iterator[None]:
        """Let the names of a table mean this version of it, while one of its statements runs."""
        self._held = table
        try:
            with self.connection.catalog.holding(table.snapshot):
                yield
        finally:
            self._held = None

    def is_delta(self, name: TableName) -> bool:
        """Whether a name in a statement of DuckDB's dialect is that of a Delta table, not of DuckDB's own."""
        return self.connection.is_delta(name.parts)

    def location(self, name: TableName) -> TableLocation:
        """Return where the table of a name is. `TableNotFoundError` for an unknown name."""
        found = self.connection.catalog.locate(name.parts)
        if found is None:
            raise TableNotFoundError(f"{name.text} is not the name of a table{self._known(name.parts)}")
        return found

    def _known(self, parts: Sequence[str]) -> str:
        catalog = self.connection.catalog
        namespace = catalog.namespace(parts[0]) if len(parts) > 1 else None
        if namespace is not None:
            return f" (in {parts[0]} are {', '.join(namespace.tables()) or 'no tables'})"
        return f" (namespaces: {', '.join(catalog.namespaces()) or 'none'}; by place: delta.`/path`)"


def _options(location: TableLocation) -> dict[str, Any] | None:
    return None if location.storage_options is None else dict(location.storage_options)
