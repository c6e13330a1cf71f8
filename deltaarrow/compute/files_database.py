"""The *files* databases: DuckDB with access to the files of a store, both log and data."""

import contextlib
from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING

from deltaarrow.compute.database import SPILL_FILE, connect, pooled_cursor, prepare
from deltaarrow.compute.filesystem import filesystem_for_duckdb
from deltaarrow.errors import DeltaError, MemoryLimitError, StorageError
from deltaarrow.runtime.gc_pause import importing
from deltaarrow.storage import Store

if TYPE_CHECKING:
    import duckdb

__all__ = ["files_cursor", "prepare_files"]

_OUT_OF_MEMORY = "Out of Memory Error: "
"""The beginning of DuckDB's exception text, also when it comes through an Arrow stream."""


@contextlib.contextmanager
def files_cursor(
    store: Store, *, memory_limit: str | None = None, spill_limit: int | None = None
) -> "Iterator[duckdb.DuckDBPyConnection]":
    """Yield a cursor whose SQL reads files of `store` by their `Store.location`; it is closed at the end.

    Use one cursor per operation: neither threads nor open results may share one. Arrow data is registered on
    the cursor by name and disappears with it; Python variables are not visible. Quote text that comes from a
    table with `quote_identifier`, `quote_literal` and `quote_file`.

    With `memory_limit` the cursor has its own database, which spills before the operation exceeds the limit;
    `set_memory_limit` sets the limit of the other databases. With `spill_limit`, what it spills comes to that
    many bytes at most.

    Raises `MemoryLimitError` if DuckDB needs more than the limit, also for operations that cannot spill;
    `StorageError` if it cannot spill, or if the store fails.
    """
    with importing():
        import duckdb

    try:
        key = _key(store, memory_limit, spill_limit)
        with pooled_cursor(key, lambda: _connect(store, memory_limit, spill_limit)) as cursor:
            yield cursor
    except (duckdb.Error, OSError) as error:
        failure = None if isinstance(error, DeltaError) else _failure(store, memory_limit, str(error))
        if failure is None:
            raise
        raise failure from error


def _failure(store: Store, memory_limit: str | None, text: str) -> DeltaError | None:
    """The error for a DuckDB failure caused by neither a file nor a statement, found by its text."""
    message = text.partition("\n")[0]
    if message.startswith(_OUT_OF_MEMORY):
        limit = "the limit of the process" if memory_limit is None else f"memory_limit={memory_limit!r}"
        said = f"{limit} is too little for this operation ({message.removeprefix(_OUT_OF_MEMORY)})"
        return MemoryLimitError(f"{said}: raise it")
    if SPILL_FILE in message:
        return StorageError(f"DuckDB cannot spill: {message}; make room there, or set TMPDIR")
    # An error of an fsspec file system comes back as a text that ends with its name and message.
    _, is_told, told = text.rpartition(f"{StorageError.__module__}.Storage")
    return StorageError(told.partition(": ")[2]) if is_told else None


def prepare_files(store: Store) -> None:
    """Prepare DuckDB for `files_cursor` in a thread parallel to the caller."""
    prepare(_key(store), lambda: _connect(store))


def _key(store: Store, memory_limit: str | None = None, spill_limit: int | None = None) -> Hashable:
    # DuckDB knows file systems only by protocol. So stores with different options (credentials, an endpoint)
    # have separate databases; otherwise one could read with the credentials of another.
    return ("files", store.filesystem_key, memory_limit, spill_limit)


def _connect(
    store: Store, memory_limit: str | None = None, spill_limit: int | None = None
) -> "duckdb.DuckDBPyConnection":
    connection = connect(files=True, memory_limit=memory_limit)
    if spill_limit is not None:
        connection.execute(f"SET max_temp_directory_size = '{spill_limit}B'")
    filesystem = filesystem_for_duckdb(store)
    if filesystem is not None:
        connection.register_filesystem(filesystem)
    return connection
