"""`FoundRows`: the rows that a DELETE, UPDATE or MERGE changes, from a query in the session's DuckDB.

The query is written in the dialect of the statement, over a view of the table's rows with their file and
position. So conditions and values mean exactly what they mean in a query: subqueries in Spark's dialect, and
everything in DuckDB's. DuckDB runs it on the connection of the user, whose own tables it may read.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import deltaarrow.scan as scan
from deltaarrow.catalogs import fold
from deltaarrow.compute import quote_identifier
from deltaarrow.display.near_names import no_column
from deltaarrow.engines import QueryErrors
from deltaarrow.errors import SchemaMismatchError, UnsupportedFeatureError
from deltaarrow.expressions import And, Predicate
from deltaarrow.operations.dml import computing_rows, equal_to_values
from deltaarrow.schema import Field, Schema
from deltaarrow.sql.rows.merge_query import OWN, PRESENT, SOURCE, JoinedSource, MergeQuery
from deltaarrow.sql.rows.spark import quoted
from deltaarrow.variant import holds_variant

if TYPE_CHECKING:
    import duckdb

    from deltaarrow.snapshot import Snapshot
    from deltaarrow.sql.session import Session

__all__ = ["FoundRows", "LoadedSource", "NewValue", "loaded_source", "star_values"]

_ROWS = "__deltaarrow_rows"
_LOCATED = "deltaarrow_target_"
_LEFT = """
    SELECT 'TABLE', table_name FROM duckdb_tables() WHERE temporary AND starts_with(table_name, ?)
    UNION ALL SELECT 'VIEW', view_name FROM duckdb_views() WHERE temporary AND starts_with(view_name, ?)
