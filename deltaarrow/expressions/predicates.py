"""The predicate tree, to which filters of every notation are translated.

A predicate has one of three values on a row, TRUE, FALSE or NULL, and a filter keeps the rows on which it is
TRUE. The values follow SQL, as Spark, DuckDB and pyarrow's Kleene functions do:

===================  ==================================================================
node                 value
===================  ==================================================================
`Compare`            NULL if an operand is NULL
`IsIn`               NULL if the column is NULL; the set itself contains no NULL
`StartsWith`         NULL if the column is NULL
`IsNan`              NULL if the column is NULL
`IsNull`             never NULL
`And`                FALSE if an operand is FALSE, else NULL if one is NULL
`Or`                 TRUE if an operand is TRUE, else NULL if one is NULL
`Not`                NULL if the operand is NULL
`Constant`           the value given
`Opaque`             any of the three: a part that no other node can express
===================  ==================================================================

`Compare` and `IsIn` compare floating point numbers like IEEE 754 and pyarrow: every comparison with NaN is
FALSE, except ``!=``, and the zeros are equal. SQL, in which NaN equals itself and is the greatest number, is
spelled out where its tree is made (see `deltaarrow.expressions.total_order`).

Nodes are frozen and hashable. A bare boolean column has no node of its own; it is
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
"""The comparison with its operands swapped."""

NEGATED: Final[dict[CompareOp, CompareOp]] = {
    "=": "!=",
    "!=": "=",
    "<": ">=",
    "<=": ">",
    ">": "<=",
    ">=": "<",
}
"""The comparison that is TRUE when this one is FALSE, for values in a total order."""


@dataclass(frozen=True)
class Column:
    """A column, or a field of a struct column, as the path of names to it."""

    path: tuple[str, ...]


@dataclass(frozen=True)
class Literal:
    """A value; `type` is the Arrow type it came with, None if it had none."""

    value: LiteralValue
    type: pa.DataType | None = None


@dataclass(frozen=True)
class Cast:
    """A column converted to another type, failing if a value does not fit (pyarrow's safe cast)."""

    operand: Column
    type: pa.DataType


@dataclass(frozen=True)
class VariantGet:
    """The value at a path in a variant, such as ``$.a[0]``, as a type; NULL if there is none.

    It can select files by the statistics of variants. No engine evaluates it on rows.
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
    """Conjunction; TRUE without operands."""

    operands: tuple["Predicate", ...]


@dataclass(frozen=True)
class Or:
    """Disjunction; FALSE without operands."""

    operands: tuple["Predicate", ...]


@dataclass(frozen=True)
class Not:
    """Negation."""

    operand: "Predicate"


@dataclass(frozen=True)
class Constant:
    """TRUE, FALSE or, as None, NULL."""

    value: bool | None


@dataclass(frozen=True)
class Opaque:
    """A part that no other node can express: its text, and the columns it reads."""

    reason: str
    columns: tuple[Column, ...] = ()


Predicate: TypeAlias = Compare | IsIn | StartsWith | IsNan | IsNull | And | Or | Not | Constant | Opaque

TRUE: Final = Constant(True)
FALSE: Final = Constant(False)
NULL: Final = Constant(None)


def boolean_column(column: Column) -> Predicate:
    """The predicate for a bare boolean column."""
    return Compare("=", column, Literal(True))


def null_safe_equal(left: Operand, right: Operand) -> Predicate:
    """SQL's ``<=>``: equality that is TRUE for two NULLs, FALSE for one NULL, and never NULL.

    >>> null_safe_equal(Column(("a",)), Literal(None))
    IsNull(operand=Column(path=('a',)))
    """
    nulls = [_null_test(each) for each in (left, right)]
    known = And((*(_opposite(each) for each in nulls), Compare("=", left, right)))
    return _simplified(Or((And(tuple(nulls)), known)))


def conjuncts(predicate: Predicate) -> list[Predicate]:
    """The parts that must all be TRUE on a row that the predicate keeps; none if it is always TRUE."""
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
    """The error for evaluating a part of a variant on rows."""
    return InvalidPredicateError(
        f"variant_get({'.'.join(part.variant.path)}, {part.json_path!r}) selects files, not rows: pass it"
        " as a file_pruning_predicate, and filter rows with deltaarrow.variant.variant_get"
    )


def is_exact(predicate: Predicate) -> bool:
    """Whether no part is `Opaque`, so that the tree can replace the original filter."""
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
    # A safe cast fails rather than turning a value into NULL.
    return IsNull(operand.operand if isinstance(operand, Cast) else operand)


def _opposite(test: Predicate) -> Predicate:
    return Constant(not test.value) if isinstance(test, Constant) else Not(test)


def _simplified(predicate: Predicate) -> Predicate:
    """The same values with constants folded, level by level."""
    if not isinstance(predicate, And | Or):
        return predicate
    absorbing = isinstance(predicate, Or)
    operands = [_simplified(each) for each in predicate.operands]
    if Constant(absorbing) in operands:
        return Constant(absorbing)
    kept = tuple(each for each in operands if each != Constant(not absorbing))
    return kept[0] if len(kept) == 1 else type(predicate)(kept) if kept else Constant(not absorbing)
