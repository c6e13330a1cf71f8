"""DuckDB's CREATE TABLE and DROP TABLE of Delta tables."""

from deltaarrow.compute import quote_identifier
from deltaarrow.features import FEATURE_PREFIX
from deltaarrow.schema import Field
from deltaarrow.schema.metadata_keys import CHAR_TYPE_KEY, DEFAULT_KEY
from deltaarrow.spark_sql import Words, declared_columns
from deltaarrow.sql.clauses import parse_column_names, parse_names, parse_properties, take_clause
from deltaarrow.sql.define.statements import CreateTable, DropTable, TableClauses

__all__ = ["parse_duckdb_create_table", "parse_duckdb_drop_table"]

_DEFAULTS = f"{FEATURE_PREFIX}allowColumnDefaults"


def parse_duckdb_create_table(words: Words) -> CreateTable:
    """Read a CREATE TABLE of a Delta table in DuckDB's dialect.

    >>> text = "CREATE OR REPLACE TABLE lake.t (id BIGINT NOT NULL, at TIMESTAMPTZ) PARTITIONED BY (id)"
    >>> made = parse_duckdb_create_table(Words(text, "duckdb"))
    >>> made.columns[0], made.clauses.partition_by
    (Field(id, PrimitiveType("long"), nullable=False), ('id',))
    """
    words.expect("CREATE")
    may_replace = words.take("OR", "REPLACE")
    words.expect("TABLE")
    if_not_exists = words.take("IF", "NOT", "EXISTS")
    table = words.table_name()
    columns: tuple[Field, ...] = ()
    names = _names(words)
    if not names and words.take("("):
        declared = declared_columns(words)
        if any(each.check is not None for each in declared):
            raise words.unsupported(
                "a table stores the condition of a CHECK as Spark SQL: add it with dialect='spark'"
            )
        columns = tuple(each.field for each in declared)
        words.expect(")")
    partition_by: tuple[str, ...] = ()
    cluster_by: tuple[str, ...] = ()
    comment: str | None = None
    properties = {_DEFAULTS: "supported"} if any(DEFAULT_KEY in each.metadata for each in columns) else {}
    while not words.is_done:
        if take_clause(words, "PARTITIONED BY"):
            partition_by = parse_names(words, "a partition column")
        elif take_clause(words, "CLUSTER BY"):
            cluster_by = parse_column_names(words)
        elif words.take("COMMENT"):
            comment = words.string("the comment of a table")
        elif words.take("WITH"):
            properties |= parse_properties(words)
        else:
            break
    query = _query(words, names) if words.take("AS") else None
    if names and query is None:
        raise words.refused("AS and a query are expected after names without types")
    if query is not None and any(each.metadata.keys() - {CHAR_TYPE_KEY} for each in columns):
        raise words.unsupported(
            "a column of a query has no default and is not generated: add defaults with ALTER TABLE"
        )
    words.expect_end()
    clauses = TableClauses(partition_by, cluster_by, properties, comment)
    return CreateTable(table, columns, clauses, query, True, may_replace, if_not_exists)


def _names(words: Words) -> tuple[str, ...]:
    """The names of columns without types; none if they have types."""
    here = words.here()
    if words.take("("):
        words.identifier("a column")
        has_types = not (words.is_at(",") or words.is_at(")"))
        words.back_to(here)
        return () if has_types else parse_names(words)
    return ()


def _query(words: Words, names: tuple[str, ...]) -> str:
    """The query of the rows of a new table, with the names that its columns get."""
    query = words.expression("WITH DATA", "WITH NO DATA", ";")
    if names:
        query = f"SELECT * FROM (\n{query}\n) AS given({', '.join(map(quote_identifier, names))})"
    if words.take("WITH", "NO", "DATA"):
        return f"SELECT * FROM (\n{query}\n) LIMIT 0"
    words.take("WITH", "DATA")
    return query


def parse_duckdb_drop_table(words: Words) -> DropTable:
    """Read a DROP TABLE of a Delta table in DuckDB's dialect.

    >>> parse_duckdb_drop_table(Words("DROP TABLE IF EXISTS lake.t", "duckdb")).if_exists
    True
    """
    words.expect("DROP", "TABLE")
    if_exists = words.take("IF", "EXISTS")
    table = words.table_name()
    if words.take("CASCADE") or words.take("RESTRICT"):
        pass  # nothing depends on a Delta table
    words.expect_end()
    return DropTable(table, if_exists)
