"""The process's private DuckDB databases: made when first used, kept, never shared with a forked child.

None of them loads extensions, reads the user's stored secrets or sees Python variables as tables. All
compute in UTC.
"""

import atexit
import collections
import contextlib
import os
import re
import threading
from collections.abc import Callable, Hashable, Iterator
from typing import TYPE_CHECKING

from deltaarrow.runtime.fork_safety import Lock, before_forks, keep_in_children

if TYPE_CHECKING:
    import duckdb

__all__ = ["SPILL_FILE", "connect", "ensure_memory_limit", "pooled_cursor", "prepare", "set_memory_limit"]

_CAPACITY = 8
"""Databases kept; a file system with other options than those before costs one."""

SPILL_FILE = "duckdb_temp_"
"""What DuckDB's errors of spilling name."""

_DEFAULT_MEMORY_LIMIT = "50%"
_LIMIT = r"\s*([0-9]*\.?[0-9]+)\s*([A-Za-z]+|%)\s*"
_DUCKDB_PART = 0.75


class _Pool:
    def __init__(self, memory_limit: str) -> None:
        self.lock = Lock()
        self.databases: collections.OrderedDict[Hashable, duckdb.DuckDBPyConnection] = (
            collections.OrderedDict()
        )
        self.memory_limit = memory_limit
        self.spill_folder: str | None = None
        self.preparing: threading.Thread | None = None

    def database(
        self, key: Hashable, make: "Callable[[], duckdb.DuckDBPyConnection]"
    ) -> "duckdb.DuckDBPyConnection":
        """Return the database under `key`, made if there is none; the lock is to be held."""
        database = self.databases.get(key)
        if database is None:
            database = self.databases[key] = keep_in_children(make())
            if len(self.databases) > _CAPACITY:
                # Dropped, not closed: closing a connection closes its cursors.
                self.databases.popitem(last=False)
        self.databases.move_to_end(key)
        return database


_pool = _Pool(_DEFAULT_MEMORY_LIMIT)


@contextlib.contextmanager
def pooled_cursor(
    key: Hashable, make: Callable[[], "duckdb.DuckDBPyConnection"]
) -> "Iterator[duckdb.DuckDBPyConnection]":
    """Yield a cursor of the database under `key`, which `make` connects to if there is none yet.

    The least recently used database is let go when there are too many; it ends with its last cursor.
    One that has failed for good, as at a file which DuckDB did not expect, is replaced by the next call,
    whatever is made of the error meanwhile.
    """
    # A child that began while DuckDB sets itself up, for the first time even, would find it half done.
    with before_forks():
        pool = _pool
        with pool.lock:
            database = pool.database(key, make)
            cursor = database.cursor()
    try:
        yield cursor
    except BaseException:
        if _has_failed(database):
            with pool.lock:
                if pool.databases.get(key) is database:
                    del pool.databases[key]
        raise
    finally:
        cursor.close()


def _has_failed(database: "duckdb.DuckDBPyConnection") -> bool:
    """Whether every statement fails from now on."""
    import duckdb

    try:
        with database.cursor() as cursor:
            cursor.execute("SELECT 1")
    except duckdb.Error as error:
        # Any other error, such as too little memory, passes, and is not to hide the one that is on its way.
        return isinstance(error, duckdb.FatalException | duckdb.InternalException)
    return False


def prepare(key: Hashable, make: "Callable[[], duckdb.DuckDBPyConnection]") -> None:
    """Make the database under `key`, if there is none yet, in a thread beside what the caller does.

    It takes DuckDB 20 ms, most of which go into the functions that SQL can call.
    """
    if key not in _pool.databases:
        # No daemon: Python may not end while DuckDB works for it.
        _pool.preparing = threading.Thread(target=_make, args=(_pool, key, make), name="deltaarrow-prepare")
        _pool.preparing.start()


def _make(pool: _Pool, key: Hashable, make: "Callable[[], duckdb.DuckDBPyConnection]") -> None:
    # Whoever asks for a cursor meets the same error, and can do something about it.
    with contextlib.suppress(Exception), before_forks(), pool.lock:
        pool.database(key, make)


def connect(*, files: bool, memory_limit: str | None = None) -> "duckdb.DuckDBPyConnection":
    """Connect to a new database; with `files` it reaches files and spills to a private folder.

    `memory_limit` is for all that an operation does, of which DuckDB has a part; that of the process if None.
    `ValueError` for one that DuckDB does not understand. To be called by `make` of `pooled_cursor` alone.
    """
    import duckdb

    if memory_limit is not None:
        ensure_memory_limit(memory_limit)
        memory_limit = _part_of(memory_limit)
    connection = duckdb.connect(
        ":memory:",
        config={
            "allow_persistent_secrets": "false",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            # DuckDB lets SQL write to its spill folder whatever the access, so a sandbox has none.
            "enable_external_access": str(files).lower(),
            "memory_limit": memory_limit or _pool.memory_limit,
            "python_enable_replacements": "false",
            "temp_directory": _spill_folder() if files else "",
        },
    )
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    return connection


def set_memory_limit(limit: str = _DEFAULT_MEMORY_LIMIT) -> None:
    """Set how much memory each private database may take before it spills: ``"4GB"``, ``"50%"``.

    The default is half of the machine's memory (of the container's, where it has a limit). Work that is
    under way keeps the limit it began with. `ValueError` if DuckDB does not understand `limit`.
    """
    ensure_memory_limit(limit)
    with _pool.lock:
        _pool.memory_limit = limit
        _pool.databases.clear()


def _part_of(limit: str) -> str:
    """What of a limit DuckDB may count as its own; what Arrow and Parquet hold beside it comes on top."""
    found = re.fullmatch(_LIMIT, limit)
    return limit if found is None else f"{float(found[1]) * _DUCKDB_PART:.3f}{found[2]}"


def ensure_memory_limit(limit: str) -> None:
    """Raise `ValueError` for a limit that DuckDB does not understand."""
    import duckdb

    try:
        duckdb.connect(":memory:", config={"memory_limit": limit}).close()
    except duckdb.Error as error:
        raise ValueError(f"not a memory limit: {limit!r}") from error


def _spill_folder() -> str:
    if _pool.spill_folder is None:
        import tempfile

        _pool.spill_folder = tempfile.mkdtemp(prefix="deltaarrow-")
        atexit.register(_remove_spill_folder, _pool.spill_folder, os.getpid())
    return _pool.spill_folder


def _remove_spill_folder(folder: str, process: int) -> None:
    if os.getpid() == process:
        import shutil

        shutil.rmtree(folder, ignore_errors=True)


def _wait_before_fork() -> None:
    if _pool.preparing is not None:
        _pool.preparing.join()


def _start_anew_after_fork() -> None:
    """Leave the parent's databases alone in a child, which has their memory but not their threads."""
    global _pool
    _pool = _Pool(_pool.memory_limit)


# A database that is still open when the interpreter has ended is reported as a leak.
atexit.register(lambda: _pool.databases.clear())
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait_before_fork, after_in_child=_start_anew_after_fork)
