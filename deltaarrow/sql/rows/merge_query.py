"""The SELECT of a MERGE in DuckDB's dialect, in which each clause resolves names as in DuckDB's own MERGE.

=====================  =====================================================
rows of a clause       what its condition and its values may name
=====================  =====================================================
matched                columns of the table and of the source
not matched            columns of the source
not matched by source  columns of the table
=====================  =====================================================

A name that both tables have is ambiguous for matched rows alone. So clauses for other rows get a SELECT of
their own around the join, whose FROM has the columns of one table.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import deltaarrow.scan as scan
from deltaarrow.catalogs import fold
from deltaarrow.compute import quote_identifier
from deltaarrow.operations.dml import NO_CLAUSE, When, first_met
from deltaarrow.spark_sql import tokenize_duckdb

__all__ = ["OWN", "PRESENT", "SOURCE", "JoinedSource", "MergeQuery"]

OWN = "__deltaarrow:"
"""Begins the names of the query's columns, which users' expressions must not meet."""

PRESENT = "__deltaarrow_present"
"""The column of the source that is NULL for a row of the table without a match."""

SOURCE = "__deltaarrow_source"
"""The temporary table with the rows of the source."""


@dataclass(frozen=True)
class JoinedSource:
    """The source of a MERGE, in a temporary table.

    Args:
        alias: its name in expressions.
        names: those of its columns.
        condition: by which rows match; ``USING (...)`` for columns of both.
        conditions: the rows that each clause is for, its further condition, and its number; None for one that
            changes no row.
        rows: the number of its rows; None if they were not loaded.
        reads_table: whether it was computed from rows of the table.
    """

    alias: str
    names: Sequence[str]
    condition: str
    conditions: Sequence[tuple[When, str | None, int | None]]
    rows: int | None
    reads_table: bool


@dataclass(frozen=True)
class _Scope:
    """The clauses for rows of one table: what marks such a row, and the table with its columns."""

    when: When
    mark: str
    alias: str
    names: Sequence[str]


@dataclass(frozen=True)
class MergeQuery:
    """The query of a MERGE.

    Args:
        rows: the rows of the table, as they stand in FROM.
        alias: the name of the table in expressions.
        names: those of its columns.
        source: what is joined.
        values: the clause of each value, its text, and the SQL of it in the type of its column.
    """

    rows: str
    alias: str
    names: Sequence[str]
    source: JoinedSource
    values: Sequence[tuple[int, str, str]]

    def sql(self, columns: Mapping[str, str]) -> str:
        """Return the query.

        Args:
            columns: the columns of the table to return, by their name in the result.
        """
        scopes = list(self._scopes())
        position = _column(self.alias, scan.ROW_COLUMN)
        present = _column(self.source.alias, PRESENT)
        met = self._clause_met(When.MATCHED, str(NO_CLAUSE))
        clause = _clause_name(0, scopes)
        listed = {clause: _number(f"{position} IS NULL OR {present} IS NULL", "NULL", met)}
        listed |= self._values_of(When.MATCHED, clause)
        listed |= {name: _column(self.alias, column) for name, column in columns.items()}
        listed |= {_mark(When.NOT_MATCHED): position, _mark(When.NOT_MATCHED_BY_SOURCE): present}
        for scope in scopes:
            listed |= {_held(scope, name): _column(scope.alias, name) for name in scope.names}
        sql = f"SELECT {_listed(listed)} FROM {self.rows} AS {quote_identifier(self.alias)} {self._join}"
        names = [*listed]
        for place, scope in enumerate(scopes, 1):
            before, clause = clause, _clause_name(place, scopes)
            met = self._clause_met(scope.when, "NULL")
            found = {clause: _number(f"{_own(scope.mark)} IS NULL", met, _own(before))}
            found |= self._values_of(scope.when, clause)
            sql = _around(scope, sql, names, found)
            names += found
        return sql

    def _scopes(self) -> Iterator[_Scope]:
        """Yield the scopes of the clauses for rows of one table."""
        for when, alias, names in (
            (When.NOT_MATCHED, self.source.alias, self.source.names),
            (When.NOT_MATCHED_BY_SOURCE, self.alias, self.names),
        ):
            if any(rows is when for rows, *_ in self.source.conditions):
                yield _Scope(when, _mark(when), alias, _mentioned(names, alias, self._texts_of(when)))

    def _texts_of(self, when: When) -> Iterator[str]:
        for rows, condition, number in self.source.conditions:
            if rows is when:
                yield condition or ""
                yield from (text for clause, text, _ in self.values if clause == number)

    def _values_of(self, when: When, clause: str) -> dict[str, str]:
        """The values of the clauses for some rows, each computed for these rows alone."""
        numbers = {number for rows, _, number in self.source.conditions if rows is when}
        return {
            f"s.v{place}": f"CASE WHEN {_own(clause)} = {number} THEN {sql} END"
            for place, (number, _, sql) in enumerate(self.values)
            if number in numbers
        }

    def _clause_met(self, when: When, unchanged: str) -> str:
        """The SQL of the number of the first clause for some rows whose condition is met."""
        results = [
            (None if sql is None else f"({sql}\n)", unchanged if number is None else str(number))
            for rows, sql, number in self.source.conditions
            if rows is when
        ]
        return first_met(results, unchanged)

    @property
    def _join(self) -> str:
        source = self.source
        whens = {when for when, _, number in source.conditions if number is not None}
        inserts, leftover = When.NOT_MATCHED in whens, When.NOT_MATCHED_BY_SOURCE in whens
        join = {(False, False): "INNER", (True, False): "RIGHT", (False, True): "LEFT", (True, True): "FULL"}
        on = source.condition if source.condition.startswith("USING (") else f"ON ({source.condition}\n)"
        return f"{join[inserts, leftover]} JOIN {SOURCE} AS {quote_identifier(source.alias)} {on}"


def _column(alias: str, name: str) -> str:
    return f"{quote_identifier(alias)}.{quote_identifier(name)}"


def _number(condition: str, clause: str, otherwise: str) -> str:
    """The SQL of the number of a clause."""
    return f"CAST(CASE WHEN {condition} THEN {clause} ELSE {otherwise} END AS TINYINT)"


def _around(scope: _Scope, sql: str, names: Sequence[str], found: Mapping[str, str]) -> str:
    """A SELECT around another one, whose expressions see the columns of a scope.

    Args:
        scope: the scope.
        sql: the SELECT inside.
        names: those of its columns.
        found: the expressions by the names of the columns that they become.
    """
    shown = [f"{_own(_held(scope, name))} AS {quote_identifier(name)}" for name in scope.names]
    inner = f"SELECT {', '.join([*map(_own, names), *shown])} FROM (\n{sql}\n)"
    kept = {name: _own(name) for name in names}
    return f"SELECT {_listed({**found, **kept})} FROM (\n{inner}\n) AS {quote_identifier(scope.alias)}"


def _clause_name(place: int, scopes: Sequence[_Scope]) -> str:
    """The name of the number of the clause in one of the SELECTs, of which the last is the result."""
    return "clause" if place == len(scopes) else f"clause.{place}"


def _mark(when: When) -> str:
    """The name of the column that is NULL for such rows."""
    return f"mark {when}"


def _held(scope: _Scope, name: str) -> str:
    """The name of a column of a scope outside of it."""
    return f"{scope.when}.{name}"


def _own(name: str) -> str:
    return quote_identifier(OWN + name)


def _listed(columns: Mapping[str, str]) -> str:
    return ", ".join(f"{sql} AS {_own(name)}" for name, sql in columns.items())


def _mentioned(names: Sequence[str], alias: str, texts: Iterator[str]) -> list[str]:
    """The columns that expressions may read: those that they mention, or all where they may mean the row."""
    words: set[str] = set()
    for text in texts:
        tokens = [fold(token.text) for token in tokenize_duckdb(text)]
        means_row = any(each == fold(alias) and after != "." for each, after in pairwise([*tokens, ""]))
        if "*" in tokens or means_row:
            return [*names]
        words.update(tokens)
    return [name for name in names if fold(name) in words]
