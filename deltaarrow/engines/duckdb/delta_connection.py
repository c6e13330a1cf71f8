"""A DuckDB connection that knows Delta tables by name and opens only the files that a query needs."""

import contextlib
import functools
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, TypeAlias

import duckdb

from deltaarrow.catalogs import View, fold
from deltaarrow.compute import quote_identifier
from deltaarrow.engines.accepted_tables import HasChanges
from deltaarrow.engines.duckdb.error_messages import show_statement
from deltaarrow.engines.duckdb.pruning import Rewriter
from deltaarrow.engines.duckdb.query_errors import DeltaRelation, QueryErrors, Within
from deltaarrow.engines.duckdb.table_names import PLACES, Catalog
from deltaarrow.engines.duckdb.view import ensure_view_name, reach, register
from deltaarrow.errors import DeltaError, TableNotFoundError
from deltaarrow.expressions import Column, Predicate
from deltaarrow.runtime.fork_safety import keep_in_children
from deltaarrow.runtime.interrupts import interruptible
from deltaarrow.runtime.lazy import lazy_attributes
from deltaarrow.scan import Explanation, ScanPlan
from deltaarrow.schema import DataType, StructType
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import Store

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["DeltaConnection", "Dialect", "Parameters", "StatementRunner"]

_READS_BY_NAME = frozenset({"get_table_names", "table", "view"})
"""Methods that take the name of a table outside a statement."""

_FETCHES = frozenset({"arrow", "df", "pl", "to_arrow_reader", "to_arrow_table"})
"""Methods that read the rows of an executed statement, besides those that begin with ``fetch``."""

Parameters: TypeAlias = Sequence[Any] | Mapping[str, Any]
"""The values of ``?`` in order, or of ``$name`` by name."""

Dialect: TypeAlias = Literal["duckdb", "spark"]
"""How a statement is written: as DuckDB's SQL or as Spark's."""

_RESULT = "__deltaarrow:result"
_NO_ROWS = "SELECT NULL AS done WHERE FALSE"

_lazily = lazy_attributes(
    __name__,
    {
        "ensure_storable": "deltaarrow.engines.duckdb.stored_views",
        "one_of_several": "deltaarrow.spark_sql",
        "split_statements": "deltaarrow.spark_sql",
    },
)


class StatementRunner(Protocol):
    """What a connection asks about each statement, before DuckDB sees it."""

    dialect: Dialect

    def cursor(self) -> "StatementRunner":
        """Return the one of another cursor."""

    def split(self, text: str, dialect: Dialect) -> list[str] | None:
        """Return the statements of SQL text; None to let DuckDB split it."""

    def run(
        self, connection: "DeltaConnection", statement: str, parameters: Parameters, dialect: Dialect
    ) -> "str | pa.Table":
        """Return the result of a statement that it has run, or the query that DuckDB is to run."""

    def row_errors(self, statement: str) -> Callable[[Exception], Exception | None]:
        """Return what makes the errors of rows of the query in Spark's dialect that was run last.

        It is given DuckDB's error, and returns None for one that is not about a row.
        """

    def show_place(self, error: DeltaError, statement: str) -> None:
        """Set the position of an error in a statement in DuckDB's dialect."""

    def inspect(self, function: str, table: Snapshot) -> "pa.Table":
        """Return the rows of a function about a table, such as ``delta_history``."""


_OWN = """
    SELECT database_name, schema_name, database_name = current_database() AND schema_name = current_schema()
    FROM (
        SELECT database_name, schema_name, table_name AS name FROM duckdb_tables() WHERE NOT internal
        UNION ALL
        SELECT database_name, schema_name, view_name FROM duckdb_views() WHERE NOT internal
    )
    WHERE lower(name) = lower(?)
"""
"""Where DuckDB has tables and views of a name, and whether that is where it looks for a name alone."""


