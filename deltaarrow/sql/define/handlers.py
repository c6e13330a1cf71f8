"""The handlers of statements that create, clone and drop tables."""

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltaarrow.catalogs import TableLocation
from deltaarrow.display.redaction import redacted
from deltaarrow.errors import (
    SchemaMismatchError,
    TableNotFoundError,
    UnsupportedFeatureError,
    VersionExistsError,
)
from deltaarrow.features import new_table_configuration
from deltaarrow.operations import Definition, NewTable, WriteResult, cast_rows, define_table, like_table
from deltaarrow.schema import Field, Schema, resolve_partition_columns, without_table_metadata
from deltaarrow.schema.metadata_keys import CHAR_TYPE_KEY
from deltaarrow.snapshot import Snapshot
from deltaarrow.sql.define.duckdb import parse_duckdb_create_table, parse_duckdb_drop_table
from deltaarrow.sql.define.new_table import place_for, subject_of
from deltaarrow.sql.define.spark import parse_comment_on_table, parse_create_table, parse_drop_table
from deltaarrow.sql.define.statements import (
    CloneTable,
    CommentOnTable,
    CreateTable,
    CreateTableLike,
    DropTable,
    TableClauses,
)
from deltaarrow.sql.kind import StatementKind
from deltaarrow.sql.query_rows import QueryRows
from deltaarrow.sql.statement_plan import StatementPlan, new_version
from deltaarrow.sql.timestamps import moment
from deltaarrow.storage import Store
from deltaarrow.table import DeltaTable

if TYPE_CHECKING:
    from deltaarrow.sql.session import Session

__all__ = ["KINDS"]

_NOTHING = pa.table({})
_CLONE_COLUMNS = {
    "source_table_size": "sourceTableSize",
    "source_num_of_files": "sourceNumOfFiles",
    "num_removed_files": "numRemovedFiles",
    "num_copied_files": "numCopiedFiles",
    "removed_files_size": "removedFilesSize",
    "copied_files_size": "copiedFilesSize",
}


def _create_table(session: "Session", statement: CreateTable) -> pa.Table:
    place = place_for(session, statement.table, statement.clauses.location)
    clauses = statement.clauses
    table = NewTable(
        schema=Schema(statement.columns),
        partition_by=clauses.partition_by,
        cluster_by=clauses.cluster_by,
        description=clauses.comment,
        configuration=clauses.properties,
    )

    def build(store: Store, location: TableLocation) -> WriteResult:
        if statement.query is None and not statement.may_replace:
            there = Snapshot.find(store)
            if there is not None:
                _ensure_described(there, table, location)
                return WriteResult(None)
        if statement.query is None and not statement.columns:
            _ensure_may_lack_columns(statement)
        definition = Definition(
            table=_with_defaults(session, table),
            may_create=statement.may_create,
            may_replace=statement.may_replace,
            is_managed=location.is_managed and place.namespace is not None,
        )
        replaced = _replaced(location) if statement.may_replace else None
        with contextlib.nullcontext() if replaced is None else session.at(replaced):
            return define_table(
                store,
                definition,
                None if statement.query is None else _rows(session, statement.query, statement.columns),
                snapshot=None if replaced is None else replaced.snapshot,
                commit_properties=session.settings.commit_properties(is_write=False),
                hook_properties=session.settings.hook_properties(),
            )

    place.make(
        build,
        may_create=statement.may_create,
        may_replace=statement.may_replace,
        if_not_exists=statement.if_not_exists,
    )
    return _NOTHING


def _ensure_may_lack_columns(statement: CreateTable) -> None:
    """Raise unless the first rows of a new table may decide on its columns."""
    if statement.may_replace:
        raise SchemaMismatchError(
            f"[DELTA_SCHEMA_NOT_PROVIDED] {statement.table.text} needs columns or a query: a table that is"
            " replaced does not lend its own"
        )
    if statement.clauses.partition_by or statement.clauses.cluster_by:
        raise SchemaMismatchError(
            f"{statement.table.text} has no columns yet to lay it out by:"
            " declare the columns, or leave PARTITIONED BY and CLUSTER BY out"
        )


def _plan_create_table(session: "Session", statement: CreateTable) -> StatementPlan:
    place = place_for(session, statement.table, statement.clauses.location)
    there = place.find()
    if there is not None and statement.if_not_exists:
        return StatementPlan([f"CREATE TABLE does nothing: there is a table {statement.table.text}"])
    place.ensure_makeable(there, may_create=statement.may_create, may_replace=statement.may_replace)
    replaced = None if there is None else _replaced(there)
    if replaced is None:
        effect = f"CREATE TABLE makes version 0 of {redacted((there or place.new).uri)}"
    else:
        effect = new_version("REPLACE TABLE", replaced)
    if statement.query is None:
        return StatementPlan([effect])
    with contextlib.nullcontext() if replaced is None else session.at(replaced):
        query = QueryRows(session, statement.query)
        return StatementPlan([effect], query.explained(), query.sql)


