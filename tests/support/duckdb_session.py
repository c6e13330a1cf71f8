"""Sessions of one DuckDB database, shared by all tests of a process: opening a database takes 25 ms.

A session has its own settings, registered rows, and temporary views and tables. Tests that make anything else
(tables that stay, global settings, file systems, functions) connect to a database of their own.
"""

import atexit
import functools
import os

import duckdb

__all__ = ["duckdb_session"]


def duckdb_session() -> duckdb.DuckDBPyConnection:
    """A new session, to be closed by the caller; after a fork, of a database of the child's own."""
    return _database(os.getpid()).cursor()


@functools.cache
def _database(process: int) -> duckdb.DuckDBPyConnection:
    # A new database has no file in its cache either.
    database = duckdb.connect(config={"enable_external_file_cache": "false"})
    atexit.register(database.close)
    return database
