"""What of an expression a predicate can say: which rows of a table may meet it, by which values they join.

An expression over two tables says of each row of one of them what its own columns say; the rest is left open.
"""

from dataclasses import dataclass

from deltaarrow.errors import DeltaError
from deltaarrow.expressions import (
    And,
    Column,
    Compare,
    CompareOp,
    IsIn,
    IsNull,
    Literal,
    LiteralValue,
    Not,
    Opaque,
    Or,
    Predicate,
    bind,
    in_total_order,
)
from deltaarrow.expressions import (
    Constant as Known,
)
from deltaarrow.schema import StructType
from deltaarrow.spark_sql.nodes import Call, ColumnRef, Constant, Expression, Node, walk

__all__ = ["Equality", "known_equalities", "known_predicate"]

_COMPARISONS: dict[str, CompareOp] = {"=": "=", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_MIRRORED: dict[CompareOp, CompareOp] = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True)
class Equality:
    """A column of one table that has to equal an expression over the columns of another."""

    column: ColumnRef
    other: Expression


def known_predicate(expression: Expression, alias: str, schema: StructType) -> Predicate:
    """The predicate on the columns of one table that holds wherever the expression is TRUE.

    It has the value of the expression on every row, with parts of any value in the place of what it cannot
    say; `alias` is that of the table, with which the paths of its columns begin.
    """
    return _known(expression.root, alias, schema)


def _known(node: Node, alias: str, schema: StructType) -> Predicate:
    found: Predicate | None = None
    match node:
        case Constant(bool() | None as value):
            found = Known(value)
        case Call("and", operands):
            found = And(tuple(_known(each, alias, schema) for each in operands))
        case Call("or", operands):
            found = Or(tuple(_known(each, alias, schema) for each in operands))
        case Call("not", (operand,)):
            found = Not(_known(operand, alias, schema))
        case Call("is null", (ColumnRef() as column,)) if column.path[0] == alias:
            found = IsNull(Column(column.path[1:]))
        case Call(name, (ColumnRef() as column, Constant() as value)) if name in _COMPARISONS:
            found = _comparison(_COMPARISONS[name], column, value, alias, schema)
        case Call(name, (Constant() as value, ColumnRef() as column)) if name in _COMPARISONS:
            found = _comparison(_MIRRORED[_COMPARISONS[name]], column, value, alias, schema)
        case Call("in", (ColumnRef() as column, *values)) if all(isinstance(v, Constant) for v in values):
            found = _membership(column, [v.value for v in values if isinstance(v, Constant)], alias, schema)
    return _opaque(node, alias) if found is None else found


def _opaque(node: Node, alias: str) -> Predicate:
    paths = {each.path[1:] for each in walk(node) if isinstance(each, ColumnRef) and each.path[0] == alias}
    return Opaque("a part of an expression", tuple(Column(path) for path in sorted(paths)))


def _comparison(
    op: CompareOp, column: ColumnRef, value: Constant, alias: str, schema: StructType
) -> Predicate | None:
    if column.path[0] != alias or not _is_value(value.value):
        return None
    return _bound(Compare(op, Column(column.path[1:]), Literal(value.value)), schema)  # type: ignore[arg-type]


def _membership(column: ColumnRef, values: list[object], alias: str, schema: StructType) -> Predicate | None:
    if column.path[0] != alias or not all(map(_is_value, values)):
        return None
    listed: tuple[LiteralValue, ...] = tuple(values)  # type: ignore[arg-type]
    return _bound(IsIn(Column(column.path[1:]), listed), schema)


def _is_value(value: object) -> bool:
    # NaN is compared in its own way by every engine.
    return value is not None and value == value


def _bound(predicate: Predicate, schema: StructType) -> Predicate | None:
    try:
        return in_total_order(bind(predicate, schema), schema)
    except DeltaError:
        return None


def known_equalities(expression: Expression, alias: str) -> list[Equality]:
    """The columns of one table that equal something of the others on every row the expression is TRUE for."""
    return [
        Equality(column, Expression(expression.text, other))
        for node in _conjuncts(expression.root)
        if isinstance(node, Call) and node.name == "="
        for column, other in (node.operands, node.operands[::-1])
        if isinstance(column, ColumnRef)
        and column.path[0] == alias
        and (read := [each.path[0] for each in walk(other) if isinstance(each, ColumnRef)])
        and alias not in read
    ]


def _conjuncts(node: Node) -> list[Node]:
    if isinstance(node, Call) and node.name == "and":
        return [part for operand in node.operands for part in _conjuncts(operand)]
    return [node]
