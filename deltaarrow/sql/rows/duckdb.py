"""DuckDB's INSERT, DELETE, UPDATE, MERGE and TRUNCATE."""

from collections.abc import Iterator

from deltaarrow.operations.dml import ClauseKind, MergeClause, When
from deltaarrow.spark_sql import TableName, Words
from deltaarrow.sql.clauses import parse_names
from deltaarrow.sql.rows.spark import quoted
from deltaarrow.sql.rows.statements import Delete, Insert, Merge, PassOver, Truncate, Update

__all__ = [
    "Positional",
    "find_subject",
    "parse_delete",
    "parse_insert",
    "parse_merge",
    "parse_truncate",
    "parse_update",
]

_QUERY = ("SELECT", "VALUES", "WITH", "FROM", "TABLE", "PIVOT", "UNPIVOT", "SUMMARIZE", "DESCRIBE", "SHOW")
"""First words of a query that is in no brackets."""

_FIRST = (
    ("INSERT", "OR", "REPLACE", "INTO"),
    ("INSERT", "OR", "IGNORE", "INTO"),
    ("INSERT", "INTO"),
    ("DELETE", "FROM"),
    ("MERGE", "INTO"),
    ("TRUNCATE", "TABLE"),
    ("TRUNCATE",),
    ("UPDATE",),
)


def find_subject(words: Words) -> TableName | None:
    """The table that a statement changes the rows of.

    >>> find_subject(Words("DELETE FROM lake.orders WHERE id = 1", "duckdb"))
    TableName(parts=('lake', 'orders'), start=12, end=23)
    """
    return words.table_name() if any(words.take(*first) for first in _FIRST) else None


def parse_insert(words: Words) -> Insert:
    """Read an INSERT.

    >>> parse_insert(Words("INSERT INTO t BY NAME SELECT 2 AS id", "duckdb")).by_name
    True
    >>> parse_insert(Words("INSERT INTO t REPLACE WHERE id > 1 SELECT 2 AS id", "duckdb")).replaced
    'id > 1'
    """
    words.expect("INSERT")
    if words.is_at("OR"):
        raise words.refused("INTO is expected, because Delta tables have no keys that rows conflict by")
    words.expect("INTO")
    table = words.table_name()
    if words.take("AS"):
        words.identifier("an alias")
    by_name = words.take("BY", "NAME")
    columns = None
    if not by_name and not words.take("BY", "POSITION"):
        columns = _columns(words)
    if words.take("DEFAULT", "VALUES"):
        _ensure_end(words)
        return Insert(table, None)
    replaced = words.expression(*_QUERY) if words.take("REPLACE", "WHERE") else None
    if words.is_done or not any(words.is_at(word) for word in (*_QUERY, "(")):
        raise words.refused("a query or VALUES is expected")
    is_table = words.take("TABLE")
    query = words.until("RETURNING", "ON CONFLICT", ";")
    if is_table:
        query = f"FROM {query}"
    _ensure_end(words)
    return Insert(table, query, columns, by_name, overwrites=replaced is not None, replaced=replaced)


def _columns(words: Words) -> tuple[str, ...] | None:
    if not words.is_at("(") or any(words.is_at("(", word) for word in (*_QUERY, "(")):
        return None
    return parse_names(words)


def parse_delete(words: Words) -> Delete:
    """Read a DELETE.

    >>> parse_delete(Words("DELETE FROM t USING u WHERE t.id = u.id", "duckdb")).others
    'u'
    """
    words.expect("DELETE")
    words.expect("FROM")
    table = words.table_name()
    alias = _alias(words, "USING", "WHERE")
    others = words.expression("WHERE", "RETURNING", ";") if words.take("USING") else None
    return Delete(table, alias, others, _where(words))


def parse_update(words: Words) -> Update:
    """Read an UPDATE.

    >>> parse_update(Words('UPDATE t SET "a.b" = u.n FROM u WHERE t.id = u.id', "duckdb")).values
    {'`a.b`': 'u.n'}
    """
    words.expect("UPDATE")
    table = words.table_name()
    alias = _alias(words, "SET")
    words.expect("SET")
    values = _assigned(words, ",", "FROM", "WHERE", "RETURNING")
    others = words.expression("WHERE", "RETURNING", ";") if words.take("FROM") else None
    return Update(table, values, alias, others, _where(words))


def parse_truncate(words: Words) -> Truncate:
    """Read a TRUNCATE."""
    words.expect("TRUNCATE")
    words.take("TABLE")
    table = words.table_name()
    words.expect_end()
    return Truncate(table)


def _where(words: Words) -> str | None:
    condition = words.expression("RETURNING", ";") if words.take("WHERE") else None
    _ensure_end(words)
    return condition


def _ensure_end(words: Words) -> None:
    if words.is_at("RETURNING"):
        raise words.refused("the end is expected: rows of a Delta table are not returned; query them")
    if words.is_at("ON", "CONFLICT"):
        raise words.refused("the end is expected: Delta tables have no keys that rows conflict by; use MERGE")
    words.expect_end()


def _alias(words: Words, *ends: str) -> str | None:
    if words.take("AS"):
        return words.identifier("an alias")
    is_left_out = words.is_done or any(words.is_at(end) for end in (*ends, "RETURNING", ";"))
    return None if is_left_out else words.identifier("an alias")


