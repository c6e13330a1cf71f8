"""The predicate tree: what every filter becomes, whatever notation it was written in.

A predicate has one of three values on a row, TRUE, FALSE or NULL, and a filter keeps the rows on
which it is TRUE. The values follow SQL, which is also what Spark, DuckDB and pyarrow's Kleene
functions do:

===================  ==================================================================
node                 value
===================  ==================================================================
`Compare`            NULL where an operand is NULL
`IsIn`               NULL where the column is NULL; the set itself holds no NULL
`StartsWith`         NULL where the column is NULL
`IsNan`              NULL where the column is NULL
`IsNull`             never NULL
`And`                FALSE where an operand is FALSE, else NULL where one is NULL
`Or`                 TRUE where an operand is TRUE, else NULL where one is NULL
`Not`                NULL where the operand is NULL
`Constant`           the value given
`Opaque`             any of the three: a part that no other node says
===================  ==================================================================

`Compare` and `IsIn` compare floating point numbers as IEEE 754 and pyarrow do: every comparison with NaN is
FALSE, except ``!=``, and the zeros are equal. What is SQL, in which NaN equals itself and is the greatest
number, is spelled out where its tree is made (see `deltaarrow.expressions.total_order`).

Nodes are frozen and hashable. A bare boolean column has no node of its own, it is
``Compare("=", column, Literal(True))``.
"""

import datetime
import decimal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal as OneOf, TypeAlias

import pyarrow as pa

from deltaarrow.errors import InvalidPredicateError
from deltaarrow.schema import PrimitiveType

__all__ = [
    "FALSE",
    "MIRRORED",
    "NEGATED",
    "NULL",
    "TRUE",
    "And",
    "Cast",
    "Column",
    "Compare",
    "CompareOp",
    "Constant",
    "IsIn",
    "IsNan",
    "IsNull",
    "Literal",
    "LiteralValue",
    "Not",
    "Opaque",
    "Operand",
    "Or",
    "Predicate",
    "StartsWith",
    "VariantGet",
    "boolean_column",
    "columns_of",
    "conjuncts",
    "is_exact",
    "not_on_rows",
    "null_safe_equal",
    "variant_paths",
]

LiteralValue: TypeAlias = (
    bool | int | float | decimal.Decimal | str | bytes | datetime.date | datetime.datetime | None
)
"""What a literal can hold; a `datetime` with a time zone is a point in time, one without is not."""

CompareOp: TypeAlias = OneOf["=", "!=", "<", "<=", ">", ">="]


MIRRORED: Final[dict[CompareOp, CompareOp]] = {
    "=": "=",
    "!=": "!=",
    "<": ">",
    "<=": ">=",
    ">": "<",
    ">=": "<=",
}
"""The comparison of the operands the other way round."""

NEGATED: Final[dict[CompareOp, CompareOp]] = {
    "=": "!=",
    "!=": "=",
    "<": ">=",
    "<=": ">",
    ">": "<=",
    ">=": "<",
}
"""The comparison that is TRUE where one of values in an order is FALSE."""


@dataclass(frozen=True)
class Column:
    """A column, or a field of a struct column, as the names on the way to it."""

    path: tuple[str, ...]


@dataclass(frozen=True)
class Literal:
    """A value; `type` is the Arrow type it came with, None where it was written without one."""

    value: LiteralValue
    type: pa.DataType | None = None


@dataclass(frozen=True)
class Cast:
    """A column converted to another type, failing where a value does not fit (pyarrow's safe cast)."""

    operand: Column
    type: pa.DataType


@dataclass(frozen=True)
class VariantGet:
    """The value at a path in a variant, such as ``$.a[0]``, as a type; NULL where nothing is there.

    Files can be chosen by it, from the statistics of variants. No engine evaluates it on rows.
    """

    variant: Column
    json_path: str
    type: PrimitiveType


Operand: TypeAlias = Column | Literal | Cast | VariantGet


@dataclass(frozen=True)
class Compare:
    """Two operands compared."""

    op: CompareOp
    left: Operand
    right: Operand


@dataclass(frozen=True)
class IsIn:
    """Whether a column equals one of the values, none of which is NULL; `type` as in `Literal`."""

    column: Column
    values: tuple[LiteralValue, ...]
    type: pa.DataType | None = None


@dataclass(frozen=True)
class StartsWith:
    """Whether a string column begins with a text, character by character."""

    column: Column | VariantGet
    prefix: str


@dataclass(frozen=True)
class IsNan:
    """Whether a number is NaN."""

    column: Column | VariantGet


