"""`StatementKind`: a kind of statement, with the grammars that read it and the handler that runs it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deltaarrow.spark_sql import TableName, Words

if TYPE_CHECKING:
    import pyarrow as pa

    from deltaarrow.sql.session import Session
    from deltaarrow.sql.statement_plan import StatementPlan

__all__ = ["StatementKind"]

Grammar = Callable[[Words], Any]


@dataclass(frozen=True)
class StatementKind:
    """A kind of statement.

    Args:
        name: as the reference page lists it, such as ``OPTIMIZE``.
        first_words: the words that it begins with, in each of its forms; the longest match wins.
        statement: the dataclass of its parts.
        handle: runs one and returns the rows of its result, or a query for DuckDB.
        spark: reads it in Spark's dialect; None where Spark's dialect does not have it.
        duckdb: reads it in DuckDB's dialect; it returns None for a statement that is DuckDB's own.
        subject: goes to the name of the table that a statement in DuckDB's dialect is about. It is DuckDB's
            own, and not read further, unless that is the name of a Delta table.
        in_namespace: whether that table may be missing, and has its name from a namespace of Delta tables.
        in_transaction: whether it may stand between BEGIN and COMMIT.
        plan: tells what one would do, and does nothing; None for a kind that EXPLAIN refuses.
    """

    name: str
    first_words: tuple[tuple[str, ...], ...]
    statement: type
    handle: "Callable[[Session, Any], pa.Table | str]"
    spark: Grammar | None = None
    duckdb: Grammar | None = None
    subject: Callable[[Words], TableName | None] | None = None
    in_namespace: bool = False
    in_transaction: bool = False
    plan: "Callable[[Session, Any], StatementPlan] | None" = None
