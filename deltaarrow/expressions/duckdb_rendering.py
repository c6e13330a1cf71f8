"""Predicate trees as DuckDB SQL.

DuckDB orders NaN as Spark does: equal to itself and greater than every number. So a comparison of the tree,
which NaN satisfies only for ``!=``, excludes it explicitly. A tree that spells out DuckDB's own order becomes
a plain comparison again, which DuckDB passes to its Parquet reader.
"""

from collections.abc import Callable

import pyarrow as pa

from deltaarrow.compute import quote_identifier, quote_literal
from deltaarrow.errors import InvalidPredicateError
from deltaarrow.expressions.literals import literal_sql, literal_type
from deltaarrow.expressions.predicates import (
    And,
    Cast,
    Column,
    Compare,
    CompareOp,
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
from deltaarrow.expressions.total_order import is_in_total_order

__all__ = ["column_sql", "to_duckdb"]

_OPERATORS = {"!=": "<>"}
_CONSTANTS = {True: "TRUE", False: "FALSE", None: "NULL::BOOLEAN"}


def column_sql(path: tuple[str, ...]) -> str:
    """A column as DuckDB SQL; a struct field is read with `struct_extract`.

    >>> print(column_sql(("a", "it's")))
    struct_extract("a", 'it''s')
    """
    name, *members = path
    sql = quote_identifier(name)
    for member in members:
        sql = f"struct_extract({sql}, {quote_literal(member)})"
    return sql


def to_duckdb(predicate: Predicate, column: Callable[[tuple[str, ...]], str] = column_sql) -> str:
    """The predicate as a boolean DuckDB expression with the same value on every row.

    Literals are compared in their own types, so bind the predicate to the table's schema first.

    Args:
        predicate: a tree without `Opaque` parts.
        column: returns the SQL of a column for its path.

    Raises:
        InvalidPredicateError: a part is `Opaque`, a `VariantGet` or a cast (`bind` removes lossless
            casts).

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

    def plain(op: CompareOp, left: Operand, right: Operand) -> str:
        return f"({operand(left)} {_OPERATORS.get(op, op)} {operand(right)})"

    def compared(op: CompareOp, left: Operand, right: Operand) -> str:
        if isinstance(left, Literal) == isinstance(right, Literal):
            sides = (operand(left), operand(right))
            unknown = " OR ".join(f"{side} IS NULL" for side in sides)
            unordered = " OR ".join(_is_nan(side) for side in sides)
            outcome = "TRUE" if op == "!=" else "FALSE"
            branches = f"WHEN {unknown} THEN NULL WHEN {unordered} THEN {outcome}"
            return f"(CASE {branches} ELSE {plain(op, left, right)} END)"
        literal, other = (left, right) if isinstance(left, Literal) else (right, left)
        assert isinstance(literal, Literal)
        if literal.value is None or not pa.types.is_floating(literal_type(literal)):
            return plain(op, left, right)
        if literal.value != literal.value:
            return f"(CASE WHEN {operand(other)} IS NOT NULL THEN {'TRUE' if op == '!=' else 'FALSE'} END)"
        if op not in ((">", ">=") if other is left else ("<", "<=")):
            return plain(op, left, right)
        return f"({plain(op, left, right)} AND NOT isnan({operand(other)}))"

    def rendered(node: Predicate) -> str:
        match node:
            case Compare(op, left, right):
                return compared(op, left, right)
            case IsIn(of, values, arrow_type):
                members = ", ".join(
                    literal_sql(Literal(value, arrow_type)) for value in values if value == value
                )
                if not members:
                    return f"(CASE WHEN {column(of.path)} IS NOT NULL THEN FALSE END)"
                return f"({column(of.path)} IN ({members}))"
            case StartsWith(of, prefix):
                return f"starts_with({operand(of)}, {quote_literal(prefix)})"
            case IsNan(of):
                return f"isnan({operand(of)})"
            case IsNull(of):
                value = operand(of) if isinstance(of, Column | VariantGet) else rendered(of)
                return f"({value} IS NULL)"
            case And(operands):
                return f"({' AND '.join(map(rendered, operands))})" if operands else "TRUE"
            case Or(operands):
                if (sql := is_in_total_order(node)) is not None:
                    return plain(sql.op, sql.left, sql.right)
                return f"({' OR '.join(map(rendered, operands))})" if operands else "FALSE"
            case Not(of):
                return f"(NOT {rendered(of)})"
            case Constant(known):
                return _CONSTANTS[known]
            case Opaque(reason):
                raise InvalidPredicateError(f"{reason} is not supported in a condition")

    return rendered(predicate)


def _is_nan(sql: str) -> str:
    """Whether a value of any type is NaN."""
    return f"(typeof({sql}) IN ('FLOAT', 'DOUBLE') AND isnan(TRY_CAST({sql} AS DOUBLE)))"
