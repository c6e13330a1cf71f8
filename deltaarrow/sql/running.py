"""The path of a statement: from its text through the grammar of its dialect to its handler."""

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from deltaarrow.display.near_names import did_you_mean
from deltaarrow.engines import Dialect, Parameters
from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.spark_sql import Words, in_time_zone
from deltaarrow.sql.error_positions import shown_places
from deltaarrow.sql.kind import StatementKind
from deltaarrow.sql.parameters import bound
from deltaarrow.sql.registry import KINDS, find_kind, first_words, kind_of
from deltaarrow.sql.rows.with_clause import main_statement
from deltaarrow.sql.session import Session
from deltaarrow.sql.session_settings import TIME_ZONE
from deltaarrow.sql.settings.explain import explained_query, shown_plan
from deltaarrow.sql.settings.statements import Explain
from deltaarrow.sql.timestamps import in_session_zone

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["run_statement"]

_QUERIES = ("SELECT", "WITH", "FROM", "VALUES", "TABLE", "(")
"""First words of queries in Spark's dialect."""


def run_statement(session: Session, text: str, parameters: Parameters, dialect: Dialect) -> "pa.Table | str":
    """Run one statement; return its rows, or the query that DuckDB is to run."""
    session.parameters, session.variables, session.dialect = parameters, {}, dialect
    session.with_clause = ""
    with shown_places(text, dialect), in_time_zone(session.settings[TIME_ZONE]):
        return _run(session, Words(text, dialect), dialect)


def _run(session: Session, words: Words, dialect: Dialect) -> "pa.Table | str":
    text, (_, main) = words.text, main_statement(words)
    kind = find_kind(main, dialect)
    if kind is None:
        if dialect == "spark" and not any(words.is_at(first) for first in _QUERIES):
            near = did_you_mean(text.split()[0], first_words()) if text.split() else ""
            raise words.refused(f"a statement or a query is expected{near.removesuffix('?')}")
        return session.query(text)
    with session.running(), _read(session, kind, words) as statement:
        return text if statement is None else _handled(session, statement)


@contextlib.contextmanager
def _read(session: Session, kind: StatementKind, words: Words) -> Iterator[Any]:
    """Yield a statement of a kind, with the values of its parameters; None for one of DuckDB's own."""
    dialect = words.dialect
    grammar = kind.spark if dialect == "spark" else kind.duckdb
    assert grammar is not None
    if dialect == "spark" or kind.subject is None:
        session.with_clause, main = main_statement(words)
        yield grammar(main)
        return
    subject = kind.subject(Words(main_statement(words)[1].text, dialect))
    if subject is None or not session.is_delta(subject, in_namespace=kind.in_namespace):
        yield None
        return
    duckdb = session.connection.connection
    with bound(duckdb, words.text, session.parameters) as (text, session.variables):
        session.parameters = ()
        session.with_clause, main = main_statement(Words(text, dialect))
        yield grammar(main)


def _handled(session: Session, statement: object) -> "pa.Table | str":
    kind = kind_of(statement)
    if session.transaction is not None and not (kind.in_transaction and session.dialect == "duckdb"):
        session.transaction.refuse(kind.name)
    if isinstance(statement, Explain):
        return _explained(session, statement)
    result = kind.handle(session, statement)
    return result if isinstance(result, str) else in_session_zone(result)


def _explained(session: Session, explain: Explain) -> "pa.Table | str":
    """Say what a statement would do, or what a query reads."""
    words = Words(explain.statement, session.dialect)
    kind = find_kind(main_statement(words)[1], session.dialect)
    if kind is None:
        return explained_query(session, explain)
    with _read(session, kind, words) as statement:
        if statement is None:
            return explained_query(session, explain)
        kind = kind_of(statement)
        if kind.plan is None:
            planned = sorted({" ".join(each.first_words[0]) for each in KINDS if each.plan is not None})
            raise UnsupportedFeatureError(
                f"EXPLAIN of {kind.name} is not supported: it tells of queries, {', '.join(planned)}",
                feature="EXPLAIN",
            )
        if explain.runs:
            raise UnsupportedFeatureError(
                f"EXPLAIN ANALYZE would run the {kind.name}: use EXPLAIN, which changes nothing",
                feature="EXPLAIN ANALYZE",
            )
        return shown_plan(session, kind.plan(session, statement))
