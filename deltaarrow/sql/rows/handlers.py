"""The handlers of statements that change rows."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import deltaarrow.sql.rows.duckdb as duckdb_grammar
from deltaarrow.operations import CommitProperties
from deltaarrow.sql.kind import StatementKind
from deltaarrow.sql.query_rows import QueryRows
from deltaarrow.sql.results import MERGE_COUNTS, NOTHING, affected, merged, with_metrics
from deltaarrow.sql.rows.duckdb import find_subject
from deltaarrow.sql.rows.explain import plan_delete, plan_insert, plan_merge, plan_truncate, plan_update
from deltaarrow.sql.rows.insertion import InsertedRows, write_options
from deltaarrow.sql.rows.merging import merger_of
from deltaarrow.sql.rows.replacement import replace_found
from deltaarrow.sql.rows.row_changes import delete_found, is_beyond_rows, merge_found, update_found
from deltaarrow.sql.rows.spark import parse_delete, parse_insert, parse_merge, parse_truncate, parse_update
from deltaarrow.sql.rows.statements import Delete, Insert, Merge, Truncate, Update
from deltaarrow.sql.session_settings import AUTO_MERGE
from deltaarrow.table import DeltaTable, write_deltalake

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltaarrow.sql.session import Session

    Handler = Callable[[Session, Any], pa.Table]

__all__ = ["KINDS"]


def _insert(session: "Session", statement: Insert) -> pa.Table:
    table = session.table(statement.table)
    evolves = statement.evolves or session.settings[AUTO_MERGE]
    if statement.using or statement.match is not None:
        return with_metrics(NOTHING, replace_found(session, table, statement, evolves))
    with session.at(table):
        rows = InsertedRows(session, statement, table.snapshot, evolves)
        written = _written(session, table, statement, rows, evolves)
    return pa.table({}) if session.dialect == "spark" else affected(written, num_inserted_rows=written)


def _written(
    session: "Session", table: DeltaTable, statement: Insert, rows: InsertedRows, evolves: bool
) -> int:
    """Write the rows, and return their number."""
    options = write_options(session, statement, rows, evolves)
    properties = session.settings.commit_properties()
    hooks = session.settings.hook_properties()
    if session.transaction is not None:
        return _staged(session, table, rows, properties, options)
    if not rows.reads_table:
        return write_deltalake(
            table, rows.reader(), commit_properties=properties, post_commithook_properties=hooks, **options
        ).num_rows
    own = None if properties is None else replace(properties, app_transactions=None)
    with table.transaction("WRITE", commit_properties=own, post_commithook_properties=hooks) as transaction:
        transaction.read_files()
        return write_deltalake(transaction, rows.reader(), commit_properties=properties, **options).num_rows


def _staged(
    session: "Session",
    table: DeltaTable,
    rows: InsertedRows,
    properties: CommitProperties | None,
    options: dict[str, Any],
) -> int:
    """Write the rows in the transaction of the session, and return their number."""
    transaction = session.transaction
    assert transaction is not None
    with transaction.changing(table, "INSERT"):
        if transaction.staged is None:
            own = None if properties is None else replace(properties, app_transactions=None)
            hooks = session.settings.hook_properties()
            transaction.staged = table.transaction(
                "WRITE", commit_properties=own, post_commithook_properties=hooks
            )
        if rows.reads_table:
            transaction.staged.read_files()
        return write_deltalake(
            transaction.staged, rows.reader(), commit_properties=properties, **options
        ).num_rows


def _once(handle: "Handler") -> "Handler":
    """The handler of a statement that an application makes once (`Settings.finish_write`)."""

    def handled(session: "Session", statement: Any) -> pa.Table:
        result = handle(session, statement)
        session.settings.finish_write()
        return result

    return handled


def _delete(session: "Session", statement: Delete) -> pa.Table:
    table = session.target(statement.table)
    alias = statement.alias or statement.table.parts[-1]
    if is_beyond_rows(session, statement.others, statement.condition):
        return affected(delete_found(session, table, alias, statement))
    metrics = table.delete(
        statement.condition or "true",
        target_alias=alias,
        commit_properties=session.settings.commit_properties(),
        post_commithook_properties=session.settings.hook_properties(),
    )
    return affected(metrics["num_deleted_rows"])


def _update(session: "Session", statement: Update) -> pa.Table:
    table = session.target(statement.table)
    alias = statement.alias or statement.table.parts[-1]
    if is_beyond_rows(session, statement.others, statement.condition, *statement.values.values()):
        return affected(update_found(session, table, alias, statement))
    metrics = table.update(
        statement.values,
        predicate=statement.condition,
        target_alias=alias,
        commit_properties=session.settings.commit_properties(),
        post_commithook_properties=session.settings.hook_properties(),
    )
    return affected(metrics["num_updated_rows"])


def _merge(session: "Session", statement: Merge) -> pa.Table:
    table = session.target(statement.table)
    nothing = dict.fromkeys(MERGE_COUNTS, 0)
    if session.dialect == "duckdb":
        return merged(merge_found(session, table, statement) if statement.changes else nothing)
    with session.merging_into(table) as following:
        rows = QueryRows(session, statement.source)
        following.ensure_followed()
        if following.is_idle:
            return with_metrics(merged(nothing), {"changes": following.versions})
        reads_table = rows.reads(table.snapshot)
        own = session.settings.commit_properties(is_write=not following.is_following)
        properties = following.progress(own)
        merger = merger_of(session, table, statement, rows.reader(), properties, reads_table=reads_table)
        metrics = merger.execute()
    return with_metrics(merged(metrics), {**metrics, "changes": following.versions})


def _truncate(session: "Session", statement: Truncate) -> pa.Table:
    session.table(statement.table).truncate(
        commit_properties=session.settings.commit_properties(is_write=False),
        post_commithook_properties=session.settings.hook_properties(),
    )
    return pa.table({})


KINDS = (
    StatementKind(
        "INSERT",
        (("INSERT",),),
        Insert,
        _once(_insert),
        parse_insert,
        duckdb_grammar.parse_insert,
        find_subject,
        in_transaction=True,
        plan=plan_insert,
    ),
    StatementKind(
        "DELETE",
        (("DELETE",),),
        Delete,
        _once(_delete),
        parse_delete,
        duckdb_grammar.parse_delete,
        find_subject,
        in_transaction=True,
        plan=plan_delete,
    ),
    StatementKind(
        "UPDATE",
        (("UPDATE",),),
        Update,
        _once(_update),
        parse_update,
        duckdb_grammar.parse_update,
        find_subject,
        in_transaction=True,
        plan=plan_update,
    ),
    StatementKind(
        "MERGE",
        (("MERGE",),),
        Merge,
        _once(_merge),
        parse_merge,
        duckdb_grammar.parse_merge,
        find_subject,
        in_transaction=True,
        plan=plan_merge,
    ),
    StatementKind(
        "TRUNCATE TABLE",
        (("TRUNCATE",),),
        Truncate,
        _truncate,
        parse_truncate,
        duckdb_grammar.parse_truncate,
        find_subject,
        plan=plan_truncate,
    ),
)
