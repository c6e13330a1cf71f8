"""Predicates equivalent to an expression on the rows of one table, and the equalities of a MERGE.

The predicate is derived from the typed tree, after Spark's casts. It has the value of the expression on every
row, with `Opaque` for parts that a predicate cannot express. A comparison can be expressed if the column has
its own type or is cast to another without loss; its constant is then converted to the column's type: ``i >
2.5`` on integers becomes ``i >= 3``. NaN is handled as in `deltaarrow.expressions.total_order`.

For an expression over two tables, the predicate on one table covers the parts over its columns; the rest is
opaque.
"""

import ctypes
import datetime
import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal

from deltaarrow.errors import DeltaError
from deltaarrow.expressions import (
    MIRRORED,
    NULL,
    And,
    Column,
    Compare,
    CompareOp,
    Constant as Known,
    IsIn,
    IsNan,
    IsNull,
    Literal,
    LiteralValue,
    Not,
    Opaque,
    Or,
    Predicate,
    StartsWith,
    VariantGet,
    bind,
    boolean_column,
    in_total_order,
    null_safe_equal,
)
from deltaarrow.schema import DataType, PrimitiveType, StructType
from deltaarrow.spark_sql.functions.patterns import like_prefix
from deltaarrow.spark_sql.tree.nodes import Call, ColumnRef, Constant, Expression, Node, walk
from deltaarrow.spark_sql.types.type_rules import (
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    INTEGRAL,
    LONG,
    SHORT,
    STRING,
    TIMESTAMPS,
    decimal_of,
)

__all__ = ["Equality", "known_equalities", "known_predicate"]

