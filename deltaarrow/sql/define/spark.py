"""Spark's CREATE, REPLACE and DROP of tables and views, and COMMENT ON TABLE."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from deltaarrow.schema import Field
from deltaarrow.schema.metadata_keys import CONSTRAINT_PREFIX
from deltaarrow.spark_sql import DeclaredColumn, TableName, Words, declared_columns, parse_type
from deltaarrow.sql.clauses import parse_column_names, parse_properties, parse_version, take_clause
from deltaarrow.sql.define.statements import (
    CloneTable,
    CommentOnTable,
    CreateTable,
    CreateTableLike,
    CreateView,
    DropTable,
    DropView,
    TableClauses,
)

__all__ = [
    "parse_comment_on_table",
    "parse_create_table",
    "parse_create_view",
    "parse_drop_table",
    "parse_drop_view",
]

_QUERIES = ("SELECT", "WITH", "FROM", "VALUES", "TABLE", "(")


def parse_create_table(words: Words) -> CreateTable | CreateTableLike | CloneTable:
    """Read a CREATE or REPLACE of a table.

    >>> made = parse_create_table(Words("CREATE TABLE t (id INT, p STRING) USING delta PARTITIONED BY (p)"))
    >>> [each.name for each in made.columns], made.clauses.partition_by
    (['id', 'p'], ('p',))
    >>> parse_create_table(Words("REPLACE TABLE t AS SELECT 1 AS a")).query
    'SELECT 1 AS a'
    >>> parse_create_table(Words("CREATE TABLE a SHALLOW CLONE b VERSION AS OF 3")).version
    3
    """
    may_create = words.take("CREATE")
    may_replace = words.take("OR", "REPLACE") if may_create else words.take("REPLACE")
    is_external = words.take("EXTERNAL")
    words.expect("TABLE")
    if_not_exists = not may_replace and words.take("IF", "NOT", "EXISTS")
    table = words.table_name()
    if words.take("LIKE"):
        source = words.table_name()
        clauses, _, _ = _Clauses(words).read(("LOCATION", "TBLPROPERTIES", "USING"))
        words.expect_end()
        return CreateTableLike(table, source, clauses, if_not_exists)
    if words.is_at("SHALLOW") or words.is_at("DEEP") or words.is_at("CLONE"):
        return _clone(words, table, (may_create, may_replace, if_not_exists))
    columns: list[DeclaredColumn] = []
    checks: dict[str, str] = {}
    if words.is_at("(") and not _is_query_in_brackets(words):
        words.expect("(")
        columns = declared_columns(words)
        checks = _checks(words)
        words.expect(")")
    clauses, added, query = _Clauses(words).read(_Clauses.all)
    if query is not None and (columns or added):
        raise words.unsupported(
            "a table gets its columns from the query alone: leave them out", words.text.index(query)
        )
    if is_external and clauses.location is None and table.parts[0].lower() != "delta":
        raise words.unsupported("an EXTERNAL TABLE is in a folder of its own: give its LOCATION")
    checks |= {f"{each.field.name}_check": each.check for each in columns if each.check is not None}
    return CreateTable(
        table,
        (*(each.field for each in columns), *added),
        _with_checks(clauses, checks),
        query,
        may_create,
        may_replace,
        if_not_exists,
    )


def _is_query_in_brackets(words: Words) -> bool:
    return any(words.is_at("(", each) for each in ("SELECT", "WITH", "FROM", "VALUES"))


def _checks(words: Words) -> dict[str, str]:
    """Go past CHECK constraints, which stand after the columns."""
    found = dict[str, str]()
    while not words.is_at(")"):
        words.expect("CONSTRAINT")
        name = words.identifier("the name of a constraint").lower()
        words.expect("CHECK")
        if name in found:
            raise words.unsupported(f"the constraint {name} is given twice")
        found[name] = words.bracketed("the condition of a constraint")
        words.take("ENFORCED")
        if not words.take(","):
            break
    return found


def _with_checks(clauses: TableClauses, checks: dict[str, str]) -> TableClauses:
    if not checks:
        return clauses
    added = {f"{CONSTRAINT_PREFIX}{name}": text for name, text in checks.items()}
    return replace(clauses, properties={**clauses.properties, **added})


def _clone(words: Words, table: TableName, how: tuple[bool, bool, bool]) -> CloneTable:
    shallow = words.take("SHALLOW")
    if not shallow:
        words.take("DEEP")
    words.expect("CLONE")
    source = words.table_name()
    version = parse_version(words)
    clauses, _, _ = _Clauses(words).read(("LOCATION", "TBLPROPERTIES"))
    words.expect_end()
    return CloneTable(table, source, shallow, version, clauses, *how)


class _Clauses:
    """Reads what follows the columns of a new table, in any order."""

    all = (
        *("USING", "PARTITIONED BY", "CLUSTER BY", "TBLPROPERTIES", "OPTIONS", "COMMENT", "LOCATION", "AS"),
        *("CLUSTERED BY", "ROW FORMAT", "STORED", "SKEWED BY", "DEFAULT COLLATION"),
    )

    def __init__(self, words: Words) -> None:
        self._words = words
        self._found: dict[str, Any] = {}
        self._added: tuple[Field, ...] = ()
        self._query: str | None = None

    def read(self, allowed: Iterable[str]) -> tuple[TableClauses, tuple[Field, ...], str | None]:
        """Return the clauses, the columns that PARTITIONED BY declares, and the query."""
        words = self._words
        while not words.is_done and not words.is_at(";") and self._query is None:
            clause = next((each for each in allowed if take_clause(words, each)), None)
            if clause is None and "AS" in allowed and any(words.is_at(each) for each in _QUERIES):
                clause = "AS"
            if clause is None:
                known = ", ".join(each for each in allowed if each in _TAKEN)
                raise words.refused(f"one of {known} is expected")
            if clause in self._found:
                raise words.unsupported(f"[DUPLICATE_CLAUSES] {clause} is given twice")
            self._found[clause] = self._take(clause)
        words.expect_end()
        found = self._found
        self._take_options(found.pop("OPTIONS", {}))
        clauses = TableClauses(
            found.get("PARTITIONED BY", ()),
            found.get("CLUSTER BY", ()),
            found.get("TBLPROPERTIES", {}),
            found.get("COMMENT"),
            found.get("LOCATION"),
        )
        return clauses, self._added, self._query

    def _take_options(self, options: dict[str, str]) -> None:
        """Take the path as LOCATION and other options as properties, under the two names that Spark uses."""
        found, properties = self._found, dict[str, str]()
        for name, text in options.items():
            if name.lower() != "path":
                properties |= {name: text, f"option.{name}": text}
            elif "LOCATION" in found:
                raise self._words.unsupported(
                    f"LOCATION says {found['LOCATION']!r} and the option path {text!r}: leave one of them out"
                )
            else:
                found["LOCATION"] = text
        if properties:
            found["TBLPROPERTIES"] = {**found.get("TBLPROPERTIES", {}), **properties}

    def _take(self, clause: str) -> Any:
        words = self._words
        match clause:
            case "USING":
                name = words.identifier("a format")
                if name.lower() != "delta":
                    raise words.unsupported(f"only Delta tables can be made here, and not of {name}")
                return name
            case "PARTITIONED BY":
                return self._partitions()
            case "CLUSTER BY":
                if words.take("AUTO"):
                    raise words.unsupported("CLUSTER BY AUTO needs Databricks: name the columns")
                return () if words.take("NONE") else parse_column_names(words)
            case "TBLPROPERTIES" | "OPTIONS":
                return parse_properties(words)
            case "COMMENT":
                return words.string("the comment of a table")
            case "LOCATION":
                return words.string("the folder of a table")
            case "AS":
                self._query = words.rest
                return self._query
        raise words.unsupported(f"[DELTA_OPERATION_NOT_ALLOWED] Delta tables have no {clause}")

    def _partitions(self) -> tuple[str, ...]:
        words, names, added = self._words, list[str](), list[Field]()
        words.expect("(")
        while True:
            name = words.identifier("a partition column")
            if words.is_at("("):
                raise words.unsupported(
                    "[DELTA_OPERATION_NOT_ALLOWED] Delta tables are not partitioned by expressions: add a"
                    " generated column"
                )
            names.append(name)
            if not (words.is_at(",") or words.is_at(")")):
                added.append(Field(name, parse_type(words)[0]))
                if words.take("COMMENT"):
                    added[-1] = Field(name, added[-1].type, True, {"comment": words.string("a comment")})
            if not words.take(","):
                words.expect(")")
                self._added = tuple(added)
                return tuple(names)


_TAKEN = _Clauses.all[:8]


def parse_drop_table(words: Words) -> DropTable:
    """Read a DROP TABLE.

    >>> parse_drop_table(Words("DROP TABLE IF EXISTS shop.orders PURGE")).if_exists
    True
    """
    words.expect("DROP", "TABLE")
    if_exists = words.take("IF", "EXISTS")
    table = words.table_name()
    words.take("PURGE")
    words.expect_end()
    return DropTable(table, if_exists)


def parse_comment_on_table(words: Words) -> CommentOnTable:
    """Read a COMMENT ON TABLE.

    >>> parse_comment_on_table(Words("COMMENT ON TABLE orders IS 'of the shop'")).comment
    'of the shop'
    """
    words.expect("COMMENT", "ON", "TABLE")
    table = words.table_name()
    words.expect("IS")
    comment = "" if words.take("NULL") else words.string("a comment")
    words.expect_end()
    return CommentOnTable(table, comment)


def parse_create_view(words: Words) -> CreateView:
    """Read a CREATE VIEW.

    >>> parse_create_view(Words("CREATE OR REPLACE TEMP VIEW v (a) AS SELECT 1")).query
    'SELECT 1'
    """
    words.expect("CREATE")
    may_replace = words.take("OR", "REPLACE")
    if words.is_at("GLOBAL"):
        raise words.refused("a view is in its session here; TEMPORARY is expected")
    is_temporary = words.take("TEMPORARY") or words.take("TEMP")
    words.expect("VIEW")
    if_not_exists = words.take("IF", "NOT", "EXISTS")
    view = words.table_name()
    columns = list[tuple[str, str | None]]()
    if words.take("("):
        while True:
            name = words.identifier("a column")
            columns.append((name, words.string("a comment") if words.take("COMMENT") else None))
            if not words.take(","):
                words.expect(")")
                break
    if words.take("COMMENT"):
        words.string("a comment")
    if words.take("TBLPROPERTIES"):
        parse_properties(words)
    words.expect("AS")
    text = words.text
    return CreateView(view, words.rest, text, tuple(columns), is_temporary, may_replace, if_not_exists)


def parse_drop_view(words: Words) -> DropView:
    """Read a DROP VIEW.

    >>> parse_drop_view(Words("DROP VIEW IF EXISTS v")).view.text
    'v'
    """
    words.expect("DROP", "VIEW")
    if_exists = words.take("IF", "EXISTS")
    view = words.table_name()
    words.expect_end()
    return DropView(view, words.text, if_exists)