@dataclass(frozen=True)
class IsNull:
    """Whether a column, a part of a variant, or the value of a predicate is NULL."""

    operand: "Column | VariantGet | Predicate"


@dataclass(frozen=True)
class And:
    """All of the operands; TRUE without any."""

    operands: tuple["Predicate", ...]


@dataclass(frozen=True)
class Or:
    """Any of the operands; FALSE without any."""

    operands: tuple["Predicate", ...]


@dataclass(frozen=True)
class Not:
    """The opposite of the operand."""

    operand: "Predicate"


@dataclass(frozen=True)
class Constant:
    """TRUE, FALSE or, as None, NULL."""

    value: bool | None


@dataclass(frozen=True)
class Opaque:
    """A part that no other node says: its text, and the columns it reads."""

    reason: str
    columns: tuple[Column, ...] = ()


Predicate: TypeAlias = Compare | IsIn | StartsWith | IsNan | IsNull | And | Or | Not | Constant | Opaque

TRUE: Final = Constant(True)
FALSE: Final = Constant(False)
NULL: Final = Constant(None)


def boolean_column(column: Column) -> Predicate:
    """The predicate that a bare boolean column stands for."""
    return Compare("=", column, Literal(True))


def null_safe_equal(left: Operand, right: Operand) -> Predicate:
    """SQL's ``<=>``: equality that is TRUE for two NULLs, FALSE for one, and never NULL.

    >>> null_safe_equal(Column(("a",)), Literal(None))
    IsNull(operand=Column(path=('a',)))
    """
    nulls = [_null_test(each) for each in (left, right)]
    known = And((*(_opposite(each) for each in nulls), Compare("=", left, right)))
    return _simplified(Or((And(tuple(nulls)), known)))


def conjuncts(predicate: Predicate) -> list[Predicate]:
    """The parts that must all be TRUE on a row that the predicate keeps; none for TRUE itself."""
    if isinstance(predicate, And):
        return [part for operand in predicate.operands for part in conjuncts(operand)]
    return [] if predicate == TRUE else [predicate]


def columns_of(predicate: Predicate) -> set[tuple[str, ...]]:
    """The paths of all columns that the predicate reads, those of `Opaque` parts included."""
    return {node.path for node in _nodes(predicate) if isinstance(node, Column)}


def variant_paths(predicate: Predicate) -> set[VariantGet]:
    """The parts of variants that the predicate reads."""
    return {node for node in _nodes(predicate) if isinstance(node, VariantGet)}


def not_on_rows(part: VariantGet) -> InvalidPredicateError:
    """The error of whoever would evaluate a part of a variant on rows."""
    return InvalidPredicateError(
        f"variant_get({'.'.join(part.variant.path)}, {part.json_path!r}) chooses files and not rows: give it"
        " as a file_pruning_predicate, and take rows apart with deltaarrow.variant.variant_get"
    )


def is_exact(predicate: Predicate) -> bool:
    """Whether no part is `Opaque`, so that the tree can stand for the original filter."""
    return not any(isinstance(node, Opaque) for node in _nodes(predicate))


def _nodes(node: Predicate | Operand) -> Iterator[Predicate | Operand]:
    """The node and all below it."""
    yield node
    children: Sequence[Predicate | Operand]
    match node:
        case Column() | Literal() | Constant():
            return
        case Opaque():
            children = node.columns
        case Compare():
            children = (node.left, node.right)
        case IsIn() | StartsWith() | IsNan():
            children = (node.column,)
        case And() | Or():
            children = node.operands
        case IsNull() | Not() | Cast():
            children = (node.operand,)
        case VariantGet():
            children = (node.variant,)
    for child in children:
        yield from _nodes(child)


def _null_test(operand: Operand) -> Predicate:
    if isinstance(operand, Literal):
        return Constant(operand.value is None)
    # A safe cast fails instead of turning a value into NULL.
    return IsNull(operand.operand if isinstance(operand, Cast) else operand)


def _opposite(test: Predicate) -> Predicate:
    return Constant(not test.value) if isinstance(test, Constant) else Not(test)


def _simplified(predicate: Predicate) -> Predicate:
    """The same values with constants folded, one level after the other."""
    if not isinstance(predicate, And | Or):
        return predicate
    absorbing = isinstance(predicate, Or)
    operands = [_simplified(each) for each in predicate.operands]
    if Constant(absorbing) in operands:
        return Constant(absorbing)
    kept = tuple(each for each in operands if each != Constant(not absorbing))
    return kept[0] if len(kept) == 1 else type(predicate)(kept) if kept else Constant(not absorbing)
