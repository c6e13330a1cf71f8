"""The handlers of COPY: rows of a query into a table that may be new, and rows of files into a table."""

from typing import TYPE_CHECKING

import pyarrow as pa

from deltaarrow.catalogs import FolderNamespace, TableLocation, named
from deltaarrow.compute import quote_identifier
from deltaarrow.display.redaction import redacted
from deltaarrow.errors import TableNotFoundError, VersionExistsError
from deltaarrow.operations import find_table
from deltaarrow.scan import located_type
from deltaarrow.sql.copy.duckdb import parse_copy
from deltaarrow.sql.copy.file_copy import FileCopy
from deltaarrow.sql.copy.spark import parse_copy_into
from deltaarrow.sql.kind import StatementKind
from deltaarrow.sql.query_rows import QueryRows
from deltaarrow.sql.rows.handlers import KINDS as ROWS
from deltaarrow.sql.rows.spark import quoted
from deltaarrow.sql.rows.statements import CopyFrom, CopyInto, CopyOut, CopyTo, Insert
from deltaarrow.sql.statement_plan import StatementPlan, new_version
from deltaarrow.table import DeltaTable, write_deltalake

if TYPE_CHECKING:
    from deltaarrow.catalogs import Namespace
    from deltaarrow.sql.session import Session

__all__ = ["KINDS"]

_COPIED = "__deltaarrow_copied"


def _copy_to(session: "Session", statement: CopyTo) -> pa.Table:
    location, namespace = _place(session, statement)
    rows = QueryRows(session, statement.query)
    is_named = namespace is not None and not isinstance(namespace, FolderNamespace)
    written = write_deltalake(
        _target(session, statement, location, is_named=is_named),
        rows.reader(),
        mode=statement.mode,
        partition_by=statement.partition_by,
        schema_mode=statement.schema_mode,
        storage_options=(
            None if location.storage_options is None or is_named else dict(location.storage_options)
        ),
        commit_properties=session.settings.commit_properties(),
        post_commithook_properties=session.settings.hook_properties(),
        catalog=session.connection.catalog.names if is_named else None,
    )
    return pa.table({"num_affected_rows": [written.num_rows], "num_inserted_rows": [written.num_rows]})


def _target(
    session: "Session", statement: CopyTo, location: "TableLocation", *, is_named: bool
) -> str | DeltaTable:
    """What is written to: a place, a table of a catalog, or the name of a new one."""
    if is_named:
        catalog, parts = session.connection.catalog, statement.table.parts
        return f"{quoted(str(catalog.schema_of(parts)))}.{quoted(parts[-1])}"
    return location.uri if location.opener is None else DeltaTable(location)


def _copy_out(session: "Session", statement: CopyOut) -> str:
    return statement.query if session.is_delta(statement.table) else statement.text


def _copy_from(session: "Session", statement: CopyFrom) -> "pa.Table | str":
    """Let DuckDB copy files into a table of its own with the same columns, and insert the rows of that."""
    if not session.is_delta(statement.table):
        return statement.text
    schema, duckdb = session.table(statement.table).schema(), session.connection.connection
    columns = (
        schema.fields if statement.columns is None else [schema.field(each) for each in statement.columns]
    )
    listed = ", ".join(f"{quote_identifier(each.name)} {located_type(each.type)}" for each in columns)
    insert = Insert(statement.table, f"FROM temp.main.{_COPIED}", tuple(each.name for each in columns))
    duckdb.execute(f"CREATE OR REPLACE TEMP TABLE {_COPIED} ({listed})")
    try:
        duckdb.execute(f"COPY temp.main.{_COPIED} {statement.source}")
        with session.running():
            return next(kind.handle for kind in ROWS if kind.statement is Insert)(session, insert)
    finally:
        duckdb.execute(f"DROP TABLE temp.main.{_COPIED}")


def _plan_copy_to(session: "Session", statement: CopyTo) -> StatementPlan:
    location, namespace = _place(session, statement)
    there = None if namespace is not None else find_table(location.open())
    place = redacted(location.uri)
    if there is not None and statement.mode == "error":
        raise VersionExistsError(f"there is a table at {place}: say MODE append or MODE overwrite")
    if there is not None and statement.mode == "ignore":
        return StatementPlan([f"COPY does nothing: there is a table at {place}"])
    version = 0 if there is None else there.version + 1
    rows = QueryRows(session, statement.query)
    return StatementPlan([f"COPY makes version {version} of {place}"], rows.explained(), rows.sql)


def _place(session: "Session", statement: CopyTo) -> "tuple[TableLocation, Namespace | None]":
    """Where the table is, and the namespace that is to learn of it if it is new."""
    catalog, parts = session.connection.catalog, statement.table.parts
    found = catalog.locate(parts)
    if found is not None:
        return found, None
    schema = catalog.schema_of(parts)
    namespace = None if schema is None else catalog.namespace(schema)
    if namespace is None:
        raise TableNotFoundError(
            f"{statement.table.text} is no place for a table: name a table of an attached folder or of a"
            f" namespace ({', '.join(catalog.namespaces()) or 'there are none'}), or a path in quotes"
        )
    with named():
        return namespace.place_for(parts[-1]), namespace


def _copy_into(session: "Session", statement: CopyInto) -> pa.Table:
    return FileCopy.begin(session, statement).run()


def _plan_copy_into(session: "Session", statement: CopyInto) -> StatementPlan:
    copy = FileCopy.begin(session, statement)
    number = len(copy.files.names)
    if statement.validates:
        return StatementPlan([f"COPY INTO checks the rows of {number} files, and changes nothing"])
    if not number:
        return StatementPlan(["COPY INTO makes no version: all files were copied before"])
    return StatementPlan([new_version("COPY INTO", copy.table), f"{number} files are copied"])


KINDS = (
    StatementKind(
        "COPY INTO",
        (("COPY", "INTO"),),
        CopyInto,
        _copy_into,
        spark=parse_copy_into,
        plan=_plan_copy_into,
    ),
    StatementKind("COPY TO a file", (("COPY",),), CopyOut, _copy_out, duckdb=parse_copy),
    StatementKind("COPY FROM", (("COPY",),), CopyFrom, _copy_from, duckdb=parse_copy, in_transaction=True),
    StatementKind("COPY TO", (("COPY",),), CopyTo, _copy_to, duckdb=parse_copy, plan=_plan_copy_to),
)