def _with_defaults(session: "Session", table: NewTable) -> NewTable:
    """A new table with the properties of which it says nothing and the session does."""
    defaults = session.settings.default_properties()
    given = {name.lower() for name in table.configuration}
    added = {name: text for name, text in defaults.items() if name.lower() not in given}
    return replace(table, configuration={**added, **table.configuration}) if added else table


def _replaced(location: TableLocation) -> DeltaTable | None:
    """The table that is to be replaced, whose query reads the same version; None if there is none."""
    try:
        return DeltaTable(location, dialect="spark")
    except TableNotFoundError:
        return None


def _rows(session: "Session", text: str, columns: Sequence[Field] = ()) -> pa.RecordBatchReader:
    """The rows of a query, as the columns that are declared if there are any.

    In Spark's dialect NULLs without a type make a column of nothing.
    """
    query = QueryRows(session, text)
    if columns:
        return _declared_rows(query, columns)
    return _with_lengths(query) if session.dialect == "spark" else query.reader()


def _with_lengths(query: QueryRows) -> pa.RecordBatchReader:
    """The rows of a query, with the lengths of columns that it takes from tables, CHAR(n) and VARCHAR(n)."""
    reader = query.reader()
    declared = [each.metadata.get(CHAR_TYPE_KEY) for each in query.schema.fields]
    if not any(declared):
        return reader
    fields = [
        field if text is None else field.with_metadata({**(field.metadata or {}), CHAR_TYPE_KEY: str(text)})
        for field, text in zip(reader.schema, declared, strict=True)
    ]
    schema = pa.schema(fields)
    batches = (pa.RecordBatch.from_arrays(batch.columns, schema=schema) for batch in reader)
    return pa.RecordBatchReader.from_batches(schema, batches)


def _declared_rows(query: QueryRows, columns: Sequence[Field]) -> pa.RecordBatchReader:
    """The rows of a query by position as declared columns, which are cast to as DuckDB's INSERT does."""
    names = query.names
    if len(names) != len(columns):
        raise SchemaMismatchError(
            f"the table declares {len(columns)} columns ({', '.join(each.name for each in columns)}), and the"
            f" query has {len(names)} ({', '.join(names)})"
        )
    reader = query.reader(cast_rows(query.sql, columns))
    declared = Schema(columns).to_arrow()
    fields = [declared.field(place).with_type(kind) for place, kind in enumerate(reader.schema.types)]
    schema = pa.schema(fields)
    batches = (pa.RecordBatch.from_arrays(batch.columns, schema=schema) for batch in reader)
    return pa.RecordBatchReader.from_batches(schema, batches)


def _ensure_described(there: Snapshot, table: NewTable, location: TableLocation) -> None:
    """Raise unless a table that is there is as a statement says, which gives it a name."""
    place = redacted(location.uri)
    if location.is_managed:
        raise VersionExistsError(
            f"[DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION] {place} has a Delta table that nobody"
            " has given this name: name it with LOCATION, or delete the folder"
        )
    columns = [(each.name, each.type, each.nullable) for each in there.schema.fields]
    if (
        table.schema.fields
        and [(each.name, each.type, each.nullable) for each in table.schema.fields] != columns
    ):
        raise SchemaMismatchError(
            f"[DELTA_CREATE_TABLE_SCHEME_MISMATCH] the table at {place} has other columns:"
            f" {', '.join(there.schema.names)}; leave the columns out"
        )
    is_laid_out = bool(table.schema.fields or table.partition_by)
    if is_laid_out and resolve_partition_columns(there.schema, table.partition_by) != there.partition_columns:
        raise SchemaMismatchError(
            f"[DELTA_CREATE_TABLE_WITH_DIFFERENT_PARTITIONING] the table at {place} is partitioned by"
            f" {list(there.partition_columns)}"
        )
    wanted = new_table_configuration(table.configuration)
    if table.configuration and wanted != dict(there.configuration):
        raise SchemaMismatchError(
            f"[DELTA_CREATE_TABLE_WITH_DIFFERENT_PROPERTY] the table at {place} has other properties:"
            " leave TBLPROPERTIES out"
        )


def _columns(schema: Schema) -> list[tuple[str, object, bool]]:
    return [(each.name, each.type, each.nullable) for each in schema.fields]


def _create_table_like(session: "Session", statement: CreateTableLike) -> pa.Table:
    place = place_for(session, statement.table, statement.clauses.location)
    table = _with_defaults(session, _like(session, statement))

    def build(store: Store, location: TableLocation) -> WriteResult:
        is_managed = location.is_managed and place.namespace is not None
        return define_table(store, Definition(table=table, is_managed=is_managed))

    place.make(build, if_not_exists=statement.if_not_exists)
    return _NOTHING


