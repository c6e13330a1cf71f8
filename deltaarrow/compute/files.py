"""The *files* databases: DuckDB over the files of a store, the log's and the data's."""

import contextlib
from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING

from deltaarrow.compute.database import SPILL_FILE, connect, pooled_cursor, prepare
from deltaarrow.compute.filesystem import filesystem_for_duckdb
from deltaarrow.errors import DeltaError, MemoryLimitError, StorageError
from deltaarrow.storage import Store

if TYPE_CHECKING:
    import duckdb

__all__ = ["files_cursor", "prepare_files"]

_OUT_OF_MEMORY = "Out of Memory Error: "
"""How the text of DuckDB's exception begins, also where it comes by way of an Arrow stream."""


@contextlib.contextmanager
def files_cursor(store: Store, *, memory_limit: str | None = None) -> "Iterator[duckdb.DuckDBPyConnection]":
    """Yield a cursor whose SQL reads the files of `store` by their `Store.location`; closed at the end.

    One cursor an operation: neither threads nor open results share one. Arrow data is registered on the
    cursor by name and is gone with it; Python variables are not seen. Quote what comes from a table with
    `quote_identifier`, `quote_literal` and `quote_file`.

    With `memory_limit` the database is one of its own, which spills before an operation takes so much; see
    `set_memory_limit`, which tells what other databases take.

    Raises `MemoryLimitError` where DuckDB needs more than that, also for what does not spill;
    `StorageError` where it cannot spill, and where the store fails under it.
    """
    import duckdb

    try:
        with pooled_cursor(_key(store, memory_limit), lambda: _connect(store, memory_limit)) as cursor:
            yield cursor
    except (duckdb.Error, OSError) as error:
        failure = None if isinstance(error, DeltaError) else _failure(store, memory_limit, str(error))
        if failure is None:
            raise
        raise failure from error


def _failure(store: Store, memory_limit: str | None, text: str) -> DeltaError | None:
    """The error for what is neither of a file nor of a statement, by the text of DuckDB's."""
    message = text.partition("\n")[0]
    if message.startswith(_OUT_OF_MEMORY):
        limit = "the limit of the process" if memory_limit is None else f"memory_limit={memory_limit!r}"
        said = f"{limit} is too little for this operation ({message.removeprefix(_OUT_OF_MEMORY)})"
        return MemoryLimitError(f"{said}: give it more")
    if SPILL_FILE in message:
        return StorageError(f"DuckDB cannot spill: {message}; make room there, or set TMPDIR")
    # What a file system of fsspec's raises comes back as a text that ends with its name and message.
    _, is_told, told = text.rpartition(f"{StorageError.__module__}.Storage")
    return StorageError(told.partition(": ")[2]) if is_told else None


def prepare_files(store: Store) -> None:
    """Let DuckDB get ready for `files_cursor` in a thread, beside what the caller does until it needs one."""
    prepare(_key(store, None), lambda: _connect(store, None))


def _key(store: Store, memory_limit: str | None) -> Hashable:
    # DuckDB knows file systems by their protocol alone. Stores that differ in options (credentials, an
    # endpoint) therefore have databases of their own, lest one read with the rights of the other.
    return ("files", store.filesystem_key, memory_limit)


def _connect(store: Store, memory_limit: str | None) -> "duckdb.DuckDBPyConnection":
    connection = connect(files=True, memory_limit=memory_limit)
    filesystem = store.fsspec_filesystem()
    if filesystem is not None:
        connection.register_filesystem(filesystem_for_duckdb(filesystem, store.reaching))
    return connection
