"""DELETE, UPDATE and MERGE whose rows a query of the session finds (`deltaarrow.sql.rows.found_rows`)."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from deltaarrow.errors import SchemaMismatchError, UnsupportedFeatureError
from deltaarrow.operations import RowOperation, change_found_rows
from deltaarrow.operations.dml import (
    ClauseKind,
    MergeClause,
    MergeStatement,
    When,
    explain_found_rows,
    parse_target,
)
from deltaarrow.scan import Explanation
from deltaarrow.schema import Field, Schema
from deltaarrow.spark_sql import Words
from deltaarrow.sql.rows.duckdb import Positional
from deltaarrow.sql.rows.found_rows import FoundRows, LoadedSource, NewValue, loaded_source, star_values
from deltaarrow.sql.rows.merge_query import JoinedSource
from deltaarrow.sql.rows.spark import quoted
from deltaarrow.sql.rows.statements import Delete, Merge, Update
from deltaarrow.sql.rows.value_rows import default_literal

if TYPE_CHECKING:
    from deltaarrow.sql.session import Session
    from deltaarrow.table import DeltaTable

__all__ = ["delete_found", "explain_found", "is_beyond_rows", "merge_found", "update_found"]

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


@dataclass(frozen=True)
class _Change:
    """A statement: its name for history, its clauses, and the query that finds the rows."""

    name: str
    clauses: MergeStatement
    rows: FoundRows


def delete_found(session: "Session", table: "DeltaTable", alias: str, statement: Delete) -> int:
    """Run a DELETE, and return the number of deleted rows."""
    with session.at(table):
        metrics = _changed(session, table, _delete(session, table, alias, statement))
    return int(metrics["num_target_rows_deleted"])


def update_found(session: "Session", table: "DeltaTable", alias: str, statement: Update) -> int:
    """Run an UPDATE, and return the number of updated rows."""
    with session.at(table):
        metrics = _changed(session, table, _update(session, table, alias, statement))
    return int(metrics["num_target_rows_updated"])


def merge_found(session: "Session", table: "DeltaTable", statement: Merge) -> dict[str, Any]:
    """Run a MERGE in DuckDB's dialect, and return its metrics."""
    _ensure_meaning(statement)
    with session.at(table), loaded_source(session, statement.source) as loaded:
        return _changed(session, table, _merge(session, table, statement, loaded))


def explain_found(
    session: "Session", table: "DeltaTable", alias: str, statement: Delete | Update | Merge
) -> list[Explanation]:
    """Return which files such a statement reads, of its table first; the rows of a source are not read."""
    with session.at(table):
        match statement:
            case Delete():
                return _explained(session, table, _delete(session, table, alias, statement))
            case Update():
                return _explained(session, table, _update(session, table, alias, statement))
        _ensure_meaning(statement)
        with loaded_source(session, statement.source, with_rows=False) as loaded:
            return _explained(session, table, _merge(session, table, statement, loaded))


def _delete(session: "Session", table: "DeltaTable", alias: str, statement: Delete) -> _Change:
    clause = MergeClause(When.MATCHED, ClauseKind.DELETE)
    clauses = MergeStatement(statement.condition or "true", [clause], _VALUES, alias)
    rows = FoundRows(session, table.snapshot, alias, (), statement.condition, statement.others)
    return _Change("DELETE", clauses, rows)


def _update(session: "Session", table: "DeltaTable", alias: str, statement: Update) -> _Change:
    given = _updated(session, table.snapshot.schema, alias, 0, statement.values)
    clause = MergeClause(When.MATCHED, ClauseKind.UPDATE, None, _references([*statement.values]))
    clauses = MergeStatement(statement.condition or "true", [clause], _VALUES, alias)
    rows = FoundRows(session, table.snapshot, alias, given, statement.condition, statement.others)
    return _Change("UPDATE", clauses, rows)


