"""The handlers of ALTER TABLE: each form is one call of `DeltaTable.alter`."""

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltaarrow.catalogs import Namespace, fold
from deltaarrow.errors import SchemaMismatchError, TableNotFoundError, UnsupportedFeatureError
from deltaarrow.schema import ArrayType, DataType, Field, MapType, StructType
from deltaarrow.sql.alter.duckdb import commented_table, parse_comment_on_column, parse_duckdb_alter_table
from deltaarrow.sql.alter.spark import parse_alter_table
from deltaarrow.sql.alter.statements import (
    AddColumns,
    AddConstraint,
    AddFeature,
    AlterIfExists,
    ChangeColumns,
    ClusterBy,
    CommentColumn,
    DropColumns,
    DropConstraint,
    DropFeature,
    RenameColumn,
    RenameTable,
    ReplaceColumns,
    SetProperties,
    SyncIdentity,
    UnsetProperties,
)
from deltaarrow.sql.define.new_table import place_for, subject_of
from deltaarrow.sql.kind import StatementKind
from deltaarrow.sql.statement_plan import StatementPlan, new_version

if TYPE_CHECKING:
    from deltaarrow.sql.session import Session
    from deltaarrow.table import DeltaTable

__all__ = ["KINDS"]


def _alter(
    change: "Callable[[DeltaTable, Any, dict[str, Any]], None]",
) -> "Callable[[Session, Any], pa.Table]":
    """The handler of a statement that changes one table and returns no rows."""

    def handle(session: "Session", statement: Any) -> pa.Table:
        options = {
            "commit_properties": session.settings.commit_properties(is_write=False),
            "post_commithook_properties": session.settings.hook_properties(),
        }
        change(session.table(statement.table), statement, options)
        return pa.table({})

    return handle


def _add_columns(table: "DeltaTable", statement: AddColumns, options: dict[str, Any]) -> None:
    schema = table.schema()
    fields = [field for parents, field in statement.fields if not parents]
    inner = [_within(schema, parents, field) for parents, field in statement.fields if parents]
    if statement.if_not_exists:
        fields = [field for field in fields if schema.find(field.name) is None]
        if not fields and not inner:
            return
    table.alter.add_columns([*fields, *inner], positions=statement.positions, **options)


def _within(schema: StructType, parents: tuple[str, ...], field: Field) -> Field:
    """The column of a table that holds a new field inside it and nothing else."""
    column = schema.field(parents[0])
    return Field(column.name, _holding(column.type, parents, 1, field))


def _holding(data_type: DataType, parents: tuple[str, ...], place: int, field: Field) -> DataType:
    step = parents[place].lower() if place < len(parents) else None
    match data_type:
        case StructType() if step is None:
            return StructType([field])
        case StructType():
            inner = data_type.field(parents[place])
            return StructType([Field(inner.name, _holding(inner.type, parents, place + 1, field))])
        case ArrayType() if step == "element":
            return ArrayType(_holding(data_type.element_type, parents, place + 1, field))
        case MapType() if step == "key":
            return MapType(_holding(data_type.key_type, parents, place + 1, field), data_type.value_type)
        case MapType() if step == "value":
            return MapType(data_type.key_type, _holding(data_type.value_type, parents, place + 1, field))
    raise SchemaMismatchError(
        f"[DELTA_ADD_COLUMN_PARENT_NOT_STRUCT] {'.'.join(parents)} is no struct, to which {field.name!r}"
        " could be added"
    )


def _drop_columns(table: "DeltaTable", statement: DropColumns, options: dict[str, Any]) -> None:
    table.alter.drop_columns(statement.columns, not statement.if_exists, **options)


def _rename_column(table: "DeltaTable", statement: RenameColumn, options: dict[str, Any]) -> None:
    table.alter.rename_column(statement.column, statement.new_name, **options)


def _change_columns(table: "DeltaTable", statement: ChangeColumns, options: dict[str, Any]) -> None:
    table.alter.change_columns(statement.changes, **options)


def _sync_identity(table: "DeltaTable", statement: SyncIdentity, options: dict[str, Any]) -> None:
    table.alter.sync_identity(statement.column, **options)


def _replace_columns(table: "DeltaTable", statement: ReplaceColumns, options: dict[str, Any]) -> None:
    table.alter.replace_columns(statement.fields, **options)


def _add_constraint(table: "DeltaTable", statement: AddConstraint, options: dict[str, Any]) -> None:
    table.alter.add_constraint({statement.name: statement.condition}, **options)


def _drop_constraint(table: "DeltaTable", statement: DropConstraint, options: dict[str, Any]) -> None:
    table.alter.drop_constraint(statement.name, not statement.if_exists, **options)


def _set_properties(table: "DeltaTable", statement: SetProperties, options: dict[str, Any]) -> None:
    table.alter.set_table_properties(statement.properties, **options)


def _unset_properties(table: "DeltaTable", statement: UnsetProperties, options: dict[str, Any]) -> None:
    table.alter.unset_table_properties(statement.names, raise_if_not_exists=False, **options)


def _cluster_by(table: "DeltaTable", statement: ClusterBy, options: dict[str, Any]) -> None:
    table.alter.cluster_by(statement.columns, **options)


