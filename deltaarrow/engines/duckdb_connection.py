"""A DuckDB connection that knows Delta tables by name and opens only the files that a query needs."""

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import duckdb

from deltaarrow.engines.duckdb import ensure_view_name, register
from deltaarrow.engines.duckdb_catalog import PLACES, Catalog
from deltaarrow.engines.duckdb_pruning import Rewriter
from deltaarrow.engines.source import HasChanges
from deltaarrow.errors import DeltaError
from deltaarrow.runtime.fork_safety import keep_in_children
from deltaarrow.scan import Explanation, reader_failure
from deltaarrow.snapshot import Snapshot

__all__ = ["DeltaConnection", "connect"]

_READS_BY_NAME = frozenset({"get_table_names", "table", "view"})
"""Methods that take the name of a table outside a statement."""

_FETCHES = frozenset({"arrow", "df", "pl", "to_arrow_reader", "to_arrow_table"})
"""Methods that read the rows of an executed statement, besides those that begin with ``fetch``."""

Parameters = Sequence[Any] | Mapping[str, Any]


def connect(
    database: str | os.PathLike[str] | duckdb.DuckDBPyConnection = ":memory:",
    read_only: bool = False,
    config: Mapping[str, Any] | None = None,
    *,
    storage_options: Mapping[str, Any] | None = None,
) -> "DeltaConnection":
    """Connect to a DuckDB database in whose statements Delta tables can be used by name.

    A statement names a table as ``delta.`/data/orders` `` (a path or URI in quotes of any kind, at its newest
    version), by a registered name, or as ``lake.orders`` if the folder ``/data`` is attached as ``lake``.
    Such a name never refers to a variable of the caller.
    Before DuckDB plans, files that cannot match the statement's conditions on the table, in WHERE and ON, are
    skipped by partition values and statistics; DuckDB sees only the columns that the statement mentions. This
    applies to queries, ``CREATE TABLE ... AS``, ``INSERT INTO ... SELECT``, ``COPY (...) TO`` and ``EXPLAIN``
    of one. Conditions that are not understood skip no file. The values of parameters are used.

    Args:
        database: a DuckDB file or ``":memory:"``; or a connection, which is used as it is.
        read_only: open the file for reading.
        config: DuckDB settings. ``python_scan_all_frames`` is switched on unless it is given, because
            statements would not see the variables of the caller otherwise.
        storage_options: for the paths and folders that statements and `DeltaConnection.attach` name.

    >>> import deltaarrow, tempfile, pyarrow as pa
    >>> folder = tempfile.mkdtemp()
    >>> for year in (2025, 2026):
    ...     rows = pa.table({"year": [year], "id": [year * 2]})
    ...     _ = deltaarrow.write_deltalake(folder, rows, mode="append")
    >>> con = deltaarrow.connect()
    >>> con.sql(f"SELECT id FROM delta.'{folder}' WHERE year = 2026").fetchall()
    [(4052,)]
    >>> [found] = con.explain(f"SELECT id FROM delta.'{folder}' WHERE year = 2026")
    >>> found.left_files, found.files
    (1, 2)
    """
    if isinstance(database, duckdb.DuckDBPyConnection):
        return DeltaConnection(database, Catalog(storage_options))
    connection = duckdb.connect(os.fspath(database), read_only=read_only, config=dict(config or {}))
    scans_frames = "python_scan_all_frames" not in (config or {})
    return DeltaConnection(connection, Catalog(storage_options), scans_frames=scans_frames)


class DeltaConnection:
    """A DuckDB connection made by `connect`; any other attribute is that of `connection`.

    Use it in one thread at a time; `cursor` makes another with the same database and names. A forked child
    must open its own.
    """

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, catalog: Catalog, *, scans_frames: bool = False
    ) -> None:
        self._connection = keep_in_children(connection)
        self._process = os.getpid()
        self._scans_frames = scans_frames
        if scans_frames:  # The setting is per cursor.
            connection.execute("SET python_scan_all_frames = true")
        self._catalog = catalog
        self._rewriter = Rewriter(connection, catalog)

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

    def sql(self, query: Any, *, alias: str = "", params: Parameters | None = None) -> Any:
        """Return a query as a DuckDB relation, which runs when its rows are read.

        It keeps the files that it was planned with. Other statements run at once. The relation is DuckDB's
        own, so a damaged file raises DuckDB's exceptions when the rows are read; `execute` and its fetch
        methods raise `CorruptDataFileError`.
        """
        last = self._last(query, params)
        with self._rewriter.errors(), self._naming_damaged_files():
            return self.connection.sql(last, alias=alias, params=params)

    query = sql
    from_query = sql

    def execute(self, query: Any, parameters: Parameters | None = None) -> Self:
        """Run statements, the last one with parameters; return the connection, to fetch the rows from."""
        last = self._last(query, parameters)
        with self._rewriter.errors(), self._naming_damaged_files():
            self.connection.execute(last, parameters)
        return self

    def executemany(self, query: Any, parameters: Any = None) -> Self:
        """Run a statement with several sets of parameters. Their values skip no files."""
        last = self._last(query, None)
        with self._naming_damaged_files():
            self.connection.executemany(last, parameters)
        return self

    def explain(self, query: str, params: Parameters | None = None) -> list[Explanation]:
        """Return the files of each Delta table that a statement reads, and why others are skipped.

        Nothing is run; ``EXPLAIN`` shows DuckDB's plan. `ValueError` unless it is a query.
        """
        return self._rewriter.explain(query, params or ())

    def _last(self, query: Any, parameters: Parameters | None) -> Any:
        """Run all statements of a text except the last, and return that one as DuckDB is to run it."""
        if isinstance(query, duckdb.Statement):
            query = query.query
        if not isinstance(query, str):
            return query  # DuckDB says what it accepts.
        *first, last = self._rewriter.split(query)
        for statement in first:
            with self._rewriter.errors():
                self.connection.execute(self._rewriter.rewrite(statement))
        return self._rewriter.rewrite(last, parameters or ())

    @contextlib.contextmanager
    def _naming_damaged_files(self) -> Iterator[None]:
        """Raise a `DeltaError` for a data file of the last statement that DuckDB cannot read."""
        try:
            yield
        except duckdb.Error as error:
            # A statement may also read files that are not of Delta tables.
            is_named = type(error) is not duckdb.Error
            found = (reader_failure(plan, error, is_named=is_named) for plan in self._rewriter.plans)
            failure = next((each for each in found if each is not None), None)
            if failure is None:
                raise
            raise failure from error

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
        >>> con = connect().attach(folder, "lake")
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
        return DeltaConnection(self.connection.cursor(), self._catalog, scans_frames=self._scans_frames)

    duplicate = cursor

    def rollback(self) -> Self:
        """Undo the changes of a transaction."""
        self._rewriter.forget()
        self.connection.rollback()
        return self

    def begin(self) -> Self:
        """Begin a transaction."""
        self.connection.begin()
        return self

    def commit(self) -> Self:
        """Commit a transaction."""
        with self._rewriter.errors():
            self.connection.commit()
        return self

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
        return self._naming_damaged_files()(value) if name in _FETCHES or name.startswith("fetch") else value


def _has_snapshot(value: object) -> bool:
    return isinstance(getattr(value, "snapshot", None), Snapshot)
