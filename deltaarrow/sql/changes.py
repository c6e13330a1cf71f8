"""DELETE, UPDATE and MERGE whose rows a query of the session finds (`deltaarrow.sql.found_rows`)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from deltaarrow.operations import RowOperation, change_found_rows
from deltaarrow.operations.dml import ClauseKind, MergeClause, MergeStatement, When, parse_target
from deltaarrow.schema import Field, Schema
from deltaarrow.spark_sql import Words
from deltaarrow.sql.found_rows import FoundRows, JoinedSource, NewValue, loaded_source, star_values
from deltaarrow.sql.spark_grammar.rows import quoted

if TYPE_CHECKING:
    from deltaarrow.sql.session import Session
    from deltaarrow.sql.statements.rows import Delete, Merge, Update
    from deltaarrow.table import DeltaTable

__all__ = ["delete_found", "is_beyond_rows", "merge_found", "update_found"]

_VALUES = "__deltaarrow_values"
_QUERIES = ("SELECT", "WITH", "VALUES", "FROM", "TABLE")


def is_beyond_rows(session: "Session", *texts: str | None) -> bool:
    """Whether an expression is not Spark SQL over one row: it has a subquery, or is of DuckDB's dialect."""
    return session.dialect == "duckdb" or any(_has_query(text) for text in texts if text is not None)


def _has_query(text: str) -> bool:
    words = Words(text)
    while not words.is_done:
        if any(words.is_at("(", word) for word in _QUERIES):
            return True
        words.skip()
    return False


def delete_found(session: "Session", table: "DeltaTable", alias: str, statement: "Delete") -> int:
    """Run a DELETE, and return the number of deleted rows."""
    condition = statement.condition
    plan = MergeStatement(condition or "true", [MergeClause(When.MATCHED, ClauseKind.DELETE)], _VALUES, alias)
    with session.at(table):
        rows = FoundRows(session, table.snapshot, alias, (), condition, statement.others)
        return int(_changed(session, table, "DELETE", plan, rows)["num_target_rows_deleted"])


def update_found(session: "Session", table: "DeltaTable", alias: str, statement: "Update") -> int:
    """Run an UPDATE, and return the number of updated rows."""
    schema = table.snapshot.schema
    given = [NewValue(0, _target(schema, path, alias), text) for path, text in statement.values.items()]
    clause = MergeClause(When.MATCHED, ClauseKind.UPDATE, None, _references([*statement.values]))
    plan = MergeStatement(statement.condition or "true", [clause], _VALUES, alias)
    with session.at(table):
        rows = FoundRows(session, table.snapshot, alias, given, statement.condition, statement.others)
        return int(_changed(session, table, "UPDATE", plan, rows)["num_target_rows_updated"])


def merge_found(session: "Session", table: "DeltaTable", statement: "Merge") -> dict[str, Any]:
    """Run a MERGE in DuckDB's dialect, and return its metrics."""
    alias = statement.alias or statement.table.parts[-1]
    schema, source_alias = table.snapshot.schema, statement.source_alias or ""
    # Refused before anything is read.
    MergeStatement(statement.condition, statement.clauses, source_alias, alias)
    with session.at(table), loaded_source(session, statement.source) as loaded:
        given: list[NewValue] = []
        clauses = []
        for number, clause in enumerate(statement.clauses):
            if clause.kind is ClauseKind.DELETE:
                clauses.append(clause)
                continue
            if clause.values:
                found = [
                    NewValue(number, _target(schema, path, alias), text)
                    for path, text in clause.values.items()
                ]
                paths = [*clause.values]
            else:
                by_name = clause.values is None
                found = star_values(number, loaded.names, source_alias, schema, by_name=by_name)
                paths = [quoted(value.column.name) for value in found]
            clauses.append(replace(clause, values=_references(paths, len(given))))
            given += found
        source = JoinedSource(
            source_alias,
            statement.condition,
            [(clause.when, clause.predicate) for clause in statement.clauses],
            loaded.rows,
            loaded.reads(table.snapshot),
        )
        rows = FoundRows(session, table.snapshot, alias, given, source=source)
        plan = MergeStatement(statement.condition, clauses, _VALUES, alias)
        return _changed(session, table, "MERGE", plan, rows)


def _target(schema: Schema, path: str, alias: str) -> Field:
    return parse_target(schema, path, [alias])[-1]


def _references(paths: Sequence[str], first: int = 0) -> dict[str, str]:
    """The values of a clause: columns of the query."""
    return {path: f"{_VALUES}.`v{first + place}`" for place, path in enumerate(paths)}


def _changed(
    session: "Session", table: "DeltaTable", name: str, statement: MergeStatement, rows: FoundRows
) -> dict[str, Any]:
    operation = RowOperation.begin(
        table.snapshot,
        name,
        commit_properties=session.settings.commit_properties(is_write=name == "MERGE"),
        hook_properties=session.settings.hook_properties(),
        only_adds=statement.only_inserts,
    )
    if session.transaction is None:
        with rows:
            metrics = change_found_rows(operation, statement, rows)
        table.follow_commit()
        return metrics
    with session.transaction.changing(table, name), rows:
        metrics = change_found_rows(replace(operation, is_held=True, begin_again=None), statement, rows)
        session.transaction.staged = operation.transaction
    return metrics
