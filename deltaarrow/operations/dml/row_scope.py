"""Spark SQL that users write about rows, as DuckDB SQL in one query over data files and a source.

Conditions and values are understood by `deltaarrow.spark_sql`, with the values and errors of Spark's
ANSI mode. A column that is assigned as it is may be of any type.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from deltaarrow.compute import quote_literal
from deltaarrow.errors import SchemaMismatchError, UnsupportedFeatureError
from deltaarrow.expressions import TRUE, Predicate
from deltaarrow.runtime.fork_safety import cached_property
from deltaarrow.schema import DataType, Field, StructType, resolve_path
from deltaarrow.spark_sql import (
    AliasScope,
    ColumnRef,
    Equality,
    Expression,
    Node,
    Path,
    assigned,
    condition_on,
    ensure_columns_unquoted,
    has_same_shape,
    has_text_rules,
    known_equalities,
    parse_column,
    parse_expression,
    to_native_sql,
)

__all__ = ["ALWAYS", "QueryCondition", "RowScope", "TopColumn", "Value"]

TopColumn = tuple[str, str]
"""The alias of a table, and the name of one of its columns."""


@dataclass(frozen=True)
class QueryCondition:
    """A condition as SQL of a query, and what is known of it.

    `columns` are those that it reads, `pruning` what it says of the rows of the target, and `equalities` by
    which columns of the target these meet rows of the source. It `can_fail` on rows that it cannot be
    computed for.
    """

    text: str
    sql: str
    columns: frozenset[TopColumn] = frozenset()
    pruning: Predicate = TRUE
    equalities: tuple[Equality, ...] = ()
    can_fail: bool = False


ALWAYS = QueryCondition("true", "true")


@dataclass(frozen=True)
class Value:
    """What a column is assigned, as SQL of the column's type, and the columns that it reads.

    It `can_fail` on rows that it cannot be computed for.
    """

    text: str
    sql: str
    columns: frozenset[TopColumn] = frozenset()
    can_fail: bool = False


@dataclass(frozen=True)
class RowScope:
    """The tables of one query: their columns by alias, and what the query calls these.

    Args:
        tables: the logical schemas by the aliases that users write.
        place: the SQL of a column, by the alias and the name.
        target: the alias of the Delta table.
        now_ms: what ``current_timestamp()`` is.
        fills: whether members of structs that a value does not have are NULL, as where the schema evolves.
    """

    tables: Mapping[str, StructType]
    place: Callable[[str, str], str]
    target: str
    now_ms: int
    fills: bool = False

    @cached_property
    def _scope(self) -> AliasScope:
        return AliasScope(self.tables)

    def only(self, alias: str) -> "RowScope":
        """Return where names lead for rows of one of the tables alone."""
        return replace(self, tables={alias: self.tables[alias]})

    def column(self, path: Path) -> str:
        """Return the SQL of a column, or of a member of one, by its path with the alias in front."""
        sql = self.place(path[0], path[1])
        for name in path[2:]:
            sql = f"struct_extract({sql}, {quote_literal(name)})"
        return sql

    def condition(self, text: str) -> QueryCondition:
        """Return a condition on the rows.

        Raises `InvalidPredicateError` for what is no condition, and what `parse_expression` and
        `ensure_columns_unquoted` raise.
        """
        if not isinstance(text, str):
            raise TypeError(f"a condition is SQL text, not {type(text).__qualname__}")
        try:
            found = condition_on(text, self._scope, self.target, self.now_ms)
            sql = found.to_duckdb(self.column)
        except UnsupportedFeatureError as error:
            raise UnsupportedFeatureError(f"in {text!r}: {error}", feature=error.feature) from error
        has_target = self.target in self.tables
        return QueryCondition(
            text,
            sql,
            _top(found.columns),
            found.predicate if has_target else TRUE,
            tuple(known_equalities(found.expression, self.target)) if has_target else (),
            can_fail=not found.is_exact,
        )

    def _parsed(self, text: str) -> Expression:
        try:
            return parse_expression(text, self._scope)
        except UnsupportedFeatureError as error:
            raise UnsupportedFeatureError(f"in {text!r}: {error}", feature=error.feature) from error

    def value(self, text: str, data_type: DataType) -> Value:
        """Return what a column of a type is assigned.

        Raises `SchemaMismatchError` for a column that is not there or does not fit, and what
        `parse_expression` and `ensure_columns_unquoted` raise.
        """
        if not isinstance(text, str):
            raise TypeError(f"a value is SQL text, not {type(text).__qualname__}")
        ensure_columns_unquoted(text, self.tables.values())
        found = parse_column(text, self._scope)
        if found is not None:
            path, field = found
            if not has_text_rules(resolve_path(self.tables[path[0]], path[1:])):
                return self.copied(path, field.type, data_type)
        return self._value(self._parsed(text), data_type)

    def copied(
        self, path: Path, source: DataType, data_type: DataType, *, keeping: Field | None = None
    ) -> Value:
        """Return the value of a column, or of a member of one, as one of another column.

        With `keeping`, a column of the target, members that the value does not have are as they are there.
        """
        text = ".".join(path)
        if has_same_shape(source, data_type):
            return Value(text, self.column(path), _top([path]))
        present = None if keeping is None else ColumnRef((self.target, keeping.name), keeping.type)
        return self._value(Expression(text, ColumnRef(path, source)), data_type, present)

    def _value(self, found: Expression, data_type: DataType, present: Node | None = None) -> Value:
        try:
            root = assigned(found.root, data_type, fills=self.fills, present=present)
            value = Expression(found.text, root)
        except SchemaMismatchError as error:
            raise SchemaMismatchError(f"{found.text}: {error}") from error
        except UnsupportedFeatureError as error:
            raise UnsupportedFeatureError(f"in {found.text!r}: {error}", feature=error.feature) from error
        return Value(found.text, self._sql(value), _top(value.columns), value.root.can_fail)

    def kept(self, column: Field) -> Value:
        """Return the value of a column of the target as it is."""
        return self.copied((self.target, column.name), column.type, column.type)

    def source_sql(self, equality: Equality) -> str:
        """Return the SQL of what a column of the target has to equal."""
        return self._sql(equality.other)

    def _sql(self, expression: Expression) -> str:
        columns = {path: self.column(path) for path in expression.columns}
        return to_native_sql(expression, columns, now_ms=self.now_ms)


def _top(paths: Iterable[Path]) -> frozenset[TopColumn]:
    return frozenset((path[0], path[1]) for path in paths)
