"""COPY: the rows of a query into a table that may be new, and the rows of files into a table."""

from typing import TYPE_CHECKING

import pyarrow as pa

from deltaarrow.catalogs import TableLocation
from deltaarrow.display.redaction import redacted
from deltaarrow.errors import TableNotFoundError, VersionExistsError
from deltaarrow.operations import find_table
from deltaarrow.sql.copied_files import copied_files
from deltaarrow.sql.duckdb_grammar.copying import parse_copy
from deltaarrow.sql.insertion import InsertedRows
from deltaarrow.sql.kind import StatementKind
from deltaarrow.sql.query_rows import QueryRows
from deltaarrow.sql.settings import AUTO_MERGE
from deltaarrow.sql.source_files import SourceFiles
from deltaarrow.sql.source_options import parse_source_options
from deltaarrow.sql.spark_grammar.copying import parse_copy_into
from deltaarrow.sql.statement_plan import StatementPlan, new_version
from deltaarrow.sql.statements.rows import COPIED_FILES, CopyInto, CopyTo, Insert
from deltaarrow.storage import open_store
from deltaarrow.table import DeltaTable, write_deltalake

if TYPE_CHECKING:
    from deltaarrow.catalogs import Namespace
    from deltaarrow.sql.session import Session
    from deltaarrow.sql.source_options import SourceOptions

__all__ = ["KINDS"]


def _copy_to(session: "Session", statement: CopyTo) -> pa.Table:
    location, namespace = _place(session, statement)
    rows = QueryRows(session, statement.query)
    written = write_deltalake(
        location.uri,
        rows.reader(),
        mode=statement.mode,
        partition_by=statement.partition_by,
        schema_mode=statement.schema_mode,
        storage_options=None if location.storage_options is None else dict(location.storage_options),
        commit_properties=session.settings.commit_properties(),
        post_commithook_properties=session.settings.hook_properties(),
    )
    if namespace is not None:
        namespace.add(statement.table.parts[-1], location)
    return pa.table({"num_affected_rows": [written.num_rows], "num_inserted_rows": [written.num_rows]})


def _plan_copy_to(session: "Session", statement: CopyTo) -> StatementPlan:
    location, _ = _place(session, statement)
    there = find_table(open_store(location.uri, location.storage_options))
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
    return namespace.place_for(parts[-1]), namespace


def _plan_copy_into(session: "Session", statement: CopyInto) -> StatementPlan:
    table = session.table(statement.table)
    options = parse_source_options(statement.format, statement.format_options)
    number = len(_files(session, table, statement, options).names)
    if not number:
        return StatementPlan(["COPY INTO makes no version: all files were copied before"])
    return StatementPlan([new_version("COPY INTO", table), f"{number} files are copied"])


def _files(
    session: "Session", table: DeltaTable, statement: CopyInto, options: "SourceOptions"
) -> SourceFiles:
    """The files that a COPY INTO copies."""
    files = SourceFiles.find(
        statement.source,
        session.connection.catalog.storage_options,
        files=statement.files,
        pattern=statement.pattern,
        is_recursive=options.is_recursive,
    )
    return files if statement.is_forced else files.new_to(table.snapshot)


def _copy_into(session: "Session", statement: CopyInto) -> pa.Table:
    table = session.table(statement.table)
    options = parse_source_options(statement.format, statement.format_options)
    files = _files(session, table, statement, options)
    written = _copied(session, table, statement, files, options) if files.names else 0
    counts = {"num_affected_rows": written, "num_inserted_rows": written, "num_skipped_corrupt_files": 0}
    return pa.table({name: [count] for name, count in counts.items()})


def _copied(
    session: "Session",
    table: DeltaTable,
    statement: CopyInto,
    files: SourceFiles,
    options: "SourceOptions",
) -> int:
    """Copy the rows of files and remember these, in one commit; return the number of rows."""
    evolves = statement.evolves or session.settings[AUTO_MERGE]
    query = statement.query or f"SELECT * FROM {COPIED_FILES}"
    insert = Insert(statement.table, query, statement.columns, statement.by_name)
    transaction = table.transaction(
        "COPY INTO",
        commit_properties=session.settings.commit_properties(is_write=False),
        post_commithook_properties=session.settings.hook_properties(),
    )
    written = 0
    with (
        session.at(table),
        transaction,
        copied_files(session, files, statement, table.schema(), options) as found,
    ):
        files.remember(transaction)
        if found:
            rows = InsertedRows(session, insert, table.snapshot, evolves)
            if rows.reads_table:
                transaction.read_files()
            mode = "merge" if evolves else None
            written = write_deltalake(transaction, rows.reader(), mode="append", schema_mode=mode).num_rows
            transaction.operation, transaction.parameters = "COPY INTO", {}
    return written


KINDS = (
    StatementKind(
        "COPY INTO",
        (("COPY", "INTO"),),
        CopyInto,
        _copy_into,
        spark=parse_copy_into,
        plan=_plan_copy_into,
    ),
    StatementKind("COPY TO", (("COPY",),), CopyTo, _copy_to, duckdb=parse_copy, plan=_plan_copy_to),
)
