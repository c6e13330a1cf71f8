"""The *sandbox* databases: they run the SQL expressions of tables and users on Arrow batches.

Whoever created a table wrote the expressions stored in it. So these databases have no access to files,
network, extensions or Python variables, and their configuration is locked. Data comes in as Arrow registered
on the cursor and goes out as Arrow.
"""

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltaarrow.compute.database import connect, ensure_memory_limit, pooled_cursor
from deltaarrow.errors import ExpressionLimitError

if TYPE_CHECKING:
    import duckdb

__all__ = [
    "ExpressionLimits",
    "expression_limits",
    "limited_cursor",
    "sandbox_cursor",
    "set_expression_limits",
]


@dataclass(frozen=True)
class ExpressionLimits:
    """The limits of SQL expressions on one batch of rows; see `set_expression_limits`."""

    seconds: float = 120.0
    memory: str = "2GB"
    value_bytes: int = 64 << 20


_limits = ExpressionLimits()


def set_expression_limits(
    *,
    seconds: float = ExpressionLimits.seconds,
    memory: str = ExpressionLimits.memory,
    value_bytes: int = ExpressionLimits.value_bytes,
) -> None:
    """Set the limits of CHECK constraints, invariants, generated columns and defaults.

    These expressions come from whoever created the table. Conditions in SQL text have the same limits when
    rows are read; those of DELETE, UPDATE and MERGE have ``memory_limit``. An expression that exceeds a limit
    raises `ExpressionLimitError`. Running work keeps its limits.

    Args:
        seconds: the time for one batch of rows, about 100,000 of them.
        memory: DuckDB's memory for it: ``"2GB"``, ``"10%"``.
        value_bytes: the greatest length of an intermediate text, as of ``replace`` inside ``replace``.

    Raises:
        ValueError: a limit is not positive, or DuckDB does not understand `memory`.
    """
    global _limits
    if seconds <= 0 or value_bytes <= 0:
        raise ValueError(f"limits must be greater than 0: seconds={seconds!r}, value_bytes={value_bytes!r}")
    ensure_memory_limit(memory)
    _limits = ExpressionLimits(seconds, memory, value_bytes)


def expression_limits() -> ExpressionLimits:
    """Return the limits of SQL expressions."""
    return _limits


@contextlib.contextmanager
def sandbox_cursor() -> "Iterator[duckdb.DuckDBPyConnection]":
    """Yield a cursor that reaches only what is registered on it; it is closed at the end.

    >>> with sandbox_cursor() as cursor:
    ...     cursor.execute("SELECT 6 * 7").fetchone()
    (42,)
    """
    with pooled_cursor("sandbox", lambda: _connect(None)) as cursor:
        yield cursor


@contextlib.contextmanager
def limited_cursor(what: str) -> "Iterator[duckdb.DuckDBPyConnection]":
    """Yield a cursor like `sandbox_cursor`, within the limits of SQL expressions.

    Raises `ExpressionLimitError`, which says `what` was computed, if the block exceeds a limit.
    """
    import duckdb

    limits = _limits
    with pooled_cursor(("limited sandbox", limits.memory), lambda: _connect(limits.memory)) as cursor:
        expired: list[bool] = []

        def expire() -> None:
            expired.append(True)
            cursor.interrupt()

        timer = threading.Timer(limits.seconds, expire)
        timer.daemon = True
        timer.start()
        try:
            yield cursor
        except duckdb.InterruptException as error:
            if not expired:
                raise  # interrupted by the user
            raise _exceeded(what, f"{limits.seconds:g} seconds on a batch of rows", "seconds") from error
        except duckdb.OutOfMemoryException as error:
            raise _exceeded(what, f"{limits.memory} of memory", "memory") from error
        finally:
            timer.cancel()
            timer.join()  # It must not interrupt a closed cursor.


def _exceeded(what: str, limit: str, name: str) -> ExpressionLimitError:
    return ExpressionLimitError(
        f"{what} takes more than {limit}: "
        f"raise the limit with deltaarrow.compute.set_expression_limits({name}=...), or drop the expression"
    )


def _connect(memory_limit: str | None) -> "duckdb.DuckDBPyConnection":
    connection = connect(files=False, memory_limit=memory_limit)
    connection.execute("SET lock_configuration = true")
    return connection
