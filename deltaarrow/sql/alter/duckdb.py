"""DuckDB's ALTER TABLE, and the forms of Spark's that DuckDB does not have."""

from dataclasses import replace
from typing import Any

from deltaarrow.operations import ColumnChange, parse_path
from deltaarrow.schema import Field, JsonObject
from deltaarrow.schema.metadata_keys import DEFAULT_KEY, FIRST_DEFAULT_KEY
from deltaarrow.spark_sql import TableName, Words, default_text, parse_column_options, parse_type
from deltaarrow.sql.alter.spark import parse_alter_table
from deltaarrow.sql.alter.statements import (
    AddColumns,
    AlterIfExists,
    ChangeColumns,
    CommentColumn,
    DropColumns,
    RenameColumn,
    RenameTable,
)
from deltaarrow.sql.clauses import at_clause
from deltaarrow.sql.rows.spark import quoted

__all__ = ["commented_table", "parse_comment_on_column", "parse_duckdb_alter_table"]

_OF_A_DEFAULT = (DEFAULT_KEY, FIRST_DEFAULT_KEY)
_SPARKS = (
    *("SET TBLPROPERTIES", "UNSET TBLPROPERTIES", "CLUSTER BY", "ADD CONSTRAINT", "DROP CONSTRAINT"),
    *("ADD FEATURE", "DROP FEATURE"),
)


def parse_duckdb_alter_table(words: Words) -> Any:
    """Read an ALTER TABLE of a Delta table in DuckDB's dialect.

    >>> parse_duckdb_alter_table(Words("ALTER TABLE lake.t ADD COLUMN a VARCHAR[]", "duckdb")).fields
    (((), Field(a, ArrayType(PrimitiveType("string"), contains_null=True), nullable=True)),)
    """
    text = words.text
    words.expect("ALTER", "TABLE")
    if_exists = words.take("IF", "EXISTS")
    table = words.table_name()
    if any(at_clause(words, each) for each in _SPARKS):
        return parse_alter_table(Words(text, "duckdb"))
    found = _altered(words, table)
    words.expect_end()
    return AlterIfExists(table, found) if if_exists else found


def parse_comment_on_column(words: Words) -> CommentColumn:
    """Read a COMMENT ON COLUMN.

    >>> parse_comment_on_column(Words("COMMENT ON COLUMN lake.t.a IS 'x'", "duckdb")).table.text
    'lake.t'
    """
    words.expect("COMMENT", "ON", "COLUMN")
    path = words.table_name()
    words.expect("IS")
    comment = "" if words.take("NULL") else words.string("a comment")
    words.expect_end()
    return CommentColumn(TableName(path.parts[:-1]), {quoted(path.parts[-1]): ColumnChange(comment=comment)})


def commented_table(words: Words) -> TableName:
    """Return the table of a COMMENT ON COLUMN."""
    words.expect("COMMENT", "ON", "COLUMN")
    return TableName(words.table_name().parts[:-1])


def _altered(words: Words, table: TableName) -> Any:
    if words.take("RENAME", "TO"):
        name = words.identifier("the new name of a table")
        return RenameTable(table, TableName((*table.parts[:-1], name)))
    if words.take("RENAME"):
        words.take("COLUMN")
        column = words.column()
        words.expect("TO")
        return RenameColumn(table, column, words.identifier("the new name of a column"))
    if words.take("ADD"):
        words.take("COLUMN")
        if_not_exists = words.take("IF", "NOT", "EXISTS")
        *parents, name = parse_path(words.column())
        declared = parse_column_options(words, name, *parse_type(words))
        return AddColumns(table, ((tuple(parents), _without_null(declared.field)),), {}, if_not_exists)
    if words.take("DROP"):
        words.take("COLUMN")
        if_exists = words.take("IF", "EXISTS")
        column = words.column()
        words.take("RESTRICT")
        return DropColumns(table, (column,), if_exists)
    if words.take("ALTER"):
        words.take("COLUMN")
        changes = [(words.column(), _change(words))]
        while words.take(","):
            changes.append((words.column(), _change(words)))
        return ChangeColumns(table, dict(changes))
    raise words.refused("ADD, DROP, RENAME, ALTER or SET TBLPROPERTIES is expected")


def _without_null(column: Field) -> Field:
    """A new column without its default if that is NULL, which is what its rows hold anyway."""
    if str(column.metadata.get(DEFAULT_KEY)).upper() != "NULL":
        return column
    others = {key: value for key, value in column.metadata.items() if key not in _OF_A_DEFAULT}
    return replace(column, metadata=JsonObject(others))


def _change(words: Words) -> ColumnChange:
    if words.take("TYPE") or words.take("SET", "DATA", "TYPE"):
        found = ColumnChange(type=parse_type(words)[0])
        if words.is_at("USING"):
            raise words.refused("a column of a Delta table keeps its values: no USING; the end is expected")
        return found
    if words.take("COMMENT"):
        return ColumnChange(comment=words.string("a comment"))
    if words.take("SET", "DEFAULT"):
        return ColumnChange(default=default_text(words))
    if words.take("DROP", "DEFAULT"):
        return ColumnChange(drop_default=True)
    if words.take("SET", "NOT", "NULL"):
        return ColumnChange(nullable=False)
    if words.take("DROP", "NOT", "NULL"):
        return ColumnChange(nullable=True)
    raise words.refused("TYPE, COMMENT, SET DEFAULT, DROP DEFAULT, SET NOT NULL or DROP NOT NULL is expected")
