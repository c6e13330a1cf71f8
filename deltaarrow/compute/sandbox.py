"""The *sandbox* database: where SQL expressions run that are stored in tables, by whomever.

It has no access to files, network, extensions or Python variables, and its configuration is locked. Data
comes in as Arrow registered on the cursor and goes out as Arrow.
"""

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from deltaarrow.compute.database import connect, pooled_cursor

if TYPE_CHECKING:
    import duckdb

__all__ = ["sandbox_cursor"]


@contextlib.contextmanager
def sandbox_cursor() -> "Iterator[duckdb.DuckDBPyConnection]":
    """Yield a cursor that reaches nothing but what is registered on it; closed at the end.

    >>> with sandbox_cursor() as cursor:
    ...     cursor.execute("SELECT 6 * 7").fetchone()
    (42,)
    """
    with pooled_cursor("sandbox", _connect) as cursor:
        yield cursor


def _connect() -> "duckdb.DuckDBPyConnection":
    connection = connect(files=False)
    connection.execute("SET lock_configuration = true")
    return connection
