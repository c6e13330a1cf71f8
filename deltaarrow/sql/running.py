"""The way of a statement: from its text through the grammar of its dialect to its handler."""

from typing import TYPE_CHECKING

from deltaarrow.engines import Dialect, Parameters
from deltaarrow.spark_sql import Words
from deltaarrow.sql.registry import find_kind, kind_of
from deltaarrow.sql.session import Session

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["run_statement"]

_QUERIES = ("SELECT", "WITH", "FROM", "VALUES", "TABLE", "(")
"""First words of queries in Spark's dialect."""


def run_statement(session: Session, text: str, parameters: Parameters, dialect: Dialect) -> "pa.Table | str":
    """Run one statement; return its rows, or the query that DuckDB is to run."""
    session.parameters, session.dialect = parameters, dialect
    words = Words(text, dialect)
    kind = find_kind(words, dialect)
    if kind is None:
        if dialect == "spark" and not any(words.is_at(first) for first in _QUERIES):
            raise words.refused("a statement or a query is expected")
        return session.query(text)
    grammar = kind.spark if dialect == "spark" else kind.duckdb
    assert grammar is not None
    if dialect == "duckdb" and kind.subject is not None:
        subject = kind.subject(Words(text, dialect))
        if subject is None or not session.is_delta(subject):
            return text
    statement = grammar(words)
    return text if statement is None else kind_of(statement).handle(session, statement)
