"""pyarrow expressions as predicate trees.

The tree keeps the same rows as the expression: ``to_arrow(from_arrow(e))`` filters like ``e``. Functions
without a node become nodes with the same value on every row: pyarrow's ``is_in``, whose set may contain NULL,
``if_else``, and the ``and`` and ``or`` that are NULL as soon as one operand is. Anything else, such as
arithmetic, becomes `Opaque` with the columns it reads.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from deltaarrow.errors import InvalidPredicateError
from deltaarrow.expressions.arrow_tokens import read_tokens
from deltaarrow.expressions.literals import literal_from_scalar, literal_values
from deltaarrow.expressions.predicates import (
    NULL,
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
    Or,
    Predicate,
    StartsWith,
    boolean_column,
    columns_of,
)

if TYPE_CHECKING:
    import pyarrow.compute as pc

__all__ = ["from_arrow"]

_Term: TypeAlias = Column | Literal | Cast | Predicate
_COMPARISONS: dict[str, CompareOp] = {
    "equal": "=",
    "not_equal": "!=",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
}
# SetLookupOptions.NullMatchingBehavior of Arrow C++.
_MATCH, _SKIP, _EMIT_NULL, _INCONCLUSIVE = range(4)


def from_arrow(expression: "pc.Expression") -> Predicate:
    """The predicate tree of a pyarrow expression.

    Args:
        expression: a boolean expression over columns named by name.

    Raises:
        InvalidPredicateError: the expression is not boolean, names a column by its position, or calls a
            function that pyarrow cannot describe.

    >>> import pyarrow.compute as pc
    >>> from_arrow((pc.field("a") > 1) & pc.field("s", "b").is_valid())
    And(operands=(Compare(op='>', left=Column(path=('a',)), right=Literal(value=1, type=DataType(int64))), \
Not(operand=IsNull(operand=Column(path=('s', 'b'))))))
    """
    # Operands come before their function, so that an OR of thousands of terms needs no deep recursion.
    calls: list[list[_Term]] = [[]]
    options: pa.Scalar | None = None
    for kind, value in read_tokens(expression):
        match kind:
            case "call":
                calls.append([])
            case "field":
                calls[-1].append(Column(value))
            case "literal":
                literal = literal_from_scalar(value)
                calls[-1].append(Opaque(f"a literal of type {value.type}") if literal is None else literal)
            case "options":
                options = value
            case "end":
                operands = calls.pop()
                calls[-1].append(_function(value, operands, options))
                options = None
    return _as_predicate(calls[0][0])


def _function(name: str, operands: list[_Term], options: pa.Scalar | None) -> _Term:
    found: _Term | None = None
    if name in _COMPARISONS:
        found = _compared(_COMPARISONS[name], operands)
    elif name in _FUNCTIONS:
        found = _FUNCTIONS[name](operands, options)
    return _opaque(name, operands) if found is None else found


def _opaque(name: str, operands: list[_Term]) -> Opaque:
    columns: dict[Column, None] = {}
    for operand in operands:
        if isinstance(operand, Column | Cast):
            columns[operand.operand if isinstance(operand, Cast) else operand] = None
        elif not isinstance(operand, Literal):
            columns.update(dict.fromkeys(Column(path) for path in sorted(columns_of(operand))))
    return Opaque(f"the function {name}", tuple(columns))


def _as_predicate(term: _Term) -> Predicate:
    """A term used as a condition."""
    if isinstance(term, Column):
        return boolean_column(term)
    if isinstance(term, Literal) and (term.value is None or isinstance(term.value, bool)):
        return Constant(term.value)
    if isinstance(term, Literal | Cast):
        raise InvalidPredicateError(f"the filter has {term} where a condition is needed")
    return term


def _compared(op: CompareOp, operands: list[_Term]) -> Predicate | None:
    left, right = operands
    if isinstance(left, Column | Literal | Cast) and isinstance(right, Column | Literal | Cast):
        return Compare(op, left, right)
    return None


def _and_kleene(operands: list[_Term], _options: pa.Scalar | None) -> Predicate:
    parts = map(_as_predicate, operands)
    return And(tuple(p for part in parts for p in (part.operands if isinstance(part, And) else (part,))))


def _or_kleene(operands: list[_Term], _options: pa.Scalar | None) -> Predicate:
    parts = map(_as_predicate, operands)
    return Or(tuple(p for part in parts for p in (part.operands if isinstance(part, Or) else (part,))))


def _and(operands: list[_Term], _options: pa.Scalar | None) -> Predicate:
    parts = tuple(map(_as_predicate, operands))
    return Or((And(parts), *(_null_if_null(part) for part in parts)))


def _or(operands: list[_Term], _options: pa.Scalar | None) -> Predicate:
    parts = tuple(map(_as_predicate, operands))
    return And((Or(parts), *(Not(_null_if_null(part)) for part in parts)))


def _null_if_null(part: Predicate) -> Predicate:
    """NULL if the part is NULL, else FALSE."""
    return And((IsNull(part), NULL))


def _invert(operands: list[_Term], _options: pa.Scalar | None) -> Predicate:
    return Not(_as_predicate(operands[0]))


def _is_null(operands: list[_Term], options: pa.Scalar | None) -> Predicate | None:
    test = _null_test(operands[0])
    if test is None or options is None or not options["nan_is_null"].as_py():
        return test
    return Or((test, IsNan(operands[0]))) if isinstance(operands[0], Column) else None


def _is_valid(operands: list[_Term], _options: pa.Scalar | None) -> Predicate | None:
    test = _null_test(operands[0])
    return None if test is None else Not(test)


def _null_test(term: _Term) -> Predicate | None:
    match term:
        case Literal():
            return Constant(term.value is None)
        case Cast():
            # A safe cast fails rather than turning a value into NULL.
            return IsNull(term.operand)
        case Opaque():
            return None
        case _:
            return IsNull(term)


def _is_nan(operands: list[_Term], _options: pa.Scalar | None) -> Predicate | None:
    return IsNan(operands[0]) if isinstance(operands[0], Column) else None


def _starts_with(operands: list[_Term], options: pa.Scalar | None) -> Predicate | None:
    column = operands[0]
    if options is None or options["ignore_case"].as_py() or not isinstance(column, Column):
        return None
    return StartsWith(column, options["pattern"].as_py())


def _is_in(operands: list[_Term], options: pa.Scalar | None) -> Predicate | None:
    column = operands[0]
    if options is None or not isinstance(column, Column):
        return None
    found = literal_values(options["value_set"].values)
    if found is None:
        return None
    values, arrow_type, has_null = found
    behaviour = options["null_matching_behavior"].as_py()
    numbers = tuple(value for value in values if value == value)
    member: Predicate = IsIn(column, numbers, arrow_type)
    if len(numbers) < len(values):
        member = Or((member, IsNan(column)))  # pyarrow finds NaN in a set
    if behaviour == _EMIT_NULL or (behaviour == _INCONCLUSIVE and not has_null):
        return member
    if behaviour == _INCONCLUSIVE:
        return Or((member, NULL))
    if behaviour == _MATCH and has_null:
        return Or((IsNull(column), member))
    return And((Not(IsNull(column)), member))


def _if_else(operands: list[_Term], _options: pa.Scalar | None) -> Predicate | None:
    if not all(map(_is_condition, operands)):
        return None
    condition, then, otherwise = map(_as_predicate, operands)
    match condition, then, otherwise:
        # DuckDB's form of IN: if_else(is_valid(x), is_in(x), null).
        case Not(IsNull(Column() as column)), And((_, IsIn() as member)), Constant(None) if (
            then.operands[0] == condition and member.column == column
        ):
            return member
    branches = (And((condition, then)), And((Not(condition), otherwise)))
    never_null = isinstance(condition, IsNull) or (
        isinstance(condition, Not) and isinstance(condition.operand, IsNull)
    )
    return Or(branches if never_null else (*branches, _null_if_null(condition)))


def _is_condition(term: _Term) -> bool:
    if isinstance(term, Literal):
        return term.value is None or isinstance(term.value, bool)
    return not isinstance(term, Cast)


def _cast(operands: list[_Term], options: pa.Scalar | None) -> _Term | None:
    if options is None:
        return None
    safe = not any(flag.as_py() for name, flag in options.items() if name.startswith("allow_"))
    to_type = options["to_type"].type
    match operands[0]:
        case Column() as column if safe:
            return Cast(column, to_type)
        case Literal(value, arrow_type) if safe:
            try:
                return literal_from_scalar(pa.scalar(value, arrow_type).cast(to_type))
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                return None
    return None


_FUNCTIONS: dict[str, Callable[[list[_Term], pa.Scalar | None], _Term | None]] = {
    "and_kleene": _and_kleene,
    "or_kleene": _or_kleene,
    "and": _and,
    "or": _or,
    "invert": _invert,
    "is_null": _is_null,
    "is_valid": _is_valid,
    "is_nan": _is_nan,
    "is_in": _is_in,
    "starts_with": _starts_with,
    "if_else": _if_else,
    "cast": _cast,
}