"""
"""What `deltaarrow.scan.located_rows` has made on the connection."""

_INTEGERS = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT"})
_COMPARED = frozenset({"VARCHAR", "DATE"})
"""The types whose values DuckDB and a predicate compare alike, beside those of `_INTEGERS`."""

_PLACE = (Field(scan.FILE_COLUMN, "long"), Field(scan.ROW_COLUMN, "long"))


@dataclass(frozen=True)
class NewValue:
    """A value that a clause assigns.

    Args:
        clause: the number of the clause.
        column: the column or field that it is for.
        text: the expression.
    """

    clause: int
    column: Field
    text: str


@dataclass(frozen=True)
class LoadedSource:
    """The rows of the source of a MERGE: the names of the columns, the number of rows, what was read.

    The number is None if the rows were left out.
    """

    names: Sequence[str]
    rows: int | None
    plans: Sequence[scan.ScanPlan]

    def reads(self, table: "Snapshot") -> bool:
        """Whether rows of this version of a table were read."""
        return _reads(self.plans, table)


@contextlib.contextmanager
def loaded_source(session: "Session", text: str, *, with_rows: bool = True) -> Iterator[LoadedSource]:
    """Load what stands in FROM into a temporary table, which exists as long as the block runs.

    Without rows, the table has the columns alone.
    """
    connection = session.connection
    sql, plans = connection.planned(f"{session.with_clause} SELECT * FROM {text}\n", session.variables)
    duckdb = connection.connection
    table = f"temp.main.{quote_identifier(SOURCE)}"
    rows_sql = f"(\n{sql}\n)" if with_rows else f"(\n{sql}\n) LIMIT 0"
    try:
        with QueryErrors(plans).named(), computing_rows():
            duckdb.execute(
                f"CREATE OR REPLACE TEMP TABLE {table} AS SELECT *, true AS {PRESENT} FROM {rows_sql}"
            )
        names = [name for name, *_ in duckdb.execute(f"DESCRIBE {table}").fetchall()]
        ((rows,),) = duckdb.execute(f"SELECT count(*) FROM {table}").fetchall()
        yield LoadedSource(names[:-1], rows if with_rows else None, plans)
    finally:
        duckdb.execute(f"DROP TABLE IF EXISTS {table}")


def _reads(plans: Sequence[scan.ScanPlan], table: "Snapshot") -> bool:
    return any((plan.store.uri, plan.version) == (table.store.uri, table.version) for plan in plans)


@dataclass
class FoundRows:
    """The query of a statement, as `deltaarrow.operations.dml.RowQuery`.

    Args:
        session: runs the query.
        table: the version of the table whose rows are changed.
        alias: its name in expressions.
        given: the values that clauses assign.
        condition: of the rows of a DELETE or UPDATE; None for all.
        others: further tables in FROM, in DuckDB's dialect.
        source: the source of a MERGE.
    """

    session: "Session"
    table: "Snapshot"
    alias: str
    given: Sequence[NewValue] = ()
    condition: str | None = None
    others: str | None = None
    source: JoinedSource | None = None
    columns: list[str] = field(init=False)
    predicate: Predicate | None = field(init=False)
    values: Schema = field(init=False)
    reads_table: bool = field(init=False)

    def __enter__(self) -> "FoundRows":
        """Bind the query over a view without rows."""
        self.session.connection.reach(self.table.store, [])
        columns = [*self.table.schema.fields, *_PLACE]
        nulls = ", ".join(
            f"CAST(NULL AS {scan.located_type(each.type)}) AS {quote_identifier(each.name)}"
            for each in columns
        )
        self._show(f"SELECT {nulls} WHERE false")
        try:
            sql, values = self._compiled(self._text({}, has_marked=False))
            self.values = values
            planned, plans = self.session.connection.planned(sql, self.session.variables)
            self.cursor.sql(planned)
            self.predicate, self.columns = self._needs(sql)
        except BaseException:
            self._hide()
            raise
        is_source = self.source is not None and self.source.reads_table
        self.reads_table = is_source or _reads(plans, self.table)
        return self

    def __exit__(self, *error: object) -> None:
        """Drop the view, and what it reads."""
        self._hide()

    @property
    def cursor(self) -> "duckdb.DuckDBPyConnection":
        """The connection of the user."""
        return self.session.connection.connection

    @property
    def source_rows(self) -> int:
        """The number of rows of the source of a MERGE."""
        return 0 if self.source is None else self.source.rows or 0

    def others_explained(self) -> "list[scan.Explanation]":
        """Which files of other Delta tables the query reads."""
        sql, _ = self._compiled(self._text({}, has_marked=False))
        return self.session.connection.explain(sql, self.session.variables)

    def sql(self, rows: str, columns: Mapping[str, str], *, has_marked: bool) -> str:
        """Return the query over the rows of the table."""
        self._show(rows)
        compiled, _ = self._compiled(self._text(columns, has_marked=has_marked))
        planned, _ = self.session.connection.planned(compiled, self.session.variables)
        names = ["clause", *columns, *(f"s.{each.name}" for each in self.values.fields)]
        listed = ", ".join(f"{quote_identifier(OWN + name)} AS {quote_identifier(name)}" for name in names)
        return f"SELECT {listed} FROM (\n{planned}\n)"

    # --- the choice of files ----------------------------------------------------------------------

    def _needs(self, sql: str) -> tuple[Predicate | None, list[str]]:
        """The predicate of the rows that the query needs of the table, and the columns."""
        schema = self.table.schema
        predicate, columns = self.session.connection.needs(sql, _ROWS, schema, self.session.variables)
        known = [] if predicate is None else [predicate]
        if self.source is not None and self.source.rows is not None:
            known += self._equal_to_source(sql, self.source)
        return (And(tuple(known)) if known else None), columns

    def _equal_to_source(self, sql: str, source: JoinedSource) -> Iterator[Predicate]:
        """What the rows of the source tell of the columns of the table that have to be equal to theirs."""
        loaded, schema = f"temp.main.{quote_identifier(SOURCE)}", self.table.schema
        described = self.cursor.execute(f"DESCRIBE {loaded}").fetchall()
        types = {fold(name): kind for name, kind, *_ in described}
        for column, kind, name in self.session.connection.equated(sql, _ROWS, schema, source.alias):
            if {types.get(fold(name)), scan.located_type(kind)} <= _INTEGERS or (
                types.get(fold(name)) == scan.located_type(kind) in _COMPARED
            ):
                yield equal_to_values(self.cursor, loaded, quote_identifier(name), column, schema)

    # --- the view ---------------------------------------------------------------------------------

    def _show(self, rows: str) -> None:
        self.cursor.execute(f"CREATE OR REPLACE TEMP VIEW {_ROWS} AS {rows}")

    def _hide(self) -> None:
        self.cursor.execute(f"DROP VIEW IF EXISTS temp.main.{_ROWS}")
        left = self.cursor.execute(_LEFT, [_LOCATED, _LOCATED]).fetchall()
        for kind, name in left:
            self.cursor.execute(f"DROP {kind} temp.main.{quote_identifier(name)}")

    # --- the text ---------------------------------------------------------------------------------

    @property
    def _is_spark(self) -> bool:
        return self.session.dialect == "spark"

    def _name(self, name: str) -> str:
        return quoted(name) if self._is_spark else quote_identifier(name)

    def _compiled(self, text: str) -> tuple[str, Schema]:
        """The query for DuckDB, and the columns of the values."""
        places = range(len(self.given))
        if not self._is_spark:
            return text, Schema([Field(f"v{place}", self.given[place].column.type) for place in places])
        compiled = self.session.compiled(text)
        types = {each.name: each.type for each in compiled.schema.fields}
        return compiled.sql, Schema([Field(f"v{place}", types[f"{OWN}s.v{place}"]) for place in places])

    def _text(self, columns: Mapping[str, str], *, has_marked: bool) -> str:
        if self.source is not None:
            values = [(value.clause, value.text, self._value(value)) for value in self.given]
            merged = MergeQuery(_ROWS, self.alias, self.table.schema.names, self.source, values).sql(columns)
            return f"{self.session.with_clause} {merged}"
        alias = self._name(self.alias)
        listed = [("clause", "CAST(0 AS TINYINT)")]
        listed += [(name, f"{alias}.{self._name(column)}") for name, column in columns.items()]
        listed += [(f"s.v{place}", self._value(value)) for place, value in enumerate(self.given)]
        select = ", ".join(f"{sql} AS {self._name(OWN + name)}" for name, sql in listed)
        others = "" if self.others is None else f", {self.others}\n"
        found = f"{self.session.with_clause} SELECT {select} FROM {self._name(_ROWS)} AS {alias}{others}"
        if self.condition is None:
            return found
        where = f"({self.condition}\n)"
        if has_marked:
            where = f"CASE WHEN {alias}.{scan.ROW_COLUMN} IS NOT NULL THEN {where} END"
        return f"{found} WHERE {where}"

    def _value(self, value: NewValue) -> str:
        if self._is_spark:
            return f"({value.text}\n)"
        if holds_variant(value.column.type):
            raise UnsupportedFeatureError(
                f"a value for the column {value.column.name}, which holds variants, is not supported in"
                " DuckDB's dialect",
                feature="variantType",
            )
        return f"CAST(({value.text}\n) AS {scan.located_type(value.column.type)})"


def star_values(
    number: int, names: Sequence[str], alias: str, schema: Schema, *, by_name: bool
) -> list[NewValue]:
    """Return the values of a clause that takes all columns of the source.

    Raises `SchemaMismatchError` for columns that do not fit those of the table.
    """
    columns: list[Any] = [schema.find(name) for name in names] if by_name else [*schema.fields]
    if None in columns:
        raise SchemaMismatchError(no_column(names[columns.index(None)], schema.names, "the table"))
    if len(columns) != len(names):
        raise SchemaMismatchError(
            f"the clause takes columns by their position, and the source has {len(names)} columns"
            f" ({', '.join(names)}), the table {len(columns)}: use BY NAME, or name the columns"
        )
    return [
        NewValue(number, column, f"{quote_identifier(alias)}.{quote_identifier(name)}")
        for column, name in zip(columns, names, strict=True)
    ]
