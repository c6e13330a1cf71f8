"""`Session`: the state that the statements of one connection share."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from deltaarrow.catalogs import TableLocation, View
from deltaarrow.engines import DeltaConnection, Dialect, Parameters, unknown_table
from deltaarrow.errors import TableNotFoundError
from deltaarrow.spark_sql import PlacedCalls, TableName, provide_kernels
from deltaarrow.spark_sql.queries import CompiledQuery, compile_query
from deltaarrow.sql.following import Following
from deltaarrow.sql.query_tables import NamedRelations
from deltaarrow.sql.session_settings import APPLICATION, Settings
from deltaarrow.sql.table_transaction import TableTransaction
from deltaarrow.sql.timestamps import ensure_points_in_time
from deltaarrow.table import DeltaTable

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Session"]


class Session:
    """The statements of one connection or cursor.

    Attributes:
        connection: runs queries, and knows the names of tables.
        parameters: those of the statement that is run.
        variables: the values of its parameters that are variables of the connection, for the choice of files.
        dialect: that of the statement that is run.
        with_clause: what stands before it, and holds for its queries; empty without a WITH.
        settings: what SET has set.
        following: the changes that the MERGE takes in that is run.
        transaction: the one that BEGIN has begun; None outside.
        calls: of the query that was compiled last; see `CompiledQuery`.
        opened: streams of the statement that is run. Until they are closed, DuckDB runs nothing else.
        progress: told how much of a long statement is done, and of how much.
    """

    def __init__(self, connection: DeltaConnection) -> None:
        self.connection = connection
        self.parameters: Parameters = ()
        self.variables: Mapping[str, Any] = {}
        self.dialect: Dialect = "duckdb"
        self.with_clause = ""
        self.settings = Settings()
        self.following: Following | None = None
        self.opened: list[pa.RecordBatchReader] = []
        self.progress: Callable[[int, int], None] | None = None
        self.transaction: TableTransaction | None = None
        self.calls: PlacedCalls = ()
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
        if self.following is not None:
            text = self.following.query(text)
        with self.connection.catalog.finding() as compiled:
            found = compile_query(text, NamedRelations(self.connection, self.following), self.parameters)
            compiled(found.sql)
        provide_kernels(self.connection.connection, found.sql)
        self.calls = found.calls
        return found

    def with_names(self, query: str) -> str:
        """Return a query of the statement that is run, with the names of its WITH clause."""
        return f"{self.with_clause} SELECT * FROM (\n{query}\n)" if self.with_clause else query

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Run a statement, and close the streams that it has opened."""
        try:
            yield
        finally:
            while self.opened:
                self.opened.pop().close()

    # --- tables ---

    def table(self, name: TableName) -> DeltaTable:
        """Open the table of a name at its newest version. `TableNotFoundError` if there is none."""
        location = self.location(name)
        try:
            opened = DeltaTable(location, dialect="spark")
        except TableNotFoundError as error:
            error.names = name.parts
            raise
        ensure_points_in_time(opened.snapshot)
        held = self._held
        return held if held is not None and held.table_uri == opened.table_uri else opened

    def target(self, name: TableName) -> DeltaTable:
        """Open the table whose rows DELETE, UPDATE or MERGE change; the name may be that of a view of it."""
        view = self._view(name)
        if view is None or view.table is None:
            return self.table(name)
        return self.table(replace(name, parts=view.table))

    @contextlib.contextmanager
    def at(self, table: DeltaTable) -> Iterator[None]:
        """Let the names of a table mean this version of it, while one of its statements runs."""
        self._held = table
        try:
            with self.connection.catalog.holding(table.snapshot):
                yield
        finally:
            self._held = None

    @contextlib.contextmanager
    def merging_into(self, table: DeltaTable) -> Iterator[Following]:
        """Let a MERGE follow changes while it runs; names of the table mean this version of it."""
        with self.at(table), contextlib.ExitStack() as held:
            self.following = Following(self.settings[APPLICATION], table, self.connection.catalog, held)
            try:
                yield self.following
            finally:
                self.following = None

    def is_delta(self, name: TableName, *, in_namespace: bool = False) -> bool:
        """Whether a name in a statement of DuckDB's dialect is that of a Delta table, not of DuckDB's own.

        Args:
            name: the name.
            in_namespace: whether it has to be in a namespace of Delta tables, which may lack such a table.
        """
        return self.connection.is_delta(name.parts, in_namespace=in_namespace)

    def location(self, name: TableName) -> TableLocation:
        """Return where the table of a name is.

        `TableNotFoundError` for an unknown name, and for the name of a view, also if it hides a table.
        """
        if self._view(name) is not None:
            raise TableNotFoundError(
                f"[EXPECT_TABLE_NOT_VIEW.NO_ALTERNATIVE] {name.text} is a view, and a table is expected;"
                " DELETE, UPDATE and MERGE may also name a view that is SELECT * FROM a table"
            )
        found = self.connection.catalog.locate(name.parts)
        if found is None:
            raise unknown_table(self.connection.catalog, name.parts)
        return found

    def _view(self, name: TableName) -> View | None:
        catalog = self.connection.catalog
        return None if catalog.is_pinned(name.parts) else catalog.view(name.parts)
