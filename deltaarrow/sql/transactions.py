"""The handlers of BEGIN, COMMIT and ROLLBACK in DuckDB's dialect."""

from typing import TYPE_CHECKING

from deltaarrow.sql.kind import StatementKind
from deltaarrow.sql.rows.statements import Begin, Commit, Rollback
from deltaarrow.sql.table_transaction import TableTransaction

if TYPE_CHECKING:
    from deltaarrow.sql.session import Session

__all__ = ["KINDS"]


def _begin(session: "Session", statement: Begin) -> str:
    # DuckDB refuses to begin a second one.
    session.transaction = session.transaction or TableTransaction(session.connection.catalog)
    return statement.text


def _commit(session: "Session", statement: Commit) -> str:
    transaction, session.transaction = session.transaction, None
    if transaction is not None:
        try:
            transaction.commit()
        except BaseException:
            transaction.rollback()
            session.connection.planned("ROLLBACK")  # It forgets temporary objects.
            session.connection.connection.rollback()
            raise
    return statement.text


def _rollback(session: "Session", statement: Rollback) -> str:
    transaction, session.transaction = session.transaction, None
    if transaction is not None:
        transaction.rollback()
    return statement.text


KINDS = (
    StatementKind(
        "BEGIN",
        (("BEGIN",), ("START", "TRANSACTION")),
        Begin,
        _begin,
        duckdb=lambda words: Begin(words.text),
        in_transaction=True,
    ),
    StatementKind(
        "COMMIT",
        (("COMMIT",), ("END",)),
        Commit,
        _commit,
        duckdb=lambda words: Commit(words.text),
        in_transaction=True,
    ),
    StatementKind(
        "ROLLBACK",
        (("ROLLBACK",), ("ABORT",)),
        Rollback,
        _rollback,
        duckdb=lambda words: Rollback(words.text),
        in_transaction=True,
    ),
)