def _like(session: "Session", statement: CreateTableLike) -> NewTable:
    """A new table with the columns of a view, or like another table."""
    catalog, source = session.connection.catalog, statement.source
    if catalog.view(source.parts) is None:
        return like_table(session.table(source).snapshot, statement.clauses.properties)
    columns = QueryRows(session, f"SELECT * FROM {source.text}").schema
    schema = without_table_metadata(Schema(columns.fields))
    return NewTable(schema=schema, configuration=statement.clauses.properties)


def _clone_table(session: "Session", statement: CloneTable) -> pa.Table:
    source = session.table(statement.source)
    place = place_for(session, statement.table, statement.clauses.location)
    _ensure_only(statement.clauses)
    metrics: dict[str, Any] = {}

    def build(store: Store, location: TableLocation) -> WriteResult:
        if location.opener is not None:
            raise UnsupportedFeatureError(
                f"{statement.table.text} cannot become a clone: its catalog allocates its place, and commits"
                " through it alone; copy the rows with CREATE TABLE ... AS SELECT",
                feature="CLONE",
            )
        is_new = Snapshot.find(store) is None
        found = source.clone(
            store.uri,
            version=None if statement.version is None else moment(statement.version),
            shallow=statement.shallow,
            replace=statement.may_replace,
            properties=statement.clauses.properties,
            storage_options=None if location.storage_options is None else dict(location.storage_options),
            commit_properties=session.settings.commit_properties(is_write=False),
        )
        assert isinstance(found, dict)
        metrics.update(found)
        return WriteResult(0 if is_new else None)

    place.make(
        build,
        may_create=statement.may_create,
        may_replace=statement.may_replace,
        if_not_exists=statement.if_not_exists,
    )
    columns = {name: [metrics[key]] if metrics else [] for name, key in _CLONE_COLUMNS.items()}
    return pa.table(columns, schema=pa.schema([(name, pa.int64()) for name in columns]))


def _ensure_only(clauses: TableClauses) -> None:
    if clauses.partition_by or clauses.cluster_by or clauses.comment is not None:
        raise UnsupportedFeatureError("a clone has the layout of its source", feature="CLONE")


def _drop_table(session: "Session", statement: DropTable) -> pa.Table:
    catalog = session.connection.catalog
    if len(statement.table.parts) == 1 and catalog.drop_view(statement.table.parts[0]):
        return _NOTHING
    place = place_for(session, statement.table)
    there = place.find()
    if there is None:
        if place.finish_drop() or statement.if_exists:
            return _NOTHING
        raise _nothing_to_drop(statement)
    if place.namespace is None:
        raise UnsupportedFeatureError(
            f"{statement.table.text} is a table by its path, which has no name to drop; to delete its files,"
            " use DeltaTable.delete_table or deltaarrow drop",
            feature="DROP TABLE",
        )
    try:
        place.drop(there)
    except KeyError:
        if not statement.if_exists:
            raise _nothing_to_drop(statement) from None
    return _NOTHING


def _nothing_to_drop(statement: DropTable) -> TableNotFoundError:
    return TableNotFoundError(
        f"[TABLE_OR_VIEW_NOT_FOUND] {statement.table.text} is not the name of a table; DROP TABLE IF"
        " EXISTS passes over one that is not there"
    )


def _comment_on_table(session: "Session", statement: CommentOnTable) -> pa.Table:
    session.table(statement.table).alter.set_table_description(
        statement.comment, commit_properties=session.settings.commit_properties(is_write=False)
    )
    return _NOTHING


def _create_kind(name: str, statement: type, handle: Any, plan: Any = None) -> StatementKind:
    return StatementKind(
        name,
        (
            ("CREATE", "TABLE"),
            ("CREATE", "EXTERNAL", "TABLE"),
            ("CREATE", "OR", "REPLACE", "TABLE"),
            ("REPLACE", "TABLE"),
        ),
        statement,
        handle,
        spark=parse_create_table,
        duckdb=parse_duckdb_create_table,
        subject=_created,
        in_namespace=True,
        plan=plan,
    )


def _created(words: Any) -> Any:
    if not words.take("CREATE", "TABLE") and not words.take("CREATE", "OR", "REPLACE", "TABLE"):
        return None
    words.take("IF", "NOT", "EXISTS")
    return words.table_name()


KINDS = (
    _create_kind("CREATE TABLE", CreateTable, _create_table, _plan_create_table),
    _create_kind("CREATE TABLE LIKE", CreateTableLike, _create_table_like),
    _create_kind("CREATE TABLE CLONE", CloneTable, _clone_table),
    StatementKind(
        "DROP TABLE",
        (("DROP", "TABLE"),),
        DropTable,
        _drop_table,
        spark=parse_drop_table,
        duckdb=parse_duckdb_drop_table,
        subject=subject_of("DROP", "TABLE"),
        in_namespace=True,
    ),
    StatementKind(
        "COMMENT ON TABLE",
        (("COMMENT", "ON", "TABLE"),),
        CommentOnTable,
        _comment_on_table,
        spark=parse_comment_on_table,
        duckdb=parse_comment_on_table,
        subject=subject_of("COMMENT", "ON", "TABLE"),
    ),
)
