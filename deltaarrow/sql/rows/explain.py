"""EXPLAIN of statements that change rows: each is checked as if it ran."""

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltaarrow.operations import RowOperation
from deltaarrow.operations.dml import explain_delete, explain_update
from deltaarrow.scan import Explanation
from deltaarrow.schema import to_arrow_schema
from deltaarrow.sql.query_rows import QueryRows
from deltaarrow.sql.rows.insertion import InsertedRows, write_options
from deltaarrow.sql.rows.merging import merger_of
from deltaarrow.sql.rows.row_changes import explain_found, is_beyond_rows
from deltaarrow.sql.session_settings import AUTO_MERGE
from deltaarrow.sql.statement_plan import StatementPlan, new_version

if TYPE_CHECKING:
    from deltaarrow.sql.rows.statements import Delete, Insert, Merge, Truncate, Update
    from deltaarrow.sql.session import Session
    from deltaarrow.table import DeltaTable

__all__ = ["plan_delete", "plan_insert", "plan_merge", "plan_truncate", "plan_update"]

_BY_VALUES = "values of the source choose among the files when it runs"


def plan_insert(session: "Session", statement: "Insert") -> StatementPlan:
    """Tell what an INSERT would do."""
    table = session.table(statement.table)
    evolves = statement.evolves or session.settings[AUTO_MERGE]
    with session.at(table):
        rows = InsertedRows(session, statement, table.snapshot, evolves)
        effects, files = [new_version("INSERT", table)], rows.query.explained()
        if statement.using or statement.match is not None:
            effects.append(f"rows that match those of the query go; {_BY_VALUES}")
            files = [table.explain(), *files]
        elif statement.overwrites:
            effect, replaced = _replaced(table, write_options(session, statement, rows, evolves))
            effects.append(effect)
            files = [*replaced, *files]
        return StatementPlan(effects, files, rows.query.sql)


def _replaced(table: "DeltaTable", options: dict[str, Any]) -> tuple[str, list[Explanation]]:
    """The rows that an overwrite replaces, in words, and the files that it reads for that."""
    predicate = options.get("predicate")
    if predicate is not None:
        return f"rows with {predicate} go", [table.explain(predicate)]
    if "partition_overwrite_mode" in options:
        return "the partitions that the query has rows of lose all other rows", []
    return _removal_of_all(table), []


def _removal_of_all(table: "DeltaTable") -> str:
    files, size = table.snapshot.totals()
    return f"all {files} files of {size} bytes are removed without being read"


def plan_delete(session: "Session", statement: "Delete") -> StatementPlan:
    """Tell what a DELETE would do."""
    table = session.target(statement.table)
    alias = statement.alias or statement.table.parts[-1]
    if is_beyond_rows(session, statement.others, statement.condition):
        files = explain_found(session, table, alias, statement)
    else:
        operation = RowOperation.begin(table.snapshot, "DELETE")
        files = [explain_delete(operation, statement.condition, alias)]
    return StatementPlan([new_version("DELETE", table)], files)


def plan_update(session: "Session", statement: "Update") -> StatementPlan:
    """Tell what an UPDATE would do."""
    table = session.target(statement.table)
    alias = statement.alias or statement.table.parts[-1]
    if is_beyond_rows(session, statement.others, statement.condition, *statement.values.values()):
        files = explain_found(session, table, alias, statement)
    else:
        operation = RowOperation.begin(table.snapshot, "UPDATE")
        files = [explain_update(operation, statement.values, statement.condition, alias)]
    return StatementPlan([new_version("UPDATE", table)], files)


def plan_merge(session: "Session", statement: "Merge") -> StatementPlan:
    """Tell what a MERGE would do."""
    table = session.target(statement.table)
    effects = [new_version("MERGE", table), _BY_VALUES]
    if not statement.changes:
        return StatementPlan(["MERGE does nothing: no clause changes a row"])
    if session.dialect == "duckdb":
        alias = statement.alias or statement.table.parts[-1]
        source = QueryRows(session, f"SELECT * FROM {statement.source}\n")
        files = explain_found(session, table, alias, statement)
        return StatementPlan(effects, [*files, *source.explained()], source.sql)
    with session.merging_into(table):
        rows = QueryRows(session, statement.source)
        unread = pa.RecordBatchReader.from_batches(to_arrow_schema(rows.schema), [])
        found = merger_of(session, table, statement, unread).explain()
        return StatementPlan(effects, [found, *rows.explained()], rows.sql)


def plan_truncate(session: "Session", statement: "Truncate") -> StatementPlan:
    """Tell what a TRUNCATE would do."""
    table = session.table(statement.table)
    return StatementPlan([new_version("TRUNCATE", table), _removal_of_all(table)])