def _assigned(words: Words, *ends: str) -> dict[str, str]:
    values: dict[str, str] = {}
    while True:
        for column, value in _assignments(words, *ends):
            if column in values:
                raise words.refused("a column, and none twice, is expected before it")
            values[column] = value
        if not words.take(","):
            return values


def _assignments(words: Words, *ends: str) -> list[tuple[str, str]]:
    """Read ``column = value``, or ``(column, ...) = (value, ...)``."""
    if not words.is_at("("):
        column = quoted(words.identifier("a column"))
        words.expect("=")
        return [(column, words.expression(*ends, ";"))]
    columns = parse_names(words)
    words.expect("=")
    words.take("ROW")
    values = words.listed("a value for each column")
    if len(values) != len(columns):
        raise words.refused("as many values as columns are expected before it")
    return list(zip(map(quoted, columns), values, strict=True))


# --- MERGE -----------------------------------------------------------------------------------------


def parse_merge(words: Words) -> Merge:
    """Read a MERGE.

    >>> merge = parse_merge(
    ...     Words("MERGE INTO t USING u ON t.id = u.id WHEN NOT MATCHED THEN INSERT BY NAME", "duckdb")
    ... )
    >>> merge.source, merge.source_alias, merge.condition
    ('u', 'u', 't.id = u.id')
    """
    words.expect("MERGE")
    words.expect("INTO")
    table = words.table_name()
    alias = _alias(words, "USING")
    words.expect("USING")
    start = words.start
    source_alias = _source_alias(words)
    source = words.text[start : words.end]
    if words.take("USING"):
        keys = _columns(words)
        if keys is None:
            raise words.refused("columns in brackets are expected")
        condition = f"USING ({', '.join(map(_identifier, keys))})"
    else:
        words.expect("ON")
        condition = words.expression("WHEN")
    return Merge(table, source, condition, tuple(_clauses(words)), alias, source_alias)


def _identifier(name: str) -> str:
    return '"{}"'.format(name.replace('"', '""'))


def _source_alias(words: Words) -> str:
    """Go past the source, and return its alias."""
    own = None
    if words.is_at("("):
        words.bracketed("the source")
    else:
        own = words.table_name().parts[-1]
        if words.is_at("("):
            words.bracketed("the arguments")
    alias = _alias(words, "ON", "USING")
    if words.is_at("("):
        words.bracketed("names of columns")
    if alias is None and own is None:
        raise words.refused("an alias of the source is expected")
    return alias or own or ""


def _clauses(words: Words) -> Iterator[MergeClause | PassOver]:
    if words.is_done:
        words.expect("WHEN")
    passed_over: set[When] = set()
    while not words.is_done and not words.is_at(";"):
        if words.is_at("RETURNING"):
            _ensure_end(words)
        words.expect("WHEN")
        when = _when(words)
        condition = words.expression("THEN") if words.take("AND") else None
        words.expect("THEN")
        if when in passed_over:
            raise words.refused("no further clause for rows that are all passed over is expected")
        if not words.take("DO", "NOTHING"):
            yield _clause(words, when, condition)
            continue
        if condition is None:
            passed_over.add(when)
        yield PassOver(when, condition)
    words.expect_end()


def _when(words: Words) -> When:
    is_not = words.take("NOT")
    words.expect("MATCHED")
    if not is_not:
        return When.MATCHED
    if words.take("BY", "SOURCE"):
        return When.NOT_MATCHED_BY_SOURCE
    words.take("BY", "TARGET")
    return When.NOT_MATCHED


_ENDS = ("WHEN", "RETURNING")


def _clause(words: Words, when: When, condition: str | None) -> MergeClause:
    if words.is_at("ERROR"):
        raise words.refused("a change of rows or DO NOTHING is expected")
    if when is When.NOT_MATCHED:
        if not words.take("INSERT"):
            raise words.refused("INSERT or DO NOTHING is expected")
        return MergeClause(when, ClauseKind.INSERT, condition, _inserted(words))
    if words.take("DELETE"):
        return MergeClause(when, ClauseKind.DELETE, condition)
    if not words.take("UPDATE"):
        raise words.refused("UPDATE, DELETE or DO NOTHING is expected")
    if words.take("SET"):
        if words.take("*"):
            return MergeClause(when, ClauseKind.UPDATE, condition, BY_POSITION)
        return MergeClause(when, ClauseKind.UPDATE, condition, _assigned(words, ",", *_ENDS))
    return MergeClause(when, ClauseKind.UPDATE, condition, _star(words))


BY_POSITION: dict[str, str] = {}
"""The values of a clause that takes the source's columns by their position."""


class Positional(dict[str, str]):
    """The values of a clause for all columns of the table, by the number of the column."""


def _star(words: Words) -> dict[str, str] | None:
    """The values of a clause without a list: by name, or by position."""
    by_name = words.take("BY", "NAME")
    if not by_name:
        words.take("BY", "POSITION")
    words.take("*")
    return None if by_name else BY_POSITION


def _inserted(words: Words) -> dict[str, str] | None:
    if words.is_done or any(words.is_at(each) for each in ("BY", "*", ";", *_ENDS)):
        return _star(words)
    columns = _columns(words)
    words.expect("VALUES")
    values = words.listed("a value for each column")
    if columns is None:
        return Positional((str(place), value) for place, value in enumerate(values))
    if len(columns) != len(values) or len(set(columns)) != len(columns):
        raise words.refused("as many values as columns, and no column twice, are expected before it")
    return dict(zip(map(quoted, columns), values, strict=True))
