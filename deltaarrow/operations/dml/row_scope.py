"""Translation of users' Spark SQL about rows to DuckDB SQL, for one query over data files and a source.

`deltaarrow.spark_sql` parses and types conditions and values, with the results and errors of Spark's ANSI
mode. A column that is assigned without an expression may have any type.
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
    has_collation,
    has_same_shape,
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
    """A condition as DuckDB SQL, with its properties.

    `columns` are the columns that it reads; `pruning` is a predicate on the target that it implies;
    `equalities` are the target columns that it equates with expressions of the source. `can_fail` says that
    computing it may raise for a row.
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
    """The value assigned to a column, as DuckDB SQL of the column's type, and the columns that it reads.

    `can_fail` says that computing it may raise for a row.
    """

    text: str
    sql: str
    columns: frozenset[TopColumn] = frozenset()
    can_fail: bool = False


@dataclass(frozen=True)
class RowScope:
    """Name resolution for one query: the tables by alias, and the SQL of their columns.

    Args:
        tables: the logical schemas by alias.
        place: returns the SQL of a column, given the alias and the name.
        target: the alias of the Delta table.
        now_ms: the value of ``current_timestamp()``, in milliseconds since the epoch.
        fills: whether struct fields that a value lacks become NULL, as in schema evolution.
        by_position: whether struct fields of a value match those of the column by their position.
        tries: whether a value that does not fit the type of its column becomes NULL.
    """

    tables: Mapping[str, StructType]
    place: Callable[[str, str], str]
    target: str
    now_ms: int
    fills: bool = False
    by_position: bool = False
    tries: bool = False

    @cached_property
    def _scope(self) -> AliasScope:
        return AliasScope(self.tables)

    def only(self, alias: str) -> "RowScope":
        """Return the scope of one of the tables."""
        return replace(self, tables={alias: self.tables[alias]})

    def column(self, path: Path) -> str:
        """Return the SQL of a column, or of a field of a struct, by its path, which begins with the alias."""
        sql = self.place(path[0], path[1])
        for name in path[2:]:
            sql = f"struct_extract({sql}, {quote_literal(name)})"
        return sql

    def condition(self, text: str) -> QueryCondition:
        """Parse a condition on rows.

        Raises `InvalidPredicateError` for an expression that is not a condition, and the exceptions of
        `parse_expression` and `ensure_columns_unquoted`.
        """
        if not isinstance(text, str):
            raise TypeError(f'a condition is SQL text, such as "id > 1", not {type(text).__qualname__}')
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
            return parse_expression(text, self._scope, is_stored=False)
        except UnsupportedFeatureError as error:
            raise UnsupportedFeatureError(f"in {text!r}: {error}", feature=error.feature) from error

    def value(self, text: str, data_type: DataType) -> Value:
        """Parse a value that is assigned to a column of a type.

        Raises `SchemaMismatchError` for an unknown column and for a value that does not fit, and the
        exceptions of `parse_expression` and `ensure_columns_unquoted`.
        """
        if not isinstance(text, str):
            raise TypeError(
                f"a value is SQL text, not {type(text).__qualname__}: write it in quotes, such as"
                f" {str(text)!r}; for Python values, update takes new_values"
            )
        ensure_columns_unquoted(text, self.tables.values())
        try:
            found = parse_column(text, self._scope)
        except SchemaMismatchError as error:
            word = text.strip()
            if word.isidentifier():
                error.args = (f"{error}; if you mean the text, write it in single quotes: '{word}'",)
            raise
        if found is not None:
            path, field = found
            if not has_collation(resolve_path(self.tables[path[0]], path[1:])):
                return self.copied(path, field.type, data_type)
        return self._value(self._parsed(text), data_type)

    def copied(
        self, path: Path, source: DataType, data_type: DataType, *, keeping: Field | None = None
    ) -> Value:
        """Return the value of a column or struct field, for assignment to a column of type `data_type`.

        With `keeping`, a column of the target, struct fields that the value lacks keep their value there.
        """
        text = ".".join(path)
        if has_same_shape(source, data_type):
            return Value(text, self.column(path), _top([path]))
        present = None if keeping is None else ColumnRef((self.target, keeping.name), keeping.type)
        return self._value(Expression(text, ColumnRef(path, source)), data_type, present)

    def _value(self, found: Expression, data_type: DataType, present: Node | None = None) -> Value:
        try:
            root = assigned(
                found.root,
                data_type,
                fills=self.fills,
                present=present,
                by_position=self.by_position,
                tries=self.tries,
            )
            value = Expression(found.text, root)
        except SchemaMismatchError as error:
            raise SchemaMismatchError(f"{found.text}: {error}") from error
        except UnsupportedFeatureError as error:
            raise UnsupportedFeatureError(f"in {found.text!r}: {error}", feature=error.feature) from error
        return Value(found.text, self._sql(value), _top(value.columns), value.root.can_fail)

    def kept(self, column: Field) -> Value:
        """Return the present value of a column of the target."""
        return self.copied((self.target, column.name), column.type, column.type)

    def source_sql(self, equality: Equality) -> str:
        """Return the SQL of the source expression in an equality."""
        return self._sql(equality.other)

    def _sql(self, expression: Expression) -> str:
        columns = {path: self.column(path) for path in expression.columns}
        return to_native_sql(expression, columns, now_ms=self.now_ms)


def _top(paths: Iterable[Path]) -> frozenset[TopColumn]:
    return frozenset((path[0], path[1]) for path in paths)
