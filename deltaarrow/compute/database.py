"""The process's private DuckDB databases: created on first use, kept, never shared with a forked child.

They load no extensions, do not read the user's stored secrets and do not see Python variables as tables. All
compute in UTC and by the Gregorian calendar, whatever the locale is.
"""

import atexit
import contextlib
import os
import re
import stat
import threading
from collections.abc import Callable, Hashable, Iterator
from typing import TYPE_CHECKING

from cachetools import LRUCache

from deltaarrow.runtime.fork_safety import Lock, before_forks, keep_in_children
from deltaarrow.runtime.interrupts import interruptible

if TYPE_CHECKING:
    from pathlib import Path

    import duckdb

__all__ = [
    "SPILL_FILE",
    "connect",
    "ensure_memory_limit",
    "memory_bytes",
    "pooled_cursor",
    "prepare",
    "set_memory_limit",
]

_CAPACITY = 8
"""The most databases kept; each file system with different options needs its own."""

SPILL_FILE = "duckdb_temp_"
"""A file name in DuckDB's errors about spilling."""

_DEFAULT_MEMORY_LIMIT = "50%"
_LIMIT = r"\s*([0-9]*\.?[0-9]+)\s*([A-Za-z]+|%)\s*"
_DUCKDB_PART = 0.75
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")


class _Pool:
    def __init__(self, memory_limit: str) -> None:
        self.lock = Lock()
        # A dropped database is not closed: closing a connection closes its cursors.
        self.databases: LRUCache[Hashable, duckdb.DuckDBPyConnection] = LRUCache(_CAPACITY)
        self.memory_limit = memory_limit
        self.spill_folder: str | None = None
        self.preparing: threading.Thread | None = None

    def database(
        self, key: Hashable, make: "Callable[[], duckdb.DuckDBPyConnection]"
    ) -> "duckdb.DuckDBPyConnection":
        """Return the database under `key`, creating it if necessary; the caller holds the lock."""
        database = self.databases.get(key)
        if database is None:
            database = self.databases[key] = keep_in_children(make())
        return database


_pool = _Pool(_DEFAULT_MEMORY_LIMIT)


@contextlib.contextmanager
def pooled_cursor(
    key: Hashable, make: Callable[[], "duckdb.DuckDBPyConnection"]
) -> "Iterator[duckdb.DuckDBPyConnection]":
    """Yield a cursor of the database under `key`; `make` connects to it if it does not exist yet.

    When there are too many, the least recently used database is dropped; it closes with its last cursor. A
    database that has failed for good, for example on an unexpected file, is replaced by the next call,
    whether or not the error is handled. Ctrl-C ends what the cursor does, with `KeyboardInterrupt`.
    """
    # A child forked while DuckDB initialises itself, even for the first time, would find it half done.
    with before_forks():
        pool = _pool
        with pool.lock:
            database = pool.database(key, make)
            cursor = database.cursor()
    try:
        with interruptible(cursor.interrupt):
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
    """Whether all further statements of the database will fail."""
    import duckdb

    try:
        with database.cursor() as cursor:
            cursor.execute("SELECT 1")
    except duckdb.Error as error:
        # Any other error, such as too little memory, is temporary and must not hide the original one.
        return isinstance(error, duckdb.FatalException | duckdb.InternalException)
    return False


def prepare(key: Hashable, make: "Callable[[], duckdb.DuckDBPyConnection]") -> None:
    """Create the database under `key`, if it does not exist yet, in a thread parallel to the caller.

    It takes DuckDB 20 ms, mostly to register the functions of SQL.
    """
    if key not in _pool.databases:
        # Not a daemon: Python must not exit while DuckDB works for it.
        _pool.preparing = threading.Thread(target=_make, args=(_pool, key, make), name="deltaarrow-prepare")
        _pool.preparing.start()


def _make(pool: _Pool, key: Hashable, make: "Callable[[], duckdb.DuckDBPyConnection]") -> None:
    # The next caller that needs a cursor gets the same error and can handle it.
    with contextlib.suppress(Exception), before_forks(), pool.lock:
        pool.database(key, make)


