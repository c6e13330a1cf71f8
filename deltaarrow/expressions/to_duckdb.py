"""Predicate trees as DuckDB SQL.

DuckDB orders NaN as Spark does: equal to itself and greater than every number. So a tree that came from
a pyarrow expression keeps other rows here than there, where NaN is in play.
"""

from collections.abc import Callable

from deltaarrow.compute import quote_identifier, quote_literal
from deltaarrow.errors import InvalidPredicateError
from deltaarrow.expressions.literals import literal_sql
from deltaarrow.expressions.nodes import (
    And,
    Cast,
    Column,
    Compare,
    Constant,
    IsIn,
    IsNan,
    IsNull,
    Literal,
    Not,
    Opaque,
    Operand,
    Or,
    Predicate,
    StartsWith,
    VariantGet,
    not_on_rows,
)

__all__ = ["column_sql", "to_duckdb"]

_OPERATORS = {"!=": "<>"}
_CONSTANTS = {True: "TRUE", False: "FALSE", None: "NULL::BOOLEAN"}


def column_sql(path: tuple[str, ...]) -> str:
    """A column of the relation at hand as DuckDB SQL, a field of a struct by `struct_extract`.

    >>> print(column_sql(("a", "it's")))
    struct_extract("a", 'it''s')
    """
    name, *members = path
    sql = quote_identifier(name)
    for member in members:
        sql = f"struct_extract({sql}, {quote_literal(member)})"
    return sql


def to_duckdb(predicate: Predicate, column: Callable[[tuple[str, ...]], str] = column_sql) -> str:
    """The predicate as a boolean DuckDB expression of the same value on every row.

    Literals are compared as they are typed, so bind the predicate to the table's schema first.

    Args:
        predicate: a tree without parts that were not understood.
        column: the SQL of a column, given its path.

    Raises:
        InvalidPredicateError: a part was not understood, is a `VariantGet`, or is a cast (`bind` removes
            those that lose nothing).

    >>> print(to_duckdb(Not(Compare("=", Column(("a",)), Literal("x")))))
    (NOT ("a" = 'x'))
    """

    def operand(node: Operand) -> str:
        match node:
            case Column(path):
                return column(path)
            case Literal():
                return literal_sql(node)
            case Cast(_, target):
                raise InvalidPredicateError(f"a cast to {target} is not rendered as SQL")
            case VariantGet():
                raise not_on_rows(node)

    def rendered(node: Predicate) -> str:
        match node:
            case Compare(op, left, right):
                return f"({operand(left)} {_OPERATORS.get(op, op)} {operand(right)})"
            case IsIn(of, (), _):
                return f"(CASE WHEN {column(of.path)} IS NOT NULL THEN FALSE END)"
            case IsIn(of, values, arrow_type):
                members = ", ".join(literal_sql(Literal(value, arrow_type)) for value in values)
                return f"({column(of.path)} IN ({members}))"
            case StartsWith(of, prefix):
                return f"starts_with({operand(of)}, {quote_literal(prefix)})"
            case IsNan(of):
                return f"isnan({column(of.path)})"
            case IsNull(of):
                value = operand(of) if isinstance(of, Column | VariantGet) else rendered(of)
                return f"({value} IS NULL)"
            case And(operands):
                return f"({' AND '.join(map(rendered, operands))})" if operands else "TRUE"
            case Or(operands):
                return f"({' OR '.join(map(rendered, operands))})" if operands else "FALSE"
            case Not(of):
                return f"(NOT {rendered(of)})"
            case Constant(known):
                return _CONSTANTS[known]
            case Opaque(reason):
                raise InvalidPredicateError(f"{reason} is not supported in a condition")

    return rendered(predicate)
