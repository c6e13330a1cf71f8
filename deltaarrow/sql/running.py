"""The way of a statement: from its text through the grammar of its dialect to its handler."""

from typing import TYPE_CHECKING

from deltaarrow.display.near_names import did_you_mean
from deltaarrow.engines import Dialect, Parameters
from deltaarrow.spark_sql import Words, in_time_zone
from deltaarrow.sql.moments import in_session_zone
from deltaarrow.sql.parameters import bound
from deltaarrow.sql.places import shown_places
from deltaarrow.sql.registry import find_kind, first_words, kind_of
from deltaarrow.sql.session import Session
from deltaarrow.sql.settings import TIME_ZONE

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["run_statement"]

_QUERIES = ("SELECT", "WITH", "FROM", "VALUES", "TABLE", "(")
"""First words of queries in Spark's dialect."""


def run_statement(session: Session, text: str, parameters: Parameters, dialect: Dialect) -> "pa.Table | str":
    """Run one statement; return its rows, or the query that DuckDB is to run."""
    session.parameters, session.variables, session.dialect = parameters, {}, dialect
    with shown_places(text, dialect), in_time_zone(session.settings[TIME_ZONE]):
        return _run(session, Words(text, dialect), dialect)


def _run(session: Session, words: Words, dialect: Dialect) -> "pa.Table | str":
    text = words.text
    kind = find_kind(words, dialect)
    if kind is None:
        if dialect == "spark" and not any(words.is_at(first) for first in _QUERIES):
            near = did_you_mean(text.split()[0], first_words()) if text.split() else ""
            raise words.refused(f"a statement or a query is expected{near.removesuffix('?')}")
        return session.query(text)
    grammar = kind.spark if dialect == "spark" else kind.duckdb
    assert grammar is not None
    if dialect == "duckdb" and kind.subject is not None:
        subject = kind.subject(Words(text, dialect))
        if subject is None or not session.is_delta(subject, in_namespace=kind.in_namespace):
            return text
        duckdb = session.connection.connection
        with session.running(), bound(duckdb, text, session.parameters) as (text, session.variables):
            session.parameters = ()
            return _handled(session, grammar(Words(text, dialect)), text)
    with session.running():
        return _handled(session, grammar(words), text)


def _handled(session: Session, statement: object, text: str) -> "pa.Table | str":
    if statement is None:
        return text
    kind = kind_of(statement)
    if session.transaction is not None and not (kind.in_transaction and session.dialect == "duckdb"):
        session.transaction.refuse(kind.name)
    result = kind.handle(session, statement)
    return result if isinstance(result, str) else in_session_zone(result)
