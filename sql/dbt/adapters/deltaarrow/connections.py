"""Connections of dbt: cursors of one `deltaarrow.connect()`, in which each statement is a commit."""

import contextlib
from collections.abc import Iterator
from typing import Any

from dbt.adapters.contracts.connection import Connection
from dbt.adapters.deltaarrow.credentials import DeltaarrowCredentials
from dbt.adapters.duckdb.connections import DuckDBConnectionManager
from dbt.adapters.duckdb.environments.local import LocalEnvironment
from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError

import deltaarrow
from deltaarrow.catalogs import FileCatalog
from deltaarrow.errors import TableNotFoundError

__all__ = ["DeltaarrowConnectionManager"]


class LakeEnvironment(LocalEnvironment):
    """dbt-duckdb's process of its own, whose connection knows the tables of the lake."""

    @classmethod
    def initialize_db(cls, creds: DeltaarrowCredentials, plugins: Any = None) -> "deltaarrow.DeltaConnection":
        """Open the DuckDB database, and make the names of the lake known to its statements."""
        connection = super().initialize_db(creds, plugins)
        catalog = FileCatalog(creds.root, creds.storage_options)
        lake = deltaarrow.connect(connection, catalog=catalog, storage_options=creds.storage_options)
        for schema, folder in (creds.folders or {}).items():
            lake.attach(folder, schema)
        return lake


class DeltaarrowConnectionManager(DuckDBConnectionManager):
    """dbt-duckdb's connections without its transactions.

    A version of a Delta table has the changes of one table, and nobody can read them before the commit. So no
    transaction spans the statements of a model. Where a model needs two for one version, as to delete and
    insert, its macro writes BEGIN and COMMIT around them.
    """

    TYPE = "deltaarrow"

    @classmethod
    def open(cls, connection: Connection) -> Connection:
        """Open a cursor on the connection of this process, which is made anew for other credentials."""
        base = DuckDBConnectionManager  # where the code of dbt-duckdb looks for the environment
        with cls._LOCK:
            if base._ENV is None or base._ENV.creds != connection.credentials:
                if base._ENV is not None:
                    base._ENV.close()
                base._ENV = LakeEnvironment(connection.credentials)
        return super().open(connection)

    @classmethod
    def close_all_connections(cls) -> None:
        """Forget the connection of this process."""
        DuckDBConnectionManager.close_all_connections()

    def add_begin_query(self) -> None:
        """Begin nothing: each statement is committed by itself."""

    def add_commit_query(self) -> None:
        """Commit nothing: each statement is committed by itself."""

    @contextlib.contextmanager
    def exception_handler(self, sql: str, connection_name: str = "master") -> Iterator[None]:
        """Raise what a statement raises as dbt's error of databases, and give up what it has begun."""
        try:
            yield
        except DbtRuntimeError:
            raise
        except Exception as error:
            self.rollback_if_open()
            # dbt-duckdb takes these words for a relation that has no columns yet.
            why = "the relation does not exist: " if isinstance(error, TableNotFoundError) else ""
            raise DbtDatabaseError(f"{why}{error}") from error
