"""The shared state of the compiler's parts: relations, parameters, the time and fresh names."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from deltaarrow.compute import quote_identifier
from deltaarrow.errors import SchemaMismatchError
from deltaarrow.schema import Field
from deltaarrow.spark_sql.queries.blocks import OutputColumn, Query, Writer
from deltaarrow.spark_sql.queries.name_resolution import Columns, SourceColumn
from deltaarrow.spark_sql.queries.relations import Relations
from deltaarrow.spark_sql.tree.nodes import OWN_NAME, ColumnRef, Node, refused

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = [
    "Around",
    "Context",
    "Cte",
    "Source",
    "columns_of",
    "ensure_no_variable",
    "renamed",
    "shown_keys",
    "unique_keys",
]


@dataclass(frozen=True, slots=True)
class Cte:
    """A query that WITH defines: its name in the SQL and its columns."""

    alias: str
    columns: tuple[OutputColumn, ...]


@dataclass(frozen=True, slots=True)
class Around:
    """What a query sees around it.

    Args:
        outer: the columns of the SELECTs around it; None outside of a correlated subquery.
        ctes: the queries of WITH, by name in lower case.
        is_top: whether its columns get Spark's names, of which several may be equal.
        passes_metadata: whether it is a relation of FROM, which has the ``_metadata`` of its own relation.
    """

    outer: Columns | None = None
    ctes: Mapping[str, Cte] = field(default_factory=dict)
    is_top: bool = False
    passes_metadata: bool = False

    def inside(self, outer: Columns | None) -> "Around":
        """What a query inside one with these columns sees."""
        return replace(self, outer=outer, is_top=False, passes_metadata=False)


@dataclass(frozen=True, slots=True)
class Source:
    """A FROM clause, or a part of one: its SQL and its columns."""

    sql: str
    columns: tuple[SourceColumn, ...]


class Context:
    """Shared by everything that compiles one text."""

    def __init__(
        self,
        relations: Relations,
        parameters: Mapping[str | int, Node],
        now_ms: int,
        compile_query: "Callable[[Context, exp.Expr, Around], Query]",
    ) -> None:
        self.relations = relations
        self.parameters = parameters
        self.now_ms = now_ms
        self.names_metadata = False
        """Whether the text has the name ``_metadata``."""
        self.placed: set[tuple[str, int]] = set()
        """The calls of the text that DuckDB may let fail; see `deltaarrow.spark_sql.tree.row_errors`."""
        self._compile = compile_query
        self._aliases = 0

    def query(self, tree: "exp.Expr", around: Around) -> Query:
        """Compile a query inside the text."""
        return self._compile(self, tree, around)

    def alias(self) -> str:
        """A name for a relation that nothing else in the SQL has."""
        self._aliases += 1
        return f"t{self._aliases}"

    def writer(self) -> Writer:
        """Begin a SELECT."""
        return Writer(self.now_ms, self.placed)

    def nested(self, writer: Writer, query: Query, qualifier: tuple[str, ...]) -> Source:
        """A query as a relation in FROM."""
        alias = self.alias()
        writer.own.add(alias)
        sql = f"({writer.inlined(query)}) AS {quote_identifier(alias)}"
        return Source(sql, columns_of(alias, query.columns, qualifier))


def columns_of(
    alias: str, columns: Sequence[OutputColumn], qualifier: tuple[str, ...]
) -> tuple[SourceColumn, ...]:
    """The columns of a query under an alias."""
    for each in columns:
        ensure_no_variable(each.key)
    return tuple(
        SourceColumn(
            each.name,
            ColumnRef((alias, each.key), each.field.type),
            each.field,
            qualifier,
            is_metadata=each.is_metadata,
        )
        for each in columns
    )


def renamed(query: Query, names: Sequence[str], alias: str) -> Query:
    """A query under an alias that names its columns, if it names them."""
    if not names:
        return query
    if len(names) != len(query.columns):
        raise SchemaMismatchError(
            f"[ASSIGNMENT_ARITY_MISMATCH] {alias} names {len(names)} columns, and its query has"
            f" {len(query.columns)}"
        )
    columns = (
        OutputColumn(name, each.key, Field(name, each.field.type, metadata=each.field.metadata))
        for name, each in zip(names, query.columns, strict=True)
    )
    return replace(query, columns=tuple(columns))


def ensure_no_variable(name: str) -> None:
    """Refuse a column that DuckDB would take for a variable of a lambda in our SQL."""
    if name.lower().startswith((OWN_NAME, "lambda_")):
        raise refused(f"a column with the name {name}")


def shown_keys(names: Sequence[str]) -> list[str]:
    """Names for the columns of a result: DuckDB has no empty name, which is shown as two quotes."""
    return [each or "''" for each in names]


def unique_keys(names: Sequence[str]) -> list[str]:
    """Names for the columns of a SELECT that DuckDB tells apart.

    >>> unique_keys(["a", "A", "b"])
    ['a', 'A_1', 'b']
    """
    taken: set[str] = set()
    found = []
    for name in names:
        key, number = name, 0
        while key.lower() in taken or not key:
            number += 1
            key = f"{name}_{number}"
        taken.add(key.lower())
        found.append(key)
    return found