_COMPARISONS: dict[str, CompareOp] = {"=": "=", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_BITS = {BYTE: 7, SHORT: 15, INTEGER: 31, LONG: 63}
_EXACT_IN_DOUBLE = 2**53
_LEAST_FLOAT, _GREATEST_FLOAT = 2.0**-126, 2.0**127
_DIGITS = Context(prec=400)


@dataclass(frozen=True)
class Equality:
    """A column of one table that must equal an expression over the columns of another."""

    column: ColumnRef
    other: Expression


def known_predicate(
    expression: Expression, alias: str | None, schema: StructType, text: str | None = None
) -> Predicate:
    """The predicate on one table's columns that has the expression's value on every row of the table.

    Args:
        expression: of boolean type.
        alias: the table's alias, with which paths of its columns begin; None if they have no alias.
        schema: the schema of the table.
        text: the name of parts that the predicate cannot express.
    """
    reader = _Reader(alias, schema, text or expression.text)
    return reader.known(expression.root)


@dataclass(frozen=True)
class _Reader:
    alias: str | None
    schema: StructType
    text: str

    def known(self, node: Node) -> Predicate:
        try:
            found = self._known(node)
        except DeltaError:
            found = None
        return self._opaque(node) if found is None else found

    def _known(self, node: Node) -> Predicate | None:
        match node:
            case Constant(bool() | None as value):
                return Known(value)
            case ColumnRef(type=data_type) if data_type == BOOLEAN:
                own = self._own(node)
                return None if own is None else self._bound(boolean_column(own))
            case Call("and", (operand,)):
                return self.known(operand)
            case Call("and", operands):
                return And(tuple(map(self.known, operands)))
            case Call("or", operands):
                return Or(tuple(map(self.known, operands)))
            case Call("not", (Call(name, (left, right)),)) if name in _COMPARISONS:
                found = self._compared(_COMPARISONS[name], left, right, is_negated=True)
                return found if found is not None else Not(self.known(node.operands[0]))
            case Call("not", (operand,)):
                return Not(self.known(operand))
            case Call("is true" | "is false" as name, (operand,)):
                condition = self.known(operand)
                return And((Not(IsNull(condition)), condition if name == "is true" else Not(condition)))
            case Call("is null", (operand,)):
                return self._null_test(operand)
            case Call("isnan", (operand,)):
                column = self._floats(operand)
                return None if column is None else And((Not(IsNull(column)), IsNan(column)))
            case Call("in", (operand, *members)):
                return self._member(operand, members)
            case Call("IS NOT DISTINCT FROM", (left, right)):
                return self._same(left, right)
            case Call("IS DISTINCT FROM", (left, right)):
                same = self._same(left, right)
                return None if same is None else Not(same)
            case Call("startswith", (operand, Constant(str() as prefix))):
                return self._prefixed(operand, prefix, node, is_all=True)
            case Call("like", (operand, Constant(str() as pattern))):
                prefix, is_text, is_all = like_prefix(pattern)
                if is_text:
                    return self._compared("=", operand, Constant(prefix, STRING))
                return self._prefixed(operand, prefix, node, is_all=is_all) if prefix or is_all else None
            case Call(name, (left, right)) if name in _COMPARISONS:
                return self._compared(_COMPARISONS[name], left, right)
        return None

    def _opaque(self, node: Node) -> Predicate:
        paths = {each.path for each in walk(node) if isinstance(each, ColumnRef)}
        if self.alias is not None:
            paths = {path[1:] for path in paths if path[0] == self.alias}
        return Opaque(self.text, tuple(Column(path) for path in sorted(paths)))

    def _own(self, node: Node) -> Column | None:
        """The table's column that a node is, or None."""
        if not isinstance(node, ColumnRef):
            return None
        if self.alias is None:
            return Column(node.path)
        return Column(node.path[1:]) if node.path[0] == self.alias else None

    def _operand(self, node: Node) -> tuple[Column | VariantGet, DataType] | None:
        """The table's column that a node is, or is a lossless cast of, and the column's own type."""
        while (
            isinstance(node, Call) and node.name == "cast" and _keeps_order(node.operands[0].type, node.type)
        ):
            node = node.operands[0]
        if isinstance(node, Call) and node.name == "variant_get":
            return self._variant(node)
        column = self._own(node)
        return None if column is None else (column, node.type)

    def _variant(self, node: Call) -> tuple[VariantGet, DataType] | None:
        column, path = self._own(node.operands[0]), node.operands[1]
        if column is None or not isinstance(path, Constant) or not isinstance(node.type, PrimitiveType):
            return None
        return VariantGet(column, str(path.value), node.type), node.type

    def _floats(self, node: Node) -> Column | VariantGet | None:
        found = self._operand(node)
        return None if found is None or found[1] not in (FLOAT, DOUBLE) else found[0]

    def _bound(self, predicate: Predicate) -> Predicate:
        return in_total_order(bind(predicate, self.schema), self.schema)

    def _null_test(self, node: Node) -> Predicate | None:
        column = self._own(node)
        if column is not None:
            return IsNull(column)
        found = self._operand(node)
        if found is not None:
            return IsNull(found[0])
        if node.type == BOOLEAN:
            inner = self.known(node)
            return None if isinstance(inner, Opaque) else IsNull(inner)
        return None

    def _compared(
        self, op: CompareOp, left: Node, right: Node, *, is_negated: bool = False
    ) -> Predicate | None:
        if isinstance(left, Constant):
            left, right, op = right, left, MIRRORED[op]
        found = self._operand(left)
        if found is None:
            return None
        column, data_type = found
        if isinstance(right, Constant):
            if right.value is None:
                return NULL
            if isinstance(column, VariantGet):
                predicate = self._bound(Compare(op, column, Literal(right.value)))  # type: ignore[arg-type]
                return Not(predicate) if is_negated else predicate
            compared = _with_own_value(op, column, data_type, right.value, left.type)
            if compared is None:
                return None
            return self._bound(Not(compared) if is_negated else compared)
        other = self._beside(left, right)
        if other is None:
            return None
        compared = Compare(op, column, other)
        return self._bound(Not(compared) if is_negated else compared)

    def _beside(self, left: Node, right: Node) -> Column | VariantGet | None:
        """The column that `right` is, if both have one type and are compared without rounding."""
        one, other = self._operand(left), self._operand(right)
        if one is None or other is None or (one[1] != other[1] and not {one[1], other[1]} <= {*INTEGRAL}):
            return None
        is_rounded = left.type == DOUBLE and LONG in (one[1], other[1])
        return None if is_rounded else other[0]

    def _member(self, operand: Node, members: Sequence[Node]) -> Predicate | None:
        found = self._operand(operand)
        if found is None or not all(isinstance(each, Constant) for each in members):
            return None
        column, data_type = found
        values = [each.value for each in members if isinstance(each, Constant)]
        known = [value for value in values if value is not None]
        if isinstance(column, VariantGet):
            equal = [Compare("=", column, Literal(value)) for value in known]  # type: ignore[arg-type]
            either: Predicate = self._bound(Or(tuple(equal)))
        else:
            own: list[LiteralValue] = []
            for value in known:
                compared = _with_own_value("=", column, data_type, value, operand.type)
                if compared is None:
                    return None
                if isinstance(compared, Compare) and isinstance(compared.right, Literal):
                    own.append(compared.right.value)
            either = self._bound(IsIn(column, tuple(own)))
        return either if len(known) == len(values) else Or((either, NULL))

    def _same(self, left: Node, right: Node) -> Predicate | None:
        if isinstance(left, Constant):
            left, right = right, left
        found = self._operand(left)
        if found is None:
            return None
        column, _ = found
        if not isinstance(right, Constant):
            other = self._beside(left, right)
            return None if other is None else self._bound(null_safe_equal(column, other))
        if right.value is None:
            return IsNull(column)
        equal = self._compared("=", left, right)
        return None if equal is None else And((Not(IsNull(column)), equal))

    def _prefixed(self, operand: Node, prefix: str, node: Node, *, is_all: bool) -> Predicate | None:
        found = self._operand(operand)
        if found is None or found[1] != STRING:
            return None
        begins = StartsWith(found[0], prefix)
        return begins if is_all else And((begins, self._opaque(node)))


def _keeps_order(source: DataType, target: DataType) -> bool:
    """Whether a cast loses no value and keeps the order: of numbers, of days and of times."""
    if source in INTEGRAL and target in INTEGRAL:
        return _BITS[source] <= _BITS[target]
    if source in INTEGRAL and target == DOUBLE:
        return True  # of longs, see `_with_own_value`
    if source == FLOAT and target == DOUBLE:
        return True
    digits, wanted = decimal_of(source), decimal_of(target)
    if wanted is not None and source in INTEGRAL:
        digits = (len(str(1 << _BITS[source])), 0)
    if digits is not None and wanted is not None:
        return digits[1] <= wanted[1] and digits[0] - digits[1] <= wanted[0] - wanted[1]
    return (source == DATE and target in TIMESTAMPS) or (source in TIMESTAMPS and target in TIMESTAMPS)


def _with_own_value(
    op: CompareOp, column: Column, data_type: DataType, value: object, compared_as: DataType
) -> Predicate | None:
    """A comparison with a value of the column's own type that is TRUE on the same rows.

    Spark compares in the type `compared_as`. None if the outcome depends on rounding.
    """
    if data_type in INTEGRAL or decimal_of(data_type) is not None:
        if not isinstance(value, int | float | Decimal) or isinstance(value, bool):
            return None
        if isinstance(value, float):
            is_rounded = data_type == LONG and not abs(value) < _EXACT_IN_DOUBLE
            if not math.isfinite(value) or is_rounded or decimal_of(data_type) is not None:
                return None
        return _beside_number(op, column, data_type, Decimal(value))
    if data_type == DATE:
        if isinstance(value, datetime.datetime):
            return _beside(op, column, value.date(), is_own=value.time() == datetime.time())
        is_own = isinstance(value, datetime.date)
        return Compare(op, column, Literal(value)) if is_own else None  # type: ignore[arg-type]
    if data_type in (FLOAT, DOUBLE):
        if compared_as == FLOAT or not isinstance(value, int | float | Decimal) or isinstance(value, bool):
            number = _single(value) if compared_as == FLOAT else None
            return None if number is None else Compare(op, column, Literal(number))
        return Compare(op, column, Literal(float(value)))
    if data_type != compared_as and not (data_type in TIMESTAMPS and compared_as in TIMESTAMPS):
        return None
    return Compare(op, column, Literal(value))  # type: ignore[arg-type]


def _single(value: object) -> float | None:
    """The float next to a number; None if rounding through a double could give another one."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    number = float(value)
    single = ctypes.c_float(number).value
    if single in (number, value) or single != single:
        return single
    is_usual = _LEAST_FLOAT <= abs(number) < _GREATEST_FLOAT
    (bits,) = struct.unpack("<Q", struct.pack("<d", number))
    return single if is_usual and bits & 0x1FFFFFFF != 0x10000000 else None


def _beside_number(op: CompareOp, column: Column, data_type: DataType, value: Decimal) -> Predicate:
    digits = decimal_of(data_type)
    if digits is None:
        bound, unit = Decimal(1 << _BITS[data_type]), Decimal(1)  # type: ignore[index]
        least, greatest = -bound, bound - 1
    else:
        unit = Decimal(1).scaleb(-digits[1])
        greatest = _DIGITS.subtract(Decimal(10) ** (digits[0] - digits[1]), unit)
        least = greatest.copy_negate()
    if value > greatest:
        return _always(column) if op in ("<", "<=", "!=") else _never(column)
    if value < least:
        return _always(column) if op in (">", ">=", "!=") else _never(column)
    low = value.quantize(unit, rounding=ROUND_FLOOR, context=_DIGITS)
    return _beside(op, column, low if digits is not None else int(low), is_own=low == value)


def _beside(op: CompareOp, column: Column, low: object, *, is_own: bool) -> Predicate:
    """The comparison with `low` if `is_own`, else with a value between `low` and its successor."""
    if is_own:
        return Compare(op, column, Literal(low))  # type: ignore[arg-type]
    match op:
        case "=":
            return _never(column)
        case "!=":
            return _always(column)
        case "<" | "<=":
            return Compare("<=", column, Literal(low))  # type: ignore[arg-type]
    return Compare(">", column, Literal(low))  # type: ignore[arg-type]


def _always(column: Column) -> Predicate:
    """TRUE, or NULL where the column is NULL."""
    return Not(IsIn(column, ()))


def _never(column: Column) -> Predicate:
    """FALSE, or NULL where the column is NULL."""
    return IsIn(column, ())


def known_equalities(expression: Expression, alias: str) -> list[Equality]:
    """The columns of one table that equal an expression over the others wherever the condition is TRUE."""
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