def connect(*, files: bool, memory_limit: str | None = None) -> "duckdb.DuckDBPyConnection":
    """Connect to a new database; with `files` it can read files and spills to a private folder.

    `memory_limit` covers everything an operation does, of which DuckDB gets a part; None means that of the
    process. `ValueError` if DuckDB does not understand it. Only the `make` of `pooled_cursor` may call this.
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
            # SQL may write to DuckDB's spill folder even without external access, so a sandbox has none.
            "enable_external_access": str(files).lower(),
            "memory_limit": memory_limit or _pool.memory_limit,
            "python_enable_replacements": "false",
            "temp_directory": _spill_folder() if files else "",
        },
    )
    connection.execute("SET GLOBAL TimeZone = 'UTC'; SET GLOBAL Calendar = 'gregorian'")
    return connection


def set_memory_limit(limit: str = _DEFAULT_MEMORY_LIMIT) -> None:
    """Set how much memory each private database may use before it spills: ``"4GB"``, ``"50%"``.

    The default is half of the machine's memory (or of the container's limit). Running work keeps the limit it
    started with. `ValueError` if DuckDB does not understand `limit`.
    """
    ensure_memory_limit(limit)
    with _pool.lock:
        _pool.memory_limit = limit
        _pool.databases.clear()


def _part_of(limit: str) -> str:
    """DuckDB's own part of a limit; Arrow and Parquet buffers need the rest."""
    found = re.fullmatch(_LIMIT, limit)
    return limit if found is None else f"{float(found[1]) * _DUCKDB_PART:.3f}{found[2]}"


def ensure_memory_limit(limit: str) -> None:
    """Raise `ValueError` for a limit that DuckDB does not understand."""
    import duckdb

    try:
        duckdb.connect(":memory:", config={"memory_limit": limit}).close()
    except duckdb.Error as error:
        raise _not_a_limit(limit) from error


def memory_bytes(limit: str) -> int:
    """Return about how many bytes a limit means; a percentage is of the machine's or container's memory.

    Raises `ValueError` for a limit that DuckDB does not understand.

    >>> memory_bytes("512MiB")
    536870912
    """
    import duckdb

    try:
        with duckdb.connect(":memory:", config={"memory_limit": limit}) as connection:
            ((shown,),) = connection.execute("SELECT current_setting('memory_limit')").fetchall()
    except duckdb.Error as error:
        raise _not_a_limit(limit) from error
    # DuckDB prints sizes with one decimal place: 1.5 GiB.
    number, unit = shown.split()
    return int(float(number) * 1024 ** _UNITS.index(unit))


def _not_a_limit(limit: str) -> ValueError:
    return ValueError(f"not a memory limit: {limit!r}; give a size such as '4GB' or '50%'")


def _spill_folder() -> str:
    """Return a path that DuckDB makes a folder when it first spills, so that most processes make none.

    Others must not read what is spilled, and DuckDB's folder is open to all. So it is in one that is not.
    """
    if _pool.spill_folder is None:
        import tempfile
        import uuid
        from pathlib import Path

        private = _private_folder(Path(tempfile.gettempdir()))
        _pool.spill_folder = (
            tempfile.mkdtemp(prefix="deltaarrow-") if private is None else str(private / uuid.uuid4().hex)
        )
        atexit.register(_remove_spill_folder, _pool.spill_folder, os.getpid())
    return _pool.spill_folder


def _private_folder(parent: "Path") -> "Path | None":
    """Return the user's own folder for spilled files; None if something else is in its place."""
    if not hasattr(os, "getuid"):
        return None
    folder = parent / f"deltaarrow-{os.getuid()}"
    with contextlib.suppress(FileExistsError):
        folder.mkdir(0o700)
    found = folder.lstat()
    is_private = stat.S_ISDIR(found.st_mode) and not found.st_mode & 0o077
    return folder if is_private and found.st_uid == os.getuid() else None


def _remove_spill_folder(folder: str, process: int) -> None:
    if os.getpid() == process:
        import shutil

        shutil.rmtree(folder, ignore_errors=True)


def _wait_before_fork() -> None:
    if _pool.preparing is not None:
        _pool.preparing.join()


def _start_anew_after_fork() -> None:
    """Ignore the parent's databases in a child, which has their memory but not their threads."""
    global _pool
    _pool = _Pool(_pool.memory_limit)


# A database still open when the interpreter exits is reported as a leak.
atexit.register(lambda: _pool.databases.clear())
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait_before_fork, after_in_child=_start_anew_after_fork)
