"""Spark's USE, SHOW and DESCRIBE, and its statements about schemas."""

from typing import Any

from deltaarrow.spark_sql import TableName, Words
from deltaarrow.sql.clauses import parse_properties
from deltaarrow.sql.describe.statements import (
    CreateSchema,
    DescribeDetail,
    DescribeHistory,
    DescribeQuery,
    DescribeSchema,
    DescribeTable,
    DropSchema,
    SetCatalog,
    ShowCatalogs,
    ShowColumns,
    ShowCreateTable,
    ShowCurrentNamespace,
    ShowPartitions,
    ShowProperties,
    ShowSchemas,
    ShowTables,
    ShowViews,
    Use,
)

__all__ = [
    "SCHEMAS",
    "parse_create_schema",
    "parse_describe",
    "parse_drop_schema",
    "parse_set_catalog",
    "parse_show",
    "parse_use",
]

SCHEMAS = ("SCHEMA", "DATABASE", "NAMESPACE")
_QUERIES = ("SELECT", "WITH", "FROM", "VALUES", "(")


def parse_use(words: Words) -> Use:
    """Read a USE.

    >>> parse_use(Words("USE SCHEMA shop")).schema
    ('shop',)
    """
    words.expect("USE")
    _take_any(words, *SCHEMAS)
    schema = words.table_name().parts
    words.expect_end()
    return Use(schema, words.text)


def parse_create_schema(words: Words) -> CreateSchema:
    """Read a CREATE SCHEMA.

    >>> parse_create_schema(Words("CREATE DATABASE IF NOT EXISTS shop COMMENT 'x'"))
    CreateSchema(schema=('shop',), if_not_exists=True)
    """
    words.expect("CREATE")
    _expect_any(words, *SCHEMAS)
    if_not_exists = words.take("IF", "NOT", "EXISTS")
    schema = words.table_name().parts
    while not words.is_done and not words.is_at(";"):
        if words.take("COMMENT"):
            words.string("a comment")
        elif words.take("WITH", "DBPROPERTIES") or words.take("WITH", "PROPERTIES"):
            parse_properties(words)
        else:
            raise words.refused(
                "COMMENT or WITH DBPROPERTIES is expected; the place of a schema is that of its catalog"
            )
    words.expect_end()
    return CreateSchema(schema, if_not_exists, words.text)


def parse_drop_schema(words: Words) -> DropSchema:
    """Read a DROP SCHEMA.

    >>> parse_drop_schema(Words("DROP SCHEMA IF EXISTS shop CASCADE")).cascades
    True
    """
    words.expect("DROP")
    _expect_any(words, *SCHEMAS)
    if_exists = words.take("IF", "EXISTS")
    schema = words.table_name().parts
    cascades = words.take("CASCADE")
    if not cascades:
        words.take("RESTRICT")
    words.expect_end()
    return DropSchema(schema, if_exists, cascades, words.text)


def parse_set_catalog(words: Words) -> SetCatalog:
    """Read a SET CATALOG.

    >>> parse_set_catalog(Words("SET CATALOG 'spark_catalog'")).catalog
    'spark_catalog'
    """
    words.expect("SET", "CATALOG")
    name = words.string("a catalog") if words.is_at_string else words.identifier("a catalog")
    words.expect_end()
    return SetCatalog(name)


def parse_show(words: Words) -> Any:
    """Read a SHOW.

    >>> parse_show(Words("SHOW TABLES IN shop LIKE 'o*'")).pattern
    'o*'
    >>> parse_show(Words("SHOW TBLPROPERTIES shop.orders ('delta.appendOnly')")).name
    'delta.appendOnly'
    """
    words.expect("SHOW")
    found = _shown(words)
    words.expect_end()
    return found


def _shown(words: Words) -> Any:
    if _take_any(words, "SCHEMAS", "DATABASES", "NAMESPACES"):
        if _take_any(words, "IN", "FROM"):
            words.identifier("a catalog")
        return ShowSchemas(_pattern(words))
    if words.take("CATALOGS"):
        return ShowCatalogs(_pattern(words))
    if words.take("CURRENT", "NAMESPACE") or words.take("CURRENT", "SCHEMA"):
        return ShowCurrentNamespace()
    if words.take("TABLES"):
        return ShowTables(_in_schema(words), _pattern(words), words.text)
    if words.take("VIEWS"):
        return ShowViews(_in_schema(words), _pattern(words))
    if words.take("TBLPROPERTIES"):
        table, name = words.table_name(), None
        if words.take("("):
            name = words.string("a property") if words.is_at_string else ".".join(words.table_name().parts)
            words.expect(")")
        return ShowProperties(table, name)
    if words.take("COLUMNS"):
        _expect_any(words, "IN", "FROM")
        table = words.table_name()
        schema = _in_schema(words)
        return ShowColumns(table if schema is None else TableName((*schema, table.parts[-1])))
    if words.take("PARTITIONS"):
        table = words.table_name()
        return ShowPartitions(table, _partition(words) if words.take("PARTITION") else {})
    if words.take("CREATE", "TABLE"):
        return ShowCreateTable(words.table_name())
    raise words.refused(
        "TABLES, VIEWS, SCHEMAS, CATALOGS, CURRENT NAMESPACE, TBLPROPERTIES, COLUMNS, PARTITIONS or CREATE"
        " TABLE is expected"
    )


def _in_schema(words: Words) -> tuple[str, ...] | None:
    return words.table_name().parts if _take_any(words, "IN", "FROM") else None


def _pattern(words: Words) -> str | None:
    return words.string("a pattern") if words.take("LIKE") or words.is_at_string else None


def _partition(words: Words) -> dict[str, str]:
    found = dict[str, str]()
    words.expect("(")
    while True:
        name = words.identifier("a partition column")
        words.expect("=")
        found[name] = words.expression(",", ")")
        if not words.take(","):
            words.expect(")")
            return found


def parse_describe(words: Words) -> Any:
    """Read a DESCRIBE.

    >>> parse_describe(Words("DESC HISTORY shop.orders LIMIT 3")).limit
    3
    >>> parse_describe(Words("DESCRIBE EXTENDED shop.orders")).is_extended
    True
    """
    _expect_any(words, "DESCRIBE", "DESC")
    if words.take("DETAIL"):
        found: Any = DescribeDetail(words.table_name_or_path())
    elif words.take("HISTORY"):
        table = words.table_name_or_path()
        found = DescribeHistory(table, words.whole_number("a LIMIT") if words.take("LIMIT") else None)
    elif _take_any(words, *SCHEMAS):
        is_extended = words.take("EXTENDED")
        found = DescribeSchema(words.table_name().parts, is_extended)
    elif words.take("QUERY") or any(words.is_at(each) for each in _QUERIES):
        found = DescribeQuery(words.rest)
    else:
        found = _table(words)
    words.expect_end()
    return found


def _table(words: Words) -> DescribeTable:
    words.take_table()
    is_extended = _take_any(words, "EXTENDED", "FORMATTED")
    table = words.table_name()
    column = None if words.is_done or words.is_at(";") else words.column()
    return DescribeTable(table, is_extended, column, words.text)


def _take_any(words: Words, *choices: str) -> bool:
    return any(words.take(each) for each in choices)


def _expect_any(words: Words, *choices: str) -> None:
    if not _take_any(words, *choices):
        raise words.refused(f"{' or '.join(choices)} is expected")