class DeltaConnection:
    """A DuckDB connection made by `deltaarrow.connect`; any other attribute is that of `connection`.

    Use it in one thread at a time; `cursor` makes another with the same database and names. A forked child
    must open its own.
    """

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        catalog: Catalog,
        *,
        scans_frames: bool = False,
        front_end: StatementRunner | None = None,
    ) -> None:
        self._connection = keep_in_children(connection)
        self._process = os.getpid()
        self._scans_frames = scans_frames
        if scans_frames:  # The setting is per cursor.
            connection.execute("SET python_scan_all_frames = true")
        self._catalog = catalog
        self._front_end = front_end
        self._rewriter = Rewriter(
            connection, catalog, inspect=None if front_end is None else front_end.inspect
        )
        catalog.is_of_duckdb = lambda name: self.has_own((name,))
        self._errors = QueryErrors(interrupt=connection.interrupt)

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """The DuckDB connection. `DeltaError` in a forked child, where its threads are missing."""
        if self._process != os.getpid():
            raise DeltaError(
                f"this connection was opened in process {self._process}, before a fork: "
                "open another with deltaarrow.connect() in this process"
            )
        return self._connection

    # --- statements ---

    def sql(
        self,
        query: Any,
        *,
        alias: str = "",
        params: Parameters | None = None,
        dialect: Dialect | None = None,
    ) -> Any:
        """Return a query as a DuckDB relation, which runs when its rows are read.

        It keeps the files that it was planned with. Other statements run at once and return a relation of
        their result, which has no rows if they say nothing; one that changes or describes Delta tables has
        the methods of its Arrow table too, such as ``to_pylist``. To read the rows of a relation raises
        `CorruptDataFileError` for a damaged file. In Spark's dialect it raises `ConstraintViolationError` for
        a row that cannot be computed, and in DuckDB's what DuckDB raises.

        Args:
            query: one or more statements.
            alias: the name of the relation.
            params: the values of ``?`` or ``$name`` in the last statement.
            dialect: its SQL dialect; that of `deltaarrow.connect` if None.
        """
        found = self.run(query, alias=alias, params=params, dialect=dialect)
        if isinstance(found, DeltaRelation):
            return found
        if found is None or not found.num_columns:
            shown = self.connection.sql(_NO_ROWS, alias=alias)
        else:
            shown = self.connection.from_arrow(found)
            shown = shown.set_alias(alias) if alias else shown
        return DeltaRelation.of(shown, QueryErrors(), found)

    def run(
        self,
        query: Any,
        *,
        alias: str = "",
        params: Parameters | None = None,
        dialect: Dialect | None = None,
    ) -> "DeltaRelation | pa.Table | None":
        """Run statements as `sql` does; return a query as a relation, the result of another as it comes.

        That is an Arrow table from a statement about Delta tables, with metrics in its metadata, and None
        from DuckDB's own.
        """
        last = self._last(query, params, dialect)
        if _is_result(last):
            result: pa.Table = last
            return result
        if self._dialect(dialect) == "spark":
            params = None  # They are in the text already.
        with self._rewriter.errors(), self._errors.named():
            found = self.connection.sql(last, alias=alias, params=params)
        return None if found is None else DeltaRelation.of(found, self._errors)

    query = sql
    from_query = sql

    def execute(
        self, query: Any, parameters: Parameters | None = None, *, dialect: Dialect | None = None
    ) -> Self:
        """Run statements, the last one with parameters; return the connection, to fetch the rows from."""
        self.connection.abort()  # DuckDB does nothing else while an earlier result has rows.
        last = self._last(query, parameters, dialect)
        if _is_result(last):
            last, parameters = self._shown(last), None
        elif self._dialect(dialect) == "spark":
            parameters = None  # They are in the text already.
        with self._rewriter.errors(), self._errors.named():
            self.connection.execute(last, parameters)
        return self

    def executemany(self, query: Any, parameters: Any = None) -> Self:
        """Run a statement with several sets of parameters. Their values skip no files."""
        last = self._last(query, None, "duckdb")
        with self._errors.named():
            self.connection.executemany(last, parameters)
        return self

    def explain(self, query: str, params: Parameters | None = None) -> list[Explanation]:
        """Return the files of each Delta table that a statement reads, and why others are skipped.

        Nothing is run; ``EXPLAIN`` shows DuckDB's plan. `ValueError` unless it is a query.
        """
        return self._rewriter.explain(query, params or ())

    def _last(self, query: Any, parameters: Parameters | None, dialect: Dialect | None) -> Any:
        """Run all statements of SQL text except the last; return the last as DuckDB runs it.

        Returns the result of the last one if it is not for DuckDB.
        """
        if isinstance(query, duckdb.Statement):
            query = query.query
        if not isinstance(query, str):
            self._errors = QueryErrors(interrupt=self.connection.interrupt)
            return query  # DuckDB says what it accepts.
        chosen = self._dialect(dialect)
        *first, last = statements = self._split(query, chosen)
        for number, statement in enumerate(first, 1):
            prepared = self._prepared(statement, (), chosen, _within(query, number, len(statements), chosen))
            if isinstance(prepared, str):
                with self._rewriter.errors(), self._errors.named():
                    self.connection.execute(prepared)
                    self.connection.complete()
        within = _within(query, len(statements), len(statements), chosen)
        return self._prepared(last, parameters or (), chosen, within)

    def _shown(self, result: "pa.Table") -> str:
        """The query whose rows are those of a result."""
        if not result.num_columns:
            return _NO_ROWS
        self.connection.register(_RESULT, result)
        return f"SELECT * FROM {quote_identifier(_RESULT)}"

    def _dialect(self, dialect: Dialect | None) -> Dialect:
        return dialect or ("duckdb" if self._front_end is None else self._front_end.dialect)

    def split(self, text: str, *, dialect: Dialect | None = None) -> list[str]:
        """Return the statements of SQL text, without running them.

        Raises `UnsupportedFeatureError` for a quote or a comment that is not closed.
        """
        chosen = dialect or ("duckdb" if self._front_end is None else self._front_end.dialect)
        found = None if self._front_end is None else self._front_end.split(text, chosen)
        if found is None:
            try:
                found = [statement.query for statement in self.connection.extract_statements(text)]
            except duckdb.Error:  # It may name tables as only this connection knows them.
                found = _lazily("split_statements")(text, chosen)
        stripped = (each.strip(" \t\r\n;") for each in found)
        return [each for each in stripped if each]

    def _split(self, text: str, dialect: Dialect) -> list[str]:
        found = None if self._front_end is None else self._front_end.split(text, dialect)
        return found or self._rewriter.split(text)

    def _prepared(
        self, statement: str, parameters: Parameters, dialect: Dialect, within: Within
    ) -> "str | pa.Table":
        """The statement as DuckDB is to run it, or the result of one that is not for DuckDB."""
        query, row_error = statement, None
        with within(), interruptible(self.connection.interrupt):
            if self._front_end is not None:
                try:
                    done = self._front_end.run(self, statement, parameters, dialect)
                except duckdb.Error as error:
                    show_statement(error, statement)
                    raise
                if not isinstance(done, str):
                    return done
                query = done
                if dialect == "spark":
                    row_error = self._front_end.row_errors(statement)
            try:
                query, plans = self.planned(query, parameters)
            except TableNotFoundError as error:
                if self._front_end is not None and dialect == "duckdb":
                    self._front_end.show_place(error, statement)
                raise
        self._errors = QueryErrors(
            plans, row_error, within, statement=statement, interrupt=self.connection.interrupt
        )
        return query

    # --- names ---

    def register(self, view_name: str, python_object: Any) -> Self:
        """Give a Delta table a name for statements; anything else is registered as DuckDB does.

        Args:
            view_name: the name, which hides tables of the same name in DuckDB's databases.
            python_object: a `DeltaTable`, a `Snapshot`, or a path or URI; it stays at its version until it is
                refreshed. Or a change data feed, or any object that DuckDB can register.
        """
        ensure_view_name(view_name)
        self.unregister(view_name)
        if isinstance(python_object, str | os.PathLike | Snapshot) or _has_snapshot(python_object):
            self._catalog.pin(view_name, python_object)
        elif isinstance(python_object, HasChanges):
            register(self.connection, view_name, python_object)  # type: ignore[arg-type]
        else:
            self.connection.register(view_name, python_object)
        return self

    def unregister(self, view_name: str) -> Self:
        """Remove a registered name, if there is one."""
        if self._catalog.unpin(view_name):
            self._rewriter.drop_registered(view_name)
        else:
            self.connection.unregister(view_name)
        return self

    def refresh(self, view_name: str | None = None) -> Self:
        """Move a registered Delta table, or all of them, to the newest version.

        `KeyError` if no Delta table is registered under the name.
        """
        self._catalog.refresh(view_name)
        return self

    @property
    def catalog(self) -> Catalog:
        """The names of tables and namespaces that statements may use."""
        return self._catalog

    def planned(self, query: str, parameters: Parameters = ()) -> tuple[str, Sequence[ScanPlan]]:
        """Return a query as DuckDB is to run it, and the plans of the Delta tables that it reads."""
        with self._catalog.finding(query):
            return self._rewriter.rewrite(query, parameters), tuple(self._rewriter.plans)

    def needs(
        self, query: str, view: str, schema: StructType, variables: Mapping[str, Any]
    ) -> tuple[Predicate | None, list[str]]:
        """Return what a query for DuckDB reads of a temporary view that stands for a table of a schema.

        That is the predicate of the rows that it needs, None for all, and the columns. `variables` are the
        values of variables of the connection.
        """
        return self._rewriter.needs(query, view, schema, variables)

    def equated(
        self, query: str, view: str, schema: StructType, other: str
    ) -> list[tuple[Column, DataType, str]]:
        """Return the columns of such a view that a row is needed for only if it equals one of another table.

        With each comes its type, and the name of the column of the table that the query calls `other`.
        """
        return self._rewriter.equated(query, view, schema, other)

    def reach(self, store: Store, files: Sequence[str]) -> None:
        """Let DuckDB read files of a store. `BeyondDuckDBError` if it cannot."""
        if not store.is_local:
            reach(self.connection, store, files)

    def names_tables(self, statement: str) -> bool:
        """Whether a statement may name a Delta table; False only if it does not."""
        return self._catalog.is_mentioned(fold(statement))

    def reads_tables(self, query: str) -> bool:
        """Whether a query reads Delta tables, or views over them; False for what cannot be parsed."""
        return self._rewriter.reads_tables(query)

    def ensure_storable(self, view: View) -> None:
        """Raise `UnsupportedFeatureError` for a view that may do more than read tables."""
        _lazily("ensure_storable")(view, self._catalog, self.connection)

    def is_delta(self, names: Sequence[str], *, in_namespace: bool = False) -> bool:
        """Whether the name of a table in a statement is that of a Delta table, not of DuckDB's own.

        A registered table stays at its version, and is none that statements change.

        Args:
            names: the parts of the name.
            in_namespace: whether it has to be in a namespace of Delta tables, which may lack such a table.
        """
        is_known = self._catalog.schema_of(names) is not None
        if len(names) == 1:
            # A new table goes into a namespace that is current.
            asked = self._catalog.current if in_namespace else self._catalog.locate(names)
            is_known = is_known and asked is not None
        return is_known and not self._rewriter.is_hidden(names)

    def has_own(self, names: Sequence[str]) -> bool:
        """Whether DuckDB has a table or view of a name; it would read a file or a variable for any other."""
        *qualifiers, name = names
        found = self._connection.execute(_OWN, [name]).fetchall()
        if not qualifiers:
            return any(is_current or database == "temp" for database, _, is_current in found)
        wanted = tuple(map(fold, qualifiers))
        return any(
            wanted in ((fold(schema),), (fold(database), fold(schema))) for database, schema, _ in found
        )

    def attach(
        self,
        folder: str | os.PathLike[str],
        name: str,
        *,
        storage_options: Mapping[str, Any] | None = None,
    ) -> Self:
        """Let statements use the Delta tables in a folder as ``name.table``, by the names of their folders.

        `ValueError` for ``delta`` and for the name of a DuckDB database or schema.

        >>> import deltaarrow, tempfile, pyarrow as pa
        >>> folder = tempfile.mkdtemp()
        >>> _ = deltaarrow.write_deltalake(f"{folder}/orders", pa.table({"id": [1, 2]}))
        >>> con = deltaarrow.connect().attach(folder, "lake")
        >>> con.sql("SELECT sum(id) FROM lake.orders").fetchall()
        [(3,)]
        """
        if self._rewriter.is_schema(name) or name.lower() == PLACES:
            raise ValueError(f"{name!r} is already the name of a schema; choose another")
        self._catalog.attach(folder, name, storage_options)
        return self

    def detach(self, name: str) -> Self:
        """Remove an attached folder. `KeyError` if no folder is attached under the name."""
        self._catalog.detach(name)
        return self

    # --- the connection ---

    def cursor(self) -> "DeltaConnection":
        """Return another connection to the same database with the same Delta tables."""
        return DeltaConnection(
            self.connection.cursor(),
            self._catalog.cursor(),
            scans_frames=self._scans_frames,
            front_end=None if self._front_end is None else self._front_end.cursor(),
        )

    duplicate = cursor

    # --- names of DuckDB 1, which Ibis 12 calls ---

    def fetch_arrow_table(self, rows_per_batch: int = 1_000_000) -> "pa.Table":
        """Return the rows of the statement that was executed last; `rows_per_batch` has no effect."""
        with _copying():
            return self.to_arrow_table()

    def fetch_record_batch(self, rows_per_batch: int = 1_000_000) -> "pa.RecordBatchReader":
        """Return the rows of the statement that was executed last as a stream."""
        with _copying():
            return self.to_arrow_reader(rows_per_batch)

    # --- transactions ---

    def rollback(self) -> Self:
        """Undo the changes of a transaction."""
        return self.execute("ROLLBACK", dialect="duckdb")

    def begin(self) -> Self:
        """Begin a transaction."""
        return self.execute("BEGIN TRANSACTION", dialect="duckdb")

    def commit(self) -> Self:
        """Commit a transaction."""
        return self.execute("COMMIT", dialect="duckdb")

    def close(self) -> None:
        """Close the connection, not its cursors."""
        self.connection.close()

    def __enter__(self) -> Self:
        """Return the connection."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the connection."""
        self.close()

    def __getattr__(self, name: str) -> Any:
        """The attribute of DuckDB's connection."""
        if name in _READS_BY_NAME:
            self._rewriter.show_registered()
        value = getattr(self.connection, name)
        return self._errors.naming(value) if name in _FETCHES or name.startswith("fetch") else value


def _within(text: str, number: int, count: int, dialect: Dialect) -> Within:
    """The part of an error that names the failed statement, if there are several."""
    if count == 1:
        return contextlib.nullcontext
    return functools.partial(_lazily("one_of_several"), text, number, count, dialect)


@contextlib.contextmanager
def _copying() -> Iterator[None]:
    """Keep to ourselves that DuckDB copies the rows: who calls by the old name cannot help it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Arrow output on a DB-API result")
        yield


def _is_result(value: object) -> bool:
    return type(value).__module__.startswith("pyarrow")


def _has_snapshot(value: object) -> bool:
    return isinstance(getattr(value, "snapshot", None), Snapshot)
