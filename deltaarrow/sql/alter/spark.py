"""Spark's ALTER TABLE."""

from dataclasses import replace
from typing import Any

from deltaarrow.operations import ColumnChange, parse_path
from deltaarrow.schema import Field
from deltaarrow.spark_sql import (
    TableName,
    Words,
    declared_columns,
    default_text,
    parse_column_options,
    parse_type,
    spark_type_name,
)
from deltaarrow.sql.alter.statements import (
    AddColumns,
    AddConstraint,
    AddFeature,
    ChangeColumns,
    ClusterBy,
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
from deltaarrow.sql.clauses import parse_column_names, parse_properties, parse_property_names, take_clause

__all__ = ["parse_alter_table"]

_FORMS = (
    "ADD, DROP, RENAME, ALTER or REPLACE COLUMNS, ADD or DROP CONSTRAINT, SET or UNSET TBLPROPERTIES,"
    " CLUSTER BY, ADD or DROP FEATURE, or RENAME TO"
)


def parse_alter_table(words: Words) -> Any:
    """Read an ALTER TABLE.

    >>> parse_alter_table(Words("ALTER TABLE t RENAME COLUMN a.b TO c")).column
    'a.b'
    >>> changes = parse_alter_table(Words("ALTER TABLE t ALTER COLUMN a TYPE BIGINT, b COMMENT 'x'")).changes
    >>> changes["a"].type, changes["b"].comment
    (PrimitiveType("long"), 'x')
    """
    words.expect("ALTER", "TABLE")
    found = _altered(words, words.table_name())
    words.expect_end()
    return found


def _altered(words: Words, table: TableName) -> Any:
    if words.take("ADD", "CONSTRAINT"):
        name = words.identifier("the name of a constraint")
        words.expect("CHECK")
        return AddConstraint(table, name, words.bracketed("the condition of a constraint"))
    if words.take("DROP", "CONSTRAINT"):
        if_exists = words.take("IF", "EXISTS")
        return DropConstraint(table, words.identifier("the name of a constraint"), if_exists)
    if words.take("ADD", "FEATURE"):
        return AddFeature(table, _feature(words))
    if words.take("DROP", "FEATURE"):
        return DropFeature(table, _feature(words), words.take("TRUNCATE", "HISTORY"))
    if words.take("ADD", "COLUMN") or words.take("ADD", "COLUMNS"):
        return _added(words, table)
    if words.take("DROP", "COLUMN") or words.take("DROP", "COLUMNS"):
        return _dropped(words, table)
    if words.take("RENAME", "COLUMN"):
        column = words.column()
        words.expect("TO")
        return RenameColumn(table, column, words.identifier("the new name of a column"))
    if words.take("RENAME", "TO"):
        return RenameTable(table, words.table_name())
    if words.take("REPLACE", "COLUMNS"):
        words.expect("(")
        fields = tuple(each.field for each in declared_columns(words))
        words.expect(")")
        return ReplaceColumns(table, fields)
    if words.take("SET", "TBLPROPERTIES"):
        return SetProperties(table, parse_properties(words))
    if words.is_at("SET", "LOCATION"):
        raise words.unsupported(
            "a name keeps its location: give the other location another name, with CREATE TABLE ... LOCATION"
        )
    if words.take("UNSET", "TBLPROPERTIES"):
        words.take("IF", "EXISTS")
        return UnsetProperties(table, parse_property_names(words))
    if take_clause(words, "CLUSTER BY"):
        if words.is_at("AUTO"):
            raise words.unsupported("CLUSTER BY AUTO needs Databricks: name the columns", words.start)
        return ClusterBy(table, () if words.take("NONE") else parse_column_names(words))
    is_hive = words.is_at("CHANGE")
    if words.take("ALTER") or words.take("CHANGE"):
        words.take("COLUMN")
        return _changed(words, table, is_hive=is_hive)
    raise words.refused(f"{_FORMS} is expected")


def _feature(words: Words) -> str:
    if words.is_at_string:
        return words.string("the name of a feature")
    name = words.identifier("the name of a feature")
    return f"{name}-{words.identifier('the name of a feature')}" if words.take("-") else name


def _added(words: Words, table: TableName) -> AddColumns:
    fields, positions = list[tuple[tuple[str, ...], Field]](), dict[str, str]()
    in_brackets = words.take("(")
    while True:
        column = words.column()
        *parents, name = parse_path(column)
        data_type, text = parse_type(words)
        declared = parse_column_options(words, name, data_type, text, is_new=False)
        position = _position(words)
        if position is not None:
            positions[column] = position
            further = parse_column_options(words, name, data_type, text, is_new=False).field
            metadata = {**declared.field.metadata, **further.metadata}
            nullable = declared.field.nullable and further.nullable
            declared = replace(declared, field=Field(name, data_type, nullable, metadata))
        fields.append((tuple(parents), declared.field))
        if not words.take(","):
            break
    if in_brackets:
        words.expect(")")
    return AddColumns(table, tuple(fields), positions)


def _position(words: Words) -> str | None:
    if words.take("FIRST"):
        return "FIRST"
    return f"AFTER {words.column()}" if words.take("AFTER") else None


def _dropped(words: Words, table: TableName) -> DropColumns:
    if_exists = words.take("IF", "EXISTS")
    if words.is_at("("):
        return DropColumns(table, parse_column_names(words), if_exists)
    found = [words.column()]
    while words.take(","):
        found.append(words.column())
    return DropColumns(table, tuple(found), if_exists)


def _changed(words: Words, table: TableName, *, is_hive: bool) -> ChangeColumns | SyncIdentity:
    changes = dict[str, ColumnChange]()
    while True:
        column = words.column()
        if words.take("SYNC", "IDENTITY"):
            if changes:
                raise words.unsupported("SYNC IDENTITY stands in a statement of its own")
            return SyncIdentity(table, column)
        if column in changes:
            raise words.unsupported(f"the column {column} is given twice")
        change = _change(words)
        if change is None and is_hive and not changes:
            return ChangeColumns(table, {column: _renamed(words, column)})
        if change is None:
            raise words.refused(
                "TYPE, COMMENT, FIRST, AFTER, SET or DROP NOT NULL, SET or DROP DEFAULT or SYNC IDENTITY is"
                " expected"
            )
        changes[column] = change
        if not words.take(","):
            return ChangeColumns(table, changes)


def _change(words: Words) -> ColumnChange | None:
    """Go past one change of a column; None if there is none."""
    if words.take("TYPE"):
        return ColumnChange(type=_wanted_type(words))
    if words.take("COMMENT"):
        return ColumnChange(comment=words.string("the comment of a column"))
    if words.take("SET", "NOT", "NULL"):
        return ColumnChange(nullable=False)
    if words.take("DROP", "NOT", "NULL"):
        return ColumnChange(nullable=True)
    if words.take("SET", "DEFAULT"):
        return ColumnChange(default=default_text(words))
    if words.take("DROP", "DEFAULT"):
        return ColumnChange(drop_default=True)
    position = _position(words)
    return None if position is None else ColumnChange(position=position)


def _wanted_type(words: Words) -> Any:
    """Go past a type; one that limits texts is returned as its name."""
    data_type, text = parse_type(words)
    return data_type if text == spark_type_name(data_type) else text


def _renamed(words: Words, column: str) -> ColumnChange:
    """Go past the new name, type, comment and position of Hive's CHANGE COLUMN."""
    name = words.identifier("the name of the column")
    if name.lower() != parse_path(column)[-1].lower():
        raise words.unsupported(f"CHANGE COLUMN keeps the name of {column}: use RENAME COLUMN")
    wanted = _wanted_type(words)
    comment = words.string("the comment of a column") if words.take("COMMENT") else None
    return ColumnChange(type=wanted, comment=comment, position=_position(words))