def _merge(session: "Session", table: "DeltaTable", statement: Merge, loaded: LoadedSource) -> _Change:
    schema, (alias, source_alias) = table.snapshot.schema, _aliases(statement)
    given: list[NewValue] = []
    clauses = []
    for number, clause in enumerate(statement.changes):
        if clause.kind is ClauseKind.DELETE:
            clauses.append(clause)
            continue
        if not clause.values:
            by_name = clause.values is None
            found = star_values(number, loaded.names, source_alias, schema, by_name=by_name)
            paths = [quoted(value.column.name) for value in found]
        elif clause.kind is ClauseKind.UPDATE:
            found, paths = _updated(session, schema, alias, number, clause.values), [*clause.values]
        else:
            values = _inserted(schema, clause.values)
            found = [NewValue(number, _target(schema, path, alias), text) for path, text in values.items()]
            paths = [*values]
        clauses.append(replace(clause, values=_references(paths, len(given))))
        given += found
    source = JoinedSource(
        source_alias,
        loaded.names,
        statement.condition,
        _conditions(statement),
        loaded.rows,
        loaded.reads(table.snapshot),
    )
    rows = FoundRows(session, table.snapshot, alias, given, source=source)
    return _Change("MERGE", MergeStatement(statement.condition, clauses, _VALUES, alias), rows)


def _conditions(statement: Merge) -> list[tuple[When, str | None, int | None]]:
    """The conditions of the clauses, with the numbers of those that change rows."""
    numbers = itertools.count()
    return [
        (each.when, each.predicate, next(numbers) if isinstance(each, MergeClause) else None)
        for each in statement.clauses
    ]


def _aliases(statement: Merge) -> tuple[str, str]:
    """The names of the table and of the source in expressions."""
    return statement.alias or statement.table.parts[-1], statement.source_alias or ""


def _ensure_meaning(statement: Merge) -> None:
    """Raise for clauses or aliases that mean nothing, before anything is read."""
    alias, source_alias = _aliases(statement)
    MergeStatement(statement.condition, statement.changes, source_alias, alias)


def _updated(
    session: "Session", schema: Schema, alias: str, number: int, values: Mapping[str, str]
) -> list[NewValue]:
    """The values that a clause assigns, with those that DEFAULT stands for."""
    found = []
    for path, text in values.items():
        column = _target(schema, path, alias)
        value = default_literal(column, session.dialect) if _is_default(text) else text
        if value is None:
            raise UnsupportedFeatureError(
                f"DEFAULT is no value for {column.name}, whose default is computed", feature="DEFAULT"
            )
        found.append(NewValue(number, column, value))
    return found


def _inserted(schema: Schema, values: Mapping[str, str]) -> dict[str, str]:
    """The values that an INSERT has by column; a column without one gets its default."""
    if isinstance(values, Positional):
        if len(values) != len(schema.fields):
            raise SchemaMismatchError(
                f"INSERT VALUES has {len(values)} values, and the table {len(schema.fields)} columns"
                f" ({', '.join(schema.names)})"
            )
        values = dict(zip(map(quoted, schema.names), values.values(), strict=True))
    given = {path: text for path, text in values.items() if not _is_default(text)}
    if not given:
        raise UnsupportedFeatureError(
            "a row of DEFAULT alone is not supported: give one column a value", feature="DEFAULT"
        )
    return given


def _is_default(text: str) -> bool:
    return text.upper() == "DEFAULT"


def _target(schema: Schema, path: str, alias: str) -> Field:
    return parse_target(schema, path, [alias])[-1]


def _references(paths: Sequence[str], first: int = 0) -> dict[str, str]:
    """The values of a clause: columns of the query."""
    return {path: f"{_VALUES}.`v{first + place}`" for place, path in enumerate(paths)}


def _begun(session: "Session", table: "DeltaTable", change: _Change) -> RowOperation:
    return RowOperation.begin(
        table.snapshot,
        change.name,
        commit_properties=session.settings.commit_properties(),
        hook_properties=session.settings.hook_properties(),
        only_adds=change.clauses.only_inserts,
    )


def _changed(session: "Session", table: "DeltaTable", change: _Change) -> dict[str, Any]:
    operation, rows = _begun(session, table, change), change.rows
    if session.transaction is None:
        with rows:
            metrics = change_found_rows(operation, change.clauses, rows)
        table.follow_commit()
        return metrics
    with session.transaction.changing(table, change.name), rows:
        held = replace(operation, is_held=True, begin_again=None)
        metrics = change_found_rows(held, change.clauses, rows)
        session.transaction.staged = operation.transaction
    return metrics


def _explained(session: "Session", table: "DeltaTable", change: _Change) -> list[Explanation]:
    operation = _begun(session, table, change)
    with change.rows as rows:
        return [explain_found_rows(operation, change.clauses, rows), *rows.others_explained()]