def _add_feature(table: "DeltaTable", statement: AddFeature, options: dict[str, Any]) -> None:
    table.alter.add_feature(statement.feature, allow_protocol_versions_increase=True, **options)


def _drop_feature(table: "DeltaTable", statement: DropFeature, options: dict[str, Any]) -> None:
    table.alter.drop_feature(statement.feature, statement.truncate_history, **options)


def _rename_table(session: "Session", statement: RenameTable) -> pa.Table:
    old, new = place_for(session, statement.table), place_for(session, statement.new_name)
    there = None if old.namespace is None else old.namespace.find(old.name)
    if old.namespace is None or new.namespace is None or there is None:
        if old.namespace is not None:
            raise TableNotFoundError(
                f"[TABLE_OR_VIEW_NOT_FOUND] {statement.table.text} is not the name of a table"
            )
        raise UnsupportedFeatureError(
            "RENAME TO gives a table of a catalog another name, and a table by its path has none",
            feature="RENAME TO",
        )
    if (move := getattr(old.namespace, "move", None)) is not None:
        try:
            move(old.name, new.namespace, new.name)
        except KeyError:
            raise TableNotFoundError(
                f"[TABLE_OR_VIEW_NOT_FOUND] {statement.table.text} is not the name of a table"
            ) from None
        except FileExistsError:
            raise new.taken() from None
        return pa.table({})
    if there.is_managed:
        raise UnsupportedFeatureError(
            f"{statement.table.text} cannot be renamed: its files are in the folder of its name; make another"
            " table with CREATE TABLE ... DEEP CLONE, or give tables a LOCATION",
            feature="RENAME TO",
        )
    if there.opener is not None:
        new.ensure_free()
        _rename_in_catalog(old.namespace, old.name, new.namespace, new.name)
        return pa.table({})
    found = new.namespace.find(new.name)
    # A rename that was stopped half-way has left both names.
    is_begun = found is not None and found.uri == there.uri and fold(old.name) != fold(new.name)
    if not is_begun:
        new.ensure_free()
        new.namespace.add(new.name, there)
    with contextlib.suppress(KeyError):  # another process has repeated the statement, and ended it
        old.namespace.remove(old.name)
    return pa.table({})


def _rename_in_catalog(old: Namespace, name: str, new: Namespace, new_name: str) -> None:
    """Let the catalog of a table that only it can open give the table another name."""
    rename = getattr(old, "rename", None)
    if rename is None or old != new:
        raise UnsupportedFeatureError(
            f"{name} cannot be renamed to {new_name}: its catalog renames tables inside of a schema only",
            feature="RENAME TO",
        )
    rename(name, new_name)


def _alter_if_exists(session: "Session", statement: AlterIfExists) -> "pa.Table | str":
    try:
        session.table(statement.table)
    except TableNotFoundError:
        return pa.table({})
    change = statement.statement
    return next(kind.handle for kind in KINDS if kind.statement is type(change))(session, change)


def _kind(name: str, statement: type, handle: Any) -> StatementKind:
    shown = f"ALTER TABLE {name}"

    def plan(session: "Session", statement: Any) -> StatementPlan:
        return StatementPlan([new_version(shown, session.table(statement.table))])

    return StatementKind(
        shown,
        (("ALTER", "TABLE"),),
        statement,
        handle,
        spark=None if statement is AlterIfExists else parse_alter_table,
        duckdb=parse_duckdb_alter_table,
        subject=subject_of("ALTER", "TABLE"),
        plan=None if statement in (AlterIfExists, RenameTable) else plan,
    )


KINDS = (
    _kind("ADD COLUMNS", AddColumns, _alter(_add_columns)),
    _kind("DROP COLUMNS", DropColumns, _alter(_drop_columns)),
    _kind("RENAME COLUMN", RenameColumn, _alter(_rename_column)),
    _kind("ALTER COLUMN", ChangeColumns, _alter(_change_columns)),
    _kind("ALTER COLUMN SYNC IDENTITY", SyncIdentity, _alter(_sync_identity)),
    _kind("REPLACE COLUMNS", ReplaceColumns, _alter(_replace_columns)),
    _kind("ADD CONSTRAINT", AddConstraint, _alter(_add_constraint)),
    _kind("DROP CONSTRAINT", DropConstraint, _alter(_drop_constraint)),
    _kind("SET TBLPROPERTIES", SetProperties, _alter(_set_properties)),
    _kind("UNSET TBLPROPERTIES", UnsetProperties, _alter(_unset_properties)),
    _kind("CLUSTER BY", ClusterBy, _alter(_cluster_by)),
    _kind("ADD FEATURE", AddFeature, _alter(_add_feature)),
    _kind("DROP FEATURE", DropFeature, _alter(_drop_feature)),
    _kind("RENAME TO", RenameTable, _rename_table),
    _kind("IF EXISTS", AlterIfExists, _alter_if_exists),
    StatementKind(
        "COMMENT ON COLUMN",
        (("COMMENT", "ON", "COLUMN"),),
        CommentColumn,
        _alter(_change_columns),
        duckdb=parse_comment_on_column,
        subject=commented_table,
    ),
)
