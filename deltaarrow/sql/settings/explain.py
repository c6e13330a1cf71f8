"""The results of EXPLAIN: the files that a query reads, or the plan of a statement that changes a table."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pyarrow as pa

from deltaarrow.compute import quote_literal

if TYPE_CHECKING:
    from deltaarrow.sql.session import Session
    from deltaarrow.sql.settings.statements import Explain
    from deltaarrow.sql.statement_plan import StatementPlan

__all__ = ["explained_query", "shown_plan"]

_COLUMNS = ("explain_key", "explain_value")
"""DuckDB's columns of an EXPLAIN."""


def explained_query(session: "Session", statement: "Explain") -> "pa.Table | str":
    """Return what a query reads, as the dialect of the statement shows it.

    In DuckDB's dialect that is DuckDB's plan, and after it the files that are left of each Delta table.
    """
    connection = session.connection
    if session.dialect == "spark":
        found = connection.explain(session.query(statement.statement), session.parameters)
        return _as_spark(map(str, found) if found else ["no Delta table is read"])
    # A plan with parameters is DuckDB's alone: their values belong to its own statement.
    is_ours = not session.parameters and connection.reads_tables(statement.statement)
    files = connection.explain(statement.statement) if is_ours else []
    if not files:
        return statement.text
    planned, _ = connection.planned(statement.text)
    rows = connection.connection.execute(planned).fetchall()
    rows += [("delta_files", "\n\n".join(map(str, files)))]
    listed = ", ".join(f"({', '.join(map(quote_literal, row))})" for row in rows)
    return f"SELECT * FROM (VALUES {listed}) AS plan({', '.join(_COLUMNS)})"


def shown_plan(session: "Session", plan: "StatementPlan") -> pa.Table:
    """Return what a statement would do, as its dialect shows it."""
    effects = "\n".join(plan.effects)
    files = [str(each) for each in plan.files]
    rows: list[tuple[str, str]] = []
    if plan.query is not None:
        rows = session.connection.connection.execute(f"EXPLAIN {plan.query}").fetchall()
    if session.dialect == "spark":
        return _as_spark([effects, *files, *(f"the query, as DuckDB runs it:\n{text}" for _, text in rows)])
    shown = [("delta_statement", effects), *rows]
    if files:
        shown.append(("delta_files", "\n\n".join(files)))
    return pa.Table.from_pylist([dict(zip(_COLUMNS, row, strict=True)) for row in shown])


def _as_spark(parts: Iterable[str]) -> pa.Table:
    return pa.table({"plan": pa.array(["\n\n".join(parts)], pa.string())})
